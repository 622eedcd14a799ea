"""p(y|x) = q_0(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x) with given bandwidths, ranks and λ."""

import logging
from collections.abc import Callable
from functools import partial as bind

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood.features import (
    PIVOT_ROWS,
    KernelFeatures,
    output_grid,
    support,
)
from kcde.estimators._likelihood.objective import Objective, log_normalisers
from kcde.estimators._likelihood.solver import minimise
from kcde.estimators._likelihood.sources import ArrayRows, FeatureRows, RowSource
from kcde.estimators._shared.location_scale import LocationScale
from kcde.estimators._shared.tabulated import TabulatedCdf
from kcde.estimators.base import ConditionalDensity
from kcde.normalisers import quadrature
from kcde.seeding import rng_of
from kcde.selection import subsample

log = logging.getLogger(__name__)

FLOAT32_FROM = 20_000
"""Rows from which likelihoods are computed in float32."""

_FIRST_ITERATIONS, _ITERATIONS, _TOLERANCE = 20, 60, 1e-7
_CHECKED_ROWS, _REFINEMENTS = 2000, 4
_MOVED, _ROUNDED = 1e-4, 1e-4  # nats, of the mean


class LowRankFamily(ConditionalDensity):
    """Penalised maximum likelihood in a space of low rank; see `LikelihoodKCEF`.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        In the units of x, one for each column, and of y.
    regularization
        λ.
    rank_x, rank_y
        Most centres.
    base
        q_0.
    random_state
        Seeds the choice of the centres.

    Attributes
    ----------
    theta_
        Θ, shape (r_x, r_y).
    iterations_
        Of L-BFGS, all refinements of the nodes together.
    """

    selection_rule = "nothing is chosen"

    def __init__(
        self, bandwidth_x, bandwidth_y, regularization, rank_x, rank_y, base, random_state=0
    ):
        self.bandwidth_x = bandwidth_x
        self.bandwidth_y = bandwidth_y
        self.regularization = regularization
        self.rank_x = rank_x
        self.rank_y = rank_y
        self.base: LocationScale = base
        self.random_state = random_state

    def _fit(self, X, Y):
        self.fit_rows(ArrayRows(X, Y))

    def fit_rows(self, source: RowSource) -> "LowRankFamily":
        """Fit to pairs that are read in blocks."""
        rng = rng_of("centres", self.random_state)
        n = len(source)
        X, Y = source.take(subsample(n, PIVOT_ROWS, rng))
        self._record_input(None, X, Y)
        self._x = KernelFeatures.of_rows(X, self.bandwidth_x, self.rank_x, rng, constant=True)
        self._y = KernelFeatures.of_rows(Y, self.bandwidth_y, self.rank_y, rng, constant=False)
        self._span = support(*_range(source), self.bandwidth_y, self.base.scale)
        xp = array_namespace(X)
        single = n >= FLOAT32_FROM
        self._solve(source, xp.float32 if single else xp.float64)
        if single and (error := self._rounding(X)) > _ROUNDED:
            log.warning(
                "float32 moves the mean log normaliser by %.1g nats: fitting again in float64",
                error,
            )
            self._solve(source, xp.float64)
        return self

    def _solve(self, source: RowSource, dtype) -> None:
        rows = FeatureRows(source, self._x, self._y, dtype)
        cross, preconditioner = rows.moments()
        some = rows.some(_CHECKED_ROWS)

        def improved(theta, iterations: int):
            grid = self._grid(some).astype(dtype)
            objective = Objective(bind(rows.partial, grid=grid), cross[None], [len(rows)])
            options = {"iterations": iterations, "tolerance": _TOLERANCE}
            found = minimise(objective, theta, preconditioner, self.regularization, **options)
            self.iterations_ += found.iterations
            return found.theta

        self.iterations_, self._finer = 0, 1
        # A few iterations show which nodes the density needs.
        theta = improved(np.zeros((1, *cross.shape)), _FIRST_ITERATIONS)
        while self._needs_more_nodes(some, theta):
            self._finer *= 2
        theta = improved(theta, _ITERATIONS)
        while self._needs_more_nodes(some, theta):
            self._finer *= 2
            theta = improved(theta, _ITERATIONS)
        self.theta_ = theta[0]

    def _grid(self, like, finer: int = 1):
        return output_grid(self._y, self.base, self._span, like, finer * self._finer)

    def _needs_more_nodes(self, some, theta: np.ndarray) -> bool:
        """Return whether twice as many nodes would move the mean log normaliser of some φ."""
        if self._finer >= 2**_REFINEMENTS:
            return False
        xp = array_namespace(some)
        coarse, fine = (log_normalisers(some, theta, self._grid(some, k)) for k in (1, 2))
        return float(xp.mean(xp.abs(fine - coarse))) > _MOVED

    def _rounding(self, X) -> float:
        """Return how far float32 moves the mean log normaliser of some rows."""
        xp = array_namespace(X)
        some = take_rows(X, subsample(X.shape[0], _CHECKED_ROWS, rng_of("rounding")))
        exact, single = (
            log_normalisers(self._x(some, dtype), self.theta_[None], self._grid(X).astype(dtype))
            for dtype in (xp.float64, xp.float32)
        )
        return float(abs(xp.mean(exact - xp.astype(single, xp.float64))))

    def _coefficients(self, X):
        """Return φ(x)ᵀ Θ, shape (n, r_y)."""
        return self._x(X) @ array_namespace(X).asarray(self.theta_)

    def _at(self, Y) -> Callable:
        """Return a function from coefficients to log q_0(Y) + T, shape (n, q)."""
        psi, log_base = self._y(Y), self.base.log_density(Y[:, 0])
        return lambda coefficients: coefficients @ psi.T + log_base[None, :]

    def _log_normaliser(self, coefficients):
        outside = self.base.outside(*self._span[:2])
        return quadrature(self._at, coefficients, self._span, outside=outside).log_z

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,)."""
        X, Y = self._check_pair(X, Y)
        coefficients = self._coefficients(X)
        inside = array_namespace(X).sum(coefficients * self._y(Y), axis=1)
        inside = inside + self.base.log_density(Y[:, 0])
        return inside - self._log_normaliser(coefficients)

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, 1)."""
        at = self._at(self._check_outputs(Y))

        def of(X):
            coefficients = self._coefficients(self._check_features(X))
            return at(coefficients) - self._log_normaliser(coefficients)[:, None]

        return of

    def _tabulate_cdf(self, X) -> TabulatedCdf:
        return TabulatedCdf(self._at, self._coefficients(X), self._support())

    def _support(self):
        lower, upper, width = self._span
        tail = 8.0 * self.base.scale
        return (
            min(lower, self.base.location - tail),
            max(upper, self.base.location + tail),
            width,
        )


def _range(source: RowSource) -> tuple[float, float]:
    """Return the smallest and the largest y."""
    ends = [(float(to_numpy(Y).min()), float(to_numpy(Y).max())) for _, Y in source.blocks()]
    return min(low for low, _ in ends), max(high for _, high in ends)
