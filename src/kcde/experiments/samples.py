"""Samples of joint densities beside data: kcef, figures 2 and 4 and table 3.

The model of run 0 is fitted, once a job or shard; each seed gives 2000 samples.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde.arrays import asarray
from kcde.experiments import joint, methods, scores
from kcde.experiments.factors import graph_label
from kcde.experiments.problems import MOST_GRID_COLUMNS, Problem, open_problem, unavailable
from kcde.experiments.samplers import sampler_kind, sampler_of
from kcde.experiments.shards import WHOLE, Cut, outcomes
from kcde.joint import Graph, JointDensity, parents
from kcde.metrics import conditional_spread
from kcde.provenance import digest
from kcde.seeding import rng_of, seed_of

log = logging.getLogger(__name__)

EXPERIMENT = "samples"
SAMPLES = 2000
REFERENCE = 1000
"""Data points beside the samples of each seed (kcef, figure 4)."""

RUN = 0


@dataclass(frozen=True)
class Job:
    """One method on one data set, all seeds.

    Parameters
    ----------
    dataset, method, variant
        As in the score table.
    estimator
        Class name.
    options
        Constructor arguments.
    graph
        "full", "markov", or the parents of each column counted from 0; None: one model of all
        columns.
    seeds
        How many.
    sampler
        "hmc"; "direct", the estimator's own `sample`, by inverse distribution function where y is
        one-dimensional; "auto": "hmc" where the estimator offers it, but "direct" for a method
        whose name ends in "-inverse".
    samples
        Of each seed.
    tuning_rows
        At most so many rows take part in a selection; None: all.
    max_dim
        Columns of the grid data with 2000 rows.
    backend
        "auto", "numpy" or "cupy".
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    graph: Graph | None = None
    seeds: int = 10
    sampler: str = "auto"
    samples: int = SAMPLES
    tuning_rows: int | None = None
    max_dim: int = MOST_GRID_COLUMNS
    backend: str = "auto"


