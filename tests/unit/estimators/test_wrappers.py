"""Standardised, Conformal and Defensive, and pictures of densities."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import lognorm, norm, t
from sklearn.base import clone

from kcde.estimators import KCEF, Conformal, Defensive, GaussianProcess, Standardised
from kcde.estimators._kcef.selection import CheckedRule, _interpolated, _LikelihoodSearch
from kcde.estimators.log_scaled import LogScaled
from kcde.selection import complement, kfold

matplotlib.use("Agg")


def process():
    return GaussianProcess(1.0, 0.8, 0.5)


def test_intervals_are_quantiles_at_the_score_of_the_right_rank(pairs):
    X, Y = pairs
    model = Conformal(process(), share=0.3, random_state=1).fit(X, Y)
    assert len(model.scores_) == 9
    # 0.8 * 10 = 8: the eighth smallest of nine.
    half = model.scores_[7]
    expected = model.estimator_.quantile(X, [0.5 - half, 0.5 + half])
    np.testing.assert_array_equal(model.interval(X, 0.8), expected)
    pit = model.estimator_.cdf(X, Y)
    held = [i for i in range(30) if np.isclose(np.abs(pit[i] - 0.5), model.scores_).any()]
    rest = complement(np.array(held), 30)
    again = process().fit(X[rest], Y[rest])
    np.testing.assert_array_equal(again.log_density(X, Y), model.log_density(X, Y))


def test_intervals_hold_new_groups_of_few_and_unequal_ones():
    share = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(60), [*rng.integers(4, 12, 20), *[1] * 40])
        y = rng.normal(size=60)[person] + 0.3 * rng.normal(size=len(person))
        seen = person < 20
        model = Conformal(process(), 0.5).fit(0.0 * y[seen, None], y[seen], person[seen])
        low, high = model.interval([[0.0]], 0.8)[0]
        share.append(np.mean((low <= y[~seen]) & (y[~seen] <= high)))
    # At least the level, and at most that and the weight of one group more; rows alone give 0.78.
    assert 0.8 < np.mean(share) < 0.8 + 1.0 / 8


def test_all_else_is_that_of_the_density(pairs, rng):
    frame, Y = pd.DataFrame(pairs[0], columns=["a", "b"]), pairs[1]
    model = clone(Conformal(Standardised(process()))).fit(frame, Y)
    names = dict.fromkeys(("score", "cdf", "crps", "cdf_and_crps", "log_density"), (frame, Y))
    for name, given in (names | dict.fromkeys(("mean", "variance"), (frame,))).items():
        found, expected = (getattr(each, name)(*given) for each in (model, model.estimator_))
        np.testing.assert_array_equal(found, expected)
    at, inside = (each.density_at(Y)(frame) for each in (model, model.estimator_))
    np.testing.assert_array_equal(at, inside)
    assert model.sample(frame, 2, rng).shape == (30, 2, 1)
    assert list(model.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize("lower", [0.0, -3.0])
def test_of_a_logarithm_all_is_in_units_of_y(pairs, rng, lower):
    X, logs = pairs[0], 0.2 * pairs[1][:, 0]
    inner = Standardised(process())
    y = lower + np.exp(logs)
    model, plain = LogScaled(inner, lower).fit(X, y), clone(inner).fit(X, logs)
    centre, scale = plain.mean(X)[:, 0], plain.std(X)
    exact = lognorm(scale, scale=np.exp(centre), loc=lower)
    for found, expected in (
        (model.pdf(X, y), exact.pdf(y)),
        (model.density_at(np.array([[2.0], [-1.0]]))(X)[:, 0], exact.pdf(2.0)),
        (model.cdf(X, y), exact.cdf(y)),
        (model.quantile(X, 0.3), exact.ppf(0.3)),
        (model.predict(X), exact.mean()),
        (model.std(X), exact.std()),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    a, b = norm.cdf((logs - centre) / scale), norm.cdf((logs - centre) / scale - scale)
    y, centre = y - lower, exact.mean() - lower
    crps = y * (2 * a - 1) - 2 * centre * (b + norm.cdf(scale / np.sqrt(2)) - 1)
    np.testing.assert_allclose(model.crps(X, lower + y).mean(), crps.mean(), rtol=0.03)
    floored = LogScaled(Standardised(Defensive(process(), 0.01, heavy_tails=True)), lower)
    np.testing.assert_allclose(floored.fit(X, lower + y).predict(X), exact.mean(), rtol=1e-6)
    assert (model.sample(X, 5, rng) > lower).all()
    assert np.isneginf(model.log_density(X[:1], [lower]))
    assert model.cdf(X[:1], [lower - 1.0]) == 0.0
    with pytest.raises(ValueError, match="must be above lower"):
        model.fit(X, logs + lower)


def test_plot_draws_the_density(pairs):
    X, Y = pairs
    model = process().fit(X, Y)
    axes = model.plot(X[:3], labels=["a", "b", "c"])
    assert [line.get_label() for line in axes.lines] == ["a", "b", "c"]
    y, p = axes.lines[1].get_data()
    np.testing.assert_allclose(p, np.exp(model.log_density_at(y[:, None])(X[1:2]))[0])
    assert Standardised(process()).fit(X, Y).plot(X[:1], axes) is axes
    assert len(axes.lines) == 4
    for rows, labels in ((X, None), (X[:2], ["a"])):
        with pytest.raises(ValueError, match="at most 20 x with as many labels"):
            model.plot(rows, labels=labels)


def test_too_few_calibration_rows_and_wrong_levels_are_refused(pairs):
    model = Conformal(process()).fit(*pairs)
    with pytest.raises(ValueError, match=r"above 0\.889"):
        model.interval(pairs[0], 0.9)
    with pytest.raises(ValueError, match="level"):
        model.interval(pairs[0], [0.5, 0.9])


@pytest.mark.parametrize(
    ("floor", "base"),
    [({}, norm(0, 2)), ({"base_std": 3.0}, norm(0, 3)), ({"heavy_tails": True}, t(2, 0, 2))],
)
def test_density_is_that_of_the_mixture(pairs, floor, base):
    (X, Y), inner = pairs, process()
    for y in (Y,) if "heavy_tails" in floor else (Y, np.hstack([Y, Y**2])):
        model = Defensive(inner, 0.2, **floor).fit(X, y)
        expected = 0.8 * inner.fit(X, y).pdf(X, y) + 0.2 * base.pdf(y).prod(axis=1)
        np.testing.assert_allclose(model.log_density(X, y), np.log(expected), rtol=1e-10)
    mean, draws = model.mean(X[:2]), model.sample(X[:2], 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05)
    np.testing.assert_allclose(model.conditional_expectation(lambda y: y, X[:2]), mean, atol=2e-2)
    with pytest.raises(ValueError, match="one y"):
        Defensive(inner, heavy_tails=True).fit(X, np.hstack([Y, Y]))


def test_the_given_estimator_is_cloned_and_the_default_takes_its_parameters(pairs):
    X, Y = pairs
    inner = KCEF(selection="likelihood", tuning_rows=20)
    model = Defensive(inner, repeats=2).fit(X, Y)
    assert not hasattr(inner, "n_features_in_")
    assert (inner.selection_floor, inner.repeats) == (0.0, 1)
    own = model.estimator_
    assert (own.selection_floor, own.repeats, own.tuning_rows) == (0.01, 2, 20)
    default = Defensive(repeats=1, tuning_rows=20, random_state=3).fit(X, Y).estimator_
    assert (default.selection, default.tuning_rows, default.random_state) == ("likelihood", 20, 3)


def test_selection_is_by_the_likelihood_of_the_mixture(pairs):
    """The cross-validated value is that of separate fits, each with its own normaliser."""
    X, Y = pairs
    folds = [*kfold(30, 5, np.random.default_rng(0)), *kfold(30, 5, np.random.default_rng(1))]
    path = np.array([0.003, 0.1])
    search = _LikelihoodSearch(X, Y, folds, 2.0, floor=0.02)
    found = search.over([1.2], [0.9], path)[0, 0]
    for value, regularization in zip(found, path, strict=True):
        total = 0.0
        for held_out in folds:
            rows = complement(held_out, 30)
            model = Defensive(KCEF(1.2, 0.9, regularization), 0.02).fit(X[rows], Y[rows])
            total += model.log_density(X[held_out], Y[held_out]).sum()
        assert value == pytest.approx(total / 60, abs=1e-4)


def test_interpolated_nodes_and_the_normaliser_are_those_of_a_fine_grid():
    rule = CheckedRule(np.array([[-1.0], [1.5]]), 0.5, 2.0)
    centres, width = np.array([0.1, 0.7]), np.array([[0.5], [0.55]])

    def T(y):
        return 60.0 * np.exp(-0.5 * ((y - centres[:, None]) / width) ** 2)

    y, step = np.linspace(-40.0, 40.0, 400_001, retstep=True)
    expected = np.log(np.sum(np.exp(T(y)) * norm.pdf(y, 0.0, 2.0), axis=1) * step)
    at_nodes = np.hstack([T(rule.nodes), np.zeros((2, 1))])
    np.testing.assert_allclose(rule.log_normaliser(at_nodes[None])[0], expected, atol=1e-6)
    peaked = np.hstack([40.0 * T(rule.nodes), np.zeros((2, 1))])
    assert np.isinf(rule.log_normaliser(1000.0 * peaked[None])).all()
    fine = np.linspace(rule.nodes[0], rule.nodes[-1], 4 * (len(rule.nodes) - 1) + 1)
    np.testing.assert_allclose(_interpolated(T(rule.nodes)), T(fine), atol=1e-6)
