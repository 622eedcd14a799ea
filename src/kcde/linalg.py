"""Dense linear algebra: positive-definite solves, spectra, pivoted Cholesky, γ ≥ 0."""

import logging
import math
from typing import NamedTuple

import numpy as np
from array_api_compat import is_numpy_array

from kcde import arrays
from kcde.memory import require_memory

log = logging.getLogger(__name__)

JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


class Factor(NamedTuple):
    """Result of `factor_positive_definite`: L with L Lᵀ = A + (shift + jitter) I."""

    lower: object
    jitter: float

    def solve(self, b):
        """Solve L Lᵀ x = b for b of shape (n,) or (n, k); n² multiplications a column."""
        half = arrays.solve_triangular(self.lower, b)
        return arrays.solve_triangular(self.lower, half, transpose=True, overwrite_b=True)

    def inverse_root(self):
        """Return L⁻¹, (n, n), where A was not overwritten; L may be lost. n³/6 multiplications."""
        return arrays.inverse_of_factor(self.lower)


def factor_positive_definite(
    matrix, *, shift: float = 0.0, overwrite: bool = False, refill=None
) -> Factor:
    """Return the Cholesky factor of A + shift I, with a reported jitter if it is needed.

    Where rounding makes the matrix numerically indefinite, growing multiples of its mean
    diagonal, `JITTERS`, are added until the factorisation succeeds. The amount is returned and
    logged as a warning. n³/3 operations, n² memory in addition to the matrix, none if overwritten.
    `overwrite`: a float64 matrix in C order is factorised in place; it must be fully symmetric, or
    `refill` write A into it again where a factorisation fails.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.numerics import factor_positive_definite
    >>> factor = factor_positive_definite(np.diag([2.0, 4.0]))
    >>> factor.solve(np.array([2.0, 2.0])), factor.jitter
    (array([1. , 0.5]), 0.0)
    """
    xp, n, scale = arrays.array_namespace(matrix), matrix.shape[0], 0.0
    for relative in JITTERS:
        jitter = relative * scale
        lower = arrays.cholesky(matrix, shift + jitter, overwrite=overwrite)
        if lower is not None:
            if jitter:
                log.warning("added %.3g to the diagonal of a %d x %d matrix", jitter, n, n)
            return Factor(lower, jitter)
        if refill is not None:
            refill(matrix)
        if not bool(xp.all(xp.isfinite(matrix))):
            raise np.linalg.LinAlgError(f"the {n} x {n} matrix has NaN or infinite entries")
        scale = float(xp.mean(xp.linalg.diagonal(matrix))) + shift
    raise np.linalg.LinAlgError(
        f"the {n} x {n} matrix is not positive definite, even with {JITTERS[-1]:g} of its mean "
        "diagonal added; raise the regularization or the bandwidth, and bring the data to one scale"
    )


def symmetric_spectrum(matrix):
    """Return eigenvalues, ascending, and eigenvectors of a positive semi-definite matrix.

    Eigenvalues that rounding made negative are set to zero. About 9n³ multiplications.
    """
    xp = arrays.array_namespace(matrix)
    n = matrix.shape[0]
    if not bool(xp.all(xp.isfinite(matrix))):
        raise np.linalg.LinAlgError(f"the {n} x {n} matrix has NaN or infinite entries")
    eigenvalues, eigenvectors = xp.linalg.eigh(matrix)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if smallest < -1e-10 * n * max(largest, 0.0):
        raise np.linalg.LinAlgError(
            f"the {n} x {n} matrix is not positive semi-definite: its smallest eigenvalue is "
            f"{smallest:.3g}, its largest {largest:.3g}"
        )
    return xp.clip(eigenvalues, min=0.0), eigenvectors


_CONVERGED = 1e-16
_ROWS_A_STEP = 250
"""A step reads the matrix once, which takes as long as some hundredth of its factorisation."""


