"""Mean and spread of traffic by day of the week and time of day (cdo, figure 5).

Every method is fitted to the outputs of some days and asked for mean and standard deviation at each
input; those of the outputs of the other days say how far it is off. (The authors' notebook tests on
days that it trained on.) What is as the authors fixed it, Gaussian processes, and operators with
periods get the data in their own units; all else is standardised by the training rows.

``mean_error``, ``std_error``  median over the inputs of |estimate/test - 1|, of the mean and of the
                               standard deviation of the test outputs (divisor: their number)
``mean_error_of_training``,    the same of the mean and standard deviation of the training outputs
``std_error_of_training``      of an input alone, for which no method is needed
``negative_variance_share``    share of the inputs where the estimate of the variance is negative,
                               as with signed weights it may be: its standard deviation is NaN, and
                               in the median its error is larger than any other

An input is tested where at least two test days have it and their mean and spread are positive. On
`simulated-traffic` no error is measured but what a fit costs: see `traffic_cost`.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import asarray, to_numpy
from kcde.datasets import traffic as data_sets
from kcde.datasets.traffic import Split, Traffic, open_traffic
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import cdo_settings, methods, problems, scores, shards, traffic_cost
from kcde.experiments.conditional_models import cell
from kcde.experiments.shards import WHOLE, Cut
from kcde.provenance import digest, estimator_module
from kcde.seeding import split_seed

log = logging.getLogger(__name__)

EXPERIMENT = "traffic"
MEAN, STD = "mean_error", "std_error"
NEGATIVE = "negative_variance_share"
BINS = 40
FEWEST_TEST_OUTPUTS = 2


@dataclass(frozen=True)
class Job:
    """One method on one data set, all splits.

    Parameters
    ----------
    dataset, method, variant
        As in the score table; the data set is one that `kcde.datasets.traffic` opens.
    estimator
        Class name.
    options
        Constructor arguments.
    settings
        "authors": what the options leave open is as the authors fixed it; "chosen": the estimator
        chooses it.
    splits
        At most so many; data with training and test days of their own have one.
    tuning_rows
        At most so many training rows choose parameters; None: all.
    backend
        "auto", "numpy" or "cupy"; simulated traffic is measured on the host.
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    settings: str = cdo_settings.CHOSEN
    splits: int = 10
    tuning_rows: int | None = 2000
    backend: str = "auto"


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    record: Path | None = None,
    cut: Cut = WHOLE,
) -> None:
    """Fit and score every split.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV; a row a split and metric. The `.npz` beside it has `inputs`, shape (splits,
        inputs, 2), and `mean`, `std`, `test_mean`, `test_std`, `test_count`, shape (splits,
        inputs), NaN where there is none; and of the test outputs of split 0 `histogram`, shape
        (inputs, bins), over the bins between `edges`.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    record
        What `fetch` wrote; where it says that the data are unavailable, there is a `not-run` row.
    cut
        Which splits are computed here.

    Raises
    ------
    ValueError
        If the data set or an option is unknown, the number of splits is not positive, simulated
        traffic is not for that method or is to be cut, or a part is not of this job and data.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    _check(job, cut)
    reason = problems.unavailable(job.dataset, record)
    data = None if reason else open_traffic(job.dataset, data_dir, catalogue)
    info = _info(job, data)
    if data and data.name == data_sets.SIMULATED:
        scores.write(out, _cost_rows(job, data), info | {"chosen": []})
        return
    count = min(job.splits, data.splits or job.splits) if data else job.splits
    identity = {"experiment": EXPERIMENT, "unavailable": reason, **info}
    outcomes = shards.outcomes(identity, range(count), partial(_fit, job, data), out, cut)
    if outcomes is None:
        return
    if data is None:
        row = _row(job, 0) | {"metric": MEAN, "status": "not-run", "detail": reason}
        scores.write(out, [row], info | {"chosen": []})
        return
    arrays = {
        name: np.stack([outcome.arrays[name] for outcome in outcomes])
        for name in outcomes[0].arrays
    }
    rows = [row for outcome in outcomes for row in outcome.rows]
    chosen = {"chosen": [outcome.chosen for outcome in outcomes]}
    scores.write(out, rows, info | chosen, arrays | _histogram(data))


def scaled_errors(estimate: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return |estimate/reference - 1|, shape (q,), NaN where either is NaN."""
    return np.abs(estimate / reference - 1.0)


