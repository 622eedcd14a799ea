"""Bandwidths and λ by held-out likelihood of the density that is scored."""

from copy import deepcopy
from functools import lru_cache
from functools import partial as bind
from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood import objective as likelihood
from kcde.estimators._shared.floored import LocationScale
from kcde.estimators._shared.marginal_likelihood import relevant_lengths
from kcde.panels import NODES_PER_PANEL
from kcde.selection import complement

WIDTHS_X = (0.4, 0.8, 1.6, 3.2, 6.4)
"""Candidates of σ_x, in √d standard deviations of x."""

WIDTHS_Y = (0.25, 0.5, 1.0, 2.0)
"""Candidates of σ_y, in standard deviations of y."""

REGULARIZATIONS = 10.0 ** -np.arange(9)
"""λ of a path, downwards: 1 to 1e-8."""

_RELEVANCE_FROM = 1000  # rows
_FADE, _SHARPEN, _STEPS = 2.2, 0.45, 3
_NARROWEST, _WIDEST = 0.1, 60.0  # of a column, in its standard deviations
_FINER, _ROUNDS = (0.7, 1.4), 5
_NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1))
_ABOVE = 200.0  # a path begins at the λ below so many times the best: two steps above it
_WORSE = 2  # values of λ in a row without a gain end a path
_GAIN = 1e-3  # nats
_ITERATIONS, _TOLERANCE = 15, 1e-5
_FEWEST_X, _MOST_X, _RANK_Y = 100, 400, 20  # ranks
_ROWS_A_RANK = 16
_MOST_FEATURES = 4_000_000  # rows of all fits of a candidate, times the rank of x
_FLOAT32_FROM = 300
_SPREAD_ROWS = 1000  # on which the curvature is measured, and which nodes have mass
_NEGLIGIBLE, _MISSED = 1e-7, 1e-5  # share of a density of a node, and of those left out
_MOVED, _FINEST = 1e-4, 4  # nats that more nodes may move the mean log Z; most times as many
_KEPT = 8  # bandwidths of x whose features are kept


class Widths(NamedTuple):
    """Bandwidths in standard deviations: of x one for each column, of y."""

    x: np.ndarray
    y: float


class Scored(NamedTuple):
    """A candidate: its held-out log densities (n_held,), mean over shuffles, and its best λ.

    Log densities are times the weights of their rows, whose mean is 1.
    """

    log_density: np.ndarray
    regularization: float

    @property
    def mean(self) -> float:
        """Mean held-out log density, nats."""
        return float(self.log_density.mean())

    def gains(self, other: "Scored") -> bool:
        """Return whether it is better than another by more than a standard error."""
        difference = self.log_density - other.log_density
        return difference.mean() > difference.std(ddof=1) / sqrt(len(difference))


