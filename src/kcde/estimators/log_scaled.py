"""A density of y > 0 by way of its logarithm, in a file of its own: no experiment depends on it."""

import numpy as np
from sklearn.base import clone

from kcde.arrays import array_namespace
from kcde.estimators._shared.distribution import Distribution
from kcde.estimators._shared.rows import by_blocks, check_pairs
from kcde.estimators.standardised import Wrapper
from kcde.seeding import rng_of

_DRAWS, _BEYOND = 500, 10.0


class LogScaled(Wrapper):
    """Any density of one y > 0 given x, fitted to log y: log p(y|x) = log p̃(log y|x) - log y.

    Quantiles, intervals and draws are those of log y, by exp; the CRPS is by 500 draws for each x.
    Moments are by quadrature, in which y counts as at most ten times the largest of the training
    rows: of heavy tails of log y there would be none. Where y ≤ 0 the density is 0.

    Parameters
    ----------
    estimator
        An unfitted estimator; a clone of it is fitted.

    Attributes
    ----------
    estimator_
        The fitted clone.
    highest_
        The largest log y that moments see.
    """

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, Y, groups=None) -> "LogScaled":
        """Fit to X (n, d_x) or None, and Y (n,) or (n, 1); groups as the estimator takes them.

        Raises
        ------
        ValueError
            If a y is not positive; besides what the estimator refuses.
        """
        given, outputs, (X, Y) = X, Y, check_pairs(X, Y)
        xp = array_namespace(Y)
        if not bool(xp.all(Y > 0.0)):
            raise ValueError("Y must be positive for its logarithm; got values that are not")
        self._reset()
        self.estimator_ = clone(self.estimator).fit(given, xp.log(Y), groups)
        self.highest_ = float(xp.log(_BEYOND * xp.max(Y)))
        self._record_input(given, X, Y, outputs)
        self._open(None, outputs)
        return self

    def _log(self, Y):
        """Return where y > 0, shape (n,), and log y, shape (n, 1), 0 where there is none."""
        Y = self._check_outputs(Y)
        xp = array_namespace(Y)
        return Y[:, 0] > 0.0, xp.log(xp.where(Y > 0.0, Y, xp.ones_like(Y)))

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), -inf where y ≤ 0."""
        positive, logs = self._log(Y)
        found = self._inside.log_density(X, logs) - logs[:, 0]
        return array_namespace(found).where(positive, found, -np.inf)

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, 1)."""
        positive, logs = self._log(Y)
        at, xp = self._inside.log_density_at(logs), array_namespace(logs)
        return lambda X: xp.where(positive, at(X) - logs[:, 0], -np.inf)

    def density_at(self, Y):
        """Return a function X (n, d_x) -> p(Y|X), shape (n, q), at shared Y (q, 1)."""
        positive, logs = self._log(Y)
        at, xp = self._inside.density_at(logs), array_namespace(logs)
        return lambda X: xp.where(positive, at(X) / xp.exp(logs[:, 0]), 0.0)

    def conditional_expectation(self, f, X):
        """Return E[f(Y)|x], shape (n, q)."""

        def of_log(t):
            return f(_exp(array_namespace(t).clip(t, max=self.highest_)))

        return self._inside.conditional_expectation(of_log, X)

    mean, variance = Distribution.mean, Distribution.variance

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) of pairs, shape (n,)."""
        positive, logs = self._log(Y)
        found = self._inside.cdf(X, logs)
        return array_namespace(found).where(positive, found, 0.0)

    def crps(self, X, Y):
        """Return the CRPS of pairs, shape (n,), E|Y - y| - E|Y - Y'|/2 over 500 draws of each x."""
        X, Y = self._check_pair(X, Y)
        xp, rng = array_namespace(X), rng_of("crps")
        weights = xp.asarray(2.0 * np.arange(_DRAWS) - _DRAWS + 1.0) / (_DRAWS * (_DRAWS - 1))

        def of(rows):
            draws = xp.sort(self.sample(X[rows, :], _DRAWS, rng)[:, :, 0], axis=1)
            return xp.mean(xp.abs(draws - Y[rows, :]), axis=1) - draws @ weights

        return by_blocks(of, X.shape[0], _DRAWS, like=X)

    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps`, shape (n,) each."""
        return self.cdf(X, Y), self.crps(X, Y)

    def quantile(self, X, p):
        """Return the p-quantiles of y given x: (n,), or (n, k) for k of them."""
        return _exp(self._inside.quantile(X, p))

    def interval(self, X, level: float):
        """Return the ends of the interval with equal tails and that probability, shape (n, 2)."""
        return _exp(self._inside.interval(X, level))

    def sample(self, X, n: int, random_state):
        """Draw y: shape (n, k) after a fit to y (n,), else (n, k, 1)."""
        return _exp(self._inside.sample(X, n, random_state))


def _exp(values):
    return array_namespace(values).exp(values)
