"""The data of joint density estimation: training and test rows of each run (kcef, section 4).

UCI data are shuffled, 90% train and 10% test. `grid-<n>` has n training and 2000 test rows of the
grid distribution: 3 columns, and 20 where n = 2000, for the figures over the dimension. Everything
is standardised by the training rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.data import catalogue as tables
from kcde.data import made_up, names
from kcde.data.loaders import load, removed_from
from kcde.experiments import methods
from kcde.experiments.base import PAPER, MethodExperiment, sized
from kcde.seeding import rng_of, split_seed

MOST_GRID_COLUMNS = 20  # of grid data whose first columns are data of their own

# The pairs of figures 2 and 4, counted from 1; elsewhere the last two columns, as in the paper's
# (x_15, x_16) of a list of parkinsons columns that had one more.
_SHOWN = {"winequality-red": (6, 7), "winequality-white": (6, 7)}


class Split(NamedTuple):
    """Standardised training and test rows of a run, and what the columns were divided by."""

    train: np.ndarray
    test: np.ndarray
    std: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Source of the rows of each run.

    `rows` gives training and test rows of a run in original units; seeds derive from `identity`,
    the same for a data set and its alias; `shown_pair` are the columns, counted from 1, that a
    scatter plot shows, and `places` those of a pair alone among all; with `every_dimension` the
    first 1, 2, ... columns are problems of their own; `removed` columns have a reason.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]]
    shown_pair: tuple[int, int]
    identity: str
    every_dimension: bool = False
    removed: Mapping[str, str] = field(default_factory=dict)
    sha256: str | None = None
    places: tuple[int, ...] = ()

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def description(self) -> dict:
        """Return the description of the data for a job's `.json`."""
        removed = [{"column": name, "reason": why} for name, why in self.removed.items()]
        told = {"columns": list(self.columns), "removed": removed, "data_sha256": self.sha256}
        told |= {"every_dimension": self.every_dimension, "shown_pair": list(self.shown_pair)}
        return told | {"places": list(self.places or self.shown_pair)}

    def setting(self, dim: int) -> str:
        """Return the setting of the scores of the first columns."""
        return scores.setting(**({"dim": dim} if self.every_dimension else {}))

    def sizes(self, run: int, split: Split) -> dict[str, int]:
        """Return the columns of a score row that state the sizes of a run, and its seed."""
        n_train, n_test = len(split.train), len(split.test)
        return {"dim": self.dim, "n_train": n_train, "n_test": n_test, "seed": self.seed(run)}

    def seed(self, run: int) -> int:
        """Return a seed of (data set, run) alone, small enough to survive any CSV reader."""
        return split_seed(self.identity, run)

    def split(self, run: int) -> Split:
        """Return the standardised rows of one run; `ValueError` if a column is constant there."""
        train, test = self.rows(run)
        mean, std = train.mean(axis=0), train.std(axis=0)
        if np.any(constant := np.ptp(train, axis=0) == 0):
            names = ", ".join(np.array(self.columns)[constant])
            raise ValueError(f"{self.name}: constant in the training rows of run {run}: {names}")
        return Split((train - mean) / std, (test - mean) / std, std)


def open_problem(name: str, data_dir: str | Path, catalogue: str | Path | None = None) -> Problem:
    """Return a problem by its name: grid data, or a data set of the catalogue without x."""
    if names.is_grid(name):
        return _grid(name)
    data = load(name, data_dir, catalogue)
    if data.X.shape[1]:
        raise ValueError(f"{name} has the x {data.x_columns}; a joint density takes one without x")

    def rows(run: int) -> tuple[np.ndarray, np.ndarray]:
        n = len(data.Y)
        order = rng_of("split", data.name, run).permutation(n)
        return data.Y[order[: 9 * n // 10]], data.Y[order[9 * n // 10 :]]

    d = len(data.y_columns)
    shown = _SHOWN.get(data.name, (d - 1, d))
    removed = removed_from(data, data_dir, catalogue)
    more = {"removed": removed, "sha256": data.sha256}
    return Problem(name, data.y_columns, rows, shown, data.name, **more)


def _grid(name: str) -> Problem:
    stated = names.grid_name(name)
    d = stated.columns(MOST_GRID_COLUMNS)
    own = tuple(f"x{i}" for i in range(1, d + 1))

    def rows(run: int) -> tuple[np.ndarray, np.ndarray]:
        return made_up.grid_training_and_test(stated.rows, d, run, stated.frequency)

    return Problem(name, own, rows, (d - 1, d), name, stated.every_dimension)


@cache
def columns(dataset: str) -> int:
    """Return the number of columns that a joint density of a data set has."""
    if names.is_grid(dataset):
        return names.grid_name(dataset).columns(MOST_GRID_COLUMNS)
    if dataset == names.MADE_UP_JOINT:
        return len(names.MADE_UP_COLUMNS)
    return len(tables.find(tables.read(), dataset).y)


def grid_runs(scale: str, dataset: str) -> dict[str, int]:
    """Return the parameter `runs` where grid data are repeated more often than others."""
    return {"runs": 10} if scale == PAPER and names.is_grid(dataset) else {}


@dataclass(frozen=True)
class ProblemExperiment(MethodExperiment):
    """One method on the rows of a joint density."""

    reads_files = True

    tuning_rows: int | None = sized(100, 500, 2000, "Rows that take part in a selection, at most.")

    def raw_data(self) -> list[str]:
        """Return the data set, where it is none that is generated."""
        return [] if names.is_grid(self.dataset) else super().raw_data()

    def open(self) -> Problem:
        """Return the problem."""
        return open_problem(self.dataset, self.data_dir, self.catalogue)

    def unfitted(self, seed: int):
        """Return the unfitted estimator."""
        return methods.build(self.method, self.estimator, self.options, seed, self.tuning_rows)
