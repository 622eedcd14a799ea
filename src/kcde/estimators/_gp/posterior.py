"""The exact posterior of a Gaussian process, on the distinct inputs alone."""

from typing import NamedTuple

import numpy as np

from kcde.arrays import add_to_diagonal, array_namespace, solve_triangular, to_numpy
from kcde.kernels import GaussianKernel, MaternKernel
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory

KERNELS = {"gaussian": GaussianKernel, "matern": MaternKernel}
"""By the names of `GaussianProcess`."""

_ROWS = 256
"""Points predicted at once: enough for a triangular solve to be limited by arithmetic."""


class GroupedRows(NamedTuple):
    """Rows grouped by equal x.

    Attributes
    ----------
    inputs
        The distinct x, shape (m, d_x).
    counts
        Number of rows of each, shape (m,).
    means
        Mean y of each, shape (m, d_y).
    """

    inputs: object
    counts: object
    means: object


def group(X, Y) -> GroupedRows:
    """Group rows by equal x; O(n log n), on the host.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y).
    """
    xp = array_namespace(Y)
    points, values = to_numpy(X), to_numpy(Y)
    if points.shape[1]:
        inputs, member = np.unique(points, axis=0, return_inverse=True)
    else:
        inputs, member = points[:1], np.zeros(len(points), dtype=int)
    counts = np.bincount(member).astype(np.float64)
    sums = np.stack([np.bincount(member, weights=column) for column in values.T], axis=1)
    return GroupedRows(*(xp.asarray(part) for part in (inputs, counts, sums / counts[:, None])))


class Posterior:
    """Posterior of functions with one prior s² k and noise τ², given group means.

    A mean of n_i rows at one x has noise τ²/n_i and contains all information of the rows on the
    function, so that m distinct inputs cost m³/3 however many rows there are. One m x m matrix is
    formed, and factorised where it stands.

    Parameters
    ----------
    grouped
        Training rows.
    targets
        Group means without the offset, shape (m, c) for c functions.
    bandwidth
        σ, shape (d_x,).
    signal_std, noise_std
        s, τ.
    kernel
        The name of k, a key of `KERNELS`.

    Attributes
    ----------
    jitter
        Added to the prior variance for the factorisation, in the units of y².
    """

    def __init__(
        self,
        grouped: GroupedRows,
        targets,
        bandwidth,
        signal_std: float,
        noise_std: float,
        kernel: str = "gaussian",
    ):
        self._kernel, self._inputs = KERNELS[kernel](bandwidth), grouped.inputs
        self._signal, self._noise = signal_std**2, noise_std**2
        size = self._inputs.shape[0]
        require_memory(self._inputs, "a Gaussian process with distinct x", size, lambda m: m * m)
        matrix = self._kernel(self._inputs, self._inputs)
        matrix = add_to_diagonal(matrix, (self._noise / self._signal) / grouped.counts)
        factor = factor_positive_definite(matrix, overwrite=True)
        self._lower, self._coef = factor.lower, factor.solve(targets)
        self.jitter = self._signal * factor.jitter

    def mean(self, X):
        """Return E[f(x)], shape (n, c), for X (n, d_x); O(n m (d_x + c)) time."""
        return self._over_blocks(X, lambda cross: cross.T @ self._coef)

    def variance(self, X):
        """Return Var[y|x] with the noise, shape (n,), for X (n, d_x); O(n m²) time."""
        return self._over_blocks(X, self._variance)

    def _variance(self, cross):
        xp = array_namespace(cross)
        half = solve_triangular(self._lower, cross)
        # Rounding must not make the variance smaller than the noise.
        left = xp.maximum(1.0 - xp.sum(half * half, axis=0), 0.0)
        return self._signal * left + self._noise

    def _over_blocks(self, X, function):
        xp = array_namespace(X)
        n = X.shape[0]
        blocks = [slice(at, min(at + _ROWS, n)) for at in range(0, max(1, n), _ROWS)]
        return xp.concat([function(self._kernel(self._inputs, X[rows, :])) for rows in blocks])
