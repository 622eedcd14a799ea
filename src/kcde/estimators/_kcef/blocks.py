"""The K-fold score of `score.py` for many rows: one kernel matrix and one fold's system.

With the rows sorted by folds, a fold is a slice and its complement two. All that is linear in G, M
and Q is done by row blocks, in which they are computed from the kernel where they are needed.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from kcde.arrays import array_namespace, block_size, row_blocks, take_rows, to_numpy
from kcde.estimators._kcef.score import Adjoint, Tables
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory

_BLOCKS_HELD = 16  # where a block's share of the derivatives is contracted


class BlockedHeldOutScore:
    """`HeldOutScore` in 1.64 n² numbers for five folds, about half of which are never written.

    One evaluation costs a Cholesky factorisation a fold, and O(n²(d_x + K)) for n rows and K
    folds. Parameters are those of `HeldOutScore`.

    Raises
    ------
    InsufficientMemory
        If the matrices do not fit.
    """

    def __init__(self, X, Y, folds: Sequence[np.ndarray], base_std: float):
        xp, n = array_namespace(Y), Y.shape[0]
        numbers = partial(
            _numbers,
            share=1.0 - min(map(len, folds)) / n,
            block=block_size(cached=True, like=Y),
        )
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
    """One evaluation: what follows from the kernel matrix.

    Parameters
    ----------
    problem
        Points and folds.
    kernel
        K g, shape (n, n).
    bandwidth
        s.
    """

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
        r_S = problem.r[S]
        right = (pull + self._M_S[:, k]) / mu
        w = _scatter(factor.solve(_outside(right, S)), S)
        ones_S, bar_p = problem.inside[:, k], p + r_S
        ones_R = 1.0 - ones_S
        value = xp.sum(0.5 * p * p + p * r_S + q)
        log_mu = -mu * xp.sum(w * (problem.r * ones_R + e)) - xp.sum(bar_p * p + q)
        around = (xp.zeros(S.start, dtype=p.dtype), xp.zeros(problem.n - S.stop, dtype=p.dtype))
        bar_p = xp.concat([around[0], bar_p, around[1]])
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
