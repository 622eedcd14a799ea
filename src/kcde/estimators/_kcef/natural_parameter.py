"""T(x, y), the natural parameter of kernel exponential families, with its derivatives in y."""

from dataclasses import dataclass

import numpy as np

from kcde.arrays import array_namespace, row_blocks
from kcde.kernels import GaussianKernel
from kcde.memory import require_memory


@dataclass(frozen=True)
class NaturalParameter:
    """T(x, y) = Σ_b k_X(X_b, x) [Σ_i c_{b,i} ∂_i k(Y_b, y) - s Σ_i ∂_i² k(Y_b, y)].

    kcef, Theorem 1, with c = β - ∂log q_0/(nλ) and s = 1/(nλ); Nyström estimates have s = 0.

    Parameters
    ----------
    X, Y
        Points of the expansion, shapes (m, d_x), (m, d_y).
    c
        Shape (m, d_y).
    smooth
        s.
    bandwidth_x, bandwidth_y
        Shapes (d_x,), (d_y,).
    """

    X: object
    Y: object
    c: object
    smooth: float
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray

    def potential(self, Y):
        """Return F (m, q) such that T(x, Y_q) = Σ_b k_X(X_b, x) F_bq, at Y (q, d_y)."""
        xp, m = array_namespace(Y), self.c.shape[0]
        # The blocks and what they become.
        require_memory(Y, f"T between {m} rows and shared y", Y.shape[0], lambda q: 2 * m * q)
        parts = [self._potential(Y[rows, :]) for rows in self._blocks(Y)]
        return xp.concat(parts, axis=1)

    def potential_slope(self, Y):
        """Return ∂F/∂y (m, q) of `potential`, for d_y = 1."""
        xp = array_namespace(Y)
        parts = []
        for rows in self._blocks(Y):
            derivatives = GaussianKernel(self.bandwidth_y).derivatives(self.Y, Y[rows, :])
            bend = self.c * derivatives.second[..., 0, 0]
            parts.append(self.smooth * derivatives.laplacian_gradient[..., 0] - bend)
        return xp.concat(parts, axis=1)

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
        return xp.concat([xp.zeros(0, dtype=Y.dtype), *parts])

    def value_and_gradient(self, X, Y):
        """Return T (n,) and ∂_y T (n, d_y) at the pairs, as matrix products.

        n m (d_x + 6 d_y) multiplications and one exponential for each of n m pairs.
        """
        xp = array_namespace(Y)
        parts = [self._value_and_gradient(X[rows, :], Y[rows, :]) for rows in self._blocks(Y)]
        values, gradients = zip(*parts, strict=True)
        return xp.concat(values), xp.concat(gradients)

    def second_derivatives(self, X, Y):
        """Return Σ_j ∂_j² T at the pairs, shape (n,)."""
        xp = array_namespace(Y)
        return xp.concat([self._laplacian(X[rows, :], Y[rows, :]) for rows in self._blocks(Y)])

    def _potential(self, Y):
        xp = array_namespace(Y)
        derivatives = GaussianKernel(self.bandwidth_y).derivatives(self.Y, Y)
        return (
            xp.sum(self.c[:, None, :] * derivatives.first, axis=2)
            - self.smooth * derivatives.laplacian
        )

    def _laplacian(self, X, Y):
        xp = array_namespace(Y)
        derivatives = GaussianKernel(self.bandwidth_y).derivatives(self.Y, Y)
        pull = xp.sum(self.c[:, None, :] * derivatives.laplacian_gradient, axis=2)
        return xp.sum(self.kernel_x(X).T * (pull - self.smooth * derivatives.bilaplacian), axis=0)

    def _value_and_gradient(self, X, Y):
        xp = array_namespace(Y)
        inverse = xp.asarray(self.bandwidth_y**-2.0)
        # Distances expand into products, which cancel least around the middle.
        centre = xp.mean(self.Y, axis=0)
        points, Y = self.Y - centre, Y - centre
        kernel = GaussianKernel(np.concatenate([self.bandwidth_x, self.bandwidth_y]))
        k = kernel(xp.concat([self.X, points], axis=1), xp.concat([X, Y], axis=1))
        c = self.c * inverse
        weight = c @ Y.T - xp.sum(c * points, axis=1)[:, None]
        if self.smooth:
            far, near = points * inverse, Y * inverse
            ell = xp.sum(far * far, axis=1)[:, None] + xp.sum(near * near, axis=1) - xp.sum(inverse)
            weight = weight - self.smooth * (ell - 2.0 * (far @ near.T))
        weight = k * weight
        value = xp.sum(weight, axis=0)
        pull = (weight.T @ points - value[:, None] * Y) * inverse + k.T @ c
        if self.smooth:
            moved = k.T @ points - xp.sum(k, axis=0)[:, None] * Y
            pull = pull + 2.0 * self.smooth * moved * inverse**2
        return value, pull

    def _blocks(self, Y) -> list[slice]:
        return row_blocks(Y.shape[0], self.c.shape[0] * self.c.shape[1], like=Y)
