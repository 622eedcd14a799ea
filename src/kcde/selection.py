"""Folds and grids: how hyper-parameters are chosen, on training rows only."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

_FILLED, _EVEN = 0.5, 1e-6
"""Of a grid: the least share of cells with rows, and the largest spread of the relative steps."""


def candidates(value, grid: Sequence) -> Sequence:
    """Return the grid where a hyper-parameter is to be chosen, else its value alone."""
    return grid if value is None else [value]


def kfold(n: int, folds: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return a random partition of n rows into folds whose sizes differ by one at most."""
    return contiguous_folds(n, folds, rng.permutation(n))


def contiguous_folds(n: int, folds: int, order: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the partition of n rows into runs of neighbours, whose sizes differ by one at most.

    `order` has the rows as they are neighbours; None: as they stand.
    """
    if folds < 2:
        raise ValueError(f"cross-validation needs at least 2 folds; got {folds}")
    if n < folds:
        raise ValueError(f"{folds}-fold cross-validation needs at least {folds} rows; got {n}")
    rows = np.arange(n) if order is None else order
    return [np.sort(part) for part in np.array_split(rows, folds)]


def grouped_kfold(labels: np.ndarray, folds: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return a random partition of rows into folds, rows of one label in one fold.

    The folds differ by one label at most.
    """
    count = int(np.max(labels, initial=-1)) + 1
    if count < folds:
        wanted = f"{folds}-fold cross-validation that keeps groups together needs at least {folds}"
        remedy = "give more groups, or leave them out (group_copies=False of KEF)"
        raise ValueError(f"{wanted} of them; got {count}: {remedy}")
    return [np.flatnonzero(np.isin(labels, part)) for part in kfold(count, folds, rng)]


def complement(held_out: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of range(n) that are not held out, sorted."""
    keep = np.ones(n, dtype=bool)
    keep[held_out] = False
    return np.flatnonzero(keep)


def subsample(n: int, most: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return at most `most` of range(n), sorted; all where `most` is None or not below n."""
    if most is not None and most < 1:
        raise ValueError(f"tuning_rows must be a whole number from 1 on, or None; got {most}")
    if most is None or most >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, size=most, replace=False))


def tuning_rows(X: np.ndarray, most: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return at most `most` rows that choose hyper-parameters, sorted.

    Random ones; but of a grid of inputs contiguous blocks, because random rows of it are a coarser
    grid, on which no short bandwidth can be seen to be best.
    """
    cells = None if most is None or most >= len(X) else _cells(X, most)
    return subsample(len(X), most, rng) if cells is None else _blocks(cells, most, rng)


def _cells(X: np.ndarray, most: int) -> np.ndarray | None:
    """Return the cell of each row, whole numbers (n, d), where the inputs lie on a grid.

    That is: each column's values are evenly spaced, rows fill at least half of the cells, and
    `most` rows cannot have all inputs.
    """
    columns = [np.unique(column, return_inverse=True) for column in X.T]
    if not columns or not all(map(_evenly_spaced, (values for values, _ in columns))):
        return None
    cells = np.stack([places for _, places in columns], axis=1)
    inputs = len(np.unique(cells, axis=0))
    filled = inputs / np.prod([float(len(values)) for values, _ in columns])
    return cells if inputs > most and filled >= _FILLED else None


def _evenly_spaced(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return len(steps) > 1 and bool(np.ptp(steps) <= _EVEN * steps.mean())


def _blocks(cells: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of a block at a random place in each of the 2^d parts that halves make."""
    dimension, share, found = cells.shape[1], most / len(cells), []
    ends = np.stack([np.zeros(dimension, int), (cells.max(axis=0) + 1) // 2, cells.max(axis=0) + 1])
    for part in np.ndindex(*[2] * dimension):
        low, high = (ends[np.array(part) + k, np.arange(dimension)] for k in (0, 1))
        sides = np.maximum(1, ((high - low) * share ** (1.0 / dimension)).astype(int))
        corner = rng.integers(low, high - sides + 1)
        inside = (cells >= corner) & (cells < corner + sides)
        found.append(np.flatnonzero(inside.all(axis=1)))
    return np.sort(np.concatenate(found)[:most])


def best_index(scores: np.ndarray) -> tuple[int, ...]:
    """Return the index of the largest finite score in an array of any shape.

    Ties go to the first in C order.
    """
    if not np.any(np.isfinite(scores)):
        raise ValueError("no candidate has a finite cross-validated score; widen the grid")
    flat = np.where(np.isfinite(scores), scores, -np.inf)
    return tuple(int(i) for i in np.unravel_index(np.argmax(flat), scores.shape))


def refined_grid(centre: float, grid: Sequence[float], count: int) -> np.ndarray:
    """Return up to `count` log-spaced values around one of a log-spaced grid's.

    They lie strictly within one step of the grid on either side, include the centre where
    `count` is odd, and do not leave the grid's range.
    """
    inner = np.log(grid[1] / grid[0]) * (count - 1) / (count + 1)
    finer = centre * np.exp(np.linspace(-inner, inner, count))
    # The ends of the range come out of exp and log some ulps away from themselves.
    inside = (finer >= grid[0] * (1 - 1e-9)) & (finer <= grid[-1] * (1 + 1e-9))
    return finer[inside]


class Selection(NamedTuple):
    """The best of a grid: options, loss, how many were tried, and each error of the others once."""

    options: Mapping[str, float]
    loss: float
    tried: int
    failures: tuple[str, ...]


class Trials:
    """Losses of one method over a grid."""

    def __init__(self):
        self._found: list[tuple[Mapping, float]] = []
        self._failures: list[str] = []

    def add(self, options: Mapping, outcome) -> None:
        """Take a loss, or an error in its place; what is not finite counts as an error."""
        if isinstance(outcome, Exception):
            self._failures.append(f"{type(outcome).__name__}: {outcome}")
        elif not np.isfinite(outcome):
            self._failures.append(f"the loss is {outcome}")
        else:
            self._found.append((options, float(outcome)))

    def best(self) -> Selection:
        """Return the options with the smallest loss, the first among equals, or raise."""
        if not self._found:
            raise FloatingPointError(f"no parameters have a finite loss; {self._failures[0]}")
        options, loss = min(self._found, key=lambda each: each[1])
        tried = len(self._found) + len(self._failures)
        return Selection(options, loss, tried, tuple(dict.fromkeys(self._failures)))

    def within(self, limits: Mapping[str, float]) -> "Trials":
        """Return the trials whose options of these names are at most these numbers."""
        kept = Trials()
        kept._failures = list(self._failures)
        for options, loss in self._found:
            # The same product of factor and distance, made twice.
            if all(options[name] <= most * (1.0 + 1e-9) for name, most in limits.items()):
                kept._found.append((options, loss))
        return kept

    def shape(self, model):
        """Return an estimator with the best options; as it is where none have a finite loss."""
        return model.set_params(**self.best().options) if self._found else model
