"""Mean and quantiles of one y by an estimator of conditional expectations."""

from collections.abc import Iterable
from copy import copy

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.estimators._likelihood.objective import ArrayRows, scales
from kcde.estimators._low_rank.base import LowRankConditional
from kcde.estimators._low_rank.basis import Projection
from kcde.estimators._shared import checks
from kcde.estimators._shared.distribution import Distribution, check_probabilities
from kcde.estimators._shared.marginal_likelihood import relevant_lengths
from kcde.estimators._shared.rows import RowChecks, check_not_constant, check_pairs, group_labels
from kcde.estimators._shared.threads import thread_limit
from kcde.estimators._shared.units import Units, without_standardising
from kcde.estimators.base import Tags
from kcde.estimators.jdl import CLIPPED, JointDistribution
from kcde.kernels import median_trick
from kcde.seeding import rng_of
from kcde.selection import candidates, complement, grouped_kfold, kfold, subsample

FACTORS = (0.5, 1.0, 2.0)
"""Candidates of the bandwidths, times the median distance between rows over √2."""

REGULARIZATIONS = 10.0 ** -np.arange(1.0, 9.0)

_THRESHOLDS, _JUDGED = 256, 19
_RANK = 300
_TUNING_ROWS, _MEDIAN_ROWS = 20_000, 1000