class HeldOut:
    """Rows of a selection, with their weights, and those held out in each of K folds."""

    def __init__(self, X, y, weights, folds, base, floor: LocationScale, weight: float):
        self.X, self.y, self.folds, self.weight, self.base = X, y, folds, weight, base
        self._given = y, weights, folds, base, floor, weight
        self._weights = weights
        self.kept = [complement(rows, X.shape[0]) for rows in folds]
        self.held = np.concatenate(folds)
        most = min(X.shape[0] // _ROWS_A_RANK, _MOST_FEATURES // sum(map(len, self.kept)))
        self.ranks = int(np.clip(most, _FEWEST_X, _MOST_X)), _RANK_Y
        self.finer: dict[float, int] = {}  # times as many panels as some candidate needed, by λ
        values = array_namespace(X).asarray(y[:, 0])
        self.log_base, self.log_floor = (to_numpy(q.log_density(values)) for q in (base, floor))
        # Not bound to `self`: of a cycle the features would stay in memory for a while.
        self.inputs = lru_cache(_KEPT)(bind(_inputs, X))

    def in_asinh_scale(self) -> "HeldOut":
        """Return the same rows with x in an `AsinhScale`."""
        return HeldOut(likelihood.AsinhScale.of(self.X)(self.X), *self._given)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the weights of some rows with mean 1."""
        return self._weights[rows] / self._weights[rows].mean()

    def relevance(self, seed: int) -> np.ndarray:
        """Return the ratios of the bandwidths of a Gaussian process with the same y, shape (d,)."""
        return relevant_lengths(self.X, self.y[:, 0], np.random.default_rng(seed))

    def path(self, widths: Widths, ranks, regularizations, seed: int) -> Scored:
        """Return the scores of the best λ of a decreasing sequence, each from the last Θ on.

        The sequence ends where two in a row gain nothing.
        """
        problem = _Problem(self, widths, ranks, seed)
        theta, best, worse = np.zeros(problem.shape), None, 0
        for value in regularizations:
            theta = problem.fit(theta, value)
            found = Scored(problem.held_out(theta), float(value))
            worse = 0 if best is None or found.mean > best.mean + _GAIN else worse + 1
            if best is None or found.mean > best.mean:
                best = found
            if worse >= _WORSE:
                break
        return best


def _type_for(rows):
    xp = array_namespace(rows)
    return xp.float32 if rows.shape[0] >= _FLOAT32_FROM else xp.float64


def _inputs(X, widths: tuple[float, ...], rank: int, seed: int) -> tuple:
    """Return φ of the rows, and the generator that chose the centres, to go on from."""
    rng = np.random.default_rng(seed)
    features = likelihood.KernelFeatures(X, np.array(widths), rank, rng)
    return features.by_blocks(X, _type_for(X)), rng


class _Outputs:
    """Features of y, ψ of the rows, and nodes."""

    def __init__(self, y, base: LocationScale, width: float, rank: int, rng: np.random.Generator):
        ends = to_numpy(y)
        self._ends = float(ends.min()), float(ends.max())
        self._base, self._like, self._grids = base, y, {}
        self.features = likelihood.KernelFeatures(y, width, rank, rng)
        self.psi = self.features.by_blocks(y, _type_for(y))
        self._span = likelihood.support(*self._ends, self.features, base)

    def grid(self, finer: int) -> likelihood.OutputGrid:
        """Return the nodes of so many times the panels."""
        if finer not in self._grids:
            grid = likelihood.output_grid(self.features, self._base, self._span, self._like, finer)
            self._grids[finer] = grid.astype(self.psi.dtype)
        return self._grids[finer]

    def between_ends(self, finer: int) -> slice:
        """Return the nodes from the smallest to the largest y."""
        panels, _ = likelihood.output_panels(self.features, self._base, self._span, finer)
        return slice(*np.searchsorted(panels.nodes, self._ends).tolist())


class _Problem:
    """One candidate: features of all rows, whose inner products the bandwidths make."""

    finer = 1
    """Times as many panels as the kernel and q_0 need."""

    def __init__(self, rows: HeldOut, widths: Widths, ranks, seed: int):
        self._rows = rows
        # Candidates with the same σ_x share φ.
        self._phi, rng = rows.inputs(tuple(map(float, widths.x)), ranks[0], seed)
        self._y = _Outputs(rows.y, rows.base, widths.y, ranks[1], deepcopy(rng))
        psi = self._y.psi
        kept = [take_rows(self._phi, kept) for kept in rows.kept]
        weights = [rows.weights_of(kept) for kept in rows.kept]
        parts = zip(rows.kept, weights, strict=True)
        own = [likelihood.weighted(take_rows(psi, kept), each) for kept, each in parts]
        pairs = zip(kept, own, strict=True)
        self._cross = np.stack([to_numpy(phi.T @ each) / each.shape[0] for phi, each in pairs])
        # Without columns of x φ is the same in all rows: one stands for them.
        self._one = not rows.X.shape[1]
        self._kept = [phi[:1, :] for phi in kept] if self._one else kept
        self._weights = np.ones(len(kept)) if self._one else np.concatenate(weights)
        self._preconditioner = likelihood.Preconditioner.of_rows(self._phi, psi)
        self.shape = self._cross.shape
        step = rows.X.shape[0] if self._one else -(-rows.X.shape[0] // _SPREAD_ROWS)
        self._some = self._phi[::step, :]
        self._held_phi = [to_numpy(take_rows(self._phi, held)) for held in rows.folds]
        self._held_psi = to_numpy(take_rows(psi, rows.held))
        self._last: tuple[np.ndarray, likelihood.Spread] | None = None

    def fit(self, theta: np.ndarray, regularization: float) -> np.ndarray:
        """Return Θ of each fold, shape (K, r_x, r_y), from a start.

        There are as many nodes as the densities of the rows held out need. Nodes beyond all y that
        have no share in any density at the start take no part, unless Θ has moved mass there: then
        all of them do, from that Θ on.
        """
        needed = self._rows.finer
        self._refine(needed.get(regularization, 1))
        while True:
            here, grid = self._spread(theta), self._y.grid(self.finer)
            near = _with_mass(here.largest, self._y.between_ends(self.finer))
            theta = self._minimised(theta, regularization, here, grid.part(near))
            here = self._spread(theta)
            # Not as a difference of sums of all, whose rounding in float32 is as large.
            if np.delete(here.largest[:-1], near).sum() > _MISSED:
                theta = self._minimised(theta, regularization, here, grid)
            if self.finer == _FINEST or not self._needs_more_nodes(theta):
                needed[regularization] = self.finer
                return theta
            self._refine(2 * self.finer)

    def _refine(self, finer: int) -> None:
        if finer > self.finer:
            self.finer, self._last = finer, None

    def _needs_more_nodes(self, theta: np.ndarray) -> bool:
        coefficients = self._coefficients(theta)
        grids = self.finer, self._finest
        coarse, fine = (self._log_normalisers(coefficients, finer) for finer in grids)
        return float(np.mean(np.abs(fine - coarse))) > _MOVED

    def _minimised(self, theta, regularization: float, here: likelihood.Spread, grid) -> np.ndarray:
        counts = [phi.shape[0] for phi in self._kept]
        sums = likelihood.Sums(self._kept, grid, self._weights)
        objective = likelihood.Objective(sums, self._cross, counts)
        options = {"iterations": _ITERATIONS, "tolerance": _TOLERANCE}
        given = theta, self._preconditioner.at(here.covariance), regularization
        return likelihood.minimise(objective, *given, **options)[0]

    def _spread(self, theta: np.ndarray) -> likelihood.Spread:
        """Return the spread over y at Θ; that of the last Θ is kept, where the next fit starts."""
        if self._last is None or self._last[0] is not theta:
            self._last = theta, likelihood.spread(self._some, theta, self._y.grid(self.finer))
        return self._last[1]

    def held_out(self, theta: np.ndarray) -> np.ndarray:
        """Return log((1 - ε) p + ε floor) of the rows held out, mean over the folds of a row."""
        rows, coefficients = self._rows, self._coefficients(theta)
        inside = np.einsum("na,na->n", coefficients, self._held_psi)
        inside += rows.log_base[rows.held] - self._log_normalisers(coefficients, self._finest)
        floor = log(rows.weight) + rows.log_floor[rows.held]
        density = np.logaddexp(log1p(-rows.weight) + inside, floor)
        times = np.bincount(rows.held)
        found = np.bincount(rows.held, density)[times > 0] / times[times > 0]
        return rows.weights_of(np.flatnonzero(times)) * found

    @property
    def _finest(self) -> int:
        """As `finer`, of the rows held out: few, so that their nodes are never few."""
        return max(2 * self.finer, _FINEST)

    def _coefficients(self, theta: np.ndarray) -> np.ndarray:
        """Return φᵀΘ of the rows held out, each of its fold."""
        return np.concatenate([phi @ own for phi, own in zip(self._held_phi, theta, strict=True)])

    def _log_normalisers(self, coefficients: np.ndarray, finer: int) -> np.ndarray:
        grid, sizes = self._y.grid(finer), [phi.shape[0] for phi in self._held_phi]
        if self._one:
            coefficients = coefficients[np.cumsum([0, *sizes[:-1]]), :]
        xp, psi = array_namespace(grid.features), grid.features
        found = likelihood.log_normalisers_of(xp.asarray(coefficients, dtype=psi.dtype), grid)
        found = to_numpy(found).astype(np.float64)
        return np.repeat(found, sizes) if self._one else found


def _with_mass(largest: np.ndarray, occupied: slice) -> slice:
    """Return the nodes from the first to the last that count, and a panel on either side."""
    found = np.flatnonzero(largest[:-1] > _NEGLIGIBLE).tolist()
    first = min([occupied.start, *found[:1]]) - NODES_PER_PANEL
    last = max([occupied.stop, *(place + 1 for place in found[-1:])]) + NODES_PER_PANEL
    return slice(max(0, first), min(last, len(largest) - 1))


def _isotropic(columns: int) -> list[np.ndarray]:
    return [np.full(columns, width * sqrt(max(columns, 1))) for width in WIDTHS_X]


class Search:
    """Coordinate search from the best isotropic candidate.

    σ_x and σ_y are first on a grid, the same σ_x for all standardised columns, on which the search
    goes from the middle to the best neighbour until none is better; from 1000 rows on (of fewer the
    ratios know too much of the rows held out) then on the same grid with the σ_x in the ratios of
    `HeldOut.relevance`; then each column's own σ is widened or narrowed. The last two while they
    gain more than a standard error of the paired difference, so that columns that say nothing fade
    and noise does not choose. In the end all σ_x and σ_y are refined together, in rounds, until a
    round gains nothing; so they are again with x in an `AsinhScale`, which is taken where that
    gains more than a standard error. λ is found on a path for each candidate: from
    1 down for the first of a grid, from a hundred times the best so far down for the others of it,
    and around the best for those that follow.
    """

    def __init__(self, rows: HeldOut, more: HeldOut, seed):
        self._grid_rows, self._rows, self._seed = rows, more, seed
        self._best: Scored | None = None
        self._widths: Widths | None = None
        self._count = 0
        self._given: float | None = None

    def run(self, given_x=None, given_y=None, regularization=None) -> tuple:
        """Return the widths chosen, their scores, and how many were compared; what is given stays.

        Last whether the widths of x are of x in an `AsinhScale`.
        The best is scored again before others are on another path of λ: a longer one leaves Θ at a
        small λ nearer to its optimum, so that nothing would ever be better than what it found.
        """
        columns, asinh = self._rows.X.shape[1], False
        self._given = regularization
        self._climb(_isotropic(columns) if given_x is None else [given_x], given_y)
        self._best = self._path(self._rows, self._widths, self._near())
        if given_x is None and columns > 1:
            if self._rows.X.shape[0] >= _RELEVANCE_FROM:
                self._follow_relevance(given_y)
            for column in range(columns):
                self._fit_column(column)
        self._refine(given_x, given_y)
        if given_x is None and columns:
            plain = self._rows, self._best, self._widths
            self._rows = self._rows.in_asinh_scale()
            self._best = self._path(self._rows, self._widths, self._near())
            self._refine(given_x, given_y)
            asinh = self._best.gains(plain[1])
            if not asinh:
                self._rows, self._best, self._widths = plain
        return self._widths, self._best, self._count, asinh

    def _climb(self, widths_x, given_y) -> None:
        """Go over the grid from its middle to the best neighbour, until none is better."""
        widths_y = WIDTHS_Y if given_y is None else [given_y]
        untried = {(i, j) for i in range(len(widths_x)) for j in range(len(widths_y))}
        place = len(widths_x) // 2, len(widths_y) // 2
        self._attempt(self._grid_rows, Widths(widths_x[place[0]], widths_y[place[1]]))
        self._best = self._path(self._grid_rows, self._widths, self._from_above())
        untried.remove(place)
        while around := untried & {(place[0] + i, place[1] + j) for i, j in _NEIGHBOURS}:
            for i, j in sorted(around):
                widths = Widths(widths_x[i], widths_y[j])
                if self._attempt(self._grid_rows, widths, self._from_above()):
                    place = i, j
            untried -= around

    def _follow_relevance(self, given_y) -> None:
        """Go over the grid again with σ_x in the ratios of a Gaussian process."""
        before = self._best, self._widths
        shape = self._rows.relevance(self._seed)
        self._best = self._widths = None
        self._climb([widths * shape for widths in _isotropic(len(shape))], given_y)
        self._best = self._path(self._rows, self._widths, self._near())
        if not self._best.gains(before[0]):
            self._best, self._widths = before

    def _fit_column(self, column: int) -> None:
        for factor in (_FADE, _SHARPEN):
            before = self._widths
            for _ in range(_STEPS):
                x, y = self._widths.x.copy(), self._widths.y
                # Of what is smoothed out a narrower width says nothing before it is on the grid.
                at = min(x[column], WIDTHS_X[-1] * sqrt(len(x))) if factor < 1.0 else x[column]
                x[column] = factor * at
                within = _NARROWEST < x[column] < _WIDEST
                if not (within and self._attempt(self._rows, Widths(x, y), self._near(), True)):
                    break
            if self._widths is not before:
                return

    def _refine(self, given_x, given_y) -> None:
        for _ in range(_ROUNDS):
            before = self._best.mean
            for factor in _FINER:
                if given_x is None and len(self._widths.x):
                    x, y = self._widths
                    self._attempt(self._rows, Widths(factor * x, y), self._near())
                if given_y is None:
                    x, y = self._widths
                    self._attempt(self._rows, Widths(x, factor * y), self._near())
            if self._best.mean <= before + _GAIN:
                break

    def _from_above(self) -> np.ndarray:
        """Return the path of λ from a little above the best so far."""
        return REGULARIZATIONS[_ABOVE * self._best.regularization > REGULARIZATIONS]

    def _near(self) -> np.ndarray:
        near = self._best.regularization * 10.0 ** np.array([1.0, 0.0, -1.0])
        return near[near >= 0.5 * REGULARIZATIONS[-1]]

    def _attempt(self, rows, widths, regularizations=REGULARIZATIONS, significant=False) -> bool:
        found = self._path(rows, widths, regularizations)
        better = self._best is None or (
            found.gains(self._best) if significant else found.mean > self._best.mean
        )
        if better:
            self._best, self._widths = found, widths
        return better

    def _path(self, rows: HeldOut, widths: Widths, regularizations) -> Scored:
        self._count += 1
        values = regularizations if self._given is None else [self._given]
        return rows.path(widths, rows.ranks, values, self._seed)
