"""The bandwidth of a Gaussian kernel density estimate by leave-one-out likelihood."""

import numpy as np

from kcde.arrays import row_blocks
from kcde.estimators._shared.mixture import log_volume
from kcde.kernels import as_bandwidths
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.normalisers import logsumexp
from kcde.selection import best_index, log_grid, subsample

FACTORS = log_grid(0.05, 2.0, 33)
"""Candidates, in standard deviations."""


def leave_one_out(
    points: np.ndarray, scale: np.ndarray, most: int | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose h among `FACTORS` × scale by leave-one-out likelihood (Silverman 1986, section 3.4.4).

    Σ_i log 1/(n-1) Σ_{j≠i} N(y_i; y_j, diag h²), over all i or `most` random ones; j runs over all
    points. 33 t n exponentials for t of n points. Where every value is there twice the likelihood
    grows without a bound as h falls; the smallest candidate is then chosen.

    Parameters
    ----------
    points
        y, shape (n, d), at least 2 rows.
    scale
        Standard deviation of each column, shape (d,).
    most
        Largest number of terms of the sum; None: all.
    rng
        Source of the choice of these.

    Returns
    -------
    bandwidth : shape (d,)
    scores : the sums, shape (33,)

    Raises
    ------
    ValueError
        If a bandwidth cannot be computed with (`kcde.kernels.as_bandwidths`).
    """
    n, left_out = len(points), subsample(len(points), most, rng)
    candidates = [as_bandwidths(factor * scale, len(scale), "bandwidth_y") for factor in FACTORS]
    unit = points / scale
    scores = np.zeros(len(FACTORS))
    for block in row_blocks(len(left_out), n):
        rows = left_out[block]
        exponent = log_gaussian_kernel(unit[rows], unit, np.ones(len(scale)))
        exponent[np.arange(len(rows)), rows] = -np.inf
        for k, factor in enumerate(FACTORS):
            scores[k] += np.sum(logsumexp(exponent / factor**2, axis=1))
    constants = [log_volume(h) + np.log(n - 1) for h in candidates]
    scores -= len(left_out) * np.array(constants)
    return candidates[best_index(scores)[0]], scores