class Quantiles(RowChecks, RegressorMixin, BaseEstimator):
    """Predict mean, quantiles and probabilities of one y given x, from up to millions of rows.

    By an estimator of conditional expectations, `JDL`, `JPDL` or `CME`, which has no density:
    F(t|x) = E[1{Y ≤ t}|x] (jdl, equations 5 and 51) at 256 quantiles t of the training y, or at all
    values where there are fewer. It is clipped to [0, 1] and made monotone; between the quantiles
    it is linear. The mean is as estimated. What is kept does not grow with the number of rows.

    A random fifth of at most 20,000 rows chooses what the estimator leaves None: bandwidths ½, 1
    and 2 times the median distance over √2, those of x alike or in the ratios of a Gaussian
    process, and λ from 0.1 to 1e-8, by the mean Brier score of 19 of the thresholds.

    Parameters
    ----------
    estimator
        An unfitted `JDL`, `JPDL` or `CME`; bandwidths and λ that are None are chosen. Where
        `max_rank` is None it is 300.
    choose
        Whether to choose; False: the estimator as it is, with its own rule for bandwidths.
    random_state
        Seeds the rows that choose.

    Attributes
    ----------
    estimator_
        The estimator with the hyper-parameters used, unfitted, for standardised columns.
    thresholds_
        t in standard deviations of y from its mean, shape (k,).
    brier_score_
        Of what was chosen; None where nothing was.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import JDL, Quantiles
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> model = Quantiles(JDL(regularization=None)).fit(X, X[:, 0] + 0.3 * rng.normal(size=300))
    >>> model.quantile(X[:2], [0.1, 0.5, 0.9]).shape
    (2, 3)
    """

    standardize = True
    tags = Tags(density=False, grouped=True, several_y=False)

    def __init__(self, estimator, choose=True, random_state=0):
        self.estimator = estimator
        self.choose = choose
        self.random_state = random_state

    def fit(self, X, Y, groups=None) -> "Quantiles":
        """Fit to X (n, d_x) and Y (n,) or (n, 1).

        Of groups (n,), labels of rows, none is on both sides of the choice.

        Raises
        ------
        ValueError
            If the estimator is no such one, or clips, for which all rows would have to be kept;
            besides what it refuses.
        FloatingPointError
            If the solver of a constrained problem stops early.
        """
        self._require_usable()
        given, outputs, (X, Y) = X, Y, check_pairs(X, Y)
        check_not_constant(Y)
        checks.one_y(self, Y)
        labels = None if groups is None else group_labels(groups, Y.shape[0])
        units = Units(X, Y)
        self._reset()
        with thread_limit(Y.shape[0]):
            self._choose(ArrayRows(X, Y), units, labels)
            X, Y = units.x(X), units.y(Y)
            self.thresholds_ = _thresholds(Y, _THRESHOLDS)
            self._steps = len(np.unique(to_numpy(Y))) <= _THRESHOLDS
            fitted = clone(self.estimator_).fit(X, Y)
            self._keep(fitted, fitted.project(self._functions))
        self._record_input(given, X, Y)
        self._open(units, outputs)
        return self

    def fit_rows(self, rows: ArrayRows, groups=None) -> "Quantiles":
        """Fit to pairs that are read in blocks, as `kcde.streaming` has them.

        All are read three times at most. At most 20,000, those that choose, are held: pivots,
        thresholds between the smallest and the largest y, the pairs at which a constrained fit is
        nonnegative, and bandwidths by the estimator's own rule are by these alone. Up to 20,000
        rows the fit is that of `fit` but for rounding. With 100,000 made-up rows of unit scale
        means of `JDL` differ by 0.001 and quantiles by 0.02, less than either is off (root mean
        squares); those of `CME`, steps at its pivots of y, by 0.002 and 0.13.

        Parameters
        ----------
        rows
            `kcde.streaming.ArrayRows` or `ParquetRows`, or anything with their methods.
        groups
            As of `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, FloatingPointError
            As `fit`, while the rows are read.
        """
        self._require_usable()
        first = check_pairs(*rows.take(np.arange(min(2, len(rows)))))
        checks.one_y(self, first[1])
        labels = None if groups is None else group_labels(groups, len(rows))
        found = scales(rows)
        units = Units.of(found.mean_x, found.x, np.array([found.mean]), np.array([found.std]))
        self._reset()
        with thread_limit(len(rows)):
            few = self._choose(rows, units, labels)
            values = _few_values(units.y(Y) for _, Y in rows.blocks())
            self._steps, self.thresholds_ = values is not None, values
            if values is None:
                ends = units.y(found.span[:, None])
                self.thresholds_ = np.union1d(_thresholds(few[1], _THRESHOLDS), ends)
            fitted = clone(self.estimator_)
            blocks = ((units.x(X), units.y(Y)) for X, Y in rows.blocks())
            self._keep(fitted, fitted._fit_blocks(few, blocks, self._functions))
        self._open_rows(rows, units)
        return self

    def _require_usable(self) -> None:
        if not isinstance(self.estimator, LowRankConditional):
            raise ValueError(f"estimator must be JDL, JPDL or CME; got {self.estimator!r}")
        if getattr(self.estimator, "constrained", None) == CLIPPED:
            raise ValueError("a clipped JDL needs all training rows: take constrained=True")

    def _choose(self, rows: ArrayRows, units: Units, labels: np.ndarray | None) -> tuple:
        """Set the estimator with its hyper-parameters; return the rows that chose, standardised."""
        rng = rng_of("quantiles", self.random_state)
        some = subsample(len(rows), _TUNING_ROWS, rng)
        X, Y = rows.take(some)
        X, Y = units.x(X), units.y(Y)
        model, self.brier_score_ = without_standardising(clone(self.estimator)), None
        if self.choose:
            labels = None if labels is None else np.unique(labels[some], return_inverse=True)[1]
            model, self.brier_score_ = self._chosen(model, X, Y, labels, rng)
        self.estimator_ = _capped(model, len(some))
        return X, Y

    def _chosen(self, model, X, Y, labels: np.ndarray | None, rng):
        """Return the candidate with the lowest Brier score on the rows held out, and the score."""
        n = Y.shape[0]
        held = (kfold(n, 5, rng) if labels is None else grouped_kfold(labels, 5, rng))[0]
        rest = complement(held, n)
        train, test = ((take_rows(X, rows), take_rows(Y, rows)) for rows in (rest, held))
        thresholds = _thresholds(train[1], _JUDGED)
        truth = to_numpy(_below(thresholds)(test[1]))
        best = None
        path_of = candidates(model.regularization, REGULARIZATIONS)
        for options in _bandwidths(model, *train, rng):
            candidate = _capped(model, len(rest)).set_params(**options)
            path = candidate.fit_path(*train, path_of, return_errors=True)
            fitted = [each for each in path if isinstance(each, LowRankConditional)]
            if not fitted:
                continue
            projection = fitted[0].project(_below(thresholds))
            found = fitted[0]._expectations_of(fitted, projection, fitted[0].features(test[0]))
            for each, levels in zip(fitted, found, strict=True):
                score = float(np.mean((np.clip(to_numpy(levels), 0.0, 1.0) - truth) ** 2))
                if best is None or score < best[1]:
                    chosen = options | {"regularization": each.regularization}
                    best = clone(model).set_params(**chosen), score
        if best is None:
            raise FloatingPointError("no candidate could be fitted: give the hyper-parameters")
        return best

    def _functions(self, Y):
        """Return y and 1{y ≤ t}, of which the expectations are kept, shape (k, 1 + q)."""
        return array_namespace(Y).concat([Y, _below(self.thresholds_)(Y)], axis=1)

    def _keep(self, fitted: LowRankConditional, projection: Projection) -> None:
        """Keep what expectations of y and of its thresholds need, and no rows."""
        self._mean, self._directions = projection.mean, fitted._directions(projection)
        self._is_ratio = isinstance(fitted, JointDistribution)
        self._basis = basis = copy(fitted.basis_x_)
        vars(basis).pop("extrema", None)
        basis.points = basis.points[:1, :]
        if factor := getattr(basis, "factor", None):
            basis.factor = factor._replace(L=None)

    def _expected(self, X):
        """Return E[y|x] and F at the thresholds, shapes (n,) and (n, k), as estimated."""
        products = self._basis.features(X) @ self._directions
        if self._is_ratio:
            products = self._mean + products[:, :-1] / (1.0 + products[:, -1:])
        return products[:, 0], products[:, 1:]

    def _mean_and_levels(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Return E[y|x], (n,), and F at the thresholds, from 0 to 1, monotone: shape (n, k)."""
        mean, levels = map(to_numpy, self._expected(X))
        levels = np.maximum.accumulate(np.clip(levels, 0.0, 1.0), axis=1)
        levels[:, -1] = 1.0
        return mean, levels

    def _by_blocks(self, function, X) -> np.ndarray:
        """Return what a function of slices gives for the rows of X."""
        width = self._basis.rank + 3 * len(self.thresholds_)
        return np.concatenate([function(rows) for rows in row_blocks(X.shape[0], width, like=X)])

    def mean(self, X):
        """Return E[y|x] as estimated, shape (n, 1)."""
        found = self._by_blocks(lambda rows: to_numpy(self._expected(X[rows, :])[0]), X)
        return array_namespace(X).asarray(found)[:, None]

    predict, interval = Distribution.predict, Distribution.interval

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) for pairs X (n, d_x) and Y (n,) or (n, 1), shape (n,)."""
        y, t = to_numpy(Y)[:, 0], self.thresholds_
        place = np.searchsorted(t, y, side="right") - 1

        def of(rows):
            (_, levels), at = self._mean_and_levels(X[rows, :]), place[rows]
            each = np.arange(len(levels))
            here = levels[each, np.maximum(at, 0)]
            if self._steps:
                return np.where(at < 0, 0.0, here)
            above = np.minimum(at + 1, len(t) - 1)
            share = (y[rows] - t[at]) / np.where(above > at, t[above] - t[at], 1.0)
            rise = levels[each, above] - here
            return np.where(at < 0, 0.0, here + np.where(above > at, share, 0.0) * rise)

        return array_namespace(X).asarray(self._by_blocks(of, X))

    def quantile(self, X, p):
        """Return the p-quantiles of y given x: (n,), or (n, k) for k of them.

        Raises
        ------
        ValueError
            If p is not in (0, 1).
        """
        return self.mean_and_quantile(X, p)[1]

    def mean_and_quantile(self, X, p) -> tuple:
        """Return `mean` and `quantile` for the cost of one."""
        t, wanted = self.thresholds_, np.ravel(check_probabilities("p", p))

        def of(rows):
            mean, levels = self._mean_and_levels(X[rows, :])
            at = np.sum(levels[:, None, :] < wanted[:, None], axis=2)
            found, row = t[at], np.arange(len(levels))[:, None]
            if not self._steps:
                before = np.maximum(at - 1, 0)
                low, high = levels[row, before], levels[row, at]
                share = (wanted - low) / np.where(high > low, high - low, 1.0)
                found = t[before] + np.where(at > 0, share, 0.0) * (found - t[before])
            return np.column_stack([mean, found])

        found = array_namespace(X).asarray(self._by_blocks(of, X))
        return found[:, :1], found[:, 1:] if np.ndim(p) else found[:, 1]


def _capped(model, rows: int):
    """Return an unfitted copy of limited rank: n (m_X + m_Y)² is what a fit costs."""
    model = clone(model)
    if getattr(model, "max_rank", 1) is None:
        model.max_rank = min(_RANK, rows)
    return model


def _thresholds(Y, most: int) -> np.ndarray:
    """Return all values of y, or quantiles of them from the smallest to the largest."""
    y = to_numpy(Y)[:, 0]
    values = np.unique(y)
    if len(values) <= most:
        return values
    return np.unique(np.quantile(y, np.linspace(0.0, 1.0, most), method="inverted_cdf"))


def _few_values(blocks: Iterable) -> np.ndarray | None:
    """Return all values of y, sorted, or None where there are too many; no more is read."""
    values = np.empty(0)
    for Y in blocks:
        values = np.union1d(values, to_numpy(Y))
        if len(values) > _THRESHOLDS:
            return None
    return values


def _below(thresholds: np.ndarray):
    """Return the function y (k, 1) -> 1{y ≤ t}, shape (k, q)."""

    def f(Y):
        xp = array_namespace(Y)
        return xp.astype(xp.asarray(thresholds) >= Y, Y.dtype)

    return f


def _bandwidths(model, X, Y, rng) -> list[dict]:
    """Return constructor arguments to try: bandwidths that are None, in some ratios of x."""
    chosen = {"bandwidth_x": X, "bandwidth_y": Y}
    chosen = {name: chosen[name] for name in chosen if getattr(model, name, 1.0) is None}
    if not chosen:
        return [{}]
    few = subsample(Y.shape[0], _MEDIAN_ROWS, rng)
    shapes = {"bandwidth_x": [np.ones(X.shape[1])], "bandwidth_y": [1.0]}
    if "bandwidth_x" in chosen and X.shape[1] > 1:
        shapes["bandwidth_x"].append(relevant_lengths(X, Y[:, 0], rng))
    options: list[dict] = [{}]
    for name, points in chosen.items():
        middle = median_trick(to_numpy(take_rows(points, few)), 0.5, name[-1].upper())
        more = [{name: factor * middle * shape} for shape in shapes[name] for factor in FACTORS]
        options = [known | new for known in options for new in more]
    return options
