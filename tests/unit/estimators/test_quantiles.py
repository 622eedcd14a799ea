"""Quantiles by an estimator of expectations: what they are of, their units, and what is kept."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde import CME, JDL, JPDL, LinearGaussian, Quantiles, model_file
from kcde.estimators import quantiles
from kcde.streaming import ArrayRows, ParquetRows


def pairs(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * (1.0 + np.abs(X[:, 0])) * rng.normal(size=n)


@pytest.mark.parametrize("kind", [JDL, CME, JPDL])
def test_they_are_those_of_the_weights_on_the_training_rows(kind):
    X, y = pairs(60)
    inner = kind(regularization=1e-3, standardize=True)
    model = Quantiles(inner, choose=False).fit(X, y)
    fitted = inner.fit(X, y)
    weights, support = fitted.weights(X[:5]), fitted.support_[:, 0]
    for x, row in enumerate(weights):
        levels = np.array([row[support <= t + 1e-9].sum() for t in np.sort(y)])
        levels = np.maximum.accumulate(np.clip(levels, 0.0, 1.0))
        levels[-1] = 1.0
        np.testing.assert_allclose(model.cdf(np.repeat(X[x : x + 1], 60, 0), np.sort(y)), levels)
        for p in (0.1, 0.5, 0.83):
            expected = np.sort(y)[np.flatnonzero(levels >= p)[0]]
            assert model.quantile(X[x : x + 1], p)[0] == pytest.approx(expected)
    np.testing.assert_allclose(model.predict(X), fitted.predict(X))


def test_many_rows_keep_few_numbers_and_come_near_the_law():
    X, y = pairs(3000)
    model, (at, y_at) = Quantiles(JDL(regularization=None)).fit(X, y), pairs(1000, seed=1)
    scale = 0.3 * (1.0 + np.abs(at[:, 0]))
    found, p = model.quantile(at, [0.05, 0.5, 0.95]), np.array([0.05, 0.5, 0.95])
    expected = np.sin(at[:, 0])[:, None] + scale[:, None] * stats.norm.ppf(p)
    assert np.sqrt(np.mean((found - expected) ** 2, axis=0)).max() < 0.25
    assert np.abs(np.mean(y_at[:, None] < found, axis=0) - p).max() < 0.03
    np.testing.assert_allclose(model.cdf(at, found[:, 1]), 0.5)
    low, high = model.cdf(at[:1], [-1e3]), model.cdf(at[:1], [1e3])
    assert (low[0], high[0]) == (0.0, 1.0)
    # Irrelevant: its bandwidth is the wider.
    assert np.diff(model.estimator_.bandwidth_x)[0] > 0.0
    assert len(model.thresholds_) == 256


def test_a_file_holds_no_rows_and_units_change_nothing(tmp_path):
    X, y = pairs(3000)
    model = Quantiles(JDL(regularization=1e-4), choose=False)
    expected = model.fit(X, y).interval(X[:4], 0.9)
    model_file.write(tmp_path / "m.kcde", model, {})
    assert (tmp_path / "m.kcde").stat().st_size < 600_000
    again = model_file.read(tmp_path / "m.kcde")[0]
    np.testing.assert_array_equal(again.interval(X[:4], 0.9), expected)
    other = model.fit(1000.0 * X - 5.0, 1e-3 * y + 7.0).interval(1000.0 * X[:4] - 5.0, 0.9)
    np.testing.assert_allclose(other, 1e-3 * expected + 7.0, atol=1e-6)


def test_groups_are_on_one_side_of_the_choice(monkeypatch):
    X, y = pairs(100)
    seen, people = [], np.arange(100) // 5
    kept = JDL.fit_path

    def fit_path(model, X, Y, *rest, **options):
        seen.append(X)
        return kept(model, X, Y, *rest, **options)

    monkeypatch.setattr(JDL, "fit_path", fit_path)
    Quantiles(JDL(1.0, 1.0, None)).fit(X, y, people)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    inside = [(np.abs(standard[i] - seen[0]).max(axis=1) < 1e-12).any() for i in range(100)]
    assert sum(inside) == 80
    assert all(len(set(inside[i : i + 5])) == 1 for i in range(0, 100, 5))


@pytest.mark.parametrize(
    "inner",
    [
        JDL(regularization=None),
        CME(regularization=None),
        JPDL(2, regularization=None),
        JDL(0.5, 0.5, 1e-2, constrained=True),
        JDL(0.5, 0.5, constrained="sub-grid"),
        CME(0.5, 0.5, constrained=True),
        JPDL(2, constrained=True),
    ],
)
def test_rows_in_blocks_give_the_fit_of_all(inner, tmp_path):
    X, y = pairs(300)
    people, path = np.arange(300) // 5, tmp_path / "rows.parquet"
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    frame.to_parquet(path)
    X = frame[["a", "b"]]
    whole = Quantiles(inner).fit(X, y, people)
    for rows in (ArrayRows(X, frame["y"], 64), ParquetRows(path, ["a", "b"], "y", block=128)):
        found = Quantiles(inner).fit_rows(rows, people)
        chosen, again = whole.estimator_.get_params(), found.estimator_.get_params()
        for name in {"bandwidth_x", "bandwidth_y", "regularization"} & chosen.keys():
            np.testing.assert_allclose(again[name], chosen[name])
        assert found.brier_score_ == pytest.approx(whole.brier_score_)
        assert (found._n_fitted, *found.feature_names_in_) == (300, "a", "b")
        np.testing.assert_allclose(found.thresholds_, whole.thresholds_, atol=1e-12)
        for p in (0.3, [0.05, 0.5, 0.95]):
            np.testing.assert_allclose(found.quantile(X, p), whole.quantile(X, p), atol=1e-7)
        np.testing.assert_allclose(found.cdf(X, y), whole.cdf(X, y), atol=1e-7)
        np.testing.assert_allclose(found.predict(X), whole.predict(X), atol=1e-7)


@pytest.mark.parametrize("kind", [JPDL, JDL, CME])
def test_all_rows_count_where_few_choose_pivots(kind, monkeypatch):
    """With values on a grid any rows span the same functions."""
    X, y = pairs(3000)
    X, y = np.clip(np.round(X), -1, 1), np.clip(np.round(y), -1, 1)
    inner = JPDL(2) if kind is JPDL else kind(1.0, 1.0, tolerance=1e-9)
    whole = Quantiles(inner, choose=False).fit(X, y)
    monkeypatch.setattr(quantiles, "_TUNING_ROWS", 400)
    found = Quantiles(inner, choose=False).fit_rows(ArrayRows(X, y, block=500))
    np.testing.assert_allclose(found.predict(X), whole.predict(X), atol=1e-6)
    np.testing.assert_allclose(found.cdf(X, y), whole.cdf(X, y), atol=1e-6)
    np.testing.assert_allclose(found.thresholds_, whole.thresholds_)


def test_ends_are_of_all_rows_where_some_are_held(monkeypatch):
    monkeypatch.setattr(quantiles, "_TUNING_ROWS", 500)
    X, y = pairs(3000)
    y[7], y[2001] = -50.0, 60.0
    model = Quantiles(JPDL(2)).fit_rows(ArrayRows(X, y))
    ends = model.thresholds_[[0, -1]] * y.std() + y.mean()
    np.testing.assert_allclose(ends, [-50.0, 60.0])
    assert 256 <= len(model.thresholds_) <= 258


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(quantiles, "_TUNING_ROWS", 500)
    peaks = []
    few, many = (ArrayRows(*pairs(n), block=2000) for n in (20_000, 120_000))
    for rows in (few, few, many):
        tracemalloc.start()
        Quantiles(JDL(2.0, 2.0), choose=False).fit_rows(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.05 * peaks[1] < 20e6


@pytest.mark.parametrize(
    ("estimator", "word"), [(LinearGaussian(), "JDL"), (JDL(constrained="clipped"), "clipped")]
)
def test_estimators_and_rows_that_cannot_be_used_are_refused(estimator, word):
    X, y = pairs(50)
    with pytest.raises(ValueError, match=word):
        Quantiles(estimator).fit(X, y)
    with pytest.raises(ValueError, match=word):
        Quantiles(estimator).fit_rows(ArrayRows(X, y))
    for given, word in ((np.ones(50), "Y"), (np.stack([y, y], 1), "one y"), (y[:1], "2 rows")):
        with pytest.raises(ValueError, match=word):
            Quantiles(JDL()).fit_rows(ArrayRows(X[: len(given)], given))
