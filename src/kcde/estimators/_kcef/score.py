"""The K-fold score of KCEF with its analytic gradient (d_y = 1), for some rows or many.

For a fold S with complement R, μ = |R| λ, and the matrices G, M, Q of `ScoreSystem` over all rows,

    (G_RR + μ) e = M_RR 1 - μ r_R,
    p = ∂T_S = (M_RSᵀ 1 + G_SR e)/μ,    q = ∂²T_S = (M_RSᵀ e - Q_SR 1)/μ,
    J_S = Σ_S ½ p² + p r_S + q.

With the adjoint (G_RR + μ) w = (G_RS (p + r_S) + M_RS 1)/μ the differential of J_S is linear in
dG, dM, dQ with coefficients that are sums of outer products of these vectors; summed over folds
they are one thin product each, and every bandwidth needs one contraction.

With the rows sorted by folds, a fold is a slice and its complement two. All that is linear in M and
Q is done by row blocks on and below the diagonal, in which they are computed from the kernel where
they are needed.

The paper tunes "by gradient descent on the cross validated score" (kcef, section 4): `minimise`.

The authors' code, `minimise_early`, minimises the 10-fold score over θ = (p_x, p_y, λ), p = 1/2σ²,
from p = 1 and λ = 1e-4, each within 1e-10…10. It stops where an iteration lowers the objective f by
less than 1e-4 max(|f|, 1), or where no element of the projected gradient is above 1e-4: as a rule
after some ten iterations, far from the minimum, which for data recorded with few digits does not
exist.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from kcde.arrays import array_namespace, block_size, row_blocks, take_columns, take_rows, to_numpy
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory


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

    def thin_products(self, s: float):
        """Yield left and right factors (n, 2k) of Ḡ, M̄/s and Q̄/s², summed over folds.

        Of a fold Ḡ = e p̄ᵀ/μ - w eᵀ, M̄ = (1_R p̄ᵀ + e 1_Sᵀ)/μ + w 1_Rᵀ and Q̄ = -1_R 1_Sᵀ/μ. G and
        Q are symmetric and M is antisymmetric: so these are made.
        """
        xp = array_namespace(self.e)
        p, ones_S = self.bar_p / self.mu, self.ones_S / self.mu
        for left, right, unit, sign in (
            ([self.e, -self.w], [p, self.e], 1.0, 1.0),
            ([self.ones_R, self.e, self.w], [p, ones_S, self.ones_R], s, -1.0),
            ([-self.ones_R], [ones_S], s * s, 1.0),
        ):
            left, right = xp.concat(left, axis=1) / unit, xp.concat(right, axis=1)
            yield xp.concat([left, sign * right], axis=1), xp.concat([right, left], axis=1)


class Tables:
    """G = K g (1 - z)/s², M = K g D (3 - z)/s⁴, Q = K g (3 - 6z + z²)/s⁴ with z = D²/s²."""

    def __init__(self, kernel, difference, bandwidth: float):
        self._u, self._bandwidth = difference / bandwidth, bandwidth
        self._z, self._g2 = self._u * self._u, kernel / bandwidth**2

    def G(self):
        """K g (1 - z)/s², of the shape of D."""
        return self._g2 * (1.0 - self._z)

    def M(self):
        """K g D (3 - z)/s⁴, of the shape of D."""
        return self._g2 * self._u * ((3.0 - self._z) / self._bandwidth)

    def Q(self):
        """K g (3 - 6z + z²)/s⁴, of the shape of D."""
        return self._g2 * ((3.0 + self._z * (self._z - 6.0)) / self._bandwidth**2)

    def contract(self, bar_G, bar_M, bar_Q):
        """Return W = Ḡ G + M̄ M + Q̄ Q elementwise, and its like for ∂/∂log s, summed.

        The derivatives of G, M and Q are (5z - z² - 2) K g/s², (9z - z² - 12) K g D/s⁴ and
        (z³ - 14z² + 39z - 12) K g/s⁴: z times each, and what is left. The arguments are Ḡ, M̄/s and
        Q̄/s², which are written over.
        """
        xp, shape = array_namespace(bar_G), bar_G.shape
        arrays = self._z, self._g2, self._u, bar_G, bar_M, bar_Q
        z, g2, u, bar_G, bar_M, bar_Q = (xp.reshape(each, (-1,)) for each in arrays)
        bar_M *= u
        both, slope, square, g2z = bar_M + bar_Q, bar_G + bar_M, z * bar_Q, g2 * z
        in_y = 4.0 * (g2z @ slope) + 2.0 * (g2z @ bar_M) + 36.0 * (g2z @ bar_Q)
        in_y = in_y - 8.0 * (g2z @ square) - 2.0 * (g2 @ bar_G) - 12.0 * (g2 @ both)
        W = 3.0 * both
        W += bar_G
        bar_Q *= 6.0
        slope += bar_Q
        slope -= square
        slope *= z
        W -= slope
        W *= g2
        return xp.reshape(W, shape), in_y + z @ W


class _Step:
    """One evaluation: what follows from the kernel matrix."""

    def __init__(self, problem: "HeldOutScore", bandwidth_x: np.ndarray, bandwidth_y: float):
        xp, n = array_namespace(problem.Y), problem.n
        self._problem, self._bandwidth = problem, bandwidth_y
        kernel = GaussianKernel(np.append(bandwidth_x, bandwidth_y))
        points = xp.concat([problem.X, problem.Y], axis=1)
        self._kernel, self._G = (xp.empty((n, n), dtype=points.dtype) for _ in range(2))
        # Row sums of M and Q over each fold, and over all others.
        self._M_S, Q_S = xp.zeros_like(problem.inside), xp.zeros_like(problem.inside)
        for rows in self._blocks():
            before = slice(0, rows.start)
            self._kernel[rows, : rows.stop] = kernel(points[rows, :], points[: rows.stop, :])
            self._kernel[before, rows] = self._kernel[rows, before].T
            tables = self._tables(rows)
            M, Q = tables.M(), tables.Q()
            self._M_S[rows, :] += M @ problem.inside[: rows.stop, :]
            self._M_S[before, :] -= M[:, before].T @ problem.inside[rows, :]
            Q_S[rows, :] += Q @ problem.inside[: rows.stop, :]
            Q_S[before, :] += Q[:, before].T @ problem.inside[rows, :]
            self._G[rows, : rows.stop] = tables.G()
            self._G[before, rows] = self._G[rows, before].T
        self._M_R, self._Q_R = self._M_S @ problem.others, Q_S @ problem.others

    def contract(self, adjoint: Adjoint):
        """Return the derivatives in log σ_y, and in log σ_x times σ_x², shape (d_x,).

        Ḡ, M̄ and Q̄ are made below the diagonal.
        """
        X, xp = self._problem.X, array_namespace(self._kernel)
        thin = list(adjoint.thin_products(self._bandwidth))
        in_y, cross, squares = 0.0, 0.0, X * X
        columns = xp.zeros(X.shape[0], dtype=X.dtype)
        for rows in self._blocks():
            bars = [left[rows, :] @ right[: rows.stop, :].T for left, right in thin]
            for bar in bars:
                bar[:, rows] *= 0.5
            W, of_rows = self._tables(rows).contract(*bars)
            in_y = in_y + of_rows
            columns[rows] += xp.sum(W, axis=1)
            columns[: rows.stop] += xp.sum(W, axis=0)
            cross = cross + xp.sum(X[rows, :] * (W @ X[: rows.stop, :]), axis=0)
        return in_y, columns @ squares - 2.0 * cross

    def _tables(self, rows: slice) -> Tables:
        """Return those of some rows, on and below their diagonal block."""
        Y = self._problem.Y[:, 0]
        difference = Y[rows, None] - Y[None, : rows.stop]
        return Tables(self._kernel[rows, : rows.stop], difference, self._bandwidth)

    def _blocks(self) -> list[slice]:
        return row_blocks(self._problem.n, self._problem.n, cached=True, like=self._kernel)

    def adjoint(self, regularization: float) -> Adjoint:
        """Return the terms of all folds at λ."""
        problem, G, xp = self._problem, self._G, array_namespace(self._kernel)
        ones_S, r = problem.inside, problem.r[:, None]
        ones_R = 1.0 - ones_S
        mu = [(problem.n - (S.stop - S.start)) * regularization for S in problem.folds]
        systems = HeldOutSystems(G, problem.folds, mu)
        mu = xp.asarray(mu)
        e = ones_R * systems.solve(ones_R * (self._M_R - mu * r))
        p = ones_S * (G @ e - self._M_R) / mu
        bar_p = ones_S * (p + r)
        w = ones_R * systems.solve(ones_R * (G @ bar_p + self._M_S) / mu)
        # Over a fold M e is summed as -(M 1_S)ᵀ e, because M is antisymmetric.
        q = xp.sum(self._M_S * e - ones_S * self._Q_R, axis=0) / mu
        value = xp.sum(0.5 * p * p + p * r, axis=0) + q
        log_mu = -mu * xp.sum(w * (r * ones_R + e), axis=0) - xp.sum(bar_p * p, axis=0) - q
        return Adjoint(value, log_mu, ones_R, ones_S, e, bar_p, w, mu)


class HeldOutSystems:
    """(G_RR + μ)⁻¹ for the complements R of all folds S, which are slices of the rows.

    From G + μ = L Lᵀ: with v = 0 on S, H the columns S of L⁻¹, and u = L⁻¹ v, block inversion gives
    (G_RR + μ)⁻¹ v_R = (L⁻ᵀ (u - H (HᵀH)⁻¹ Hᵀ u))_R. Each μ has a factor of its own.
    """

    def __init__(self, G, folds: Sequence[slice], mu: Sequence[float]):
        xp, self._groups = array_namespace(G), []
        for m in dict.fromkeys(mu):
            root = factor_positive_definite(G, shift=m).inverse_root()
            members = [k for k, of_fold in enumerate(mu) if of_fold == m]
            # L⁻¹ is zero above a fold.
            parts = [(folds[k].start, root[folds[k].start :, folds[k]]) for k in members]
            parts = [(start, H, xp.linalg.inv(H.T @ H)) for start, H in parts]
            self._groups.append((np.array(members), root, parts))

    def solve(self, V):
        """Return the solutions for V (n, K), a column a fold, zero on S; on S they are not."""
        solved = []
        for members, root, parts in self._groups:
            U = root @ take_columns(V, members)
            for j, (start, H, inverse) in enumerate(parts):
                U[start:, j] -= H @ (inverse @ (U[start:, j] @ H))
            solved.append(root.T @ U)
        order = np.argsort(np.concatenate([members for members, *_ in self._groups]))
        return take_columns(array_namespace(V).concat(solved, axis=1), order)


FEWER = "set tuning_rows, or take more memory"
_BLOCKS_HELD = 16  # where a block's share of the derivatives is contracted


class HeldOutScore:
    """The K-fold score of KCEF and its gradient in log σ_x, log σ_y, log λ, for d_y = 1.

    The systems of all folds are solved by one factor: an evaluation costs 2n³/3 multiplications
    for each size of a fold, and O(n²(d_x + K)) for n rows and K folds, in n² numbers for the
    kernel, its derivative and each inverse.
    """

    def __init__(self, X, Y, folds: Sequence[np.ndarray], base_std: float):
        xp, n = array_namespace(Y), Y.shape[0]
        order = np.concatenate([np.asarray(S) for S in folds])
        self.n, self.X, self.Y = n, take_rows(X, order), take_rows(Y, order)
        self.r = -self.Y[:, 0] / base_std**2
        stops = np.cumsum([len(S) for S in folds])
        self.folds = [slice(int(b) - len(S), int(b)) for S, b in zip(folds, stops, strict=True)]
        inside = np.zeros((n, len(folds)))
        for k, S in enumerate(self.folds):
            inside[S, k] = 1.0
        self.inside, self.others = xp.asarray(inside), xp.asarray(1.0 - np.eye(len(folds)))
        block = block_size(cached=True, like=Y)
        matrices = 2 + len(set(map(len, folds))) + 1 / len(folds)

        def numbers(n: int) -> int:
            """Return the size of the matrices and of the blocks."""
            return int(matrices * n * n) + _BLOCKS_HELD * min(n * n, max(n, block))

        require_memory(Y, "tuning KCEF", n, numbers, remedy=FEWER)

    def __call__(self, bandwidth_x: np.ndarray, bandwidth_y: float, regularization: float):
        """Return the score and its gradient."""
        step = _Step(self, bandwidth_x, float(bandwidth_y))
        adjoint = step.adjoint(float(regularization))
        in_y, in_x = step.contract(adjoint)
        value, in_lambda = (float(to_numpy(each).sum()) for each in adjoint[:2])
        gradient = [*to_numpy(in_x) / bandwidth_x**2, float(in_y), in_lambda]
        return value / self.n, np.array(gradient) / self.n


BOUNDS_BANDWIDTH = (0.05, 50.0)
BOUNDS_REGULARIZATION = (1e-8, 10.0)
START_REGULARIZATION = 1e-3
ITERATIONS = 50

BOX = (1e-10, 10.0)
"""Bounds of the authors' code of every p and of λ, so that σ is at least 0.224."""

