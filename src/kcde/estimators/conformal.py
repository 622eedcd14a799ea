"""Intervals with a guaranteed share of new y, around any conditional density."""

from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, clone

from kcde.arrays import take_rows, to_numpy
from kcde.estimators._shared import shape
from kcde.estimators._shared.distribution import tails
from kcde.estimators._shared.rows import RowChecks, check_pairs, group_labels, grouping
from kcde.seeding import rng_of

_ROUNDING = 1e-9  # of numbers that are whole but for the last bits


class Conformal(RowChecks, BaseEstimator):
    """Fit a density to some rows, and calibrate its intervals on the others.

    Split distributional conformal prediction (Chernozhukov, Wüthrich and Zhu 2021, Distributional
    conformal prediction, algorithm 1): with scores |F(y|x) - 1/2| of m calibration rows and q their
    ⌈(m + 1) level⌉-th smallest, the interval runs from the quantile of 1/2 - q to that of 1/2 + q.
    If the rows are exchangeable, it holds a new y with a probability of at least `level`, whatever
    the density, over all x together. All other methods are those of the density, which saw the
    other rows.

    Parameters
    ----------
    estimator
        An unfitted conditional density of one y.
    share
        Of the rows, which calibrate and are not fitted to.
    random_state
        Seeds the choice of rows.

    Attributes
    ----------
    estimator_
        The fitted clone.
    scores_
        Sorted scores of the calibration rows, shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LSCDE, Conformal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> model = Conformal(LSCDE(0.5, 0.3, 0.1)).fit(X, X + 0.3 * rng.normal(size=(100, 1)))
    >>> model.interval(X[:2], 0.9).shape
    (2, 2)
    """

    def __init__(self, estimator, share=0.25, random_state=0):
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    @property
    def tags(self):
        """The tags of the estimator inside."""
        return self.estimator.tags

    def fit(self, X, Y, groups=None) -> "Conformal":
        """Fit to X (n, d_x) or None, and Y (n,) or (n, 1).

        Of groups (n,), labels of rows, none is on both sides: the calibration rows are those of
        whole groups, as many as fill the share. Where the estimator chooses by folds, these keep
        the groups together as well.

        Raises
        ------
        ValueError
            If `share` leaves fewer than 2 rows for either part; besides what the estimator refuses.
        """
        given, (X, Y) = X, check_pairs(X, Y)
        if not 0.0 < self.share < 1.0:
            raise ValueError(f"share must be between 0 and 1, the ends left out; got {self.share}")
        n = Y.shape[0]
        held = round(self.share * n)
        if min(held, n - held) < 2:
            raise ValueError(
                f"share = {self.share} of {n} rows leaves fewer than 2 to fit or to calibrate"
            )
        rng = rng_of("conformal", self.random_state)
        if groups is None:
            order = rng.permutation(n)
        else:
            groups = group_labels(groups, n)
            # Rows by the places of their groups in a shuffle; the last group is taken whole.
            place = rng.permutation(groups.max() + 1)[groups]
            order = np.argsort(place, kind="stable")
            held = int(np.searchsorted(place[order], place[order][held - 1], side="right"))
            if n - held < 2:
                raise ValueError(
                    f"share = {self.share} of the groups leaves fewer than 2 rows to fit: more "
                    "groups are needed"
                )
        calibration, fitted = np.sort(order[:held]), np.sort(order[held:])
        inside = {}
        if groups is not None and self.estimator.tags.grouped:
            inside = grouping(self.estimator, groups[fitted])
        self._reset()

        def features(rows):
            # A frame stays one, so that the density inside knows the names of its columns.
            return given.iloc[rows] if hasattr(given, "iloc") else take_rows(X, rows)

        self.estimator_ = clone(self.estimator).fit(
            features(fitted), take_rows(Y, fitted), **inside
        )
        pit = self.estimator_.cdf(features(calibration), take_rows(Y, calibration))
        self.scores_ = np.sort(np.abs(to_numpy(pit) - 0.5))
        self._record_input(given, X, Y)
        return self

    def interval(self, X, level: float):
        """Return the calibrated interval of each x, shape (n, 2), for X and level as of a density.

        Raises
        ------
        ValueError
            If there are too few calibration rows for the level.
        """
        tails(level)
        m = len(self._check_fitted().scores_)
        rank = int(np.ceil((m + 1) * level - _ROUNDING))
        if rank > m:
            raise ValueError(
                f"{m} calibration rows bound no interval of probability {level}: at least "
                f"{int(np.ceil(level / (1.0 - level) - _ROUNDING))} are needed, or a level up to "
                f"{m / (m + 1):.3g}"
            )
        half = min(self.scores_[rank - 1], 0.5 * (1.0 - 1e-12))
        return self.estimator_.quantile(X, [0.5 - half, 0.5 + half])

    def log_density(self, X, Y):
        """Return log p(y|x) of the density, nats, shape (n,)."""
        return self._check_fitted().estimator_.log_density(X, Y)

    def log_density_at(self, Y):
        """Return a function X -> log p(Y|X) of the density, shape (n, q)."""
        return self._check_fitted().estimator_.log_density_at(Y)

    def density_at(self, Y):
        """Return a function X -> p(Y|X) of the density, shape (n, q)."""
        return self._check_fitted().estimator_.density_at(Y)

    def score(self, X, Y) -> float:
        """Return the mean log density, nats."""
        return self._check_fitted().estimator_.score(X, Y)

    def mean(self, X):
        """Return E[Y|x] of the density, shape (n, 1)."""
        return self._check_fitted().estimator_.mean(X)

    def variance(self, X):
        """Return the variance of y given x, shape (n, 1), where the density has it."""
        return self._check_fitted().estimator_.variance(X)

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x] of the density, shape (n, q)."""
        return self._check_fitted().estimator_.conditional_expectation(f, X)

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) of the density, shape (n,)."""
        return self._check_fitted().estimator_.cdf(X, Y)

    def crps(self, X, Y):
        """Return the CRPS of the density, shape (n,)."""
        return self._check_fitted().estimator_.crps(X, Y)

    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps` of the density, for about the cost of one."""
        return self._check_fitted().estimator_.cdf_and_crps(X, Y)

    def quantile(self, X, p):
        """Return quantiles of the density: (n,), or (n, k) for k of them."""
        return self._check_fitted().estimator_.quantile(X, p)

    def mode(self, X):
        """Return the y of the highest density of each x, shape (n,)."""
        return self._check_fitted().estimator_.mode(X)

    def plot(self, X, axes=None, labels=None):
        """Draw p(y|x) of at most 20 x; see `ConditionalDensity.plot`."""
        return shape.plot(self, X, axes, labels)

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from the density, shape (n, n_samples, 1)."""
        return self._check_fitted().estimator_.sample(X, n_samples, rng)
