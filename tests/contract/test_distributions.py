"""Mean, distribution function, quantiles, intervals and CRPS of every density with one y."""

import numpy as np
import pytest
import scoringrules
from scipy.integrate import cumulative_trapezoid
from scipy.stats import norm

from contracted import QUICK, line, some_pairs
from kcde.arrays import to_numpy
from kcde.estimators import LSCDE, SmoothedCME, Standardised, estimator_class, estimator_names

CLASSES = [name for name in estimator_names() if estimator_class(name).tags.density]
LEVELS = np.array([0.001, 0.05, 0.5, 0.8, 0.999])
# The mean of draws, of which there are 1000.
BY_DRAWS = {"ConditionalRealNVP", "ConditionalMAF"}


@pytest.fixture(params=[*CLASSES, "Standardised"], scope="module")
def model(request):
    """A fitted model with its x; of the data of `pairs`, fitted once for all tests."""
    X, Y = some_pairs(np.random.default_rng(20180416))
    if request.param == "Standardised":
        return Standardised(LSCDE(0.6, 0.5, 0.1)).fit(X, 0.8 * Y + 0.1), X
    cls = estimator_class(request.param)
    X = X[:, :0] if cls.tags.unconditional else X
    return cls(**QUICK.get(request.param, {})).fit(X, Y[:, 0]), X


def test_cdf_is_the_integral_of_the_density(model, pairs):
    model, X = model
    Y = pairs[1][:3]
    found = model.cdf(X[:3], Y)
    assert found.shape == (3,)
    # One rule for the whole range, not panels; in s, where y = sinh s.
    node, weight = np.polynomial.legendre.leggauss(800)
    lowest = np.arcsinh(-1e4)
    for x, y, value in zip(X, Y[:, 0], found, strict=False):
        half = 0.5 * (np.arcsinh(y) - lowest)
        s = half * (node + 1.0) + lowest
        density = np.exp(model.log_density_at(np.sinh(s)[:, None])(x[None]))
        assert value == pytest.approx(half * (density @ (weight * np.cosh(s)))[0], abs=1e-8)


def test_density_is_the_slope_of_the_cdf(model):
    model, X = model
    y, step = np.linspace(-1.5, 1.5, 7)[:, None], 1e-4
    x = np.repeat(X[:1], 7, axis=0)
    slope = (model.cdf(x, y + step) - model.cdf(x, y - step)) / (2.0 * step)
    np.testing.assert_allclose(slope, np.exp(model.log_density(x, y)), rtol=1e-5, atol=1e-7)


def test_cdf_runs_from_zero_to_one(model):
    model, X = model
    y = np.concatenate([[-1e6], np.linspace(-40.0, 40.0, 81), [1e6]])
    found = model.cdf(np.repeat(X[:1], 83, axis=0), y)
    assert (np.diff(found) >= -1e-15).all()  # up to rounding, which depends on the machine
    np.testing.assert_allclose(found[[0, -1]], [0.0, 1.0], atol=1e-9)


def test_quantile_inverts_the_cdf(model, pairs):
    model, X = model
    Y = pairs[1][:6, 0]
    found = model.quantile(X[:6], LEVELS)
    assert found.shape == (6, 5)
    for p, column in zip(LEVELS, found.T, strict=True):
        np.testing.assert_allclose(model.cdf(X[:6], column), p, atol=1e-10)
        np.testing.assert_allclose(model.quantile(X[:6], p), column, rtol=1e-9, atol=1e-9)
    for i, p in enumerate(model.cdf(X[:6], Y)):
        assert model.quantile(X[i : i + 1], p)[0] == pytest.approx(Y[i], abs=1e-6)


def test_interval_has_equal_tails(model):
    model, X = model
    found = model.interval(X[:4], 0.9)
    np.testing.assert_allclose(found, model.quantile(X[:4], [0.05, 0.95]), rtol=1e-12)


