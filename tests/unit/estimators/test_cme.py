import numpy as np
import pytest

from kcde.estimators import CME, JDL
from kcde.kernels import GaussianKernel

LAMBDAS = np.geomspace(1e-8, 10, 10)


@pytest.fixture
def pairs(rng):
    X = rng.standard_normal((40, 1))
    return X, 0.8 * X + 0.6 * rng.standard_normal((40, 1))


@pytest.fixture
def many(rng):
    X = rng.standard_normal((600, 2))
    return X, np.hstack([X[:, :1] * X[:, 1:], X[:, :1]]) + 0.5 * rng.standard_normal((600, 2))


def test_equals_the_full_embedding_44_on_the_span_of_the_kernel(pairs):
    X, Y = pairs
    k_x, k_y = GaussianKernel(0.8), GaussianKernel(0.6)
    x = np.linspace(-1.5, 1.5, 6)[:, None]

    def f(y):
        return k_y(y, Y[:4])

    for regularization in (1e-4, 0.1):
        inverse = np.linalg.solve(k_x(X, X) + 40 * regularization * np.eye(40), k_x(X, x))
        model = CME(0.8, 0.6, regularization, tolerance=1e-13).fit(X, Y)
        np.testing.assert_allclose(model.conditional_expectation(f, x), inverse.T @ f(Y), atol=1e-8)


def test_objective_is_that_of_48_in_matrices(many):
    X, Y = many
    for constrained in (False, True):
        model = CME(1.0, 0.9, 0.01, constrained=constrained).fit(X, Y)
        psi_x, psi_y = model.basis_x_.features(X), model.basis_y_.features(Y)
        F = model.coef_
        linear = np.trace(psi_y @ F @ psi_x.T)
        quadratic = np.trace(F @ (psi_x.T @ psi_x + 600 * 0.01 * np.eye(model.rank_x_)) @ F.T)
        assert model.objective_ == pytest.approx((quadratic - 2.0 * linear) / 600, rel=1e-9)


def test_functions_count_at_the_pivots_alone(many):
    X, Y = many
    model = CME(1.0, 0.9, 0.01).fit(X, Y)
    weights = model.weights(X[:5])
    pivots = model.basis_y_.factor.pivots
    np.testing.assert_array_equal(model.support_, Y[pivots])
    mean, second = model.conditional_moments(X[:5])
    np.testing.assert_allclose(mean, weights @ Y[pivots], atol=1e-10)
    expected = np.einsum("ij,ja,jb->iab", weights, Y[pivots], Y[pivots])
    np.testing.assert_allclose(second, expected, atol=1e-10)
    # Nothing makes the weights sum to one.
    assert np.abs(weights.sum(axis=1) - 1.0).max() > 1e-4


def test_shares_its_summary_with_jdl(many):
    X, Y = many
    summary = JDL(1.0, 0.9).summarise(X, Y)
    shared = CME(1.0, 0.9).fit_path(X, Y, LAMBDAS, summary)
    for model, regularization in zip(shared, LAMBDAS, strict=True):
        alone = CME(1.0, 0.9, regularization).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)


@pytest.mark.parametrize("constrained", [False, True])
def test_streaming_equals_storing(many, constrained):
    X, Y = many
    first, second = (
        CME(1.0, 0.9, 1e-3, constrained=constrained, store=store).fit(X, Y).weights(X[:5])
        for store in (True, False)
    )
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_constrained_weights_are_a_probability_vector_on_average(many):
    X, Y = many
    free = CME(1.0, 0.9, 1e-4).fit(X, Y).weights(X).mean(axis=0)
    assert free.min() < -1e-3
    for model in CME(1.0, 0.9, constrained=True).fit_path(X, Y, LAMBDAS):
        average = model.weights(X).mean(axis=0)
        assert average.min() > -1e-9
        assert average.sum() == pytest.approx(1.0, abs=1e-9)
        assert model.solver_residual_ < 1e-10


def test_draws_are_pivots_of_y(many, rng):
    X, Y = many
    draws = CME(1.0, 0.9, 1e-3).fit(X, Y).sample(X[:3], 50, rng)
    assert draws.shape == (3, 50, 2)
    assert {tuple(y) for y in draws.reshape(-1, 2)} <= {tuple(y) for y in Y}


def test_learns_a_gaussian_conditional(rng):
    X = rng.standard_normal((4000, 1))
    Y = 0.8 * X + 0.6 * rng.standard_normal((4000, 1))
    x = np.array([[-1.0], [0.0], [1.0]])
    mean, second = CME(1.0, 1.0, 1e-4).fit(X, Y).conditional_moments(x)
    np.testing.assert_allclose(mean, 0.8 * x, atol=0.1)
    np.testing.assert_allclose(second[:, :, 0], 0.64 * x**2 + 0.36, atol=0.15)


def test_bad_parameters_are_named(many):
    with pytest.raises(ValueError, match="False, True or 'tightened'; got 'pointwise'"):
        CME(1.0, 1.0, constrained="pointwise").fit(*many)
    with pytest.raises(ValueError, match="regularization must be a positive number"):
        CME(1.0, 1.0, -1.0).fit(*many)


def test_an_infeasible_constraint_set_is_said_with_its_certificate(many):
    with pytest.raises(FloatingPointError, match=r"status infeasible, certificate .*constrained=T"):
        CME(1.0, 0.9, constrained="tightened").fit(*many)


def test_a_feasible_tightening_makes_all_weights_positive(rng):
    """Bandwidths so wide that one function of each basis is nearly constant, and no other is."""
    X, Y = rng.standard_normal((2, 200, 1))
    model = CME(30.0, 30.0, 1e-3, tolerance=1e-2, constrained="tightened").fit(X, Y)
    weights = model.weights(X)
    assert model.certify_tightening() is None
    assert weights.min() >= -1e-12
    assert weights.sum(axis=1).mean() == pytest.approx(1.0, abs=1e-10)
    assert model.solver_status_ == "optimal"
