from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern

import naive
from kcde.arrays import to_numpy as host
from kcde.kernels import GaussianKernel, LaplaceKernel, MaternKernel

SIGMA = np.array([0.7, 1.3])


@pytest.fixture
def points(rng):
    return rng.standard_normal((4, 2)), rng.standard_normal((3, 2))


@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("bandwidth", [0.01, 1.0])
def test_values_are_as_precise_as_their_exponents_allow(rng, d, offset, bandwidth):
    A, B = (offset + rng.standard_normal((n, d)) for n in (90, 40))
    # Differences first, in the longest floating-point numbers there are.
    difference = A.astype(np.longdouble)[:, None, :] - B.astype(np.longdouble)
    expected = -0.5 * ((difference / np.longdouble(bandwidth)) ** 2).sum(axis=2)
    kernel = GaussianKernel(bandwidth)
    # What squares of this size leave of an exponent.
    allowed = 1e-14 * max(1.0, float(-expected.min()))
    assert np.abs(kernel.log(A, B) - expected).max() < allowed
    normal = expected > -200.0
    values, exact = kernel(A, B)[normal], np.exp(expected[normal])
    assert np.abs(values / exact - 1.0).max(initial=0.0) < allowed


@pytest.mark.parametrize("kernel", [GaussianKernel(1.0), MaternKernel(1.0)])
def test_neighbours_among_points_spread_over_many_bandwidths(xp, rng, kernel):
    A = 1e8 * rng.standard_normal((20, 2))
    B = A + np.array([0.3, -0.2])
    found = np.diagonal(host(kernel(xp.asarray(A), xp.asarray(B))))
    np.testing.assert_allclose(found, np.diagonal(kernel(A * 0, A * 0 + [0.3, -0.2])), rtol=1e-6)


def test_derivatives_to_fourth_order_equal_a_naive_recursion(xp, points):
    A, B = points
    derivatives = GaussianKernel(SIGMA).derivatives(xp.asarray(A), xp.asarray(B))
    for a, b in np.ndindex(4, 3):
        of = partial(naive.partial, A[a], B[b], SIGMA)
        second = [[of(i, j) for j in (0, 1)] for i in (0, 1)]
        for name, expected in {
            "value": of(),
            "first": [of(i) for i in (0, 1)],
            "second": second,
            "laplacian": np.trace(second),
            "laplacian_gradient": [sum(of(j, i, i) for i in (0, 1)) for j in (0, 1)],
            "bilaplacian": sum(of(j, j, i, i) for i in (0, 1) for j in (0, 1)),
        }.items():
            found = host(getattr(derivatives, name))[a, b]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [1.0, 1.0, 1.0]])
@pytest.mark.parametrize("kind", [GaussianKernel, LaplaceKernel])
def test_bandwidths_must_be_positive_and_one_a_column(kind, bad, points):
    with pytest.raises(ValueError, match="bandwidth"):
        kind(bad)(*points)


@pytest.mark.parametrize(
    ("kernel", "naive"),
    [
        (LaplaceKernel(SIGMA), lambda A, B: np.exp(-cdist(A / SIGMA, B / SIGMA, "cityblock"))),
        (GaussianKernel(SIGMA), RBF(SIGMA)),
        (GaussianKernel(1.0), None),
        (LaplaceKernel(1.0), None),
        (MaternKernel(SIGMA), Matern(SIGMA, nu=1.5)),
    ],
)
def test_kernels_equal_their_formulas(xp, rng, kernel, naive):
    A, B = (rng.uniform(-9, 9, (n, 2)) * [1.0, 0.2] for n in (6, 5))
    A[0], B[0] = 9.0, -9.0  # where the Gaussian kernel is less than exp(-200)
    if naive is None:  # without columns, the constant kernel
        A, B = A[:, :0], B[:, :0]
    expected = np.ones((6, 5)) if naive is None else naive(A, B)
    ours = xp.asarray(A), xp.asarray(B)
    above = np.maximum(expected, np.exp(-200.0))
    np.testing.assert_allclose(host(kernel(*ours)), above, rtol=1e-6)
    np.testing.assert_allclose(host(kernel.log(*ours)), np.log(expected), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(host(kernel.diagonal(ours[0])), np.ones(6))
