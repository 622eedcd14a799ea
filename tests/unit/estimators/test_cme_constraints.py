import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize

from kcde.estimators import CME
from kcde.estimators._low_rank import cme_constraints
from kcde.estimators._low_rank.cme_constraints import (
    _ActiveSet,
    certify_infeasibility,
    move_mean,
    project_on_simplex,
)
from kcde.estimators._low_rank.constraints import product_bounds
from kcde.kernels import GaussianKernel


def problem(m, seed, bandwidth=0.5, spread=0.3):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((m, 2))
    K = GaussianKernel(bandwidth)(points, points) + 1e-8 * np.eye(m)
    return K, 1.0 / m + spread * rng.standard_normal(m)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("m", [1, 4, 40, 150])
def test_conditions_of_optimality_hold(m, seed):
    K, target = problem(m, seed)
    solved = project_on_simplex(K, target)
    p = solved.point
    assert p.sum() == pytest.approx(1.0, abs=1e-10)
    assert p.min() >= 0.0
    slope = K @ (p - target)
    # For the best point the slope is smallest where p is positive.
    assert np.all(slope - slope[p > 0].min() > -1e-8)
    assert np.ptp(slope[p > 0]) < 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_a_solution_nearby_is_a_shorter_way_to_the_same(seed, rng):
    K, target = problem(60, seed)
    cold = project_on_simplex(K, target)
    close = project_on_simplex(K, target + 1e-3 * rng.standard_normal(60)).point
    warm = project_on_simplex(K, target, close)
    np.testing.assert_allclose(warm.point, cold.point, atol=1e-8)
    assert warm.iterations < cold.iterations
    # Far from it, it is a start like any other.
    far = project_on_simplex(K, target, np.eye(60)[7])
    np.testing.assert_allclose(far.point, cold.point, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("m", "bandwidth", "spread"), [(60, 0.5, 0.3), (300, 0.2, 0.003)])
def test_entries_that_move_one_at_a_time_end_at_the_same(seed, m, bandwidth, spread, monkeypatch):
    K, target = problem(m, seed, bandwidth, spread)
    together = project_on_simplex(K, target)
    monkeypatch.setattr(cme_constraints, "_PATIENCE", 0)
    alone = project_on_simplex(K, target)
    np.testing.assert_allclose(alone.point, together.point, atol=1e-8)
    # Where hundreds are positive.
    assert m < 300 or together.iterations < 0.5 * alone.iterations


@pytest.mark.parametrize("seed", [1, 5, 6, 7])
def test_a_singular_support_on_the_way_does_not_end_the_search(seed, monkeypatch):
    # Entries of two equal points that enter together make a singular system.
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((30, 2))
    points[1] = points[0]
    K = GaussianKernel(0.5)(points, points) + np.diag(np.r_[0, 0, np.full(28, 1e-8)])
    target = 1.0 / 30.0 + 0.3 * rng.standard_normal(30)
    target[:2] = -1e-3
    solve, singular = _ActiveSet.solve, []

    def counted(search, support):
        try:
            return solve(search, support)
        except FloatingPointError:
            singular.append(support)
            raise

    monkeypatch.setattr(_ActiveSet, "solve", counted)
    p = project_on_simplex(K, target).point
    assert len(singular) == 1
    slope = K @ (p - target)
    assert np.all(slope - slope[p > 0].min() > -1e-8)


def test_equals_clarabel():
    m = 60
    K, target = problem(m, 0)
    rows = sparse.vstack([sparse.csc_array(np.ones((1, m))), -sparse.eye_array(m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(K)),
        -K @ target,
        sparse.csc_matrix(rows),
        np.r_[1.0, np.zeros(m)],
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(m)],
        settings,
    ).solve()
    p = project_on_simplex(K, target).point
    np.testing.assert_allclose(p, np.array(solution.x), atol=1e-6)
    # No entry is positive in one and far from it in the other.
    np.testing.assert_array_equal(p > 0, np.array(solution.x) > 1e-6)


def test_a_probability_vector_stays():
    K, _ = problem(9, 1)
    target = np.arange(9) / 36.0
    np.testing.assert_allclose(project_on_simplex(K, target).point, target, atol=1e-9)


def test_all_negative_targets_have_a_projection():
    p = project_on_simplex(np.eye(4), np.array([-3.0, -1.0, -2.0, -1.5])).point
    # Of the identity: the projection of the target on the simplex.
    np.testing.assert_allclose(p, [0.0, 0.75, 0.0, 0.25], atol=1e-12)


def test_a_singular_matrix_is_said():
    with pytest.raises(FloatingPointError, match="status singular"):
        project_on_simplex(np.ones((3, 3)), np.array([0.2, 0.3, 0.4]))


