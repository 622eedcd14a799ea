"""Conditional densities that are mixtures of Gaussians with common centres.

Their CRPS is E|Y - y| - E|Y - Y′|/2. The first term has a closed form. The second is one of all
pairs of m centres, or ∫ F (1 - F) dz by the trapezoidal rule with half a σ between nodes, whose
error is below 1e-15: both are a product of the weights (n, m) with a matrix that all x share, so
that the smaller is taken.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable
from math import pi, sqrt

import numpy as np
from scipy.special import ndtri

from kcde.arrays import array_namespace, logsumexp, normal_cdf, row_blocks, to_numpy
from kcde.estimators._shared.rows import by_blocks, drawn_places, sum_over
from kcde.estimators._shared.tabulated import increasing_root
from kcde.estimators.base import ConditionalDensity
from kcde.kernels.gaussian import log_gaussian_kernel
from kcde.normalisers import GaussianProposal
from kcde.panels import equal, is_wide, neighbourhoods

_TOLERANCE = 1e-10  # of a quantile, in the smallest standard deviation


def mixture_cdf(weights, centres, sigma, y):
    """Return Σ_l w_l Φ((y - v_l)/σ_l), shape (n, k), at y (n, k).

    The rows of w (n, m) sum to one; v and σ are of shapes that broadcast to it.
    """
    xp = array_namespace(weights)
    u = (y[:, :, None] - centres[:, None, :]) / sigma[:, None, :]
    return xp.clip(xp.sum(weights[:, None, :] * normal_cdf(u), axis=2), max=1.0)


def mixture_crps(weights, centres, sigma, y):
    """Return the CRPS of the mixtures of `mixture_cdf` at y (n,), shape (n,).

    E|Y - y| - E|Y - Y′|/2 over pairs of components, n m² numbers (Grimit et al., Q. J. R. Meteorol.
    Soc. 2006, equation (5)).
    """
    xp = array_namespace(weights)
    distance = xp.sum(weights * mean_distance(y[:, None] - centres, sigma), axis=1)
    apart = centres[:, :, None] - centres[:, None, :]
    both = xp.sqrt(sigma[:, :, None] ** 2 + sigma[:, None, :] ** 2)
    pairs = weights[:, :, None] * weights[:, None, :] * mean_distance(apart, both)
    return distance - 0.5 * xp.sum(pairs, axis=(1, 2))


def mean_distance(u, sigma):
    """Return E|Z| of Z normal with mean u and standard deviation σ, elementwise."""
    xp, z = array_namespace(u), u / sigma
    return sigma * (sqrt(2.0 / pi) * xp.exp(-0.5 * z * z) + z * (2.0 * normal_cdf(z) - 1.0))


def normal_crps(z):
    """Return the CRPS of the standard normal at z, elementwise (Gneiting et al. 2005)."""
    return mean_distance(z, 1.0) - 1.0 / sqrt(pi)


def mixture_quantile(weights, centres, sigma, p: np.ndarray):
    """Return the p-quantiles of the mixtures of `mixture_cdf`, shape (n, k), for p of shape (k,).

    A quantile lies between the smallest and the largest of those of the components; it is looked
    for from that of a normal density of the same mean and variance on.
    """
    xp = array_namespace(weights)
    z, p = xp.asarray(ndtri(p)), xp.asarray(p)
    own = centres[:, None, :] + sigma[:, None, :] * z[None, :, None]
    shape = (weights.shape[0], p.shape[0])
    lower, upper = (xp.broadcast_to(f(own, axis=2), shape) for f in (xp.min, xp.max))

    def excess(y):
        u = (y[:, :, None] - centres[:, None, :]) / sigma[:, None, :]
        shares = weights[:, None, :] * normal_cdf(u)
        slopes = weights[:, None, :] * xp.exp(-0.5 * u * u) / sigma[:, None, :]
        return xp.sum(shares, axis=2) - p, xp.sum(slopes, axis=2) / sqrt(2.0 * pi)

    mean = xp.sum(weights * centres, axis=1, keepdims=True)
    spread = xp.sqrt(xp.sum(weights * ((centres - mean) ** 2 + sigma**2), axis=1, keepdims=True))
    start = mean + spread * z
    return increasing_root(excess, lower, upper, start, _TOLERANCE * float(xp.min(sigma)))


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
        log_weights = self._log_weights(X)
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
        xp = array_namespace(X)
        centre = xp.mean(self._centres, axis=0)
        shifted = self._centres - centre
        both = xp.concat([shifted, shifted**2], axis=1)
        sums = self._by_blocks(X, lambda rows: self.weights_at(X[rows, :]) @ both)
        first, second = sums[:, : self.n_outputs_], sums[:, self.n_outputs_ :]
        return first + centre, second - first**2 + xp.asarray(self._sigma**2)

    def _on_line(self, function: Callable, X, numbers: int = 1):
        """Apply a function to weights, centres and standard deviations of rows, and these; d_y = 1.

        Shapes (n, m), (1, m) and (1, 1).
        """
        mixture = self._centres.T, array_namespace(self._centres).asarray(self._sigma[None, :])

        def of(rows):
            return function((self.weights_at(X[rows, :]), *mixture), rows)

        return self._by_blocks(X, of, numbers)

    def _cdf(self, X, y):
        return self._on_line(lambda own, rows: mixture_cdf(*own, y[rows, None])[:, 0], X)

    def _cdf_at(self, X, y):
        below = self._components_below(y)
        return self._by_blocks(X, lambda rows: self.weights_at(X[rows, :]) @ below)

    def _by_blocks(self, X, function: Callable, numbers: int = 1):
        """Return what a function gives for blocks of rows of X, with so many numbers a centre."""
        return by_blocks(function, X.shape[0], self._centres.shape[0] * numbers, like=X)

    def _components_below(self, y: np.ndarray):
        """Return Φ((y - v_l)/σ), shape (m, q), at y (q,)."""
        y = array_namespace(self._centres).asarray(y)
        return normal_cdf((y[None, :] - self._centres) / float(self._sigma[0]))

    def _crps(self, X, y):
        xp, half_spread = array_namespace(X), self._half_spread()

        def of(own, rows):
            weights, centres, sigma = own
            distance = mean_distance(y[rows, None] - centres, sigma)
            return xp.sum(weights * distance, axis=1) - half_spread(weights)

        return self._on_line(of, X)

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
        return self._on_line(lambda own, _: mixture_quantile(*own, p), X, len(p))

    def _log_density(self, X, Y):
        return logsumexp(self._log_weights(X) + self._log_components(Y), axis=1)

    def _log_density_at(self, Y):
        log_components = self._log_components(Y)[None, :, :]

        def at(X):
            log_weights = self._log_weights(X)[:, None, :]

            def of(rows):
                return logsumexp(log_weights[rows, ...] + log_components, axis=2)

            return by_blocks(of, log_weights.shape[0], log_components.size, like=log_weights)

        return at

    def _draws(self, X, n, rng):
        """A component, then a Gaussian."""
        cumulative = np.cumsum(np.exp(to_numpy(self._log_weights(X))), axis=1)
        centres = to_numpy(self._centres)[drawn_places(cumulative, n, rng)]
        return centres + self._sigma * rng.standard_normal(centres.shape)

    def _log_components(self, Y):
        return log_gaussian_kernel(Y, self._centres, self._sigma) - log_volume(self._sigma)

    def _proposal(self):
        centres = to_numpy(self._centres)
        spread = np.hypot(centres.std(axis=0), self._sigma)
        return GaussianProposal(centres.mean(axis=0), 2.0 * spread)

    def _integrated(self, f, X):
        if not is_wide(self._support()):
            return super()._integrated(f, X)
        # A component at a time: the centres are too far apart for nodes that all share.
        xp, sigma = array_namespace(X), float(self._sigma[0])
        rule = equal(-_REACH * sigma, _REACH * sigma, 4 * int(_REACH))
        bump = np.exp(-0.5 * (rule.nodes / sigma) ** 2)
        share = xp.asarray(rule.weights * bump / (np.sqrt(2.0 * np.pi) * sigma))

        def of(rows):
            Y = self._centres[rows, :] + xp.asarray(rule.nodes[None, :])
            return sum_over(f, Y[:, :, None], share)

        return self.weights_at(X) @ by_blocks(of, self._centres.shape[0], rule.nodes.size, like=X)

    def _pieces(self):
        sigma = float(self._sigma[0])
        return neighbourhoods(self._centres, _REACH * sigma, sigma)

    def _support(self):
        centres, sigma = to_numpy(self._centres), float(self._sigma[0])
        margin = _REACH * sigma
        return float(centres.min()) - margin, float(centres.max()) + margin, sigma


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
        return self._signed_weights(X)

    def density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> Σ_l w_l(x) N(y; v_l, σ²), shape (n, q), at Y (q, d_y).

        Signed weights make it negative in places.
        """
        if self.weights != "signed":
            return super().density_at(Y)
        components = array_namespace(Y).exp(self._log_components(Y))
        return lambda X: self.weights_at(X) @ components.T

    def _log_density(self, X, Y):
        if self.weights != "signed":
            return super()._log_density(X, Y)
        weights = self.weights_at(X)
        xp = array_namespace(weights)

        def of(rows):
            return xp.sum(weights[rows, :] * xp.exp(self._log_components(Y[rows, :])), axis=1)

        return log_where_positive(self._by_blocks(Y, of))

    def _log_density_at(self, Y):
        if self.weights != "signed":
            return super()._log_density_at(Y)
        at = self.density_at(Y)
        return lambda X: log_where_positive(at(X))

    def _require_distribution(self):
        super()._require_distribution()
        if self.weights == "signed":
            raise ValueError(
                "signed weights make no distribution function, as the estimate is negative in "
                'places; fit with weights="clipped" or "projected", or draw with sample'
            )

    def _draws(self, X, n, rng):
        """In proportion to the positive part of p(y|x), where weights are signed."""
        if self.weights != "signed":
            return super()._draws(X, n, rng)
        if self.n_outputs_ == 1:
            return ConditionalDensity._draws(self, X, n, rng)
        centres = to_numpy(self._centres)
        weights = to_numpy(self._signed_weights(X))
        return np.stack([_reject(w, centres, self._sigma, n, rng) for w in weights])


