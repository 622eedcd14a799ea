"""Bandwidths and λ by held-out likelihood of the density that is scored."""

from math import log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood.features import KernelFeatures, output_grid, support
from kcde.estimators._likelihood.objective import (
    Objective,
    log_normalisers,
    mean_covariance,
    partial,
)
from kcde.estimators._likelihood.score_matching import cell_width, score_moments
from kcde.estimators._likelihood.solver import Preconditioner, minimise
from kcde.estimators._shared.location_scale import LocationScale

WIDTHS_X = (0.4, 0.8, 1.6, 3.2, 6.4)
"""Candidates of σ_x, in √d standard deviations of x."""

WIDTHS_Y = (0.25, 0.5, 1.0, 2.0)
"""Candidates of σ_y, in standard deviations of y."""

REGULARIZATIONS = 10.0 ** -np.arange(9)
"""λ of a path, downwards: 1 to 1e-8."""

_FADE, _SHARPEN, _STEPS = 2.2, 0.45, 3
_NARROWEST, _WIDEST = 0.1, 60.0  # of a column, in its standard deviations
_FINER, _ROUNDS = (0.7, 1.4), 5
_NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1))
_ABOVE = 200.0  # a path begins at the λ below so many times the best: two steps above it
_WORSE = 2  # values of λ in a row without a gain end a path
_GAIN = 1e-3  # nats
_ITERATIONS, _TOLERANCE = 15, 1e-5
_RANKS = (100, 20)
_SCORE_RANKS = (60, 15)  # whose product is the size of the system that each λ factorises
_FLOAT32_FROM = 300
_CURVED_ROWS = 1000  # on which the curvature is measured


class Widths(NamedTuple):
    """Bandwidths in standard deviations: of x one for each column, of y."""

    x: np.ndarray
    y: float


class Scored(NamedTuple):
    """A candidate: its held-out log densities (n_held,), mean over shuffles, and its best λ."""

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
    """Rows of a selection, and those held out in each of K folds.

    Parameters
    ----------
    X, y
        Rows in standard units, shapes (n, d) and (n, 1).
    folds
        Row numbers held out.
    base, floor
        q_0, and what a share ε of is mixed in.
    weight
        ε.
    by_score
        Whether candidates are fitted by score matching, in place of maximum likelihood.
    """

    def __init__(
        self,
        X,
        y,
        folds,
        base: LocationScale,
        floor: LocationScale,
        weight: float,
        *,
        by_score: bool = False,
    ):
        xp = array_namespace(X)
        self._kind = _ScoreProblem if by_score else _Problem
        self.X, self.y, self.folds, self.weight, self.base = X, y, folds, weight, base
        self.dtype = xp.float32 if X.shape[0] >= _FLOAT32_FROM else xp.float64
        kept = np.ones((X.shape[0], len(folds)))
        for number, rows in enumerate(folds):
            kept[rows, number] = 0.0
        self.counts, self.kept = kept.sum(axis=0), xp.asarray(kept, dtype=self.dtype)
        values = xp.asarray(y[:, 0])
        self.log_base, self.log_floor = (to_numpy(q.log_density(values)) for q in (base, floor))

    def path(self, widths: Widths, ranks, regularizations, rng) -> Scored:
        """Return the scores of the best λ of a decreasing sequence, each from the last Θ on.

        The sequence ends where two in a row gain nothing.
        """
        problem = self._kind(self, widths, ranks, rng)
        theta, best, worse = np.zeros(problem.shape), None, 0
        for value in regularizations:
            try:
                theta = problem.fit(theta, value)
            except np.linalg.LinAlgError:
                # The system of score matching is singular for this λ and all below.
                if best is None:
                    raise
                break
            found = Scored(problem.held_out(theta), float(value))
            worse = 0 if best is None or found.mean > best.mean + _GAIN else worse + 1
            if best is None or found.mean > best.mean:
                best = found
            if worse >= _WORSE:
                break
        return best


