"""Densities that are the law of y = T_x(z), z standard normal: what follows from T alone."""

from abc import abstractmethod
from collections.abc import Callable
from math import log, pi

import numpy as np
from scipy.special import ndtri

from kcde.arrays import array_namespace, normal_cdf
from kcde.estimators._shared.mixture import normal_crps
from kcde.estimators._shared.rows import by_blocks
from kcde.estimators.base import ConditionalDensity
from kcde.seeding import generator, rng_of

_HERMITE_NODES = 64
DRAWS = 20_000
"""Stand for the normal of several dimensions."""


class Pushforward(ConditionalDensity):
    """Adds exact draws and expectations to a density with `_push(X, Z)`, T_x(z)."""

    @abstractmethod
    def _push(self, X, Z):
        """Return T_x(z), shape (n, k, d_y), for X (n, d_x) and z (n, k, d_y) or (1, k, d_y)."""

    @abstractmethod
    def _line(self, X) -> tuple:
        """Return a and b > 0, shape (n, 1), with T_x(z) = a + b z: for d_y = 1 that is all of T."""

    def _cdf(self, X, y):
        shift, scale = self._line(X)
        return normal_cdf((y[:, None] - shift) / scale)[:, 0]

    def _cdf_at(self, X, y):
        shift, scale = self._line(X)
        return normal_cdf((array_namespace(scale).asarray(y)[None, :] - shift) / scale)

    def _crps(self, X, y):
        shift, scale = self._line(X)
        return (scale * normal_crps((y[:, None] - shift) / scale))[:, 0]

    def _quantile(self, X, p):
        shift, scale = self._line(X)
        return shift + scale * array_namespace(X).asarray(ndtri(p))

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q), without renormalising.

        By Gauss-Hermite quadrature in z where d_y = 1, exact for polynomials of T_x up to degree
        127; otherwise the mean over 20,000 draws with a fixed seed, z and -z in turn.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).
        """
        X = self._check_features(X)
        xp = array_namespace(X)
        nodes, weights = normal_nodes(self.n_outputs_)
        nodes, weights = xp.asarray(nodes[None]), xp.asarray(weights)

        def of(rows):
            points = self._push(X[rows, :], nodes)
            values = f(xp.reshape(points, (-1, self.n_outputs_)))
            values = xp.reshape(values, (*points.shape[:2], -1))
            return xp.sum(weights[None, :, None] * values, axis=1)

        return by_blocks(of, X.shape[0], nodes.shape[1] * self.n_outputs_, like=X)

    def sample(self, X, n: int, random_state):
        """Draw from p(y|x) exactly, as T_x of normal draws; shape (n, k, d_y)."""
        rng, X = generator(random_state), self._check_features(X)
        xp = array_namespace(X)
        draws = rng.standard_normal((X.shape[0], n, self.n_outputs_))
        return self._push(X, xp.asarray(draws))


class NormalResiduals(Pushforward):
    """p(y|x) = N(m(x), diag s(x)²); `_line` of a subclass returns m, (n, d), and s, (n or 1, d)."""

    def mean(self, X):
        """Return E[Y|x] = m(x), shape (n, d_y), for X (n, d_x)."""
        return self._line(self._check_features(X))[0]

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return _log_normal(Y, *self._line(X))

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._check_outputs(Y)[None, :, :]

        def at(X):
            mean, std = self._line(self._check_features(X))
            return _log_normal(Y, mean[:, None, :], std[:, None, :])

        return at

    def _push(self, X, Z):
        mean, std = self._line(X)
        return mean[:, None, :] + std[:, None, :] * Z


def _log_normal(Y, mean, std):
    xp = array_namespace(std)
    terms = 0.5 * ((Y - mean) / std) ** 2 + xp.log(std) + 0.5 * log(2.0 * pi)
    return -xp.sum(terms, axis=-1)


def normal_nodes(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points (k, d) and weights (k,) that stand for a standard normal."""
    if dimension == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
        return nodes[:, None], weights / np.sqrt(2.0 * np.pi)
    half = rng_of("expectation").standard_normal((DRAWS // 2, dimension))
    return np.concatenate([half, -half]), np.full(DRAWS, 1.0 / DRAWS)
