"""JDL's constraints: two multipliers, the grid or a sub-grid of sample values, clipping."""

import numpy as np
import pytest
from scipy import sparse

from kcde.estimators import JDL
from kcde.estimators._low_rank import constraints
from kcde.estimators._low_rank.constraints import product_bounds, solve_two_multipliers
from naive import quadratic_program


def problem(m_y, m_x, scale):
    """A problem like those of jdl: decaying curvature, bounds of products of columns."""
    rng = np.random.default_rng(0)
    curvature = np.exp(-0.3 * (np.arange(m_y)[:, None] + np.arange(m_x))) + 1e-3
    linear = scale * rng.standard_normal((m_y, m_x)) * np.sqrt(curvature)
    marginal = np.outer(rng.standard_normal(m_y), rng.standard_normal(m_x)) * np.sqrt(curvature)
    ends_y = -2.0 * rng.random(m_y), 2.0 * rng.random(m_y)
    bounds = product_bounds(*ends_y, rng.random(m_x) - 0.7, rng.random(m_x) + 0.5)
    return curvature, linear, marginal, *bounds


def objective(h, curvature, linear):
    return float(np.sum(0.5 * curvature * h**2 - linear * h))


def minimiser(curvature, linear, marginal, lower, upper):
    """The same problem as a quadratic program in the parts of h."""
    d, n = sparse.diags_array(curvature.ravel()), curvature.size
    single = -np.r_[lower.ravel(), -upper.ravel()]
    x = quadratic_program(
        sparse.block_array([[d, -d], [-d, d]]),
        np.r_[linear.ravel(), -linear.ravel()],
        np.r_[marginal.ravel(), -marginal.ravel()],
        0.0,
        sparse.vstack([sparse.csc_array(single[None]), -sparse.eye_array(2 * n)]),
        np.r_[1.0, np.zeros(2 * n)],
    )
    return (x[:n] - x[n:]).reshape(curvature.shape)


@pytest.mark.parametrize("scale", [1e-4, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("shape", [(5, 5), (12, 20)])
def test_two_multipliers_equal_the_quadratic_program_in_the_parts_of_h(shape, scale):
    given = problem(*shape, scale)
    solved, h = solve_two_multipliers(*given), minimiser(*given)
    expected = objective(h, *given[:2])
    assert objective(solved.coefficients, *given[:2]) == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(solved.coefficients, h, atol=1e-4 * np.abs(h).max())
    assert solved.residual <= 1e-9
    assert solved.iterations == 0 or scale > 1e-4  # no inequality binds


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.nightly)])
def test_every_problem_with_ties_is_solved(count):
    """Rows of few values, where kinks of the dual are shared by many coefficients."""
    rng = np.random.default_rng(count)
    for _ in range(count):
        X = rng.integers(0, rng.integers(2, 6), size=(rng.integers(10, 80), rng.integers(1, 3)))
        y = rng.integers(0, 2, size=len(X))
        X[0], y[:2] = X.max() + 1, [0, 1]
        model = JDL(*rng.choice([0.5, 1.0, 2.0], 2), 10.0 ** -rng.integers(1, 9))
        summary = model.summarise(X * 1.0, y * 1.0)
        bases = summary.basis_y, summary.basis_x
        marginal = np.outer(*(basis.mean for basis in bases))
        curvature = np.outer(*(b.second_moments for b in bases)) + model.regularization
        bounds = product_bounds(*bases[0].extrema, *bases[1].extrema)
        given = curvature, summary.cross - marginal, marginal, *bounds
        h = solve_two_multipliers(*given).coefficients
        expected = objective(minimiser(*given), *given[:2])
        assert objective(h, *given[:2]) == pytest.approx(expected, rel=1e-5, abs=1e-9)
        assert np.sum(marginal * h) == pytest.approx(0.0, abs=1e-9)
        least = 1.0 + np.sum(np.where(h > 0.0, bounds[0], bounds[1]) * h)
        assert least > -1e-8


def test_bounds_are_the_extremes_over_all_pairs(rng):
    columns_y, columns_x = rng.standard_normal((9, 6)), rng.standard_normal((9, 6)) + 1.0
    columns_y[:, 0], columns_x[:, :2] = np.abs(columns_y[:, 0]), -np.abs(columns_x[:, :2])
    extremes = [f(c, axis=0) for c in (columns_y, columns_x) for f in (np.min, np.max)]
    products = columns_y[:, None, :, None] * columns_x[None, :, None, :]
    expected = products.min(axis=(0, 1)), products.max(axis=(0, 1))
    np.testing.assert_allclose(product_bounds(*extremes), expected)


