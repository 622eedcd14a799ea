"""Distribution functions by quadrature, of densities known up to a constant; their inverses."""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.polynomial import legendre

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.panels import NODES_PER_PANEL, Panels, refine, warn_of

_MOST_STEPS = 200
_FLAT = 1e-200
_ROUNDING = 1e-15


def increasing_root(excess: Callable, lower, upper, start, tolerance: float):
    """Return where increasing functions are zero: Newton's method, safeguarded by bisection.

    A Newton step that leaves the bracket, or is longer than half the step before, gives way to the
    middle of the bracket (Press et al., Numerical Recipes, section 9.4). So the steps halve at
    least, and some eight are enough as a rule.
    """
    xp = array_namespace(lower)
    at, before = xp.minimum(xp.maximum(start, lower), upper), upper - lower
    done = xp.zeros(at.shape, dtype=xp.bool)
    for _ in range(_MOST_STEPS):
        value, slope = excess(at)
        lower, upper = xp.where(value < 0.0, at, lower), xp.where(value < 0.0, upper, at)
        newton = at - value / xp.where(slope > _FLAT, slope, xp.ones_like(slope))
        good = (slope > _FLAT) & (newton >= lower) & (newton <= upper)
        good = good & (xp.abs(newton - at) <= 0.5 * before)
        moved = xp.where(good, newton, 0.5 * (lower + upper))
        moved = xp.where(done | (xp.abs(value) <= _ROUNDING), at, moved)
        before, at = xp.abs(moved - at), moved
        done = done | (before <= tolerance)
        if bool(xp.all(done)):
            break
    return at


def mixture_root(parts: Sequence[tuple], p, start, tolerance: float):
    """Return the p-quantiles of Σ_k w_k F_k, shape (n, k), which lie between those of the F_k.

    `parts` are w_k, the quantiles of F_k, and a function that gives F_k with its slope.
    """
    xp = array_namespace(start)

    def excess(y):
        found = [(weight, *cdf(y)) for weight, _, cdf in parts]
        value, slope = (sum(each[0] * each[i] for each in found) for i in (1, 2))
        return value - p, slope

    ends = (reduce(f, [each for _, each, _ in parts]) for f in (xp.minimum, xp.maximum))
    return increasing_root(excess, *ends, start, tolerance)


_MOST_PANELS = 1 << 12
FINE, COARSE = 1e-10, 1e-6
"""Accuracies of a distribution function: of `cdf`, and of what is integrated or counted."""

_NODE, _WEIGHT = legendre.leggauss(NODES_PER_PANEL)
# From values at the nodes to the Legendre series of their polynomial, and of its integral from -1.
_POWERS = legendre.legvander(_NODE, NODES_PER_PANEL - 1)
_SERIES = (np.arange(NODES_PER_PANEL)[:, None] + 0.5) * _POWERS.T * _WEIGHT
_INTEGRAL = legendre.legint(_SERIES, lbnd=-1)
_AT_NODES = legendre.legvander(_NODE, NODES_PER_PANEL) @ _INTEGRAL


class TabulatedCdf:
    """F(y|x) for rows of x from ten-point Gauss-Legendre panels, whose polynomials are integrated.

    The number of panels doubles until F at the ends of the panels changes by less than the
    tolerance at all x and the polynomials have converged, up to four thousand. Where they have not,
    those with mass are halved (`kcde.panels.refine`), for 32 rows at a time. Numpy arrays
    throughout.
    """

    def __init__(self, at: Callable, X, panels: Panels, tolerance: float = FINE):
        self._tables, finer = [_Table(at, X, panels)], panels
        error, most = np.inf, max(_MOST_PANELS, 2 * len(panels))
        while error > tolerance and len(finer) < most:
            before, finer = self._tables[0], finer.halved()
            self._tables = [_Table(at, X, finer)]
            change = np.max(np.abs(self._tables[0].ends[:, ::2] - before.ends), initial=0.0)
            error = max(change, self._tables[0].unresolved())
        if error > tolerance:
            parts = refine(at, X, panels, np.arange(X.shape[0]))
            self._tables = [_Table(at, take_rows(X, part.rows), part.panels) for part in parts]
            for part in parts:
                warn_of(part.unresolved, part.rows)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """Return F(y|x), shape (n, k), for y of shape (n, k)."""
        return self.cdf_and_density(y)[..., 0]

    def cdf_and_density(self, y: np.ndarray) -> np.ndarray:
        """Return F(y|x) and p(y|x), shape (n, k, 2), for y of shape (n, k)."""
        return self._by_table(_Table.cdf_and_density, y)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return ∫ (F(z|x) - 1{y ≤ z})² dz, shape (n, k), for y of shape (n, k)."""
        return self._by_table(_Table.crps, y)

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, shape (n, k), for p of shape (k,), or (n, k) of each row."""
        count = sum(map(len, self._tables))
        return self._by_table(_Table.quantile, np.broadcast_to(p, (count, np.shape(p)[-1])))

    def _by_table(self, of: Callable, values: np.ndarray) -> np.ndarray:
        """Return what a method of a table gives for its rows of values, for all tables."""
        parts = np.split(values, np.cumsum([len(table) for table in self._tables[:-1]], dtype=int))
        return np.concatenate([of(*each) for each in zip(self._tables, parts, strict=True)])


