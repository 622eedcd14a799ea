import numpy as np
import pytest

from kcde.kernels import GaussianKernel, LaplaceKernel, PeriodicKernel, ProductKernel

WEEK = 7.0
shapes = pytest.mark.parametrize("shape", ["gaussian", "laplace"])


def naive(a, b, bandwidth, period, shape):
    """By angles on a circle of the circumference `period`."""
    s, t = 2 * np.pi * a / period, 2 * np.pi * b / period
    radius = period / (2 * np.pi)
    if shape == "laplace":
        angle = np.arccos(np.clip(np.cos(s) * np.cos(t) + np.sin(s) * np.sin(t), -1, 1))
        return np.exp(-radius * angle / bandwidth)
    square = radius**2 * ((np.cos(s) - np.cos(t)) ** 2 + (np.sin(s) - np.sin(t)) ** 2)
    return np.exp(-square / (2 * bandwidth**2))


@shapes
def test_values_equal_a_naive_loop(xp, host, rng, shape):
    A, B = rng.uniform(-20, 20, (6, 1)), rng.uniform(-20, 20, (5, 1))
    kernel = PeriodicKernel(1.2, WEEK, shape)
    expected = [[naive(a, b, 1.2, WEEK, shape) for b in B[:, 0]] for a in A[:, 0]]
    found = host(kernel(xp.asarray(A), xp.asarray(B)))
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_array_equal(host(kernel.diagonal(xp.asarray(A))), np.ones(6))


@pytest.mark.parametrize(
    ("shape", "plain"), [("gaussian", GaussianKernel), ("laplace", LaplaceKernel)]
)
def test_with_a_long_period_it_is_the_plain_kernel(rng, shape, plain):
    A, B = rng.standard_normal((6, 1)), rng.standard_normal((5, 1))
    found = PeriodicKernel(0.8, 1e5, shape)(A, B)
    np.testing.assert_allclose(found, plain(0.8)(A, B), rtol=1e-6)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="period must be positive"):
        PeriodicKernel(1.0, 0.0)
    with pytest.raises(ValueError, match="bandwidth must be positive"):
        PeriodicKernel(-1.0, 7.0)
    with pytest.raises(ValueError, match="shape must be one of gaussian, laplace; got 'square'"):
        PeriodicKernel(1.0, 7.0, "square")
    with pytest.raises(ValueError, match=r"takes one column.*use ProductKernel"):
        PeriodicKernel(1.0, 7.0)(np.ones((2, 2)), np.ones((2, 2)))


def test_a_product_multiplies_column_by_column(xp, host, rng):
    A, B = rng.uniform(0, 7, (6, 2)), rng.uniform(0, 7, (5, 2))
    parts = PeriodicKernel(1.0, WEEK, "laplace"), GaussianKernel(0.7)
    product = ProductKernel(parts)
    expected = parts[0](A[:, :1], B[:, :1]) * parts[1](A[:, 1:], B[:, 1:])
    found = product(xp.asarray(A), xp.asarray(B))
    np.testing.assert_allclose(host(found), expected, rtol=1e-12)
    np.testing.assert_array_equal(host(product.diagonal(xp.asarray(A))), np.ones(6))
    assert np.linalg.eigvalsh(product(A, A)).min() > 0.0
    with pytest.raises(ValueError, match="product of 2 kernels takes as many columns"):
        product(A[:, :1], B[:, :1])
