"""Moments of Gaussian mixtures, in closed form against quadrature."""

import numpy as np
import pytest

from kcde.estimators import EpsilonKDE, SmoothedCME


@pytest.mark.parametrize(
    "model",
    [EpsilonKDE(0.5, 0.3), SmoothedCME(1.0, 0.8, 0.01, 0.3)],
    ids=lambda m: type(m).__name__,
)
def test_moments_are_those_of_the_density(pairs, xp, host, model):
    X, Y = (xp.asarray(rows) for rows in pairs)
    model.fit(X, Y)
    y = np.linspace(-9.0, 9.0, 4001)
    density = host(model.density_at(xp.asarray(y[:, None]))(X))
    first, second = (np.trapezoid(density * y**p, y, axis=1) for p in (1, 2))
    np.testing.assert_allclose(host(model.mean(X))[:, 0], first, rtol=1e-8)
    np.testing.assert_allclose(host(model.variance(X))[:, 0], second - first**2, rtol=1e-7)
    np.testing.assert_allclose(host(xp.sum(model.weights_at(X), axis=1)), 1.0)


def test_moments_far_from_the_origin_lose_no_digits(pairs):
    X, Y = pairs
    plain = EpsilonKDE(0.5, 0.3).fit(X, Y)
    moved = EpsilonKDE(0.5, 0.3).fit(X, Y + 1e6)
    np.testing.assert_allclose(moved.variance(X), plain.variance(X), rtol=1e-8)
    np.testing.assert_allclose(moved.mean(X) - 1e6, plain.mean(X), atol=1e-8)