class _Table:
    """F of rows of x that share their panels."""

    def __init__(self, at: Callable, X, panels: Panels):
        self._panels = panels
        log_density = self._at_nodes(at, X)
        largest = np.max(log_density, axis=1, keepdims=True)
        if not np.all(np.isfinite(largest)):
            said = "at some x the density is zero on the whole range of y"
            raise FloatingPointError(f"{said}; keep to x near the training rows")
        density = np.exp(log_density - largest)
        shape = (len(density), len(panels), NODES_PER_PANEL)
        masses = (density * panels.weights).reshape(shape).sum(axis=2)
        ends = np.concatenate([np.zeros((len(masses), 1)), np.cumsum(masses, axis=1)], axis=1)
        self._density = density.reshape(shape) / ends[:, -1:, None]
        self.ends = ends / ends[:, -1:]
        self._half = 0.5 * (panels.upper - panels.lower)

    def _at_nodes(self, at: Callable, X) -> np.ndarray:
        xp, parts = array_namespace(X), self._panels.blocks()
        found = [to_numpy(at(xp.asarray(part.nodes[:, None]))(X)) for part in parts]
        return np.concatenate(found, axis=1)

    def __len__(self) -> int:
        return len(self._density)

    def unresolved(self) -> float:
        """Return the largest mass that the last two terms of a panel's series stand for.

        Where it is small, they are; a spike between the nodes of two rules makes both agree.
        """
        last = np.abs(self._density @ _SERIES[-2:].T).sum(axis=2)
        return float(np.max(self._half * last, initial=0.0))

    def cdf_and_density(self, y: np.ndarray) -> np.ndarray:
        """Return F(y|x) and p(y|x), shape (n, k, 2), for y of shape (n, k)."""
        lower = self._panels.lower
        panel = np.maximum(np.searchsorted(lower, y, side="right") - 1, 0)
        t = (y - lower[panel]) / self._half[panel] - 1.0
        value, slope = self._within(panel)(np.clip(t, -1.0, 1.0))
        row = np.arange(len(y))[:, None]
        value = np.clip(value, self.ends[row, panel], self.ends[row, panel + 1])
        slope = np.where(np.abs(t) <= 1.0, slope / self._half[panel], 0.0)
        return np.stack([value, slope], axis=-1)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return ∫ (F(z|x) - 1{y ≤ z})² dz, shape (n, k), for y of shape (n, k).

        By the rule of the panels for F² below y and (1 - F)² above it, the panel of y in two parts;
        between panels F is constant.
        """
        lower, upper = self._panels.lower, self._panels.upper
        found = self.ends[:, :-1, None] + self._half[:, None] * self._density @ _AT_NODES.T
        gap, behind = np.append(lower[1:] - upper[:-1], 0.0), self.ends[:, 1:]
        below, above = (
            np.cumsum(self._half * (inside**2 @ _WEIGHT) + gap * between**2, axis=1)
            for inside, between in ((found, behind), (1.0 - found, 1.0 - behind))
        )
        below = np.hstack([np.zeros((len(below), 1)), below[:, :-1]])
        above = above[:, -1:] - above + gap * (1.0 - behind) ** 2
        panel = np.maximum(np.searchsorted(lower, y, side="right") - 1, 0)
        row, half, value = np.arange(len(panel))[:, None], self._half[panel], self._within(panel)
        score = below[row, panel] + above[row, panel] + np.maximum(lower[0] - y, 0.0)
        past, level = np.maximum(y - upper[panel], 0.0), behind[row, panel]
        score += past * (level**2 - (1.0 - level) ** 2)
        share = np.clip(0.5 * (y - lower[panel]) / half, 0.0, 1.0)
        for node, weight in zip(0.5 * (_NODE + 1.0), _WEIGHT, strict=True):
            left, _ = value(2.0 * share * node - 1.0)
            right, _ = value(1.0 - 2.0 * (1.0 - share) * node)
            score += half * weight * (share * left**2 + (1.0 - share) * (1.0 - right) ** 2)
        return score

    def quantile(self, p: np.ndarray) -> np.ndarray:
        """Return the p-quantiles, shape (n, k), for p of shape (n, k)."""
        pairs = zip(self.ends, p, strict=True)
        panel = np.stack([np.searchsorted(ends[1:-1], row, side="right") for ends, row in pairs])
        value = self._within(panel)

        def excess(t):
            found, slope = value(t)
            return found - p, slope

        ends = np.ones(panel.shape)
        t = increasing_root(excess, -ends, ends, 0.0 * ends, 1e-12)
        return self._panels.lower[panel] + self._half[panel] * (t + 1.0)

    def _within(self, panel: np.ndarray) -> Callable:
        """Return F and its slope in t, which runs from -1 to 1 over a panel for each entry."""
        row = np.arange(len(panel))[:, None]
        density = self._half[panel][..., None] * self._density[row, panel]
        start = self.ends[row, panel]
        integral, series = density @ _INTEGRAL.T, density @ _SERIES.T

        def value(t):
            powers = legendre.legvander(t, NODES_PER_PANEL)
            slope = np.sum(series * powers[..., :-1], axis=-1)
            return start + np.sum(integral * powers, axis=-1), slope

        return value
