"""(L + c)⁻² for the Gram matrix L of the reference points, without forming it where it is large."""

import numpy as np

from kcde.arrays import array_namespace, row_blocks
from kcde.estimators._cdo.reference import Reference, density_matrix
from kcde.estimators._shared.mixture import log_volume
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite, pivoted_cholesky, symmetric_spectrum
from kcde.memory import require_memory

_DENSE, _WORTHWHILE = 512, 3
"""Largest size that always uses an eigendecomposition; a rank up to M over 3 is low."""

_MOST_DENSE = 3000
_FAR_BELOW = 1e-13


class Spectrum:
    """L = (⊗U) diag(⊗Λ) (⊗U)ᵀ from eigenbases of its factors (cdo, A.3.2).

    With regularisation the factors' inverses do not multiply; their eigenvectors do.

    Parameters
    ----------
    parts
        For each factor, eigenvalues (r_j,) and orthonormal eigenvectors (M_j, r_j), all or those
        beyond which the factor is numerically zero.
    """

    def __init__(self, parts):
        self.vectors = [vectors for _, vectors in parts]
        xp = array_namespace(self.vectors[0])
        self.values = parts[0][0]
        for values, _ in parts[1:]:
            self.values = xp.reshape(self.values[:, None] * values[None, :], (-1,))
        self.complete = all(U.shape[0] == U.shape[1] for U in self.vectors)

    def project(self, V):
        """Return V (⊗U), shape (n, r), for rows V (n, M); n M Σ r_j multiplications."""
        return self._rotate(V, self.vectors)

    def expand(self, T):
        """Return T (⊗U)ᵀ, shape (n, M), for rows T (n, r)."""
        return self._rotate(T, [U.T for U in self.vectors])

    def squared_inverse(self, V, c: float):
        """Return V (L + c)⁻², shape (n, M), for rows V (n, M)."""
        T = self.project(V)
        filtered = self.expand(T * (self.values + c) ** -2.0)
        if self.complete:
            return filtered
        return filtered + (V - self.expand(T)) * c**-2.0

    def asarray(self, values: np.ndarray):
        """Return host values as an array of the eigenvectors' namespace."""
        return array_namespace(self.vectors[0]).asarray(values)

    @staticmethod
    def _rotate(V, matrices):
        """Multiply each axis of rows shaped (n, M_1, …, M_d) by a matrix of its own."""
        xp = array_namespace(V)
        n = V.shape[0]
        for U in matrices:
            # The first axis goes to the end, multiplied: after d of them the order is as it was.
            rest = V.shape[1] // U.shape[0]
            split = xp.reshape(V, (n, U.shape[0], rest))
            V = xp.reshape(xp.matmul(xp.permute_dims(split, (0, 2, 1)), U), (n, rest * U.shape[1]))
        return V


class DenseFactor:
    """L + c by its Cholesky factor, where L is large and not of low rank."""

    def __init__(self, reference: Reference, sigma: np.ndarray, c: float):
        points = reference.points
        xp = array_namespace(points)
        require_memory(
            points, "CDO with scattered reference points", reference.size, lambda M: M * M
        )
        L = xp.empty((reference.size, reference.size), dtype=points.dtype)
        for rows in row_blocks(reference.size, reference.size, like=points):
            L[rows, :] = reference.rows(points[rows, :], sigma)
        self._factor = factor_positive_definite(L, shift=c, overwrite=True)

    def squared_inverse(self, V, c: float):
        """Return V (L + c)⁻², shape (n, M), for rows V (n, M) and the c of the factor."""
        return self._factor.solve(self._factor.solve(V.T)).T


def squared_inverse_of(reference: Reference, sigma: np.ndarray, c: float):
    """Return an object with `squared_inverse(V, c)` for the reference's Gram matrix.

    Grids: an eigendecomposition a dimension, Σ M_j³. One factor of more than 512 points: pivoted
    Cholesky to a trace error far below c and an eigenbasis of its span, M r²; where the rank r
    exceeds M/3 the matrix is dense, at 9M³ or, beyond 3000 points, M³/3 multiplications.
    """
    if len(reference.factors) == 1 and reference.size > _DENSE:
        part = _low_rank_part(reference.factors[0], sigma, _FAR_BELOW * c)
        if part is not None:
            return Spectrum([part])
        if reference.size > _MOST_DENSE:
            return DenseFactor(reference, sigma, c)
    return spectrum_of(reference, sigma)


def low_rank_spectrum(reference: Reference, sigma: np.ndarray) -> Spectrum:
    """Return the spectrum to a trace error of 1e-13 of the trace, at cost M r² if the rank is low.

    Parameters, cost and the limits on M are those of `squared_inverse_of`.
    """
    if len(reference.factors) == 1 and reference.size > _DENSE:
        trace = reference.size / float(np.exp(log_volume(sigma)))
        part = _low_rank_part(reference.factors[0], sigma, _FAR_BELOW * trace)
        if part is not None:
            return Spectrum([part])
    return spectrum_of(reference, sigma)


def spectrum_of(reference: Reference, sigma: np.ndarray) -> Spectrum:
    """Return the spectrum from a dense eigendecomposition of every factor."""
    parts = zip(reference.factors, reference.columns, strict=True)
    return Spectrum(
        [symmetric_spectrum(density_matrix(Z, Z, sigma[columns])) for Z, columns in parts]
    )


def _low_rank_part(points, sigma: np.ndarray, trace_error: float):
    """Return eigenvalues and eigenvectors of the numerical range, or None where it is large."""
    xp = array_namespace(points)
    volume = float(np.exp(log_volume(sigma)))
    n = points.shape[0]
    allowed = min(trace_error * volume, 1e-6 * n)
    most = n // _WORTHWHILE
    found = pivoted_cholesky(GaussianKernel(sigma), points, allowed, relative=False, max_rank=most)
    if len(found.pivots) == most and found.trace_error > allowed:
        return None
    Q, R = xp.linalg.qr(found.L)
    values, rotation = symmetric_spectrum((R @ R.T) / volume)
    return values, Q @ rotation
