import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern

from kcde.kernels import GaussianKernel, LaplaceKernel, MaternKernel

SIGMA = np.array([0.7, 1.3])


@pytest.fixture
def points(rng):
    return rng.standard_normal((4, 2)), rng.standard_normal((3, 2))


def hermite_derivative(D, sigma, orders):
    """∂^orders of the kernel in its first argument, by Hermite polynomials of each dimension."""
    value = 1.0
    for d, s, k in zip(D, sigma, orders, strict=True):
        coefficients = [0.0] * k + [1.0]
        polynomial = np.polynomial.hermite_e.hermeval(d / s, coefficients)
        value *= (-1 / s) ** k * polynomial * np.exp(-0.5 * (d / s) ** 2)
    return value


@pytest.mark.parametrize("d", [1, 3])
def test_prepared_rows_have_the_same_values(xp, host, rng, d):
    kernel, X, points = GaussianKernel(0.7), rng.normal(100.0, 1.0, (50, d)), np.full((2, d), 99.0)
    prepared = kernel.prepare(xp.asarray(X))
    expected = kernel(points, X)
    block, few = slice(10, 30), np.array([3, 3, 41])
    found = host(prepared(xp.asarray(points), block))
    np.testing.assert_allclose(found, expected[:, block], rtol=1e-11)
    found = host(prepared.take(few)(xp.asarray(points)))
    np.testing.assert_allclose(found, expected[:, few], rtol=1e-11)


def precise_log(A, B, bandwidth):
    """Differences first, in the longest floating-point numbers there are."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    return -0.5 * (((A[:, None, :] - B) / np.longdouble(bandwidth)) ** 2).sum(axis=2)


@pytest.mark.parametrize("d", [1, 20])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("bandwidth", [0.01, 1.0])
def test_values_are_as_precise_as_their_exponents_allow(rng, d, offset, bandwidth):
    A, B = (offset + rng.standard_normal((n, d)) for n in (90, 40))
    kernel, expected = GaussianKernel(bandwidth), precise_log(A, B, bandwidth)
    # What squares of this size leave of an exponent.
    allowed = 1e-14 * max(1.0, float(-expected.min()))
    assert np.abs(kernel.log(A, B) - expected).max() < allowed
    normal = expected > -200.0
    values, exact = kernel(A, B)[normal], np.exp(expected[normal])
    assert np.abs(values / exact - 1.0).max(initial=0.0) < allowed


@pytest.mark.parametrize("kernel", [GaussianKernel(1.0), MaternKernel(1.0)])
def test_neighbours_among_points_spread_over_many_bandwidths(xp, host, rng, kernel):
    A = 1e8 * rng.standard_normal((20, 2))
    B = A + np.array([0.3, -0.2])
    found = np.diagonal(host(kernel(xp.asarray(A), xp.asarray(B))))
    np.testing.assert_allclose(found, np.diagonal(kernel(A * 0, A * 0 + [0.3, -0.2])), rtol=1e-6)


def test_very_far_apart_the_kernel_is_next_to_nothing(xp, host):
    A, B = np.array([[0.0, 0.0], [30.0, 1.0]]), np.array([[0.0, 0.0], [1e9, 0.0]])
    matrix = host(GaussianKernel(SIGMA)(xp.asarray(A), xp.asarray(B)))
    assert matrix[0, 0] == 1.0
    assert 0.0 < matrix.min() <= matrix[0, 1] < 1e-80
    assert matrix[1, 0] == pytest.approx(np.exp(-200.0))
    log = host(GaussianKernel(SIGMA).log(xp.asarray(A), xp.asarray(B)))
    assert log[0, 0] == 0.0
    np.testing.assert_allclose(log[0, 1], -0.5 * (1e9 / SIGMA[0]) ** 2)


def test_derivatives_to_fourth_order_equal_hermite_polynomials(xp, host, points):
    A, B = points
    derivatives = GaussianKernel(SIGMA).derivatives(xp.asarray(A), xp.asarray(B))
    e = np.eye(2, dtype=int)
    for a, b in np.ndindex(4, 3):

        def partial(*axes, D=A[a] - B[b]):
            return hermite_derivative(D, SIGMA, sum((e[i] for i in axes), start=0 * e[0]))

        second = [[partial(i, j) for j in (0, 1)] for i in (0, 1)]
        for name, expected in {
            "value": partial(),
            "first": [partial(i) for i in (0, 1)],
            "second": second,
            "laplacian": np.trace(second),
            "laplacian_gradient": [sum(partial(j, i, i) for i in (0, 1)) for j in (0, 1)],
            "bilaplacian": sum(partial(j, j, i, i) for i in (0, 1) for j in (0, 1)),
        }.items():
            found = host(getattr(derivatives, name))[a, b]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0]])
def test_bandwidth_must_be_positive(bad, points):
    with pytest.raises(ValueError, match="bandwidth"):
        GaussianKernel(bad)(*points)


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
def test_kernels_equal_their_formulas(xp, host, rng, kernel, naive):
    A, B = (rng.uniform(-9, 9, (n, 2)) * [1.0, 0.2] for n in (6, 5))
    if naive is None:  # without columns, the constant kernel
        A, B = A[:, :0], B[:, :0]
    expected = np.ones((6, 5)) if naive is None else naive(A, B)
    ours = xp.asarray(A), xp.asarray(B)
    above = np.maximum(expected, np.exp(-200.0))
    np.testing.assert_allclose(host(kernel(*ours)), above, rtol=1e-6)
    np.testing.assert_allclose(host(kernel.log(*ours)), np.log(expected), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(host(kernel.diagonal(ours[0])), np.ones(6))


def test_a_wrong_bandwidth_is_refused():
    with pytest.raises(ValueError, match="bandwidth"):
        LaplaceKernel([1.0, 1.0])(np.ones((2, 1)), np.ones((2, 1)))
