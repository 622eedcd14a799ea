"""Kernels: Gaussian with the derivatives that score matching needs, Laplace and Matérn.

A kernel is called as `kernel(A, B)` -> (len A, len B); `kernel.log(A, B)` is its logarithm, which
does not underflow, and `kernel.diagonal(A)` is k(a, a) for each row.
"""

from math import sqrt

from kcde.arrays import array_namespace, as_floating, exp_of_negative, row_blocks
from kcde.kernels.gaussian import (
    GaussianKernel,
    KernelDerivatives,
    Stationary,
    as_bandwidths,
    median_trick,
)

__all__ = [
    "GaussianKernel", "KernelDerivatives", "LaplaceKernel", "MaternKernel", "median_trick",
]  # fmt: skip


class LaplaceKernel(Stationary):
    """k(a, b) = exp(-Σ_i |a_i - b_i| / s_i), the product of one Laplace kernel a dimension.

    On points without coordinates, shape (n, 0), it is the constant kernel 1.

    Parameters
    ----------
    bandwidth
        s: a positive number, or one per dimension, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import LaplaceKernel
    >>> LaplaceKernel(bandwidth=2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.368]])
    """

    def log(self, A, B):
        """Return log k, shape (a, b); it does not underflow."""
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
        # A dimension at a time: all differences at once would be d matrices.
        for i, scale in enumerate(as_bandwidths(self.bandwidth, A.shape[1])):
            total -= xp.abs(A[:, i][:, None] - B[:, i][None, :]) / float(scale)
        return total


class MaternKernel(Stationary):
    """k(a, b) = (1 + √3 r) exp(-√3 r) with r² = Σ_i (a_i - b_i)²/σ_i²: smoothness 3/2.

    Rasmussen and Williams 2006, equation (4.17). Functions drawn with it have one derivative, those
    of the Gaussian kernel all. On points without
    coordinates, shape (n, 0), it is the constant kernel 1.

    Parameters
    ----------
    bandwidth
        σ: a number, or one per dimension, in the units of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import MaternKernel
    >>> A, B = np.array([[0.0]]), np.array([[0.0], [2.0]])
    >>> MaternKernel(bandwidth=2.0)(A, B).round(3)
    array([[1.   , 0.483]])
    """

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, d) and (b, d).

        As many multiplications as the Gaussian kernel has, and no other memory of that size.
        """
        A, B = as_floating(A), as_floating(B)
        matrix = array_namespace(A, B).empty((A.shape[0], B.shape[0]), dtype=A.dtype)
        for rows in row_blocks(A.shape[0], B.shape[0], like=A):
            scaled = self._scaled(A[rows, :], B)
            matrix[rows, :] = (1.0 + scaled) * exp_of_negative(-scaled)
        return matrix

    def log(self, A, B):
        """Return log k, shape (a, b); it does not underflow."""
        scaled = self._scaled(A, B)
        return array_namespace(A, B).log1p(scaled) - scaled

    def _scaled(self, A, B):
        """Return √3 r, shape (a, b): the exponent of the Gaussian kernel is -r²/2."""
        return sqrt(6.0) * array_namespace(A, B).sqrt(-GaussianKernel(self.bandwidth).log(A, B))


def scaled_similarities(kernel, A, B):
    """Return k(a, b), shape (len A, len B), each row divided by its largest.

    Weights are divided by their sum, so that only ratios matter; far from all inputs every k
    underflows, and the ratios do not.
    """
    exponents = kernel.log(A, B)
    return exp_of_negative(exponents - array_namespace(A).max(exponents, axis=1, keepdims=True))
