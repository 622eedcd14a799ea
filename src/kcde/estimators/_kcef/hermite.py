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
        a, b, da, db = values[:, :-1], values[:, 1:], step * slopes[:, :-1], step * slopes[:, 1:]
        # The cubic a + da t + u t² + v t³ of each panel, with the right end's value and slope.
        u, v = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
        self._cubics = xp.reshape(xp.stack([a, da, u, v], axis=2), (-1, 4))

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
        at = xp.take(self._cubics, rows * (last + 1) + xp.astype(left, xp.int64), axis=0)
        a, b, c, d = (at[:, k] for k in range(4))
        value = a + t * (b + t * (c + t * d))
        slope = (b + t * (2.0 * c + t * 3.0 * d)) / self._step
        return xp.where(inside, value, nothing), xp.where(inside, slope, nothing)