@dataclass
class _Outcome:
    """What one split gives: score rows, what was chosen, and curves over the inputs."""

    rows: list
    chosen: dict
    arrays: dict


@dataclass(frozen=True)
class _Tested:
    """What a split tests: moments of the outputs at the inputs, NaN where they do not count."""

    count: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    training_mean: np.ndarray
    training_std: np.ndarray

    @classmethod
    def of(cls, split: Split, inputs: np.ndarray) -> "_Tested":
        """Take the moments; an input with too few test outputs, or constant ones, is not tested."""
        count, mean, std = data_sets.moments(split.X_test, split.Y_test, inputs)
        tested = (count >= FEWEST_TEST_OUTPUTS) & (mean > 0.0) & (std > 0.0)
        _, *training = data_sets.moments(split.X, split.Y, inputs)
        return cls(
            count,
            np.where(tested, mean, np.nan),
            np.where(tested, std, np.nan),
            *training,
        )


def _fit(job: Job, data: Traffic | None, numbers: Sequence[int]) -> list:
    """Fit and score some of the splits; of no data there is nothing."""
    if data is None:
        return [None] * len(numbers)
    backend = methods.backend_of(estimator_class(job.estimator), job.backend)
    found = []
    for done, number in enumerate(numbers, 1):
        found.append(_outcome(job, data, number, backend))
        log.info("%s %s: split %d/%d", job.dataset, job.method, done, len(numbers))
    return found


def _outcome(job: Job, data: Traffic, number: int, backend: str) -> _Outcome:
    """Fit and score one split; a numerical failure is a row that says why."""
    split, inputs = data.split(number), data.inputs
    tested = _Tested.of(split, inputs)
    row = _row(job, number) | {"n_train": len(split.Y), "n_test": len(split.Y_test)}
    row |= {"seed": split_seed(data.name, number), "dim": 1, "backend": backend}
    arrays = {"inputs": inputs, "test_count": tested.count}
    arrays |= {"test_mean": tested.mean, "test_std": tested.std}
    blank = np.full(len(inputs), np.nan)
    started = time.perf_counter()
    try:
        model = _model(job, data.name, number, split)
        model.fit(asarray(split.X, backend), asarray(split.Y, backend))
        at = asarray(inputs, backend)
        mean, variance = (to_numpy(f(at))[:, 0] for f in (model.mean, model.variance))
    except methods.FAILURES as error:
        detail = f"{type(error).__name__}: {error}"
        failed = row | {"metric": MEAN, "status": "failed", "detail": detail}
        return _Outcome([failed], {}, arrays | {"mean": blank, "std": blank})
    row["seconds"] = time.perf_counter() - started
    std = np.sqrt(np.where(variance < 0.0, np.nan, variance))
    rows = [row | found for found in _cells(tested, mean, std)]
    chosen = methods.chosen(getattr(model, "estimator_", model))
    return _Outcome(rows, chosen, arrays | {"mean": mean, "std": std})


def _cells(tested: _Tested, mean: np.ndarray, std: np.ndarray) -> list[dict]:
    """Return metric, value and what is said of it."""
    negative = int(np.isnan(std).sum())
    lacking = f"no standard deviation at {negative} inputs of negative variance" if negative else ""
    values = [
        (MEAN, scaled_errors(mean, tested.mean), ""),
        (STD, scaled_errors(std, tested.std), lacking),
        (f"{MEAN}_of_training", scaled_errors(tested.training_mean, tested.mean), ""),
        (f"{STD}_of_training", scaled_errors(tested.training_std, tested.std), ""),
    ]
    counted = ~np.isnan(tested.mean)
    cells = [
        cell(metric, _median(errors[counted]), detail=detail) for metric, errors, detail in values
    ]
    return [*cells, cell(NEGATIVE, negative / len(std))]


