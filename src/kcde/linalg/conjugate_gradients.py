"""Positive-definite solves by conjugate gradients, where a handful of steps reaches rounding."""

from math import ceil, log, sqrt

from kcde.arrays import array_namespace

_ROUNDING = 1e-16
_ROWS_A_STEP = 250
"""A step reads the matrix once, which takes as long as some hundredth of its factorisation."""


def few_steps(matrix, shift: float) -> int | None:
    """Return how many steps solve (A + shift I) x = b to rounding, None where they are no gain.

    The largest row sum bounds the eigenvalues from above, the shift from below; with condition
    number κ the error falls by (√κ - 1)/(√κ + 1) a step, twice that at the start (Golub and Van
    Loan 2013, section 11.3). O(n²) time.

    Parameters
    ----------
    matrix
        A, shape (n, n), symmetric positive semi-definite, without negative entries.
    shift
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.linalg import few_steps
    >>> few_steps(np.eye(1500), 1e4), few_steps(np.eye(1500), 0.001)
    (5, None)
    """
    xp, n = array_namespace(matrix), matrix.shape[0]
    if not shift > 0.0:
        return None
    largest = float(xp.max(matrix @ xp.ones(n, dtype=matrix.dtype)))
    # Otherwise more than n steps, or NaN; and the reduction could round to 1, whose logarithm is 0.
    if not largest < n * n * shift:
        return None
    root = sqrt((largest + shift) / shift)
    reduction = (root - 1.0) / (root + 1.0)
    steps = 1 + ceil(log(2.0 / _ROUNDING) / -log(reduction)) if reduction > 0.0 else 1
    return steps if _ROWS_A_STEP * steps <= n else None


def conjugate_gradients(matrix, b, shift: float, steps: int):
    """Solve (A + shift I) x = b, shape (n, k), in some steps of n² k multiplications.

    By Hestenes and Stiefel (1952), each column of b on its own.

    Parameters
    ----------
    matrix
        A, shape (n, n), symmetric positive semi-definite.
    b
        Shape (n, k).
    shift
        Positive.
    steps
        As `few_steps` returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.linalg import conjugate_gradients
    >>> matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> conjugate_gradients(matrix, np.array([[4.0], [5.0]]), 1.0, steps=2).round(12)
    array([[0.875],
           [1.375]])
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
