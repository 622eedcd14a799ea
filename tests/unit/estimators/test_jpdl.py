from math import comb

import clarabel
import numpy as np
import pytest

from kcde.estimators import JPDL, jpdl
from kcde.estimators._low_rank.basis import PolynomialBasis, graded_exponents
from naive import grid_values


def gaussian_pairs(rng, n, d):
    X = 3.0 + rng.standard_normal((n, d))
    return X, 0.8 * X + 0.6 * rng.standard_normal((n, d))


def objective(H, C, scale):
    return scale * np.sum(H * H) - 2.0 * np.sum(C * H)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_basis_is_orthonormal_constant_first_and_spans(rng, d):
    X = 50.0 + 3.0 * rng.standard_normal((400, d))
    psi = PolynomialBasis(X, 4).features(X)
    np.testing.assert_allclose(psi.T @ psi / 400, np.eye(comb(d + 4, 4)), atol=1e-9)
    np.testing.assert_allclose(psi[:, 0], 1.0)
    # Every monomial of the raw variables lies in the span.
    fourth = (X[:, 0] - 50.0) ** 3 * (X[:, -1] - 49.0)
    np.testing.assert_allclose(psi @ (psi.T @ fourth / 400), fourth, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize(("d", "regularization"), [(1, 1e-8), (1, 10.0), (2, 0.1)])
def test_sums_of_squares_equal_clarabel(rng, d, regularization):
    """The unreduced program has no interior: solvers reach it to fewer digits."""
    summary = JPDL().summarise(*gaussian_pairs(rng, 800, d))
    C = summary.cross - np.outer(summary.basis_y.mean, summary.basis_x.mean)
    problem = C, 1.0 + regularization, summary.basis_x, summary.basis_y
    half = graded_exponents(d, 2)
    reduced = [x + y for y in half for x in half]
    ours = jpdl.solve_by_samples(*problem)
    theirs = jpdl.solve_with_clarabel(*problem, reduced)
    expected = objective(theirs.coefficients, *problem[:2])
    assert objective(ours.coefficients, *problem[:2]) == pytest.approx(expected, abs=1e-7)
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, atol=1e-4)
    if d == 1:
        full = jpdl.solve_with_clarabel(*problem, graded_exponents(2, 4))
        assert objective(full.coefficients, *problem[:2]) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("d", [1, 2])
def test_constrained_ratio_is_nowhere_negative(rng, d):
    X, Y = gaussian_pairs(rng, 800, d)
    model, free = JPDL(constrained=True).fit(X, Y), JPDL().fit(X, Y)
    x, y = 3.0 + 8.0 * rng.standard_normal((2, 5000, d))
    assert model.density_ratio(x, y).min() >= -1e-9
    assert free.density_ratio(x, y).min() < 0.0
    # (23): the average over the grid of training points is one.
    assert abs(np.mean(grid_values(model, X, Y))) < 1e-9
    assert free.objective_ < model.objective_ < 0.0
    assert model.solver_residual_ < 1e-10
    # The minimum over a convex set that contains independence, H = 0.
    slope = (1.0 + model.regularization) * (model.coef_ - free.coef_)
    assert np.sum(slope * (0.0 - model.coef_)) >= -1e-9


def test_failures_are_said_or_take_the_place_of_models(rng, monkeypatch):
    X, Y = gaussian_pairs(rng, 300, 1)
    made = clarabel.DefaultSettings

    def settings(**given):
        few = made()
        for name, value in given.items():
            setattr(few, name, value)
        return few

    loose = dict.fromkeys(("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-3)
    never = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 0.0)
    monkeypatch.setattr(clarabel, "DefaultSettings", lambda: settings(**loose, **never))
    model = JPDL(constrained=True, solver="clarabel-unreduced").fit(X, Y)
    assert model.solver_status_ == "nearly optimal"
    assert 0.0 < model.solver_residual_ < 1e-3
    rough = dict.fromkeys(never, 0.1)
    monkeypatch.setattr(clarabel, "DefaultSettings", lambda: settings(**rough))
    with pytest.raises(FloatingPointError, match=r"status Solved.* 1 \+ h = -"):
        JPDL(constrained=True, solver="clarabel-unreduced").fit(X**3, Y**3)
    monkeypatch.setattr(clarabel, "DefaultSettings", lambda: settings(max_iter=2))
    monkeypatch.setattr(jpdl, "_STEPS", 3)
    for solver, status in (("clarabel-unreduced", "MaxIterations"), ("samples", "iteration limit")):
        with pytest.raises(FloatingPointError, match=f"status {status}"):
            JPDL(constrained=True, solver=solver).fit(X, Y)
    found = JPDL(constrained=True).fit_path(X, Y, [0.1, 1.0], return_errors=True)
    assert [type(outcome) for outcome in found] == [FloatingPointError] * 2


def test_dependent_monomials_are_refused(rng):
    X, Y = gaussian_pairs(rng, 100, 2)
    with pytest.raises(ValueError, match="15 monomials in X are dependent"):
        JPDL().fit(X[:10], Y[:10])
    with pytest.raises(ValueError, match="X has a constant column"):
        JPDL().fit(np.hstack([X, np.ones((100, 1))]), Y)
