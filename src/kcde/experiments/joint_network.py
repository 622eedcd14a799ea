"""Joint densities by one network for all columns: the NADE of kcef, table 2 and figures 1 and 5.

An orderless network has a density for every order of the columns. The published numbers are
reproduced by the log likelihood averaged over random orders; the column order alone and the mixture
of the orders, which is the better density, stand beside it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kcde.estimators import estimator_class
from kcde.experiments import methods, scores
from kcde.experiments.joint import EXPERIMENT, METRIC
from kcde.experiments.problems import (
    MOST_GRID_COLUMNS,
    Problem,
    Split,
    open_problem,
    unavailable,
)
from kcde.normalisers import logsumexp
from kcde.provenance import digest
from kcde.seeding import rng_of

ORDERS = 10
"""Random orders that the score is averaged over (Uria et al., 2016)."""


@dataclass(frozen=True)
class Job:
    """One network method on one data set, all runs.

    Parameters
    ----------
    dataset, method, variant
        As in the score table.
    estimator
        Class name; it must offer `fit_many` and `log_density_by_order`.
    options
        Constructor arguments.
    runs
        How many random splits, or repetitions of the grid data.
    dims
        For the grid data with 2000 rows: a network is trained on the first so many columns, for
        each of these. Elsewhere all columns are taken.
    tuning_rows
        At most so many rows take part in a selection, where the estimator has one.
    max_dim
        Columns of the grid data with 2000 rows.
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    runs: int = 5
    dims: tuple[int, ...] = ()
    tuning_rows: int | None = None
    max_dim: int = MOST_GRID_COLUMNS


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    record: Path | None = None,
) -> None:
    """Run one job and write its scores.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV. The `.npz` beside it holds `log_density_by_order_<d>` (runs, orders, test
        rows) in standardised units for every d trained on; the first order is that of the columns.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    record
        What `fetch` wrote; where it says that the data are unavailable, all rows are `not-run`.

    Raises
    ------
    ValueError
        If the estimator is no network of this kind, has no such option, `runs` is not positive, or
        a dimension is not one of the problem's.
    """
    if job.runs < 1:
        raise ValueError(f"runs must be at least 1; got {job.runs}")
    if not hasattr(estimator_class(job.estimator), "fit_many"):
        raise ValueError(
            f"method {job.method}: {job.estimator} cannot be trained on all runs at once; "
            "for other estimators use `run factors` and `run joint`"
        )
    _estimator(job, 0)
    if detail := unavailable(job.dataset, record):
        missing = {"status": "not-run", "detail": detail}
        rows = [_row(job, run, METRIC, np.nan) | missing for run in range(job.runs)]
        scores.write(out, rows, _info(job, None, []))
        return
    problem = open_problem(job.dataset, data_dir, catalogue, job.max_dim)
    splits = [problem.split(run) for run in range(job.runs)]
    rows, arrays, chosen = [], {}, []
    for dim in _dims(job, problem):
        found = _train(job, problem, splits, dim)
        rows += found.rows
        chosen += found.chosen
        arrays[f"log_density_by_order_{dim}"] = found.by_order
    scores.write(out, rows, _info(job, problem, chosen), arrays)


@dataclass
class Outcome:
    """What training on some columns gives: log densities, score rows, hyper-parameters."""

    by_order: np.ndarray
    rows: list[dict] = field(default_factory=list)
    chosen: list[dict] = field(default_factory=list)


def _dims(job: Job, problem: Problem) -> list[int]:
    if not problem.every_dimension:
        return [problem.dim]
    dims = list(job.dims) or [problem.dim]
    if beyond := [dim for dim in dims if not 1 <= dim <= problem.dim]:
        raise ValueError(f"{job.dataset} has 1 to {problem.dim} columns; dims has {beyond}")
    return dims


def _train(job: Job, problem: Problem, splits: Sequence[Split], dim: int) -> Outcome:
    """Train on the first columns of all runs at once, and score each run."""
    common = [
        {
            "dim": dim,
            "setting": scores.setting(**({"dim": dim} if problem.every_dimension else {})),
            "n_train": len(split.train),
            "n_test": len(split.test),
            "seed": problem.seed(run),
        }
        for run, split in enumerate(splits)
    ]
    started = time.perf_counter()
    models = _fit_many(job, problem, splits, dim)
    tables = [
        _attempt(model, split.test[:, :dim], rng_of("orders", problem.identity, run, dim))
        for run, (model, split) in enumerate(zip(models, splits, strict=True))
    ]
    seconds = {"seconds": (time.perf_counter() - started) / job.runs}
    found = Outcome(by_order=np.full((job.runs, ORDERS + 1, len(splits[0].test)), np.nan))
    for run, table in enumerate(tables):
        if isinstance(table, Exception):
            detail = f"{type(table).__name__}: {table}"
            failed = {"status": "failed", "detail": detail}
            found.rows.append(_row(job, run, METRIC, np.nan) | common[run] | failed)
            continue
        found.by_order[run] = table
        found.chosen.append({"run": run, "dim": dim, **methods.chosen(models[run])})
        found.rows += [
            _row(job, run, name, value) | common[run] | seconds
            for name, value in metrics(table).items()
        ]
    return found


def _fit_many(job: Job, problem: Problem, splits: Sequence[Split], dim: int) -> list:
    """Return one fitted network for each run, or the error in its place."""
    networks = [_estimator(job, problem.seed(run)) for run in range(job.runs)]
    Ys = [split.train[:, :dim] for split in splits]
    no_x = [Y[:, :0] for Y in Ys]
    return type(networks[0]).fit_many(networks, no_x, Ys, return_errors=True)


def _attempt(model, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray | Exception:
    """Return the log density in the column order and in random orders, or why there is none."""
    if isinstance(model, Exception):
        return model
    try:
        return model.log_density_by_order(Y[:, :0], Y, ORDERS + 1, rng)
    except (ValueError, FloatingPointError) as error:
        return error


def metrics(by_order: np.ndarray) -> dict[str, float]:
    """Return the scores of a network.

    Parameters
    ----------
    by_order
        Log densities, shape (1 + orders, n), nats; the first row in the column order, which counts
        in no other score.

    Returns
    -------
    dict
        The negative log likelihood: mean over random orders; in the column order; of the mixture
        of the random orders.
    """
    random = by_order[1:]
    mixture = logsumexp(random, axis=0) - np.log(len(random))
    return {
        METRIC: -float(random.mean()),
        f"{METRIC}_fixed_order": -float(by_order[0].mean()),
        f"{METRIC}_ensemble": -float(mixture.mean()),
    }


def _estimator(job: Job, random_state: int):
    return methods.build(
        job.method,
        job.estimator,
        job.options,
        random_state=random_state,
        tuning_rows=job.tuning_rows,
    )


def _row(job: Job, run: int, metric: str, value: float) -> dict:
    finite = bool(np.isfinite(value))
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": run,
        "metric": metric,
        "value": value if finite else np.nan,
        "stderr": 0.0 if finite else np.nan,
        "unit": "nats",
        "status": "ok" if finite else "failed",
        "detail": "" if finite else f"{metric} is {value}",
        "backend": "jax",
        "dtype": "float64",
    }


def _info(job: Job, problem: Problem | None, chosen: list[dict]) -> dict:
    return {
        "job": asdict(job) | {"dims": list(job.dims)},
        "chosen": chosen,
        "code": digest(__name__, type(_estimator(job, 0)).__module__),
        **(problem.description() if problem else {}),
    }
