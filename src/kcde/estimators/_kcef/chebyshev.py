"""Smooth functions of one variable from their values at few places of an interval."""

from functools import cached_property
from math import ceil

import numpy as np
from numpy.polynomial import chebyshev

_NODES_PER_WIDTH, _FEWEST = 4, 24
_MOST = 1 << 12  # nodes, and as many numbers squared


class ChebyshevInterpolant:
    """Polynomial interpolation at the Chebyshev points of an interval.

    A function that is analytic and varies on the scale of a Gaussian of standard deviation `width`
    is known to about 1e-10 of its size: the coefficients of such a Gaussian on an interval of half
    length L fall as exp(-(n width/L)²/2), and n exceeds 8 L/width.

    Parameters
    ----------
    lower, upper
        Ends of the interval.
    width
        Scale on which the functions vary.

    Raises
    ------
    ValueError
        If there are more than four thousand nodes: the range is too wide for the width.
    """

    def __init__(self, lower: float, upper: float, width: float):
        self._middle, self._reach = 0.5 * (lower + upper), 0.5 * (upper - lower)
        if not self.is_possible(lower, upper, width):
            raise ValueError(
                f"y runs from {lower:g} to {upper:g}, and its density varies over {width:g}: too "
                "wide to tabulate for Hamiltonian Monte Carlo; draw with sample, or rescale y, as "
                "Standardised does"
            )
        self._count = ceil(_NODES_PER_WIDTH * (upper - lower) / width) + _FEWEST

    @staticmethod
    def is_possible(lower: float, upper: float, width: float) -> bool:
        """Return whether a range is narrow enough."""
        return _NODES_PER_WIDTH * (upper - lower) / width + _FEWEST < _MOST

    @property
    def nodes(self) -> np.ndarray:
        """Where the functions are to be known, shape (m,)."""
        return self._middle + self._reach * chebyshev.chebpts1(self._count)

    def weights(self, y: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Return W (m, q) such that f W are values, or derivatives, at y of f known at the nodes.

        Parameters
        ----------
        y
            Shape (q,), in the interval.
        derivative
            0: values.
        """
        columns = chebyshev.chebder(self._coefficients, derivative, scl=1.0 / self._reach)
        place = (y - self._middle) / self._reach
        return (chebyshev.chebvander(place, len(columns) - 1) @ columns).T

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """Coefficients, in rows, of the function that is 1 at a node and 0 at the others."""
        points = chebyshev.chebvander(chebyshev.chebpts1(self._count), self._count - 1)
        scale = np.full(self._count, 2.0 / self._count)
        scale[0] /= 2.0
        return scale[:, None] * points.T