class _Problem:
    """One candidate: features of all rows, whose inner products the bandwidths make."""

    def __init__(self, rows: HeldOut, widths: Widths, ranks, rng):
        self._rows = rows
        x = KernelFeatures.of_rows(rows.X, widths.x, ranks[0], rng, constant=True)
        y = KernelFeatures.of_rows(rows.y, widths.y, ranks[1], rng, constant=False)
        self._features = x, y
        self._phi, self._psi = x.by_blocks(rows.X, rows.dtype), y.by_blocks(rows.y, rows.dtype)
        ends = to_numpy(rows.y)
        span = support(float(ends.min()), float(ends.max()), widths.y, 1.0)
        self._grid, self._fine = (
            output_grid(y, rows.base, span, rows.X, finer).astype(rows.dtype) for finer in (1, 2)
        )
        cross = np.stack(
            [
                to_numpy(self._phi.T @ (self._psi * rows.kept[:, k : k + 1])) / rows.counts[k]
                for k in range(len(rows.folds))
            ]
        )
        # Not bound to `self`: of a cycle the features would stay in memory for a while.
        phi, grid = self._phi, self._grid
        self.objective = Objective(
            lambda theta: partial(phi, theta, grid, rows.kept), cross, rows.counts
        )
        self.preconditioner = Preconditioner.of_rows(self._phi, self._psi)
        self.shape = cross.shape
        self._some = self._phi[: min(_CURVED_ROWS, rows.X.shape[0]), :]

    def fit(self, theta: np.ndarray, regularization: float) -> np.ndarray:
        """Return Θ of each fold, shape (K, r_x, r_y), from a start."""
        options = {"iterations": _ITERATIONS, "tolerance": _TOLERANCE}
        preconditioner = self.preconditioner.at(mean_covariance(self._some, theta, self._grid))
        return minimise(self.objective, theta, preconditioner, regularization, **options)[0]

    def held_out(self, theta: np.ndarray) -> np.ndarray:
        """Return log((1 - ε) p + ε floor) of the rows held out, mean over the folds of a row."""
        rows, n = self._rows, self._phi.shape[0]
        total, times = np.zeros(n), np.zeros(n)
        for k, held in enumerate(rows.folds):
            phi, psi = take_rows(self._phi, held), take_rows(self._psi, held)
            log_z = to_numpy(log_normalisers(phi, theta[k : k + 1], self._fine))[:, 0]
            coefficients = to_numpy(phi) @ theta[k]
            inside = np.einsum("na,na->n", coefficients, to_numpy(psi))
            inside += rows.log_base[held] - log_z
            floor = log(rows.weight) + rows.log_floor[held]
            total[held] += np.logaddexp(log1p(-rows.weight) + inside, floor)
            times[held] += 1
        seen = times > 0
        return total[seen] / times[seen]


class _ScoreProblem(_Problem):
    """The same candidate, fitted by score matching."""

    def __init__(self, rows: HeldOut, widths: Widths, ranks, rng):
        super().__init__(rows, widths, tuple(map(min, ranks, _SCORE_RANKS)), rng)
        cell = cell_width(rows.X.shape[0], widths.y)

        def of(X, y):
            return score_moments(*self._features, [(X, y)], rows.base, cell)

        every = of(rows.X, rows.y)
        self._folds = [
            every.minus(of(take_rows(rows.X, held), take_rows(rows.y, held))) for held in rows.folds
        ]

    def fit(self, theta: np.ndarray, regularization: float) -> np.ndarray:
        """Return Θ of each fold; the start does not matter."""
        return np.stack([sums.solve(regularization) for sums in self._folds])


class Choice(NamedTuple):
    """What a selection chose, and how many candidates it compared."""

    widths: Widths
    regularization: float
    log_density: float
    candidates: int


def _isotropic(columns: int) -> list[np.ndarray]:
    return [np.full(columns, width * sqrt(max(columns, 1))) for width in WIDTHS_X]


