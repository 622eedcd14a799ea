"""Intervals with a guaranteed share of new y, around any conditional density."""

import numpy as np
from sklearn.base import clone

from kcde.arrays import take_rows, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.distribution import check_probabilities, tails
from kcde.estimators._shared.rows import check_pairs, group_labels
from kcde.estimators.standardised import Wrapper
from kcde.seeding import rng_of

_ROUNDING = 1e-9  # of sums of weights


class Conformal(Wrapper):
    """Predict intervals that hold a new y with a given probability, around any density of one y.

    Fit a density to some rows, and calibrate its intervals on the others.

    Split distributional conformal prediction (Chernozhukov, Wüthrich and Zhu 2021, Distributional
    conformal prediction, algorithm 1): with scores |F(y|x) - 1/2| of m calibration rows and q their
    ⌈(m + 1) level⌉-th smallest, the interval runs from the quantile of 1/2 - q to that of 1/2 + q.
    If the rows are exchangeable, it holds a new y with a probability of at least `level`, whatever
    the density, over all x together. All other methods are those of the density, which saw the
    other rows.

    Rows of one group are alike. Those of K calibration groups have the weight 1/(K + 1) together,
    and q is the smallest score up to which the weights sum to `level`. So the interval holds a new
    y of a new group with that probability, if groups are exchangeable (Lee, Barber and Willett
    2023, Distribution-free inference with hierarchical data).

    Parameters
    ----------
    estimator
        An unfitted conditional density of one y.
    share
        Of the rows, which calibrate and are not fitted to.
    random_state
        Seeds the choice of rows.
    latest
        The last rows as given calibrate, not random ones: for rows in the order of time. The
        guarantee then asks that later rows be exchangeable with these.

    Attributes
    ----------
    estimator_
        The fitted clone.
    scores_
        Sorted scores of the calibration rows, shape (m,).
    levels_
        The level up to which each score bounds intervals, shape (m,).

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

    def __init__(self, estimator, share=0.25, random_state=0, latest=False):
        self.estimator = estimator
        self.share = share
        self.random_state = random_state
        self.latest = latest

    def fit(self, X, Y, groups=None) -> "Conformal":
        """Fit to X (n, d_x) or None, and Y (n,) or (n, 1).

        Of groups (n,), labels of rows, none is on both sides: the calibration rows are those of
        whole groups, as many as fill the share. Where the estimator chooses by folds, these keep
        the groups together as well.

        Raises
        ------
        ValueError
            If `share` leaves fewer than 2 rows for either part, or there are groups and `latest`;
            besides what the estimator refuses.
        """
        checks.positive("share", self.share)
        given, outputs, (X, Y) = X, Y, check_pairs(X, Y)
        n, rng = Y.shape[0], rng_of("conformal", self.random_state)
        held = round(float(check_probabilities("share", self.share)) * n)
        if self.latest:
            if groups is not None:
                raise ValueError("groups cannot be kept together where the latest rows calibrate")
            order = np.arange(n)[::-1]
        elif groups is None:
            order = rng.permutation(n)
        else:
            groups = group_labels(groups, n)
            # Rows by the places of their groups in a shuffle; the last group is taken whole.
            place = rng.permutation(groups.max() + 1)[groups]
            order = np.argsort(place, kind="stable")
            held = int(np.searchsorted(place[order], place[order][held - 1], side="right"))
        if min(held, n - held) < 2:
            raise ValueError(f"share = {self.share} leaves fewer than 2 rows on a side")
        calibration, fitted = np.sort(order[:held]), np.sort(order[held:])
        grouped = groups is not None and self.estimator.tags.grouped
        inside = {"groups": groups[fitted]} if grouped else {}
        self._reset()

        def features(rows):
            # A frame stays one, so that the density inside knows the names of its columns.
            return given.iloc[rows] if hasattr(given, "iloc") else take_rows(X, rows)

        model = clone(self.estimator)
        self.estimator_ = model.fit(features(fitted), take_rows(Y, fitted), **inside)
        pit = self.estimator_.cdf(features(calibration), take_rows(Y, calibration))
        scores = np.abs(to_numpy(pit) - 0.5)
        places = np.argsort(scores)
        of_one = calibration if groups is None else groups[calibration]
        _, number, sizes = np.unique(of_one, return_inverse=True, return_counts=True)
        self.scores_ = scores[places]
        self.levels_ = np.cumsum(1.0 / sizes[number][places]) / (len(sizes) + 1)
        self._record_input(given, X, Y)
        self._open(None, outputs)
        return self

    def interval(self, X, level: float):
        """Return the calibrated interval of each x, shape (n, 2), for X and level as of a density.

        Raises
        ------
        ValueError
            If there are too few calibration rows, or groups, for the level.
        """
        tails(level)
        rank = np.searchsorted(self.levels_, level - _ROUNDING)
        if rank == len(self.scores_):
            said = f"the calibration rows bound no level above {self.levels_[-1]:.3g}; got {level}"
            raise ValueError(f"{said}: fit with a larger share of them, or more rows or groups")
        half = min(self.scores_[rank], 0.5 * (1.0 - 1e-12))
        return self.estimator_.quantile(X, [0.5 - half, 0.5 + half])
