import numpy as np
import pytest

from kcde.kernels import GaussianKernel, LaplaceKernel

SCALES = np.array([0.7, 1.3])


@pytest.fixture
def points(rng):
    return rng.standard_normal((4, 2)), rng.standard_normal((3, 2))


def test_values_equal_a_naive_loop(xp, host, points):
    A, B = points
    kernel = LaplaceKernel(SCALES)
    expected = [
        [
            np.prod([np.exp(-abs(s - t) / h) for s, t, h in zip(a, b, SCALES, strict=True)])
            for b in B
        ]
        for a in A
    ]
    found = kernel(xp.asarray(A), xp.asarray(B))
    np.testing.assert_allclose(host(found), expected, rtol=1e-13)
    np.testing.assert_allclose(host(kernel.log(xp.asarray(A), xp.asarray(B))), np.log(expected))
    np.testing.assert_array_equal(host(kernel.diagonal(xp.asarray(A))), np.ones(4))


@pytest.mark.parametrize("kernel", [LaplaceKernel(0.5), GaussianKernel(0.5)])
def test_logarithms_do_not_underflow(kernel):
    A, B = np.array([[0.0]]), np.array([[3000.0], [3001.0]])
    ratio = kernel.log(A, B) @ [[1.0], [-1.0]]
    expected = 2.0 if isinstance(kernel, LaplaceKernel) else 2.0 * (3001.0**2 - 3000.0**2)
    np.testing.assert_allclose(ratio, expected, rtol=1e-6)


@pytest.mark.parametrize("kernel", [LaplaceKernel(0.5), GaussianKernel(0.5)])
def test_without_columns_it_is_one(kernel):
    np.testing.assert_array_equal(kernel(np.empty((2, 0)), np.empty((3, 0))), np.ones((2, 3)))
    np.testing.assert_array_equal(kernel.log(np.empty((2, 0)), np.empty((3, 0))), np.zeros((2, 3)))
