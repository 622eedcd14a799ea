"""A density of y above a bound, by a logarithm, in a file of its own: no experiment needs it."""

import numpy as np
from sklearn.base import clone

from kcde.arrays import array_namespace
from kcde.estimators._shared.distribution import Distribution, crps_by_draws
from kcde.estimators._shared.floored import without_floor
from kcde.estimators._shared.rows import about_rows, check_pairs
from kcde.estimators.standardised import Wrapper, rows_that_count

_BEYOND = 10.0


class LogScaled(Wrapper):
    """Any density of one y > a given x, fitted to t = log(y - a): log p(y|x) = log p̃(t|x) - t.

    Quantiles, intervals and draws are those of t, by exp; the CRPS is by 500 draws for each x.
    Moments are by quadrature, in which y - a counts as at most ten times the largest of the
    training rows: of heavy tails of t there would be none. Those of a density with a floor are of
    the density without it, whose tails would rule them. Where y ≤ a the density is 0.

    Parameters
    ----------
    estimator
        An unfitted estimator; a clone of it is fitted.
    lower
        a, in the units of y.

    Attributes
    ----------
    estimator_
        The fitted clone.
    highest_
        The largest t that moments see.
    """

    def __init__(self, estimator, lower: float = 0.0):
        self.estimator = estimator
        self.lower = lower

    def fit(self, X, Y, groups=None, sample_weight=None) -> "LogScaled":
        """Fit to X (n, d_x) or None, and Y (n,) or (n, 1), as the estimator inside does.

        Raises
        ------
        ValueError
            If a y is not above `lower`; besides what the estimator refuses.
        """
        X, Y, groups, sample_weight = rows_that_count(X, Y, groups, sample_weight)
        given, outputs, (X, Y) = X, Y, check_pairs(X, Y)
        xp = array_namespace(Y)
        above = Y - self.lower
        if not bool(xp.all(above > 0.0)):
            raise ValueError(f"Y must be above lower={self.lower:g}; got values that are not")
        self._reset()
        about = about_rows(self.estimator, groups, sample_weight)
        self.estimator_ = clone(self.estimator).fit(given, xp.log(above), **about)
        self.highest_ = float(xp.log(_BEYOND * xp.max(above)))
        self._record_input(given, X, Y)
        self._open(None, outputs)
        return self

    def _log(self, Y):
        """Return where y > a, shape (n,), and log(y - a), (n, 1), 0 where there is none."""
        above = Y - self.lower
        xp = array_namespace(above)
        return above[:, 0] > 0.0, xp.log(xp.where(above > 0.0, above, xp.ones_like(above)))

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), -inf where y ≤ a."""
        positive, logs = self._log(Y)
        found = self.estimator_.log_density(X, logs) - logs[:, 0]
        return array_namespace(found).where(positive, found, -np.inf)

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, 1)."""
        positive, logs = self._log(Y)
        at, xp = self.estimator_.log_density_at(logs), array_namespace(logs)
        return lambda X: xp.where(positive, at(X) - logs[:, 0], -np.inf)

    def density_at(self, Y):
        """Return a function X (n, d_x) -> p(Y|X), shape (n, q), at shared Y (q, 1)."""
        positive, logs = self._log(Y)
        at, xp = self.estimator_.density_at(logs), array_namespace(logs)
        return lambda X: xp.where(positive, at(X) / xp.exp(logs[:, 0]), 0.0)

    def conditional_expectation(self, f, X):
        """Return E[f(Y)|x], shape (n, q)."""

        def of_log(t):
            return f(self._back(array_namespace(t).clip(t, max=self.highest_)))

        return without_floor(self.estimator_).conditional_expectation(of_log, X)

    mean, variance = Distribution.mean, Distribution.variance

    def cdf(self, X, Y):
        """Return P(Y ≤ y|x) of pairs, shape (n,)."""
        positive, logs = self._log(Y)
        found = self.estimator_.cdf(X, logs)
        return array_namespace(found).where(positive, found, 0.0)

    def crps(self, X, Y):
        """Return the CRPS of pairs, shape (n,), E|Y - y| - E|Y - Y'|/2 over 500 draws of each x."""
        return crps_by_draws(self.sample, X, Y[:, 0])

    def cdf_and_crps(self, X, Y) -> tuple:
        """Return `cdf` and `crps`, shape (n,) each."""
        return self.cdf(X, Y), self.crps(X, Y)

    def quantile(self, X, p):
        """Return the p-quantiles of y given x: (n,), or (n, k) for k of them."""
        return self._back(self.estimator_.quantile(X, p))

    def interval(self, X, level: float):
        """Return the ends of the interval with equal tails and that probability, shape (n, 2)."""
        return self._back(self.estimator_.interval(X, level))

    def sample(self, X, n: int, random_state):
        """Draw y: shape (n, k) after a fit to y (n,), else (n, k, 1)."""
        return self._back(self.estimator_.sample(X, n, random_state))

    def _back(self, t):
        return self.lower + array_namespace(t).exp(t)
