"""Probability that portfolios lose much on the next day (jdl, section 5.2, figures 7 to 9).

A repetition is a subsample of days; every method is given the same. The event is that the summed
excess return of the first d portfolios is at most q, its 1% quantile over the n days that train and
validate; x is what the d portfolios returned on the day before. Parameters are chosen by the
logistic loss (41) on the days that validate.

``logistic_loss``              (41) over the test days, probabilities clipped to 1e-12 and 1
``negative_probability_rate``  share of test days with an estimate below 0
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde.datasets import fama_french
from kcde.datasets.fama_french import ExcessReturns, Subsample, excess_returns
from kcde.estimators import estimator_class
from kcde.experiments import low_rank, methods, problems, scores
from kcde.experiments.low_rank import Chosen, Grid, Trials
from kcde.experiments.shared_bases import Bases, Fit, alike, is_classifier
from kcde.provenance import digest, estimator_module
from kcde.seeding import split_seed

log = logging.getLogger(__name__)

EXPERIMENT = "portfolio"
LOSS = "logistic_loss"
NEGATIVE = "negative_probability_rate"
TOLERANCE = 1e-3
QUANTILE = 0.01
FLOOR = 1e-12
"""η of (41)."""


@dataclass(frozen=True)
class Job:
    """One method on portfolios of one number d and subsamples of one size n, all repetitions.

    Parameters
    ----------
    dataset, method, variant
        As in the score table; the data set is `portfolios-<d>-<n>`.
    estimator
        Class name.
    portfolios, risk_free
        Data sets of the catalogue.
    options
        Constructor arguments.
    repetitions
        Subsamples.
    tolerance
        Relative, of the pivoted factors.
    max_rank
        At most so many pivots; None: as many as the tolerance asks for.
    tuning_rows
        At most so many of the n days choose the parameters; None: all.
    test_rows
        Days on which each fit is tested.
    grid
        What is tried.
    """

    dataset: str
    method: str
    estimator: str
    portfolios: str = "fama-french-25-daily"
    risk_free: str = "fama-french-factors-daily"
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    repetitions: int = 100
    tolerance: float = TOLERANCE
    max_rank: int | None = None
    tuning_rows: int | None = None
    test_rows: int = fama_french.TEST_ROWS
    grid: Grid = field(default_factory=Grid)


class Repetition(NamedTuple):
    """What every method is given: days, and the return q that y is compared with."""

    number: int
    days: Subsample
    threshold: float

    def event(self, Y: np.ndarray) -> np.ndarray:
        """Return whether y ≤ q, float, shape (n, 1), of sums Y (n, 1)."""
        return np.less_equal(Y, self.threshold).astype(np.float64)


def run(
    jobs: Sequence[Job],
    outs: Sequence[Path],
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    records: tuple[Path, ...] = (),
) -> None:
    """Fit and score every repetition, with constraints and without where a method has them.

    Jobs that differ in nothing but the method run together: what their fits have in common, bases
    and cross moments, is computed once, and each method's scores are as if it had run alone.

    Parameters
    ----------
    jobs
        What to run.
    outs
        The score CSV of each job; a row a repetition, setting and metric. The `.npz` beside it has
        `probability`, shape (repetitions, settings, test days), float32, NaN where a fit failed,
        `label`, shape (repetitions, test days), and `threshold`, shape (repetitions,).
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    records
        What `fetch` wrote of the two files; if one says that it is unavailable, every repetition is
        a `not-run` row.

    Raises
    ------
    ValueError
        If the data set or an option is unknown, a number is too small or too large, or the jobs
        differ in more than the method.
    """
    low_rank.check_together(jobs, outs)
    for job in jobs:
        _check(job)
    missing = [
        reason
        for name, record in zip((jobs[0].portfolios, jobs[0].risk_free), records, strict=False)
        if (reason := problems.unavailable(name, record))
    ]
    if missing:
        for job, out in zip(jobs, outs, strict=True):
            _write_not_run(job, out, "; ".join(missing))
        return
    data = excess_returns(jobs[0].portfolios, jobs[0].risk_free, data_dir, catalogue)
    pairs = data.pairs(fama_french.sizes(jobs[0].dataset)[0])
    reports = {job.method: _Report(job) for job in jobs}
    for number in range(jobs[0].repetitions):
        given = repetition(jobs[0], pairs, number)
        outcomes = _outcomes(jobs, given)
        for job in jobs:
            each = {place: outcomes[job.method, place] for place in constraints(job)}
            reports[job.method].add(given, each)
        named = ", ".join(reports)
        log.info("%s %s: repetition %d/%d", job.dataset, named, number + 1, job.repetitions)
    for job, out in zip(jobs, outs, strict=True):
        reports[job.method].write(out, data)


def constraints(job: Job) -> tuple[bool, ...]:
    """Return whether a method is fitted without constraints, and with them."""
    return (False, True) if "constrained" in _known(job) else (False,)


def repetition(job: Job, pairs: tuple[np.ndarray, np.ndarray], number: int) -> Repetition:
    """Return what every method is given under a number."""
    _, n = fama_french.sizes(job.dataset)
    days = fama_french.subsample(pairs, n, number, job.test_rows)
    # The smallest sum that at least one in a hundred does not exceed, without interpolation.
    threshold = float(np.quantile(days.Y, QUANTILE, method="inverted_cdf"))
    return Repetition(number, days, threshold)


def logistic_loss(probability: np.ndarray, event: np.ndarray) -> float:
    """Return the loss (41) of estimates of a probability, which may leave [0, 1].

    Parameters
    ----------
    probability
        Shape (n,).
    event
        0 or 1, shape (n,).
    """
    happens = np.log(np.minimum(1.0, np.maximum(probability, FLOOR)))
    does_not = np.log(np.maximum(FLOOR, np.minimum(1.0 - probability, 1.0)))
    return float(-np.mean(event * happens + (1.0 - event) * does_not))


@dataclass
class Outcome:
    """What one fit gives: score rows, what was chosen, and estimates; None where it failed."""

    rows: list
    chosen: Chosen | None = None
    probability: np.ndarray | None = None


class _Report:
    """What a job writes, repetition by repetition."""

    def __init__(self, job: Job):
        self._job = job
        shape = (job.repetitions, len(constraints(job)), job.test_rows)
        self._rows, self._chosen = [], []
        self._arrays = {
            "probability": np.full(shape, np.nan, dtype=np.float32),
            "label": np.zeros((shape[0], shape[2]), dtype=bool),
            "threshold": np.zeros(shape[0]),
        }

    def add(self, given: Repetition, outcomes: Mapping[bool, Outcome]) -> None:
        """Take what the fits of a repetition gave, without constraints and with them."""
        number = given.number
        self._arrays["label"][number] = given.event(given.days.Y_test)[:, 0]
        self._arrays["threshold"][number] = given.threshold
        for place, (constrained, outcome) in enumerate(outcomes.items()):
            self._rows += outcome.rows
            named = {"split": number, "constrained": constrained}
            self._chosen.append(named | {"chosen": outcome.chosen and outcome.chosen._asdict()})
            if outcome.probability is not None:
                self._arrays["probability"][number, place] = outcome.probability

    def write(self, out: Path, data: ExcessReturns) -> None:
        """Write the scores and what lies beside them."""
        scores.write(out, self._rows, _info(self._job, data, self._chosen), self._arrays)


class _Fitting(NamedTuple):
    """An estimator to fit, and whose it is."""

    job: Job
    constrained: bool
    model: object


def _outcomes(jobs: Sequence[Job], given: Repetition) -> dict[tuple[str, bool], Outcome]:
    """Fit all that a repetition wants; estimators with alike bases share them."""
    fittings = {
        (job.method, constrained): _Fitting(job, constrained, _make(job, given.number, constrained))
        for job in jobs
        for constrained in constraints(job)
    }
    outcomes = {}
    for part in alike({key: fitting.model for key, fitting in fittings.items()}):
        outcomes |= _shared({key: fittings[key] for key in part}, given)
    return outcomes


def _shared(fittings: Mapping, given: Repetition) -> dict[tuple[str, bool], Outcome]:
    """Choose parameters for estimators with the same bases, and fit and test them."""
    started = time.perf_counter()
    trials = _select(fittings, given)
    seconds = (time.perf_counter() - started) / len(trials)
    train, days = low_rank.training_rows(len(given.days.X)), given.days
    bases = Bases(days.X[:train], days.Y[:train])
    models = {key: trials[key].shape(fitting.model) for key, fitting in fittings.items()}
    return {
        key: _outcome(fittings[key], given, trials[key], bases, seconds)
        for key in bases.in_order(models)
    }


def _select(fittings: Mapping, given: Repetition) -> dict[tuple[str, bool], Trials]:
    job = next(iter(fittings.values())).job
    rows = slice(job.tuning_rows)
    X, Y = given.days.X[rows], given.days.Y[rows]
    held_out = given.event(Y)[low_rank.training_rows(len(X)) :, 0]

    def loss(values):
        return logistic_loss(values.reshape(-1), held_out)

    models = {key: fitting.model for key, fitting in fittings.items()}
    return low_rank.select(models, X, Y, given.event, loss, job.grid)


def _outcome(fitting: _Fitting, given: Repetition, trials, bases, seconds: float) -> Outcome:
    """Fit with the best parameters and test; a failure is one row that says why."""
    row = _row(fitting.job, given.number, fitting.constrained)
    started = time.perf_counter()
    try:
        chosen = trials.best()
        fitted = _fit(fitting.job, given, fitting.model, bases)
        evaluating = time.perf_counter()
        probability = _probabilities(fitted.model, given, given.days.X_test)
        evaluated = time.perf_counter() - evaluating
        structure = low_rank.structure(fitted.model, given.days.X_test, given.days.Y_test)
    except methods.FAILURES as error:
        detail = f"{type(error).__name__}: {error}"
        return Outcome([row | {"metric": LOSS, "status": "failed", "detail": detail}])
    row["seconds"] = seconds + time.perf_counter() - started
    event = given.event(given.days.Y_test)[:, 0]
    measured = [
        (LOSS, logistic_loss(probability, event), "nats"),
        (NEGATIVE, float(np.mean(probability < 0)), ""),
        *structure,
        *low_rank.costs(fitted, evaluated),
    ]
    return Outcome([row | low_rank.cell(*each) for each in measured], chosen, probability)


def _fit(job: Job, given: Repetition, model, bases: Bases) -> Fit:
    if not is_classifier(model):
        return bases.fit(model)
    # Its loss is a sum over rows, so that λ grows with them where fewer rows chose it.
    n = len(given.days.X)
    factor = n / min(n, job.tuning_rows or n)
    model = model.set_params(regularization=factor * model.regularization)
    labels = given.event(bases.Y)[:, 0].astype(np.int64)
    return bases.fit_classifier(model, labels)


def _probabilities(model, given: Repetition, X: np.ndarray) -> np.ndarray:
    if is_classifier(model):
        return model.predict_proba(X)[:, 1]
    return model.conditional_expectation(given.event, X)[:, 0]


def _make(job: Job, number: int, constrained: bool):
    _, n = fama_french.sizes(job.dataset)
    fewest = low_rank.training_rows(min(n, job.tuning_rows or n))
    rank = None if job.max_rank is None else min(job.max_rank, fewest)
    options = {"tolerance": job.tolerance, "max_rank": rank, **job.options}
    if "constrained" in _known(job):
        options["constrained"] = constrained
    seed = split_seed(job.dataset, number)
    return methods.build(job.method, job.estimator, options, random_state=seed, tuning_rows=None)


def _known(job: Job) -> list[str]:
    return estimator_class(job.estimator)._get_param_names()


def _check(job: Job) -> None:
    fama_french.sizes(job.dataset)
    job.grid.check()
    least = {"repetitions": 1, "test_rows": 1, "tuning_rows": 5, "max_rank": 1}
    for name, smallest in least.items():
        if getattr(job, name) is not None and getattr(job, name) < smallest:
            raise ValueError(f"{name} must be at least {smallest}; got {getattr(job, name)}")
    if not 0.0 < job.tolerance < 1.0:
        raise ValueError(f"tolerance must be above 0 and below 1; got {job.tolerance}")
    _make(job, 0, False)


def _row(job: Job, number: int, constrained: bool) -> dict:
    dim, n = fama_french.sizes(job.dataset)
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "dim": dim,
        "setting": scores.setting(tolerance=job.tolerance, constrained=constrained),
        "method": job.method,
        "variant": job.variant,
        "split": number,
        "n_train": low_rank.training_rows(n),
        "n_test": job.test_rows,
        "backend": "numpy",
        "dtype": "float64",
        "seed": split_seed(job.dataset, number),
    }


def _write_not_run(job: Job, out: Path, reason: str) -> None:
    missing = {"metric": LOSS, "status": "not-run", "detail": reason}
    rows = [
        _row(job, number, constrained) | missing | {"n_train": None, "n_test": None}
        for number in range(job.repetitions)
        for constrained in constraints(job)
    ]
    scores.write(out, rows, _info(job, None, []))


def _info(job: Job, data: ExcessReturns | None, chosen: list) -> dict:
    return {
        "source": "jdl, section 5.2",
        "job": asdict(job) | {"options": dict(job.options)},
        "constraints": list(constraints(job)),
        "chosen": chosen,
        "days": None if data is None else len(data.dates),
        "days_with_missing_returns": None if data is None else data.missing,
        "data_sha256": None if data is None else list(data.sha256),
        "code": digest(__name__, estimator_module(job.estimator)),
    }
