"""The factors of joint densities, each a conditional density of one column (kcef, section 4).

A job fits some columns of a graph for all runs; `kcde.experiments.joint` sums what the jobs of a
graph found. Columns are called nodes and counted from 1 here and in all outputs, as in the paper.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import asarray, take_columns, to_numpy
from kcde.experiments import methods, runner
from kcde.experiments._problems import Problem, open_problem
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.factors import Job
from kcde.experiments.runner import attempt
from kcde.joint import Graph, JointDensity, Parents, parents
from kcde.metrics.names import NLL
from kcde.seeding import rng_of


class _Data(NamedTuple):
    """The problem, and the parents of each column, counted from 0."""

    problem: Problem
    graph: Parents


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds `log_density` (runs, nodes, test rows) in standardised units and `nodes`."""

    batch_fits = False

    def check(self, job: Job) -> None:
        """Raise `ValueError` for options that the estimator does not have."""
        estimator_of(job, random_state=0)

    def open(self) -> _Data:
        """Return the problem and the graph of its columns."""
        job, places = self.job, self.places
        problem = open_problem(job.dataset, places.data_dir, places.catalogue, job.max_dim)
        if beyond := [node for node in job.nodes if not 1 <= node <= problem.dim]:
            raise ValueError(f"{job.dataset} has the nodes 1 to {problem.dim}; got {beyond}")
        return _Data(problem, parents(job.graph, problem.dim))

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits and scores the factors of a run."""
        job, (problem, graph) = self.job, self.data
        backend = methods.backend_of(estimator_of(job, 0), job.backend)

        def work(run: int) -> Outcome:
            split = problem.split(run)
            data = asarray(split.train, backend), asarray(split.test, backend)
            model = JointDensity(estimator_of(job, problem.seed(run)), graph)
            each = [_factor(job, problem, model, node, run, data, backend) for node in job.nodes]
            rows = [row for outcome in each for row in outcome.rows]
            curves = np.stack([outcome.arrays["log_density"] for outcome in each])
            chosen = [outcome.chosen[0] for outcome in each]
            return Outcome(rows, chosen, {"log_density": curves})

        return work

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row for each node."""
        backend = methods.backend_of(estimator_of(job, 0), job.backend)
        return [_row(job, backend, unit, node) | {"metric": NLL} for node in job.nodes]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        info = super().info(job)
        info["job"] |= {"graph": graph_label(job.graph)}
        graph = self.data.graph if self.data else []
        info["parents"] = [[parent + 1 for parent in before] for before in graph]
        return info | (self.data.problem.description() if self.data else {})

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return the choices of each factor and the backend."""
        backend = scores.backends(self.rows(job, outcomes))
        return super().results(job, outcomes) | {"backend": backend}

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return log densities, NaN where a factor failed, and whose they are."""
        return runner.stacked(outcomes) | {"nodes": np.array(job.nodes)}


def estimator_of(job, random_state: int):
    """Return the unfitted estimator of a job; the factors of a run get states of their own."""
    return methods.build(
        job.method,
        job.estimator,
        job.options,
        random_state=random_state,
        tuning_rows=job.tuning_rows,
    )


def graph_label(graph: Graph) -> object:
    """Return how a graph is called in outputs: its name, or its parents counted from 1."""
    return graph if isinstance(graph, str) else [[p + 1 for p in chosen] for chosen in graph]


def _factor(job, problem, model: JointDensity, node: int, run: int, data, backend) -> Outcome:
    """Fit and score one factor; a numerical failure is a row that says why."""
    train, test = data
    row = _row(job, backend, run, node, [parent + 1 for parent in model.graph[node - 1]])
    row |= {"dim": problem.dim, "n_train": train.shape[0], "n_test": test.shape[0]}
    row["seed"] = problem.seed(run)
    rng = rng_of("importance", problem.identity, run, node)
    found, seconds = attempt(_fitted, job, model, node, data, rng)
    named = {"run": run, "node": node}
    if isinstance(found, Exception):
        blank = np.full(test.shape[0], np.nan)
        failed = row | scores.failed(NLL, found, "nats")
        return Outcome([failed], [named], {"log_density": blank})
    factor, log_density, more = found
    row["seconds"] = seconds
    cells = [scores.cell(NLL, -log_density.mean(), "nats", 0.0), *more]
    chosen = named | methods.chosen(factor)
    return Outcome([row | cell for cell in cells], [chosen], {"log_density": log_density})


def _fitted(job: Job, model: JointDensity, node: int, data, rng: np.random.Generator):
    """Return a factor, its log density of each test row, and parts of further score rows."""
    train, test = data
    factor = model.fit_factor(node - 1, train)
    X = take_columns(test, np.array(model.graph[node - 1], dtype=int))
    log_density = to_numpy(factor.log_density(X, test[:, node - 1 : node]))
    return factor, log_density, _importance(job, factor, X, rng)


def _importance(job: Job, factor, X, rng: np.random.Generator) -> list[dict]:
    """Return how far importance sampling of log Z is from quadrature, as parts of score rows."""
    if job.importance_samples is None or not hasattr(factor, "log_normaliser"):
        return []
    drawn = factor.log_normaliser(X, method="importance", n_samples=job.importance_samples, rng=rng)
    exact = factor.log_normaliser(X, method="quadrature")
    error = float(to_numpy(drawn.log_z).mean() - to_numpy(exact.log_z).mean())
    size = float(to_numpy(drawn.effective_sample_size).min())
    return [
        scores.cell("importance_error", error, "nats", drawn.mean_stderr),
        scores.cell("effective_sample_size", size, "samples"),
    ]


def _row(job: Job, backend: str, run: int, node: int, before: list[int] | None = None) -> dict:
    axes = {"graph": graph_label(job.graph), "node": node}
    setting = scores.setting(**axes, **({} if before is None else {"parents": before}))
    return job.row(run, setting=setting, unit="nats", backend=backend)
