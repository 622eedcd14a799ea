"""The anisotropic Gaussian kernel, with the derivatives that score matching needs."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcde.arrays import array_namespace, as_floating, exp_of_negative, row_blocks, take_columns

SMALLEST_BANDWIDTH, LARGEST_BANDWIDTH = 1e-50, 1e75
"""Fourth powers, which score matching takes, stay within the range of float64 below and above."""

_LARGEST_SQUARE = 1e5
_LARGEST_DIFFERENCED = 1e8  # half a square, of which rounding takes 2e-8


def as_bandwidths(bandwidth, dimension: int, name: str = "bandwidth") -> np.ndarray:
    """Return one standard deviation a dimension, or raise `ValueError` that names the argument."""
    values = np.asarray(bandwidth)
    if values.dtype.kind not in "iuf" or values.shape not in ((), (dimension,)):
        wanted = f"a number or one per dimension, shape ({dimension},)"
        raise ValueError(f"{name} must be {wanted}; got {bandwidth!r}")
    values = values.astype(np.float64)
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be positive and finite; got {bandwidth}")
    if not np.all((values >= SMALLEST_BANDWIDTH) & (values <= LARGEST_BANDWIDTH)):
        raise ValueError(
            f"{name} must lie between {SMALLEST_BANDWIDTH:g} and {LARGEST_BANDWIDTH:g}, so that "
            f"its powers are numbers of float64; got {bandwidth}: bring the data to unit scale"
        )
    return np.broadcast_to(values, (dimension,)).copy()


def median_trick(X, scale: float = 1.0, name: str = "X") -> float:
    """Return the bandwidth σ with σ² = scale × median squared distance between different points.

    exp(-γ|a - b|²) of the code of dde (Dai et al., AISTATS 2019) with γ = 1/2σ². O(n² d) time.

    Parameters
    ----------
    X
        Numpy array, shape (n, d).
    scale
        Positive.
    name
        Name of the array, for the error.

    Returns
    -------
    float
        Bandwidth in the units of X.

    Raises
    ------
    ValueError
        If `scale` is not positive, or all points coincide.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import median_trick
    >>> median_trick(np.array([[0.0], [1.0], [3.0]]))
    2.0
    """
    from scipy.spatial.distance import pdist

    if not 0.0 < scale < np.inf:
        raise ValueError(f"the scale of a bandwidth must be positive and finite; got {scale}")
    squared = pdist(X, "sqeuclidean")
    positive = squared[squared > 0.0]
    if not len(positive):
        columns = list(range(X.shape[1]))
        raise ValueError(
            f"all {len(X)} points of {name} coincide in column(s) {columns}, so that the median "
            "trick gives a bandwidth of 0: leave the column(s) out, or give a bandwidth"
        )
    return float(np.sqrt(scale * np.median(positive)))


@dataclass(frozen=True)
class Stationary:
    """A kernel that is 1 between a point and itself, computed from its logarithm."""

    bandwidth: object

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, d) and (b, d)."""
        return exp_of_negative(self.log(A, B))

    def diagonal(self, A):
        """Return k(a, a) for each row of A: ones, shape (a,)."""
        return array_namespace(A).ones(A.shape[0], dtype=as_floating(A).dtype)


class GaussianKernel(Stationary):
    """k(a, b) = exp(-Σ_i (a_i - b_i)² / 2σ_i²).

    On points without coordinates, shape (n, 0), it is the constant kernel 1, which turns a
    conditional model into an unconditional one.

    Parameters
    ----------
    bandwidth
        σ, a standard deviation: a number, or one per dimension, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import GaussianKernel
    >>> A, B = np.array([[0.0]]), np.array([[1.0], [2.0]])
    >>> GaussianKernel(bandwidth=2.0)(A, B).round(3)
    array([[0.882, 0.607]])
    >>> GaussianKernel(bandwidth=2.0).derivatives(A, B).first[..., 0].round(3)
    array([[0.221, 0.303]])
    """

    def __call__(self, A, B):
        """Return the kernel matrix.

        Parameters
        ----------
        A : shape (a, d)
        B : shape (b, d)

        Returns
        -------
        shape (a, b), at least exp(-200) = 1e-87; a b (d + 2) multiplications, as one matrix
        product, and no other memory of that size on numpy and cupy; where points are more than some
        14,000 bandwidths from their mean, from differences, a column at a time
        """
        return exp_of_negative(self._exponents(A, B))

    def log(self, A, B):
        """Return log k, shape (a, b), of points (a, d) and (b, d); it does not underflow."""
        return array_namespace(A, B).clip(self._exponents(A, B), max=0.0)

    def _exponents(self, A, B):
        """Return -Σ_i (a_i - b_i)²/2σ_i², shape (a, b), which rounding may leave just above 0."""
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        if 0 in (A.shape[0], *B.shape):
            return xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
        # Centring keeps the difference of squares from cancelling where the data are far from 0.
        centre = xp.mean(A if A.shape[0] < B.shape[0] else B, axis=0)
        sigma = self._sigma(A, xp)
        a, half_a, one_a = _standardised(A, centre, sigma, xp)
        b, half_b, one_b = _standardised(B, centre, sigma, xp)
        if float(xp.minimum(xp.min(half_a), xp.min(half_b))) < -_LARGEST_DIFFERENCED:
            return log_gaussian_kernel(A, B, as_bandwidths(self.bandwidth, A.shape[1]))
        # -|a - b|²/2 = a·b - |a|²/2 - |b|²/2 is one product of vectors with two entries more.
        return xp.concat([a, half_a, one_a]).T @ xp.concat([b, one_b, half_b])

    def prepare(self, X) -> "PreparedRows | None":
        """Return kernel values at rows of X (n, d), which are standardised once for many calls.

        None where rows are so far from their mean, in bandwidths, that from there the differences
        of squares cancel.
        """
        prepared = PreparedRows(self, as_floating(X))
        return prepared if prepared.largest <= _LARGEST_SQUARE else None

    def derivatives(self, A, B) -> "KernelDerivatives":
        """Return the kernel between A (a, d) and B (b, d) with its derivatives in A."""
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        return KernelDerivatives(A[:, None, :] - B[None, :, :], self._sigma(A, xp))

    def _sigma(self, A, xp):
        return xp.asarray(as_bandwidths(self.bandwidth, A.shape[1]), dtype=A.dtype)


