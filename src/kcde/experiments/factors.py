"""The factors of joint densities, each a conditional density of one column (kcef, section 4).

A job fits some columns of a graph for all runs; `kcde.experiments.joint` sums what the jobs of a
graph found. Columns are called nodes and counted from 1 here and in all outputs, as in the paper.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import asarray, take_columns, to_numpy
from kcde.experiments import methods, scores
from kcde.experiments.problems import MOST_GRID_COLUMNS, Problem, open_problem, unavailable
from kcde.experiments.shards import WHOLE, Cut, outcomes
from kcde.joint import Graph, JointDensity, Parents, parents
from kcde.provenance import digest
from kcde.seeding import rng_of

log = logging.getLogger(__name__)

EXPERIMENT = "factors"
METRIC = "negative_log_likelihood"


@dataclass(frozen=True)
class Job:
    """Some factors of one method on one data set, all runs.

    Parameters
    ----------
    dataset, method, variant
        As in the score table.
    estimator
        Class name.
    nodes
        Which factors, counted from 1.
    graph
        "full", "markov", or the parents of each column, counted from 0 as in `kcde.joint`.
    options
        Constructor arguments.
    runs
        How many random splits, or repetitions of the grid data.
    tuning_rows
        At most so many rows take part in a selection; None: all.
    importance_samples
        Draws for a second estimate of log Z, beside the quadrature that the score uses, where the
        estimator offers both; None: no second estimate.
    max_dim
        Columns of the grid data with 2000 rows.
    backend
        "auto", "numpy" or "cupy".
    """

    dataset: str
    method: str
    estimator: str
    nodes: tuple[int, ...]
    graph: Graph = "full"
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    runs: int = 5
    tuning_rows: int | None = None
    importance_samples: int | None = None
    max_dim: int = MOST_GRID_COLUMNS
    backend: str = "auto"


@dataclass
class Outcome:
    """What one factor gives: score rows, chosen hyper-parameters, log density of each test row."""

    rows: list[dict]
    chosen: dict = field(default_factory=dict)
    log_density: np.ndarray | None = None


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    record: Path | None = None,
    cache: Path | None = None,
    cut: Cut = WHOLE,
) -> None:
    """Run one job and write its scores.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV. The `.npz` beside it holds `log_density` (runs, nodes, test rows) in
        standardised units and `nodes`; the `.json` the chosen hyper-parameters.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    record
        What `fetch` wrote; where it says that the data are unavailable, all rows are `not-run`.
    cache
        A folder in which fitted factors are kept, so that an interrupted job resumes.
    cut
        Which runs are computed here; `out` is where a shard keeps them.

    Raises
    ------
    ValueError
        If the graph is wrong, a node or an option does not exist, or `runs` is not positive.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    if job.runs < 1:
        raise ValueError(f"runs must be at least 1; got {job.runs}")
    estimator_of(job, random_state=0)
    if detail := unavailable(job.dataset, record):
        problem, graph, work = None, [], partial(_not_run, job, detail)
    else:
        problem = open_problem(job.dataset, data_dir, catalogue, job.max_dim)
        graph = parents(job.graph, problem.dim)
        if beyond := [node for node in job.nodes if not 1 <= node <= problem.dim]:
            raise ValueError(f"{job.dataset} has the nodes 1 to {problem.dim}; got {beyond}")
        work = partial(_compute, job, problem, graph, cache)
    declared = _declared(job, problem, graph)
    found = outcomes(declared, range(job.runs), work, out, cut)
    if found is not None:
        _write(job, problem, declared, found, out)


def estimator_of(job: Job, random_state: int):
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


def _compute(
    job: Job, problem: Problem, graph: Parents, cache: Path | None, runs: Sequence[int]
) -> list[list[Outcome]]:
    """Return the factors of some runs, and say how long the others will take."""
    backend = methods.backend_of(estimator_of(job, 0), job.backend)
    started, done, total = time.perf_counter(), 0, len(runs) * len(job.nodes)
    found = []
    for run in runs:
        split = problem.split(run)
        data = asarray(split.train, backend), asarray(split.test, backend)
        model = JointDensity(estimator_of(job, problem.seed(run)), graph, cache=cache)
        found.append([])
        for node in job.nodes:
            found[-1].append(_run_factor(job, problem, model, node, run, data, backend))
            done += 1
            left = (time.perf_counter() - started) / done * (total - done)
            log.info(
                "%s %s: factor %d/%d, about %.0f s left", job.dataset, job.method, done, total, left
            )
    return found


