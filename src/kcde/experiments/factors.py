"""The factors of joint densities, each a conditional density of one column (kcef, section 4).

A job fits some columns of a graph for all runs; `kcde.experiments.joint` sums what the jobs of a
graph found. Columns are called nodes and counted from 1 here and in all outputs, as in the paper.

The data are training and test rows of each run (`Problem`). UCI data are shuffled, 90% train and
10% test. `grid-<n>` has n training and 2000 test rows of the grid distribution: 3 columns, and 20
where n = 2000, for the figures over the dimension. Everything is standardised by the training rows.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import asarray, take_columns, to_numpy
from kcde.data import catalogue as tables
from kcde.data import made_up, names
from kcde.data.loaders import load
from kcde.experiments import base, methods
from kcde.experiments.base import ArrayExperiment, Outcome, attempt, parameter, sized
from kcde.joint import JointDensity, parents
from kcde.metrics import NLL
from kcde.names import fitted
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
    first 1, 2, ... columns are problems of their own.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[int], tuple[np.ndarray, np.ndarray]]
    shown_pair: tuple[int, int]
    identity: str
    every_dimension: bool = False
    sha256: str | None = None
    places: tuple[int, ...] = ()

    @property
    def dim(self) -> int:
        """Number of columns."""
        return len(self.columns)

    def description(self) -> dict:
        """Return the description of the data for a job's `.json`."""
        told = {"columns": list(self.columns), "data_sha256": self.sha256}
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


