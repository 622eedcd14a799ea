"""Base densities of one y, and (1 - ε) p(y|x) + ε q(y): a density p with such a floor q."""

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from math import lgamma, log, log1p, pi, sqrt

import numpy as np
from scipy.special import beta, ndtri, stdtr, stdtrit

from kcde.arrays import array_namespace, normal_cdf, to_numpy
from kcde.estimators._shared.mixture import normal_crps
from kcde.estimators._shared.pushforward import normal_nodes
from kcde.estimators._shared.rows import by_blocks
from kcde.estimators._shared.tabulated import mixture_root
from kcde.estimators.base import ConditionalDensity

_NODES = 200


@dataclass(frozen=True)
class LocationScale:
    """A density symmetric around a location, in the units of y.

    A subclass has elementwise `log_density`, `cdf`, `crps` and `quantile`, and `sample`.
    """

    location: float
    scale: float

    def outside(self, lower: float, upper: float) -> float:
        """Return the mass outside an interval."""
        return float(np.sum(self.cdf(np.array([lower, 2.0 * self.location - upper]))))

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
        return self.scale * (inside - float(spread))

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, elementwise."""
        return self.location + self.scale * stdtrit(self.degrees, p)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Return independent draws."""
        return self.location + self.scale * rng.standard_t(self.degrees, shape)


def heavy_floor(location: float, scale: float) -> StudentT:
    """Return the floor of which a row far out costs little: the mean of y still exists."""
    return StudentT(location, scale, degrees=2.0)


_MOST, _MOST_ROWS = 0.01, 10.0  # of ε, and of nε: what a floor takes off a log-likelihood
_ROW_NUMBERS = 1000  # held for a row of x while its quantiles are searched, about


def weight_of_floor(rows: int) -> float:
    """Return ε for a fit to so many rows: 0.01, from 1000 rows on 10/n."""
    return min(_MOST, _MOST_ROWS / rows)


class Floored(ConditionalDensity):
    """Adds density, distribution, expectations and draws of the mixture.

    A subclass sets `weight_`, ε in (0, 1), as it is fitted; it has `_inside`, the fitted p; and
    `_floor`, the density of each y in q, independent of the others.
    """

    weight_: float
    _floor: LocationScale

    @property
    @abstractmethod
    def _inside(self) -> ConditionalDensity:
        """The fitted p."""

    def _set_weight(self, weight: float) -> None:
        if not 0 < weight < 1:
            raise ValueError(f"weight must lie in (0, 1); got {weight!r}")
        self.weight_ = weight

    def _log_density(self, X, Y):
        return self._mixed(self._inside.log_density(X, Y), self._log_floor(Y))

    def _log_density_at(self, Y):
        at, floor = self._inside.log_density_at(Y), self._log_floor(Y)[None, :]
        return lambda X: self._mixed(at(X), floor)

    def _mixed(self, log_density, log_floor):
        xp = array_namespace(log_floor)
        return xp.logaddexp(log1p(-self.weight_) + log_density, log(self.weight_) + log_floor)

    def _log_floor(self, Y):
        return array_namespace(Y).sum(self._floor.log_density(Y), axis=1)

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), for X (n, d_x), or None without x: one row."""
        return (1.0 - self.weight_) * self._inside.mean(X) + self.weight_ * self._floor.location

    def variance(self, X):
        """Return the variance of each y, shape (n, d_y); of p alone under a floor without one."""
        inside = self._inside
        if not isinstance(self._floor, Normal):
            return inside.variance(X)
        within = inside.variance(X) + self.weight_ * (inside.mean(X) - self._floor.location) ** 2
        return (1.0 - self.weight_) * within + self.weight_ * self._floor.scale**2

    def _expectation(self, f, X):
        """That of p, and of the floor: by quadrature where d_y = 1, otherwise over 20,000 draws."""
        xp = array_namespace(X)
        nodes, weights = self._floor_nodes()
        below = xp.asarray(weights) @ f(xp.asarray(nodes))
        inside = self._inside.conditional_expectation(f, X)
        return (1.0 - self.weight_) * inside + self.weight_ * below[None, :]

    def _floor_nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return points (k, d_y) and weights (k,) that stand for the floor."""
        if isinstance(self._floor, Normal):
            nodes, weights = normal_nodes(self.n_outputs_)
            return self._floor.location + self._floor.scale * nodes, weights
        nodes, weights = self._floor.nodes()
        return nodes[:, None], weights

    def _draws(self, X, n, rng):
        xp = array_namespace(X)
        draws = self._inside.sample(X, n, rng)
        below = self._floor.sample(tuple(draws.shape), rng)
        taken = rng.random((X.shape[0], n, 1)) < self.weight_
        return xp.where(xp.asarray(taken), xp.asarray(below), draws)

    def _require_distribution(self):
        super()._require_distribution()
        self._inside._require_distribution()

    def _cdf(self, X, y):
        return (1.0 - self.weight_) * self._inside._cdf(X, y) + self.weight_ * self._floor.cdf(y)

    def _cdf_at(self, X, y):
        inside = self._inside._cdf_at(X, y)
        floor = array_namespace(inside).asarray(self._floor.cdf(y))
        return (1.0 - self.weight_) * inside + self.weight_ * floor[None, :]

    def _crps(self, X, y):
        return self._cdf_and_crps(X, y)[1]

    def _cdf_and_crps(self, X, y):
        # The CRPS of a mixture is the mean of those of its parts, less ε (1 - ε) ∫ (P - Q)² dz.
        cdf, crps = self._inside._cdf_and_crps(X, y)
        nodes, weights = self._floor.nodes()
        weights = weights * np.exp(-self._floor.log_density(nodes))
        inside = self._inside._cdf_at(X, nodes)
        xp = array_namespace(inside)
        apart = (inside - xp.asarray(self._floor.cdf(nodes))) ** 2 @ xp.asarray(weights)
        cdf = (1.0 - self.weight_) * cdf + self.weight_ * self._floor.cdf(y)
        crps = (1.0 - self.weight_) * (crps - self.weight_ * apart)
        return cdf, crps + self.weight_ * self._floor.crps(y)

    def _quantile(self, X, p):
        xp = array_namespace(X)
        level, quantile = (xp.asarray(each)[None, :] for each in (p, self._floor.quantile(p)))

        def floor(y):
            return self._floor.cdf(y), xp.exp(self._floor.log_density(y))

        def of(rows):
            inside, cdf = self._inside._quantile_and_cdf(X[rows, :], p)
            parts = (1.0 - self.weight_, inside, cdf), (self.weight_, quantile, floor)
            return mixture_root(parts, level, inside, 1e-12 * self._floor.scale)

        return by_blocks(of, X.shape[0], _ROW_NUMBERS, like=X)


def without_floor(model):
    """Return a fitted model, or its copy, in which each `Floored` is its p alone."""
    if isinstance(model, Floored):
        return model._inside
    changed = copy(model)
    if hasattr(model, "estimator_"):
        changed.estimator_ = without_floor(model.estimator_)
    if hasattr(model, "estimators_"):
        changed.estimators_ = [without_floor(each) for each in model.estimators_]
    return changed
