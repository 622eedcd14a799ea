"""Kernels on a circle: day of the week, time of the day."""

from dataclasses import dataclass

import numpy as np

from kcde.arrays import array_namespace, as_floating, exp_of_negative
from kcde.kernels.gaussian import as_bandwidths

SHAPES = ("gaussian", "laplace")


@dataclass(frozen=True)
class PeriodicKernel:
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

    def __call__(self, A, B):
        """Return the kernel matrix, shape (a, b), of points (a, 1) and (b, 1)."""
        return exp_of_negative(self.log(A, B))

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

    def diagonal(self, A):
        """Return k(a, a) for each row of A: ones, shape (a,)."""
        xp = array_namespace(A)
        return xp.ones(A.shape[0], dtype=as_floating(A).dtype)
