"""Probability that portfolios lose much on the next day (jdl, section 5.2, figures 7 to 9).

A repetition is a subsample of days; every method is given the same. The event is that the summed
excess return of the first d portfolios is at most q, its 1% quantile over the n days that train and
validate; x is what the d portfolios returned on the day before. Parameters are chosen by the
logistic loss (41) on the days that validate.

``logistic_loss``              (41) over the test days, probabilities clipped to 1e-12 and 1
``negative_probability_rate``  share of test days with an estimate below 0
``base_rate_loss``             (41) of the share of events in the n days, whatever x
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, resolve_backend, to_numpy
from kcde.data import french
from kcde.data.french import ExcessReturns, Subsample, excess_returns
from kcde.data.names import PORTFOLIOS
from kcde.estimators import estimator_class
from kcde.experiments import _low_rank, methods, runner
from kcde.experiments._low_rank import Selection, Trials
from kcde.experiments._shared_bases import (
    MOST_HELD,
    Bases,
    Fit,
    group_by_basis,
    is_classifier,
    tightest,
)
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.portfolio import Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import BASE_RATE_LOSS, LOGISTIC_LOSS, NEGATIVE_PROBABILITY_RATE
from kcde.seeding import split_seed

QUANTILE = 0.01
FLOOR = 1e-12
"""η of (41)."""


class Repetition(NamedTuple):
    """Data of a repetition: days, arrays of a backend, and the return q to compare y with."""

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


class Experiment(runner.Experiment[Job]):
    """Every repetition, with constraints and without where a method has them. The `.npz` has
    `probability`, shape (repetitions, settings, test days), float32, NaN where a fit failed,
    `label`, shape (repetitions, test days), and `threshold`, shape (repetitions,).
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown data and options."""
        PORTFOLIOS.sizes(job.dataset)
        _make(job, 0, False)

    def files(self) -> list[str]:
        """Return the data sets of the returns and of the risk-free returns."""
        return [self.job.portfolios, self.job.risk_free]

    def open(self) -> ExcessReturns:
        """Return the excess returns."""
        return excess_returns(*self.files(), self.places.data_dir, self.places.catalogue)

    def begin(self, units: Sequence[int]) -> Callable[[int], list[Outcome]]:
        """Return a function that fits and tests a repetition."""
        backend = resolve_backend(self.job.backend)
        pairs = self.data.pairs(PORTFOLIOS.sizes(self.job.dataset)[0])

        def work(number: int) -> list[Outcome]:
            given = repetition(self.job, pairs, number, backend)
            fitted = _outcomes(self.jobs, given)
            return [_of_method(job, given, fitted) for job in self.jobs]

        return work

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row with constraints and one without."""
        missing = {"metric": LOGISTIC_LOSS, "n_train": None, "n_test": None}
        return [_row(job, unit, constrained) | missing for constrained in constraints(job)]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        data = self.data
        return super().info(job) | {
            "source": "jdl, section 5.2",
            "constraints": list(constraints(job)),
            "days": None if data is None else len(data.dates),
            "days_with_missing_returns": None if data is None else data.missing,
            "data_sha256": None if data is None else list(data.sha256),
        }


def constraints(job: Job) -> tuple[bool, ...]:
    """Return whether a method is fitted without constraints, and with them."""
    return (False, True) if "constrained" in _known(job) else (False,)


def repetition(
    job: Job, pairs: tuple[np.ndarray, np.ndarray], number: int, backend: str = "numpy"
) -> Repetition:
    """Return the data of a repetition, the same for every method and backend."""
    _, n = PORTFOLIOS.sizes(job.dataset)
    days = french.subsample(pairs, n, number, job.test_rows)
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


class _Result(NamedTuple):
    """Result of one fit: score rows, chosen parameters, and estimates; None if it failed."""

    rows: list
    chosen: Selection | None = None
    probability: np.ndarray | None = None


class _FitTask(NamedTuple):
    """An estimator to fit, with its job."""

    job: Job
    constrained: bool
    model: object


def _of_method(job: Job, given: Repetition, fitted: Mapping[tuple[str, bool], _Result]) -> Outcome:
    """Return the outcome of one method in a repetition."""
    each = constraints(job)
    estimates = np.full((len(each), job.test_rows), np.nan, dtype=np.float32)
    label = given.test_event().astype(bool)
    arrays = {"probability": estimates, "label": label, "threshold": np.array(given.threshold)}
    found = Outcome([], arrays=arrays)
    for place, constrained in enumerate(each):
        one = fitted[job.method, constrained]
        found.rows += one.rows
        named = {"split": given.number, "constrained": constrained}
        found.chosen.append(named | {"chosen": one.chosen and one.chosen._asdict()})
        if one.probability is not None:
            estimates[place] = one.probability
    return found


def _outcomes(jobs: Sequence[Job], given: Repetition) -> dict[tuple[str, bool], _Result]:
    """Fit all methods of a repetition; estimators with equal bases share them."""
    fittings = {
        (job.method, constrained): _FitTask(job, constrained, _make(job, given.number, constrained))
        for job in jobs
        for constrained in constraints(job)
    }
    outcomes = {}
    for keys in group_by_basis({key: fitting.model for key, fitting in fittings.items()}):
        part = {key: fittings[key] for key in keys}
        # The bases of the former are dropped before the latter makes its own.
        found = _shared(part, given)
        if given.number < next(iter(part.values())).job.matched_repetitions:
            _add_matched(found, part, given)
        outcomes |= found
    return outcomes