BOX_START, BOX_START_REGULARIZATION = 1.0, 1e-4
_EARLY = {"maxls": 20, "ftol": 1e-4, "gtol": 1e-4}


def minimise(score: Callable, dimension: int, given, isotropic: bool) -> tuple:
    """Return σ_x (d_x,), σ_y, λ and a report of the smallest score, over what is not given.

    Starts at σ_x = √d_x, σ_y = 1, λ = 1e-3; at most 50 iterations of L-BFGS-B within 0.05…50 for
    bandwidths and 1e-8…10 for λ. A point where a system is singular counts as the worst seen.
    """
    defaults = np.sqrt(max(dimension, 1)), 1.0, START_REGULARIZATION
    known = (new if old is None else old for old, new in zip(given, defaults, strict=True))
    x, y, regularization = known
    start = np.array([*np.broadcast_to(x, (dimension,)), *np.ravel(y), regularization])
    groups = _groups(dimension, given, isotropic)
    box = [BOUNDS_BANDWIDTH] * (dimension + 1) + [BOUNDS_REGULARIZATION]
    limits = [tuple(np.log(np.array(b) / s)) for b, s in zip(box, start, strict=True)]
    limits = [limits[np.flatnonzero(column)[0]] for column in groups.T]
    start = np.log(start)

    def unpack(z: np.ndarray) -> tuple:
        theta = np.exp(start + groups @ z)
        return theta[:dimension], float(theta[-2]), float(theta[-1])

    def objective(z: np.ndarray):
        value, gradient = score(*unpack(z))
        return value, groups.T @ gradient

    found, report = _search(objective, np.zeros(groups.shape[1]), limits, {})
    return *unpack(found), report


