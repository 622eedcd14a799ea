"""Kernels: Gaussian with the derivatives that score matching needs, Laplace, Matérn, and others.

A kernel is called as `kernel(A, B)` -> (len A, len B); `kernel.log(A, B)` is its logarithm, which
does not underflow, and `kernel.diagonal(A)` is k(a, a) for each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from kcde.arrays import array_namespace, as_floating, exp_of_negative, row_blocks
from kcde.kernels.gaussian import (
    GaussianKernel,
    KernelDerivatives,
    Stationary,
    as_bandwidths,
    median_trick,
)

__all__ = [
    "GaussianKernel", "KernelDerivatives", "LaplaceKernel", "MaternKernel", "PeriodicKernel",
    "ProductKernel", "median_trick",
]  # fmt: skip


@dataclass(frozen=True)
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

    bandwidth: object

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


@dataclass(frozen=True)
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

    bandwidth: object

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, d) and (b, d).

        As many multiplications as the Gaussian kernel has, and no other memory of that size.
        """
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        matrix = xp.empty((A.shape[0], B.shape[0]), dtype=A.dtype)
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
        exponents = GaussianKernel(self.bandwidth).log(A, B)
        return sqrt(6.0) * array_namespace(A, B).sqrt(-exponents)


SHAPES = ("gaussian", "laplace")


@dataclass(frozen=True)
class PeriodicKernel(Stationary):
    """A kernel of one column whose values repeat after a period.

    With the circle's circumference equal to the period, "gaussian" is exp(-c²/2s²) of the chord
    c = (P/π) sin(π|a - b|/P), a Gaussian kernel of the plane on the circle; "laplace" is exp(-r/s)
    of the arc r, whose Fourier coefficients are positive. Both are positive definite, and near 0
    what they are without a period.

    Parameters
    ----------
    bandwidth
        s, a positive number in the units of the column.
    period
        P, a positive number in the units of the column.
    shape
        "gaussian" or "laplace".

    Raises
    ------
    ValueError
        If a number is not positive and finite, or the shape is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import PeriodicKernel
    >>> hours = np.array([[0.0], [24.0]])
    >>> PeriodicKernel(bandwidth=3.0, period=24.0)(np.array([[0.0]]), hours)
    array([[1., 1.]])
    """

    bandwidth: float
    period: float
    shape: str = "gaussian"

    def __post_init__(self):
        as_bandwidths(self.bandwidth, 1)
        as_bandwidths(self.period, 1, "period")
        if self.shape not in SHAPES:
            raise ValueError(f"shape must be one of {', '.join(SHAPES)}; got {self.shape!r}")

    def log(self, A, B):
        """Return log k, shape (a, b); it does not underflow."""
        xp = array_namespace(A, B)
        scale = float(as_bandwidths(self.bandwidth, 1)[0])
        arc = self.arc(A, B)
        if self.shape == "laplace":
            return -arc / scale
        chord = self.period / np.pi * xp.sin(np.pi / self.period * arc)
        return -0.5 * (chord / scale) ** 2

    def arc(self, A, B):
        """Return the shorter way round between points (a, 1) and (b, 1), shape (a, b)."""
        if A.shape[1] != 1 or B.shape[1] != 1:
            raise ValueError(
                "a periodic kernel takes one column; got shapes "
                f"{tuple(A.shape)} and {tuple(B.shape)}: use ProductKernel for more"
            )
        A, B = as_floating(A), as_floating(B)
        xp = array_namespace(A, B)
        way = xp.remainder(xp.abs(A - B.T), self.period)
        return xp.minimum(way, self.period - way)


@dataclass(frozen=True)
class ProductKernel(Stationary):
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
