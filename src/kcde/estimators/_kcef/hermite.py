"""Smooth functions of one variable from their values and slopes on a grid."""

from kcde.arrays import array_namespace


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

    def __init__(self, lower: float, step: float, values, slopes):
        self._xp = xp = array_namespace(values)
        self._lower, self._step, self._nodes = lower, step, values.shape[1]
        self._values, self._slopes = xp.reshape(values, (-1,)), xp.reshape(slopes * step, (-1,))

    def __call__(self, rows, y) -> tuple:
        """Return the values and derivatives of function `rows[k]` at `y[k]`, shapes (k,).

        Parameters
        ----------
        rows
            Integers of the values' namespace, shape (k,).
        y
            Shape (k,).
        """
        xp = self._xp
        place = (y - self._lower) / self._step
        last = self._nodes - 2
        inside = (place >= 0.0) & (place <= last + 1.0)
        nothing = xp.zeros_like(place)
        left = xp.minimum(xp.floor(xp.where(inside, place, nothing)), float(last))
        t = place - left
        at = rows * self._nodes + xp.astype(left, xp.int64)
        a, b = xp.take(self._values, at), xp.take(self._values, at + 1)
        da, db = xp.take(self._slopes, at), xp.take(self._slopes, at + 1)
        # The cubic a + da t + u t² + v t³ with the right end's value and slope.
        u, v = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
        value = a + t * (da + t * (u + t * v))
        slope = (da + t * (2.0 * u + t * 3.0 * v)) / self._step
        return xp.where(inside, value, nothing), xp.where(inside, slope, nothing)
