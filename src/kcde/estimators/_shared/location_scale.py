"""Densities of one y with a location and a scale: base densities, and floors under others."""

from dataclasses import dataclass
from math import lgamma, log, pi, sqrt

import numpy as np
from scipy.special import beta, ndtri, stdtr, stdtrit

from kcde.arrays import array_namespace, normal_cdf, to_numpy
from kcde.estimators._shared.gaussian_mixtures import normal_crps

_NODES = 200


@dataclass(frozen=True)
class LocationScale:
    """A density symmetric around a location.

    Attributes
    ----------
    location, scale
        In the units of y.
    """

    location: float
    scale: float

    def log_density(self, y):
        """Return the log density, nats, elementwise."""
        raise NotImplementedError

    def cdf(self, y):
        """Return P(Y ≤ y), elementwise."""
        raise NotImplementedError

    def crps(self, y):
        """Return ∫ (F(z) - 1{y ≤ z})² dz, elementwise, in the units of y."""
        raise NotImplementedError

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, elementwise."""
        raise NotImplementedError

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return independent draws."""
        raise NotImplementedError

    def outside(self, lower: float, upper: float) -> float:
        """Return the mass outside an interval."""
        ends = np.array([lower, 2.0 * self.location - upper])
        return float(np.sum(self.cdf(ends)))

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points and weights, shape (k,), that integrate functions against the density.

        Gauss-Legendre in θ, where the distribution function is (1 + sin θ)/2.
        """
        node, weight = np.polynomial.legendre.leggauss(_NODES)
        theta = 0.5 * pi * node
        return self.quantile(0.5 + 0.5 * np.sin(theta)), 0.25 * pi * weight * np.cos(theta)

    def _z(self, y):
        return (y - self.location) / self.scale


@dataclass(frozen=True)
class Normal(LocationScale):
    """N(location, scale²)."""

    def log_density(self, y):
        """Return the log density, nats, elementwise."""
        return -0.5 * self._z(y) ** 2 - log(self.scale * sqrt(2.0 * pi))

    def cdf(self, y):
        """Return P(Y ≤ y), elementwise."""
        return normal_cdf(self._z(y))

    def crps(self, y):
        """Return ∫ (F(z) - 1{y ≤ z})² dz, elementwise, in the units of y."""
        return normal_crps(self._z(y)) * self.scale

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, elementwise."""
        return self.location + self.scale * ndtri(p)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return independent draws."""
        return self.location + self.scale * rng.standard_normal(shape)


@dataclass(frozen=True)
class StudentT(LocationScale):
    """Student's t with given degrees of freedom."""

    degrees: float

    def log_density(self, y):
        """Return the log density, nats, elementwise."""
        half, nu = 0.5 * (self.degrees + 1.0), self.degrees
        constant = lgamma(half) - lgamma(0.5 * nu) - 0.5 * log(nu * pi) - log(self.scale)
        return constant - half * array_namespace(y).log1p(self._z(y) ** 2 / nu)

    def cdf(self, y):
        """Return P(Y ≤ y), elementwise."""
        return array_namespace(y).asarray(stdtr(self.degrees, to_numpy(self._z(y))))

    def crps(self, y):
        """Return ∫ (F(z) - 1{y ≤ z})² dz, elementwise, in the units of y.

        For more than one degree of freedom (Jordan, Krüger and Lerch, J. Stat. Softw. 2019,
        appendix A).
        """
        xp, z, nu = array_namespace(y), self._z(y), self.degrees
        density = self.scale * xp.exp(self.log_density(y))
        spread = 2.0 * sqrt(nu) * beta(0.5, nu - 0.5) / ((nu - 1.0) * beta(0.5, 0.5 * nu) ** 2)
        inside = z * (2.0 * self.cdf(y) - 1.0) + 2.0 * density * (nu + z * z) / (nu - 1.0)
        return self.scale * (inside - spread)

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, elementwise."""
        return self.location + self.scale * stdtrit(self.degrees, p)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return independent draws."""
        return self.location + self.scale * rng.standard_t(self.degrees, shape)
