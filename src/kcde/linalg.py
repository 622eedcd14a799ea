"""Positive-definite solves with a reported jitter, and symmetric spectra."""

import logging
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, solve_triangular, to_numpy

log = logging.getLogger(__name__)

JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


class Solution(NamedTuple):
    """What `solve_positive_definite` returns."""

    x: object
    jitter: float


def solve_positive_definite(matrix, b, *, shift: float = 0.0) -> Solution:
    """Solve (A + shift I) x = b by Cholesky factorisation, with a reported jitter if need be.

    Where rounding makes the matrix numerically indefinite, growing multiples of its mean
    diagonal, `JITTERS`, are added until the factorisation succeeds. The amount is returned and
    logged as a warning. n³/3 multiplications, n² memory.

    Parameters
    ----------
    matrix
        A, shape (n, n), symmetric positive semi-definite.
    b
        Shape (n,) or (n, k).
    shift
        Added to the diagonal; not negative.

    Returns
    -------
    Solution
        `x` of the shape of b, and `jitter`, the absolute amount added beyond `shift` (0.0 as
        a rule).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not finite, or not positive definite with the largest jitter.
    """
    xp = array_namespace(matrix, b)
    n = matrix.shape[0]
    if not bool(xp.all(xp.isfinite(matrix))):
        raise np.linalg.LinAlgError(
            f"the {n} x {n} matrix to factorise has NaN or infinite entries"
        )
    scale = float(xp.mean(xp.linalg.diagonal(matrix))) + shift
    eye = xp.eye(n, dtype=matrix.dtype)
    for relative in JITTERS:
        lower = _cholesky(matrix + (shift + relative * scale) * eye, xp)
        if lower is not None:
            break
    else:
        raise np.linalg.LinAlgError(
            f"the {n} x {n} matrix is not positive definite, even with {JITTERS[-1]:g} of its mean "
            "diagonal added; raise the regularization or the bandwidth"
        )
    jitter = relative * scale
    if jitter:
        log.warning("added %.3g to the diagonal of a %d x %d matrix", jitter, n, n)
    x = solve_triangular(lower, solve_triangular(lower, b), transpose=True)
    return Solution(x, jitter)


def symmetric_spectrum(matrix):
    """Return eigenvalues, ascending, and eigenvectors of a positive semi-definite matrix.

    Eigenvalues that rounding made negative are set to zero. About 9n³ multiplications.

    Parameters
    ----------
    matrix
        Shape (n, n), symmetric positive semi-definite.

    Returns
    -------
    eigenvalues : shape (n,), not negative
    eigenvectors : shape (n, n), in columns

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not finite, or has an eigenvalue so negative that it cannot be rounding.
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


def _cholesky(matrix, xp):
    """Return the lower factor, or None where the matrix is not numerically positive definite."""
    try:
        lower = xp.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    # cupy reports failure by NaN instead of an exception.
    return lower if np.isfinite(to_numpy(xp.sum(lower))) else None
