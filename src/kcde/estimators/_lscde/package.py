"""What the Python package `cde` computes in place of Sugiyama's LSCDE.

Its H is not ∫ (1/n) Σ_i φ(x_i, y) φ(x_i, y)ᵀ dy. With a_l = (1/n) Σ_i |x_i - u_l|, distances that
are not squared, it is

    H_kl = (√π σ)^{d_y} exp(-(2 a_k + 2 a_l + |v_k - v_l|) / 5σ²),

and its centres are those of k-means on the pairs, beside the innermost and the outermost pair.
"""

import warnings
from math import pi, sqrt

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kcde.arrays import array_namespace, take_rows
from kcde.kernels.gaussian import log_gaussian_kernel

FEWEST_CENTRES = 3
"""The two pairs, and a cluster."""


class PackageGram:
    """H of the package at training rows.

    Parameters
    ----------
    X
        Shape (n, d_x).
    U, V
        Centres, shapes (b, d_x), (b, d_y).
    sigma
        The one bandwidth.
    """

    def __init__(self, X, U, V, sigma: float):
        self._to_centres, self._between = _distances(X, U), _distances(V, V)
        self._sigma, self._volume = sigma, (sqrt(pi) * sigma) ** V.shape[1]

    def __call__(self, rows):
        """Return H, shape (b, b), over some of the rows; it is positive semi-definite."""
        xp = array_namespace(self._between)
        mean = xp.mean(take_rows(self._to_centres, rows), axis=0)
        exponent = 2.0 * (mean[:, None] + mean[None, :]) + self._between
        return self._volume * xp.exp(-exponent / (5.0 * self._sigma**2))


def centres(X: np.ndarray, Y: np.ndarray, count: int, rng: np.random.Generator) -> tuple:
    """Return the package's centres, one start of k-means++ where it has ten.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y), on the host.
    count
        Number of centres, at most n are returned.
    rng
        Source of the start.

    Returns
    -------
    U, V
        Shapes (b, d_x), (b, d_y).
    """
    from sklearn.cluster import KMeans

    pairs = np.hstack([X, Y])
    order = np.argsort(np.linalg.norm(pairs - pairs.mean(axis=0), axis=1), kind="stable")
    ends, rest = pairs[order[[0, -1]]], pairs[order[1:-1]]
    clusters = min(count, len(pairs)) - len(ends)
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        # Rows that repeat may leave fewer distinct pairs than clusters: some centres then coincide.
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = KMeans(clusters, n_init=1, random_state=seed).fit(rest).cluster_centers_
    both = np.vstack([ends, found])
    return both[:, : X.shape[1]], both[:, X.shape[1] :]


def _distances(A, B):
    """Return |a - b|, shape (a, b)."""
    xp = array_namespace(A)
    return xp.sqrt(-2.0 * log_gaussian_kernel(A, B, np.ones(A.shape[1])))
