"""The factors of joint densities, each a conditional density of one column (kcef, section 4).

A job fits some columns of a graph for all runs; `kcde.experiments.joint` sums what the jobs of a
graph found. Columns are called nodes and counted from 1 here and in all outputs, as in the paper.
"""

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from kcde import scores
from kcde.arrays import asarray, take_columns, to_numpy
from kcde.experiments import methods
from kcde.experiments._problems import ProblemExperiment, columns, grid_runs
from kcde.experiments.base import ArrayExperiment, Outcome, Work, attempt, parameter, sized, stacked
from kcde.joint import JointDensity, parents
from kcde.metrics.names import NLL
from kcde.names import fitted

GRIDS = tuple(f"grid-{n}" for n in (200, 400, 700, 1000, 1400, 2000, 4000, 8000))
_NODES_OF_A_JOB = 8


@dataclass(frozen=True)
class Factors(ProblemExperiment, ArrayExperiment):
    """Some factors of a joint density, for all runs; `METHOD/01-08` names the first eight.

    The `.npz` holds `log_density` (runs, nodes, test rows) in standardised units, NaN where a
    factor failed, and `nodes`.
    """

    name = "factors"
    datasets = ("white-wine", "parkinsons", "red-wine", *GRIDS)
    methods = ("KCEF-F", "KCEF-M", "KCEF-F-anisotropic", "KCEF-LL-F", "LikelihoodKCEF-F")
    methods += ("LSCDE-F", "LSCDE-M")
    only = {"KCEF-F-anisotropic": GRIDS}
    smoke = ("smoke-joint", "grid-60")
    repeated = ("runs",)

    nodes: tuple[int, ...] = parameter((), "Which factors, from 1; all by default.")
    graph: str | list = parameter("full", "full, markov, or JSON parents from 0: [[],[0],[0,1]].")
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

    def begin(self, units: list[int]) -> Work:
        """Return a function that fits and scores the factors of a run."""
        problem, backend = self.data, methods.backend_of(self.unfitted(0), self.backend)
        graph = parents(self.graph, problem.dim)
        named = self.graph if isinstance(self.graph, str) else _from_one(self.graph)

        def factor(model: JointDensity, node: int, train, test) -> tuple:
            """Return a factor, and its log density of each test row."""
            fitted_factor = model.fit_factor(node - 1, train)
            X = take_columns(test, np.array(graph[node - 1], dtype=int))
            return fitted_factor, to_numpy(fitted_factor.log_density(X, test[:, node - 1 : node]))

        def work(run: int) -> Outcome:
            split = problem.split(run)
            data = asarray(split.train, backend), asarray(split.test, backend)
            model = JointDensity(self.unfitted(problem.seed(run)), graph)
            outcome, curves = Outcome([]), []
            for node in self.wanted:
                before = _from_one(graph)[node - 1]
                setting = scores.setting(graph=named, node=node, parents=before)
                row = self.row(run, setting=setting, backend=backend) | problem.sizes(run, split)
                found, seconds = attempt(factor, model, node, *data)
                chosen, curve = {"run": run, "node": node}, np.full(len(split.test), np.nan)
                if isinstance(found, Exception):
                    row |= scores.failed(NLL, found, "nats")
                else:
                    fitted_factor, curve = found
                    row |= {"seconds": seconds} | scores.cell(NLL, -curve.mean(), "nats", 0.0)
                    chosen |= methods.chosen(fitted_factor)
                outcome.rows.append(row)
                outcome.chosen.append(chosen)
                curves.append(curve)
            outcome.arrays["log_density"] = np.stack(curves)
            return outcome

        return work

    def info(self) -> dict:
        """Return the information on the job that is known before it runs."""
        before = _from_one(parents(self.graph, self.data.dim))
        return super().info() | {"parents": before} | self.data.description()

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return the log densities, and whose they are."""
        return stacked(outcomes) | {"nodes": np.array(self.wanted)}


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
    infos = [json.loads(Path(path).with_suffix(".json").read_text()) for path in files]
    own = [({**info["job"], "nodes": []}, info["data_sha256"], info["code"]) for info in infos]
    chosen = [each for info in infos for each in info["chosen"]]
    chosen.sort(key=lambda each: (each["run"], each["node"]))
    found = [(each["run"], each["node"]) for each in chosen]
    d = len(infos[0]["columns"]) if infos else 0
    every = product(range(len({run for run, _ in found})), range(1, d + 1))
    if len({*map(json.dumps, own)}) != 1 or found != list(every):
        raise ValueError(f"{files} are not all factors of one joint density: run them again")
    return infos[0] | {"chosen": chosen}
