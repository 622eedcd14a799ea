"""Conditional densities on the R benchmark data (kcef, table 1; dde, table 2).

Each data set is split at random into halves, twenty times; x and y are standardised by the
training half; the score is the negative log likelihood of the standardised y, averaged over the
test half (kcef, section 4; dde, section 6).
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import asarray, take_rows, to_numpy
from kcde.datasets.loaders import Dataset, load
from kcde.estimators import Standardised
from kcde.experiments import methods, scores
from kcde.experiments.problems import unavailable
from kcde.experiments.shards import WHOLE, Cut, outcomes
from kcde.normalisers import GaussianProposal, Normaliser, importance_sampling
from kcde.provenance import digest
from kcde.seeding import rng_of, split_seed

log = logging.getLogger(__name__)

EXPERIMENT = "r_benchmark"
METRIC = "negative_log_likelihood"
EVALUATIONS = ("training-half", "test-half")
TEST_HALF = "test-half"
TEST_HALF_DRAWS = 1000


@dataclass(frozen=True)
class Job:
    """One method on one data set, all splits.

    Parameters
    ----------
    dataset, method, variant
        As in the score table.
    estimator
        Class name.
    options
        Constructor arguments.
    splits
        How many random half/half splits.
    importance_samples
        Draws for log Z where the estimator needs it.
    tuning_rows
        At most so many rows take part in a likelihood selection; None: all.
    evaluation
        Where the draws for log Z come from: "training-half", a Gaussian wider than the training y
        (`log_normaliser` of the estimator); "test-half", 1000 draws from a Gaussian with mean and
        standard deviation of the *test* y, as dde was evaluated, which is biased low.
    backend
        "auto", "numpy" or "cupy".
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    splits: int = 20
    importance_samples: int = 10_000
    tuning_rows: int | None = None
    evaluation: str = "training-half"
    backend: str = "auto"


