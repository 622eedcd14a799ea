"""Mixtures of Gaussians whose weights may be negative."""

import logging
from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from kcde.arrays import array_namespace, row_blocks, to_numpy
from kcde.estimators._shared.mixture import GaussianMixture
from kcde.estimators._shared.threads import limit_threads
from kcde.estimators.base import ConditionalDensity

_MOST_PROPOSALS = 1 << 24

log = logging.getLogger(__name__)


class SignedMixture(GaussianMixture):
    """Σ_l w_l(x) N(y; v_l, diag σ²) with Σ_l w_l(x) = 1, a density where it is not negative.

    A subclass has the hyper-parameter `weights`: where it is "signed", the weights are those of
    `_signed_weights`; else they are not negative, and `_log_weights` gives their logarithms.
    """

    @property
    def _integrates_to_one(self) -> bool:
        return self.weights != "signed"

    @abstractmethod
    def _signed_weights(self, X):
        """Return weights of any sign, shape (n, m), whose rows sum to one."""

    def weights_at(self, X):
        """Return w_l(x) as used, shape (n, m), whose rows sum to one, for X (n, d_x)."""
        if self.weights != "signed":
            return super().weights_at(X)
        return self._signed_weights(self._check_features(X))

    def density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> Σ_l w_l(x) N(y; v_l, σ²), shape (n, q), at Y (q, d_y).

        Signed weights make it negative in places.
        """
        if self.weights != "signed":
            return super().density_at(Y)
        Y = self._check_outputs(Y)
        components = array_namespace(Y).exp(self._log_components(Y))
        return lambda X: self.weights_at(X) @ components.T

    @limit_threads
    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for pairs; -inf where p is not positive."""
        if self.weights != "signed":
            return super().log_density(X, Y)
        return log_where_positive(self._pair_density(X, Y))

    def log_density_at(self, Y) -> Callable:
        """Return a function X -> log p(Y|X), shape (n, q); -inf where p is not positive."""
        if self.weights != "signed":
            return super().log_density_at(Y)
        at = self.density_at(Y)
        return lambda X: log_where_positive(at(X))

    def _require_distribution(self):
        super()._require_distribution()
        if self.weights == "signed":
            raise ValueError(
                "signed weights make no distribution function, as the estimate is negative in "
                'places; fit with weights="clipped" or "projected", or draw with sample'
            )

    def nonpositive_share(self, X, Y) -> float:
        """Return the share of the pairs X (n, d_x), Y (n, d_y) where p(y|x) is not positive."""
        density = to_numpy(self._pair_density(X, Y))
        return float(np.mean(density <= 0.0))

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from p(y|x), or in proportion to its positive part; shape (n, n_samples, d_y).

        Signed weights: by inversion for d_y = 1; else draws from the components with positive
        weights are accepted with chance p/p₊.

        Raises
        ------
        FloatingPointError
            If almost none is accepted, because the weights cancel.
        """
        if self.weights != "signed":
            return super().sample(X, n_samples, rng)
        return ConditionalDensity.sample(self, X, n_samples, rng)

    def _sample_multivariate(self, X, n_samples, rng):
        if self.weights != "signed":
            return super()._sample_multivariate(X, n_samples, rng)
        centres = to_numpy(self._centres)
        weights = to_numpy(self._signed_weights(X))
        return np.stack([_reject(w, centres, self._sigma, n_samples, rng) for w in weights])

    def _pair_density(self, X, Y):
        X, Y = self._check_pair(X, Y)
        xp = array_namespace(X)
        weights = self.weights_at(X)
        return xp.concat(
            [
                xp.sum(weights[rows, :] * xp.exp(self._log_components(Y[rows, :])), axis=1)
                for rows in row_blocks(Y.shape[0], weights.shape[1], like=Y)
            ]
        )


def divided_by_sums(weights, remedy: str, *, negative: bool = False):
    """Return weights (n, m) divided by the sums of their rows; see `check_sums`."""
    xp = array_namespace(weights)
    total = xp.sum(weights, axis=1, keepdims=True)
    check_sums(total, remedy, negative=negative)
    return weights / total


def check_sums(total, remedy: str, *, negative: bool = False) -> None:
    """Raise an error if sums of weights are not positive and finite.

    Parameters
    ----------
    total
        Shape (n, 1).
    remedy
        Advice to add to the error message.
    negative
        Whether to allow negative sums, which reverse the sign of the estimate, with a warning.

    Raises
    ------
    FloatingPointError
        If a sum is refused; the message names the remedy.
    """
    xp = array_namespace(total)
    bad = ~((total > 0.0) & xp.isfinite(total))
    count = int(xp.sum(xp.astype(bad, xp.int64)))
    if negative and bool(xp.all(xp.isfinite(total) & (total != 0.0))):
        if count:
            log.warning(
                "at %d of %d x the sum of weights is negative; divided by it, as published, the "
                "sign of the estimate is reversed",
                count,
                total.shape[0],
            )
    elif count:
        raise FloatingPointError(
            f"at {count} of {total.shape[0]} x no sum of weights is positive, so that there is no "
            f"density; {remedy}"
        )


def log_where_positive(values):
    """Return the logarithms, -inf where a value is not positive."""
    xp = array_namespace(values)
    positive = values > 0.0
    safe = xp.where(positive, values, xp.ones_like(values))
    return xp.where(positive, xp.log(safe), xp.full_like(values, -xp.inf))


def _reject(weights, centres, sigma, n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw in proportion to max(0, Σ w N) from Σ w₊ N, numpy throughout; (n_samples, d)."""
    positive = np.maximum(weights, 0.0)
    kept, proposed, count = [], 0, 0
    while count < n_samples:
        if proposed > _MOST_PROPOSALS:
            raise FloatingPointError(
                f"{count} of {proposed} proposals were accepted: the weights cancel each other; "
                'raise output_regularization, or take weights="clipped"'
            )
        size = max(256, 2 * n_samples)
        which = rng.choice(len(weights), size, p=positive / positive.sum())
        points = centres[which] + sigma * rng.standard_normal((size, centres.shape[1]))
        chance = rng.random(size)
        for rows in row_blocks(size, centres.size):
            z = (points[rows, None, :] - centres) / sigma
            bumps = np.exp(-0.5 * np.sum(z * z, axis=2))
            accepted = chance[rows] * (bumps @ positive) < bumps @ weights
            kept.append(points[rows][accepted])
            count += int(accepted.sum())
        proposed += size
    return np.concatenate(kept)[:n_samples]
