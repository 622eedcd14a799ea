import logging

import numpy as np
import pytest

from devices import ON_GPU
from kcde.linalg import factor_positive_definite, solve_positive_definite, symmetric_spectrum


def test_solution_satisfies_the_system(xp, host, rng):
    A = rng.standard_normal((6, 6))
    A, b = A @ A.T, rng.standard_normal((6, 2))
    solution = solve_positive_definite(xp.asarray(A), xp.asarray(b), shift=0.5)
    np.testing.assert_allclose((A + 0.5 * np.eye(6)) @ host(solution.x), b, atol=1e-10)
    assert solution.jitter == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("namespace", ["numpy", pytest.param("cupy", marks=ON_GPU)])
def test_numbers_of_any_type_are_factorised_in_float64(host, namespace, dtype, overwrite):
    xp = pytest.importorskip(namespace)
    A, b = xp.asarray([[2, 1], [1, 3]], dtype=dtype), xp.asarray([1, 2], dtype=dtype)
    solution = solve_positive_definite(A, b, overwrite=overwrite)
    np.testing.assert_allclose(host(solution.x), [0.2, 0.6], atol=1e-15)
    np.testing.assert_array_equal(host(A), [[2, 1], [1, 3]])


def test_inverse_of_a_factor(xp, host, rng):
    root = rng.standard_normal((6, 9))
    A = root @ root.T
    inverse = host(factor_positive_definite(xp.asarray(A), shift=0.3).inverse())
    np.testing.assert_allclose(inverse @ (A + 0.3 * np.eye(6)), np.eye(6), atol=1e-12)
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-13)


def test_jitter_is_returned_and_logged(xp, caplog):
    singular = xp.asarray(np.ones((4, 4)))
    with caplog.at_level(logging.WARNING, logger="kcde.linalg"):
        solution = solve_positive_definite(singular, xp.asarray(np.ones(4)))
    assert solution.jitter > 0
    assert "added" in caplog.text
    assert "4 x 4" in caplog.text


def test_indefinite_matrix_is_refused_with_a_remedy(xp):
    with pytest.raises(np.linalg.LinAlgError, match="raise the regularization"):
        solve_positive_definite(xp.asarray(np.diag([1.0, -1.0])), xp.asarray(np.ones(2)))


@pytest.mark.parametrize(
    "function", [lambda A: solve_positive_definite(A, A[:, 0]), symmetric_spectrum]
)
def test_nan_is_refused(xp, function):
    with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
        function(xp.asarray(np.array([[1.0, np.nan], [np.nan, 1.0]])))


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