def log_gaussian_kernel(Y, centres, sigma: np.ndarray):
    """Return -Σ_i (y_i - v_i)²/2σ_i², shape (n, m), at Y (n, d) for centres v (m, d), σ (d,)."""
    xp = array_namespace(Y, centres)
    found = xp.zeros((Y.shape[0], centres.shape[0]), dtype=Y.dtype)
    scale = xp.asarray(sigma, dtype=Y.dtype)
    for rows in row_blocks(Y.shape[0], 2 * centres.shape[0], cached=True, like=Y):
        block = found[rows, :]
        # A column at a time: sums over a last axis of few numbers are slow.
        for i in range(Y.shape[1]):
            difference = (Y[rows, i : i + 1] - centres[None, :, i]) / scale[i]
            difference *= difference
            block += difference
        block *= -0.5
    return found


class PreparedRows:
    """Kernel values between points and rows of X, of which n (d + 2) numbers are kept.

    What a call costs beside its kernel values is that of its points, not of the rows.

    Parameters
    ----------
    kernel
        Gaussian.
    X
        Shape (n, d), at least one row and one column.

    Attributes
    ----------
    largest
        Half the largest squared distance from the mean, in bandwidths.
    """

    def __init__(self, kernel: GaussianKernel, X):
        self._xp = xp = array_namespace(X)
        self._centre, self._sigma = xp.mean(X, axis=0), kernel._sigma(X, xp)
        rows, halves, ones = _standardised(X, self._centre, self._sigma, xp)
        self._rows = xp.concat([rows, ones, halves])
        self.largest = -float(xp.min(halves))

    def take(self, rows) -> "PreparedRows":
        """Return those of some rows alone: numpy integers, shape (k,)."""
        fewer = copy(self)
        fewer._rows = take_columns(self._rows, rows)
        return fewer

    def __call__(self, points, block: slice = slice(None)):
        """Return the kernel matrix, shape (k, len block), of points (k, d) and rows of X."""
        a = self._xp.concat(_standardised(points, self._centre, self._sigma, self._xp))
        return exp_of_negative(a.T @ self._rows[:, block])


def _standardised(points, centre, sigma, xp) -> tuple:
    """Return z = (points - centre)/σ, -|z|²/2 and ones, transposed.

    A few long rows are faster than many short ones.
    """
    z = xp.stack([(points[:, i] - centre[i]) / sigma[i] for i in range(points.shape[1])])
    halves = -0.5 * xp.sum(z * z, axis=0, keepdims=True)
    return z, halves, xp.ones_like(halves)


class KernelDerivatives:
    """Derivatives of the Gaussian kernel in its *first* argument, computed on demand.

    An odd number of derivatives in the second argument instead changes the sign. With
    u_i = D_i/σ_i² and ℓ = Σ_i (u_i² - 1/σ_i²), the derivatives are polynomials in u times k;
    in one dimension they are g′ … g⁗ of the closed forms.

    Parameters
    ----------
    difference
        D = A - B, shape (a, b, d).
    sigma
        Bandwidths, shape (d,).
    """

    def __init__(self, difference, sigma):
        self._inverse = 1.0 / sigma**2
        self._difference = difference

    @cached_property
    def _u(self):
        return self._difference * self._inverse

    @cached_property
    def _ell(self):
        return _sum_last(self._u**2) - array_namespace(self._u).sum(self._inverse)

    @cached_property
    def value(self):
        """k, shape (a, b)."""
        return array_namespace(self._u).exp(-0.5 * _sum_last(self._difference * self._u))

    @cached_property
    def first(self):
        """∂_i k, shape (a, b, d)."""
        return -self._u * self.value[..., None]

    @cached_property
    def second(self):
        """∂_i ∂_j k, shape (a, b, d, d)."""
        eye = array_namespace(self._u).eye(self._u.shape[-1], dtype=self._u.dtype) * self._inverse
        outer = self._u[..., :, None] * self._u[..., None, :]
        return (outer - eye) * self.value[..., None, None]

    @cached_property
    def laplacian(self):
        """Σ_i ∂_i² k, shape (a, b)."""
        return self._ell * self.value

    @cached_property
    def laplacian_gradient(self):
        """∂_j Σ_i ∂_i² k, shape (a, b, d)."""
        return self._u * (2.0 * self._inverse - self._ell[..., None]) * self.value[..., None]

    @cached_property
    def bilaplacian(self):
        """Σ_j ∂_j² Σ_i ∂_i² k, shape (a, b)."""
        constant = 2.0 * array_namespace(self._u).sum(self._inverse**2)
        quadratic = 4.0 * _sum_last(self._u**2 * self._inverse)
        return (constant - quadratic + self._ell**2) * self.value


def _sum_last(array):
    """Sum over the last axis; a reduction over one element is slow enough to be worth avoiding."""
    if array.shape[-1] == 1:
        return array[..., 0]
    return array_namespace(array).sum(array, axis=-1)
