"""Mean, distribution function, quantiles, intervals and CRPS of every density with one y."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from sklearn.base import clone

from kcde.estimators import LSCDE, Defensive, EpsilonKDE, Standardised

LEVELS = np.array([0.001, 0.05, 0.5, 0.8, 0.999])


def test_cdf_is_the_integral_of_the_density_from_zero_to_one(fitted):
    model, X, Y = fitted
    found = model.cdf(X[:3], Y[:3])
    assert found.shape == (3,)
    # One rule for the whole range, not panels; in s, where y = sinh s.
    node, weight = np.polynomial.legendre.leggauss(800)
    lowest = np.arcsinh(-1e4)
    for x, y, value in zip(X, Y[:, 0], found, strict=False):
        half = 0.5 * (np.arcsinh(y) - lowest)
        s = half * (node + 1.0) + lowest
        density = np.exp(model.log_density_at(np.sinh(s)[:, None])(x[None]))
        assert value == pytest.approx(half * (density @ (weight * np.cosh(s)))[0], abs=1e-8)
    y = np.concatenate([[-1e6], np.linspace(-40.0, 40.0, 81), [1e6]])
    found = model.cdf(np.repeat(X[:1], 83, axis=0), y)
    assert (np.diff(found) >= -1e-15).all()  # up to rounding, which depends on the machine
    np.testing.assert_allclose(found[[0, -1]], [0.0, 1.0], atol=1e-9)


def test_quantile_inverts_the_cdf(fitted):
    model, X, Y = fitted
    found = model.quantile(X[:6], LEVELS)
    assert found.shape == (6, 5)
    for p, column in zip(LEVELS, found.T, strict=True):
        np.testing.assert_allclose(model.cdf(X[:6], column), p, atol=1e-10)
        np.testing.assert_allclose(model.quantile(X[:6], p), column, rtol=1e-9, atol=1e-9)
    for i, p in enumerate(model.cdf(X[:6], Y[:6])):
        assert model.quantile(X[i : i + 1], p)[0] == pytest.approx(Y[i, 0], abs=1e-6)


def test_crps_is_the_integral_of_its_definition(fitted):
    """By the trapezoidal rule, of the integral of the density by the same rule."""
    model, X, Y = fitted
    found = model.crps(X[:3], Y[:3])
    assert found.shape == (3,)
    for x, value, score in zip(X, Y[:, 0], found, strict=False):
        below, above = np.linspace(-30.0, value, 4001), np.linspace(value, 30.0, 4001)
        z = np.concatenate([below, above])
        density = np.exp(model.log_density_at(z[:, None])(x[None]))[0]
        cdf = cumulative_trapezoid(density, z, initial=0.0)
        naive = np.trapezoid(cdf[:4001] ** 2, below)
        naive += np.trapezoid((1.0 - cdf[4001:]) ** 2, above)
        assert score == pytest.approx(naive, abs=1e-3 * Y.std())


def test_cdf_and_crps_are_those_of_their_own(fitted):
    model, X, Y = fitted
    if isinstance(model, Standardised):
        model, X = model.estimator_, model.transform_x(X)
    expected = model.cdf(X, Y), model.crps(X, Y)
    np.testing.assert_allclose(model.cdf_and_crps(X, Y), expected, atol=1e-6)


def test_crps_above_a_floor_is_the_integral_of_its_definition(fitted):
    model, X, Y = fitted
    model = clone(model.estimator if isinstance(model, Standardised) else model)
    model = Defensive(model, 0.2, 1.0, heavy_tails=True).fit(X, Y)
    away, x = np.sinh(np.linspace(0.0, 15.0, 2001)), np.repeat(X[:1], 2001, axis=0)
    expected = np.trapezoid(model.cdf(x, Y[0] - away) ** 2, away)
    expected += np.trapezoid((1.0 - model.cdf(x, Y[0] + away)) ** 2, away)
    assert model.crps(X[:1], Y[:1])[0] == pytest.approx(expected, rel=1e-3)


def test_rows_are_worked_in_blocks(fitted):
    model, X, _ = fitted
    many, zeros = np.repeat(X[:2], 400, axis=0), np.zeros(800)
    expected = np.repeat(model.quantile(X[:2], 0.3), 400)
    np.testing.assert_allclose(model.quantile(many, 0.3), expected)
    for function in (model.cdf, model.crps):
        expected = np.repeat(function(X[:2], zeros[:2]), 400)
        np.testing.assert_allclose(function(many, zeros), expected, rtol=1e-6)


def test_quantiles_of_separate_modes_far_from_the_origin_where_no_x_is_one_row():
    rng = np.random.default_rng(3)
    Y = 1e6 + np.concatenate([rng.normal(-50.0, 1.0, 60), rng.normal(50.0, 1.0, 40)])
    model = EpsilonKDE(1.0, 0.3, standardize=False).fit(None, Y)
    below, above = model.quantile(None, [0.3, 0.9])[0] - 1e6
    assert -53.0 < below < -47.0 < 47.0 < above < 53.0
    assert model.cdf(None, np.array([1e6]))[0] == pytest.approx(0.6, abs=1e-12)
    np.testing.assert_allclose(model.cdf(None, model.quantile(None, [0.3])[:, 0]), 0.3, atol=1e-9)
    assert (model.interval(None, 0.5).shape, model.mean(None).shape) == ((1, 2), (1, 1))
    assert model.crps(None, Y).shape == (100,)
    near = EpsilonKDE(1.0, 0.3, standardize=False).fit(None, Y - 1e6)
    np.testing.assert_allclose(model.variance(None), near.variance(None), rtol=1e-8)
    np.testing.assert_allclose(model.mean(None) - 1e6, near.mean(None), atol=1e-8)


def test_no_rows_and_wrong_probabilities_are_refused(fitted):
    model, X, _ = fitted
    none, y = X[:0], np.zeros((0, 1))
    calls = {"log_density": (y,), "cdf": (y,), "quantile": (0.1,), "sample": (3, 0)}
    for name, given in calls.items():
        with pytest.raises(ValueError, match="has no rows"):
            getattr(model, name)(none, *given)
    with pytest.raises(ValueError, match="has no rows"):
        model.log_density_at(np.zeros((2, 1)))(none)
    for p in (0.0, 1.0, np.nan, [0.5, np.nan], [[0.5]]):
        with pytest.raises(ValueError, match="p must"):
            model.quantile(X[:2], p)
        with pytest.raises(ValueError, match="level must"):
            model.interval(X[:2], p)


@pytest.mark.parametrize(
    "inner", [LSCDE(0.6, 0.5, 0.1), LSCDE(0.6, 0.5, 0.1, weights="signed")], ids=["two y", "signed"]
)
def test_without_a_distribution_function_there_is_an_error(pairs, inner):
    X, Y = pairs
    Y = Y if inner.weights == "signed" else np.hstack([Y, X[:, :1]])
    for model in (clone(inner), Defensive(inner)):
        model.fit(X, Y)
        assert np.isfinite(model.mean(X)).all()
        for call in (model.quantile, model.interval):
            with pytest.raises(ValueError, match=r"draw|sample"):
                call(X, 0.5)
