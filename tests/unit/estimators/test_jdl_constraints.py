import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

from kcde.estimators._low_rank import constraints
from kcde.estimators._low_rank.constraints import _Dual, product_bounds, solve_two_multipliers


def problem(m_y, m_x, scale, seed=0):
    """A problem like those of jdl: decaying curvature, bounds of products of columns."""
    rng = np.random.default_rng(seed)
    curvature = np.exp(-0.3 * (np.arange(m_y)[:, None] + np.arange(m_x))) + 1e-3
    linear = scale * rng.standard_normal((m_y, m_x)) * np.sqrt(curvature)
    marginal = np.outer(rng.standard_normal(m_y), rng.standard_normal(m_x)) * np.sqrt(curvature)
    bounds = product_bounds(
        -2.0 * rng.random(m_y), 2.0 * rng.random(m_y), rng.random(m_x) - 0.7, rng.random(m_x) + 0.5
    )
    return curvature, linear, marginal, *bounds


def single_inequality(lower, upper, coefficients) -> float:
    """1 + Σ (C̲ H⁺ - C̄ H⁻), which (33) and (29) want to be at least 0."""
    return 1.0 + float(np.sum(np.where(coefficients > 0, lower, upper) * coefficients))


def objective(h, curvature, linear):
    return float(np.sum(0.5 * curvature * h**2 - linear * h))


def clarabel_solution(curvature, linear, marginal, lower, upper):
    """The quadratic program in the positive and negative parts of h."""
    d, n = sparse.diags_array(curvature.ravel()), curvature.size
    quadratic = sparse.block_array([[d, -d], [-d, d]])
    rows = sparse.vstack(
        [
            sparse.csc_array(np.r_[marginal.ravel(), -marginal.ravel()][None]),
            sparse.csc_array(-np.r_[lower.ravel(), -upper.ravel()][None]),
            -sparse.eye_array(2 * n),
        ]
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.triu(quadratic)),
        np.r_[-linear.ravel(), linear.ravel()],
        sparse.csc_matrix(rows),
        np.r_[0.0, 1.0, np.zeros(2 * n)],
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(1 + 2 * n)],
        settings,
    ).solve()
    x = np.array(solution.x)
    return (x[:n] - x[n:]).reshape(curvature.shape)


@pytest.mark.parametrize("total", [0.0, 1.0])
def test_the_slope_along_a_step_is_that_of_the_gradient(rng, total):
    dual = _Dual(*problem(7, 9, 1.0), total, 0.5)
    point, step = np.array([0.1, 0.2]), np.array([-0.3, 0.7])
    slope_at = dual.slope_along(point, step)
    for t in (0.0, 0.01, 0.5, 3.0):
        assert slope_at(t) == pytest.approx(dual.at(point + t * step).gradient @ step, rel=1e-10)


def test_a_narrowed_slope_is_the_same_between_its_ends(rng):
    dual = _Dual(*problem(7, 9, 1.0), 1.0, 0.5)
    slope_at = dual.slope_along(np.array([0.1, 0.2]), np.array([-0.3, 0.7]))
    places = (0.1, 0.5, 1.0, 3.0)
    expected = list(map(slope_at, places))
    slope_at.narrow(0.1, 3.0)
    assert list(map(slope_at, places)) == pytest.approx(expected, rel=1e-10)
    slope_at.narrow(0.5, 1.0)
    assert list(map(slope_at, places[1:3])) == pytest.approx(expected[1:3], rel=1e-10)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("shape", [(5, 5), (12, 20)])
def test_equals_clarabel(shape, scale):
    arguments = problem(*shape, scale)
    solved = solve_two_multipliers(*arguments)
    h = clarabel_solution(*arguments)
    expected = objective(h, *arguments[:2])
    assert objective(solved.coefficients, *arguments[:2]) == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(solved.coefficients, h, atol=1e-4 * np.abs(h).max())