def divided_by_sums(weights, remedy: str, *, negative: bool = False):
    """Return weights (n, m) divided by the sums of their rows; see `check_sums`."""
    total = array_namespace(weights).sum(weights, axis=1, keepdims=True)
    check_sums(total, remedy, negative=negative)
    return weights / total


def log_positive_shares(weights, remedy: str):
    """Return the logarithms of weights (n, m) over the sums of their rows, negative ones as 0."""
    positive = array_namespace(weights).maximum(weights, 0.0)
    return log_where_positive(divided_by_sums(positive, remedy))


def check_sums(total, remedy: str, *, negative: bool = False) -> None:
    """Raise `FloatingPointError` unless sums of weights, shape (n, 1), are positive and finite.

    `negative` allows negative sums, which reverse the sign of the estimate, with a warning.
    """
    xp, n = array_namespace(total), total.shape[0]
    bad = ~((total > 0.0) & xp.isfinite(total))
    count = int(xp.sum(xp.astype(bad, xp.int64)))
    if not count:
        return
    if not (negative and bool(xp.all(xp.isfinite(total) & (total != 0.0)))):
        raise FloatingPointError(f"at {count} of {n} x no sum of weights is positive; {remedy}")
    log.warning(
        "at %d of %d x the sum of weights is negative, which reverses the estimate's sign", count, n
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
            said = f"{count} of {proposed} proposals were accepted: the weights cancel each other"
            remedy = 'raise output_regularization, or take weights="clipped"'
            raise FloatingPointError(f"{said}; {remedy}")
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