def _median(errors: np.ndarray) -> float:
    """Return the median, where what has no estimate is worse than all that has one."""
    return float(np.median(np.where(np.isnan(errors), np.inf, errors))) if len(errors) else np.nan


def _cost_rows(job: Job, data: Traffic) -> list[dict]:
    """Return what fitting the simulated pairs costs, and how far the grouping is from exact."""
    row = _row(job, 0) | {"n_train": len(data.Y), "n_test": len(data.inputs), "dim": 1}
    try:
        found = traffic_cost.measured(job.estimator, job.options, job.settings)
    except (*methods.FAILURES, traffic_cost.FitError) as error:
        detail = f"{type(error).__name__}: {error}"
        return [row | {"metric": traffic_cost.FIT, "status": "failed", "detail": detail}]
    return [row | cell(name, value, unit=unit) for name, (value, unit) in found.items()]


def _model(job: Job, name: str, number: int, split: Split):
    model = make_estimator(job, name, number, split)
    return model if _in_own_units(job) else Standardised(model)


def _in_own_units(job: Job) -> bool:
    fixed = job.settings == cdo_settings.AUTHORS or job.options.get("periods") is not None
    return (fixed and job.estimator == "CDO") or job.estimator == "GaussianProcess"


def make_estimator(job: Job, name: str, number: int, split: Split):
    """Return the unfitted estimator of one split.

    Raises
    ------
    ValueError
        If the class does not know one of the options, or the settings are unknown.
    """
    options = cdo_settings.filled(
        job.options, job.settings, EXPERIMENT, job.estimator, split.X, split.Y
    )
    seed = split_seed(name, number)
    return methods.build(
        job.method, job.estimator, options, random_state=seed, tuning_rows=job.tuning_rows
    )


def _check(job: Job, cut: Cut) -> None:
    if job.splits < 1:
        raise ValueError(f"splits must be at least 1; got {job.splits}")
    if job.settings not in cdo_settings.SETTINGS:
        known = ", ".join(cdo_settings.SETTINGS)
        raise ValueError(f"settings must be one of {known}; got {job.settings!r}")
    for needed in ("mean", "variance"):
        if not hasattr(estimator_class(job.estimator), needed):
            raise ValueError(f"{job.estimator} has no {needed}, which the experiment asks for")
    methods.build(job.method, job.estimator, job.options, random_state=0, tuning_rows=None)
    if job.dataset == data_sets.SIMULATED:
        traffic_cost.check(job.estimator, job.settings)
        if cut != WHOLE:
            raise ValueError(f"{job.dataset} is one fit: leave out --shard and --part")


def _histogram(data: Traffic) -> dict[str, np.ndarray]:
    """Return how the test outputs of split 0 spread at each input."""
    split = data.split(0)
    edges = np.linspace(split.Y_test.min(), split.Y_test.max(), BINS + 1)
    counts = data_sets.counts_in_bins(split.X_test, split.Y_test, data.inputs, edges)
    return {"histogram": counts, "edges": edges}


def _row(job: Job, number: int) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": number,
        "backend": "numpy",
        "dtype": "float64",
    }


def _info(job: Job, data: Traffic | None) -> dict:
    return {
        "source": "cdo, section 4 and figure 5",
        "job": asdict(job) | {"options": dict(job.options)},
        "unit": data and data.unit,
        "repeated_rows_left_out": data and data.repeats,
        "bins": BINS,
        "data_sha256": data and data.sha256,
        "code": digest(__name__, estimator_module(job.estimator)),
    }
