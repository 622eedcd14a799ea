"""Wrappers of a density, and the one that standardises by the training rows."""

from collections.abc import Callable
from functools import wraps

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import _safe_indexing

from kcde.arrays import to_numpy
from kcde.estimators._shared.distribution import Distribution
from kcde.estimators._shared.rows import RowChecks, about_rows, check_not_constant, check_pairs
from kcde.estimators._shared.units import Units, without_standardising
from kcde.estimators.base import ConditionalDensity


def _inner(name: str) -> Callable:
    """Return a method that is that of the density inside."""

    @wraps(getattr(ConditionalDensity, name))
    def method(self, *arguments, **keywords):
        return getattr(self.estimator_, name)(*arguments, **keywords)

    return method


def rows_that_count(X, Y, groups, sample_weight) -> tuple:
    """Return what is given of the rows whose weight is not 0; all where the weights are wrong."""
    weights = np.ones(1) if sample_weight is None else to_numpy(sample_weight)
    if weights.all() or not weights.any() or weights.shape != to_numpy(Y).shape[:1]:
        return X, Y, groups, sample_weight
    given, kept = (X, Y, groups, weights), np.flatnonzero(weights)
    return tuple(None if each is None else _safe_indexing(each, kept) for each in given)


class Wrapper(RowChecks, RegressorMixin, BaseEstimator):
    """The methods of a fitted density `estimator_`, whose x and y may be in other units."""

    @property
    def tags(self):
        """The tags of the estimator inside."""
        return self.estimator.tags

    log_density, log_density_at = _inner("log_density"), _inner("log_density_at")
    density_at, sample = _inner("density_at"), _inner("sample")
    conditional_expectation = _inner("conditional_expectation")
    mean, variance, cdf, crps = map(_inner, ("mean", "variance", "cdf", "crps"))
    cdf_and_crps, quantile, interval = map(_inner, ("cdf_and_crps", "quantile", "interval"))
    predict, std = Distribution.predict, Distribution.std
    pdf, plot, score = Distribution.pdf, Distribution.plot, ConditionalDensity.score


class Standardised(Wrapper):
    """Any density of y given x, fitted to x and y of mean 0 and standard deviation 1.

    log p(y|x) = log p̃(ỹ|x̃) - Σ log s_y. The estimators do the same by themselves, by
    `standardize=True`, which is switched off inside; this is for others, as `JointDensity`, or
    where columns of x may be constant: here they are dropped, and recorded in `dropped_`.

    Parameters
    ----------
    estimator
        An unfitted estimator; a clone of it is fitted.

    Attributes
    ----------
    estimator_
        The fitted clone.
    mean_x_, std_x_, mean_y_, std_y_
        Numpy arrays, standard deviations with divisor n.
    dropped_
        Columns of x left out.
    log_scale_
        Σ log s_y: add it to a log density to get that of the standardised y.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LSCDE, Standardised
    >>> rng = np.random.default_rng(0)
    >>> X = 1000.0 * rng.normal(size=(100, 1))
    >>> Y = X + 100.0 * rng.normal(size=(100, 1))
    >>> model = Standardised(LSCDE(0.5, 0.3, 0.1)).fit(X, Y)
    >>> model.mean(np.array([[500.0]])).shape
    (1, 1)
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, Y, groups=None, sample_weight=None) -> "Standardised":
        """Fit to X (n, d_x) or None, and Y (n, d_y), or (n,) for one y; data frames as well.

        The estimator inside takes the groups and weights of rows (n,), or refuses them.

        Raises
        ------
        ValueError
            If a column of Y is constant or its standard deviation, or that of a column of X that
            varies, is below 1e-140; besides what the estimator itself refuses.
        """
        X, Y, groups, sample_weight = rows_that_count(X, Y, groups, sample_weight)
        scaled = self._learn_scales(X, Y)
        try:
            self.estimator_.fit(*scaled, **about_rows(self.estimator_, groups, sample_weight))
        finally:
            # A training that diverged may have left a model to look at.
            if hasattr(self.estimator_, "n_features_in_"):
                self._open(self._units, Y)
            else:
                self._reset()
        return self

    def _learn_scales(self, X, Y) -> tuple:
        """Set the units, and the unfitted clone; return X and Y in standard units."""
        given, (X, Y) = X, check_pairs(X, Y)
        check_not_constant(Y)
        units = Units(X, Y, drop=True)
        self._reset()
        self._units, self.log_scale_ = units, units.log_scale
        self.mean_x_, self.std_x_ = units.mean_x, units.std_x
        self.mean_y_, self.std_y_ = units.mean_y, units.std_y
        self.dropped_ = np.setdiff1d(np.arange(X.shape[1]), units.columns).tolist()
        self._record_input(given, X, Y)
        self.estimator_ = without_standardising(clone(self.estimator))
        return units.x(X), units.y(Y)

    def transform_x(self, X):
        """Return standardised x without the dropped columns."""
        X = self._check_features(X)
        return self._units.x(X)

    def transform_y(self, Y):
        """Return standardised y."""
        Y = self._check_outputs(Y)
        return self._units.y(Y)