@pytest.mark.parametrize("scale", [0.1, 3.0])
def test_equals_a_general_optimiser(scale):
    curvature, linear, marginal, lower, upper = problem(3, 4, scale)
    n = curvature.size

    def value(x):
        h = (x[:n] - x[n:]).reshape(curvature.shape)
        slope = curvature * h - linear
        return objective(h, curvature, linear), np.r_[slope.ravel(), -slope.ravel()]

    equality = np.r_[marginal.ravel(), -marginal.ravel()]
    inequality = np.r_[lower.ravel(), -upper.ravel()]
    found = minimize(
        value,
        np.zeros(2 * n),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * (2 * n),
        constraints=[
            LinearConstraint(equality, 0.0, 0.0),
            LinearConstraint(inequality, -1.0, np.inf),
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    solved = solve_two_multipliers(curvature, linear, marginal, lower, upper)
    assert objective(solved.coefficients, curvature, linear) == pytest.approx(found.fun, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(8))
def test_feasible_and_optimal(scale, seed):
    arguments = problem(30, 40, scale, seed)
    solved = solve_two_multipliers(*arguments)
    h, marginal = solved.coefficients, arguments[2]
    assert abs(np.sum(marginal * h)) <= 1e-9 * np.sum(np.abs(marginal * h))
    assert single_inequality(arguments[3], arguments[4], h) >= -1e-9
    assert solved.status == "optimal"
    assert solved.residual <= 1e-9
    # No feasible direction towards a random feasible point improves.
    rng = np.random.default_rng(seed)
    slope = arguments[0] * h - arguments[1]
    for _ in range(20):
        other = rng.standard_normal(h.shape)
        other -= np.sum(marginal * other) / np.sum(marginal**2) * marginal
        excess = 1.0 - single_inequality(arguments[3], arguments[4], other)
        other = other / max(1.0, excess)
        assert single_inequality(arguments[3], arguments[4], other) >= -1e-12
        assert np.sum(slope * (other - h)) >= -1e-9 * np.sum(np.abs(slope * h))


@pytest.mark.parametrize("seed", range(4))
def test_other_totals_and_offsets(seed):
    """e·h = 1 and Σ (a h⁺ - b h⁻) ≥ 0, against a general optimiser."""
    rng = np.random.default_rng(seed)
    curvature, linear, marginal, lower, upper = problem(3, 3, 1.0, seed)
    lower = upper - 0.7 * rng.random(upper.shape)
    n = 9

    def value(x):
        h = (x[:n] - x[n:]).reshape(3, 3)
        slope = curvature * h - linear
        return objective(h, curvature, linear), np.r_[slope.ravel(), -slope.ravel()]

    equality = np.r_[marginal.ravel(), -marginal.ravel()]
    inequality = np.r_[lower.ravel(), -upper.ravel()]
    found = minimize(
        value,
        0.1 * np.ones(2 * n),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * (2 * n),
        constraints=[
            LinearConstraint(equality, 1.0, 1.0),
            LinearConstraint(inequality, 0.0, np.inf),
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert found.success
    solved = solve_two_multipliers(curvature, linear, marginal, lower, upper, total=1.0, offset=0.0)
    assert objective(solved.coefficients, curvature, linear) == pytest.approx(found.fun, abs=1e-7)
    assert np.sum(marginal * solved.coefficients) == pytest.approx(1.0, abs=1e-10)
    assert single_inequality(lower, upper, solved.coefficients) >= 1.0 - 1e-10


def test_without_a_binding_inequality_one_multiplier_is_enough():
    curvature, linear, marginal, lower, upper = problem(6, 7, 1e-3)
    solved = solve_two_multipliers(curvature, linear, marginal, lower, upper)
    weight = marginal / curvature
    nu = np.sum(weight * linear) / np.sum(weight * marginal)
    np.testing.assert_allclose(solved.coefficients, (linear - nu * marginal) / curvature)
    assert solved.iterations == 0


def test_nothing_to_learn_gives_independence():
    curvature, linear, marginal, lower, upper = problem(6, 7, 1.0)
    solved = solve_two_multipliers(curvature, 0.0 * linear, marginal, lower, upper)
    np.testing.assert_array_equal(solved.coefficients, 0.0)


def test_marginals_may_vanish():
    curvature, linear, marginal, lower, upper = problem(6, 7, 10.0)
    solved = solve_two_multipliers(curvature, linear, 0.0 * marginal, lower, upper)
    assert abs(single_inequality(lower, upper, solved.coefficients)) < 1e-11


def test_bounds_are_31_and_32_and_extremes_over_all_pairs(rng):
    columns_y, columns_x = rng.standard_normal((9, 6)), rng.standard_normal((9, 6)) + 1.0
    columns_y[:, 0] = np.abs(columns_y[:, 0])
    columns_x[:, :2] = -np.abs(columns_x[:, :2])
    low_y, high_y = columns_y.min(axis=0), columns_y.max(axis=0)
    low_x, high_x = columns_x.min(axis=0), columns_x.max(axis=0)
    lower, upper = product_bounds(low_y, high_y, low_x, high_x)
    products = columns_y[:, None, :, None] * columns_x[None, :, None, :]
    np.testing.assert_allclose(lower, products.min(axis=(0, 1)))
    np.testing.assert_allclose(upper, products.max(axis=(0, 1)))

    def up(a):
        return np.maximum(a, 0.0)

    def down(a):
        return -np.minimum(a, 0.0)

    low_y, high_y, low_x, high_x = low_y[:, None], high_y[:, None], low_x[None], high_x[None]
    paper_lower = (
        up(low_y) * up(low_x)
        + down(high_y) * down(high_x)
        - np.maximum(up(high_y) * down(low_x), down(low_y) * up(high_x))
    )
    paper_upper = (
        np.maximum(up(high_y) * up(high_x), down(low_y) * down(low_x))
        - down(high_y) * up(low_x)
        - up(low_y) * down(high_x)
    )
    np.testing.assert_allclose(lower, paper_lower)
    np.testing.assert_allclose(upper, paper_upper)


def test_lemma_4_3_the_inequality_tightens_positivity(rng):
    columns_y, columns_x = rng.standard_normal((40, 5)), rng.standard_normal((40, 4))
    extremes = [f(c, axis=0) for c in (columns_y, columns_x) for f in (np.min, np.max)]
    lower, upper = product_bounds(*extremes)
    for _ in range(50):
        H = rng.standard_normal((5, 4))
        H = H / (1.0 - single_inequality(lower, upper, H))
        assert single_inequality(lower, upper, H) == pytest.approx(0.0, abs=1e-12)
        assert 1.0 + (columns_y @ H @ columns_x.T).min() >= -1e-12


@pytest.mark.parametrize("scale", [2.0, 300.0], ids=["steps alone", "a search along a line"])
def test_other_namespaces_give_the_same(other_xp, host, scale):
    arguments = problem(7, 9, scale)
    expected = solve_two_multipliers(*arguments)
    found = solve_two_multipliers(*map(other_xp.asarray, arguments))
    np.testing.assert_allclose(host(found.coefficients), expected.coefficients, atol=1e-12)


def test_an_early_stop_names_status_and_residual(monkeypatch):
    monkeypatch.setattr(constraints, "_ITERATIONS", 2)
    with pytest.raises(FloatingPointError, match=r"status iteration limit, residual .* after 2"):
        solve_two_multipliers(*problem(12, 20, 30.0))
