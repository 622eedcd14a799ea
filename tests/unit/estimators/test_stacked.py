"""The mixture of densities that is the most likely for rows held out."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

import kcde
from kcde.estimators import (
    LSCDE,
    Defensive,
    GaussianProcess,
    LinearGaussian,
    MarginalKDE,
    Stacked,
)
from kcde.estimators.stacked import stacking_weights
from kcde.model_file import read, write

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
    parts = [Defensive(each, 0.1).fit(*pairs) for each in PARTS[:2]]
    parts.append(Defensive(PARTS[2], 0.1).fit(None, pairs[1]))
    inputs, weights = (X, X, X[:, :0]), (0.25, 0.5, 0.25)
    mixed = sum(w * p.pdf(x, Y) for w, p, x in zip(weights, parts, inputs, strict=True))
    np.testing.assert_allclose(fitted.pdf(X, Y), mixed)
    np.testing.assert_allclose(np.diag(fitted.density_at(Y)(X)), mixed)
    for i, row in enumerate(X):
        row = row[None]

        def density(y, row=row):
            return fitted.density_at(np.array([[y]]))(row)[0, 0]

        def over(f, lower=-60.0, upper=60.0, density=density):
            points = [y for y in (-3.0, 0.0, 3.0) if lower < y < upper]
            return quad(lambda y: f(y) * density(y), lower, upper, limit=400, points=points)[0]

        mean = over(lambda y: y)
        assert over(lambda y: 1.0) == pytest.approx(1.0, abs=1e-6)
        assert fitted.mean(row)[0, 0] == pytest.approx(mean, abs=1e-5)
        expected = over(lambda y, mean=mean: (y - mean) ** 2)
        assert fitted.variance(row)[0, 0] == pytest.approx(expected, rel=1e-4)
        second = fitted.conditional_expectation(lambda y: y**2, row)[0, 0]
        assert second == pytest.approx(over(lambda y: y**2), rel=1e-4)
        below = over(lambda y: 1.0, upper=Y[i, 0])
        assert fitted.cdf(row, Y[i])[0] == pytest.approx(below, abs=1e-6)


def test_quantiles_invert_draws_follow_and_the_crps_is_the_integral(fitted, pairs):
    X, levels = pairs[0][:4], np.array([0.01, 0.3, 0.5, 0.95])
    quantiles = fitted.quantile(X, levels)
    for column, level in zip(quantiles.T, levels, strict=True):
        np.testing.assert_allclose(fitted.cdf(X, column), level, atol=1e-9)
    draws = fitted.sample(X, 20_000, 0)[:, :, 0]
    shares = (draws[:, :, None] <= quantiles[:, None, :]).mean(axis=1)
    np.testing.assert_allclose(shares, np.tile(levels, (4, 1)), atol=0.015)
    y, z = pairs[1][:4, 0], np.linspace(-30.0, 30.0, 60_001)
    steps = fitted._cdf_at(X, z)
    integral = np.trapezoid((steps - (z >= y[:, None])) ** 2, z, axis=1)
    np.testing.assert_allclose(fitted.crps(X, y), integral, atol=0.05)


def test_groups_reach_folds_and_densities_that_choose_by_them(pairs):
    X, Y = pairs
    plain, grouped = (
        Stacked([LSCDE(), LinearGaussian(1e-3)], folds=3).fit(X, Y, groups=groups)
        for groups in (None, np.arange(30) // 3)
    )
    assert not np.array_equal(plain.weights_, grouped.weights_)
    alone = LSCDE().fit(X, Y, groups=np.arange(30) // 3)
    assert grouped.estimators_[0].bandwidth_x_ == pytest.approx(alone.bandwidth_x_)


def test_a_file_holds_it(fitted, pairs, tmp_path):
    write(tmp_path / "m.kcde", fitted, {})
    again = read(tmp_path / "m.kcde")[0]
    np.testing.assert_array_equal(again.log_density(*pairs), fitted.log_density(*pairs))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (((),), "at least one"),
        ((PARTS, [1.0, 2.0]), "3 numbers"),
        ((PARTS, [0.0, 0.0, 0.0]), "nor all 0"),
        ((PARTS, [1.0, -1.0, 1.0]), "negative"),
    ],
)
def test_what_cannot_be_stacked_is_refused(arguments, word, pairs):
    with pytest.raises(ValueError, match=word):
        kcde.Stacked(*arguments).fit(*pairs)
