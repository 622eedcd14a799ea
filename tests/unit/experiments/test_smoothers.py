"""Interpolation and smoothing against the libraries' own results and plain loops."""

import numpy as np
import pytest

from kcde.experiments import _cdo_settings, _smoothers
from kcde.experiments._smoothers import SMOOTHERS, NadarayaWatson
from kcde.selection import complement, kfold


@pytest.fixture
def surface():
    """A tilted plane on a grid of step 8, with some rows left out, and those."""
    ticks = 8.0 * np.arange(9)
    X = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    Y = 3.0 + 0.5 * X[:, :1] - 0.2 * X[:, 1:]
    held = np.array([12, 13, 40, 66])
    return np.delete(X, held, axis=0), np.delete(Y, held, axis=0), X[held], Y[held]


def made(name, X, Y):
    return _smoothers.MAKERS[name]("terrain", X, Y, np.random.default_rng(0)).fit(X, Y)


@pytest.mark.parametrize("name", ["linear-interpolation", "Clough-Tocher"])
def test_a_plane_is_interpolated_exactly_and_beyond_it_the_nearest_row_counts(surface, name):
    X, Y, at, expected = surface
    model = made(name, X, Y)
    np.testing.assert_allclose(model.mean(at), expected, atol=1e-4)
    outside = np.array([[-30.0, 0.0], [64.0, 90.0]])
    np.testing.assert_allclose(model.mean(outside)[:, 0], [3.0, 3.0 + 32.0 - 12.8])


def test_four_neighbours_are_a_mean(surface):
    X, Y, at, _ = surface
    found = made("four-neighbours", X, Y).mean(at[2:3] + 0.5)
    nearest = np.argsort(np.linalg.norm(X - (at[2] + 0.5), axis=1))[:4]
    assert found[0, 0] == pytest.approx(Y[nearest].mean())


def test_smoothing_equals_a_naive_loop(rng):
    X, Y = rng.standard_normal((60, 2)), rng.standard_normal((60, 1))
    model = NadarayaWatson("gaussian", [0.4, 0.7]).fit(X, Y)
    for x in rng.standard_normal((7, 2)):
        weights = [
            np.exp(-0.5 * ((a - x[0]) / 0.4) ** 2 - 0.5 * ((b - x[1]) / 0.7) ** 2) for a, b in X
        ]
        expected = np.average(Y[:, 0], weights=weights)
        assert model.mean(x[None])[0, 0] == pytest.approx(expected, rel=1e-9)


def test_the_variance_is_that_of_the_weighted_rows(rng):
    X, Y = rng.standard_normal((30, 1)), 100.0 + rng.standard_normal((30, 1))
    model = NadarayaWatson("laplace", 0.5).fit(X, Y)
    for x in (-1.0, 0.3):
        weights = np.exp(-np.abs(X[:, 0] - x) / 0.5)
        mean = np.average(Y[:, 0], weights=weights)
        spread = np.average((Y[:, 0] - mean) ** 2, weights=weights)
        assert model.mean(np.array([[x]]))[0, 0] == pytest.approx(mean)
        assert model.variance(np.array([[x]]))[0, 0] == pytest.approx(spread)
    # Where every kernel underflows, their ratios do not.
    weights = np.exp(X[:, 0] / 0.5)
    expected = np.average(Y[:, 0], weights=weights)
    assert model.mean(np.array([[1e6]]))[0, 0] == pytest.approx(expected)


def test_the_bandwidth_is_the_best_of_all_candidates(surface):
    X, Y, *_ = surface
    Y = Y + 2.0 * np.random.default_rng(1).standard_normal(Y.shape)
    model = NadarayaWatson("gaussian", rng=np.random.default_rng(5)).fit(X, Y)
    folds, errors = kfold(len(X), 5, np.random.default_rng(5)), []
    for factor in _smoothers.BANDWIDTHS:
        error = 0.0
        for held in folds:
            rest = complement(held, len(X))
            one = NadarayaWatson("gaussian", 8.0 * factor).fit(X[rest], Y[rest])
            error += np.abs(one.mean(X[held]) - Y[held]).sum()
        errors.append(error)
    assert model.bandwidth_ == pytest.approx(8.0 * _smoothers.BANDWIDTHS[np.argmin(errors)])


def test_cdo_s_bandwidth_is_taken(surface):
    X, Y, *_ = surface
    theirs = _cdo_settings.authors("terrain", "CDO", X, Y)["bandwidth_x"]
    assert made(SMOOTHERS[-1], X, Y).bandwidth_ == theirs