class Search:
    """Coordinate search from the best isotropic candidate.

    σ_x and σ_y are first on a grid, the same σ_x for all standardised columns, on which the search
    goes from the middle to the best neighbour until none is better; then each column's own σ is
    widened or narrowed while that gains more than a standard error of the paired
    difference, so that columns that say nothing fade and noise does not choose; then all σ_x and
    σ_y are refined together, in rounds, until a round gains nothing. λ is found on a path for each
    candidate: from 1 down for the first, from a hundred times the best so far down for the others
    of the grid, and around the best for those that follow.

    Parameters
    ----------
    rows
        The rows on which the grid is compared.
    more
        Those of the other steps; the same where there are few.
    seed
        Of the centres, the same for all candidates.
    """

    def __init__(self, rows: HeldOut, more: HeldOut, seed):
        self._grid_rows, self._rows, self._seed = rows, more, seed
        self._best: Scored | None = None
        self._widths: Widths | None = None
        self._count = 0
        self._given: float | None = None

    def run(self, given_x=None, given_y=None, regularization=None) -> Choice:
        """Return the choice; what is given stays."""
        columns = self._rows.X.shape[1]
        self._given = regularization
        self._climb(_isotropic(columns) if given_x is None else [given_x], given_y)
        self._best = self._again(self._rows, self._near())
        if given_x is None and columns > 1:
            for column in range(columns):
                self._fit_column(column)
        for _ in range(_ROUNDS):
            before = self._best.mean
            self._refine(given_x, given_y)
            if self._best.mean <= before + _GAIN:
                break
        return Choice(self._widths, self._best.regularization, self._best.mean, self._count)

    def _climb(self, widths_x, given_y) -> None:
        """Go over the grid from its middle to the best neighbour, until none is better."""
        widths_y = WIDTHS_Y if given_y is None else [given_y]
        untried = {(i, j) for i in range(len(widths_x)) for j in range(len(widths_y))}
        place = len(widths_x) // 2, len(widths_y) // 2
        self._attempt(self._grid_rows, Widths(widths_x[place[0]], widths_y[place[1]]))
        self._best = self._again(self._grid_rows, self._from_above())
        untried.remove(place)
        while around := untried & {(place[0] + i, place[1] + j) for i, j in _NEIGHBOURS}:
            for i, j in sorted(around):
                widths = Widths(widths_x[i], widths_y[j])
                if self._attempt(self._grid_rows, widths, self._from_above()):
                    place = i, j
            untried -= around

    def _fit_column(self, column: int) -> None:
        for factor in (_FADE, _SHARPEN):
            moved = False
            for _ in range(_STEPS):
                x = self._widths.x.copy()
                x[column] *= factor
                if not _NARROWEST < x[column] < _WIDEST:
                    break
                if not self._attempt(self._rows, Widths(x, self._widths.y), self._near(), True):
                    break
                moved = True
            if moved:
                return

    def _refine(self, given_x, given_y) -> None:
        for factor in _FINER:
            if given_x is None and len(self._widths.x):
                self._attempt(
                    self._rows, Widths(factor * self._widths.x, self._widths.y), self._near()
                )
            if given_y is None:
                self._attempt(
                    self._rows, Widths(self._widths.x, factor * self._widths.y), self._near()
                )

    def _from_above(self) -> np.ndarray:
        """Return the path of λ from a little above the best so far."""
        limit = _ABOVE * self._best.regularization
        return REGULARIZATIONS[limit > REGULARIZATIONS]

    def _near(self) -> np.ndarray:
        near = self._best.regularization * 10.0 ** np.array([1.0, 0.0, -1.0])
        return near[near >= 0.5 * REGULARIZATIONS[-1]]

    def _again(self, rows: HeldOut, regularizations) -> Scored:
        """Score the best again, as what follows is scored.

        A longer path leaves Θ at a small λ nearer to its optimum, so that nothing would ever be
        better than what was found by one.
        """
        return self._path(rows, self._widths, regularizations)

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
        return rows.path(widths, _RANKS, values, np.random.default_rng(self._seed))
