"""The K-fold score of KCEF with its analytic gradient (d_y = 1), on whole matrices.

For a fold S with complement R, μ = |R| λ, and the matrices G, M, Q of `ScoreSystem` over all rows,

    (G_RR + μ) e = M_RR 1 - μ r_R,
    p = ∂T_S = (M_RSᵀ 1 + G_SR e)/μ,    q = ∂²T_S = (M_RSᵀ e - Q_SR 1)/μ,
    J_S = Σ_S ½ p² + p r_S + q.

With the adjoint (G_RR + μ) w = (G_RS (p + r_S) + M_RS 1)/μ the differential of J_S is linear in
dG, dM, dQ with coefficients that are sums of outer products of these vectors; summed over folds
they are one thin product each, and every bandwidth needs one contraction.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_columns, take_rows, to_numpy
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite
from kcde.selection import complement


class HeldOutScore:
    """The K-fold score of KCEF and its gradient in log σ_x, log σ_y, log λ, for d_y = 1.

    One evaluation costs a Cholesky factorisation a fold, two solves, and O(n²(d_x + K)) for n
    rows and K folds.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, 1).
    folds
        A partition of `range(n)`.
    base_std
        Standard deviation of q_0.
    """

    def __init__(self, X, Y, folds: Sequence[np.ndarray], base_std: float):
        self.xp = array_namespace(Y)
        self.X, self.n = X, Y.shape[0]
        self.difference = Y - Y.T
        self.r = -Y[:, 0] / base_std**2
        kept = [complement(S, self.n) for S in folds]
        # Indices go to a device once, not at each evaluation.
        self.kept = [self.xp.asarray(R) for R in kept]
        self.inside = [self._over_all(R, np.ones(len(R))) for R in kept]
        self.place = [self._over_all(R, np.arange(len(R))) for R in kept]

    def __call__(self, bandwidth_x: np.ndarray, bandwidth_y: float, regularization: float):
        """Return the score and its gradient.

        Parameters
        ----------
        bandwidth_x
            Shape (d_x,).
        bandwidth_y, regularization
            Numbers.

        Returns
        -------
        value : float
            Mean over rows of ½(∂T)² + ∂²T + ∂T ∂log q_0, each row's from the fold that held it out.
        gradient : numpy.ndarray
            Shape (d_x + 2,), in log σ_x, log σ_y, log λ.

        Raises
        ------
        numpy.linalg.LinAlgError
            If a fold's system is not positive definite.
        """
        xp, bandwidth_y = self.xp, float(bandwidth_y)
        K = GaussianKernel(bandwidth_x)(self.X, self.X)
        kernel = K * xp.exp(-0.5 * (self.difference**2 / bandwidth_y**2))
        tables = Tables(kernel, self.difference, bandwidth_y)
        adjoints = [self._fold(tables, k, float(regularization)) for k in range(len(self.kept))]
        bar_G, bar_M, bar_Q = (left @ right for left, right in thin_products(adjoints))
        W = bar_G * tables.G + bar_M * tables.M + bar_Q * tables.Q
        in_y = xp.sum(bar_G * tables.dG() + bar_M * tables.dM() + bar_Q * tables.dQ())
        value, in_lambda = totals(adjoints)
        gradient = [*self._in_bandwidth_x(W, bandwidth_x), float(in_y), in_lambda]
        return value / self.n, np.array(gradient) / self.n

    def _fold(self, tables: "Tables", k: int, regularization: float) -> "Adjoint":
        xp, R = self.xp, self.kept[k]
        ones_R, ones_S = self.inside[k], 1.0 - self.inside[k]
        mu = R.shape[0] * regularization
        r = self.r
        G_R, M_R = take_rows(tables.G, R), take_rows(tables.M, R)
        factor = factor_positive_definite(take_columns(G_R, R), shift=mu)
        e = self._scatter(factor.solve(M_R @ ones_R - mu * take_rows(r, R)), k)
        # A product with the symmetric G or the antisymmetric M keeps to the fold by the mask.
        p = ones_S * (tables.G @ e - tables.M @ ones_R) / mu
        q = -ones_S * (tables.M @ e + tables.Q @ ones_R) / mu
        bar_p = ones_S * (p + r)
        w = self._scatter(factor.solve((G_R @ bar_p + M_R @ ones_S) / mu), k)
        value = xp.sum(0.5 * p * p + p * r * ones_S + q)
        log_mu = -mu * xp.sum(w * (r * ones_R + e)) - xp.sum(bar_p * p + q)
        return Adjoint(value, log_mu, ones_R, ones_S, e, bar_p, w, mu)

    def _in_bandwidth_x(self, W, bandwidth_x: np.ndarray) -> np.ndarray:
        """Return Σ_ab W_ab (x_ak - x_bk)²/σ_k² for each k."""
        xp, X = self.xp, self.X
        square = xp.sum(W, axis=1) @ (X * X) + xp.sum(W, axis=0) @ (X * X)
        return to_numpy(square - 2.0 * xp.sum(X * (W @ X), axis=0)) / bandwidth_x**2

    def _over_all(self, rows: np.ndarray, values: np.ndarray):
        """Return a vector over all rows that is zero where nothing is given."""
        whole = np.zeros(self.n, dtype=values.dtype)
        whole[rows] = values
        return self.xp.asarray(whole)

    def _scatter(self, values, k: int):
        """Return a vector over all rows that is zero on fold k, from its values on the others."""
        return take_rows(values, self.place[k]) * self.inside[k]


class Adjoint(NamedTuple):
    """One fold's value, derivative in log μ, and vectors over all rows, zero outside R or S."""

    value: object
    log_mu: object
    ones_R: object
    ones_S: object
    e: object
    bar_p: object
    w: object
    mu: float

    def of_G(self):
        """Left and right vectors of Ḡ = e p̄ᵀ/μ - w eᵀ."""
        return [self.e, -self.w], [self.bar_p / self.mu, self.e]

    def of_M(self):
        """Left and right vectors of M̄ = (1_R p̄ᵀ + e 1_Sᵀ)/μ + w 1_Rᵀ."""
        left = [self.ones_R, self.e, self.w]
        return left, [self.bar_p / self.mu, self.ones_S / self.mu, self.ones_R]

    def of_Q(self):
        """Left and right vectors of Q̄ = -1_R 1_Sᵀ/μ."""
        return [-self.ones_R], [self.ones_S / self.mu]


