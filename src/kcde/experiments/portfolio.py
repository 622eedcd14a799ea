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
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, asarray, resolve_backend, to_numpy
from kcde.datasets import fama_french
from kcde.datasets.fama_french import ExcessReturns, Subsample, excess_returns
from kcde.estimators import estimator_class
from kcde.experiments import low_rank, methods, problems, scores, shards, together
from kcde.experiments.low_rank import Chosen, Grid, Trials
from kcde.experiments.shards import WHOLE, Cut
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
    backend
        "auto", "numpy" or "cupy".
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
    backend: str = "auto"


class Repetition(NamedTuple):
    """What every method is given: days, arrays of a backend, and the return q to compare y with."""

    number: int
    days: Subsample
    threshold: float
    backend: str = "numpy"

    def event(self, Y):
        """Return whether y ≤ q, float, shape (n, 1), of sums Y (n, 1)."""
        xp = array_namespace(Y)
        return xp.astype(xp.less_equal(Y, self.threshold), xp.float64)

    def test_event(self) -> np.ndarray:
        """Return whether y ≤ q on the test days, float, shape (m,), on the host."""
        return to_numpy(self.event(self.days.Y_test))[:, 0]


def run(
    jobs: Sequence[Job],
    outs: Sequence[Path],
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    records: tuple[Path, ...] = (),
    cut: Cut = WHOLE,
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
        `label`, shape (repetitions, test days), and `threshold`, shape (repetitions,). Of a shard
        one file, for what all jobs found in its repetitions.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    records
        What `fetch` wrote of the two files; if one says that it is unavailable, every repetition is
        a `not-run` row.
    cut
        Which repetitions are computed here.

    Raises
    ------
    ValueError
        If the data set or an option is unknown, a number is too small or too large, the jobs differ
        in more than the method, or a part is not of these jobs and data.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    together.check(jobs, outs, cut)
    for job in jobs:
        _check(job)
    first, reason = jobs[0], _missing(jobs[0], records)
    data = None
    if not reason:
        data = excess_returns(first.portfolios, first.risk_free, data_dir, catalogue)
    identity = together.identity(EXPERIMENT, jobs, __name__, reason or data.sha256)
    numbers = range(first.repetitions)
    found = shards.outcomes(identity, numbers, partial(_fit, jobs, data), outs[0], cut)
    if found is None:
        return
    for job, out in zip(jobs, outs, strict=True):
        if data:
            _write(job, data, found, out)
        else:
            _write_not_run(job, out, reason)


def constraints(job: Job) -> tuple[bool, ...]:
    """Return whether a method is fitted without constraints, and with them."""
    return (False, True) if "constrained" in _known(job) else (False,)


def repetition(
    job: Job, pairs: tuple[np.ndarray, np.ndarray], number: int, backend: str = "numpy"
) -> Repetition:
    """Return what every method is given under a number: the same on every backend."""
    _, n = fama_french.sizes(job.dataset)
    days = fama_french.subsample(pairs, n, number, job.test_rows)
    # The smallest sum that at least one in a hundred does not exceed, without interpolation.
    threshold = float(np.quantile(days.Y, QUANTILE, method="inverted_cdf"))
    placed = {name: asarray(rows, backend) for name, rows in vars(days).items()}
    return Repetition(number, replace(days, **placed), threshold, backend)


def logistic_loss(probability, event) -> float:
    """Return the loss (41) of estimates of a probability, which may leave [0, 1].

    Parameters
    ----------
    probability
        Shape (n,).
    event
        0 or 1, shape (n,).
    """
    xp = array_namespace(probability)
    happens = xp.log(xp.minimum(xp.maximum(probability, FLOOR), 1.0))
    does_not = xp.log(xp.maximum(xp.minimum(1.0 - probability, 1.0), FLOOR))
    return float(-xp.mean(event * happens + (1.0 - event) * does_not))


@dataclass
class Outcome:
    """What one fit gives: score rows, what was chosen, and estimates; None where it failed."""

    rows: list
    chosen: Chosen | None = None
    probability: np.ndarray | None = None


@dataclass
class Found:
    """What one repetition gives: outcomes by method and constraints, and what y was.

    Attributes
    ----------
    outcomes
        Of all fits.
    label
        Whether y ≤ q on the test days, shape (m,).
    threshold
        q.
    """

    outcomes: Mapping[tuple[str, bool], Outcome]
    label: np.ndarray
    threshold: float


def _missing(job: Job, records: Sequence[Path]) -> str:
    """Return why the data are not there, "" where they are."""
    files = zip((job.portfolios, job.risk_free), records, strict=False)
    reasons = (problems.unavailable(name, record) for name, record in files)
    return "; ".join(reason for reason in reasons if reason)


def _write(job: Job, data: ExcessReturns, found: Sequence[Found], out: Path) -> None:
    """Write a job's scores, and what lies beside them, of the outcomes of every repetition."""
    shape = (job.repetitions, len(constraints(job)), job.test_rows)
    arrays = {
        "probability": np.full(shape, np.nan, dtype=np.float32),
        "label": np.stack([each.label for each in found]),
        "threshold": np.array([each.threshold for each in found]),
    }
    rows, chosen = [], []
    for number, each in enumerate(found):
        for place, constrained in enumerate(constraints(job)):
            outcome = each.outcomes[job.method, constrained]
            rows += outcome.rows
            named = {"split": number, "constrained": constrained}
            chosen.append(named | {"chosen": outcome.chosen and outcome.chosen._asdict()})
            if outcome.probability is not None:
                arrays["probability"][number, place] = outcome.probability
    scores.write(out, rows, _info(job, data, chosen), arrays)


class _Fitting(NamedTuple):
    """An estimator to fit, and whose it is."""

    job: Job
    constrained: bool
    model: object


def _fit(jobs: Sequence[Job], data: ExcessReturns | None, numbers: Sequence[int]) -> list:
    """Return what some repetitions give, each a `Found`; of no data there is nothing."""
    if data is None:
        return [None] * len(numbers)
    backend, found = resolve_backend(jobs[0].backend), []
    pairs = data.pairs(fama_french.sizes(jobs[0].dataset)[0])
    named = f"{jobs[0].dataset} {', '.join(job.method for job in jobs)}"
    for done, number in enumerate(numbers, 1):
        given = repetition(jobs[0], pairs, number, backend)
        label = given.test_event().astype(bool)
        found.append(Found(_outcomes(jobs, given), label, given.threshold))
        log.info("%s: repetition %d/%d", named, done, len(numbers))
    return found


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
    train, days = low_rank.training_rows(given.days.X.shape[0]), given.days
    bases = Bases(days.X[:train, :], days.Y[:train, :])
    models = {key: trials[key].shape(fitting.model) for key, fitting in fittings.items()}
    return {
        key: _outcome(fittings[key], given, trials[key], bases, seconds)
        for key in bases.in_order(models)
    }


def _select(fittings: Mapping, given: Repetition) -> dict[tuple[str, bool], Trials]:
    job = next(iter(fittings.values())).job
    days = given.days
    X, Y = (low_rank.first_rows(rows, job.tuning_rows) for rows in (days.X, days.Y))
    held_out = given.event(Y)[low_rank.training_rows(X.shape[0]) :, 0]

    def loss(values):
        return logistic_loss(array_namespace(values).reshape(values, (-1,)), held_out)

    models = {key: fitting.model for key, fitting in fittings.items()}
    return low_rank.select(models, X, Y, given.event, loss, job.grid)


def _outcome(fitting: _Fitting, given: Repetition, trials, bases, seconds: float) -> Outcome:
    """Fit with the best parameters and test; a failure is one row that says why."""
    row = _row(fitting.job, given.number, fitting.constrained, given.backend)
    started = time.perf_counter()
    try:
        chosen = trials.best()
        fitted = _fitted(fitting.job, given, fitting.model, bases)
        evaluating = time.perf_counter()
        probability = _probabilities(fitted.model, given, given.days.X_test)
        evaluated = time.perf_counter() - evaluating
        structure = low_rank.structure(fitted.model, given.days.X_test, given.days.Y_test)
    except methods.FAILURES as error:
        detail = f"{type(error).__name__}: {error}"
        return Outcome([row | {"metric": LOSS, "status": "failed", "detail": detail}])
    row["seconds"] = seconds + time.perf_counter() - started
    event = given.test_event()
    measured = [
        (LOSS, logistic_loss(probability, event), "nats"),
        (NEGATIVE, float(np.mean(probability < 0)), ""),
        *structure,
        *low_rank.costs(fitted, evaluated),
    ]
    # A repetition is kept until all are there: in the precision in which it is written.
    kept = probability.astype(np.float32)
    return Outcome([row | low_rank.cell(*each) for each in measured], chosen, kept)


def _fitted(job: Job, given: Repetition, model, bases: Bases) -> Fit:
    if not is_classifier(model):
        return bases.fit(model)
    # Its loss is a sum over rows, so that λ grows with them where fewer rows chose it.
    n = given.days.X.shape[0]
    factor = n / min(n, job.tuning_rows or n)
    model = model.set_params(regularization=factor * model.regularization)
    labels = to_numpy(given.event(bases.Y))[:, 0].astype(np.int64)
    return bases.fit_classifier(model, labels)


def _probabilities(model, given: Repetition, X) -> np.ndarray:
    if is_classifier(model):
        return to_numpy(model.predict_proba(X))[:, 1]
    return to_numpy(model.conditional_expectation(given.event, X))[:, 0]


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


def _row(job: Job, number: int, constrained: bool, backend: str = "numpy") -> dict:
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
        "backend": backend,
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
