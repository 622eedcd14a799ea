"""Joint densities: kcef, table 2 and figures 1 and 5.

From factors, log p(y) = Σ_i log p(y_i | y_π(i)): the log densities that the jobs of
`kcde.experiments.factors` found at the test rows, summed. Where the data are a chain of any length
(`grid-2000`), the first d factors are the joint density of the first d columns, and every d has its
score.

By one network for all columns, NADE: an orderless network has a density for every order of the
columns. The published numbers are reproduced by the log likelihood averaged over random orders; the
column order alone and the mixture of the orders, which is the better density, are reported as well.
The reference implementation takes 2500 updates for red wine, and the paper states none. How many
suit other data follows from their rows: the method NADE trains 2500 and 10,000 updates in full, and
on each run the held-out tenth of the training rows chooses. The rule was declared before a network
of 10,000 updates was scored on test rows here. Its repetitions are the numbers of columns.

Exact, the best possible scores on the grid data, in standardised units: log p(y) + Σ log s_i at the
test rows, and Σ h_i - Σ log s_i. A product of marginals attains at most the likelihood of
independent uniforms, so that independence - entropy = -Σ h_i is all the dependence there is to be
found (kcef, figures 1 and 5).
"""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde import scores
from kcde.arrays import logsumexp
from kcde.data import made_up, names
from kcde.experiments import factors, methods
from kcde.experiments.base import MethodExperiment, Outcome, attempt, parameter, sized
from kcde.experiments.factors import Factors, Problem, ProblemExperiment
from kcde.methods import METHODS
from kcde.metrics import NLL
from kcde.seeding import rng_of

EXACT = "exact"  # the known density of the grid data
ORDERS = 10  # random orders that the score of a network is averaged over (Uria et al., 2016)


@dataclass(frozen=True)
class Joint(MethodExperiment):
    """A joint density: the sum of its factors; by `at` also one network, or the truth."""

    name = "joint"
    datasets = Factors.datasets
    methods = (*Factors.methods, "NADE", EXACT)
    only = {**Factors.only, EXACT: factors.GRIDS + factors.WAVES}
    smoke = Factors.smoke
    beside = (EXACT,)

    @classmethod
    def at(cls, scale: str, dataset: str = "", method: str = "", /, **changes) -> "Joint":
        """Return the job of a data set and a method: of the subclass that computes it."""
        kind = Joint if _is_sum(method) else Exact if method == EXACT else JointNetwork
        return super(Joint, kind).at(scale, dataset, method, **changes)

    @classmethod
    def needs(cls, dataset: str, method: str) -> list[tuple[str, str, str]]:
        """Return the jobs of the factors, where a method has any."""
        return factors.jobs_of(dataset, method) if _is_sum(method) else []

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimator of a method, unless jobs of factors have fitted it."""
        return [] if _is_sum(method) else super().estimators(method)

    def open(self) -> tuple[dict, pd.DataFrame]:
        """Return what is known of the factors, and their scores."""
        info, frame = factors.information(self.files), scores.read(self.files)
        frame = frame.assign(node=[json.loads(text)["node"] for text in frame["setting"]])
        return info, frame.sort_values(["split", "node"])

    def count(self) -> int:
        """Return the number of runs."""
        return self.data[1]["split"].nunique()

    def outcome(self, unit: int) -> Outcome:
        """Sum the factors of a run."""
        info, frame = self.data
        dims = [len(info["columns"])]
        if every := info["every_dimension"]:
            before = [max(each, default=0) for each in info["parents"]]
            dims = [d for d in range(1, len(before) + 1) if max(before[:d]) <= d]
        of_run = frame[frame["split"] == unit]
        rows = [self._row(of_run.head(d), {"dim": d} if every else {}) for d in dims]
        return Outcome(rows, [one for one in info["chosen"] if one["run"] == unit])

    def _row(self, rows: pd.DataFrame, axes: dict) -> dict:
        """Return the sum over some factors of one run; failed where one of them is."""
        told = rows.iloc[0][["n_train", "n_test", "backend", "seed"]]
        row = self.row(rows["split"].iloc[0], setting=scores.setting(**axes), **told)
        row |= {"dim": len(rows), "seconds": rows["seconds"].sum()}
        failed = rows[rows["status"] != "ok"].drop_duplicates("detail")
        why = "; ".join(f"node {each.node}: {each.detail}" for each in failed.itertuples())
        total = np.nan if len(failed) else rows["value"].sum()
        return row | scores.cell(NLL, total, "nats", np.nan if why else 0.0, why)

    def info(self) -> dict:
        """Return the information on the job and its data."""
        known = self.data.description() if isinstance(self.data, Problem) else self.data[0]
        return known | super().info()


@dataclass(frozen=True)
class JointNetwork(ProblemExperiment, Joint):
    """One network for all columns, scored over orders of these; the first is as they stand."""

    options_key = "joint"

    runs: int = sized(2, 5, 5, "Random splits, or repetitions of the grid data.", at_least=1)
    dims: tuple[int, ...] = parameter((), "Numbers of columns, of grid-2000: [2, 5].", at_least=1)

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return the number of runs, and numbers of columns, where these depend on the data."""
        every = names.is_grid(dataset) and names.grid_name(dataset).every_dimension
        dims = {"dims": (2, 3, 5, 10, 15, 20)} if every else {}
        return factors.grid_runs(scale, dataset) | dims

    @property
    def trained_dims(self) -> tuple[int, ...]:
        """The numbers of leading columns that are trained on."""
        return (self.data.every_dimension and self.dims) or (self.data.dim,)

    def count(self) -> int:
        """Return how many numbers of columns are trained on."""
        return len(self.trained_dims)

    def outcome(self, unit: int) -> Outcome:
        """Train on the first columns of each run, and score it."""
        problem, found, dim = self.data, Outcome([]), self.trained_dims[unit]
        splits = [problem.split(run) for run in range(self.runs)]

        def fitted(run: int):
            Y = splits[run].train[:, :dim]
            return self.unfitted(problem.seed(run)).fit(Y[:, :0], Y)

        def by_order(model, run: int) -> np.ndarray:
            Y, rng = splits[run].test[:, :dim], rng_of("orders", problem.identity, run, dim)
            return model.log_density_by_order(Y[:, :0], Y, ORDERS + 1, rng)

        for run, split in enumerate(splits):
            model, training = attempt(fitted, run)
            table, scoring = attempt(by_order, model, run)
            row = self.row(run, setting=problem.setting(dim), backend="numpy")
            row |= problem.sizes(run, split) | {"dim": dim}
            if isinstance(table, Exception):
                found.rows.append(row | scores.failed(NLL, table, "nats"))
                continue
            found.chosen.append({"run": run, "dim": dim, **methods.chosen(model)})
            row["seconds"] = training + scoring
            cells = [scores.cell(*each, "nats", 0.0) for each in metrics(table).items()]
            found.rows += [row | cell for cell in cells]
        return found


