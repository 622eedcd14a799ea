"""Solves by conjugate gradients, against elimination."""

import logging

import numpy as np
import pytest

from kcde.kernels import GaussianKernel
from kcde.linalg import (
    conjugate_gradients,
    factor_positive_definite,
    few_steps,
    nonnegative_least_squares,
    solve_positive_definite,
    symmetric_spectrum,
)


def test_solution_satisfies_the_system(xp, host, rng):
    A = rng.standard_normal((6, 6))
    A, b = A @ A.T, rng.standard_normal((6, 2))
    solution = solve_positive_definite(xp.asarray(A), xp.asarray(b), shift=0.5)
    np.testing.assert_allclose((A + 0.5 * np.eye(6)) @ host(solution.x), b, atol=1e-10)
    assert solution.jitter == 0.0


def test_inverse_of_a_factor(xp, host, rng):
    root = rng.standard_normal((6, 9))
    A = root @ root.T
    inverse = host(factor_positive_definite(xp.asarray(A), shift=0.3).inverse_root())
    np.testing.assert_allclose(inverse @ (A + 0.3 * np.eye(6)) @ inverse.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(inverse, np.tril(inverse))


def test_jitter_is_returned_and_logged(xp, caplog):
    singular = xp.asarray(np.ones((4, 4)))
    with caplog.at_level(logging.WARNING, logger="kcde.linalg"):
        solution = solve_positive_definite(singular, xp.asarray(np.ones(4)))
    assert solution.jitter > 0
    assert "4 x 4" in caplog.text


@pytest.mark.parametrize("function", [factor_positive_definite, symmetric_spectrum])
@pytest.mark.parametrize("matrix", [[[1.0, np.nan], [np.nan, 1.0]], [[1.0, 0.0], [0.0, -0.5]]])
def test_matrices_that_are_not_finite_or_not_definite_are_refused(xp, function, matrix):
    with pytest.raises(np.linalg.LinAlgError):
        function(xp.asarray(np.array(matrix)))


def test_spectrum_reconstructs_and_is_not_negative(xp, host, rng):
    A = rng.standard_normal((7, 3))
    A = A @ A.T
    values, vectors = map(host, symmetric_spectrum(xp.asarray(A)))
    assert (values >= 0).all()
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, A, atol=1e-12)


def test_a_matrix_without_its_upper_triangle_is_written_again_where_it_has_no_factor(rng):
    root = rng.standard_normal((8, 4))
    singular, written = root @ root.T, []

    def write(matrix):
        written.append(matrix)
        matrix[...] = np.tril(singular)

    matrix = np.tril(singular)
    found = factor_positive_definite(matrix, overwrite=True, refill=write)
    expected = factor_positive_definite(singular)
    assert written
    assert all(each is matrix for each in written)
    assert found.jitter == expected.jitter > 0.0
    np.testing.assert_array_equal(np.tril(found.lower), expected.lower)


def _gram(n=2000):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return GaussianKernel(0.3)(X, X)


def test_a_large_shift_takes_few_steps_to_rounding():
    A, shift = _gram(), 1e4
    b = np.random.default_rng(1).normal(size=(len(A), 3))
    b[:, 1] = 0.0
    steps = few_steps(A, shift)
    assert steps <= 8
    exact = np.linalg.solve(A + shift * np.eye(len(A)), b)
    found = conjugate_gradients(A, b, shift, steps)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15 * np.abs(exact).max())
    assert not found[:, 1].any()


def test_few_steps_are_not_promised_where_many_are_needed():
    A = _gram()
    assert not any(few_steps(A, shift) for shift in (1e-3, 0.0, 1e-320))
    assert few_steps(A[:100, :100], 1.0) is None
    A[0, 0] = np.nan
    assert few_steps(A, 1e4) is None


def problem(rng, M):
    """Columns that are close to their neighbours, as those of Gaussians on a grid."""
    z = np.linspace(-3.0, 3.0, M)
    A = np.exp(-0.5 * ((np.linspace(-4, 4, 60)[:, None] - z) / 0.3) ** 2)
    return A, rng.standard_normal((5, 60)) + 0.5


@pytest.mark.parametrize("M", [40, 601, 1500])
def test_no_direction_descends(rng, M):
    A, B = problem(rng, M)
    gamma = nonnegative_least_squares(A, B)
    assert gamma.shape == (5, M)
    assert (gamma >= 0.0).all()
    gradient = (B - gamma @ A.T) @ A
    assert gradient.max() < 1e-6
    assert np.abs(gradient[gamma > 0.0]).max() < 1e-6


def test_no_rows_and_no_solution_but_zero(rng):
    A, _ = problem(rng, 700)
    assert nonnegative_least_squares(A, np.empty((0, 60))).shape == (0, 700)
    np.testing.assert_array_equal(nonnegative_least_squares(A, -np.ones((2, 60))), 0.0)