def half_split(dataset: str, split: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows, the first n//2 of a shuffle, and the test rows.

    The shuffle depends on the data set's name and the split's number alone.
    """
    order = rng_of("split", dataset, split).permutation(n)
    return order[: n // 2], order[n // 2 :]


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    record: Path | None = None,
    cut: Cut = WHOLE,
) -> None:
    """Run one job and write its scores.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV; `.json` and `.npz` are written beside it.
    data_dir
        Where the raw data are.
    catalogue
        A catalogue other than the project's own.
    record
        What `fetch` wrote; where it says that the data are unavailable, every split is a
        `not-run` row.
    cut
        Which splits are computed here; `out` is where a shard keeps them.

    Raises
    ------
    ValueError
        If an option is not known to the estimator, the number of splits is not positive, the
        evaluation is unknown or does not suit the estimator, or the job is cut and the estimator
        trains all splits together.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    if job.splits < 1:
        raise ValueError(f"splits must be at least 1; got {job.splits}")
    estimator = make_estimator(job, 0)
    _check_evaluation(job.evaluation, estimator)
    methods.check_separable(estimator, cut)
    if detail := unavailable(job.dataset, record):
        data, work = None, partial(_not_run, job, detail)
    else:
        data = load(job.dataset, data_dir, catalogue=catalogue)
        work = partial(_compute, job, data)
    found = outcomes(_declared(job, data), range(job.splits), work, out, cut)
    if found is not None:
        _write(job, data, found, out)


@dataclass
class Outcome:
    """What one split gives: score rows, chosen hyper-parameters, per-point arrays."""

    rows: list
    chosen: dict = field(default_factory=dict)
    arrays: dict = field(default_factory=dict)


def make_estimator(job: Job, split: int):
    """Return the unfitted estimator of one split.

    Raises
    ------
    ValueError
        If the class does not know one of the options.
    """
    by_likelihood = job.options.get("selection") == "likelihood"
    return methods.build(
        job.method,
        job.estimator,
        job.options,
        random_state=split_seed(job.dataset, split),
        tuning_rows=job.tuning_rows if by_likelihood else None,
    )


def _check_evaluation(evaluation: str, estimator) -> None:
    if evaluation not in EVALUATIONS:
        allowed = ", ".join(EVALUATIONS)
        raise ValueError(f"evaluation must be one of {allowed}; got {evaluation!r}")
    if evaluation == TEST_HALF and not hasattr(estimator, "log_normaliser"):
        raise ValueError(
            f"{type(estimator).__name__} has no normaliser to draw for: evaluation {TEST_HALF!r} "
            "is for kernel exponential families"
        )


def _compute(job: Job, data: Dataset, splits: Sequence[int]) -> list[Outcome]:
    """Send the data to where the estimator computes, once, and run some splits."""
    estimator = make_estimator(job, 0)
    backend = methods.backend_of(estimator, job.backend)
    there = replace(data, X=asarray(data.X, backend), Y=asarray(data.Y, backend))
    run_all = run_together if hasattr(estimator, "fit_many") else _run_in_turn
    return run_all(job, there, splits, backend)


def _run_in_turn(job: Job, data: Dataset, splits: Sequence[int], backend: str) -> list[Outcome]:
    found, started = [], time.perf_counter()
    for done, split in enumerate(splits, 1):
        found.append(run_split(job, data, split, backend))
        left = (time.perf_counter() - started) / done * (len(splits) - done)
        log.info(
            "%s %s: split %d/%d, about %.0f s left",
            job.dataset,
            job.method,
            done,
            len(splits),
            left,
        )
    return found


def run_split(job: Job, data: Dataset, split: int, backend: str) -> Outcome:
    """Fit and score one split of data that lie where `backend` computes.

    A numerical failure is a row that says why.
    """
    started = time.perf_counter()
    try:
        model = Standardised(make_estimator(job, split)).fit(*_halves(job, data, split)[0])
    except methods.FAILURES as error:
        model = error
    return _outcome(job, data, split, backend, model, time.perf_counter() - started)


def run_together(job: Job, data: Dataset, splits: Sequence[int], backend: str) -> list[Outcome]:
    """Fit splits in one call of the estimator's `fit_many`, and score them.

    The seconds of a split are its share of the call and its own scoring.
    """
    log.info("%s %s: %d splits in one go", job.dataset, job.method, len(splits))
    started = time.perf_counter()
    models = [Standardised(make_estimator(job, split)) for split in splits]
    pairs = [_halves(job, data, split)[0] for split in splits]
    fitted = Standardised.fit_many(models, *zip(*pairs, strict=True))
    seconds = (time.perf_counter() - started) / len(splits)
    return [
        _outcome(job, data, split, backend, model, seconds)
        for split, model in zip(splits, fitted, strict=True)
    ]


def _halves(job: Job, data: Dataset, split: int) -> tuple[tuple, tuple]:
    """Return (X, Y) of the training rows and of the test rows, where the data lie."""
    X, Y = data.X, data.Y
    train, test = half_split(job.dataset, split, X.shape[0])
    return (take_rows(X, train), take_rows(Y, train)), (take_rows(X, test), take_rows(Y, test))


def _outcome(job: Job, data: Dataset, split: int, backend: str, model, seconds: float) -> Outcome:
    """Score a fitted model, or report the error that stands in its place."""
    train, test = half_split(job.dataset, split, data.X.shape[0])
    common = (job, split, backend, len(train), len(test))
    started = time.perf_counter()
    try:
        if isinstance(model, Exception):
            raise model
        metrics, arrays = _evaluate(job, model, *_halves(job, data, split)[1], split)
    except methods.FAILURES as error:
        row = _row(*common, METRIC, np.nan, np.nan, "nats")
        return Outcome([row | {"status": "failed", "detail": f"{type(error).__name__}: {error}"}])
    seconds += time.perf_counter() - started
    rows = [
        _row(*common, *metric) | {"seconds": seconds, "dim": data.X.shape[1]} for metric in metrics
    ]
    arrays["test_rows"] = test
    chosen = methods.chosen(model.estimator_) | {"dropped": model.dropped_}
    return Outcome(rows, chosen, arrays)


def _evaluate(job: Job, model: Standardised, X, Y, split: int):
    """Return (metric, value, stderr, unit) tuples and per-point arrays, for standardised y."""
    inner, X, Y = model.estimator_, model.transform_x(X), model.transform_y(Y)
    if not hasattr(inner, "log_normaliser"):
        log_density = to_numpy(inner.log_density(X, Y))
        return [(METRIC, -log_density.mean(), 0.0, "nats")], {"log_density": log_density}
    log_f = to_numpy(inner.log_unnormalized(X, Y))
    count = TEST_HALF_DRAWS if job.evaluation == TEST_HALF else job.importance_samples
    drawn = _by_importance(job, inner, X, Y, count, rng_of("importance", job.dataset, split))
    exact = inner.log_normaliser(X, method="quadrature")
    log_z, size = to_numpy(drawn.log_z), to_numpy(drawn.effective_sample_size)
    reference = to_numpy(exact.log_z)
    error = drawn.mean_stderr
    metrics = [
        (METRIC, (log_z - log_f).mean(), error, "nats"),
        (f"{METRIC}_quadrature", (reference - log_f).mean(), exact.mean_stderr, "nats"),
        ("importance_error", (log_z - reference).mean(), error, "nats"),
        ("effective_sample_size", size.min(), np.nan, "samples"),
        ("importance_samples", count, np.nan, "samples"),
        *_training(inner, X),
    ]
    arrays = {
        "log_density": log_f - log_z,
        "log_density_quadrature": log_f - reference,
        "log_z_stderr": to_numpy(drawn.stderr),
        "effective_sample_size": size,
    }
    return metrics, arrays


def _by_importance(job: Job, inner, X, Y, count: int, rng: np.random.Generator) -> Normaliser:
    """Estimate log Z at X from draws that all x share.

    The authors of dde drew anew for each test point: the error of each is distributed the same.
    """
    if job.evaluation != TEST_HALF:
        return inner.log_normaliser(X, method="importance", n_samples=count, rng=rng)
    labels = to_numpy(Y)
    proposal = GaussianProposal(labels.mean(axis=0), labels.std(axis=0))
    return importance_sampling(inner.log_unnormalized_at, X, proposal, count, rng)


def _training(inner, X) -> list[tuple]:
    """Return how the training went, of estimators that keep a history; the worst test x."""
    history = getattr(inner, "history_", None)
    if history is None:
        return []
    proposed = to_numpy(inner.log_normaliser(X, method="sampler").effective_sample_size)
    return [
        ("iterations", inner.iterations_, np.nan, "iterations"),
        ("objective", history["objective"][-1], np.nan, "nats"),
        ("mmd2_biased", history["mmd2_biased"][-1], np.nan, ""),
        ("sampler_effective_sample_size", proposed.min(), np.nan, "samples"),
    ]


def _row(job, split, backend, n_train, n_test, metric, value, stderr, unit) -> dict:
    finite = bool(np.isfinite(value))
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": split,
        "n_train": n_train,
        "n_test": n_test,
        "metric": metric,
        "value": float(value) if finite else np.nan,
        "stderr": float(stderr),
        "unit": unit,
        "status": "ok" if finite else "failed",
        "detail": "" if finite else f"{metric} is {value}",
        "backend": backend,
        "dtype": "float64",
        "seed": split_seed(job.dataset, split),
    }


