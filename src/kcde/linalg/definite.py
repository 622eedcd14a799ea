"""Positive-definite solves with a reported jitter, and symmetric spectra."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, cholesky, inverse_of_factor, solve_triangular

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

    def inverse(self):
        """Return (A + (shift + jitter) I)⁻¹, shape (n, n); 2n³/3 multiplications on numpy."""
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

    Parameters
    ----------
    matrix
        A, shape (n, n), symmetric positive semi-definite; only its lower triangle counts.
    shift
        Added to the diagonal; not negative.
    overwrite
        Whether the matrix may be overwritten: a float64 matrix of numpy or cupy in C order is
        factorised in place. It must then be fully symmetric, or `refill` must be given.
    refill
        Called with the matrix if a factorisation fails, to write A into it again; this is cheaper
        than keeping a second triangle for that case.

    Returns
    -------
    Factor

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not finite, or not positive definite with the largest jitter.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.linalg import factor_positive_definite
    >>> factor = factor_positive_definite(np.diag([4.0, 9.0]))
    >>> factor.solve(np.array([4.0, 18.0]))
    array([1., 2.])
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

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.linalg import symmetric_spectrum
    >>> values, vectors = symmetric_spectrum(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(6)
    array([1., 3.])
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
