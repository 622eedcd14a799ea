"""The K-fold score of KCEF with its analytic gradient (d_y = 1), on whole matrices or by blocks.

For a fold S with complement R, μ = |R| λ, and the matrices G, M, Q of `ScoreSystem` over all rows,

    (G_RR + μ) e = M_RR 1 - μ r_R,
    p = ∂T_S = (M_RSᵀ 1 + G_SR e)/μ,    q = ∂²T_S = (M_RSᵀ e - Q_SR 1)/μ,
    J_S = Σ_S ½ p² + p r_S + q.

With the adjoint (G_RR + μ) w = (G_RS (p + r_S) + M_RS 1)/μ the differential of J_S is linear in
dG, dM, dQ with coefficients that are sums of outer products of these vectors; summed over folds
they are one thin product each, and every bandwidth needs one contraction.

`BlockedHeldOutScore`, for many rows, holds one kernel matrix and one fold's system. With the rows
sorted by folds, a fold is a slice and its complement two. All that is linear in G, M and Q is done
by row blocks, in which they are computed from the kernel where they are needed.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, block_size, row_blocks, take_columns, take_rows, to_numpy
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory


class HeldOutScore:
    """The K-fold score of KCEF and its gradient in log σ_x, log σ_y, log λ, for d_y = 1.

    The systems of all folds are solved by one inverse A = (G + μ)⁻¹: with v = 0 on S, block
    inversion gives (G_RR + μ)⁻¹ v_R = (A v - A E_S A_SS⁻¹ (A v)_S)_R. Folds of another size have a
    μ and an inverse of their own. One evaluation costs n³ multiplications for each, and O(n²(d_x +
    K)) for n rows and K folds.
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
        """Return the score and its gradient."""
        xp, bandwidth_y = self.xp, float(bandwidth_y)
        K = GaussianKernel(bandwidth_x)(self.X, self.X)
        kernel = K * xp.exp(-0.5 * (self.difference**2 / bandwidth_y**2))
        tables = Tables(kernel, self.difference, bandwidth_y)
        adjoint = self._adjoint(tables, float(regularization))
        bar_G, bar_M, bar_Q = (left @ right for left, right in adjoint.thin_products())
        W = bar_G * tables.G + bar_M * tables.M + bar_Q * tables.Q
        in_y = xp.sum(bar_G * tables.dG() + bar_M * tables.dM() + bar_Q * tables.dQ())
        value, in_lambda = adjoint.totals()
        # Σ_ab W_ab (x_ak - x_bk)²/σ_k² for each k.
        X, squares = self.X, self.X * self.X
        in_x = xp.sum(W, axis=1) @ squares + xp.sum(W, axis=0) @ squares
        in_x = to_numpy(in_x - 2.0 * xp.sum(X * (W @ X), axis=0)) / bandwidth_x**2
        gradient = [*in_x, float(in_y), in_lambda]
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


class HeldOutSystems:
    """(G_RR + μ)⁻¹ for the complements R of all folds."""

    def __init__(self, G, folds: Sequence, mu: Sequence[float]):
        self._xp, self._folds = array_namespace(G), folds
        inverses = {m: factor_positive_definite(G, shift=m).inverse() for m in dict.fromkeys(mu)}
        self._inverses = [inverses[m] for m in mu]
        self._blocks = [
            take_columns(take_rows(A, S), S) for A, S in zip(self._inverses, folds, strict=True)
        ]

    def solve(self, V, ones_R):
        """Return the solutions for V (n, K), a column a fold, zero on S, as is V."""
        xp, first, corrections = self._xp, self._inverses[0], []
        if all(A is first for A in self._inverses):
            U = first @ V
        else:
            U = xp.stack([A @ V[:, k] for k, A in enumerate(self._inverses)], axis=1)
        for k, (S, block) in enumerate(zip(self._folds, self._blocks, strict=True)):
            inside = xp.linalg.solve(block, take_rows(U[:, k], S)[:, None])
            corrections.append(take_columns(self._inverses[k], S) @ inside)
        return ones_R * (U - xp.concat(corrections, axis=1))


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