class BoxedScore:
    """The K-fold score plus c Σ θ² with its gradient, for θ = (1/2σ_x², 1/2σ_y², λ).

    θ has only what is not given. Without x the authors' code keeps a p_x, which the penalty alone
    sees. Their c = 0.1 is in no paper; it favours large bandwidths. `start` is the first θ.
    """

    def __init__(self, score: Callable, dimension: int, given, *, isotropic: bool, penalty: float):
        self._score, self._dimension, self._penalty = score, dimension, penalty
        p_x, p_y = (0.0 if sigma is None else 0.5 / np.square(sigma) for sigma in given[:2])
        last = 0.0 if given[2] is None else given[2]
        self._given = np.array([*np.broadcast_to(p_x, (dimension,)), *np.ravel(p_y), last])
        self._groups = _groups(dimension, given, isotropic)
        self.start = np.full(self._groups.shape[1], BOX_START)
        if given[2] is None:
            self.start[-1] = BOX_START_REGULARIZATION
        if not dimension:
            self._groups = np.column_stack([np.zeros(len(self._groups)), self._groups])
            self.start = np.append(BOX_START, self.start)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at θ."""
        value, in_log = self._score(*self.unpack(theta))
        gradient = np.append(-0.5 * in_log[:-1], in_log[-1]) / self._natural(theta)
        penalised = value + self._penalty * theta @ theta
        return penalised, self._groups.T @ gradient + 2.0 * self._penalty * theta

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return σ_x (d_x,), σ_y and λ."""
        natural = self._natural(theta)
        sigma = np.sqrt(0.5 / natural[:-1])
        return sigma[: self._dimension], float(sigma[-1]), float(natural[-1])

    def _natural(self, theta: np.ndarray) -> np.ndarray:
        """Return 1/2σ² of each x, of y, and λ, given or from θ."""
        return self._given + self._groups @ theta


