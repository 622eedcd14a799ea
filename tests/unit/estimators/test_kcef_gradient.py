"""Tuning by gradient: the K-fold score against refits, its gradient against differences, memory."""

import tracemalloc
from functools import partial

import numpy as np
import pytest

from contracted import some_pairs
from kcde.estimators import KCEF
from kcde.estimators._kcef import score as scores
from kcde.estimators._kcef import score_matching
from kcde.estimators._kcef import selection as rules
from kcde.estimators._kcef.score import HeldOutScore
from kcde.selection import complement, contiguous_folds, kfold
from naive import slopes

THETA = np.log([1.2, 0.8, 0.7, 1e-2])
NOTHING = rules.Hyperparameters(None, None, None)


@pytest.fixture
def larger(rng):
    """120 pairs, so that the score has its minimum inside the bounds."""
    return HeldOutScore(*some_pairs(rng, 120), kfold(120, 5, rng), 2.0)


def evaluate(score, theta):
    sigma = np.exp(theta)
    return score(sigma[:-2], sigma[-2], sigma[-1])


@pytest.mark.parametrize("count", [5, 7])
def test_value_equals_refitting_every_fold(pairs, rng, count):
    """With folds of one size, and of two."""
    X, Y = pairs
    folds, total = kfold(30, count, rng), 0.0
    for fold in folds:
        rows = complement(fold, 30)
        model = KCEF([1.2, 0.8], 0.7, 1e-2).fit(X[rows], Y[rows])
        total += model.score_matching_loss(X[fold], Y[fold]) * len(fold)
    value, _ = evaluate(HeldOutScore(X, Y, folds, 2.0), THETA)
    assert value == pytest.approx(total / 30, rel=1e-9)


@pytest.mark.parametrize(("n", "block", "parts"), [(31, 40, 5), (31, 1, 2), (100, 1000, 7)])
def test_blocks_and_other_namespaces_agree(other_xp, rng, monkeypatch, n, block, parts):
    (X, Y), folds = some_pairs(rng, n), kfold(n, parts, rng)
    value, slope = evaluate(HeldOutScore(X, Y, folds, 2.0), THETA)
    monkeypatch.setattr("kcde.arrays._CACHED", block)
    for xp in (np, other_xp):
        found, steep = evaluate(HeldOutScore(xp.asarray(X), xp.asarray(Y), folds, 2.0), THETA)
        assert found == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(steep, slope, rtol=1e-8, atol=1e-9 * np.abs(slope).max())


@pytest.mark.parametrize("isotropic", [False, True])
def test_minimum_is_better_than_the_start_and_within_the_bounds(larger, isotropic):
    sigma_x, sigma_y, lam, report = scores.minimise(larger, 2, NOTHING, isotropic)
    assert report["score"] < report["start_score"]
    assert report["score"] == pytest.approx(larger(sigma_x, sigma_y, lam)[0])
    slope = larger(sigma_x, sigma_y, lam)[1]
    # λ may end at its bound.
    assert np.abs([slope[:2].sum() if isotropic else slope[0], slope[2]]).max() < 1e-3
    assert (sigma_x[0] == pytest.approx(sigma_x[1])) == isotropic


