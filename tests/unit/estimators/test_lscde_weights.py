"""LSCDE without clipping, and with what the cdo paper proposes instead of it."""

import numpy as np
import pytest

from kcde.arrays import to_numpy
from kcde.estimators import LSCDE

AXIS = np.linspace(-12.0, 12.0, 4001)[:, None]
GIVEN = {"bandwidth_x": 0.6, "bandwidth_y": 0.5, "regularization": 1e-3, "n_centres": 20}
every = pytest.mark.parametrize("weights", ["clipped", "signed", "constrained", "projected"])


def moments(model, X, Y):
    """H and h by numerical integration over y."""
    phi_x = np.exp(-0.5 * ((X[:, None] - model.centres_x_) ** 2).sum(axis=2) / 0.6**2)
    bumps = np.exp(-0.5 * ((AXIS - model.centres_y_[:, 0]) / 0.5) ** 2)
    at_data = np.exp(-0.5 * ((Y - model.centres_y_[:, 0]) / 0.5) ** 2)
    overlap = bumps.T @ bumps * (AXIS[1, 0] - AXIS[0, 0])
    return overlap * (phi_x.T @ phi_x) / len(X), (phi_x * at_data).mean(axis=0)


def test_each_solves_its_problem(pairs):
    X, Y = pairs
    alpha = {
        name: LSCDE(**GIVEN, weights=name).fit(X, Y).weights_
        for name in ("clipped", "signed", "constrained", "projected")
    }
    H, h = moments(LSCDE(**GIVEN).fit(X, Y), X, Y)
    shifted = H + 1e-3 * np.eye(20)
    free = np.linalg.solve(shifted, h)
    assert (free < 0).any()
    np.testing.assert_allclose(alpha["signed"], free, rtol=1e-6)
    np.testing.assert_allclose(alpha["clipped"], np.maximum(free, 0.0), rtol=1e-6)
    for name, gradient in (
        ("constrained", shifted @ alpha["constrained"] - h),
        ("projected", H @ (alpha["projected"] - free)),
    ):
        # The Karush-Kuhn-Tucker conditions decide, for a convex problem.
        assert (alpha[name] >= 0.0).all()
        assert gradient.min() > -1e-7
        assert np.abs(gradient[alpha[name] > 0.0]).max() < 1e-7
        assert (alpha[name] == 0.0).any()


@every
def test_moments_are_those_of_the_density(pairs, weights):
    X, Y = pairs
    model = LSCDE(**GIVEN, weights=weights).fit(X, Y)
    density = model.density_at(AXIS)(X[:6])
    assert (density.min() < 0.0) == (weights == "signed")
    first, second = (np.trapezoid(density * AXIS[:, 0] ** p, AXIS[:, 0], axis=1) for p in (1, 2))
    np.testing.assert_allclose(np.trapezoid(density, AXIS[:, 0], axis=1), 1.0)
    np.testing.assert_allclose(model.mean(X[:6])[:, 0], first, rtol=1e-8)
    np.testing.assert_allclose(model.variance(X[:6])[:, 0], second - first**2, rtol=1e-7)
    log_density = model.log_density_at(AXIS)(X[:6])
    np.testing.assert_array_equal(np.isfinite(log_density), density > 0.0)
    positive = density > 0.0
    np.testing.assert_allclose(np.exp(log_density)[positive], density[positive], rtol=1e-9)


@every
def test_two_dimensional_y(rng, weights):
    X = rng.standard_normal((60, 1))
    Y = np.hstack([X, X**2]) + 0.5 * rng.standard_normal((60, 2))
    model = LSCDE(0.7, 0.6, 0.1, weights=weights).fit(X, Y)
    axis = np.linspace(-9.0, 13.0, 221)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = model.density_at(grid)(X[:3]) * (axis[1] - axis[0]) ** 2
    np.testing.assert_allclose(density.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(model.mean(X[:3]), density @ grid, atol=1e-6)
    variance = density @ grid**2 - (density @ grid) ** 2
    np.testing.assert_allclose(model.variance(X[:3]), variance, atol=1e-6)
    draws = model.sample(X[:3], 2000, rng)
    positive = np.maximum(density, 0.0) / np.maximum(density, 0.0).sum(axis=1, keepdims=True)
    mean = positive @ grid
    error = np.sqrt((positive @ grid**2 - mean**2) / 2000)
    assert (np.abs(draws.mean(axis=1) - mean) < 5 * error).all()


@every
def test_other_namespaces_give_the_same_numbers(pairs, other_xp, weights):
    X, Y = pairs
    expected = LSCDE(**GIVEN, weights=weights).fit(X, Y)
    model = LSCDE(**GIVEN, weights=weights).fit(other_xp.asarray(X), other_xp.asarray(Y))
    np.testing.assert_allclose(to_numpy(model.weights_), expected.weights_, atol=1e-9)
    for name in ("mean", "variance", "weights_at"):
        found = to_numpy(getattr(model, name)(other_xp.asarray(X)))
        np.testing.assert_allclose(found, getattr(expected, name)(X), rtol=1e-6, atol=1e-8)


def test_every_choice_selects_by_the_clipped_weights(pairs):
    X, Y = pairs
    plain = LSCDE(n_centres=10).fit(X, Y)
    for weights in ("signed", "constrained", "projected"):
        model = LSCDE(n_centres=10, weights=weights).fit(X, Y)
        assert model.regularization_ == plain.regularization_
        np.testing.assert_array_equal(model.cv_results_["score"], plain.cv_results_["score"])


def test_a_floor_does_not_matter_for_moments(pairs):
    X, Y = pairs
    floored = LSCDE(**GIVEN, density_floor=2.0**-52).fit(X, Y)
    plain = LSCDE(**GIVEN).fit(X, Y)
    np.testing.assert_array_equal(floored.mean(X), plain.mean(X))
    np.testing.assert_array_equal(floored.variance(X), plain.variance(X))


def test_bad_choices_are_named(pairs):
    with pytest.raises(ValueError, match=r"weights must be one of .*constrained.*got 'none'"):
        LSCDE(weights="none").fit(*pairs)
    with pytest.raises(ValueError, match="density_floor is for weights that are not negative"):
        LSCDE(weights="signed", density_floor=1e-16).fit(*pairs)


def test_sums_that_are_not_positive_are_refused_with_the_remedy(pairs):
    X, Y = pairs
    model = LSCDE(**GIVEN, weights="signed").fit(X, Y)
    model.weights_ = -model.weights_
    with pytest.raises(FloatingPointError, match=r"no sum of weights is positive.*raise regul"):
        model.mean(X)
