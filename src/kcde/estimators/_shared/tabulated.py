"""Distribution functions by quadrature, and their inverses, of densities known up to a constant."""

import logging
from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._shared.roots import increasing_root
from kcde.normalisers import panel_count, panel_nodes

log = logging.getLogger(__name__)

_NODES = 10  # of a panel
_MOST_PANELS = 1 << 12
FINE, COARSE = 1e-10, 1e-6
"""Accuracies of a distribution function: of `cdf`, and of what is integrated or counted."""

_NODE, _WEIGHT = legendre.leggauss(_NODES)
# From values at the nodes to the Legendre series of their polynomial, and of its integral from -1.
_SERIES = (np.arange(_NODES)[:, None] + 0.5) * legendre.legvander(_NODE, _NODES - 1).T * _WEIGHT
_INTEGRAL = legendre.legint(_SERIES, lbnd=-1)
_AT_NODES = legendre.legvander(_NODE, _NODES) @ _INTEGRAL


class TabulatedCdf:
    """F(y|x) for rows of x from ten-point Gauss-Legendre panels, whose polynomials are integrated.

    The number of panels doubles until F at the ends of the panels changes by less than the
    tolerance at all x and the polynomials have converged; up to four thousand, where they have not
    with a warning.
    Numpy arrays throughout.

    Parameters
    ----------
    at
        `at(Y)(X)` is the log density up to a constant for each x, shape (n, q).
    X
        Shape (n, d_x).
    support
        Lower end, upper end and a panel width that resolves the density.
    tolerance
        Of F.

    Raises
    ------
    ValueError
        If the support is too wide for panels of that width.
    FloatingPointError
        If the density is nowhere positive on the support.
    """

    def __init__(
        self, at: Callable, X, support: tuple[float, float, float], tolerance: float = FINE
    ):
        panels = panel_count(*support)
        self._lower, upper, _ = support
        self._tabulate(at, X, upper, panels)
        error, most = np.inf, max(_MOST_PANELS, 2 * panels)
        while error > tolerance and panels < most:
            before, panels = self._ends, 2 * panels
            self._tabulate(at, X, upper, panels)
            change = np.max(np.abs(self._ends[:, ::2] - before), initial=0.0)
            error = max(change, self._unresolved())
        if error > tolerance:
            log.warning(
                "the densities vary within %.3g of y, so that distribution functions are computed "
                "to %.1g only; raise the regularization or the bandwidth",
                self._width,
                error,
            )

    def _tabulate(self, at, X, upper: float, panels: int):
        nodes, weights = panel_nodes(self._lower, upper, panels)
        log_density = to_numpy(at(array_namespace(X).asarray(nodes[:, None]))(X))
        largest = np.max(log_density, axis=1, keepdims=True)
        if not np.all(np.isfinite(largest)):
            raise FloatingPointError(
                "at some x the density is zero on the whole range of y; keep to x near the "
                "training rows"
            )
        density = np.exp(log_density - largest)
        shape = (len(density), panels, _NODES)
        masses = (density * weights).reshape(shape).sum(axis=2)
        ends = np.concatenate([np.zeros((len(masses), 1)), np.cumsum(masses, axis=1)], axis=1)
        self._density = density.reshape(shape) / ends[:, -1:, None]
        self._ends = ends / ends[:, -1:]
        self._width = (upper - self._lower) / panels

    def _unresolved(self) -> float:
        """Return the largest mass that the last two terms of a panel's series stand for.

        Where it is small, they are; a spike between the nodes of two rules makes both agree.
        """
        last = np.abs(self._density @ _SERIES[-2:].T).sum(axis=2)
        return 0.5 * self._width * float(np.max(last, initial=0.0))

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """Return F(y|x), shape (n, k), for y of shape (n, k)."""
        scaled = np.clip((y - self._lower) / self._width, 0.0, self._density.shape[1])
        panel = np.minimum(scaled.astype(int), self._density.shape[1] - 1)
        value, _ = self._within(panel)(2.0 * (scaled - panel) - 1.0)
        row = np.arange(len(y))[:, None]
        return np.clip(value, self._ends[row, panel], self._ends[row, panel + 1])

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return ∫ (F(z|x) - 1{y ≤ z})² dz, shape (n, k), for y of shape (n, k).

        By the rule of the panels for F² below y and (1 - F)² above it, the panel of y in two parts.
        """
        panels, half = self._density.shape[1], 0.5 * self._width
        found = self._ends[:, :-1, None] + half * self._density @ _AT_NODES.T
        below, above = (half * np.cumsum(g**2 @ _WEIGHT, axis=1) for g in (found, 1.0 - found))
        start = np.zeros((len(below), 1))
        below, above = np.hstack([start, below]), above[:, -1:] - np.hstack([start, above])
        scaled = np.clip((y - self._lower) / self._width, 0.0, panels)
        panel = np.minimum(scaled.astype(int), panels - 1)
        row, value = np.arange(len(panel))[:, None], self._within(panel)
        score = below[row, panel] + above[row, panel + 1]
        share = scaled - panel
        for node, weight in zip(0.5 * (_NODE + 1.0), _WEIGHT, strict=True):
            left, _ = value(2.0 * share * node - 1.0)
            right, _ = value(1.0 - 2.0 * (1.0 - share) * node)
            score += half * weight * (share * left**2 + (1.0 - share) * (1.0 - right) ** 2)
        return score + np.abs((y - self._lower) - self._width * scaled)

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, shape (n, k), for p of shape (k,)."""
        pairs = [np.searchsorted(ends[1:-1], p, side="right") for ends in self._ends]
        panel = np.stack(pairs)
        value = self._within(panel)

        def excess(t):
            found, slope = value(t)
            return found - p, slope

        ends = np.ones(panel.shape)
        t = increasing_root(excess, -ends, ends, 0.0 * ends, 1e-12)
        return self._lower + self._width * (panel + 0.5 * (t + 1.0))

    def _within(self, panel: np.ndarray) -> Callable:
        """Return F and its slope in t, which runs from -1 to 1 over a panel for each entry."""
        row = np.arange(len(panel))[:, None]
        density, start = 0.5 * self._width * self._density[row, panel], self._ends[row, panel]
        integral, series = density @ _INTEGRAL.T, density @ _SERIES.T

        def value(t):
            powers = legendre.legvander(t, _NODES)
            return start + np.sum(integral * powers, axis=-1), np.sum(
                series * powers[..., :-1], axis=-1
            )

        return value
