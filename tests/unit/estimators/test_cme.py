import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from kcde.estimators import CME, cme
from kcde.estimators._low_rank.constraints import product_bounds
from kcde.estimators.cme import certify_infeasibility, project_on_simplex
from kcde.kernels import GaussianKernel


def test_equals_the_full_embedding_44_on_the_span_of_the_kernel(rng):
    X = rng.standard_normal((40, 1))
    Y = 0.8 * X + 0.6 * rng.standard_normal((40, 1))
    k_x, k_y = GaussianKernel(0.8), GaussianKernel(0.6)
    x = np.linspace(-1.5, 1.5, 6)[:, None]

    def f(y):
        return k_y(y, Y[:4])

    for regularization in (1e-4, 0.1):
        inverse = np.linalg.solve(k_x(X, X) + 40 * regularization * np.eye(40), k_x(X, x))
        model = CME(0.8, 0.6, regularization, tolerance=1e-13).fit(X, Y)
        np.testing.assert_allclose(model.conditional_expectation(f, x), inverse.T @ f(Y), atol=1e-8)


@pytest.mark.parametrize("constrained", [False, True])
def test_objective_is_that_of_48_in_matrices(many, constrained):
    X, Y = many
    model = CME(1.0, 0.9, 0.01, constrained=constrained).fit(X, Y)
    psi_x, psi_y, F = model.basis_x_.features(X), model.basis_y_.features(Y), model.coef_
    linear = np.trace(psi_y @ F @ psi_x.T)
    quadratic = np.trace(F @ (psi_x.T @ psi_x + 600 * 0.01 * np.eye(model.rank_x_)) @ F.T)
    assert model.objective_ == pytest.approx((quadratic - 2.0 * linear) / 600, rel=1e-9)


def test_the_support_is_the_pivots_and_its_weights_do_not_sum_to_one(many):
    X, Y = many
    model = CME(1.0, 0.9, 0.01).fit(X, Y)
    weights, support = model.weights(X[:5]), model.support_
    np.testing.assert_array_equal(support, Y[model.basis_y_.factor.pivots])
    _, second = model.conditional_moments(X[:5])
    expected = np.einsum("ij,ja,jb->iab", weights, support, support)
    np.testing.assert_allclose(second, expected, atol=1e-10)
    assert np.abs(weights.sum(axis=1) - 1.0).max() > 1e-4


def test_constrained_weights_are_a_probability_vector_on_average(many):
    X, Y = many
    assert CME(1.0, 0.9, 1e-4).fit(X, Y).weights(X).mean(axis=0).min() < -1e-3
    for model in CME(1.0, 0.9, constrained=True).fit_path(X, Y, np.geomspace(1e-8, 10, 10)):
        average = model.weights(X).mean(axis=0)
        assert average.min() > -1e-9
        assert average.sum() == pytest.approx(1.0, abs=1e-9)
        assert model.solver_residual_ < 1e-10


@pytest.mark.parametrize(("constrained", "n"), [(True, 30), ("rows", 40)])
def test_the_constrained_program_equals_a_general_optimiser(rng, constrained, n):
    """(48) subject to (53) and (54), over every entry of F, and to positive weights at 30 rows."""
    X = rng.standard_normal((n, 1))
    Y = X + 0.3 * rng.standard_normal((n, 1))
    both = (CME(1.0, 1.0, 0.01, tolerance=0.01, constrained=c) for c in (constrained, False))
    model, free = (each.fit(X, Y) for each in both)
    Q, mean, shape = model.basis_y_.on_pivots, model.basis_x_.mean, free.coef_.shape
    of_x = np.vstack([mean, *[model.basis_x_.features(X[:30])] * (constrained == "rows")])
    assert (Q @ free.coef_ @ of_x.T).min() < 0
    curvature = model.basis_x_.second_moments + 0.01

    def value(f):
        difference = f.reshape(shape) - free.coef_
        return np.sum(curvature * difference**2), 2.0 * (curvature * difference).ravel()

    limits = [
        {"type": "eq", "fun": lambda f: np.sum(Q @ f.reshape(shape) @ mean) - 1.0},
        {"type": "ineq", "fun": lambda f: (Q @ f.reshape(shape) @ of_x.T).ravel()},
    ]
    given = {"constraints": limits, "options": {"ftol": 1e-13, "maxiter": 1000}}
    found = minimize(value, np.zeros(free.coef_.size), jac=True, method="SLSQP", **given)
    assert found.success
    assert value(model.coef_.ravel())[0] == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(model.coef_, found.x.reshape(shape), atol=1e-4)


