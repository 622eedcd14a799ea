"""Kernel density estimation of y that ignores x: what every conditional density has to beat."""

from math import log
from typing import ClassVar

import numpy as np

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import GaussianMixture, log_volume
from kcde.estimators._shared.rows import column_std
from kcde.kernels import as_bandwidths
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of
from kcde.selection import best_index, log_grid, subsample

TUNING_ROWS = 1000


class MarginalKDE(GaussianMixture):
    """Predict the density of y regardless of x: a baseline that says what x is worth.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = p(y) = (1/n) Σ_i N(y; y_i, diag h²) (Silverman 1986, section 3.4.4).

    x may have any columns; they are not used. h has the largest leave-one-out likelihood of 33
    multiples of the standard deviation of y: O(33 n t d_y) time for t tuning rows.

    Parameters
    ----------
    bandwidth_y
        h, standard deviations in the units of y: a number, or one per dimension. None: the standard
        deviation of each column times one number, chosen from 33 log-spaced ones, 0.05 to 2.
    tuning_rows
        Maximum number of rows left out in turn, each from all others; None: 1000.
    random_state
        Seeds the choice of these rows.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_y_
        Value used, given or chosen, shape (d_y,).
    cv_results_
        Leave-one-out log likelihood, `score`, for each multiple of the standard deviation,
        `factor`.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import MarginalKDE
    >>> Y = np.random.default_rng(0).normal(size=200)
    >>> model = MarginalKDE().fit(None, Y)
    >>> model.cdf(None, np.array([0.0])).round(1)
    array([0.5])
    """

    selection_rule: ClassVar[str] = (
        "a Gaussian kernel density estimate of y without x; bandwidth 0.05…2 standard deviations "
        "in 33 steps, leave-one-out likelihood"
    )

    def __init__(
        self, bandwidth_y=None, *, tuning_rows=TUNING_ROWS, random_state=0, standardize=True
    ):
        self.bandwidth_y = bandwidth_y
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.standardize = standardize

    def _fit(self, X, Y):
        rows = TUNING_ROWS if self.tuning_rows is None else self.tuning_rows
        checks.whole("tuning_rows", rows)
        self.cv_results_ = {}
        if self.bandwidth_y is not None:
            self.bandwidth_y_ = as_bandwidths(self.bandwidth_y, Y.shape[1], "bandwidth_y")
        else:
            values, rng = to_numpy(Y), rng_of("selection", self.random_state)
            self.bandwidth_y_, score = leave_one_out(values, column_std(values), rows, rng)
            self.cv_results_ = {"factor": FACTORS, "score": score}
        self._centres, self._sigma = Y, self.bandwidth_y_

    def _log_weights(self, X):
        n = self._centres.shape[0]
        return array_namespace(X).full((X.shape[0], n), -log(n), dtype=X.dtype)


FACTORS = log_grid(0.05, 2.0, 33)
"""Candidates, in standard deviations."""


def leave_one_out(
    points: np.ndarray, scale: np.ndarray, most: int | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose h among `FACTORS` × scale by leave-one-out likelihood (Silverman 1986, section 3.4.4).

    Σ_i log 1/(n-1) Σ_{j≠i} N(y_i; y_j, diag h²), over all i or `most` random ones; j runs over all
    points. 33 t n exponentials for t of n points. Where every value is there twice the likelihood
    grows without a bound as h falls; the smallest candidate is then chosen.
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