_BLOCKS_HELD = 16  # where a block's share of the derivatives is contracted


class BlockedHeldOutScore:
    """`HeldOutScore` in 1.64 n² numbers for five folds, about half of which are never written.

    One evaluation costs a Cholesky factorisation a fold, and O(n²(d_x + K)) for n rows and K
    folds. Parameters are those of `HeldOutScore`.
    """

    def __init__(self, X, Y, folds: Sequence[np.ndarray], base_std: float):
        xp, n = array_namespace(Y), Y.shape[0]
        share, block = 1.0 - min(map(len, folds)) / n, block_size(cached=True, like=Y)
        numbers = partial(_numbers, share=share, block=block)
        require_memory(Y, "tuning KCEF", n, numbers, remedy="set tuning_rows, or take more memory")
        order = np.concatenate([np.asarray(S) for S in folds])
        self.n, self.X, self.Y = n, take_rows(X, order), take_rows(Y, order)
        self.r = -self.Y[:, 0] / base_std**2
        stops = np.cumsum([len(S) for S in folds])
        self.folds = [slice(int(b) - len(S), int(b)) for S, b in zip(folds, stops, strict=True)]
        inside = np.zeros((n, len(folds)))
        for k, S in enumerate(self.folds):
            inside[S, k] = 1.0
        self.inside, self.others = xp.asarray(inside), xp.asarray(1.0 - np.eye(len(folds)))

    def __call__(self, bandwidth_x: np.ndarray, bandwidth_y: float, regularization: float):
        """Return the score and its gradient, as `HeldOutScore` does."""
        xp = array_namespace(self.Y)
        kernel = GaussianKernel(np.append(bandwidth_x, bandwidth_y))
        points = xp.concat([self.X, self.Y], axis=1)
        step = _Step(self, kernel(points, points), float(bandwidth_y))
        each = [step.fold(k, float(regularization)) for k in range(len(self.folds))]
        adjoint = Adjoint.stacked(each)
        in_y, in_x = step.contract(adjoint)
        value, in_lambda = adjoint.totals()
        gradient = [*to_numpy(in_x) / bandwidth_x**2, float(in_y), in_lambda]
        return value / self.n, np.array(gradient) / self.n