def _not_run(job: Job, detail: str, splits: Sequence[int]) -> list[Outcome]:
    missing = {"n_train": np.nan, "n_test": np.nan, "status": "not-run", "detail": detail}
    backend = methods.backend_of(make_estimator(job, 0), job.backend)
    return [
        Outcome([_row(job, split, backend, 0, 0, METRIC, np.nan, np.nan, "nats") | missing])
        for split in splits
    ]


def _declared(job: Job, data: Dataset | None) -> dict:
    """Return what is known of a job before it runs."""
    return {
        "job": {**vars(job), "options": dict(job.options)},
        "data_sha256": data.sha256 if data else None,
        "code": digest(__name__, type(make_estimator(job, 0)).__module__),
    }


def _write(job: Job, data: Dataset | None, found: list[Outcome], out: Path) -> None:
    arrays: dict[str, dict] = {}
    for split, outcome in enumerate(found):
        for name, values in outcome.arrays.items():
            arrays.setdefault(name, {})[split] = values
    stacked = {name: _stack(parts, job.splits) for name, parts in arrays.items()}
    rows = [row for outcome in found for row in outcome.rows]
    chosen = [outcome.chosen for outcome in found] if data else []
    info = {"backend": scores.backends(rows), "chosen": chosen}
    scores.write(out, rows, _declared(job, data) | info, stacked)


def _stack(parts: dict[int, np.ndarray], splits: int) -> np.ndarray:
    """Stack per-split arrays; a failed split is a row of NaN (of -1 for row numbers)."""
    example = next(iter(parts.values()))
    blank = np.full_like(example, -1 if example.dtype.kind == "i" else np.nan)
    return np.stack([parts.get(split, blank) for split in range(splits)])
