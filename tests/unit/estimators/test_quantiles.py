"""Quantiles by an estimator of expectations: what they are of, their units, and what is kept."""

import numpy as np
import pytest
from scipy import stats

from kcde import CME, JDL, JPDL, LinearGaussian, Quantiles, model_file


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
    ("estimator", "word"), [(LinearGaussian(), "JDL"), (JDL(constrained="clipped"), "clipped")]
)
def test_what_cannot_be_used_is_refused(estimator, word):
    with pytest.raises(ValueError, match=word):
        Quantiles(estimator).fit(*pairs(50))
