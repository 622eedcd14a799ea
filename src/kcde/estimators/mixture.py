"""Conditional densities that are mixtures of Gaussians with common centres."""

from abc import abstractmethod
from math import log, pi, sqrt

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators.base import ConditionalDensity
from kcde.normalisers import logsumexp

_BLOCK = 1 << 22


def log_gaussian(Y, centres, sigma: float, *, normalised: bool = True):
    """Return log N(y; v, σ² I), shape (n, m), at Y (n, d) for centres v (m, d), σ > 0.

    Without its constant, that is -|y - v|²/2σ², where `normalised` is False.
    """
    xp = array_namespace(Y, centres)
    difference = Y[:, None, :] - centres[None, :, :]
    squared = xp.sum(difference * difference, axis=2)
    constant = Y.shape[1] * log(sqrt(2.0 * pi) * sigma) if normalised else 0.0
    return -0.5 * squared / sigma**2 - constant


class GaussianMixture(ConditionalDensity):
    """p(y|x) = Σ_l w_l(x) N(y; v_l, σ² I), with Σ_l w_l(x) = 1.

    A subclass sets `_centres` (m, d_y) and `_sigma` when fitting, and gives `_log_weights`.
    """

    @abstractmethod
    def _log_weights(self, X):
        """Return log w_l(x), shape (n, m); -inf where a component takes no part."""

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return logsumexp(self._log_weights(X) + log_gaussian(Y, self._centres, self._sigma), axis=1)

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        xp = array_namespace(Y)
        log_components = log_gaussian(Y, self._centres, self._sigma)

        def at(X):
            log_weights = self._log_weights(X)
            size = max(1, _BLOCK // (log_components.shape[0] * log_components.shape[1]))
            return xp.concat(
                [
                    logsumexp(log_weights[i : i + size, None, :] + log_components[None], axis=2)
                    for i in range(0, X.shape[0], size)
                ]
            )

        return at

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from p(y|x) exactly: a component, then a Gaussian; shape (n, n_samples, d_y)."""
        X = self._check_features(X)
        return array_namespace(X).asarray(self._sample_multivariate(X, n_samples, rng))

    def _sample_multivariate(self, X, n_samples, rng):
        cumulative = np.cumsum(np.exp(to_numpy(self._log_weights(X))), axis=1)
        uniform = rng.random((X.shape[0], n_samples)) * cumulative[:, -1:]
        pairs = zip(cumulative, uniform, strict=True)
        component = np.stack([np.searchsorted(c, u, side="right") for c, u in pairs])
        centres = to_numpy(self._centres)[component]
        return centres + self._sigma * rng.standard_normal(centres.shape)

    def _support(self):
        centres = to_numpy(self._centres)
        margin = 10.0 * self._sigma
        return float(centres.min()) - margin, float(centres.max()) + margin, self._sigma
