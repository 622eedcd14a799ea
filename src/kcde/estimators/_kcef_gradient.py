"""KCEF's bandwidths and λ by L-BFGS-B on the K-fold score, with its analytic gradient (d_y = 1).

The paper tunes "by gradient descent on the cross validated score" (kcef, section 4). For a fold S
with complement R, μ = |R| λ, and the matrices G, M, Q of `ScoreSystem` over all rows,

    (G_RR + μ) e = M_RR 1 - μ r_R,
    p = ∂T_S = (M_RSᵀ 1 + G_SR e)/μ,    q = ∂²T_S = (M_RSᵀ e - Q_SR 1)/μ,
    J_S = Σ_S ½ p² + p r_S + q.

With the adjoint (G_RR + μ) w = (G_RS (p + r_S) + M_RS 1)/μ the differential of J_S is linear in
dG, dM, dQ with coefficients that are sums of outer products of these vectors; summed over folds
they are one thin product each, and every bandwidth needs one contraction.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from kcde.arrays import array_namespace, take_columns, take_rows, to_numpy
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite
from kcde.selection import complement

BOUNDS_BANDWIDTH = (0.05, 50.0)
BOUNDS_REGULARIZATION = (1e-8, 10.0)
START_REGULARIZATION = 1e-3
ITERATIONS = 50


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
        Of q_0.
    """

    def __init__(self, X, Y, folds: Sequence[np.ndarray], base_std: float):
        self.xp = array_namespace(Y)
        self.X, self.n = X, Y.shape[0]
        self.difference = Y - Y.T
        self.r = -Y[:, 0] / base_std**2
        self.kept = [complement(S, self.n) for S in folds]
        self.inside = [self._indicator(R) for R in self.kept]

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
        K = GaussianKernel(bandwidth_x)(self.X, self.X)
        tables, regularization = (
            _Tables(K, self.difference, float(bandwidth_y)),
            float(regularization),
        )
        adjoints = [self._fold(tables, k, regularization) for k in range(len(self.kept))]
        xp = self.xp
        value = sum(float(a.value) for a in adjoints)
        bar_G, bar_M, bar_Q = (
            xp.stack([v for a in adjoints for v in pairs(a)[0]], axis=1)
            @ xp.stack([v for a in adjoints for v in pairs(a)[1]], axis=0)
            for pairs in (_Adjoint.of_G, _Adjoint.of_M, _Adjoint.of_Q)
        )
        W = bar_G * tables.G + bar_M * tables.M + bar_Q * tables.Q
        in_y = xp.sum(bar_G * tables.dG() + bar_M * tables.dM() + bar_Q * tables.dQ())
        in_lambda = sum(float(a.log_mu) for a in adjoints)
        gradient = [*self._in_bandwidth_x(W, bandwidth_x), float(in_y), in_lambda]
        return value / self.n, np.array(gradient) / self.n

    def _fold(self, tables: "_Tables", k: int, regularization: float) -> "_Adjoint":
        xp, R = self.xp, self.kept[k]
        ones_R, ones_S = self.inside[k], 1.0 - self.inside[k]
        mu = len(R) * regularization
        r = self.r
        G_R, M_R = take_rows(tables.G, R), take_rows(tables.M, R)
        factor = factor_positive_definite(take_columns(G_R, R), shift=mu)
        e = self._scatter(factor.solve(M_R @ ones_R - mu * take_rows(r, R)), R)
        # A product with the symmetric G or the antisymmetric M keeps to the fold by the mask.
        p = ones_S * (tables.G @ e - tables.M @ ones_R) / mu
        q = -ones_S * (tables.M @ e + tables.Q @ ones_R) / mu
        bar_p = ones_S * (p + r)
        w = self._scatter(factor.solve((G_R @ bar_p + M_R @ ones_S) / mu), R)
        value = xp.sum(0.5 * p * p + p * r * ones_S + q)
        log_mu = -mu * xp.sum(w * (r * ones_R + e)) - xp.sum(bar_p * p + q)
        return _Adjoint(value, log_mu, ones_R, ones_S, e, bar_p, w, mu)

    def _in_bandwidth_x(self, W, bandwidth_x: np.ndarray) -> np.ndarray:
        """Return Σ_ab W_ab (x_ak - x_bk)²/σ_k² for each k."""
        xp, X = self.xp, self.X
        square = xp.sum(W, axis=1) @ (X * X) + xp.sum(W, axis=0) @ (X * X)
        return to_numpy(square - 2.0 * xp.sum(X * (W @ X), axis=0)) / bandwidth_x**2

    def _indicator(self, rows: np.ndarray):
        inside = np.zeros(self.n)
        inside[rows] = 1.0
        return self.xp.asarray(inside)

    def _scatter(self, values, rows: np.ndarray):
        """Return a vector over all rows that is zero where nothing is given."""
        place = np.zeros(self.n, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        return take_rows(values, place) * self._indicator(rows)


class _Adjoint(NamedTuple):
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


class _Tables:
    """G = K g (1 - z)/s², M = K g D (3 - z)/s⁴, Q = K g (3 - 6z + z²)/s⁴ with z = D²/s²."""

    def __init__(self, K, difference, bandwidth: float):
        xp = array_namespace(K)
        self._D, self._z, s2 = difference, difference**2 / bandwidth**2, bandwidth**2
        kernel = K * xp.exp(-0.5 * self._z)
        self._g2, self._g4 = kernel / s2, kernel / s2**2
        self.G = self._g2 * (1.0 - self._z)
        self.M = self._g4 * self._D * (3.0 - self._z)
        self.Q = self._g4 * (3.0 + self._z * (self._z - 6.0))

    def dG(self):
        """∂G/∂log s."""
        return self._g2 * (self._z * (5.0 - self._z) - 2.0)

    def dM(self):
        """∂M/∂log s."""
        return self._g4 * self._D * (self._z * (9.0 - self._z) - 12.0)

    def dQ(self):
        """∂Q/∂log s."""
        return self._g4 * (self._z * (self._z * (self._z - 14.0) + 39.0) - 12.0)


def minimise(score: HeldOutScore, dimension: int, given, isotropic: bool):
    """Minimise the K-fold score over what is not given.

    Starts at σ_x = √d_x, σ_y = 1, λ = 1e-3; at most 50 iterations of L-BFGS-B within 0.05…50 for
    bandwidths and 1e-8…10 for λ. A point where a system is singular counts as the worst seen.

    Parameters
    ----------
    score
        What is minimised.
    dimension
        d_x.
    given
        `Hyperparameters`; None is chosen.
    isotropic
        Whether all x share one bandwidth.

    Returns
    -------
    bandwidth_x : numpy.ndarray
        Shape (d_x,).
    bandwidth_y, regularization : float
    cv_results : dict
        "score" at the end, "start_score", "iterations", "evaluations".
    """
    start, free, limits = _start(dimension, given)
    groups = _groups(dimension, free, isotropic)
    values = []

    def unpack(z: np.ndarray) -> np.ndarray:
        return start + groups @ z

    def objective(z: np.ndarray):
        theta = np.exp(unpack(z))
        try:
            value, gradient = score(theta[:dimension], theta[-2], theta[-1])
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(z))
        values.append(value)
        return value, groups.T @ gradient

    first = objective(np.zeros(groups.shape[1]))[0]
    box = [limits[np.flatnonzero(column)[0]] for column in groups.T]
    result = minimize(
        objective,
        np.zeros(groups.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"maxiter": ITERATIONS},
    )
    theta = np.exp(unpack(result.x))
    report = {"score": float(result.fun), "start_score": float(first)}
    report |= {"iterations": int(result.nit), "evaluations": int(result.nfev)}
    return theta[:dimension], float(theta[-2]), float(theta[-1]), report


def _start(dimension: int, given):
    """Return log starting values, which of them are free, and log bounds relative to them."""
    sigma_x, sigma_y, regularization = given
    root = np.sqrt(max(dimension, 1))
    x = np.broadcast_to(root if sigma_x is None else sigma_x, (dimension,))
    y = np.ravel(1.0 if sigma_y is None else sigma_y)[0]
    start = np.array([*x, y, START_REGULARIZATION if regularization is None else regularization])
    free = np.array([sigma_x is None] * dimension + [sigma_y is None, regularization is None])
    box = [BOUNDS_BANDWIDTH] * (dimension + 1) + [BOUNDS_REGULARIZATION]
    return (
        np.log(start),
        free,
        [tuple(np.log(np.array(b) / s)) for b, s in zip(box, start, strict=True)],
    )


def _groups(dimension: int, free: np.ndarray, isotropic: bool) -> np.ndarray:
    """Return the 0-1 matrix that maps optimised numbers to (log σ_x, log σ_y, log λ)."""
    columns = np.eye(dimension + 2)
    if isotropic and dimension:
        columns = np.column_stack([columns[:, :dimension].sum(axis=1), columns[:, dimension:]])
    return columns[:, (columns * free[:, None]).any(axis=0)]
