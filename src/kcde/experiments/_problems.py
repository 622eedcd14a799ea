"""The data of joint density estimation: training and test rows of each run (kcef, section 4).

UCI data are shuffled, 90% train and 10% test. `grid-<n>` has n training and 2000 test rows of the
grid distribution: 3 columns, and 20 where n = 2000, for the figures over the dimension. Everything
is standardised by the training rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kcde.data import made_up, names
from kcde.data.loaders import load, removed_from
from kcde.experiments.job import MOST_GRID_COLUMNS
from kcde.seeding import rng_of, seed_of

_SHOWN = {"winequality-red": (6, 7), "winequality-white": (6, 7)}
"""The pairs of figures 2 and 4, counted from 1; elsewhere the last two columns, as in the paper's
(x_15, x_16) of a list of parkinsons columns that had one more."""


@dataclass(frozen=True)
class Split:
    """Training and test rows of one run, standardised.

    Attributes
    ----------
    train, test
        Shapes (n, d), (m, d).
    std
        Shape (d,): what the columns were divided by; add Σ log std to a log density in original
        units to get that of the standardised rows.
    """

    train: np.ndarray
    test: np.ndarray
    std: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Source of the rows of each run.

    Attributes
    ----------
    name
        As asked for.
    columns
        Names of the columns.
    every_dimension
        Whether the first 1, 2, ... columns are problems of their own.
    removed
        Columns of the file that are not used, with the reason.
    sha256
        Checksum of the raw file; None for generated data.
    identity
        Name that seeds are derived from: the same for a data set and its alias.
    """

    name: str
    columns: tuple[str, ...]
    every_dimension: bool = False
    removed: Mapping[str, str] = field(default_factory=dict)
    sha256: str | None = None
    identity: str = ""

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def shown_pair(self) -> tuple[int, int]:
        """The two columns that a scatter plot shows, counted from 1."""
        return (self.dim - 1, self.dim)

    def description(self) -> dict:
        """Return the description of the data for a job's `.json`."""
        return {
            "columns": list(self.columns),
            "removed": [{"column": name, "reason": why} for name, why in self.removed.items()],
            "every_dimension": self.every_dimension,
            "shown_pair": list(self.shown_pair),
            "data_sha256": self.sha256,
        }

    def rows(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test rows in original units."""
        raise NotImplementedError

    def seed(self, run: int) -> int:
        """Return a seed of (data set, run) alone, small enough to survive any CSV reader."""
        return seed_of("split", self.identity, run) % 2**32

    def split(self, run: int) -> Split:
        """Return the standardised rows of one run.

        Raises
        ------
        ValueError
            If a column is constant in the training rows.
        """
        train, test = self.rows(run)
        mean, std = train.mean(axis=0), train.std(axis=0)
        if np.any(constant := np.ptp(train, axis=0) == 0):
            names = ", ".join(np.array(self.columns)[constant])
            raise ValueError(f"{self.name}: constant in the training rows of run {run}: {names}")
        return Split((train - mean) / std, (test - mean) / std, std)


@dataclass(frozen=True)
class TableProblem(Problem):
    """Rows of a data file, split at random."""

    values: np.ndarray = field(kw_only=True)

    @property
    def shown_pair(self) -> tuple[int, int]:
        """The two columns that a scatter plot shows, counted from 1."""
        return _SHOWN.get(self.identity, (self.dim - 1, self.dim))

    def rows(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first 90% of a shuffle that depends on data set and run, and the rest."""
        n = len(self.values)
        order = rng_of("split", self.identity, run).permutation(n)
        return self.values[order[: 9 * n // 10]], self.values[order[9 * n // 10 :]]


@dataclass(frozen=True)
class GridProblem(Problem):
    """The grid distribution with its exact density."""

    n: int = field(kw_only=True)
    frequency: int = 1

    def rows(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of one repetition."""
        return made_up.grid_training_and_test(self.n, self.dim, run, self.frequency)


def open_problem(
    name: str,
    data_dir: str | Path,
    catalogue: str | Path | None = None,
    max_dim: int = MOST_GRID_COLUMNS,
) -> Problem:
    """Return a problem by its name.

    Parameters
    ----------
    name
        That of grid data, or of a data set of the catalogue without x.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    max_dim
        Columns of the grid data with 2000 rows.

    Raises
    ------
    ValueError
        If the name is unknown, the data set has an x, or the grid has too many rows or columns.
    """
    if names.is_grid(name):
        return _grid(name, max_dim)
    data = load(name, data_dir, catalogue)
    if data.X.shape[1]:
        raise ValueError(
            f"data set {name} is one of conditional densities: it has the x {data.x_columns}; "
            "a joint density takes one without x"
        )
    removed = removed_from(data, data_dir, catalogue)
    return TableProblem(
        name,
        data.y_columns,
        removed=removed,
        sha256=data.sha256,
        identity=data.name,
        values=data.Y,
    )


def _grid(name: str, max_dim: int) -> GridProblem:
    stated = names.grid_name(name)
    if (dim := stated.columns(max_dim)) < 2:
        raise ValueError(f"grid data need at least 2 columns; got {dim}")
    return GridProblem(
        name,
        tuple(f"x{i}" for i in range(1, dim + 1)),
        every_dimension=stated.every_dimension,
        identity=name,
        n=stated.rows,
        frequency=stated.frequency,
    )
