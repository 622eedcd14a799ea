"""T(x, y), the natural parameter of kernel exponential families, with its derivatives in y."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.polynomial import chebyshev

from kcde.arrays import array_namespace, exp_of_negative, row_blocks
from kcde.kernels import GaussianKernel
from kcde.memory import require_memory


@dataclass(frozen=True)
class NaturalParameter:
    """T(x, y) = Σ_b k_X(X_b, x) [Σ_i c_{b,i} ∂_i k(Y_b, y) - s Σ_i ∂_i² k(Y_b, y)].

    kcef, Theorem 1, with c = β - ∂log q_0/(nλ) and s = 1/(nλ); Nyström estimates have s = 0.
    """

    X: object
    Y: object
    c: object
    smooth: float
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray

    def potential(self, Y):
        """Return F (m, q) such that T(x, Y_q) = Σ_b k_X(X_b, x) F_bq, at Y (q, d_y)."""
        m = self.c.shape[0]
        # The blocks and what they become.
        require_memory(Y, f"T between {m} rows and shared y", Y.shape[0], lambda q: 2 * m * q)
        parts = [self._potential(Y[rows, :]) for rows in self._blocks(Y)]
        return array_namespace(Y).concat(parts, axis=1)

    def kernel_x(self, X):
        """Return k_X(X, X_b), shape (n, m)."""
        return GaussianKernel(self.bandwidth_x)(X, self.X)

    def at_pairs(self, X, Y):
        """Return T at the pairs X (n, d_x), Y (n, d_y), shape (n,)."""
        xp = array_namespace(Y)
        parts = [
            xp.sum(self.kernel_x(X[rows, :]).T * self._potential(Y[rows, :]), axis=0)
            for rows in self._blocks(Y)
        ]
        return xp.concat(parts)

    def value_and_gradient(self, X, Y):
        """Return T (n,) and ∂_y T (n, d_y) at the pairs, as matrix products.

        n m (d_x + 6 d_y) multiplications and one exponential for each of n m pairs.
        """
        xp = array_namespace(Y)
        blocks = row_blocks(Y.shape[0], 3 * self.c.shape[0], like=Y)
        parts = [self._value_and_gradient(X[rows, :], Y[rows, :]) for rows in blocks]
        values, gradients = zip(*parts, strict=True)
        return xp.concat(values), xp.concat(gradients)

    def second_derivatives(self, X, Y):
        """Return Σ_j ∂_j² T at the pairs, shape (n,)."""
        xp, parts = array_namespace(Y), []
        for rows in self._blocks(Y):
            found = GaussianKernel(self.bandwidth_y).derivatives(self.Y, Y[rows, :])
            pull = xp.sum(self.c[:, None, :] * found.laplacian_gradient, axis=2)
            pull = pull - self.smooth * found.bilaplacian
            parts.append(xp.sum(self.kernel_x(X[rows, :]).T * pull, axis=0))
        return xp.concat(parts)

    def score(self, X, Y, r) -> float:
        """Return Σ_i ½(∂_i T)² + ∂_i² T + r_i ∂_i T over the pairs, for r (n, d_y), ∂ log q_0."""
        xp, first = array_namespace(Y), self.value_and_gradient(X, Y)[1]
        return float(xp.sum(0.5 * first**2 + first * r) + xp.sum(self.second_derivatives(X, Y)))

    def _potential(self, Y):
        derivatives = GaussianKernel(self.bandwidth_y).derivatives(self.Y, Y)
        pull = array_namespace(Y).sum(self.c[:, None, :] * derivatives.first, axis=2)
        return pull - self.smooth * derivatives.laplacian

    def _value_and_gradient(self, X, Y):
        xp = array_namespace(Y)
        centre_x, centre, scale, inverse, exponents, weights, points, slopes = self._prepared
        y = Y - centre
        near = y * inverse
        scaled = xp.concat([X - centre_x, y], axis=1) * scale
        ones = xp.ones_like(y[:, :1])
        half = 0.5 * xp.sum(scaled * scaled, axis=1, keepdims=True)
        k = exp_of_negative(exponents @ xp.concat([scaled, ones, -half], axis=1).T)
        own = self.smooth * xp.sum(near * near, axis=1, keepdims=True)
        weight = k * (weights @ xp.concat([y, ones, -own], axis=1).T)
        # Sums over the points of w times them and w, and of k times the slope of the weight and k.
        d, moved = Y.shape[1], weight.T @ points
        turned, value = k.T @ slopes, moved[:, d]
        pull = (moved[:, :d] - value[:, None] * y) * inverse + turned[:, :d]
        return value, pull - 2.0 * self.smooth * turned[:, d:] * near * inverse

    @cached_property
    def _prepared(self) -> tuple:
        """What `value_and_gradient` needs of the points alone, for chains that ask often."""
        xp = array_namespace(self.Y)
        inverse = xp.asarray(self.bandwidth_y**-2.0)
        scale = xp.asarray(np.concatenate([self.bandwidth_x, self.bandwidth_y]) ** -1.0)
        # Distances expand into products, which cancel least around the middle.
        centre, centre_x = xp.mean(self.Y, axis=0), xp.mean(self.X, axis=0)
        points = self.Y - centre
        scaled = xp.concat([self.X - centre_x, points], axis=1) * scale
        half = 0.5 * xp.sum(scaled * scaled, axis=1, keepdims=True)
        ones, far, c = xp.ones_like(half), points * inverse, self.c * inverse
        alone = xp.sum(c * points + self.smooth * far * far, axis=1, keepdims=True)
        alone = self.smooth * xp.sum(inverse) - alone
        slope = c + 2.0 * self.smooth * far * inverse
        exponents = xp.concat([scaled, -half, ones], axis=1)
        weights = xp.concat([slope, alone, ones], axis=1)
        points, slopes = (xp.concat([each, ones], axis=1) for each in (points, slope))
        # A tuple: model files hold it.
        return centre_x, centre, scale, inverse, exponents, weights, points, slopes

    def _blocks(self, Y) -> list[slice]:
        return row_blocks(Y.shape[0], self.c.shape[0] * self.c.shape[1], like=Y)


_NODES_PER_WIDTH, _FEWEST = 4, 24
_MOST = 1 << 12  # nodes, and as many numbers squared


class ChebyshevInterpolant:
    """Polynomial interpolation at the Chebyshev points of an interval.

    A function that is analytic and varies on the scale of a Gaussian of standard deviation `width`
    is known to about 1e-10 of its size: the coefficients of such a Gaussian on an interval of half
    length L fall as exp(-(n width/L)²/2), and n exceeds 8 L/width.
    """

    def __init__(self, lower: float, upper: float, width: float):
        self._middle, self._reach = 0.5 * (lower + upper), 0.5 * (upper - lower)
        if not self.is_possible(lower, upper, width):
            raise ValueError(
                f"y runs from {lower:g} to {upper:g}, and its density varies over {width:g}: too "
                "wide to tabulate for Hamiltonian Monte Carlo; draw with sample, or rescale y, as "
                "standardize=True does"
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
        """Return W (m, q): f W are values, or derivatives, at y (q,) of f known at the nodes."""
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


class HermiteTable:
    """Piecewise cubic interpolants of n functions on a common uniform grid, 0 outside it.

    The error is h⁴/384 times the fourth derivative for spacing h. A lookup costs O(1), so that a
    chain may visit a kernel model thousands of times without paying for its n training points.
    """

    def __init__(self, lower: float, step: float, values, slopes):
        self._xp = xp = array_namespace(values)
        self._lower, self._step, self._nodes = lower, step, values.shape[1]
        a, b, da, db = values[:, :-1], values[:, 1:], step * slopes[:, :-1], step * slopes[:, 1:]
        # The cubic a + da t + u t² + v t³ of each panel, with the right end's value and slope.
        u, v = 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db
        self._cubics = xp.reshape(xp.stack([a, da, u, v], axis=2), (-1, 4))

    def __call__(self, rows, y) -> tuple:
        """Return the values and derivatives of function `rows[k]` at `y[k]`, shapes (k,)."""
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
