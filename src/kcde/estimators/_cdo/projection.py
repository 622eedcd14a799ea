"""The non-negative mixture nearest in L2 to a signed one (cdo, supplement B)."""

import numpy as np

from kcde.arrays import to_numpy
from kcde.estimators._cdo.reference import Reference
from kcde.estimators._cdo.spectrum import low_rank_spectrum
from kcde.linalg import nonnegative_least_squares

_NEGLIGIBLE = 1e-14


class NearestMixture:
    """argmin over γ ≥ 0 of (γ - β)ᵀ G (γ - β), G_ij = ∫ l(z_i, y) l(z_j, y) dy.

    G_ij = N(z_i - z_j; 0, 2σ²), so that it is the Gram matrix of the reference at √2 σ; its square
    root of low rank makes the problem least squares.

    Parameters
    ----------
    reference
        With M points.
    sigma
        σ, shape (d_y,).
    """

    def __init__(self, reference: Reference, sigma: np.ndarray):
        self._spectrum = low_rank_spectrum(reference, np.sqrt(2.0) * sigma)
        values = to_numpy(self._spectrum.values)
        self._kept = np.flatnonzero(values > _NEGLIGIBLE * values.max())
        self._root_values = np.sqrt(values[self._kept])
        rows = np.zeros((len(self._kept), len(values)))
        rows[np.arange(len(self._kept)), self._kept] = self._root_values
        self._root = self._host(self._spectrum.expand, rows)

    def __call__(self, beta: np.ndarray) -> np.ndarray:
        """Return γ, shape (n, M), for rows β (n, M), not normalised."""
        gamma = np.array(beta)
        bad = np.any(beta < 0.0, axis=1)
        # Ratios alone matter, and of one size no tolerance is too large.
        scaled = beta[bad] / np.max(np.abs(beta[bad]), axis=1, keepdims=True, initial=0.0)
        target = self._host(self._spectrum.project, scaled)[:, self._kept] * self._root_values
        gamma[bad] = nonnegative_least_squares(self._root, target)
        return gamma

    def _host(self, function, rows: np.ndarray) -> np.ndarray:
        return to_numpy(function(self._spectrum.asarray(rows)))
