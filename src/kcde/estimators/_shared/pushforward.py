"""Densities that are the law of y = T_x(z), z standard normal: what follows from T alone."""

from abc import abstractmethod
from math import log, pi

import numpy as np
from scipy.special import ndtri

from kcde.arrays import array_namespace, normal_cdf
from kcde.estimators._shared.mixture import normal_crps
from kcde.estimators._shared.rows import by_blocks, sum_over
from kcde.estimators.base import ConditionalDensity
from kcde.seeding import rng_of

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

    def _expectation(self, f, X):
        """By Gauss-Hermite quadrature in z where d_y = 1, otherwise over draws of z and -z in turn.

        The former is exact for polynomials of T_x up to degree 127.
        """
        xp = array_namespace(X)
        nodes, weights = normal_nodes(self.n_outputs_)
        nodes, weights = xp.asarray(nodes[None]), xp.asarray(weights)

        def of(rows):
            return sum_over(f, self._push(X[rows, :], nodes), weights)

        return by_blocks(of, X.shape[0], nodes.shape[1] * self.n_outputs_, like=X)

    def _draws(self, X, n, rng):
        draws = rng.standard_normal((X.shape[0], n, self.n_outputs_))
        return self._push(X, array_namespace(X).asarray(draws))


class NormalResiduals(Pushforward):
    """p(y|x) = N(m(x), diag s(x)²); `_line` of a subclass returns m, (n, d), and s, (n or 1, d)."""

    def mean(self, X):
        """Return E[Y|x] = m(x), shape (n, d_y), for X (n, d_x)."""
        return self._line(X)[0]

    def _log_density(self, X, Y):
        return _log_normal(Y, *self._line(X))

    def _log_density_at(self, Y):
        return lambda X: _log_normal(Y, *(part[:, None, :] for part in self._line(X)))

    def _push(self, X, Z):
        mean, std = self._line(X)
        return mean[:, None, :] + std[:, None, :] * Z


def _log_normal(Y, mean, std):
    xp = array_namespace(std)
    return -xp.sum(0.5 * ((Y - mean) / std) ** 2 + xp.log(std) + 0.5 * log(2.0 * pi), axis=-1)


def normal_nodes(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points (k, d) and weights (k,) that stand for a standard normal."""
    if dimension == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
        return nodes[:, None], weights / np.sqrt(2.0 * np.pi)
    half = rng_of("expectation").standard_normal((DRAWS // 2, dimension))
    return np.concatenate([half, -half]), np.full(DRAWS, 1.0 / DRAWS)
