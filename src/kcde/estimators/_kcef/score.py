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


class HeldOutScore:
    """The K-fold score of KCEF and its gradient in log σ_x, log σ_y, log λ, for d_y = 1.

    The systems of all folds are solved by one inverse A = (G + μ)⁻¹: with v = 0 on S, block
    inversion gives (G_RR + μ)⁻¹ v_R = (A v - A E_S A_SS⁻¹ (A v)_S)_R. Folds of another size have a
    μ and an inverse of their own. One evaluation costs n³ multiplications for each, and O(n²(d_x +
    K)) for n rows and K folds.

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
        self.r = -Y / base_std**2
        ones_S = np.zeros((self.n, len(folds)))
        for k, S in enumerate(folds):
            ones_S[S, k] = 1.0
        # Indices go to a device once, not at each evaluation.
        self.folds = [self.xp.asarray(np.asarray(S)) for S in folds]
        self.ones_S, self.ones_R = self.xp.asarray(ones_S), self.xp.asarray(1.0 - ones_S)
        self.kept = [self.n - len(S) for S in folds]

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
        adjoint = self._adjoint(tables, float(regularization))
        bar_G, bar_M, bar_Q = (left @ right for left, right in adjoint.thin_products())
        W = bar_G * tables.G + bar_M * tables.M + bar_Q * tables.Q
        in_y = xp.sum(bar_G * tables.dG() + bar_M * tables.dM() + bar_Q * tables.dQ())
        value, in_lambda = adjoint.totals()
        gradient = [*self._in_bandwidth_x(W, bandwidth_x), float(in_y), in_lambda]
        return value / self.n, np.array(gradient) / self.n

    def _adjoint(self, tables: "Tables", regularization: float) -> "Adjoint":
        xp, ones_R, ones_S, r = self.xp, self.ones_R, self.ones_S, self.r
        mu = [kept * regularization for kept in self.kept]
        systems = HeldOutSystems(tables.G, self.folds, mu)
        mu = xp.asarray(mu)
        M_R = tables.M @ ones_R
        e = systems.solve(ones_R * (M_R - mu * r), ones_R)
        p = ones_S * (tables.G @ e - M_R) / mu
        q = -ones_S * (tables.M @ e + tables.Q @ ones_R) / mu
        bar_p = ones_S * (p + r)
        right = ones_R * (tables.G @ bar_p + tables.M @ ones_S) / mu
        w = systems.solve(right, ones_R)
        value = xp.sum(0.5 * p * p + p * r + q, axis=0)
        log_mu = -mu * xp.sum(w * (r * ones_R + e), axis=0) - xp.sum(bar_p * p + q, axis=0)
        return Adjoint(value, log_mu, ones_R, ones_S, e, bar_p, w, mu)

    def _in_bandwidth_x(self, W, bandwidth_x: np.ndarray) -> np.ndarray:
        """Return Σ_ab W_ab (x_ak - x_bk)²/σ_k² for each k."""
        xp, X = self.xp, self.X
        square = xp.sum(W, axis=1) @ (X * X) + xp.sum(W, axis=0) @ (X * X)
        return to_numpy(square - 2.0 * xp.sum(X * (W @ X), axis=0)) / bandwidth_x**2


class HeldOutSystems:
    """(G_RR + μ)⁻¹ for the complements R of all folds.

    Parameters
    ----------
    G
        Shape (n, n).
    folds
        The rows S of each.
    mu
        μ of each.
    """

    def __init__(self, G, folds: Sequence, mu: Sequence[float]):
        self._xp, self._folds = array_namespace(G), folds
        inverses = {m: factor_positive_definite(G, shift=m).inverse() for m in dict.fromkeys(mu)}
        self._inverses = [inverses[m] for m in mu]
        self._blocks = [
            take_columns(take_rows(A, S), S) for A, S in zip(self._inverses, folds, strict=True)
        ]

    def solve(self, V, ones_R):
        """Return the solutions for V (n, K), a column a fold, zero on S, as is V."""
        xp = self._xp
        U = self._apply(V)
        corrections = []
        for k, (S, block) in enumerate(zip(self._folds, self._blocks, strict=True)):
            inside = xp.linalg.solve(block, take_rows(U[:, k], S)[:, None])
            corrections.append(take_columns(self._inverses[k], S) @ inside)
        return ones_R * (U - xp.concat(corrections, axis=1))

    def _apply(self, V):
        """Return A V, each column by the inverse of its fold."""
        first = self._inverses[0]
        if all(A is first for A in self._inverses):
            return first @ V
        columns = [A @ V[:, k] for k, A in enumerate(self._inverses)]
        return self._xp.stack(columns, axis=1)


class Adjoint(NamedTuple):
    """Value and derivative in log μ of each fold, shape (K,), and what the others follow from.

    ones_R, ones_S, e, bar_p and w have the shape (n, K): a column a fold, over all rows, zero
    outside R or S.
    """

    value: object
    log_mu: object
    ones_R: object
    ones_S: object
    e: object
    bar_p: object
    w: object
    mu: object

    @classmethod
    def stacked(cls, folds: Sequence["Adjoint"]) -> "Adjoint":
        """Return the adjoint of all folds, from that of each with vectors and numbers."""
        xp = array_namespace(folds[0].e)
        *others, mu = zip(*folds, strict=True)
        return cls(*(xp.stack(each, axis=-1) for each in others), xp.asarray(mu))

    def thin_products(self):
        """Yield left (n, k) and right (k, n) factors of Ḡ, M̄ and Q̄, summed over folds.

        Of a fold Ḡ = e p̄ᵀ/μ - w eᵀ, M̄ = (1_R p̄ᵀ + e 1_Sᵀ)/μ + w 1_Rᵀ and Q̄ = -1_R 1_Sᵀ/μ.
        """
        xp = array_namespace(self.e)
        p, ones_S = self.bar_p / self.mu, self.ones_S / self.mu
        for left, right in (
            ([self.e, -self.w], [p, self.e]),
            ([self.ones_R, self.e, self.w], [p, ones_S, self.ones_R]),
            ([-self.ones_R], [ones_S]),
        ):
            yield xp.concat(left, axis=1), xp.concat(right, axis=1).T

    def totals(self) -> tuple[float, float]:
        """Return the sums over folds of the value and of its derivative in log μ."""
        value, log_mu = to_numpy(self.value), to_numpy(self.log_mu)
        return float(value.sum()), float(log_mu.sum())


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
