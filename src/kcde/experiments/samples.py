"""Samples of joint densities beside data: kcef, figures 2 and 4 and table 3.

The model of run 0 is fitted once; each seed gives 2000 samples.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kcde.experiments import joint, methods, scores
from kcde.experiments.factors import graph_label
from kcde.experiments.problems import MOST_GRID_COLUMNS, Problem, open_problem, unavailable
from kcde.experiments.samplers import sampler_kind, sampler_of
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


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    factors: Sequence[Path] = (),
    catalogue: Path | None = None,
    record: Path | None = None,
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

    Raises
    ------
    ValueError
        If a setting or the graph is wrong, or the factors are of another method, data set or graph.
    """
    if job.seeds < 1 or job.samples < 2:
        raise ValueError(
            f"seeds must be at least 1 and samples at least 2; got {job.seeds}, {job.samples}"
        )
    kind = sampler_kind(_estimator(job, 0), job.method, job.sampler)
    if detail := unavailable(job.dataset, record):
        missing = {"metric": "samples", "status": "not-run", "detail": detail}
        scores.write(out, [_row(job, s) | missing for s in range(job.seeds)], _info(job))
        return
    problem = open_problem(job.dataset, data_dir, catalogue, job.max_dim)
    if job.graph is not None:
        parents(job.graph, problem.dim)
    split = problem.split(RUN)
    known = _chosen_by(job, factors) if factors else None
    references = np.stack([_reference(problem, split, seed) for seed in range(job.seeds)])
    arrays = {"reference": references, "reference_test": split.test}
    rows, drawn = _draw_all(job, problem, kind, split.train, references, known)
    arrays["samples"] = drawn
    sizes = {"n_train": len(split.train), "n_test": len(split.test), "dim": problem.dim}
    scores.write(out, [row | sizes for row in rows], _info(job, problem), arrays)


def _draw_all(
    job: Job, problem: Problem, kind: str, train, references, known
) -> tuple[list, np.ndarray]:
    """Return the score rows and the samples; a numerical failure is rows that say why."""
    drawn = np.full((job.seeds, job.samples, problem.dim), np.nan)
    try:
        draw = sampler_of(fit(job, problem, train, known), kind, train, job.samples)
    except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
        return [_failed(job, seed, error) for seed in range(job.seeds)], drawn
    rows = []
    for seed in range(job.seeds):
        try:
            result = draw(job.samples, rng_of("samples", problem.identity, job.method, seed))
            spread = _spread(result.samples, references[seed], problem.shown_pair)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError) as error:
            rows.append(_failed(job, seed, error))
            continue
        drawn[seed] = result.samples
        rows += [_scored(job, seed, *each) for each in (result.diagnostics | spread).items()]
        log.info("%s %s: seed %d/%d", job.dataset, job.method, seed + 1, job.seeds)
    return rows, drawn


def fit(job: Job, problem: Problem, train: np.ndarray, known: Sequence[Mapping] | None = None):
    """Return the fitted model of a job.

    Parameters
    ----------
    job
        What to fit.
    problem
        Names the seeds.
    train
        Standardised rows, shape (n, d).
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


def _row(job: Job, seed: int) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": seed,
        "status": "ok",
        "detail": "",
        "backend": "numpy",
        "dtype": "float64",
        "seed": seed_of("samples", job.dataset, job.method, seed) % 2**32,
    }


def _scored(job: Job, seed: int, metric: str, value: float) -> dict:
    row = _row(job, seed) | {"metric": metric}
    if np.isfinite(value):
        return row | {"value": value, "unit": "samples" if metric.startswith("effective") else ""}
    return row | {"value": np.nan, "status": "failed", "detail": f"{metric} is {value}"}


def _failed(job: Job, seed: int, error: Exception) -> dict:
    detail = f"{type(error).__name__}: {error}"
    return _row(job, seed) | {"metric": "samples", "status": "failed", "detail": detail}


def _info(job: Job, problem: Problem | None = None) -> dict:
    label = None if job.graph is None else graph_label(job.graph)
    return {
        "job": asdict(job) | {"graph": label},
        "code": digest(__name__, type(_estimator(job, 0)).__module__),
        **(problem.description() if problem else {}),
    }
