"""Conditional densities that are mixtures of Gaussians with common centres.

Their CRPS is E|Y - y| - E|Y - Y′|/2. The first term has a closed form. The second is one of all
pairs of m centres, or ∫ F (1 - F) dz by the trapezoidal rule with half a σ between nodes, whose
error is below 1e-15: both are a product of the weights (n, m) with a matrix that all x share, so
that the smaller is taken.
"""

from abc import abstractmethod
from collections.abc import Callable
from math import sqrt

import numpy as np

from kcde.arrays import array_namespace, normal_cdf, row_blocks, to_numpy
from kcde.estimators._shared.gaussian_mixtures import (
    mean_distance,
    mixture_cdf,
    mixture_quantile,
)
from kcde.estimators._shared.threads import limit_threads
from kcde.estimators.base import ConditionalDensity
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.normalisers import GaussianProposal, logsumexp
from kcde.panels import equal, is_wide, neighbourhoods
from kcde.seeding import require_generator

_REACH = 10.0  # standard deviations of a component


def log_volume(sigma: np.ndarray) -> float:
    """Return log ∫ exp(-Σ_i y_i²/2σ_i²) dy for bandwidths σ of shape (d,)."""
    return float(np.sum(np.log(np.sqrt(2.0 * np.pi) * sigma)))