def _shared(fittings: Mapping, given: Repetition) -> dict[tuple[str, bool], _Result]:
    """Choose parameters for estimators with the same bases, and fit and test them."""
    made: dict = {}
    started = time.perf_counter()
    trials = _select(fittings, given, made)
    seconds = (time.perf_counter() - started) / len(trials)
    for method, constrained in fittings:
        # What does not choose for itself takes what is best without constraints.
        trials.setdefault((method, constrained), trials[method, False])
    models = {key: trials[key].shape(fitting.model) for key, fitting in fittings.items()}
    bases = _bases(given, tightest(models.values()), made)
    return {
        key: _outcome(fittings[key], given, trials[key], bases, seconds)
        for key in bases.in_order(models)
    }


def _bases(given: Repetition, tightest: float | None = None, made: dict | None = None) -> Bases:
    train = _low_rank.training_rows(given.days.X.shape[0])
    return Bases(given.days.X[:train, :], given.days.Y[:train, :], tightest, made=made)


def _add_matched(outcomes: dict, fittings: Mapping, given: Repetition) -> None:
    """Add to the rows what fits of one bandwidth for all methods cost."""
    days = given.days
    models = {
        key: _low_rank.matched(fitting.model, outcomes[key].chosen.options, days.X, days.Y)
        for key, fitting in fittings.items()
        if outcomes[key].chosen
    }
    bases = _bases(given)
    for key in bases.in_order(models):
        job, constrained, _ = fittings[key]
        costs, _ = attempt(
            _low_rank.matched_costs,
            lambda key=key: _fitted(fittings[key].job, given, models[key], bases),
            lambda model: _probabilities(model, given, days.X_test),
        )
        if not isinstance(costs, Exception):
            row = _row(job, given.number, constrained, given.backend)
            outcomes[key].rows.extend(row | _low_rank.cell(*each) for each in costs)


def _select(fittings: Mapping, given: Repetition, made: dict) -> dict[tuple[str, bool], Trials]:
    """Return the trials of those that choose for themselves; without constraints all do.

    If all rows choose, what a fit can share is added to `made`, unless factors are so large that
    only one fits into memory.
    """
    job = next(iter(fittings.values())).job
    days = given.days
    rows = days.X.shape[0]
    small = rows * min(job.max_rank or rows, rows) <= MOST_HELD
    X, Y = (_low_rank.first_rows(rows, job.tuning_rows) for rows in (days.X, days.Y))
    held_out = given.event(Y)[_low_rank.training_rows(X.shape[0]) :, 0]

    def loss(values):
        return logistic_loss(array_namespace(values).reshape(values, (-1,)), held_out)

    models = {
        key: fitting.model
        for key, fitting in fittings.items()
        if fitting.job.choice == "own" or not fitting.constrained
    }
    return _low_rank.select(
        models,
        X,
        Y,
        given.event,
        loss,
        job.grid,
        most_trace=job.most_trace,
        collected=made if small and X.shape[0] == rows else None,
        # Seconds that are shown are not those of fits that recompute their factors.
        streamed=False,
    )


def _outcome(fitting: _FitTask, given: Repetition, trials, bases, seconds: float) -> _Result:
    """Fit with the best parameters and test; a failure is one row that says why."""
    row = _row(fitting.job, given.number, fitting.constrained, given.backend)
    found, fitting_seconds = attempt(_tested, fitting, given, trials, bases)
    if isinstance(found, Exception):
        return _Result([row | scores.failed(LOGISTIC_LOSS, found)])
    chosen, probability, measured = found
    row["seconds"] = seconds + fitting_seconds
    # A repetition is kept until all are there: in the precision in which it is written.
    kept = probability.astype(np.float32)
    return _Result([row | _low_rank.cell(*each) for each in measured], chosen, kept)


def _tested(fitting: _FitTask, given: Repetition, trials, bases) -> tuple:
    """Return the chosen parameters, the estimates, and (metric, value, unit) of a fit."""
    chosen = trials.best()
    fitted = _fitted(fitting.job, given, fitting.model, bases)
    evaluating = time.perf_counter()
    probability = _probabilities(fitted.model, given, given.days.X_test)
    evaluated = time.perf_counter() - evaluating
    structure = _low_rank.structure(fitted.model, given.days.X_test, given.days.Y_test)
    return (
        chosen,
        probability,
        [
            (LOGISTIC_LOSS, logistic_loss(probability, given.test_event()), "nats"),
            (NEGATIVE_PROBABILITY_RATE, float(np.mean(probability < 0)), ""),
            (BASE_RATE_LOSS, _base_rate_loss(given), "nats"),
            *structure,
            *_low_rank.costs(fitted, evaluated),
        ],
    )


def _base_rate_loss(given: Repetition) -> float:
    rate = float(to_numpy(given.event(given.days.Y)).mean())
    event = given.test_event()
    return logistic_loss(np.full(event.shape, rate), event)


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
    _, n = PORTFOLIOS.sizes(job.dataset)
    fewest = _low_rank.training_rows(min(n, job.tuning_rows or n))
    rank = None if job.max_rank is None else min(job.max_rank, fewest)
    options = {"tolerance": job.tolerance, "max_rank": rank, **job.options}
    if "constrained" in _known(job):
        options = _low_rank.with_constraints(options, constrained)
    seed = split_seed(job.dataset, number)
    return methods.build(job.method, job.estimator, options, random_state=seed, tuning_rows=None)


def _known(job: Job) -> list[str]:
    return estimator_class(job.estimator)._get_param_names()


def _row(job: Job, number: int, constrained: bool, backend: str = "numpy") -> dict:
    dim, n = PORTFOLIOS.sizes(job.dataset)
    return job.row(
        number,
        dim=dim,
        setting=scores.setting(tolerance=job.tolerance, constrained=constrained),
        n_train=_low_rank.training_rows(n),
        n_test=job.test_rows,
        backend=backend,
        seed=split_seed(job.dataset, number),
    )
