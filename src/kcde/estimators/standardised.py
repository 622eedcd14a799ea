"""Standardisation from the training rows, around any estimator."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._shared import shape
from kcde.estimators._shared.rows import (
    SMALLEST_STD,
    RowChecks,
    check_not_constant,
    check_pairs,
    grouping,
)


class Standardised(RowChecks, BaseEstimator):
    """Fit an estimator to x and y of mean 0 and standard deviation 1; densities in original units.

    log p(y|x) = log p̃(ỹ|x̃) - Σ log s_y. Columns of x that are constant in the training rows
    are dropped and recorded in `dropped_`.

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

    @property
    def tags(self):
        """The tags of the estimator inside."""
        return self.estimator.tags

    def fit(self, X, Y, groups=None) -> "Standardised":
        """Fit to X (n, d_x) or None, and Y (n, d_y), or (n,) for one y; data frames as well.

        The estimator inside takes the groups (n,), where it chooses by folds.

        Raises
        ------
        ValueError
            If a column of Y is constant or its standard deviation, or that of a column of X that
            varies, is below 1e-140; besides what the estimator itself refuses.
        """
        scaled = self._learn_scales(X, Y)
        self.estimator_ = clone(self.estimator)
        try:
            self.estimator_.fit(*scaled, **grouping(self.estimator_, groups))
        finally:
            self._sync_fitted()
        return self

    @staticmethod
    def fit_many(models: Sequence["Standardised"], Xs: Sequence, Ys: Sequence) -> list:
        """Fit models to data of their own where the estimator inside has a `fit_many`.

        Parameters
        ----------
        models
            With estimators of one class; each is fitted in place.
        Xs, Ys
            For each model, as in `fit`.

        Returns
        -------
        list
            The models, or the error in place of one that failed.
        """
        outcomes: list = list(models)
        scaled = {}
        for i, (model, X, Y) in enumerate(zip(models, Xs, Ys, strict=True)):
            try:
                scaled[i] = model._learn_scales(X, Y)
                model.estimator_ = clone(model.estimator)
            except ValueError as error:
                outcomes[i] = error
        if scaled:
            inner = [models[i].estimator_ for i in scaled]
            Xs, Ys = zip(*scaled.values(), strict=True)
            fitted = type(inner[0]).fit_many(inner, Xs, Ys, return_errors=True)
            for i, outcome in zip(scaled, fitted, strict=True):
                if isinstance(outcome, Exception):
                    outcomes[i] = outcome
                models[i]._sync_fitted()
        return outcomes

    def _sync_fitted(self) -> None:
        """Mark this estimator as not fitted if the inner one is not."""
        if not hasattr(self.estimator_, "n_features_in_"):
            self._reset()

    def _learn_scales(self, X, Y) -> tuple:
        """Set the means and standard deviations; return X and Y in standard units."""
        given, outputs = X, Y
        X, Y = check_pairs(X, Y)
        check_not_constant(Y)
        self.mean_x_, self.std_x_ = _moments("X", X)
        self.mean_y_, self.std_y_ = _moments("Y", Y)
        self.dropped_ = np.flatnonzero(self.std_x_ == 0).tolist()
        self._kept = np.flatnonzero(self.std_x_ > 0)
        self.log_scale_ = float(np.sum(np.log(self.std_y_)))
        self._record_input(given, X, Y, outputs)
        return self.transform_x(X), self.transform_y(Y)

    def transform_x(self, X):
        """Return standardised x without the dropped columns."""
        return _standardise(self._check_features(X), self.mean_x_, self.std_x_, self._kept)

    def transform_y(self, Y):
        """Return standardised y."""
        columns = np.arange(self._check_fitted().n_outputs_)
        return _standardise(self._check_outputs(Y), self.mean_y_, self.std_y_, columns)

    def log_density(self, X, Y):
        """Return log p(y|x) in original units, nats, shape (n,)."""
        X, Y = self._check_pair(X, Y)
        inner = self.estimator_.log_density(self.transform_x(X), self.transform_y(Y))
        return inner - self.log_scale_

    def log_density_at(self, Y) -> Callable:
        """Return a function X -> log p(Y|X) in original units, shape (n, q)."""
        Y = self.transform_y(Y)
        at = self.estimator_.log_density_at(Y)
        return lambda X: at(self.transform_x(X)) - self.log_scale_

    def score(self, X, Y) -> float:
        """Return the mean log density in original units, nats."""
        log_density = self.log_density(X, Y)
        return float(array_namespace(log_density).mean(log_density))

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q), with f on original units."""
        X = self.transform_x(X)
        return self.estimator_.conditional_expectation(lambda Y: f(self._restore(Y)), X)

    def mean(self, X):
        """Return E[Y|x] in original units, shape (n, d_y), where the estimator inside has it."""
        X = self.transform_x(X)
        return self._restore(self.estimator_.mean(X))

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) for pairs X (n, d_x) and Y (n,) or (n, 1), shape (n,)."""
        X, Y = self._check_pair(X, Y)
        return self.estimator_.cdf(self.transform_x(X), self.transform_y(Y))

    def crps(self, X, Y):
        """Return the CRPS of pairs X (n, d_x) and Y (n,) or (n, 1) in the units of y, (n,)."""
        X, Y = self._check_pair(X, Y)
        found = self.estimator_.crps(self.transform_x(X), self.transform_y(Y))
        return found * float(self.std_y_[0])

    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps`, shape (n,) each, for about the cost of one."""
        X, Y = self._check_pair(X, Y)
        cdf, crps = self.estimator_.cdf_and_crps(self.transform_x(X), self.transform_y(Y))
        return cdf, crps * float(self.std_y_[0])

    def quantile(self, X, p):
        """Return the p-quantiles of y given x in original units: (n,), or (n, k) for k of them."""
        X = self.transform_x(X)
        return self._restore_one(self.estimator_.quantile(X, p))

    def interval(self, X, level: float):
        """Return the ends of the interval with equal tails and that probability, shape (n, 2)."""
        X = self.transform_x(X)
        return self._restore_one(self.estimator_.interval(X, level))

    def mode(self, X):
        """Return the y of the highest density of each x in original units, shape (n,)."""
        X = self.transform_x(X)
        return self._restore_one(self.estimator_.mode(X))

    def plot(self, X, axes=None, labels=None):
        """Draw p(y|x) of at most 20 x in original units; see `ConditionalDensity.plot`."""
        return shape.plot(self, X, axes, labels)

    def variance(self, X):
        """Return the variance of each y given x in original units squared, shape (n, d_y)."""
        X = self.transform_x(X)
        variance = self.estimator_.variance(X)
        return variance * array_namespace(variance).asarray(self.std_y_**2)

    def density_at(self, Y) -> Callable:
        """Return a function X -> p(Y|X) in original units, shape (n, q); signed where it is."""
        Y = self.transform_y(Y)
        at = self.estimator_.density_at(Y)
        return lambda X: at(self.transform_x(X)) * float(np.exp(-self.log_scale_))

    def nonpositive_share(self, X, Y) -> float:
        """Return the share of the pairs where the estimate inside, if signed, is not positive."""
        X, Y = self._check_pair(X, Y)
        return self.estimator_.nonpositive_share(self.transform_x(X), self.transform_y(Y))

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw y in original units, shape (n, n_samples, d_y)."""
        X = self.transform_x(X)
        return self._restore(self.estimator_.sample(X, n_samples, rng))

    def _restore(self, Y):
        xp = array_namespace(Y)
        return Y * xp.asarray(self.std_y_) + xp.asarray(self.mean_y_)

    def _restore_one(self, y):
        """Return values of a one-dimensional y in original units, any shape."""
        return y * float(self.std_y_[0]) + float(self.mean_y_[0])


def _moments(name: str, array) -> tuple[np.ndarray, np.ndarray]:
    values = to_numpy(array)
    std = values.std(axis=0)
    # Rounding gives a constant column a standard deviation of some ulps, not 0.
    constant = np.ptp(values, axis=0) == 0
    std[constant] = 0.0
    small = ~constant & (std < SMALLEST_STD)
    if np.any(small):
        raise ValueError(
            f"{name} has a standard deviation below {SMALLEST_STD:g}, where float64 loses digits, "
            f"in column(s) {np.flatnonzero(small).tolist()}; multiply it by a power of ten"
        )
    return values.mean(axis=0), std


def _standardise(array, mean, std, columns):
    xp = array_namespace(array)
    kept = xp.take(array, xp.asarray(columns), axis=1)
    return (kept - xp.asarray(mean[columns])) / xp.asarray(std[columns])