def few_steps(matrix, shift: float) -> int | None:
    """Return how many steps solve (A + shift I) x = b to rounding, None where they are no gain.

    The largest row sum bounds the eigenvalues from above, the shift from below; with condition
    number κ the error falls by (√κ - 1)/(√κ + 1) a step, twice that at the start (Golub and Van
    Loan 2013, section 11.3). O(n²) time.
    """
    xp, n = arrays.array_namespace(matrix), matrix.shape[0]
    largest = float(xp.max(matrix @ xp.ones(n, dtype=matrix.dtype)))
    # Otherwise there is no shift, it takes more than n steps, or is NaN; and the reduction could
    # round to 1, whose logarithm is 0.
    if not largest < n * n * shift:
        return None
    root = math.sqrt((largest + shift) / shift)
    reduction = (root - 1.0) / (root + 1.0)
    more = math.log(2.0 / _CONVERGED) / -math.log(reduction) if reduction > 0.0 else 0.0
    steps = 1 + math.ceil(more)
    return steps if _ROWS_A_STEP * steps <= n else None


def conjugate_gradients(matrix, b, shift: float, steps: int):
    """Solve (A + shift I) x = b, shape (n, k), in some steps of n² k multiplications.

    By Hestenes and Stiefel (1952), each column of b on its own.
    """
    xp = arrays.array_namespace(matrix)
    x, residual = xp.zeros_like(b), b
    direction, square = residual, xp.sum(b * b, axis=0)
    for _ in range(steps):
        image = matrix @ direction + shift * direction
        length = _ratio(square, xp.sum(direction * image, axis=0))
        x = x + length * direction
        residual = residual - length * image
        before, square = square, xp.sum(residual * residual, axis=0)
        direction = residual + _ratio(square, before) * direction
    return x


def _ratio(a, b):
    """Return a/b, and 0 where b is 0: a column that is solved."""
    xp = arrays.array_namespace(a)
    return xp.where(b > 0.0, a / xp.where(b > 0.0, b, xp.ones_like(b)), xp.zeros_like(a))


_SMALL, _SEGMENTS, _MOST_ROUNDS = 600, 100, 200
_TOLERANCE = 1e-9


