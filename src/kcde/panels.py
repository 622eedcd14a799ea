"""Composite Gauss-Legendre quadrature over one y: the rule that all conditional densities share.

A range is covered by panels of a width that resolves the density, with ten nodes each, which all
rows of x share. Where that leaves a row unresolved, `refine` halves the panels in which some row's
density still moves, and those alone. A range that is too wide for equal panels is covered where
the density can be, in the neighbourhood of its centres (`cover`).

Memory: rows of x and nodes go by blocks; a matrix of both has at most `AT_ONCE` numbers (512 MB),
one of nodes and whatever the density sums over is of at most `NODES_AT_ONCE` nodes.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcde.arrays import array_namespace, logsumexp, slices, take_rows, to_numpy

LogDensityAt = Callable[[object], Callable[[object], object]]

NODES_PER_PANEL = 10
WIDEST = 1 << 20
"""Panels of the width that resolves a density, or its pieces, beyond which a range is refused."""

MOST_EQUAL = 1 << 12
"""Panels above which a range is covered in pieces where the pieces are known."""

AT_ONCE = 1 << 26
NODES_AT_ONCE = 1 << 17

MOVED = 1e-4
"""Share of the mass that may be unresolved without a warning."""

_ROWS = 32  # refined together: each row brings panels of its own
_DEEPEST = 48  # halvings
_MOST_REFINED = 1 << 13  # panels
_SETTLED = 1e-11  # of the mass, a panel
_ROUNDING = 1e-7  # of the mass: where halving a panel no longer helps below this, rounding is left
_HIDDEN = 40.0  # nats below the whole mass that a rising panel may stay hidden

_numbers: ContextVar[np.ndarray | None] = ContextVar("numbers of the rows of x", default=None)

Support = tuple[float, float, float]
Pieces = list[tuple[float, float, float]]
"""Disjoint intervals in increasing order: lower end, upper end and panel width of each."""


class QuadratureWarning(RuntimeWarning):
    """An integral over y did not settle; the message says by how much, at which row of x."""


@dataclass(frozen=True)
class Panels:
    """Disjoint intervals with ten Gauss-Legendre nodes each.

    Attributes
    ----------
    lower, upper
        Ends, shape (p,), increasing.
    """

    lower: np.ndarray
    upper: np.ndarray

    def __len__(self) -> int:
        return len(self.lower)

    @cached_property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        node, weight = np.polynomial.legendre.leggauss(NODES_PER_PANEL)
        half = 0.5 * (self.upper - self.lower)[:, None]
        centre = 0.5 * (self.lower + self.upper)[:, None]
        return (centre + half * node).ravel(), (half * weight).ravel()

    @property
    def nodes(self) -> np.ndarray:
        """Shape (10 p,)."""
        return self._rule[0]

    @property
    def weights(self) -> np.ndarray:
        """Shape (10 p,), in the units of y."""
        return self._rule[1]

    def blocks(self) -> list["Panels"]:
        """Return the panels in parts of at most `NODES_AT_ONCE` nodes."""
        parts = slices(len(self), NODES_AT_ONCE // NODES_PER_PANEL)
        return [Panels(self.lower[part], self.upper[part]) for part in parts]

    def halved(self) -> "Panels":
        """Return twice as many panels, the two halves of each side by side."""
        middle = 0.5 * (self.lower + self.upper)
        ends = (self.lower, middle), (middle, self.upper)
        return Panels(*(np.stack(each, axis=1).ravel() for each in ends))


def panel_count(lower: float, upper: float, width: float) -> int:
    """Return how many panels of a width cover a range."""
    if not (upper - lower) / width <= WIDEST:
        raise ValueError(_too_wide(lower, upper, width))
    return max(1, int(np.ceil((upper - lower) / width)))


def panel_nodes(lower: float, upper: float, panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes (q,) and weights (q,) of the composite ten-point Gauss-Legendre rule."""
    return equal(lower, upper, panels)._rule


