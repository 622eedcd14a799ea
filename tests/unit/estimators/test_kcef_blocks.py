"""The K-fold score by blocks against that on whole matrices, and what both hold in memory."""

import tracemalloc

import numpy as np
import pytest

from kcde import memory
from kcde.estimators._kcef import blocks as blocked
from kcde.estimators._kcef import gradient, score_matching
from kcde.estimators._kcef import selection as rules
from kcde.estimators._kcef.score import BlockedHeldOutScore, HeldOutScore
from kcde.estimators._kcef.score_matching import normal_equations, solve
from kcde.linalg import solve_positive_definite
from kcde.selection import kfold

THETAS = [([1.2, 0.8], 0.7, 1e-2), ([0.5, 2.0], 1.5, 1e-4)]


def peak_of(function, *arguments) -> int:
    """Return the most memory that a call held beyond what there was, bytes."""
    tracemalloc.start()
    function(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def sample(rng, n):
    X = rng.standard_normal((n, 2))
    return X, np.sin(X[:, :1]) + 0.4 * rng.standard_normal((n, 1))


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize(("n", "block", "parts"), [(31, 40, 5), (31, 1, 2), (100, 1000, 7)])
def test_blocks_equal_whole_matrices(xp, rng, monkeypatch, theta, n, block, parts):
    monkeypatch.setattr("kcde.arrays.blocks._CACHED", block)
    (X, Y), folds = sample(rng, n), kfold(n, parts, rng)
    sigma = np.array(theta[0])
    value, slope = HeldOutScore(X, Y, folds, 2.0)(sigma, *theta[1:])
    score = BlockedHeldOutScore(xp.asarray(X), xp.asarray(Y), folds, 2.0)
    found, gradient_found = score(sigma, *theta[1:])
    assert found == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(gradient_found, slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())


def test_without_x(rng):
    _, Y = sample(rng, 30)
    folds = kfold(30, 5, rng)
    scores = [kind(Y[:, :0], Y, folds, 2.0) for kind in (HeldOutScore, BlockedHeldOutScore)]
    (a, slope_a), (b, slope_b) = (score(np.ones(0), 0.7, 1e-2) for score in scores)
    assert a == pytest.approx(b, rel=1e-10)
    np.testing.assert_allclose(slope_a, slope_b, rtol=1e-9)


def test_many_rows_are_taken_by_blocks(pairs, rng, monkeypatch):
    folds = kfold(30, 5, rng)
    assert isinstance(gradient.gradient_score(*pairs, folds, 2.0), HeldOutScore)
    monkeypatch.setattr(gradient, "_WHOLE", 30**2 - 1)
    assert isinstance(gradient.gradient_score(*pairs, folds, 2.0), BlockedHeldOutScore)


def test_indices_are_where_the_data_are(other_xp, pairs, rng):
    X, Y = (other_xp.asarray(values) for values in pairs)
    score = HeldOutScore(X, Y, kfold(30, 5, rng), 2.0)
    assert {type(each) for each in (*score.folds, score.ones_S, score.ones_R)} == {type(Y)}


def planned(monkeypatch, module) -> list:
    """Return a list that fills with the bytes planned for, as `require_memory` is asked."""
    plans = []

    def note(like, what, n, numbers, **_):
        plans.append(8 * numbers(n))

    monkeypatch.setattr(module, "require_memory", note)
    return plans


def test_a_step_holds_what_is_planned(rng, monkeypatch):
    plans = planned(monkeypatch, blocked)
    monkeypatch.setattr("kcde.arrays.blocks._CACHED", 1 << 13)
    (X, Y), folds = sample(rng, 900), kfold(900, 5, rng)
    score = BlockedHeldOutScore(X, Y, folds, 2.0)
    assert 0.9 * plans[0] < peak_of(score, np.ones(2), 1.0, 1e-2) < plans[0]


@pytest.mark.parametrize(("d", "n"), [(1, 900), (2, 500)])
def test_a_fit_holds_one_matrix(rng, monkeypatch, d, n):
    plans = planned(monkeypatch, score_matching)
    monkeypatch.setattr("kcde.arrays.blocks._BLOCK", 1 << 13)
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    peak = peak_of(solve, X, Y, -Y / 4, np.ones(2), np.ones(d), 1e-2)
    assert 8 * (n * d) ** 2 < peak < plans[0] < 1.2 * 8 * (n * d) ** 2


@pytest.mark.parametrize(("d", "n"), [(1, 400), (2, 250), (3, 120)])
def test_tuning_by_score_holds_what_is_planned(rng, monkeypatch, d, n):
    plans = planned(monkeypatch, rules)
    X, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, d))
    given = rules.Hyperparameters(1.0, 1.0, None)
    arguments = (X, Y, np.arange(n), kfold(n, 5, rng), given, 2.0)
    peak = peak_of(rules.select_by_score, *arguments)
    assert 0.8 * plans[0] < peak < plans[0]


@pytest.mark.parametrize(
    ("select", "sigma_x"),
    [(rules.select_by_likelihood, None), (rules.select_by_shared_likelihood, 1.0)],
)
def test_tuning_by_likelihood_holds_what_is_planned(rng, monkeypatch, select, sigma_x):
    plans, (X, Y) = planned(monkeypatch, rules), sample(rng, 300)
    given = rules.Hyperparameters(sigma_x, 1.0, 1e-2)
    arguments = (X, Y, np.arange(300), kfold(300, 5, rng), given, 2.0)
    peak = peak_of(select, *arguments)
    assert 0.5 * plans[0] < peak < plans[0]


@pytest.mark.parametrize("regularization", [1e-2, 1e-19])
def test_in_its_own_memory_the_system_has_the_same_solution(rng, regularization):
    """Also where rounding leaves no factor, and the matrix has to be written again."""
    (X, Y), r = sample(rng, 50), -0.25
    X, Y = np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0)
    sigmas = np.array([1.0, 1.5]), np.array([0.6])
    mu = len(Y) * regularization
    G, M1 = normal_equations(X, Y, *sigmas)
    expected = solve_positive_definite(G, M1 - mu * r * Y[:, 0], shift=mu)
    found = solve(X, Y, r * Y, *sigmas, regularization)
    np.testing.assert_array_equal(found.c[:, 0], expected.x / mu)
    assert found.jitter == expected.jitter
    assert (found.jitter > 0) == (regularization < 1e-15)


def test_memory_is_asked_for_before_it_is_taken(pairs, rng, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 0)
    with pytest.raises(memory.InsufficientMemory):
        solve(*pairs, -pairs[1] / 4, np.ones(2), np.ones(1), 1e-2)