class GaussianMixture(ConditionalDensity):
    """p(y|x) = Σ_l w_l(x) N(y; v_l, diag σ²), with Σ_l w_l(x) = 1.

    A subclass sets `_centres` (m, d_y) and `_sigma` (d_y,) when fitting, and gives `_log_weights`.
    """

    @abstractmethod
    def _log_weights(self, X):
        """Return log w_l(x), shape (n, m); -inf for components of weight zero."""

    def weights_at(self, X):
        """Return w_l(x), shape (n, m), whose rows sum to one, for X (n, d_x)."""
        log_weights = self._log_weights(self._check_features(X))
        return array_namespace(log_weights).exp(log_weights)

    def mean(self, X):
        """Return E[Y|x] = Σ_l w_l(x) v_l, shape (n, d_y), for X (n, d_x)."""
        return self.moments(X)[0]

    def variance(self, X):
        """Return the variance of each y given x, shape (n, d_y), for X (n, d_x).

        Σ_l w_l (v_l - m)² + σ² with the mean m (cdo, A.2.1, is this formula).
        """
        return self.moments(X)[1]

    def moments(self, X) -> tuple:
        """Return `mean` and `variance` for the cost of one, shape (n, d_y) each."""
        X = self._check_features(X)
        xp = array_namespace(X)
        centre = xp.mean(self._centres, axis=0)
        shifted = self._centres - centre
        both = xp.concat([shifted, shifted**2], axis=1)
        blocks = row_blocks(X.shape[0], shifted.shape[0], like=X)
        sums = xp.concat([self.weights_at(X[rows, :]) @ both for rows in blocks])
        first, second = sums[:, : self.n_outputs_], sums[:, self.n_outputs_ :]
        return first + centre, second - first**2 + xp.asarray(self._sigma**2)

    def _cdf(self, X, y):
        xp, mixture = array_namespace(X), self._one_dimensional()
        parts = []
        for rows in row_blocks(X.shape[0], self._centres.shape[0], like=X):
            weights = self.weights_at(X[rows, :])
            parts.append(mixture_cdf(weights, *mixture, y[rows, None])[:, 0])
        return xp.concat(parts)

    def _cdf_at(self, X, y):
        xp, below = array_namespace(X), self._components_below(y)
        parts = []
        for rows in row_blocks(X.shape[0], self._centres.shape[0], like=X):
            parts.append(self.weights_at(X[rows, :]) @ below)
        return xp.concat(parts)

    def _components_below(self, y: np.ndarray):
        """Return Φ((y - v_l)/σ), shape (m, q), at y (q,)."""
        y = array_namespace(self._centres).asarray(y)
        return normal_cdf((y[None, :] - self._centres) / float(self._sigma[0]))

    def _crps(self, X, y):
        xp, half_spread = array_namespace(X), self._half_spread()
        centres, sigma = self._one_dimensional()
        parts = []
        for rows in row_blocks(X.shape[0], self._centres.shape[0], like=X):
            weights = self.weights_at(X[rows, :])
            distance = mean_distance(y[rows, None] - centres, sigma)
            parts.append(xp.sum(weights * distance, axis=1) - half_spread(weights))
        return xp.concat(parts)

    def _half_spread(self) -> Callable:
        """Return a function from weights (n, m) to E|Y - Y′|/2, shape (n,)."""
        xp, (lower, upper, sigma) = array_namespace(self._centres), self._support()
        count = int(np.ceil(2.0 * (upper - lower) / sigma)) + 1
        if count < self._centres.shape[0]:
            nodes, step = np.linspace(lower, upper, count, retstep=True)
            below = self._components_below(nodes)

            def integral(weights):
                cdf = weights @ below
                return float(step) * xp.sum(cdf * (1.0 - cdf), axis=1)

            return integral
        apart = mean_distance(self._centres - self._centres.T, sqrt(2.0) * sigma)
        return lambda weights: 0.5 * xp.sum((weights @ apart) * weights, axis=1)

    def _quantile(self, X, p):
        xp, mixture = array_namespace(X), self._one_dimensional()
        parts = []
        for rows in row_blocks(X.shape[0], self._centres.shape[0] * len(p), like=X):
            parts.append(mixture_quantile(self.weights_at(X[rows, :]), *mixture, p))
        return xp.concat(parts)

    def _one_dimensional(self) -> tuple:
        """Return centres and standard deviations, shape (1, m) and (1, 1), for d_y = 1."""
        xp = array_namespace(self._centres)
        return self._centres.T, xp.asarray(self._sigma[None, :])

    @limit_threads
    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return logsumexp(self._log_weights(X) + self._log_components(Y), axis=1)

    def log_density_at(self, Y):
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._check_outputs(Y)
        xp, log_components = array_namespace(Y), self._log_components(Y)

        def at(X):
            X = self._check_features(X)
            log_weights = self._log_weights(X)
            return xp.concat(
                [
                    logsumexp(log_weights[rows, :][:, None, :] + log_components[None, :, :], axis=2)
                    for rows in row_blocks(X.shape[0], log_components.size, like=X)
                ]
            )

        return at

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from p(y|x) exactly: a component, then a Gaussian; shape (n, n_samples, d_y)."""
        require_generator(rng)
        X = self._check_features(X)
        return array_namespace(X).asarray(self._sample_multivariate(X, n_samples, rng))

    def _sample_multivariate(self, X, n_samples, rng):
        cumulative = np.cumsum(np.exp(to_numpy(self._log_weights(X))), axis=1)
        uniform = rng.random((X.shape[0], n_samples)) * cumulative[:, -1:]
        pairs = zip(cumulative, uniform, strict=True)
        component = np.stack([np.searchsorted(c, u, side="right") for c, u in pairs])
        centres = to_numpy(self._centres)[component]
        return centres + self._sigma * rng.standard_normal(centres.shape)

    def _log_components(self, Y):
        return log_gaussian_kernel(Y, self._centres, self._sigma) - log_volume(self._sigma)

    def _proposal(self):
        centres = to_numpy(self._centres)
        return GaussianProposal(
            centres.mean(axis=0), 2.0 * np.hypot(centres.std(axis=0), self._sigma)
        )

    def _integrated(self, f, X):
        if not is_wide(self._support()):
            return super()._integrated(f, X)
        # A component at a time: the centres are too far apart for nodes that all share.
        xp, sigma = array_namespace(X), float(self._sigma[0])
        rule = equal(-_REACH * sigma, _REACH * sigma, 4 * int(_REACH))
        share = (
            rule.weights * np.exp(-0.5 * (rule.nodes / sigma) ** 2) / (np.sqrt(2.0 * np.pi) * sigma)
        )
        parts = []
        for rows in row_blocks(self._centres.shape[0], rule.nodes.size, like=X):
            Y = self._centres[rows, :] + xp.asarray(rule.nodes[None, :])
            values = f(xp.reshape(Y, (-1, 1)))
            values = xp.reshape(values, (Y.shape[0], Y.shape[1], values.shape[1]))
            parts.append(xp.sum(xp.asarray(share)[None, :, None] * values, axis=1))
        return self.weights_at(X) @ xp.concat(parts)

    def _pieces(self):
        sigma = float(self._sigma[0])
        return neighbourhoods(self._centres, _REACH * sigma, sigma)

    def _support(self):
        centres, sigma = to_numpy(self._centres), float(self._sigma[0])
        margin = _REACH * sigma
        return float(centres.min()) - margin, float(centres.max()) + margin, sigma
