"""Wrappers of a density, and the one that standardises by the training rows."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._shared.distribution import Distribution
from kcde.estimators._shared.rows import (
    SMALLEST_STD,
    RowChecks,
    check_not_constant,
    check_pairs,
    grouping,
)


class Wrapper(RowChecks, BaseEstimator):
    """The methods of a fitted density `estimator_`, whose x and y may be in other units."""

    @property
    def tags(self):
        """The tags of the estimator inside."""
        return self.estimator.tags

    @property
    def _units(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean and standard deviation of each y, and the sum of the logarithms of the latter."""
        return np.zeros(1), np.ones(1), 0.0

    def _inner_x(self, X):
        """Return x as the density inside takes it."""
        self._check_fitted()
        return X

    def _inner_y(self, Y):
        """Return y as the density inside takes it."""
        self._check_fitted()
        return Y

    def _inner_pair(self, X, Y) -> tuple:
        return self._inner_x(X), self._inner_y(Y)

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        inner = self._inner_pair(X, Y)
        return self.estimator_.log_density(*inner) - self._units[2]

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._inner_y(Y)
        at = self.estimator_.log_density_at(Y)
        return lambda X: at(self._inner_x(X)) - self._units[2]

    def density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> p(Y|X), shape (n, q), at Y (q, d_y); may be signed."""
        Y = self._inner_y(Y)
        at = self.estimator_.density_at(Y)
        return lambda X: at(self._inner_x(X)) * float(np.exp(-self._units[2]))

    def score(self, X, Y) -> float:
        """Return the mean log density of the pairs, nats."""
        log_density = self.log_density(X, Y)
        return float(array_namespace(log_density).mean(log_density))

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q), with f on the units of y."""
        X = self._inner_x(X)
        return self.estimator_.conditional_expectation(lambda Y: f(self._restore(Y)), X)

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), where the estimator inside has it."""
        X = self._inner_x(X)
        return self._restore(self.estimator_.mean(X))

    def variance(self, X):
        """Return the variance of each y given x, shape (n, d_y), where the estimator has it."""
        X = self._inner_x(X)
        variance = self.estimator_.variance(X)
        return variance * array_namespace(variance).asarray(self._units[1] ** 2)

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) for pairs X (n, d_x) and Y (n,) or (n, 1), shape (n,)."""
        inner = self._inner_pair(X, Y)
        return self.estimator_.cdf(*inner)

    def crps(self, X, Y):
        """Return the CRPS of pairs X (n, d_x) and Y (n,) or (n, 1) in the units of y, (n,)."""
        inner = self._inner_pair(X, Y)
        return self.estimator_.crps(*inner) * float(self._units[1][0])

    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps`, shape (n,) each, for about the cost of one."""
        inner = self._inner_pair(X, Y)
        cdf, crps = self.estimator_.cdf_and_crps(*inner)
        return cdf, crps * float(self._units[1][0])

    def quantile(self, X, p):
        """Return the p-quantiles of y given x: (n,), or (n, k) for k of them."""
        X = self._inner_x(X)
        return self._restore_one(self.estimator_.quantile(X, p))

    def interval(self, X, level: float):
        """Return the ends of the interval with equal tails and that probability, shape (n, 2)."""
        X = self._inner_x(X)
        return self._restore_one(self.estimator_.interval(X, level))

    def mode(self, X):
        """Return the y of the highest density of each x, shape (n,)."""
        X = self._inner_x(X)
        return self._restore_one(self.estimator_.mode(X))

    plot = Distribution.plot

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw y, shape (n, n_samples, d_y)."""
        X = self._inner_x(X)
        return self._restore(self.estimator_.sample(X, n_samples, rng))

    def _restore(self, Y):
        xp, (mean, std, _) = array_namespace(Y), self._units
        return Y * xp.asarray(std) + xp.asarray(mean)

    def _restore_one(self, y):
        """Return values of a one-dimensional y in its units, any shape."""
        mean, std, _ = self._units
        return y * float(std[0]) + float(mean[0])


class Standardised(Wrapper):
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

    @property
    def _units(self):
        return self.mean_y_, self.std_y_, self.log_scale_

    _inner_x, _inner_y = transform_x, transform_y

    def _inner_pair(self, X, Y):
        X, Y = self._check_pair(X, Y)
        return self.transform_x(X), self.transform_y(Y)

    def nonpositive_share(self, X, Y) -> float:
        """Return the share of the pairs where the estimate inside, if signed, is not positive."""
        inner = self._inner_pair(X, Y)
        return self.estimator_.nonpositive_share(*inner)


def _moments(name: str, array) -> tuple[np.ndarray, np.ndarray]:
    values = to_numpy(array)
    std = values.std(axis=0)
    # Rounding gives a constant column a standard deviation of some ulps, not 0.
    constant = np.ptp(values, axis=0) == 0
    std[constant] = 0.0
    small = ~constant & (std < SMALLEST_STD)
    if np.any(small):
        columns = np.flatnonzero(small).tolist()
        raise ValueError(
            f"{name} varies by less than {SMALLEST_STD:g} in column(s) {columns}: scale them up"
        )
    return values.mean(axis=0), std


def _standardise(array, mean, std, columns):
    xp = array_namespace(array)
    kept = xp.take(array, xp.asarray(columns), axis=1)
    return (kept - xp.asarray(mean[columns])) / xp.asarray(std[columns])
