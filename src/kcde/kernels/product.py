"""Products of kernels of one column each."""

from collections.abc import Sequence
from dataclasses import dataclass

from kcde.arrays import array_namespace, as_floating, exp_of_negative


@dataclass(frozen=True)
class ProductKernel:
    """k(a, b) = Π_i k_i(a_i, b_i), positive definite if every k_i is.

    Parameters
    ----------
    kernels
        One per column, each a kernel of points of shape (n, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import GaussianKernel, PeriodicKernel, ProductKernel
    >>> kernel = ProductKernel((GaussianKernel(1.0), PeriodicKernel(3.0, period=24.0)))
    >>> kernel(np.array([[0.0, 0.0]]), np.array([[0.0, 24.0]]))
    array([[1.]])
    """

    kernels: Sequence

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, d) and (b, d)."""
        return exp_of_negative(self.log(A, B))

    def log(self, A, B):
        """Return log k, shape (a, b); it does not underflow.

        Raises
        ------
        ValueError
            If there are not as many columns as kernels.
        """
        if not A.shape[1] == B.shape[1] == len(self.kernels):
            raise ValueError(
                f"a product of {len(self.kernels)} kernels takes as many columns; got shapes "
                f"{tuple(A.shape)} and {tuple(B.shape)}"
            )
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        total = xp.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
        for i, kernel in enumerate(self.kernels):
            total += kernel.log(A[:, i : i + 1], B[:, i : i + 1])
        return total

    def diagonal(self, A):
        """Return k(a, a) for each row of A, shape (a,)."""
        xp = array_namespace(A)
        value = xp.ones(A.shape[0], dtype=as_floating(A).dtype)
        for i, kernel in enumerate(self.kernels):
            value = value * kernel.diagonal(A[:, i : i + 1])
        return value
