"""The mixture of densities that is the most likely for rows held out."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import minimize

from kcde import LSCDE, Defensive, GaussianProcess, LinearGaussian, MarginalKDE, Stacked
from kcde.estimators.stacked import stacking_weights

PARTS = (LSCDE(0.6, 0.5, 0.1), LinearGaussian(1e-3), MarginalKDE(bandwidth_y=0.4))


@pytest.fixture
def fitted(pairs):
    return Stacked([Defensive(each, 0.1) for each in PARTS], [1.0, 2.0, 1.0]).fit(*pairs)


def test_weights_are_those_of_a_general_optimiser(rng):
    logs = rng.normal(size=(200, 4)) * [1.0, 1.0, 1.0, 4.0]

    def loss(w):
        return -np.mean(np.log(np.exp(logs) @ w))

    one = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    best = minimize(loss, np.full(4, 0.25), bounds=[(0.0, 1.0)] * 4, constraints=[one], tol=1e-12)
    found = stacking_weights(logs)
    np.testing.assert_allclose(found, best.x, atol=5e-3)
    assert loss(found) == pytest.approx(best.fun, abs=1e-5)
    assert found.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="floor"):
        stacking_weights(np.where(np.arange(200)[:, None] == 7, -np.inf, logs))


def test_the_weights_are_of_rows_that_folds_hold_out(pairs):
    X, Y = pairs
    held = []

    class Seen(GaussianProcess):
        def fit(self, X, Y):
            held.append(len(Y))
            return super().fit(X, Y)

    model = Stacked([Seen(1.0, 0.8, 0.5), LinearGaussian(1e-3)], folds=3).fit(X, Y)
    assert held == [20, 20, 20, *[30] * bool(model.weights_[0])]
    # A density that has seen the rows would take all of the weight.
    narrow = Stacked([MarginalKDE(bandwidth_y=1e-3), MarginalKDE(bandwidth_y=0.4)]).fit(None, Y)
    assert narrow.weights_[1] > 0.9


def test_density_distribution_and_moments_are_of_the_mixture(fitted, pairs):
    X, Y = pairs[0][:3], pairs[1][:3]
    assert fitted.quantile(X, []).shape == (3, 0)
    parts = [Defensive(each, 0.1).fit(*pairs) for each in PARTS[:2]]
    parts.append(Defensive(PARTS[2], 0.1).fit(None, pairs[1]))
    inputs, weights = (X, X, X[:, :0]), (0.25, 0.5, 0.25)
    mixed = sum(w * p.pdf(x, Y) for w, p, x in zip(weights, parts, inputs, strict=True))
    np.testing.assert_allclose(fitted.pdf(X, Y), mixed)
    np.testing.assert_allclose(np.diag(fitted.density_at(Y)(X)), mixed)
    z = np.linspace(-60.0, 60.0, 240_001)
    density = fitted.density_at(z[:, None])(X)
    mass, mean, second = (np.trapezoid(density * z**p, z) for p in range(3))
    np.testing.assert_allclose(mass, 1.0, atol=1e-6)
    np.testing.assert_allclose(fitted.mean(X)[:, 0], mean, atol=1e-5)
    np.testing.assert_allclose(fitted.variance(X)[:, 0], second - mean**2, rtol=1e-4)
    found = fitted.conditional_expectation(lambda y: y**2, X)
    np.testing.assert_allclose(found[:, 0], second, rtol=1e-4)
    steps = cumulative_trapezoid(density, z, initial=0.0)
    below = [np.interp(y, z, row) for y, row in zip(Y[:, 0], steps, strict=True)]
    np.testing.assert_allclose(fitted.cdf(X, Y), below, atol=1e-6)
    integral = np.trapezoid((steps - (z >= Y)) ** 2, z)
    np.testing.assert_allclose(fitted.crps(X, Y), integral, atol=0.05)


def test_quantiles_invert_and_draws_follow(fitted, pairs):
    X, levels = pairs[0][:4], np.array([0.01, 0.3, 0.5, 0.95])
    quantiles = fitted.quantile(X, levels)
    for column, level in zip(quantiles.T, levels, strict=True):
        np.testing.assert_allclose(fitted.cdf(X, column), level, atol=1e-9)
    draws = fitted.sample(X, 20_000, 0)[:, :, 0]
    shares = (draws[:, :, None] <= quantiles[:, None, :]).mean(axis=1)
    np.testing.assert_allclose(shares, np.tile(levels, (4, 1)), atol=0.015)


def test_groups_reach_folds_and_densities_that_choose_by_them(pairs):
    X, Y = pairs
    plain, grouped = (
        Stacked([LSCDE(), LinearGaussian(1e-3)], folds=3).fit(X, Y, groups=groups)
        for groups in (None, np.arange(30) // 3)
    )
    assert not np.array_equal(plain.weights_, grouped.weights_)
    alone = LSCDE().fit(X, Y, groups=np.arange(30) // 3)
    assert grouped.estimators_[0].bandwidth_x_ == pytest.approx(alone.bandwidth_x_)