class _Step:
    """One evaluation: what follows from the kernel matrix."""

    def __init__(self, problem: BlockedHeldOutScore, kernel, bandwidth: float):
        xp = array_namespace(kernel)
        self._problem, self._kernel, self._bandwidth = problem, kernel, bandwidth
        blocks = (self._tables(rows) for rows in self._blocks())
        parts = [(t.M @ problem.inside, t.Q @ problem.inside) for t in blocks]
        # Row sums of M and Q over each fold, and over all others.
        self._M_S, Q_S = (xp.concat(sums) for sums in zip(*parts, strict=True))
        self._M_R, self._Q_R = self._M_S @ problem.others, Q_S @ problem.others

    def fold(self, k: int, regularization: float) -> Adjoint:
        """Return the terms of fold k at λ."""
        problem, S = self._problem, self._problem.folds[k]
        xp = array_namespace(self._kernel)
        kept = problem.n - (S.stop - S.start)
        mu = kept * regularization
        G = xp.zeros((kept, kept), dtype=self._kernel.dtype)
        refill = partial(self._write_system, S=S)
        refill(G)
        factor = factor_positive_definite(G, shift=mu, overwrite=True, refill=refill)
        right = self._M_R[:, k] - mu * problem.r
        e = _scatter(factor.solve(_outside(right, S)), S)
        p, q, pull = self._across(k, e, mu)
        right = (pull + self._M_S[:, k]) / mu
        w = _scatter(factor.solve(_outside(right, S)), S)
        ones_S, r_S = problem.inside[:, k], problem.r[S]
        ones_R, bar_p = 1.0 - ones_S, p + r_S
        value = xp.sum(0.5 * p * p + p * r_S + q)
        log_mu = -mu * xp.sum(w * (problem.r * ones_R + e)) - xp.sum(bar_p * p + q)
        sizes = S.start, problem.n - S.stop
        before, behind = (xp.zeros(size, dtype=p.dtype) for size in sizes)
        bar_p = xp.concat([before, bar_p, behind])
        return Adjoint(value, log_mu, ones_R, ones_S, e, bar_p, w, mu)

    def contract(self, adjoint: Adjoint):
        """Return the derivatives in log σ_y, and in log σ_x times σ_x², shape (d_x,)."""
        X, xp = self._problem.X, array_namespace(self._kernel)
        thin = list(adjoint.thin_products())
        in_y, cross, squares = 0.0, 0.0, X * X
        columns, total = 0.0, 0.0
        for rows in self._blocks():
            t = self._tables(rows)
            bar_G, bar_M, bar_Q = (left[rows, :] @ right for left, right in thin)
            in_y = in_y + xp.sum(bar_G * t.dG() + bar_M * t.dM() + bar_Q * t.dQ())
            W = bar_G * t.G + bar_M * t.M + bar_Q * t.Q
            total = total + xp.sum(W, axis=1) @ squares[rows, :]
            columns = columns + xp.sum(W, axis=0)
            cross = cross + xp.sum(X[rows, :] * (W @ X), axis=0)
        return in_y, total + columns @ squares - 2.0 * cross

    def _across(self, k: int, e, mu: float):
        """Return p and q, shape (|S|,), and G_:S (p + r_S), shape (n,), of fold k."""
        problem, parts, pull = self._problem, [], 0.0
        xp = array_namespace(e)
        for rows in self._blocks(problem.folds[k]):
            t = self._tables(rows)
            p = (t.G @ e - self._M_R[rows, k]) / mu
            parts.append((p, -(t.M @ e + self._Q_R[rows, k]) / mu))
            pull = pull + (p + problem.r[rows]) @ t.G
        p, q = (xp.concat(values) for values in zip(*parts, strict=True))
        return p, q, pull

    def _write_system(self, G, S: slice) -> None:
        """Write G_RR on and below its diagonal blocks, for the complement R of S."""
        for part in (slice(0, S.start), slice(S.stop, self._problem.n)):
            for rows in self._blocks(part):
                for columns in (slice(0, min(S.start, rows.stop)), slice(S.stop, rows.stop)):
                    if columns.start < columns.stop:
                        G[_moved(rows, S), _moved(columns, S)] = self._tables(rows, columns).G

    def _tables(self, rows: slice, columns: slice = slice(None)) -> Tables:
        Y = self._problem.Y[:, 0]
        difference = Y[rows, None] - Y[None, columns]
        return Tables(self._kernel[rows, columns], difference, self._bandwidth)

    def _blocks(self, part: slice | None = None) -> Iterator[slice]:
        start, stop = (0, self._problem.n) if part is None else (part.start, part.stop)
        for rows in row_blocks(stop - start, self._problem.n, cached=True, like=self._kernel):
            yield slice(start + rows.start, start + rows.stop)


def _numbers(n: int, share: float, block: int) -> int:
    """Return the size of the kernel matrix, the system of a share of the rows, and the blocks."""
    return int((1.0 + share**2) * n * n) + _BLOCKS_HELD * min(n * n, max(n, block))


def _outside(values, S: slice):
    """Return the values that are not in a slice."""
    return array_namespace(values).concat([values[: S.start], values[S.stop :]])


def _scatter(values, S: slice):
    """Return a vector that is zero in a slice, from its values elsewhere."""
    xp = array_namespace(values)
    nothing = xp.zeros(S.stop - S.start, dtype=values.dtype)
    return xp.concat([values[: S.start], nothing, values[S.start :]])


def _moved(part: slice, S: slice) -> slice:
    """Return where rows before or after a slice lie when it is left out."""
    before = S.stop - S.start if part.start >= S.stop else 0
    return slice(part.start - before, part.stop - before)