def open_problem(
    name: str, data_dir: str | Path, catalogue: str | Path | None = None, *, stored: bool = False
) -> Problem:
    """Return a problem by its name: grid data, or a data set of the catalogue without x.

    The training rows of the latter are shuffled, or stand as `stored`.
    """
    if names.is_grid(name):
        return _grid(name)
    data = load(name, data_dir, catalogue)
    if data.X.shape[1]:
        raise ValueError(f"{name} has the x {data.x_columns}; a joint density takes one without x")

    def rows(run: int) -> tuple[np.ndarray, np.ndarray]:
        n = len(data.Y)
        order = rng_of("split", data.name, run).permutation(n)
        train, test = order[: 9 * n // 10], order[9 * n // 10 :]
        return data.Y[np.sort(train) if stored else train], data.Y[test]

    d = len(data.y_columns)
    shown = _SHOWN.get(data.name, (d - 1, d))
    return Problem(name, data.y_columns, rows, shown, data.name, sha256=data.sha256)


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
    return {"runs": 10} if scale == base.PAPER and names.is_grid(dataset) else {}


@dataclass(frozen=True)
class ProblemExperiment(base.MethodExperiment):
    """One method on the rows of a joint density."""

    reads_files = True

    tuning_rows: int | None = sized(100, 500, 2000, "Rows of a selection, at most.", at_least=5)

    def open(self) -> Problem:
        """Return the problem."""
        return open_problem(self.dataset, self.data_dir, self.catalogue)

    def unfitted(self, seed: int):
        """Return the unfitted estimator."""
        more = {"tuning_rows": self.tuning_rows}
        return methods.build(self.method, self.estimator, self.options, seed, **more)


GRIDS = tuple(f"grid-{n}" for n in (200, 400, 700, 1000, 1400, 2000, 4000, 8000))
WAVES = ("grid-2000-frequency-2", "grid-2000-frequency-3")
ORDERS = ("shuffled", "stored")
_NODES_OF_A_JOB = 8


@dataclass(frozen=True)
class Factors(ProblemExperiment, ArrayExperiment):
    """Some factors of a joint density, for all runs; `METHOD/01-08` names the first eight."""

    name = "factors"
    datasets = ("white-wine", "parkinsons", "red-wine", *GRIDS)
    methods = ("KCEF-F", "KCEF-M", "KCEF-F-anisotropic", "KCEF-LL-F", "LikelihoodKCEF-F")
    methods += ("LSCDE-F", "LSCDE-M")
    only = {"KCEF-F-anisotropic": GRIDS}
    smoke = ("smoke-joint", "grid-60")
    repeated = ("runs",)

    nodes: tuple[int, ...] = parameter((), "Which factors, from 1; all by default.", at_least=1)
    graph: str | list = parameter("full", "full, markov, or JSON parents from 0: [[],[0],[0,1]].")
    order: str = parameter("shuffled", "Training rows: shuffled, or as stored.", choices=ORDERS)
    runs: int = sized(2, 5, 5, "Random splits, or repetitions of the grid data.", at_least=1)

    @classmethod
    def named(cls, dataset: str, method: str) -> dict:
        """Return the parameters that data set and method state, the latter with its nodes."""
        method, _, nodes = method.partition("/")
        named = super().named(dataset, method)
        if nodes:
            first, last = map(int, nodes.split("-"))
            named["nodes"] = tuple(range(first, last + 1))
        return named

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return the number of runs where it depends on the data."""
        return grid_runs(scale, dataset)

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimator of a method, which may have nodes."""
        return super().estimators(method.partition("/")[0])

    @property
    def wanted(self) -> tuple[int, ...]:
        """The nodes that are fitted."""
        if self.nodes and not 1 <= min(self.nodes) <= max(self.nodes) <= self.data.dim:
            asked = f"{self.nodes[0]}-{self.nodes[-1]}"
            raise ValueError(f"{self.dataset} has columns 1-{self.data.dim}; got {asked}")
        return self.nodes or tuple(range(1, self.data.dim + 1))

    def open(self) -> Problem:
        """Return the problem."""
        stored = self.order == "stored"
        return open_problem(self.dataset, self.data_dir, self.catalogue, stored=stored)

    def outcome(self, unit: int) -> Outcome:
        """Fit and score the factors of a run."""
        problem, backend = self.data, methods.backend_of(self.unfitted(0), self.backend)
        graph, split = parents(self.graph, problem.dim), problem.split(unit)
        named = self.graph if isinstance(self.graph, str) else _from_one(self.graph)
        train, test = (asarray(rows, backend) for rows in (split.train, split.test))
        model = JointDensity(self.unfitted(problem.seed(unit)), graph)

        def factor(node: int) -> tuple:
            """Return a factor, and its mean log density of the test rows."""
            fitted_factor = model.fit_factor(node - 1, train)
            X = take_columns(test, np.array(graph[node - 1], dtype=int))
            log_density = fitted_factor.log_density(X, test[:, node - 1 : node])
            return fitted_factor, to_numpy(log_density).mean()

        outcome = Outcome([])
        for node in self.wanted:
            setting = scores.setting(graph=named, node=node, parents=_from_one(graph)[node - 1])
            row = self.row(unit, setting=setting, backend=backend) | problem.sizes(unit, split)
            found, seconds = attempt(factor, node)
            chosen = {"run": unit, "node": node}
            if isinstance(found, Exception):
                row |= scores.failed(NLL, found, "nats")
            else:
                fitted_factor, mean = found
                row |= {"seconds": seconds} | scores.cell(NLL, -mean, "nats", 0.0)
                chosen |= methods.chosen(fitted_factor)
            outcome.rows.append(row)
            outcome.chosen.append(chosen)
        return outcome

    def info(self) -> dict:
        """Return the information on the job that is known before it runs."""
        before = _from_one(parents(self.graph, self.data.dim))
        return super().info() | {"parents": before} | self.data.description()


def _from_one(graph: list) -> list[list[int]]:
    """Return parents counted from 1."""
    return [[parent + 1 for parent in before] for before in graph]


def jobs_of(dataset: str, method: str) -> list[tuple[str, str, str]]:
    """Return the jobs of all factors of a joint density, which a method sums or samples."""
    firsts, last = range(1, columns(dataset) + 1, _NODES_OF_A_JOB), columns(dataset)
    ranges = [f"{first:02d}-{min(first + _NODES_OF_A_JOB - 1, last):02d}" for first in firsts]
    return [(Factors.name, dataset, f"{fitted(method)}/{nodes}") for nodes in ranges]


def information(files: tuple[Path, ...]) -> dict:
    """Return the information on the factors of one joint density, with all `chosen` in order."""
    infos = [scores.information(path) for path in files]
    own = [({**info["job"], "nodes": []}, info["data_sha256"], info["code"]) for info in infos]
    chosen = [each for info in infos for each in info["chosen"]]
    chosen.sort(key=lambda each: (each["run"], each["node"]))
    found = [(each["run"], each["node"]) for each in chosen]
    d = len(infos[0]["columns"]) if infos else 0
    every = product(range(len({run for run, _ in found})), range(1, d + 1))
    if len({*map(json.dumps, own)}) != 1 or found != list(every):
        raise ValueError(f"{files} are not all factors of one joint density: run them again")
    return infos[0] | {"chosen": chosen}