def test_crps_is_the_integral_of_its_definition(model, pairs):
    """By the trapezoidal rule, of the integral of the density by the same rule."""
    model, X = model
    y = pairs[1][:3, 0]
    found = model.crps(X[:3], y[:, None])
    assert found.shape == (3,)
    for x, value, score in zip(X, y, found, strict=False):
        below, above = np.linspace(-30.0, value, 4001), np.linspace(value, 30.0, 4001)
        z = np.concatenate([below, above])
        density = np.exp(model.log_density_at(z[:, None])(x[None]))[0]
        cdf = cumulative_trapezoid(density, z, initial=0.0)
        naive = np.trapezoid(cdf[:4001] ** 2, below)
        naive += np.trapezoid((1.0 - cdf[4001:]) ** 2, above)
        assert score == pytest.approx(naive, abs=1e-3 * pairs[1].std())


def test_cdf_and_crps_are_those_of_their_own(model, pairs):
    model, X = model
    if isinstance(model, Standardised):
        model, X = model.estimator_, model.transform_x(X)
    Y = pairs[1]
    for found, expected in zip(
        model.cdf_and_crps(X, Y), (model.cdf(X, Y), model.crps(X, Y)), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_crps_is_that_of_draws(model, pairs):
    """As scoringrules has it for an ensemble; its sampling error is some hundredths of y."""
    model, X = model
    if not model.tags.exact_sampler:
        pytest.skip("draws that follow the density approximately")
    draws = to_numpy(model.sample(X[:20], 2000, np.random.default_rng(1)))[:, :, 0]
    expected = scoringrules.crps_ensemble(pairs[1][:20, 0], draws)
    found = model.crps(X[:20], pairs[1][:20])
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.01)


def test_mean_is_that_of_the_density(model):
    model, X = model
    y, weights = line()
    density = np.exp(model.log_density_at(y[:, None])(X[:4]))
    found = model.mean(X[:4])
    assert found.shape == (4, 1)
    atol = 0.1 if type(model).__name__ in BY_DRAWS else 1e-6
    np.testing.assert_allclose(found[:, 0], density @ (weights * y), atol=atol)


def test_no_rows_are_refused(model, pairs):
    model, X = model
    none, y = X[:0], pairs[1][:0]
    calls = [
        lambda: model.log_density(none, y),
        lambda: model.log_density_at(pairs[1][:2])(none),
        lambda: model.cdf(none, y),
        lambda: model.crps(none, y),
        lambda: model.quantile(none, [0.1, 0.2]),
        lambda: model.mean(none),
        lambda: model.sample(none, 3, np.random.default_rng(0)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"has no rows, shape .*; give at least one"):
            call()


def test_rows_are_worked_in_blocks(model):
    model, X = model
    many = np.repeat(X[:2], 400, axis=0)
    np.testing.assert_allclose(
        model.quantile(many, 0.3), np.repeat(model.quantile(X[:2], 0.3), 400)
    )
    ones = np.zeros(800)
    for function in (model.cdf, model.crps):
        expected = np.repeat(function(X[:2], ones[:2]), 400)
        np.testing.assert_allclose(function(many, ones), expected, rtol=1e-6)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, np.nan, [0.5, np.nan], [[0.5]]])
def test_probabilities_outside_are_refused(model, p):
    model, X = model
    with pytest.raises(ValueError, match="p must be a number between 0 and 1"):
        model.quantile(X[:2], p)
    with pytest.raises(ValueError, match="level must be"):
        model.interval(X[:2], p)


def test_without_x_none_is_one_row(pairs):
    model = estimator_class("KEF")(0.9, 0.01).fit(None, pairs[1])
    assert model.quantile(None, 0.5).shape == (1,)
    assert model.interval(None, 0.5).shape == (1, 2)
    assert model.mean(None).shape == (1, 1)
    assert model.cdf(None, pairs[1]).shape == (30,)
    assert model.crps(None, pairs[1]).shape == (30,)


