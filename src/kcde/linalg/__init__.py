"""Dense linear algebra: positive-definite solves, spectra, pivoted Cholesky, γ ≥ 0."""

import logging
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, cholesky, inverse_of_factor, solve_triangular
from kcde.linalg.pivoted_cholesky import PivotedCholesky, pivoted_cholesky

__all__ = [
    "PivotedCholesky", "nonnegative_least_squares", "pivoted_cholesky", "solve_positive_definite",
]  # fmt: skip


log = logging.getLogger(__name__)

JITTERS = (1e-14, 1e-12, 1e-10, 1e-8)


class Solution(NamedTuple):
    """Result of `solve_positive_definite`."""

    x: object
    jitter: float


class Factor(NamedTuple):
    """Result of `factor_positive_definite`: L with L Lᵀ = A + (shift + jitter) I."""

    lower: object
    jitter: float

    def solve(self, b):
        """Solve L Lᵀ x = b for b of shape (n,) or (n, k); n² multiplications a column."""
        half = solve_triangular(self.lower, b)
        return solve_triangular(self.lower, half, transpose=True, overwrite_b=True)

    def inverse_root(self):
        """Return L⁻¹, shape (n, n), of a matrix that was not overwritten; n³/6 multiplications."""
        return inverse_of_factor(self.lower)


def factor_positive_definite(
    matrix,
    *,
    shift: float = 0.0,
    overwrite: bool = False,
    refill: Callable[[object], object] | None = None,
) -> Factor:
    """Return the Cholesky factor of A + shift I, with a reported jitter if it is needed.

    Where rounding makes the matrix numerically indefinite, growing multiples of its mean
    diagonal, `JITTERS`, are added until the factorisation succeeds. The amount is returned and
    logged as a warning. n³/3 operations, n² memory in addition to the matrix, none if overwritten.
    `overwrite`: a float64 matrix in C order is factorised in place; it must be fully symmetric, or
    `refill` write A into it again where a factorisation fails.
    """
    lower = cholesky(matrix, shift, overwrite=overwrite)
    return Factor(lower, 0.0) if lower is not None else _jittered(matrix, shift, overwrite, refill)


def _jittered(matrix, shift: float, overwrite: bool, refill) -> Factor:
    """Return the factor with the first jitter that leaves one, of a matrix that has none."""
    xp = array_namespace(matrix)
    n = matrix.shape[0]
    if refill is not None:
        refill(matrix)
    if not bool(xp.all(xp.isfinite(matrix))):
        raise np.linalg.LinAlgError(
            f"the {n} x {n} matrix to factorise has NaN or infinite entries"
        )
    scale = float(xp.mean(xp.linalg.diagonal(matrix))) + shift
    for jitter in (relative * scale for relative in JITTERS):
        lower = cholesky(matrix, shift + jitter, overwrite=overwrite)
        if lower is not None:
            log.warning("added %.3g to the diagonal of a %d x %d matrix", jitter, n, n)
            return Factor(lower, jitter)
        if refill is not None:
            refill(matrix)
    raise np.linalg.LinAlgError(
        f"the {n} x {n} matrix is not positive definite, even with {JITTERS[-1]:g} of its mean "
        "diagonal added; raise the regularization or the bandwidth, and bring the data to one scale"
    )


def solve_positive_definite(
    matrix, b, *, shift: float = 0.0, overwrite: bool = False, refill=None
) -> Solution:
    """Solve (A + shift I) x = b by Cholesky factorisation.

    Parameters, errors and cost are those of `factor_positive_definite`; `b` has shape (n,) or
    (n, k).

    Returns
    -------
    Solution
        `x` of the shape of b, and `jitter`, the absolute amount added beyond `shift` (0.0 as
        a rule).

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.linalg import solve_positive_definite
    >>> solution = solve_positive_definite(np.diag([2.0, 4.0]), np.array([2.0, 2.0]))
    >>> solution.x, solution.jitter
    (array([1. , 0.5]), 0.0)
    """
    factor = factor_positive_definite(matrix, shift=shift, overwrite=overwrite, refill=refill)
    return Solution(factor.solve(b), factor.jitter)


def symmetric_spectrum(matrix):
    """Return eigenvalues, ascending, and eigenvectors of a positive semi-definite matrix.

    Eigenvalues that rounding made negative are set to zero. About 9n³ multiplications.
    """
    xp = array_namespace(matrix)
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


_ROUNDING = 1e-16
_ROWS_A_STEP = 250
"""A step reads the matrix once, which takes as long as some hundredth of its factorisation."""


def few_steps(matrix, shift: float) -> int | None:
    """Return how many steps solve (A + shift I) x = b to rounding, None where they are no gain.

    The largest row sum bounds the eigenvalues from above, the shift from below; with condition
    number κ the error falls by (√κ - 1)/(√κ + 1) a step, twice that at the start (Golub and Van
    Loan 2013, section 11.3). O(n²) time.
    """
    xp, n = array_namespace(matrix), matrix.shape[0]
    if not shift > 0.0:
        return None
    largest = float(xp.max(matrix @ xp.ones(n, dtype=matrix.dtype)))
    # Otherwise more than n steps, or NaN; and the reduction could round to 1, whose logarithm is 0.
    if not largest < n * n * shift:
        return None
    root = math.sqrt((largest + shift) / shift)
    reduction = (root - 1.0) / (root + 1.0)
    steps = (
        1 + math.ceil(math.log(2.0 / _ROUNDING) / -math.log(reduction)) if reduction > 0.0 else 1
    )
    return steps if _ROWS_A_STEP * steps <= n else None


def conjugate_gradients(matrix, b, shift: float, steps: int):
    """Solve (A + shift I) x = b, shape (n, k), in some steps of n² k multiplications.

    By Hestenes and Stiefel (1952), each column of b on its own.
    """
    xp = array_namespace(matrix)
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
    xp = array_namespace(a)
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
    >>> from kcde.linalg import nonnegative_least_squares
    >>> nonnegative_least_squares(np.eye(2), np.array([[1.0, -1.0]]))
    array([[1., 0.]])
    """
    if A.shape[1] <= _SMALL:
        return np.reshape([_solve(A, b) for b in B], (len(B), A.shape[1]))
    return _by_working_sets(A, B)


def _by_working_sets(A, B) -> np.ndarray:
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
            steepest = _largest_per_segment(gradient, starts)
            steepest = steepest[gradient[steepest] > allowed[i]]
            sets[i] = np.union1d(np.flatnonzero(solution[i]), steepest)
        rows = rows[moving]
        if not len(rows):
            return solution
    raise FloatingPointError(_UNFINISHED)


def _largest_per_segment(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the position of the largest value of each segment; `starts` are the segment starts."""
    parts = zip(starts, np.split(values, starts[1:]), strict=True)
    return np.array([start + np.argmax(part) for start, part in parts])


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