@pytest.mark.parametrize("penalty", [0.1, 0.0])
@pytest.mark.parametrize(
    ("dimension", "isotropic", "theta"),
    [(2, True, [0.6, 0.9, 0.02]), (2, False, [0.6, 1.1, 0.9, 0.02]), (0, True, [0.7, 0.9, 0.02])],
)
def test_boxed_gradient_equals_finite_differences(pairs, rng, dimension, isotropic, theta, penalty):
    X, Y = pairs
    score = HeldOutScore(X[:, :dimension], Y, kfold(30, 5, rng), 2.0)
    objective = scores.BoxedScore(score, dimension, NOTHING, isotropic=isotropic, penalty=penalty)
    theta = np.array(theta)
    assert objective.start.tolist() == [1.0] * (len(theta) - 1) + [1e-4]
    value, slope = objective(theta)
    p_x = np.broadcast_to(theta[: 1 if isotropic else 2], (dimension,)) if dimension else []
    sigma_x, sigma_y = np.sqrt(0.5 / np.array(p_x)), np.sqrt(0.5 / theta[-2])
    assert value == pytest.approx(score(sigma_x, sigma_y, theta[-1])[0] + penalty * theta @ theta)
    # λ is small, so that steps are relative.
    differences = slopes(lambda factors: objective(theta * factors)[0], np.ones(len(theta)))
    np.testing.assert_allclose(slope, differences / theta, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("isotropic", [False, True])
def test_what_is_given_stays(larger, isotropic, early):
    search = partial(scores.minimise_early, penalty=0.1) if early else scores.minimise
    given = rules.Hyperparameters(np.array([0.9, 1.1]), None, 0.03)
    sigma_x, sigma_y, lam, _ = search(larger, 2, given, isotropic=isotropic)
    np.testing.assert_allclose([*sigma_x, lam], [0.9, 1.1, 0.03])
    assert sigma_y != pytest.approx(np.sqrt(0.5) if early else 1.0)
    given = rules.Hyperparameters(None, 0.7, 0.03)
    assert search(larger, 2, given, isotropic=isotropic)[1:3] == pytest.approx((0.7, 0.03))


def test_singular_systems_count_as_the_worst_point_seen():
    """The first step leads to one, and the optimiser goes back."""

    def score(sigma_x, sigma_y, lam):
        if sigma_y > 2.0:
            raise np.linalg.LinAlgError
        at = np.log(sigma_y)
        return float(at**2 - 3.0 * at), np.array([2.0 * at - 3.0, 0.0])

    given = {"isotropic": True, "penalty": 0.0}
    _, sigma_y, _, report = scores.minimise_early(score, 0, NOTHING, **given)
    assert np.sqrt(0.5) < sigma_y <= 2.0
    assert report["score"] < report["start_score"]


def test_early_stopping_holds_out_neighbours(rng):
    """Rows in their order, as the authors' code has them: no seed has an effect."""
    X, Y = rng.standard_normal((2, 43, 1))
    first, second = (
        KCEF(selection="early-stopping", folds=10, random_state=seed).fit(X, Y).cv_results_
        for seed in (0, 1)
    )
    assert first == second
    score = HeldOutScore(X, Y, contiguous_folds(43, 10), 2.0)
    start = score(np.array([np.sqrt(0.5)]), np.sqrt(0.5), 1e-4)[0]
    assert first["start_score"] == pytest.approx(start)


def held(monkeypatch, module, *steps):
    """Return the most bytes that the last of some steps, each given the last, held and planned."""
    plans, found = [], None
    note = lambda like, what, n, size, **_: plans.append(8 * size(n))  # noqa: E731
    monkeypatch.setattr(module, "require_memory", note)
    for step in steps:
        tracemalloc.start()
        found = step(found)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak, plans[0]


@pytest.mark.parametrize("parts", [5, 7])
def test_a_step_by_blocks_holds_what_is_planned(rng, monkeypatch, parts):
    monkeypatch.setattr("kcde.arrays._CACHED", 1 << 13)
    given = *some_pairs(rng, 900), kfold(900, parts, rng), 2.0
    steps = lambda _: HeldOutScore(*given), lambda score: score(np.ones(2), 1.0, 1e-2)
    peak, plan = held(monkeypatch, scores, *steps)
    assert 0.9 * plan < peak < plan


@pytest.mark.parametrize(("d", "n"), [(1, 900), (2, 500)])
def test_a_fit_holds_one_matrix(rng, monkeypatch, d, n):
    monkeypatch.setattr("kcde.arrays._BLOCK", 1 << 13)
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    given = X, Y, -Y / 4, np.ones(2), np.ones(d), 1e-2
    peak, plan = held(monkeypatch, score_matching, lambda _: score_matching.solve(*given))
    assert 8 * (n * d) ** 2 < peak < plan < 1.2 * 8 * (n * d) ** 2


@pytest.mark.parametrize(
    ("rule", "d", "n"),
    [("score", 1, 400), ("score", 2, 250), ("likelihood", 1, 300), ("shared-likelihood", 1, 300)],
)
def test_tuning_holds_what_is_planned(rng, monkeypatch, rule, d, n):
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    given = rules.Hyperparameters(1.0, 1.0, None if rule == "score" else 1e-2)
    select = partial(rules.RULES[rule], KCEF(), X, Y, kfold(n, 5, rng), given)
    peak, plan = held(monkeypatch, rules, lambda _: select())
    assert 0.5 * plan < peak < plan