def test_where_newton_stops_roots_of_the_slopes_are_as_good(monkeypatch):
    given = problem(12, 20, 30.0)
    expected = solve_two_multipliers(*given).coefficients
    monkeypatch.setattr(constraints, "_ITERATIONS", 2)
    np.testing.assert_allclose(solve_two_multipliers(*given).coefficients, expected, atol=1e-8)


def pairs(correlation, n=200, d=1):
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((2, n, d))
    return X, correlation * X + np.sqrt(1.0 - correlation**2) * noise


def sampled(model, rows, side):
    """The basis at the values of the grid, found anew."""
    order = np.argsort(rows[:, 0], kind="stable")
    most = constraints.POINTS if model.constrained == "sub-grid" else len(rows)
    places = np.linspace(0, len(rows) - 1, most).round().astype(int)
    return getattr(model, f"basis_{side}_").features(rows[np.sort(order[places])])


@pytest.mark.parametrize("grid", ["sub-grid", "grid"])
@pytest.mark.parametrize(("correlation", "regularization"), [(0.2, 1e-3), (0.9, 1e-3), (0.9, 1e-6)])
def test_a_grid_equals_the_quadratic_program_with_all_of_it(grid, correlation, regularization):
    X, Y = pairs(correlation, 200 if grid == "sub-grid" else 40)
    options = {"bandwidth_x": 0.7, "bandwidth_y": 0.7, "regularization": regularization}
    model, free = (JDL(**options, constrained=c).fit(X, Y) for c in (grid, False))
    x, y = model.basis_x_, model.basis_y_
    marginal = np.outer(y.mean, x.mean)
    linear = y.features(Y).T @ x.features(X) / len(X) - marginal
    curvature = np.outer(y.second_moments, x.second_moments) + regularization
    of_x, of_y = sampled(model, X, "x"), sampled(model, Y, "y")
    h = np.einsum("si,tj->stij", of_y, of_x).reshape(len(of_x) * len(of_y), -1)
    # In units in which the curvature is one.
    root, ones = np.sqrt(curvature.ravel()), np.ones(len(h))
    unit = sparse.eye_array(root.size)
    given = unit, linear.ravel() / root, marginal.ravel() / root, 0.0, -h / root, ones
    expected = (quadratic_program(*given) / root).reshape(curvature.shape)
    found = objective(model.coef_, curvature, linear)
    assert found == pytest.approx(objective(expected, curvature, linear), rel=1e-6)
    assert 1.0 + (of_y @ model.coef_ @ of_x.T).min() > -1e-6
    assert y.mean @ model.coef_ @ x.mean == pytest.approx(0.0, abs=1e-10)
    lowest = 1.0 + (of_y @ free.coef_ @ of_x.T).min()
    assert (model.solver_iterations_ > 0) == (lowest < 0.0)


@pytest.mark.parametrize("constrained", [True, "grid", "sub-grid", "clipped"])
def test_without_x_the_mean_is_that_of_y(constrained):
    Y = pairs(0.0, 40)[1]
    model = JDL(0.7, 0.7, 1e-3, constrained=constrained).fit(None, Y)
    assert model.mean(None) == pytest.approx(Y.mean())


def test_clipped_expectations_equal_a_loop():
    X, Y = pairs(0.9, n=60, d=2)
    options = {"bandwidth_x": 0.6, "bandwidth_y": 0.6, "regularization": 1e-6}
    free, clipped = (JDL(**options, constrained=c).fit(X, Y) for c in (False, "clipped"))
    at = np.random.default_rng(1).standard_normal((7, 2))

    def f(values):
        return np.hstack([values, values**2, np.ones((len(values), 1))])

    found, weights = clipped.conditional_expectation(f, at), clipped.weights(at)
    for k, x in enumerate(at):
        density = [free.density_ratio(x[None], y[None]).item() for y in Y]
        mass = np.maximum(density, 0.0)
        assert min(density) < 0.0
        np.testing.assert_allclose(weights[k], mass / mass.sum(), atol=1e-10)
        np.testing.assert_allclose(found[k], mass @ f(Y) / mass.sum(), atol=1e-9)
    ratio = clipped.density_ratio(at, Y[:7])
    np.testing.assert_array_equal(ratio, np.maximum(free.density_ratio(at, Y[:7]), 0.0))
