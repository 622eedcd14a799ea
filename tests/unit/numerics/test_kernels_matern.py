import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from kcde.kernels import MaternKernel

LENGTHS = np.array([0.7, 1.3])


@pytest.fixture
def points(rng):
    return rng.standard_normal((6, 2)) + 50.0, rng.standard_normal((3, 2)) + 50.0


def test_values_equal_scikit_learn(xp, host, points):
    A, B = points
    kernel, expected = MaternKernel(LENGTHS), Matern(LENGTHS, nu=1.5)(A, B)
    found = kernel(xp.asarray(A), xp.asarray(B))
    np.testing.assert_allclose(host(found), expected, rtol=1e-12)
    logs = kernel.log(xp.asarray(A), xp.asarray(B))
    np.testing.assert_allclose(host(logs), np.log(expected), rtol=1e-11)
    np.testing.assert_array_equal(host(kernel.diagonal(xp.asarray(A))), np.ones(6))


def test_far_points_and_no_columns():
    A, B = np.array([[0.0]]), np.array([[3000.0], [3001.0]])
    kernel = MaternKernel(0.5)
    np.testing.assert_allclose(kernel.log(A, B) @ [[1.0], [-1.0]], np.sqrt(12), rtol=1e-3)
    assert kernel(A, B).max() < 1e-80
    np.testing.assert_array_equal(kernel(np.empty((2, 0)), np.empty((3, 0))), np.ones((2, 3)))
