import numpy as np
import pytest

from kcde.estimators import CME, JDL
from kcde.estimators._low_rank import smoothed as _smoothed
from kcde.estimators._low_rank.smoothed import BANDWIDTH_FACTORS, REGULARIZATIONS, SMOOTHINGS
from kcde.estimators.smoothed_cme import SmoothedCME
from kcde.estimators.smoothed_jdl import SmoothedJDL
from kcde.seeding import rng_of

CASES = [(SmoothedJDL, JDL), (SmoothedCME, CME)]


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((120, 1))
    return X, 0.8 * X + 0.6 * rng.standard_normal((120, 1))


@pytest.mark.parametrize(("smoothed", "plain"), CASES)
def test_is_a_mixture_around_the_support(rows, smoothed, plain):
    X, Y = rows
    model = smoothed(1.0, 0.8, 1e-3, 0.3).fit(X, Y)
    weights = np.maximum(plain(1.0, 0.8, 1e-3).fit(X, Y).weights(X[:5]), 0.0)
    support = plain(1.0, 0.8, 1e-3).fit(X, Y).support_
    for i in range(5):
        bumps = np.exp(-0.5 * ((Y[i, 0] - support[:, 0]) / 0.3) ** 2) / (0.3 * np.sqrt(2 * np.pi))
        expected = np.log(weights[i] @ bumps / weights[i].sum())
        assert model.log_density(X[i : i + 1], Y[i : i + 1])[0] == pytest.approx(expected)


@pytest.mark.parametrize(("smoothed", "plain"), CASES)
def test_chooses_from_the_grid_what_is_not_given(rows, smoothed, plain):
    X, Y = rows
    model = smoothed(bandwidth_y=0.7).fit(X, Y)
    distances = np.abs(X - X.T)[np.triu_indices(120, 1)]
    factor = model.bandwidth_x_[0] / (np.median(distances) / np.sqrt(2.0))
    assert np.abs(BANDWIDTH_FACTORS - factor).min() < 1e-6
    assert model.bandwidth_y_[0] == 0.7
    assert model.regularization_ in REGULARIZATIONS
    assert model.smoothing_[0] in SMOOTHINGS
    assert model.cv_results_["score"].shape == (4, 1, 10, 10)
    # On new rows nearly as good as the truth, and better than independence.
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    y = 0.8 * x + 0.6 * rng.standard_normal((2000, 1))
    truth = -0.5 * np.log(2 * np.pi * np.e * 0.36)
    independence = -0.5 * np.log(2 * np.pi * np.e)
    assert model.score(x, y) > truth - 0.5 * (truth - independence)


@pytest.mark.parametrize(("smoothed", "plain"), CASES)
def test_scores_of_the_grid_equal_a_loop_over_candidates(rows, smoothed, plain, monkeypatch):
    # Blocks of fewer rows than are held out.
    blocks = _smoothed.row_blocks
    monkeypatch.setattr(_smoothed, "row_blocks", lambda n, width, like: blocks(n, 2**15, like=like))
    model = smoothed(random_state=3).fit(*rows)
    found, X, Y = model.cv_results_, *rows
    expected = 0.0
    for held_out in model._kfold(np.arange(120), 5, rng_of("selection", 3)):
        train = np.setdiff1d(np.arange(120), held_out)
        fitted = plain(found["bandwidth_x"][1], found["bandwidth_y"][2], REGULARIZATIONS[4])
        fitted.fit(X[train], Y[train])
        weights = np.maximum(fitted.weights(X[held_out]), 0.0)
        for row, w in zip(Y[held_out, 0], weights, strict=True):
            standard = (row - fitted.support_[:, 0]) / SMOOTHINGS[3]
            bumps = np.exp(-0.5 * standard**2) / (SMOOTHINGS[3] * np.sqrt(2 * np.pi))
            expected += np.log(w @ bumps / w.sum())
    assert found["score"][1, 2, 4, 3] == pytest.approx(expected, rel=1e-9)


def test_bad_parameters_are_named(rows):
    with pytest.raises(ValueError, match="smoothing must be positive"):
        SmoothedJDL(smoothing=0.0).fit(*rows)
    with pytest.raises(ValueError, match="regularization must be a positive number"):
        SmoothedCME(regularization=-1.0).fit(*rows)


def test_no_positive_weight_is_said(rows, monkeypatch):
    model = SmoothedJDL(1.0, 0.8, 1e-3, 0.3).fit(*rows)
    monkeypatch.setattr(JDL, "weights", lambda self, X: -np.ones((len(X), 120)))
    with pytest.raises(FloatingPointError, match="no weight is positive"):
        model.log_density(rows[0][:1], rows[1][:1])
