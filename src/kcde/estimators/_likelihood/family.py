"""p(y|x) = q_0(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x) with given bandwidths, ranks and λ."""

import logging
from collections.abc import Callable
from functools import partial
from math import log10

import numpy as np

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.estimators._likelihood.features import (
    PIVOT_ROWS,
    KernelFeatures,
    output_grid,
    support,
)
from kcde.estimators._likelihood.objective import Objective, log_normalisers, mean_covariance
from kcde.estimators._likelihood.solver import minimise
from kcde.estimators._likelihood.sources import ArrayRows, FeatureRows, RowSource
from kcde.estimators._shared.location_scale import LocationScale
from kcde.estimators._shared.tabulated import FINE, TabulatedCdf
from kcde.estimators.base import ConditionalDensity
from kcde.normalisers import quadrature
from kcde.panels import filled, is_wide, mass_outside, numbered
from kcde.seeding import rng_of
from kcde.selection import subsample

log = logging.getLogger(__name__)

FLOAT32_FROM = 2000
"""Rows from which likelihoods are computed in float32."""

_FIRST, _FIRST_ITERATIONS = 1e-2, 15  # λ of the path on few rows, and iterations at each
_ITERATIONS, _TOLERANCE = 60, 1e-7
_CHECKED_ROWS, _REFINEMENTS = 2000, 4
_MOVED, _ROUNDED = 1e-4, 1e-4  # nats, of the mean
_NODES = 64  # numbers a row of blocks of the normaliser: some 10 MB with all nodes


class LowRankFamily(ConditionalDensity):
    """Penalised maximum likelihood in a space of low rank.

    See `LikelihoodKCEF`.

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
        Of L-BFGS, on the path and over all rows.
    """

    selection_rule = "nothing is chosen"

    def __init__(
        self,
        bandwidth_x,
        bandwidth_y,
        regularization,
        rank_x,
        rank_y,
        base,
        random_state=0,
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
        few = ArrayRows(X, Y)
        self._solve(source, few, xp.float32 if single else xp.float64)
        if single and (error := self._rounding(X)) > _ROUNDED:
            log.warning(
                "float32 moves the mean log normaliser by %.1g nats: fitting again in float64",
                error,
            )
            self._solve(source, few, xp.float64)
        return self

    def _solve(self, source: RowSource, few: RowSource, dtype) -> None:
        """Minimise over all rows, from where a path of λ on a few rows ends."""
        self.iterations_, self._finer = 0, 1
        X, _ = few.take(np.arange(min(len(few), _CHECKED_ROWS)))
        some, theta = self._x(X), np.zeros((1, self._x.rank, self._y.rank))
        # λ times the number of rows is that of all rows.
        last = self.regularization * len(source) / len(few)
        path = last * 10.0 ** np.arange(max(0, round(log10(_FIRST / last))), -1, -1)
        rows = FeatureRows(few, self._x, self._y, dtype)
        theta = self._improved(rows, some, theta, path, _FIRST_ITERATIONS)
        rows = FeatureRows(source, self._x, self._y, dtype)
        self.theta_ = self._improved(rows, some, theta, [self.regularization], _ITERATIONS)[0]

    def _improved(self, rows: FeatureRows, some, theta: np.ndarray, path, iterations: int):
        """Return Θ after some iterations at each λ, with as many nodes as the density needs.

        The curvature is that of Cov[ψ|x] under the last density, in the mean over some rows.
        """
        cross, preconditioner = rows.moments()
        options = {"iterations": iterations, "tolerance": _TOLERANCE}
        for regularization in path:
            while True:
                grid = self._grid(some)
                here = preconditioner.at(mean_covariance(some, theta, grid))
                sums = rows.sums(grid.astype(rows.dtype))
                objective = Objective(sums, cross[None], [len(rows)])
                found = minimise(objective, theta, here, regularization, **options)
                self.iterations_, theta = self.iterations_ + found.iterations, found.theta
                if not self._needs_more_nodes(some, theta):
                    break
                self._finer *= 2
        return theta

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
        """Return φ(x)ᵀ Θ, shape (n, r_y), by blocks of rows: φ of all would be the most memory."""
        xp = array_namespace(X)
        theta = xp.asarray(self.theta_)
        blocks = row_blocks(X.shape[0], 2 * self._x.rank, like=X)
        return xp.concat([self._x(X[rows, :]) @ theta for rows in blocks])

    def _at(self, Y) -> Callable:
        """Return a function from coefficients to log q_0(Y) + T, shape (n, q)."""
        psi, log_base = self._y(Y), self.base.log_density(Y[:, 0])
        return lambda coefficients: coefficients @ psi.T + log_base[None, :]

    def _log_normaliser(self, coefficients):
        span, pieces = self._span, None
        outside = self.base.outside(*span[:2])
        if is_wide(span):
            pieces = self._y.pieces(span[2])
            outside = mass_outside(pieces, self.base.outside)
        of = partial(quadrature, self._at, support=span, pieces=pieces, outside=outside)
        found = []
        # By blocks that the memory allocator keeps: larger ones the system would zero each time.
        for rows in row_blocks(coefficients.shape[0], _NODES, like=coefficients):
            with numbered(np.arange(rows.start, rows.stop)):
                found.append(of(coefficients[rows, :]).log_z)
        return array_namespace(coefficients).concat(found)

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

    def _log_relative_at(self, Y):
        at = self._at(self._check_outputs(Y))
        return lambda X: at(self._coefficients(X))

    def _tabulate_cdf(self, X, tolerance: float = FINE) -> TabulatedCdf:
        return TabulatedCdf(self._at, self._coefficients(X), self._panels(), tolerance)

    def _support(self):
        (lower, upper, width), (below, above) = self._span, self._base_ends()
        return min(lower, below), max(upper, above), width

    def _base_ends(self) -> tuple[float, float]:
        tail = 8.0 * self.base.scale
        return self.base.location - tail, self.base.location + tail

    def _pieces(self):
        return filled(self._y.pieces(self._span[2]), *self._base_ends(), self.base.scale)


def _range(source: RowSource) -> tuple[float, float]:
    """Return the smallest and the largest y."""
    ends = [(float(to_numpy(Y).min()), float(to_numpy(Y).max())) for _, Y in source.blocks()]
    return min(low for low, _ in ends), max(high for _, high in ends)
