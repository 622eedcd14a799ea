"""The other readings of jdl's positivity: a sub-grid of sample values, and clipping."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from kcde.estimators import JDL
from kcde.estimators._low_rank import sub_grid


def pairs(correlation, n=200, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    noise = rng.standard_normal((n, d))
    return X, correlation * X + np.sqrt(1.0 - correlation**2) * noise


def sampled(model, rows, side):
    """The basis at the values of the sub-grid, found anew."""
    order = np.argsort(rows[:, 0], kind="stable")
    places = np.linspace(0, len(rows) - 1, sub_grid.POINTS).round().astype(int)
    return getattr(model, f"basis_{side}_").features(rows[np.sort(order[places])])


def clarabel_solution(model, X, Y, regularization):
    """The quadratic program with all 900 inequalities."""
    x, y = model.basis_x_, model.basis_y_
    marginal = np.outer(y.mean, x.mean)
    linear = y.features(Y).T @ x.features(X) / len(X) - marginal
    curvature = np.outer(y.second_moments, x.second_moments) + regularization
    of_x, of_y = sampled(model, X, "x"), sampled(model, Y, "y")
    inequalities = np.einsum("si,tj->stij", of_y, of_x).reshape(len(of_x) * len(of_y), -1)
    # In units in which the curvature is one.
    root = np.sqrt(curvature.ravel())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.eye_array(root.size)),
        -linear.ravel() / root,
        sparse.csc_matrix(np.vstack([marginal.ravel() / root, -inequalities / root])),
        np.r_[0.0, np.ones(len(inequalities))],
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(inequalities))],
        settings,
    ).solve()
    return (np.array(solution.x) / root).reshape(curvature.shape), curvature, linear


@pytest.mark.parametrize("regularization", [1e-6, 1e-3])
@pytest.mark.parametrize("correlation", [0.2, 0.9])
def test_the_sub_grid_equals_clarabel(correlation, regularization):
    X, Y = pairs(correlation)
    options = {"bandwidth_x": 0.7, "bandwidth_y": 0.7, "regularization": regularization}
    model = JDL(**options, constrained="sub-grid").fit(X, Y)
    expected, curvature, linear = clarabel_solution(model, X, Y, regularization)

    def objective(H):
        return np.sum(0.5 * curvature * H**2 - linear * H)

    assert objective(model.coef_) == pytest.approx(objective(expected), rel=1e-6)
    on_grid = 1.0 + sampled(model, Y, "y") @ model.coef_ @ sampled(model, X, "x").T
    assert on_grid.min() > -1e-6
    assert model.basis_y_.mean @ model.coef_ @ model.basis_x_.mean == pytest.approx(0.0, abs=1e-10)
    free = JDL(**options).fit(X, Y)
    lowest = (1.0 + sampled(free, Y, "y") @ free.coef_ @ sampled(free, X, "x").T).min()
    assert (model.solver_iterations_ > 0) == (lowest < 0.0)
    assert lowest < -1e-3 or correlation < 0.5


def test_without_violations_the_sub_grid_imposes_normalisation_alone():
    X, Y = pairs(0.1)
    options = {"bandwidth_x": 2.0, "bandwidth_y": 2.0, "regularization": 1.0}
    model = JDL(**options, constrained="sub-grid").fit(X, Y)
    marginal = np.outer(model.basis_y_.mean, model.basis_x_.mean)
    free = JDL(**options).fit(X, Y).coef_
    curvature = np.outer(model.basis_y_.second_moments, model.basis_x_.second_moments) + 1.0
    shift = np.sum(marginal * free) / np.sum(marginal**2 / curvature)
    np.testing.assert_allclose(model.coef_, free - shift * marginal / curvature, atol=1e-12)
    assert model.solver_iterations_ == 0


def test_clipped_expectations_equal_a_loop():
    X, Y = pairs(0.9, n=60, d=2)
    options = {"bandwidth_x": 0.6, "bandwidth_y": 0.6, "regularization": 1e-6}
    free = JDL(**options).fit(X, Y)
    clipped = JDL(**options, constrained="clipped").fit(X, Y)
    np.testing.assert_array_equal(clipped.coef_, free.coef_)
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
    np.testing.assert_allclose(found[:, -1], 1.0, rtol=0, atol=1e-14)
    ratio = clipped.density_ratio(at, Y[:7])
    np.testing.assert_array_equal(ratio, np.maximum(free.density_ratio(at, Y[:7]), 0.0))


def test_unknown_constraints_are_refused():
    X, Y = pairs(0.5, n=20)
    with pytest.raises(ValueError, match="'sub-grid' or 'clipped'; got 'some'"):
        JDL(constrained="some").fit(X, Y)
