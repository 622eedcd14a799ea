"""Kernel density estimation of y that ignores x: what every conditional density has to beat."""

from math import log
from numbers import Integral
from typing import ClassVar

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._shared.leave_one_out import FACTORS, leave_one_out
from kcde.estimators._shared.mixture import GaussianMixture
from kcde.estimators._shared.spread import column_std
from kcde.estimators.base import Tags
from kcde.kernels import as_bandwidths
from kcde.seeding import rng_of

TUNING_ROWS = 1000


class MarginalKDE(GaussianMixture):
    """p(y|x) = p(y) = (1/n) Σ_i N(y; y_i, diag h²) (Silverman 1986, section 3.4.4).

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

    tags: ClassVar[Tags] = Tags()

    def __init__(self, bandwidth_y=None, *, tuning_rows=TUNING_ROWS, random_state=0):
        self.bandwidth_y = bandwidth_y
        self.tuning_rows = tuning_rows
        self.random_state = random_state

    def _fit(self, X, Y):
        rows = TUNING_ROWS if self.tuning_rows is None else self.tuning_rows
        if not (isinstance(rows, Integral) and rows >= 1):
            raise ValueError(f"tuning_rows must be a positive whole number; got {rows!r}")
        self.cv_results_ = {}
        if self.bandwidth_y is not None:
            self.bandwidth_y_ = as_bandwidths(self.bandwidth_y, Y.shape[1], "bandwidth_y")
        else:
            values, rng = to_numpy(Y), rng_of("selection", self.random_state)
            found = leave_one_out(values, column_std(values), rows, rng)
            self.bandwidth_y_, score = found
            self.cv_results_ = {"factor": FACTORS, "score": score}
        self._centres, self._sigma = Y, self.bandwidth_y_

    def _log_weights(self, X):
        n = self._centres.shape[0]
        return array_namespace(X).full((X.shape[0], n), -log(n), dtype=X.dtype)
