"""The Laplace kernel, a product over dimensions."""

from dataclasses import dataclass

from kcde.arrays import array_namespace, as_floating, exp_of_negative
from kcde.kernels.gaussian import as_bandwidths


@dataclass(frozen=True)
class LaplaceKernel:
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

    bandwidth: object

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, d) and (b, d); a b d operations."""
        return exp_of_negative(self.log(A, B))

    def log(self, A, B):
        """Return log k, shape (a, b); it does not underflow."""
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        scales = as_bandwidths(self.bandwidth, A.shape[1])
        total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
        # A dimension at a time: all differences at once would be d matrices.
        for i, scale in enumerate(scales):
            total -= xp.abs(A[:, i][:, None] - B[:, i][None, :]) / float(scale)
        return total

    def diagonal(self, A):
        """Return k(a, a) for each row of A: ones, shape (a,)."""
        xp = array_namespace(A)
        return xp.ones(A.shape[0], dtype=as_floating(A).dtype)