def minimise_early(score: Callable, dimension: int, given, *, isotropic: bool, penalty: float):
    """Minimise as the authors' code does; returns what `minimise` does, scores with the penalty."""
    boxed = BoxedScore(score, dimension, given, isotropic=isotropic, penalty=penalty)
    found, report = _search(boxed, boxed.start, [BOX] * len(boxed.start), _EARLY)
    return *boxed.unpack(found), report


def _search(score: Callable, start: np.ndarray, bounds: list, options: dict) -> tuple:
    """Return the minimiser, and the "score" there, the "start_score" and what the search took."""
    values = []

    def objective(theta: np.ndarray):
        try:
            value, gradient = score(theta)
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(theta))
        values.append(value)
        return value, gradient

    options = {"maxiter": ITERATIONS} | options
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    report = {"score": float(found.fun), "start_score": float(values[0] if values else found.fun)}
    return found.x, report | {"iterations": int(found.nit), "evaluations": int(found.nfev)}


def _groups(dimension: int, given, isotropic: bool) -> np.ndarray:
    """Return the 0-1 matrix that maps optimised numbers to those of each x, of y, and of λ.

    What is given is not optimised; where `isotropic`, one number stands for all x.
    """
    free = np.array([given[0] is None] * dimension + [each is None for each in given[1:]])
    columns = np.eye(dimension + 2)
    if isotropic and dimension:
        columns = np.column_stack([columns[:, :dimension].sum(axis=1), columns[:, dimension:]])
    return columns[:, (columns * free[:, None]).any(axis=0)]
