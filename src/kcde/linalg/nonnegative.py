"""Least squares under γ ≥ 0 for many right-hand sides."""

import numpy as np

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
    ends = np.append(starts[1:], len(values))
    return np.array([a + np.argmax(values[a:b]) for a, b in zip(starts, ends, strict=True)])


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