@dataclass(frozen=True)
class Exact(Joint):
    """The true density of the grid data, its entropy and independence. Needs no data.

    The metrics are `negative_log_likelihood`, `entropy` and `independence`.
    """

    runs: int = sized(2, 5, 10, "Repetitions of the grid data.", at_least=1)

    def open(self) -> Problem:
        """Return the grid data: no other density is known."""
        return factors.open_problem(self.dataset, "")

    def count(self) -> int:
        """Return the number of runs."""
        return self.runs

    def outcome(self, unit: int) -> Outcome:
        """Score a run."""
        problem, frequency = self.data, names.grid_name(self.dataset).frequency
        entropy, split = made_up.grid_entropy(problem.dim), problem.split(unit)
        log_std = np.log(split.std)
        terms = (made_up.grid_log_density(problem.rows(unit)[1], frequency) + log_std).T
        common = self.row(unit, variant=EXACT, backend="numpy") | problem.sizes(unit, split)
        rows = []
        for d in range(1, problem.dim + 1) if problem.every_dimension else [problem.dim]:
            row = common | {"dim": d, "setting": problem.setting(d)}
            left, alone = (entropy - log_std)[:d].sum(), -log_std[:d].sum()
            values = (-terms[:d].sum(axis=0).mean(), left, alone)
            cells = zip((NLL, "entropy", "independence"), values, strict=True)
            rows += [row | scores.cell(*each, "nats", 0.0) for each in cells]
        return Outcome(rows)


def _is_sum(method: str) -> bool:
    """Return whether a method has a graph, whose factors are fitted one by one."""
    return method in METHODS and METHODS[method].graph is not None


def metrics(by_order: np.ndarray) -> dict[str, float]:
    """Return the scores of a network: mean over random orders, column order, mixture of orders.

    `by_order`: log densities, shape (1 + orders, n), nats; the first row in the column order, which
    counts in no other score.
    """
    random = by_order[1:]
    mixture = logsumexp(random, axis=0) - np.log(len(random))
    found = {NLL: random, f"{NLL}_fixed_order": by_order[0], f"{NLL}_ensemble": mixture}
    return {name: -float(each.mean()) for name, each in found.items()}