def problem(m, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((m, 2))
    K = GaussianKernel(0.5)(points, points) + 1e-8 * np.eye(m)
    return K, 1.0 / m + 0.3 * rng.standard_normal(m)


@pytest.mark.parametrize("rounds", [1, 20])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [1, 4, 40, 150, 650])
def test_conditions_of_optimality_hold_also_where_pivoting_does_not_end(
    m, seed, rounds, monkeypatch
):
    monkeypatch.setattr(cme, "_ROUNDS", rounds)
    K, target = problem(m, seed)
    found = project_on_simplex(K, target)
    assert found.iterations <= 20
    p = found.coefficients
    assert p.sum() == pytest.approx(1.0, abs=1e-10)
    assert p.min() >= 0.0
    slope = K @ (p - target)
    # For the best point the slope is smallest where p is positive.
    assert np.all(slope - slope[p > 0].min() > -1e-8)
    assert np.ptp(slope[p > 0]) < 1e-8


def test_all_negative_targets_have_a_projection_and_what_has_none_is_said(monkeypatch):
    found = project_on_simplex(np.eye(4), np.array([-3.0, -1.0, -2.0, -1.5])).coefficients
    np.testing.assert_allclose(found, [0.0, 0.75, 0.0, 0.25], atol=1e-12)
    with pytest.raises(FloatingPointError, match="singular"):
        project_on_simplex(np.ones((3, 3)), np.array([0.2, 0.3, 0.4]))
    monkeypatch.setattr(cme, "_ROUNDING", 0.0)
    with pytest.raises(FloatingPointError, match="residual"):
        project_on_simplex(*problem(10, 0))


@pytest.mark.parametrize("seed", range(20))
def test_certificate_agrees_with_linear_programming(seed):
    """Whether e·F = 1 and Σ (a F⁺ - b F⁻) ≥ 0 have a solution."""
    rng = np.random.default_rng(seed)
    low_y, low_x = rng.standard_normal(3) - 0.6, rng.standard_normal(4) - 0.6
    lower, upper = product_bounds(low_y, low_y + 2 * rng.random(3), low_x, low_x + rng.random(4))
    marginal = np.outer(rng.standard_normal(3), rng.standard_normal(4))
    certificate = certify_infeasibility(marginal, lower, upper)
    e, a, b = marginal.ravel(), lower.ravel(), upper.ravel()
    equality, inequality = np.r_[e, -e][None], -np.r_[a, -b][None]
    found = linprog(np.zeros(24), A_ub=inequality, b_ub=[0], A_eq=equality, b_eq=[1])
    assert (certificate is None) == (found.status == 0)
    if certificate is not None:
        F = rng.standard_normal((500, 3, 4))
        tightened = np.sum(np.where(F > 0, lower, upper) * F, axis=(1, 2))
        assert np.all(np.sum(marginal * F, axis=(1, 2)) + certificate * tightened <= 1e-9)


def test_tightening_like_33_is_infeasible_on_data_and_feasible_for_wide_kernels(many, rng):
    assert CME(1.0, 0.9, 1e-3).fit(*many).certify_tightening() > 0.0
    X, Y = rng.standard_normal((2, 200, 1))
    assert CME(30.0, 30.0, 1e-3, tolerance=1e-2).fit(X, Y).certify_tightening() is None
