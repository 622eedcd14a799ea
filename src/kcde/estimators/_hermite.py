"""Smooth functions of one variable from their values and slopes on a grid."""

import numpy as np


class HermiteTable:
    """Piecewise cubic interpolants of n functions on a common uniform grid, 0 outside it.

    The error is h⁴/384 times the fourth derivative for spacing h. A lookup costs O(1), so that a
    chain may visit a kernel model thousands of times without paying for its n training points.

    Parameters
    ----------
    lower, step
        First node and spacing.
    values, slopes
        Shape (n, q): functions and derivatives at the nodes.
    """

    def __init__(self, lower: float, step: float, values: np.ndarray, slopes: np.ndarray):
        self._lower, self._step = lower, step
        self._values, self._slopes = values, slopes * step

    def __call__(self, rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values and derivatives of function `rows[k]` at `y[k]`, shapes (k,)."""
        place = (y - self._lower) / self._step
        last = self._values.shape[1] - 2
        inside = (place >= 0.0) & (place <= last + 1)
        left = np.clip(np.where(inside, place, 0.0).astype(np.int64), 0, last)
        t = place - left
        a, b = self._values[rows, left], self._values[rows, left + 1]
        da, db = self._slopes[rows, left], self._slopes[rows, left + 1]
        # The cubic a + da t + u t² + v t³ with the right end's value and slope.
        u, v = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
        value = a + t * (da + t * (u + t * v))
        slope = (da + t * (2.0 * u + t * 3.0 * v)) / self._step
        return np.where(inside, value, 0.0), np.where(inside, slope, 0.0)