def box_quadrature(log_f, lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Return the log of an integral over a rectangle, and its error in nats.

    The product Gauss-Legendre rule is refined until it converges, from 4 panels a side up to 64;
    the error is the last change under doubling of the panels of each side.
    """
    value, change, panels = -np.inf, np.inf, 4
    while not change <= 1e-6 and panels <= 64:
        x, x_weight = panel_nodes(lower[0], upper[0], panels)
        y, y_weight = panel_nodes(lower[1], upper[1], panels)
        rows = [log_f(np.column_stack([np.full_like(y, each), y])) for each in x]
        log_rows = np.array([logsumexp(row + np.log(y_weight), axis=0) for row in rows])
        before, value = value, float(logsumexp(log_rows + np.log(x_weight), axis=0))
        change, panels = abs(value - before), 2 * panels
    return value, change


def equal(lower: float, upper: float, panels: int) -> Panels:
    """Return panels of one width over a range."""
    edges = np.linspace(lower, upper, panels + 1)
    return Panels(edges[:-1], edges[1:])


def is_wide(support: Support) -> bool:
    """Return whether a range is covered in pieces, not by equal panels."""
    lower, upper, width = support
    return not (upper - lower) / width <= MOST_EQUAL


def cover(support: Support, pieces: Pieces | None = None, finer: int = 1) -> Panels:
    """Return panels of a width that resolves the density over the range that carries it.

    `pieces` outside of which no density counts are taken instead of a range of more than four
    thousand panels; there are `finer` times as many.
    """
    lower, upper, width = support
    if pieces is None or not is_wide(support):
        return equal(lower, upper, finer * panel_count(*support))
    counts = [(a, b, int(np.ceil((b - a) / step))) for a, b, step in pieces]
    if sum(count for _, _, count in counts) > WIDEST:
        raise ValueError(_too_wide(lower, upper, width))
    panels = _joined([equal(a, b, finer * max(1, count)) for a, b, count in counts])
    if not np.all(panels.upper > panels.lower):
        raise ValueError(_too_wide(lower, upper, width))
    return panels


def _joined(parts: list[Panels]) -> Panels:
    """Return the panels of all parts, in their order."""
    return Panels(*(np.concatenate([getattr(p, end) for p in parts]) for end in ("lower", "upper")))


def neighbourhoods(centres, reach: float, width: float) -> Pieces:
    """Return the disjoint intervals that centres ± reach make, with panels of a width."""
    points = np.sort(np.ravel(to_numpy(centres)))
    first = np.flatnonzero(np.diff(points, prepend=-np.inf) > 2.0 * reach)
    lower, upper = points[first] - reach, points[np.append(first[1:], len(points)) - 1] + reach
    return [(a, b, width) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)]


def filled(pieces: Pieces, lower: float, upper: float, width: float) -> Pieces:
    """Return pieces with what they leave of an interval, in panels of another width."""
    found, start = [], lower
    for piece in pieces:
        if start < min(piece[0], upper):
            found.append((start, min(piece[0], upper), width))
        found.append(piece)
        start = max(start, piece[1])
    return [*found, (start, upper, width)] if start < upper else found


def mass_outside(pieces: Pieces, outside: Callable[[float, float], float]) -> float:
    """Return the mass of a density outside disjoint intervals, of which `outside` gives one's."""
    return max(0.0, 1.0 - sum(1.0 - outside(a, b) for a, b, _ in pieces))


def row_slices(n: int, width: int) -> list[slice]:
    """Return slices of n rows of x, at least one, for matrices with a row of `width` numbers."""
    return slices(n, max(1, AT_ONCE // width)) or [slice(0, 0)]


def log_mass(at: LogDensityAt, X, panels: Panels):
    """Return log ∫ f(y|x) dy over panels, shape (n,); `at(Y)(X)` is log f(Y|X), shape (n, q)."""
    xp, total = array_namespace(X), None
    for part in panels.blocks():
        nodes, log_weight = xp.asarray(part.nodes[:, None]), xp.asarray(np.log(part.weights))
        log_f = at(nodes)
        blocks = row_slices(X.shape[0], part.nodes.size)
        sums = [logsumexp(log_f(X[rows, :]) + log_weight[None, :], axis=1) for rows in blocks]
        found = xp.concat(sums)
        total = found if total is None else xp.logaddexp(total, found)
    return total


@dataclass(frozen=True)
class Refined:
    """What refinement of panels for some rows of x came to.

    Attributes
    ----------
    rows
        Row numbers, shape (k,).
    panels
        That resolve all of these.
    log_mass
        log ∫ f dy, shape (k,).
    unresolved
        Share of the mass that still moves, shape (k,).
    """

    rows: np.ndarray
    panels: Panels
    log_mass: np.ndarray
    unresolved: np.ndarray


def refine(
    at: LogDensityAt, X, panels: Panels, rows: np.ndarray, outside: float = 0.0
) -> list[Refined]:
    """Halve panels where the density has mass until its integral over each does not move.

    A panel of a row has settled when its halves agree with it to 1e-11 of the mass, and it cannot
    hide a peak between its nodes: log f is smooth, so that a panel whose mass no longer rises by
    more than a nat when it is halved, or is far below the rest, has none. Where halving no longer
    helps, rounding of log f is left. 32 rows share their panels.

    Parameters
    ----------
    at, X
        As in `log_mass`.
    panels
        To begin with.
    rows
        Row numbers of X, shape (k,).
    outside
        Mass of f outside the panels.

    Returns
    -------
    list of Refined
        For 32 rows after the others.
    """
    beyond = np.log(outside) if outside > 0.0 else -np.inf
    return [_refine_block(at, X, panels, rows[block], beyond) for block in slices(len(rows), _ROWS)]


def _refine_block(at, X, panels: Panels, rows: np.ndarray, beyond: float) -> Refined:
    x = take_rows(X, rows)
    mass = _masses(at, x, panels)
    moved_before = np.full(len(panels), np.inf)
    settled: list[Panels] = []
    done, unresolved = np.full(len(rows), -np.inf), np.zeros(len(rows))
    for depth in range(_DEEPEST + 1):
        halves = panels.halved()
        finer = _masses(at, x, halves)
        both = np.logaddexp(finer[:, ::2], finer[:, 1::2])
        # Without the mass outside, which would hide a peak that has not been found yet.
        total = np.logaddexp(done, _log_sum(both))[:, None]
        total = np.where(np.isfinite(total), total, 0.0)
        with np.errstate(invalid="ignore"):
            rise = np.where(np.isfinite(mass), both - mass, np.inf)
        rise = np.where(np.isfinite(both), rise, 0.0)
        moved = np.abs(np.exp(both - total) - np.exp(np.minimum(mass - total, _HIDDEN)))
        most = moved.max(axis=0)
        rounding = (most <= _ROUNDING) & (most > 0.25 * moved_before)
        hiding = (rise > 1.0) & (both + rise > total - _HIDDEN)
        open_panels = ((moved > _SETTLED).any(axis=0) & ~rounding) | hiding.any(axis=0)
        count = sum(map(len, settled)) + 2 * len(panels) + 2 * int(open_panels.sum())
        if depth == _DEEPEST or count > max(_MOST_REFINED, 4 * len(panels)):
            unresolved += np.where(open_panels, np.maximum(moved, hiding * 1.0), 0.0).sum(axis=1)
            open_panels[:] = False
        halves_open = np.repeat(open_panels, 2)
        settled.append(Panels(halves.lower[~halves_open], halves.upper[~halves_open]))
        done = np.logaddexp(done, _log_sum(both[:, ~open_panels]))
        if not open_panels.any():
            break
        panels = Panels(halves.lower[halves_open], halves.upper[halves_open])
        mass, moved_before = finer[:, halves_open], np.repeat(most[open_panels], 2)
    whole = np.logaddexp(done, beyond)
    inside = np.exp(np.where(np.isfinite(whole), done - whole, 0.0))
    every = _joined(settled)
    order = np.argsort(every.lower)
    panels = Panels(every.lower[order], every.upper[order])
    return Refined(rows, panels, whole, np.minimum(unresolved * inside, 1.0))


def _masses(at, x, panels: Panels) -> np.ndarray:
    """Return log ∫ f dy over each panel, shape (n, p), on the host."""
    xp, parts = array_namespace(x), []
    for part in panels.blocks():
        log_f = to_numpy(at(xp.asarray(part.nodes[:, None]))(x))
        terms = (log_f + np.log(part.weights)).reshape(len(log_f), len(part), NODES_PER_PANEL)
        parts.append(_log_sum(terms, axis=2))
    return np.concatenate(parts, axis=1)


def _log_sum(values: np.ndarray, axis: int = 1) -> np.ndarray:
    if not values.shape[axis]:
        return np.full(values.shape[:axis], -np.inf)
    with np.errstate(divide="ignore"):
        return logsumexp(values, axis=axis)


@contextmanager
def numbered(rows: np.ndarray) -> Iterator[None]:
    """Let warnings name rows of x by their numbers among the caller's, within another of it too."""
    outer = _numbers.get()
    token = _numbers.set(rows if outer is None else outer[rows])
    try:
        yield
    finally:
        _numbers.reset(token)


def warn_of(unresolved: np.ndarray, rows: np.ndarray | None = None) -> None:
    """Warn where a share of the mass is unresolved, of the row where it is largest."""
    beyond = ~(unresolved <= MOVED)
    if not np.any(beyond):
        return
    worst = int(np.argmax(np.where(np.isnan(unresolved), np.inf, unresolved)))
    row = worst if rows is None else int(rows[worst])
    numbers = _numbers.get()
    row = row if numbers is None else int(numbers[row])
    warnings.warn(
        f"the density at row {row} of x varies so fast with y that its integral is known to "
        f"{unresolved[worst]:.1g} of itself only, and to no better than {MOVED:g} at "
        f"{int(np.sum(beyond))} row(s): raise the regularization or the bandwidth of y",
        QuadratureWarning,
        stacklevel=3,
    )


def _too_wide(lower: float, upper: float, width: float) -> str:
    return (
        f"y runs from {lower:g} to {upper:g}, and its density varies over {width:g}: too wide "
        "to integrate over; rescale y, as standardize=True does, or take a larger bandwidth"
    )
