"""The Schur complement of a kernel matrix, known by its pivots and its diagonal."""

import numpy as np

from kcde.arrays import (
    array_namespace,
    as_floating,
    on_device,
    row_blocks,
    solve_triangular,
    take_columns,
    take_rows,
)
from kcde.memory import require_memory

# A diagonal entry of the Schur complement below this share of the largest of K is rounding.
_ROUNDING = 1e-14

# For so many columns, and at most so many numbers, a factor on the host has room from the start: to
# move it costs a pass.
_FIRST_COLUMNS, _FIRST_NUMBERS = 512, 2**28


class SchurComplement:
    """K - L Lᵀ after some pivots, with the factor L or, streamed, without it.

    Columns of L are added in blocks: one block reads the factor once, whatever its width, and each
    chunk of rows stays in a cache from the kernel's values to the new diagonal.

    Parameters
    ----------
    kernel
        Called as `kernel(A, B)` -> (len A, len B); has `diagonal(A)`.
    X
        Shape (n, d).
    most
        Maximum number of pivots.
    max_stored
        Maximum number of entries of L that are kept. If its n m entries exceed it, none is kept,
        and rows of L are computed from the m kernel values at the pivots when they are needed.

    Attributes
    ----------
    residual
        diag(K - L Lᵀ), shape (n,), not negative; 0 at the pivots.
    pivots
        Row numbers, in the order taken.
    B
        Shape (m, m), upper triangular: L = k(X, X_P) B.
    floor
        Threshold that `residual` must exceed at a pivot.
    """

    def __init__(self, kernel, X, *, most: int, max_stored: float):
        X = as_floating(X)
        self.kernel, self.X, self.most, self._max_stored = kernel, X, most, max_stored
        self.xp = xp = array_namespace(X)
        self.residual = xp.asarray(kernel.diagonal(X), copy=True)
        self.floor = _ROUNDING * float(xp.max(self.residual))
        self.pivots: list[int] = []
        self.points = X[:0, :]
        self._coefficients = xp.zeros((0, 0), dtype=X.dtype)
        self._factor = xp.zeros((0, X.shape[0]), dtype=X.dtype) if max_stored else None
        self._prepared = _prepared(kernel, X) if max_stored else None

    @property
    def rank(self) -> int:
        """m, the number of pivots."""
        return len(self.pivots)

    @property
    def B(self):
        """Coefficients on the pivot columns, shape (m, m)."""
        return self._coefficients[: self.rank, : self.rank]

    @property
    def L(self):
        """The factor, shape (n, m), or None where it is not stored."""
        return None if self._factor is None else self._factor[: self.rank, :].T

    @property
    def trace(self) -> float:
        """trace(K - L Lᵀ)."""
        return float(self.xp.sum(self.residual))

    def factor_rows(self, rows: np.ndarray):
        """Return rows of L, shape (len rows, m)."""
        if self._factor is not None:
            return take_columns(self._factor[: self.rank, :], rows).T
        points = take_rows(self.X, rows)
        if not self.rank:
            return self.xp.zeros((len(rows), 0), dtype=points.dtype)
        return self.kernel(points, self.points) @ self.B

    def kernel_rows(self, rows: np.ndarray):
        """Return a function from points (k, d) to their kernel values at some rows, (k, c)."""
        if self._prepared is not None:
            return self._prepared.take(rows)
        X = take_rows(self.X, rows)
        return lambda points: self.kernel(points, X)

    def extend(self, pivots: list[int], rows) -> np.ndarray:
        """Add pivots; n (d + m) s multiplications for s of them, streamed n (d + s) (m + s).

        Parameters
        ----------
        pivots
            Row numbers.
        rows
            Rows of L at the pivots with the new columns, shape (s, m + s).

        Returns
        -------
        numpy.ndarray
            Decrease of the trace due to each new column, shape (s,).
        """
        xp, m, s = self.xp, self.rank, len(pivots)
        # A pivot's row ends with its own column; what follows is rounding.
        left, corner = rows[:, :m], xp.tril(rows[:, m:])
        inverse = solve_triangular(corner, xp.eye(s, dtype=rows.dtype), transpose=True)
        new = xp.concat([-self.B @ (left.T @ inverse), inverse])
        points = take_rows(self.X, np.asarray(pivots))
        self.points = xp.concat([self.points, points])
        self._reserve(m + s)
        self._coefficients[: m + s, m : m + s] = new
        drops = xp.zeros(s, dtype=rows.dtype)
        width = 2 * s if self.L is not None else m + s
        for block in row_blocks(self.X.shape[0], width, cached=True, like=self.X):
            columns = self._columns(block, points, left, inverse, new)
            squares = columns * columns
            self.residual[block] = xp.maximum(self.residual[block] - xp.sum(squares, axis=0), 0.0)
            drops += xp.sum(squares, axis=1)
        self.pivots += pivots
        for pivot in pivots:
            self.residual[pivot] = 0.0
        return drops

    def truncate(self, rank: int) -> None:
        """Forget the pivots after the first `rank`; `residual` keeps their effect."""
        self.pivots = self.pivots[:rank]
        self.points = self.points[:rank, :]

    def _columns(self, block: slice, points, left, inverse, new):
        """Return the new columns of L at a block of rows, transposed: shape (s, len block)."""
        if self._factor is None:
            return new.T @ self._kernel_at(self.points, block)
        m, columns = left.shape[1], self._kernel_at(points, block)
        columns -= left @ self._factor[:m, block]
        columns = inverse.T @ columns
        self._factor[m : m + columns.shape[0], block] = columns
        return columns

    def _kernel_at(self, points, block: slice):
        if self._prepared is not None:
            return self._prepared(points, block)
        return self.kernel(points, self.X[block, :])

    def _reserve(self, rank: int):
        """Allocate space for `rank` columns, growing by a factor where it is full."""
        if rank * self.X.shape[0] > self._max_stored:
            self._factor = None
        held = self._coefficients.shape[0]
        if rank <= held:
            return
        # Memory that is not written to is never taken of the host, but of a device at once.
        growth = 2 if on_device(self.X) else 4
        first = min(_FIRST_COLUMNS, _FIRST_NUMBERS // self.X.shape[0])
        capacity = min(max(rank, growth * held, 0 if on_device(self.X) else first), self.most)
        if self._factor is not None:
            self._require(capacity if on_device(self.X) else rank)
        self._coefficients = _enlarged(self._coefficients, (capacity, capacity))
        if self._factor is not None:
            self._factor = _enlarged(self._factor, (capacity, self.X.shape[0]), self.rank)

    def _require(self, columns: int):
        require_memory(
            self.X,
            f"a pivoted Cholesky factor with {columns} columns",
            self.X.shape[0],
            lambda n: n * columns,
            remedy="let it be streamed (store=False), or allow fewer pivots",
        )


def _prepared(kernel, X):
    """Return the kernel's values at the rows of X, prepared; None where the kernel cannot."""
    return kernel.prepare(X) if hasattr(kernel, "prepare") and X.shape[1] else None


def _enlarged(array, shape: tuple[int, int], rows: int | None = None):
    """Return an array of the shape that begins with the first rows of `array`.

    Beyond them it is empty, so that memory not written to is never taken; without `rows`, zero.
    """
    xp = array_namespace(array)
    make = xp.zeros if rows is None else xp.empty
    larger = make(shape, dtype=array.dtype)
    kept = array.shape[0] if rows is None else rows
    larger[:kept, : array.shape[1]] = array[:kept, :]
    return larger