def test_moving_the_mean_costs_least(rng):
    F, mean, curvature = rng.standard_normal((3, 5)), rng.standard_normal(5), rng.random(5) + 0.1
    change = rng.standard_normal(3)
    moved = move_mean(F, mean, curvature, change)
    np.testing.assert_allclose(moved @ mean, F @ mean + change)
    cost = np.sum(curvature * (moved - F) ** 2)
    for _ in range(20):
        other = rng.standard_normal(F.shape)
        other -= np.outer(other @ mean, mean) / (mean @ mean)
        assert np.sum(curvature * (moved + 0.01 * other - F) ** 2) > cost


def test_other_namespaces_give_the_same(other_xp, host):
    K, target = problem(20, 2)
    expected = project_on_simplex(K, target).point
    found = project_on_simplex(other_xp.asarray(K), other_xp.asarray(target)).point
    np.testing.assert_allclose(host(found), expected, atol=1e-9)


def test_the_whole_program_equals_a_general_optimiser(rng):
    """(48) subject to (53) and (54), over every entry of F."""
    X = rng.standard_normal((30, 1))
    Y = X + 0.3 * rng.standard_normal((30, 1))
    model = CME(1.0, 1.0, 0.01, tolerance=0.01, constrained=True).fit(X, Y)
    free = CME(1.0, 1.0, 0.01, tolerance=0.01).fit(X, Y)
    Q, mean = model.basis_y_.on_pivots, model.basis_x_.mean
    assert (Q @ free.coef_ @ mean).min() < 0
    curvature = model.basis_x_.second_moments + 0.01
    shape = free.coef_.shape

    def value(f):
        difference = f.reshape(shape) - free.coef_
        return np.sum(curvature * difference**2), 2.0 * (curvature * difference).ravel()

    found = minimize(
        value,
        np.zeros(free.coef_.size),
        jac=True,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda f: np.sum(Q @ f.reshape(shape) @ mean) - 1.0},
            {"type": "ineq", "fun": lambda f: Q @ f.reshape(shape) @ mean},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert found.success
    assert value(model.coef_.ravel())[0] == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(model.coef_, found.x.reshape(shape), atol=1e-4)


def feasible_by_linear_programming(marginal, lower, upper):
    """Whether e·F = 1 and Σ (a F⁺ - b F⁻) ≥ 0 have a solution."""
    e, a, b = marginal.ravel(), lower.ravel(), upper.ravel()
    equality, inequality = np.r_[e, -e][None], -np.r_[a, -b][None]
    found = linprog(np.zeros(2 * len(e)), A_ub=inequality, b_ub=[0], A_eq=equality, b_eq=[1])
    return found.status == 0


@pytest.mark.parametrize("seed", range(30))
def test_certificate_agrees_with_linear_programming(seed):
    rng = np.random.default_rng(seed)
    low_y, low_x = rng.standard_normal(3) - 0.6, rng.standard_normal(4) - 0.6
    lower, upper = product_bounds(low_y, low_y + 2 * rng.random(3), low_x, low_x + rng.random(4))
    marginal = np.outer(rng.standard_normal(3), rng.standard_normal(4))
    certificate = certify_infeasibility(marginal, lower, upper)
    assert (certificate is None) == feasible_by_linear_programming(marginal, lower, upper)
    if certificate is not None:
        F = rng.standard_normal((500, 3, 4))
        tightened = np.sum(np.where(F > 0, lower, upper) * F, axis=(1, 2))
        assert np.all(np.sum(marginal * F, axis=(1, 2)) + certificate * tightened <= 1e-9)


def test_certificate_is_found_and_not_found():
    lower, upper = -np.ones((2, 2)), np.ones((2, 2))
    assert certify_infeasibility(np.full((2, 2), 0.5), lower, upper) == 0.5
    assert certify_infeasibility(np.full((2, 2), 0.5), 0.1 * upper, upper) is None
    assert certify_infeasibility(np.full((2, 2), 0.5), 0.0 * upper, upper) is None


def test_tightening_like_33_is_infeasible_on_gaussian_data(rng):
    X = rng.standard_normal((500, 1))
    Y = 0.8 * X + 0.6 * rng.standard_normal((500, 1))
    assert CME(1.0, 1.0, 1e-3).fit(X, Y).certify_tightening() > 0.0


def test_an_early_stop_names_status_and_residual(monkeypatch):
    monkeypatch.setattr(_ActiveSet, "entering", lambda self, p, support: (support[:1], 0.5))
    with pytest.raises(FloatingPointError, match=r"status no progress, residual 0\.5 after"):
        project_on_simplex(*problem(10, 0))
