"""(1 - ε) p(y|x) + ε q(y): a conditional density p with a floor q under it."""

from abc import abstractmethod
from collections.abc import Callable
from math import log, log1p

import numpy as np

from kcde.arrays import array_namespace, row_blocks
from kcde.estimators._shared.location_scale import LocationScale, Normal
from kcde.estimators._shared.pushforward import normal_nodes
from kcde.estimators._shared.roots import increasing_root
from kcde.estimators.base import ConditionalDensity

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

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return self._mixed(self._inside.log_density(X, Y), self._log_floor(Y))

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._check_outputs(Y)
        at, floor = self._inside.log_density_at(Y), self._log_floor(Y)[None, :]
        return lambda X: self._mixed(at(self._check_features(X)), floor)

    def _mixed(self, log_density, log_floor):
        xp = array_namespace(log_floor)
        return xp.logaddexp(log1p(-self.weight_) + log_density, log(self.weight_) + log_floor)

    def _log_floor(self, Y):
        return array_namespace(Y).sum(self._floor.log_density(Y), axis=1)

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), for X (n, d_x), or None without x: one row."""
        X = self._check_features(X)
        return (1.0 - self.weight_) * self._inside.mean(X) + self.weight_ * self._floor.location

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q): that of p, and that of the floor.

        The latter by quadrature where d_y = 1, otherwise over 20,000 draws with a fixed seed.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).
        """
        X = self._check_features(X)
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

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from p(y|x), shape (n, n_samples, d_y): with chance ε from the floor."""
        X = self._check_features(X)
        xp = array_namespace(X)
        draws = self._inside.sample(X, n_samples, rng)
        below = self._floor.sample(tuple(draws.shape), rng)
        taken = rng.random((X.shape[0], n_samples, 1)) < self.weight_
        return xp.where(xp.asarray(taken), xp.asarray(below), draws)

    def _require_distribution(self):
        super()._require_distribution()
        self._inside._require_distribution()

    def _cdf(self, X, y):
        inside = self._inside._cdf(X, y)
        return (1.0 - self.weight_) * inside + self.weight_ * self._floor.cdf(y)

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
        crps = (1.0 - self.weight_) * (crps - self.weight_ * apart)
        return (
            (1.0 - self.weight_) * cdf + self.weight_ * self._floor.cdf(y),
            crps + self.weight_ * self._floor.crps(y),
        )

    def _quantile(self, X, p):
        # The quantile of a mixture lies between those of its parts.
        xp = array_namespace(X)
        inside = self._inside._quantile(X, p)
        if not X.shape[0]:
            return inside
        blocks = row_blocks(X.shape[0], _ROW_NUMBERS, like=X)
        return xp.concat(
            [self._block_of_quantiles(X[rows, :], inside[rows, :], p) for rows in blocks]
        )

    def _block_of_quantiles(self, X, inside, p):
        """Return the quantiles from those inside, whose distribution is kept meanwhile."""
        xp, cdf = array_namespace(X), self._inside._cdf_of(X)
        floor = self._floor.quantile(p)
        below = xp.asarray(np.broadcast_to(floor, tuple(inside.shape)).copy())
        ends = xp.minimum(inside, below), xp.maximum(inside, below)
        columns = [
            self._column_of_quantiles(X, cdf, value, *(end[:, i] for end in (*ends, inside)))
            for i, value in enumerate(p)
        ]
        return xp.stack(columns, axis=1)

    def _column_of_quantiles(self, X, cdf, p: float, lower, upper, start):
        xp, floor = array_namespace(X), self._floor

        def excess(y):
            slope = xp.exp(self.log_density(X, y[:, None]))
            return (1.0 - self.weight_) * cdf(y) + self.weight_ * floor.cdf(y) - p, slope

        return increasing_root(excess, lower, upper, start, 1e-12 * floor.scale)