class Outcome(NamedTuple):
    """What one seed gives: score rows; samples, shape (n, d), None if there are none."""

    rows: list[dict]
    samples: np.ndarray | None = None


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    factors: Sequence[Path] = (),
    catalogue: Path | None = None,
    record: Path | None = None,
    cut: Cut = WHOLE,
) -> None:
    """Fit one model, sample from it and write the scores of each seed.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV. The `.npz` beside it holds, in standardised units, `samples` (seeds, n, d),
        `reference` (seeds, 1000, d), rows drawn from all data, and `reference_test`, the test rows.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    factors
        Score CSVs of `run factors` for this method: the hyper-parameters that they chose in run 0
        are taken, and nothing is tuned again.
    record
        What `fetch` wrote; where it says that the data are unavailable, all rows are `not-run`.
    cut
        Which seeds are computed here; `out` is where a shard keeps them. Every shard fits.

    Raises
    ------
    ValueError
        If a setting or the graph is wrong, or the factors are of another method, data set or graph.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    if job.seeds < 1 or job.samples < 2:
        raise ValueError(
            f"seeds must be at least 1 and samples at least 2; got {job.seeds}, {job.samples}"
        )
    kind = sampler_kind(_estimator(job, 0), job.method, job.sampler)
    problem, known = None, None
    if detail := unavailable(job.dataset, record):
        work = partial(_not_run, job, detail)
    else:
        problem = open_problem(job.dataset, data_dir, catalogue, job.max_dim)
        if job.graph is not None:
            parents(job.graph, problem.dim)
        known = _chosen_by(job, factors) if factors else None
        work = partial(_compute, job, problem, kind, known)
    declared = _declared(job, problem)
    found = outcomes(declared | {"known": known}, range(job.seeds), work, out, cut)
    if found is not None:
        rows = [row for outcome in found for row in outcome.rows]
        scores.write(out, rows, declared, _arrays(job, problem, found) if problem else None)


def _compute(
    job: Job, problem: Problem, kind: str, known: list[dict] | None, seeds: Sequence[int]
) -> list[Outcome]:
    """Fit, and draw under some seeds; a numerical failure is rows that say why."""
    split = problem.split(RUN)
    backend = methods.backend_of(_estimator(job, 0), job.backend)
    train = asarray(split.train, backend)
    sizes = {"n_train": len(split.train), "n_test": len(split.test), "dim": problem.dim}
    try:
        draw = sampler_of(fit(job, problem, train, known), kind, train, job.samples)
    except methods.FAILURES as error:
        return [Outcome([_failed(_row(job, seed, backend) | sizes, error)]) for seed in seeds]
    found = []
    for done, seed in enumerate(seeds, 1):
        reference, row = _reference(problem, split, seed), _row(job, seed, backend) | sizes
        found.append(_drawn(job, problem, draw, reference, row))
        log.info("%s %s: seed %d/%d", job.dataset, job.method, done, len(seeds))
    return found


def _drawn(job: Job, problem: Problem, draw, reference: np.ndarray, row: dict) -> Outcome:
    """Draw under the seed of a row."""
    rng = rng_of("samples", problem.identity, job.method, row["split"])
    try:
        result = draw(job.samples, rng)
        spread = _spread(result.samples, reference, problem.shown_pair)
    except methods.FAILURES as error:
        return Outcome([_failed(row, error)])
    measured = result.diagnostics | spread
    return Outcome([row | _cell(*each) for each in measured.items()], result.samples)


def fit(job: Job, problem: Problem, train, known: Sequence[Mapping] | None = None):
    """Return the fitted model of a job.

    Parameters
    ----------
    job
        What to fit.
    problem
        Names the seeds.
    train
        Standardised rows, shape (n, d), on the backend.
    known
        Hyper-parameters of each factor; None: they are selected.

    Returns
    -------
    JointDensity, or the estimator itself where the job has no graph
    """
    estimator = _estimator(job, problem.seed(RUN))
    if job.graph is None:
        return estimator.fit(None, train)
    if known is None:
        return JointDensity(estimator, job.graph).fit(None, train)
    names = estimator.get_params(deep=False)
    each = []
    for chosen in known:
        given = {name: value for name, value in chosen.items() if name in names}
        each.append(_estimator(job, problem.seed(RUN)).set_params(**given))
    return JointDensity(each, job.graph).fit(None, train)


def _spread(samples: np.ndarray, reference: np.ndarray, pair: tuple[int, int]) -> dict[str, float]:
    columns = [node - 1 for node in pair]
    return conditional_spread(samples[:, columns], reference[:, columns]).in_median_bin()


def _reference(problem: Problem, split, seed: int) -> np.ndarray:
    """Return up to 1000 rows of all data, without repetition; the same for every method."""
    rows = np.concatenate([split.train, split.test])
    order = rng_of("reference", problem.identity, seed).permutation(len(rows))
    return rows[order[:REFERENCE]]


def _chosen_by(job: Job, files: Sequence[Path]) -> list[dict]:
    """Return what the factor jobs chose in run 0, in the order of the nodes."""
    factors = joint.read(files)
    theirs = factors.info["job"]
    ours = {"dataset": job.dataset, "estimator": job.estimator, "options": dict(job.options)}
    ours["graph"] = None if job.graph is None else graph_label(job.graph)
    if differing := [name for name in ours if theirs[name] != json.loads(json.dumps(ours[name]))]:
        name = differing[0]
        raise ValueError(
            f"the factors in {files[0]} are of {name} {theirs[name]!r}, not {ours[name]!r}; "
            "give those of the same method"
        )
    chosen = [each for info in factors.infos for each in info["chosen"] if each["run"] == RUN]
    return sorted(chosen, key=lambda each: each["node"])


def _estimator(job: Job, random_state: int):
    return methods.build(
        job.method,
        job.estimator,
        job.options,
        random_state=random_state,
        tuning_rows=job.tuning_rows,
    )


def _not_run(job: Job, detail: str, seeds: Sequence[int]) -> list[Outcome]:
    missing = {"metric": "samples", "status": "not-run", "detail": detail}
    backend = methods.backend_of(_estimator(job, 0), job.backend)
    return [Outcome([_row(job, seed, backend) | missing]) for seed in seeds]


def _row(job: Job, seed: int, backend: str) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": seed,
        "status": "ok",
        "detail": "",
        "backend": backend,
        "dtype": "float64",
        "seed": seed_of("samples", job.dataset, job.method, seed) % 2**32,
    }


def _cell(metric: str, value: float) -> dict:
    if np.isfinite(value):
        unit = "samples" if metric.startswith("effective") else ""
        return {"metric": metric, "value": value, "unit": unit}
    detail = f"{metric} is {value}"
    return {"metric": metric, "value": np.nan, "status": "failed", "detail": detail}


def _failed(row: dict, error: Exception) -> dict:
    detail = f"{type(error).__name__}: {error}"
    return row | {"metric": "samples", "status": "failed", "detail": detail}


def _declared(job: Job, problem: Problem | None) -> dict:
    """Return what is known of a job before it runs."""
    label = None if job.graph is None else graph_label(job.graph)
    return {
        "job": asdict(job) | {"graph": label},
        "code": digest(__name__, type(_estimator(job, 0)).__module__),
        **(problem.description() if problem else {}),
    }


def _arrays(job: Job, problem: Problem, found: list[Outcome]) -> dict[str, np.ndarray]:
    split = problem.split(RUN)
    blank = np.full((job.samples, problem.dim), np.nan)
    return {
        "reference": np.stack([_reference(problem, split, seed) for seed in range(job.seeds)]),
        "reference_test": split.test,
        "samples": np.stack([blank if one.samples is None else one.samples for one in found]),
    }