@pytest.mark.parametrize("name", ["LSCDE", "KCEF", "GaussianProcess"])
def test_several_y_have_none_and_the_error_says_what_to_do(name, pairs):
    X, Y = pairs
    model = estimator_class(name)(**QUICK[name]).fit(X, np.hstack([Y, X[:, :1]]))
    assert model.mean(X[:2]).shape == (2, 2)
    calls = (
        lambda: model.quantile(X, 0.5),
        lambda: model.cdf(X, model.mean(X)),
        lambda: model.crps(X, model.mean(X)),
    )
    for call in calls:
        with pytest.raises(ValueError, match="fitted to 2: draw with sample"):
            call()


def test_signed_weights_have_no_distribution_function(pairs):
    X, Y = pairs
    model = LSCDE(0.6, 0.5, 0.1, weights="signed").fit(X, Y)
    assert np.isfinite(model.mean(X)).all()
    with pytest.raises(ValueError, match='negative in places; fit with weights="clipped"'):
        model.interval(X, 0.9)


def test_a_floor_is_left_out(pairs):
    X, Y = pairs
    plain, floored = (LSCDE(0.6, 0.5, 0.1, density_floor=f).fit(X, Y) for f in (None, 1e-3))
    np.testing.assert_array_equal(plain.quantile(X, 0.9), floored.quantile(X, 0.9))


def test_a_normal_density_has_the_quantiles_of_scipy(pairs):
    X, Y = pairs
    model = estimator_class("GaussianProcess")(1.0, 0.8, 0.4).fit(X, Y)
    mean, std = model.mean(X)[:, 0], np.sqrt(model.variance(X)[:, 0])
    np.testing.assert_allclose(model.quantile(X, 0.975), norm.ppf(0.975, mean, std), rtol=1e-12)
    np.testing.assert_allclose(model.cdf(X, Y), norm.cdf(Y[:, 0], mean, std), rtol=1e-12)


def test_quantiles_of_separate_modes_far_from_the_origin():
    rng = np.random.default_rng(3)
    Y = 1e6 + np.concatenate([rng.normal(-50.0, 1.0, 60), rng.normal(50.0, 1.0, 40)])
    model = estimator_class("EpsilonKDE")(1.0, 0.3).fit(None, Y)
    below, above = model.quantile(None, [0.3, 0.9])[0] - 1e6
    assert -53.0 < below < -47.0 < 47.0 < above < 53.0
    assert model.cdf(None, np.array([1e6]))[0] == pytest.approx(0.6, abs=1e-12)
    np.testing.assert_allclose(model.cdf(None, model.quantile(None, [0.3])[:, 0]), 0.3, atol=1e-9)


@pytest.mark.parametrize("name", ["LSCDE", "SmoothedCME", "KCEF", "GaussianProcess", "CDO"])
def test_other_namespaces_stay_what_they_are(name, pairs, other_xp):
    X, Y = pairs
    model = estimator_class(name)(**QUICK[name])
    model.fit(X, Y)
    expected = model.cdf(X, Y), model.quantile(X, [0.1, 0.7]), model.mean(X), model.crps(X, Y)
    X, Y = other_xp.asarray(X), other_xp.asarray(Y)
    model.fit(X, Y[:, 0])
    found = model.cdf(X, Y), model.quantile(X, [0.1, 0.7]), model.mean(X), model.crps(X, Y)
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, type(X))
        np.testing.assert_allclose(to_numpy(ours), theirs, atol=1e-7)


def test_standardised_quantiles_are_in_original_units(pairs):
    X, Y = pairs
    inside = SmoothedCME(1.0, 0.8, 0.01, 0.3)
    plain = Standardised(inside).fit(X, Y)
    moved = Standardised(inside).fit(3.0 * X - 7.0, 100.0 * Y + 50.0)
    found = moved.quantile(3.0 * X - 7.0, [0.1, 0.9])
    np.testing.assert_allclose(found, 100.0 * plain.quantile(X, [0.1, 0.9]) + 50.0, rtol=1e-7)
    np.testing.assert_allclose(moved.cdf(3.0 * X - 7.0, 100.0 * Y + 50.0), plain.cdf(X, Y), 1e-7)
    scores = moved.crps(3.0 * X - 7.0, 100.0 * Y + 50.0)
    np.testing.assert_allclose(scores, 100.0 * plain.crps(X, Y), rtol=1e-7)