def nonnegative_least_squares(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return argmin |A γ - b| over γ ≥ 0 for every row b of B.

    Lawson and Hanson's active-set method of scipy. Beyond 600 unknowns it runs on working sets of
    columns, for all rows of B at once: the columns in use and, from each of a hundred segments, the
    one with the largest gradient, until no gradient is positive beyond rounding. A round costs
    n r M multiplications in one product, and n small problems. Host arrays.

    Parameters
    ----------
    A
        Shape (r, M).
    B
        Shape (n, r).

    Returns
    -------
    numpy.ndarray
        Shape (n, M).

    Raises
    ------
    FloatingPointError
        If it does not converge.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.numerics import nonnegative_least_squares
    >>> nonnegative_least_squares(np.eye(2), np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """
    if A.shape[1] <= _SMALL:
        return np.reshape([_solve(A, b) for b in B], (len(B), A.shape[1]))
    solution = np.zeros((len(B), A.shape[1]))
    starts = np.linspace(0, A.shape[1], _SEGMENTS + 1).astype(np.intp)[:-1]
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0.0] = 1.0
    allowed = _TOLERANCE * np.linalg.norm(B, axis=1)
    residual, rows = B.copy(), np.arange(len(B))
    sets = [starts] * len(B)
    for _ in range(_MOST_ROUNDS):
        for i in rows:
            solution[i] = 0.0
            solution[i, sets[i]] = weights = _solve(A[:, sets[i]], B[i])
            residual[i] = B[i] - A[:, sets[i]] @ weights
        gradients = residual[rows] @ A / norms
        moving = np.max(gradients, axis=1, initial=0.0) > allowed[rows]
        for i, gradient in zip(rows[moving], gradients[moving], strict=True):
            parts = zip(starts, np.split(gradient, starts[1:]), strict=True)
            steepest = np.array([start + np.argmax(part) for start, part in parts])
            steepest = steepest[gradient[steepest] > allowed[i]]
            sets[i] = np.union1d(np.flatnonzero(solution[i]), steepest)
        rows = rows[moving]
        if not len(rows):
            return solution
    raise FloatingPointError(_UNFINISHED)


def _solve(A, b) -> np.ndarray:
    from scipy.optimize import nnls

    try:
        return nnls(A, b, maxiter=100 * A.shape[1])[0]
    except RuntimeError:
        raise FloatingPointError(_UNFINISHED) from None


_UNFINISHED = (
    "non-negative least squares did not end, because the weights cancel each other; raise the "
    "regularization"
)


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
        X = arrays.as_floating(X)
        self.kernel, self.X, self.most, self._max_stored = kernel, X, most, max_stored
        self.xp = xp = arrays.array_namespace(X)
        self.residual = xp.asarray(kernel.diagonal(X), copy=True)
        self.floor = _ROUNDING * float(xp.max(self.residual))
        self.pivots: list[int] = []
        self.points = X[:0, :]
        self.B = xp.zeros((0, 0), dtype=X.dtype)
        self._factor = xp.zeros((0, X.shape[0]), dtype=X.dtype) if max_stored else None
        prepares = max_stored and hasattr(kernel, "prepare") and X.shape[1]
        self.prepared = kernel.prepare(X) if prepares else None

    @property
    def rank(self) -> int:
        """m, the number of pivots."""
        return len(self.pivots)

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
            return arrays.take_columns(self._factor[: self.rank, :], rows).T
        points = arrays.take_rows(self.X, rows)
        if not self.rank:
            return self.xp.zeros((len(rows), 0), dtype=points.dtype)
        return self.kernel(points, self.points) @ self.B

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
        inverse = arrays.solve_triangular(corner, xp.eye(s, dtype=rows.dtype), transpose=True)
        new = xp.concat([-self.B @ (left.T @ inverse), inverse])
        points = arrays.take_rows(self.X, np.asarray(pivots))
        self.points = xp.concat([self.points, points])
        self._reserve(m + s)
        self.B = xp.concat([xp.concat([self.B, xp.zeros((s, m), dtype=rows.dtype)]), new], axis=1)
        drops = xp.zeros(s, dtype=rows.dtype)
        width = 2 * s if self.L is not None else m + s
        for block in arrays.row_blocks(self.X.shape[0], width, cached=True, like=self.X):
            if self._factor is None:
                columns = new.T @ self._kernel_at(self.points, block)
            else:
                columns = self._kernel_at(points, block)
                columns -= left @ self._factor[:m, block]
                columns = inverse.T @ columns
                self._factor[m : m + s, block] = columns
            squares = columns * columns
            self.residual[block] = xp.maximum(self.residual[block] - xp.sum(squares, axis=0), 0.0)
            drops += xp.sum(squares, axis=1)
        self.pivots += pivots
        for pivot in pivots:
            self.residual[pivot] = 0.0
        return drops

    def _kernel_at(self, points, block: slice):
        if self.prepared is not None:
            return self.prepared(points, block)
        return self.kernel(points, self.X[block, :])

    def _reserve(self, rank: int):
        """Allocate space for `rank` columns, growing by a factor where it is full."""
        n, factor, device = self.X.shape[0], self._factor, arrays.is_cupy_array(self.X)
        if factor is None or rank * n > self._max_stored:
            self._factor = None
        elif rank > factor.shape[0]:
            # Memory that is not written to is never taken of the host, but of a device at once.
            first = 0 if device else min(_FIRST_COLUMNS, _FIRST_NUMBERS // n)
            capacity = min(max(rank, (2 if device else 4) * factor.shape[0], first), self.most)
            columns = capacity if device else rank
            what = f"a pivoted Cholesky factor with {columns} columns"
            remedy = "let it be streamed (store=False), or allow fewer pivots"
            require_memory(self.X, what, n, lambda n: n * columns, remedy=remedy)
            self._factor = self.xp.empty((capacity, n), dtype=factor.dtype)
            self._factor[: self.rank, :] = factor[: self.rank, :]


class Candidates:
    """Rows of L at the candidates for a block of pivots, on the host.

    Kernel values of a candidate are computed once it is a pivot. On a device instead, the Schur
    complement of all of them is copied to the host in one piece: a pivot then costs no transfer and
    no wait, where a column of its own would cost both.
    """

    def __init__(self, schur: SchurComplement, rows: np.ndarray, most: int):
        kernel, left = schur.kernel, schur.factor_rows(rows)
        points = arrays.take_rows(schur.X, rows)
        self._xp = schur.xp
        if is_numpy_array(points):
            prepared, held, self._left = schur.prepared, left.T, left[:, :0]
            at_rows = prepared.take(rows) if prepared else lambda row: kernel(row, points)
            self._values = lambda i: at_rows(points[i : i + 1, :])[0, :]
        else:
            block, self._left = arrays.to_numpy(kernel(points, points) - left @ left.T), left
            held, self._values = np.zeros((0, len(rows))), block.__getitem__
        self._held, self._L = len(held), np.zeros((most + len(held), len(rows)))
        self._L[: self._held, :] = held

    def eliminate(self, i: int, step: int, entry: float) -> np.ndarray:
        """Return the new column of L at the candidates, shape (c,).

        Candidate i becomes the next pivot, after `step` of this block; `entry` is its diagonal
        entry of the Schur complement.
        """
        m, L = self._held + step, self._L
        L[m, :] = (self._values(i) - L[:m, i] @ L[:m, :]) / float(np.sqrt(entry))
        return L[m, :]

    def rows(self, chosen):
        """Return the rows of L at the chosen candidates, shape (s, m + s)."""
        chosen = np.asarray(chosen, dtype=np.intp)
        right = self._xp.asarray(self._L[: self._held + len(chosen), chosen].T)
        return self._xp.concat([arrays.take_rows(self._left, chosen), right], axis=1)


BLOCK = 32

# One in 32 rows as a candidate costs as large a share of a pass for each pivot, and lets two pivots
# (in one dimension) to twenty (in three) share a pass. Twice as many save a fifth of the passes and
# take longer where there are hundreds of pivots.
_SHARE = 32

# The Schur complement among the candidates of a device comes to the host, c² numbers. With 512 of
# 30000 rows as candidates a pass has two thirds of the pivots that it has with a sixteenth of them.
_MOST_ON_DEVICE = 512


# A rule's `propose(schur, rng)` returns candidate rows; `rng` is the source of the random one.
# `choose(diagonal, floor, step)` returns the position of the next pivot among the candidates, or
# None, from their current diagonal entries (the threshold is `floor`) and the number of pivots of
# this block.


class Greedy:
    """The largest diagonal entry (Harbrecht, Peters and Schneider 2012); the first among equals.

    Diagonal entries only fall. A candidate that is still above what every other row had before
    the block is therefore the largest of all.
    """

    def propose(self, schur, rng):
        """Return the rows with the largest diagonal entries."""
        count = max(schur.X.shape[0] // _SHARE, 256)
        if not is_numpy_array(schur.residual):
            count = min(count, _MOST_ON_DEVICE)
        rows, self._bound = arrays.about_largest_rows(schur.residual, count)
        return rows

    def choose(self, diagonal, floor, step):
        """Return the largest candidate if no row outside the candidates can exceed it."""
        best = int(np.argmax(diagonal))
        enough = diagonal[best] > floor and (step == 0 or diagonal[best] > self._bound)
        return best if enough else None


class RandomlyPivoted:
    """A row drawn in proportion to its diagonal entry (Chen, Epperly, Tropp and Webber 2025).

    Rows are drawn by the diagonal before the block and accepted with the probability that theirs
    has kept (Epperly, Tropp and Webber 2024), which gives the law of one draw a column.
    """

    def propose(self, schur, rng):
        """Return rows drawn by the diagonal; the same one may come twice."""
        xp = schur.xp
        cumulative = xp.cumulative_sum(schur.residual)
        levels = xp.asarray(rng.random(BLOCK)) * cumulative[-1]
        drawn = arrays.to_numpy(xp.searchsorted(cumulative, levels, side="right"))
        rows = np.minimum(drawn, schur.X.shape[0] - 1)
        before = arrays.to_numpy(arrays.take_rows(schur.residual, rows))
        self._thresholds = rng.random(BLOCK) * before
        self._waiting = iter(range(BLOCK))
        return rows

    def choose(self, diagonal, floor, step):
        """Return the next candidate that is accepted."""
        limits = np.maximum(self._thresholds, floor)
        return next((i for i in self._waiting if diagonal[i] > limits[i]), None)


RULES = {"greedy": Greedy, "rpcholesky": RandomlyPivoted}

_MAX_STORED = {True: np.inf, False: 0, "auto": 3 * 2**26}
"""Maximum number of entries of the factor that are kept, by `store`."""

_AGREEMENT = 0.5
"""Share of a diagonal entry by which another computation of it may differ, if it is no rounding."""


class PivotedCholesky(NamedTuple):
    """Result of `pivoted_cholesky`: K ≈ L Lᵀ.

    Attributes
    ----------
    L
        Shape (n, m), or None where it was not stored.
    pivots
        Numpy integers, shape (m,), in the order taken.
    B
        Shape (m, m), upper triangular: the rows at the pivots of the paper's (n, m) matrix, whose
        other rows are zero. K[:, pivots] B = L and Bᵀ L[pivots] = I, its (17) and (18).
    trace_errors
        trace(K - L Lᵀ) after each pivot, shape (m,), absolute, not negative.
    target
        The trace error that was allowed, absolute.
    trace
        trace K.
    points
        X at the pivots, shape (m, d).
    kernel
        The kernel given.
    """

    L: object
    pivots: np.ndarray
    B: object
    trace_errors: np.ndarray
    target: float
    trace: float
    points: object
    kernel: object

    def factor_rows(self, X):
        """Return k(X, X_P) B, shape (len X, m): rows of L at any points; n m (d + m) time."""
        return self.kernel(X, self.points) @ self.B

    @property
    def trace_error(self) -> float:
        """trace(K - L Lᵀ)."""
        return float(self.trace_errors[-1])

    def truncate(self, tolerance: float, relative: bool = True) -> "PivotedCholesky":
        """Return the factorisation for a looser tolerance, whose pivots are the first of these.

        No rule looks at the tolerance, so that this is what `pivoted_cholesky` would return with
        the same other arguments and the same state of `rng`, except that a factor that was not kept
        stays None. Views, no copies.

        Parameters
        ----------
        tolerance, relative
            As for `pivoted_cholesky`.

        Raises
        ------
        ValueError
            If the tolerance is out of its range or tighter than that of this factorisation.
        """
        target = _absolute(tolerance, relative, self.trace)
        if target < self.target:
            raise ValueError(
                f"the factor was made for a trace error of {self.target:.6g} and has no pivots for "
                f"{target:.6g}: factorise again with the smaller tolerance, then truncate"
            )
        enough = np.flatnonzero(self.trace_errors <= target)
        m = int(enough[0]) + 1 if len(enough) else len(self.pivots)
        return self._replace(
            L=None if self.L is None else self.L[:, :m],
            pivots=self.pivots[:m],
            B=self.B[:m, :m],
            trace_errors=self.trace_errors[:m],
            target=target,
            points=self.points[:m, :],
        )


def pivoted_cholesky(
    kernel,
    X,
    tolerance: float,
    relative: bool = True,
    max_rank: int | None = None,
    store: bool | str = True,
    pivots: str = "greedy",
    rng: np.random.Generator | None = None,
) -> PivotedCholesky:
    """Approximate a kernel matrix by L Lᵀ of low rank, from its diagonal and m of its columns.

    jdl, Algorithm 1 and Theorem 4.1. It stops at the first rank whose trace error is at most the
    tolerance, at `max_rank`, or where the matrix is numerically exhausted; `trace_error` says how
    far it came. n m (d + m) multiplications and n (m + d) numbers stored; streamed (`store=False`)
    n + m² numbers, and m kernel values a row for every pass over the rows. A pass adds a block of
    columns: all that are sure to be what one pass a column would have added. K is never formed.

    Parameters
    ----------
    kernel
        Called as `kernel(A, B)` -> (len A, len B); has `diagonal(A)`.
    X
        Shape (n, d).
    tolerance
        ε of trace(K - L Lᵀ) ≤ ε trace K, in (0, 1); without `relative`, of ≤ ε.
    relative
        Whether the tolerance is a share of trace K.
    max_rank
        Maximum number of columns; None: n.
    store
        Whether to keep L; "auto": up to 1.5 GiB, beyond which it goes on streamed.
    pivots
        "greedy", the largest entry of the diagonal, or "rpcholesky", randomly pivoted.
    rng
        Source of the draws of "rpcholesky".

    Returns
    -------
    PivotedCholesky

    Raises
    ------
    ValueError
        If the tolerance is out of its range, `max_rank` exceeds n, the rule is unknown or lacks
        what it needs, or the diagonal of K is not finite or is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import GaussianKernel
    >>> from kcde.numerics import pivoted_cholesky
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> kernel = GaussianKernel(1.0)
    >>> factor = pivoted_cholesky(kernel, X, tolerance=1e-3)
    >>> factor.L.shape[1] < 10
    True
    >>> bool(np.abs(kernel(X, X) - factor.L @ factor.L.T).max() < 1e-3 * len(X))
    True
    """
    _check_arguments(X, max_rank, store, pivots, rng)
    limit = X.shape[0] if max_rank is None else max_rank
    schur = SchurComplement(kernel, X, most=limit, max_stored=_MAX_STORED[store])
    trace = schur.trace
    target = _absolute(tolerance, relative, trace)
    errors = _factorise(schur, RULES[pivots](), rng, target)
    if errors[-1] > target:
        log.debug("pivoted Cholesky stopped at rank %d: trace error %.3g", schur.rank, errors[-1])
    chosen = np.asarray(schur.pivots, dtype=np.intp)
    return PivotedCholesky(schur.L, chosen, schur.B, errors, target, trace, schur.points, kernel)


def _absolute(tolerance: float, relative: bool, trace: float) -> float:
    """Return the trace error allowed."""
    highest = 1.0 if relative else np.inf
    if not 0.0 < tolerance < highest:
        raise ValueError(
            f"tolerance must be above 0 and below {highest:g}; got {tolerance!r}"
            + (", a share of the trace; say relative=False for an absolute one" * relative)
        )
    target = tolerance * trace if relative else tolerance
    if not 0.0 < target < trace < np.inf:
        raise ValueError(
            f"the trace of the kernel matrix is {trace:.6g} and the trace error allowed is "
            f"{target:.6g}: the first must be finite and exceed the second; check X and the kernel"
            + ("" if relative else ", or lower the tolerance")
        )
    return target


def _factorise(schur, rule, rng, target: float) -> np.ndarray:
    """Add pivots until the trace error is at most the target; return the error after each."""
    errors = np.empty(0)
    trace = schur.trace
    while trace > target and schur.rank < schur.most:
        most = min(BLOCK, schur.most - schur.rank)
        pivots, rows = _choose_block(schur, rule, rule.propose(schur, rng), most)
        if not pivots:
            if float(schur.xp.max(schur.residual)) <= schur.floor:
                break
            continue
        more = trace - np.cumsum(arrays.to_numpy(schur.extend(pivots, rows)))
        # Subtracting loses digits as the error falls; the diagonal keeps them.
        trace = more[-1] = schur.trace
        errors = np.concatenate([errors, np.maximum(more, 0.0)])
    rank = int(np.argmax(errors <= target)) + 1 if trace <= target else len(errors)
    # The residual keeps the effect of the pivots after these.
    schur.pivots, schur.points = schur.pivots[:rank], schur.points[:rank, :]
    schur.B = schur.B[:rank, :rank]
    return errors[:rank]


def _choose_block(schur, rule, candidates: np.ndarray, most: int):
    """Return up to `most` pivots among the candidates and their rows of L, shape (s, m + s)."""
    held, positions = Candidates(schur, candidates, most), []
    diagonal = np.array(arrays.to_numpy(arrays.take_rows(schur.residual, candidates)))
    while len(positions) < most:
        i = rule.choose(diagonal, schur.floor, len(positions))
        if i is None:
            break
        entry = diagonal[i]
        column = held.eliminate(i, len(positions), entry)
        # Points far from 0 have kernel values with more rounding than the floor allows for.
        if abs(column[i] * np.sqrt(entry) - entry) > _AGREEMENT * entry:
            schur.floor = float(entry)
            continue
        diagonal = np.maximum(diagonal - column**2, 0.0)
        diagonal[candidates == candidates[i]] = 0.0
        positions.append(i)
    return [int(candidates[i]) for i in positions], held.rows(positions)


def _check_arguments(X, max_rank, store, pivots, rng):
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"X must have shape (n, d) with n at least 1; got {tuple(X.shape)}")
    if max_rank is not None and not 1 <= max_rank <= X.shape[0]:
        raise ValueError(f"max_rank must be from 1 to the {X.shape[0]} rows of X; got {max_rank}")
    if pivots not in RULES:
        raise ValueError(f"pivots must be one of {', '.join(RULES)}; got {pivots!r}")
    if pivots == "rpcholesky" and rng is None:
        raise ValueError(f"pivots={pivots!r} draws rows: give rng, a numpy random generator")
    if store not in _MAX_STORED:
        raise ValueError(f"store must be True, False or 'auto'; got {store!r}")
