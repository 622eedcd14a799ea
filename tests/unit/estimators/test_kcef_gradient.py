"""Tuning by gradient: the K-fold score against refits, its gradient against differences."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kcde.estimators import KCEF
from kcde.estimators._kcef.gradient import BOX, BoxedScore, minimise, minimise_early
from kcde.estimators._kcef.score import HeldOutScore, HeldOutSystems, Tables
from kcde.estimators._kcef.selection import Hyperparameters
from kcde.selection import complement, contiguous_folds, kfold

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


def boxed(score, dimension, *, given=(None, None, None), isotropic=True, penalty=0.1):
    given = Hyperparameters(*given)
    return BoxedScore(score, dimension, given, isotropic=isotropic, penalty=penalty)


@pytest.mark.parametrize("penalty", [0.1, 0.0])
@pytest.mark.parametrize(
    ("dimension", "isotropic", "theta"),
    [(2, True, [0.6, 0.9, 0.02]), (2, False, [0.6, 1.1, 0.9, 0.02]), (0, True, [0.7, 0.9, 0.02])],
)
def test_boxed_gradient_equals_finite_differences(pairs, rng, dimension, isotropic, theta, penalty):
    X, Y = pairs
    score = HeldOutScore(X[:, :dimension], Y, kfold(len(Y), 5, rng), 2.0)
    objective = boxed(score, dimension, isotropic=isotropic, penalty=penalty)
    theta = np.array(theta)
    assert len(theta) == len(objective.start)
    value, gradient = objective(theta)
    p_x = np.broadcast_to(theta[: 1 if isotropic else 2], (dimension,)) if dimension else []
    sigma_x, sigma_y = np.sqrt(0.5 / np.array(p_x)), np.sqrt(0.5 / theta[-2])
    assert value == pytest.approx(score(sigma_x, sigma_y, theta[-1])[0] + penalty * theta @ theta)
    differences = []
    for axis in np.eye(len(theta)):
        above, below = (objective(theta * (1 + s * 1e-6 * axis))[0] for s in (1, -1))
        differences.append((above - below) / (2e-6 * theta @ axis))
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)


def test_it_starts_where_the_authors_code_does(larger):
    objective = boxed(larger, 2)
    np.testing.assert_array_equal(objective.start, [1.0, 1.0, 1e-4])
    sigma_x, sigma_y, lam = objective.unpack(objective.start)
    np.testing.assert_allclose([*sigma_x, sigma_y, lam], [*[np.sqrt(0.5)] * 3, 1e-4])
    assert boxed(larger, 2, isotropic=False).start.tolist() == [1.0, 1.0, 1.0, 1e-4]


def test_early_stopping_ends_above_the_minimum_of_the_same_objective(larger):
    """Against the same objective, minimised over log θ from where the optimiser stopped."""
    sigma_x, sigma_y, lam, report = minimise_early(
        larger, 2, Hyperparameters(*[None] * 3), isotropic=True, penalty=0.1
    )
    assert report["score"] < report["start_score"]
    assert sigma_x[0] == sigma_x[1]
    objective = boxed(larger, 2)
    theta = np.array([0.5 / sigma_x[0] ** 2, 0.5 / sigma_y**2, lam])
    assert objective(theta)[0] == pytest.approx(report["score"])
    box = [tuple(np.log(BOX))] * 3
    further = minimize(lambda z: objective(np.exp(z))[0], np.log(theta), bounds=box)
    assert further.fun < report["score"] - 1e-3


@pytest.mark.parametrize("isotropic", [False, True])
def test_early_stopping_keeps_what_is_given(larger, isotropic):
    given = Hyperparameters(np.array([0.9, 1.1]), None, 0.03)
    sigma_x, sigma_y, lam, _ = minimise_early(larger, 2, given, isotropic=isotropic, penalty=0.1)
    np.testing.assert_allclose([*sigma_x, lam], [0.9, 1.1, 0.03])
    assert sigma_y != pytest.approx(np.sqrt(0.5))
    _, sigma_y, lam, _ = minimise_early(
        larger, 2, Hyperparameters(None, 0.7, 0.03), isotropic=isotropic, penalty=0.1
    )
    assert (sigma_y, lam) == pytest.approx((0.7, 0.03))


def test_early_stopping_stays_in_its_box_where_values_recur(rng):
    """There the score falls without bound as σ_y shrinks, and the box ends at σ = 0.224."""
    Y = np.repeat(rng.standard_normal(12), 10)[:, None]
    X = rng.standard_normal((120, 1))
    options = {"folds": 10, "isotropic": True}
    early = KCEF(selection="early-stopping", **options).fit(X, Y)
    assert early.bandwidth_y_[0] >= np.sqrt(0.05) * (1 - 1e-9)
    assert KCEF(selection="gradient").fit(X, Y).bandwidth_y_[0] < early.bandwidth_y_[0]
    penalised = KCEF(selection="early-stopping", penalty=0.1, **options).fit(X, Y)
    assert penalised.bandwidth_y_[0] > early.bandwidth_y_[0]


def test_singular_systems_count_as_the_worst_point_seen():
    """The first step leads to one, and the optimiser goes back."""

    def score(sigma_x, sigma_y, lam):
        if sigma_y > 2.0:
            raise np.linalg.LinAlgError
        return float(np.log(sigma_y) ** 2 - 3.0 * np.log(sigma_y)), np.array(
            [2.0 * np.log(sigma_y) - 3.0, 0.0]
        )

    _, sigma_y, _, report = minimise_early(
        score, 0, Hyperparameters(*[None] * 3), isotropic=True, penalty=0.0
    )
    assert np.sqrt(0.5) < sigma_y <= 2.0
    assert report["score"] < report["start_score"]


def test_early_stopping_holds_out_neighbours():
    """Rows in their order, as the authors' code has them: no seed has an effect."""
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((2, 43, 1))
    chosen = [
        KCEF(selection="early-stopping", folds=10, random_state=seed).fit(X, Y).cv_results_
        for seed in (0, 1)
    ]
    assert chosen[0] == chosen[1]
    folds = contiguous_folds(43, 10)
    assert [len(fold) for fold in folds] == [5, 5, 5, 4, 4, 4, 4, 4, 4, 4]
    np.testing.assert_array_equal(np.concatenate(folds), np.arange(43))
    start = HeldOutScore(X, Y, folds, 2.0)(np.array([np.sqrt(0.5)]), np.sqrt(0.5), 1e-4)[0]
    assert chosen[0]["start_score"] == pytest.approx(start)


@pytest.mark.parametrize("regularization", [1e-2, 1e-8])
@pytest.mark.parametrize("folds", [5, 7])
def test_systems_of_all_folds_equal_those_of_each(rng, folds, regularization):
    """One inverse of all rows against a solve for each fold, of one size and of two."""
    X = rng.standard_normal((30, 2))
    D = X[:, :1] - X[:, :1].T
    G = Tables(np.exp(-0.5 * D**2), D, 1.0).G
    parts = kfold(30, folds, rng)
    mu = [(30 - len(S)) * regularization for S in parts]
    ones_R, V = np.ones((30, folds)), rng.standard_normal((30, folds))
    for k, S in enumerate(parts):
        ones_R[S, k] = 0.0
    found = HeldOutSystems(G, parts, mu).solve(V * ones_R, ones_R)
    for k, S in enumerate(parts):
        R = complement(S, 30)
        wanted = np.linalg.solve(G[np.ix_(R, R)] + mu[k] * np.eye(len(R)), V[R, k])
        np.testing.assert_allclose(found[R, k], wanted, rtol=1e-6, atol=1e-8 * abs(wanted).max())
        assert not found[S, k].any()