def thin_products(adjoints: Sequence[Adjoint]):
    """Yield left (n, k) and right (k, n) factors of Ḡ, M̄ and Q̄, summed over folds."""
    xp = array_namespace(adjoints[0].e)
    for pairs in (Adjoint.of_G, Adjoint.of_M, Adjoint.of_Q):
        left, right = ([v for a in adjoints for v in pairs(a)[side]] for side in (0, 1))
        yield xp.stack(left, axis=1), xp.stack(right, axis=0)


def totals(adjoints: Sequence[Adjoint]) -> tuple[float, float]:
    """Return the sums over folds of the value and of its derivative in log μ."""
    xp = array_namespace(adjoints[0].e)
    values = to_numpy(xp.stack([v for a in adjoints for v in (a.value, a.log_mu)]))
    return sum(map(float, values[::2])), sum(map(float, values[1::2]))


class Tables:
    """G = K g (1 - z)/s², M = K g D (3 - z)/s⁴, Q = K g (3 - 6z + z²)/s⁴ with z = D²/s²."""

    def __init__(self, kernel, difference, bandwidth: float):
        self._D, self._z, s2 = difference, difference**2 / bandwidth**2, bandwidth**2
        self._kernel, self._s2 = kernel, s2

    @cached_property
    def _g2(self):
        return self._kernel / self._s2

    @cached_property
    def _g4(self):
        return self._kernel / self._s2**2

    @cached_property
    def G(self):
        """K g (1 - z)/s², of the shape of D."""
        return self._g2 * (1.0 - self._z)

    @cached_property
    def M(self):
        """K g D (3 - z)/s⁴, of the shape of D."""
        return self._g4 * self._D * (3.0 - self._z)

    @cached_property
    def Q(self):
        """K g (3 - 6z + z²)/s⁴, of the shape of D."""
        return self._g4 * (3.0 + self._z * (self._z - 6.0))

    def dG(self):
        """∂G/∂log s."""
        return self._g2 * (self._z * (5.0 - self._z) - 2.0)

    def dM(self):
        """∂M/∂log s."""
        return self._g4 * self._D * (self._z * (9.0 - self._z) - 12.0)

    def dQ(self):
        """∂Q/∂log s."""
        return self._g4 * (self._z * (self._z * (self._z - 14.0) + 39.0) - 12.0)