def _run_factor(job, problem, model: JointDensity, node: int, run: int, data, backend) -> Outcome:
    """Fit and score one factor; a numerical failure is a row that says why."""
    (train, test), before = data, model.graph[node - 1]
    row = _row(job, backend, run, node, [parent + 1 for parent in before]) | {
        "dim": problem.dim,
        "n_train": train.shape[0],
        "n_test": test.shape[0],
        "seed": problem.seed(run),
    }
    started = time.perf_counter()
    try:
        factor = model.fit_factor(node - 1, train)
        X, y = take_columns(test, np.array(before, dtype=int)), test[:, node - 1 : node]
        log_density = to_numpy(factor.log_density(X, y))
        more = _importance(job, factor, X, rng_of("importance", problem.identity, run, node))
    except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
        detail = f"{type(error).__name__}: {error}"
        return Outcome([row | {"metric": METRIC, "status": "failed", "detail": detail}])
    value = -log_density.mean()
    row["seconds"] = time.perf_counter() - started
    first = row | {"metric": METRIC, "value": value, "stderr": 0.0}
    if not np.isfinite(value):
        first |= {"value": np.nan, "status": "failed", "detail": f"{METRIC} is {value}"}
    return Outcome([first, *(row | each for each in more)], methods.chosen(factor), log_density)


def _importance(job: Job, factor, X, rng: np.random.Generator) -> list[dict]:
    """Return how far importance sampling of log Z is from quadrature, as parts of score rows."""
    if job.importance_samples is None or not hasattr(factor, "log_normaliser"):
        return []
    drawn = factor.log_normaliser(X, method="importance", n_samples=job.importance_samples, rng=rng)
    exact = factor.log_normaliser(X, method="quadrature")
    error = float(to_numpy(drawn.log_z).mean() - to_numpy(exact.log_z).mean())
    size = float(to_numpy(drawn.effective_sample_size).min())
    return [
        {"metric": "importance_error", "value": error, "stderr": drawn.mean_stderr},
        {"metric": "effective_sample_size", "value": size, "unit": "samples"},
    ]


def _row(job: Job, backend: str, run: int, node: int, before: list[int] | None = None) -> dict:
    axes = {"graph": graph_label(job.graph), "node": node}
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(**axes, **({} if before is None else {"parents": before})),
        "method": job.method,
        "variant": job.variant,
        "split": run,
        "unit": "nats",
        "status": "ok",
        "detail": "",
        "backend": backend,
        "dtype": "float64",
    }


def _not_run(job: Job, detail: str, runs: Sequence[int]) -> list[list[Outcome]]:
    missing = {"metric": METRIC, "status": "not-run", "detail": detail}
    backend = methods.backend_of(estimator_of(job, 0), job.backend)
    return [
        [Outcome([_row(job, backend, run, node) | missing]) for node in job.nodes] for run in runs
    ]


def _declared(job: Job, problem: Problem | None, graph: Parents) -> dict:
    """Return what is known of a job before it runs."""
    return {
        "job": asdict(job) | {"nodes": list(job.nodes), "graph": graph_label(job.graph)},
        "parents": [[parent + 1 for parent in before] for before in graph],
        "code": digest(__name__, type(estimator_of(job, 0)).__module__),
        **(problem.description() if problem else {}),
    }


def _write(
    job: Job, problem: Problem | None, declared: dict, found: list[list[Outcome]], out: Path
) -> None:
    rows = [row for factors in found for outcome in factors for row in outcome.rows]
    info = declared | {"backend": scores.backends(rows), "chosen": []}
    if problem is None:
        scores.write(out, rows, info)
        return
    info["chosen"] = [
        {"run": run, "node": node, **outcome.chosen}
        for run, factors in enumerate(found)
        for node, outcome in zip(job.nodes, factors, strict=True)
    ]
    blank = np.full(len(problem.split(0).test), np.nan)
    curves = [
        blank if outcome.log_density is None else outcome.log_density
        for factors in found
        for outcome in factors
    ]
    arrays = {
        "log_density": np.reshape(curves, (job.runs, len(job.nodes), -1)),
        "nodes": np.array(job.nodes),
    }
    scores.write(out, rows, info, arrays)
