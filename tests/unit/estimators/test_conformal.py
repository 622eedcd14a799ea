"""Split conformal intervals, and modes and pictures of densities."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from contracted import QUICK
from kcde.estimators import (
    NADE,
    Conformal,
    GaussianProcess,
    Standardised,
    estimator_class,
)
from kcde.selection import complement

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


def test_all_else_is_that_of_the_density(pairs, rng):
    X, Y = pairs
    X = pd.DataFrame(X, columns=["a", "b"])
    model = clone(Conformal(Standardised(process()))).fit(X, Y)
    inner = model.estimator_
    assert model.score(X, Y) == inner.score(X, Y)
    np.testing.assert_array_equal(model.mean(X), inner.mean(X))
    np.testing.assert_array_equal(model.cdf(X, Y), inner.cdf(X, Y))
    np.testing.assert_array_equal(model.log_density_at(Y)(X), inner.log_density_at(Y)(X))
    np.testing.assert_array_equal(model.mode(X), inner.mode(X))
    np.testing.assert_array_equal(model.crps(X, Y), inner.crps(X, Y))
    np.testing.assert_array_equal(model.cdf_and_crps(X, Y), inner.cdf_and_crps(X, Y))
    squares = [each.conditional_expectation(np.square, X) for each in (model, inner)]
    np.testing.assert_array_equal(*squares)
    assert model.sample(X, 2, rng).shape == (30, 2, 1)
    assert list(model.feature_names_in_) == list(inner.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize("name", ["NADE", "LikelihoodKCEF", "KEF", "EpsilonKDE"])
def test_mode_is_the_highest_of_a_fine_grid(name, pairs):
    X, Y = pairs
    cls = estimator_class(name)
    X = X[:, :0] if cls.tags.unconditional else X
    model = cls(**QUICK[name]).fit(X, Y)
    y = np.linspace(-3, 3, 20001)
    density = model.log_density_at(y[:, None])(X[:5])
    found = model.mode(X[:5])
    reached = np.diagonal(model.log_density_at(np.asarray(found)[:, None])(X[:5]))
    np.testing.assert_allclose(reached, density.max(axis=1), atol=1e-6)


def test_plot_draws_the_density(pairs):
    X, Y = pairs
    model = NADE(hidden_units=8, components=2, epochs=20).fit(X, Y)
    axes = model.plot(X[:3], labels=["a", "b", "c"])
    assert [line.get_label() for line in axes.lines] == ["a", "b", "c"]
    y, p = axes.lines[1].get_data()
    np.testing.assert_allclose(p, np.exp(model.log_density_at(y[:, None])(X[1:2]))[0])
    assert Standardised(process()).fit(X, Y).plot(X[:1], axes) is axes
    assert len(axes.lines) == 4
    with pytest.raises(ValueError, match="20"):
        model.plot(X)
    with pytest.raises(ValueError, match="labels"):
        model.plot(X[:2], labels=["a"])


def test_too_few_calibration_rows_and_wrong_shares_are_refused(pairs):
    model = Conformal(process()).fit(*pairs)
    with pytest.raises(ValueError, match="8 calibration rows"):
        model.interval(pairs[0], 0.9)
    with pytest.raises(ValueError, match="level"):
        model.interval(pairs[0], [0.5, 0.9])
    for share in (0.0, 1.0, 0.01):
        with pytest.raises(ValueError, match="share"):
            Conformal(process(), share=share).fit(*pairs)
