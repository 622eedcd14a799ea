"""Tuning by gradient: the K-fold score against refits, its gradient against differences."""

import numpy as np
import pytest

from kcde.estimators import KCEF
from kcde.estimators._kcef.gradient import minimise
from kcde.estimators._kcef.early_stopping import PenalisedScore, minimise_penalised
from kcde.estimators._kcef.score import HeldOutScore
from kcde.estimators._kcef.selection import Hyperparameters
from kcde.selection import complement, kfold

THETA = np.log([1.2, 0.8, 0.7, 1e-2])


@pytest.fixture
def score(pairs, rng):
    X, Y = pairs
    return HeldOutScore(X, Y, kfold(len(X), 5, rng), 2.0)


@pytest.fixture
def larger(rng):
    """120 pairs, so that the score has its minimum inside the bounds."""
    X = rng.standard_normal((120, 2))
    Y = np.sin(X[:, :1]) + 0.2 * X[:, 1:] + 0.4 * rng.standard_normal((120, 1))
    return HeldOutScore(X, Y, kfold(120, 5, rng), 2.0)


def evaluate(score, theta):
    sigma = np.exp(theta)
    return score(sigma[:-2], sigma[-2], sigma[-1])


def test_value_equals_refitting_every_fold(pairs, rng):
    X, Y = pairs
    folds, total = kfold(len(X), 5, rng), 0.0
    for fold in folds:
        rows = complement(fold, len(X))
        model = KCEF([1.2, 0.8], 0.7, 1e-2).fit(X[rows], Y[rows])
        total += model.score_matching_loss(X[fold], Y[fold]) * len(fold)
    value, _ = evaluate(HeldOutScore(X, Y, folds, 2.0), THETA)
    assert value == pytest.approx(total / len(X), rel=1e-9)


def test_gradient_equals_finite_differences(score):
    step, differences = 1e-5, []
    for axis in np.eye(4):
        above, below = (evaluate(score, THETA + s * step * axis)[0] for s in (1, -1))
        differences.append((above - below) / (2 * step))
    np.testing.assert_allclose(evaluate(score, THETA)[1], differences, rtol=1e-6)


def test_other_namespaces_agree_with_numpy(pairs, rng, other_xp, host):
    X, Y = pairs
    folds = kfold(len(X), 5, rng)
    here = evaluate(HeldOutScore(X, Y, folds, 2.0), THETA)
    there = HeldOutScore(other_xp.asarray(X), other_xp.asarray(Y), folds, 2.0)
    value, gradient = evaluate(there, THETA)
    assert value == pytest.approx(here[0], rel=1e-9)
    np.testing.assert_allclose(gradient, here[1], rtol=1e-8)


def test_no_inputs_leave_one_bandwidth(pairs, rng):
    _, Y = pairs
    score = HeldOutScore(Y[:, :0], Y, kfold(len(Y), 5, rng), 2.0)
    _, gradient = evaluate(score, np.log([0.7, 1e-2]))
    assert gradient.shape == (2,)


@pytest.mark.parametrize("isotropic", [False, True])
def test_minimum_is_better_than_the_start_and_within_the_bounds(larger, isotropic):
    sigma_x, sigma_y, lam, report = minimise(
        larger, 2, Hyperparameters(None, None, None), isotropic
    )
    assert report["score"] < report["start_score"]
    assert report["score"] == pytest.approx(larger(sigma_x, sigma_y, lam)[0])
    assert (sigma_x >= 0.05 * (1 - 1e-9)).all()
    assert (sigma_x <= 50 * (1 + 1e-9)).all()
    assert 1e-8 * (1 - 1e-9) <= lam <= 10 * (1 + 1e-9)
    assert (sigma_x[0] == pytest.approx(sigma_x[1])) == isotropic


def test_what_is_given_stays(score):
    given = Hyperparameters(np.array([0.9, 1.1]), None, 0.02)
    sigma_x, sigma_y, lam, _ = minimise(score, 2, given, False)
    np.testing.assert_allclose(sigma_x, [0.9, 1.1])
    assert lam == pytest.approx(0.02)
    assert sigma_y != pytest.approx(1.0)


def test_irrelevant_input_gets_a_long_bandwidth(rng):
    """Automatic relevance determination, which the paper credits the full graph with."""
    X = rng.standard_normal((200, 2))
    Y = np.sin(2 * X[:, :1]) + 0.3 * rng.standard_normal((200, 1))
    model = KCEF(selection="gradient").fit(X, Y)
    assert model.bandwidth_x_[1] > 3 * model.bandwidth_x_[0]


def test_two_outputs_are_refused(pairs):
    X, _ = pairs
    with pytest.raises(ValueError, match="by gradient needs one-dimensional y; got d_y = 2"):
        KCEF(selection="gradient").fit(X, X)


@pytest.mark.parametrize("dimension", [2, 0])
def test_penalised_gradient_equals_finite_differences(pairs, rng, dimension):
    X, Y = pairs
    score = HeldOutScore(X[:, :dimension], Y, kfold(len(Y), 5, rng), 2.0)
    objective = PenalisedScore(score, dimension)
    theta = np.array([0.6, 0.9, 0.02])[-(2 + (dimension > 0)) :]
    value, gradient = objective(theta)
    sigma = np.sqrt(0.5 / theta[:-1])
    assert value == pytest.approx(
        score(np.full(dimension, sigma[0]), sigma[-1], theta[-1])[0] + 0.1 * theta @ theta
    )
    differences = []
    for axis in np.eye(len(theta)):
        above, below = (objective(theta * (1 + s * 1e-6 * axis))[0] for s in (1, -1))
        differences.append((above - below) / (2e-6 * theta @ axis))
    np.testing.assert_allclose(gradient, differences, rtol=1e-5)


def test_penalised_minimum_is_below_the_start(larger):
    sigma_x, sigma_y, lam, report = minimise_penalised(larger, 2, Hyperparameters(*[None] * 3))
    assert report["score"] < report["start_score"]
    assert sigma_x[0] == sigma_x[1]
    theta = np.array([0.5 / sigma_x[0] ** 2, 0.5 / sigma_y**2, lam])
    assert PenalisedScore(larger, 2)(theta)[0] == pytest.approx(report["score"])


def test_penalised_selection_keeps_what_is_given(larger):
    _, sigma_y, lam, _ = minimise_penalised(larger, 2, Hyperparameters(None, 0.7, 0.03))
    assert (sigma_y, lam) == pytest.approx((0.7, 0.03))
