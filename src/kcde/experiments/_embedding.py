"""What the experiments on low-rank embeddings have in common: a repetition, from rows to scores.

Methods that have the same bases are fitted together (jdl, sections 5.1 and 5.2). Each setting
chooses its own parameters, on at most `tuning_rows` rows, and is then fitted to four fifths of all.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from kcde import scores
from kcde.arrays import resolve_backend, to_numpy
from kcde.data.names import SizedNames
from kcde.estimators import estimator_class
from kcde.experiments import _low_rank, methods
from kcde.experiments._low_rank import Trials, first_rows, held_out, training_rows
from kcde.experiments._shared_bases import (
    Bases,
    Fit,
    group_by_basis,
    is_classifier,
    tightest,
    with_options,
)
from kcde.experiments.base import ArrayExperiment, Outcome, parameter
from kcde.experiments.runner import attempt
from kcde.metrics.names import MATCHED
from kcde.seeding import split_seed

BANDWIDTH_FACTORS = (0.5, 1.0, 2.0, 4.0)
REGULARIZATIONS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


class Setting(NamedTuple):
    """How a method is fitted; a tolerance of 0 is that of a method without."""

    tolerance: float
    constrained: bool
    law: str | None = None
    largest_factor: float | None = None

    def axes(self) -> dict:
        """Return what a score row states."""
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Rows that train and validate, and test rows, arrays of a backend.

    `law` is that of the settings it is for, None without; `kept` has the bases of x that others
    made which have the same x.
    """

    number: int
    X: Any
    Y: Any
    X_test: Any
    Y_test: Any
    backend: str
    law: str | None = None
    kept: dict | None = None

    def f(self, Y):
        """Return that of which expectations are estimated, shape (k, q), for Y (k, d)."""
        raise NotImplementedError

    def loss(self, X, Y) -> Callable:
        """Return the loss of expectations at the rows that validate."""
        raise NotImplementedError

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what is kept of the data."""
        return {}

    def expected(self, model) -> np.ndarray:
        """Return what a fitted model expects of `f` at the test points, on the host."""
        if is_classifier(model):
            return to_numpy(model.predict_proba(self.X_test))[:, 1:]
        return to_numpy(model.conditional_expectation(self.f, self.X_test))


class _Task(NamedTuple):
    """An estimator to fit, with its job."""

    job: "EmbeddingExperiment"
    setting: Setting
    model: Any


class _Result(NamedTuple):
    """Score rows of a fit, the options that were chosen and its estimates; none if it failed."""

    rows: list
    chosen: _low_rank.Selection | None = None
    arrays: Mapping[str, np.ndarray] = {}


_Key = tuple[str, Setting]


@dataclass(frozen=True)
class EmbeddingExperiment(ArrayExperiment):
    """A method on data of one dimension and number of rows, all repetitions."""

    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)

    sized_names: ClassVar[SizedNames]
    loss: ClassVar[str]
    """The metric of the row of a fit that failed."""

    estimates: ClassVar[tuple[str, ...]]
    """Arrays of the `.npz` with a value for each test point."""

    tolerances: ClassVar[Any]
    """Relative, of the factors: the published one, and others."""

    # Those that one experiment has as a parameter.
    laws: ClassVar[Any] = (None,)
    largest_factors: ClassVar[Any] = ()
    validation_rows: ClassVar[Any] = None
    most_trace: ClassVar[Any] = 1.0

    repetitions: int = parameter(20, "Random repetitions.", at_least=1)
    tuning_rows: int | None = parameter(
        None, "Rows that choose the parameters, at most; all by default.", at_least=5
    )
    # "shared" is for constraints that cost so much that only one fit is affordable.
    choice: str = parameter(
        "own",
        "Parameters of a fit with constraints: own, or shared with that without.",
        choices=("own", "shared"),
    )
    matched_repetitions: int = parameter(
        3, "Repetitions that also time fits of one bandwidth for all methods.", at_least=0
    )
    test_rows: int = parameter(5000, "Points at which each fit is tested.", at_least=1)
    bandwidth_factors: tuple[float, ...] = parameter(
        BANDWIDTH_FACTORS, "Bandwidths to try, over the median distance/√2."
    )
    regularizations: tuple[float, ...] = parameter(REGULARIZATIONS, "Regularizations λ to try.")

    def __post_init__(self):
        super().__post_init__()
        for name in ("bandwidth_factors", "regularizations"):
            values = getattr(self, name)
            if not values or not all(0.0 < value < np.inf for value in values):
                raise ValueError(f"{name} must be positive numbers, at least one; got {values}")
        given = self.tolerances
        if not given or len(set(given)) < len(given) or not all(0.0 < each < 1.0 for each in given):
            raise ValueError(f"tolerances must be above 0 and below 1, each once; got {given}")

    def check(self) -> None:
        """Raise `ValueError` for unknown data and options."""
        self.sized_names.sizes(self.dataset)
        self.model(0, self.settings()[0])

    def info(self) -> dict:
        """Return the information on the job, with the settings in the order of the arrays."""
        return super().info() | {"settings": [setting.axes() for setting in self.settings()]}

    @property
    def known(self) -> list[str]:
        """The hyper-parameters of the estimator."""
        return estimator_class(self.estimator)._get_param_names()

    @property
    def constraints(self) -> tuple[bool, ...]:
        """Whether it is fitted without constraints, and with them."""
        return (False, True)

    def settings(self) -> list[Setting]:
        """Return how each repetition is fitted: tolerances after the first without constraints."""
        first, *others = self.tolerances if "tolerance" in self.known else (0.0,)
        limits = (None, *self.largest_factors) if first else (None,)
        ways = [(first, constrained, limit) for limit in limits for constrained in self.constraints]
        ways += [(tolerance, False, None) for tolerance in others]
        return [Setting(*way[:2], law, way[2]) for law in self.laws for way in ways]

    def wanted(self, given: Repetition) -> list[Setting]:
        """Return the settings of a repetition."""
        return [setting for setting in self.settings() if setting.law == given.law]

    def fixed(self) -> dict[str, Any]:
        """Return constructor arguments of every method."""
        return {}

    def model(self, number: int, setting: Setting):
        """Return the unfitted estimator of a repetition; a method may name its constraints."""
        options = {**self.fixed(), **self.options}
        if len(self.constraints) > 1:
            options["constrained"] = setting.constrained and options.get("constrained", True)
        if "tolerance" in self.known:
            options["tolerance"] = setting.tolerance
        seed = split_seed(self.dataset, number)
        return methods.build(
            self.method, self.estimator, options, random_state=seed, tuning_rows=None
        )

    def repetition(self, number: int, backend: str = "numpy") -> Repetition:
        """Return the data of a repetition, the same for every method and backend."""
        raise NotImplementedError

    def under_each_law(self, number: int, backend: str) -> Iterator[Repetition]:
        """Yield the data of a repetition under each law."""
        yield self.repetition(number, backend)

    def holds(self, rows: int) -> bool:
        """Return whether the best factors of the selection fit into memory."""
        return True

    def fit(self, given: Repetition, model, bases: Bases) -> Fit:
        """Fit an estimator to the training rows."""
        return bases.fit(model)

    def judged(self, given: Repetition, values: np.ndarray) -> tuple[list[tuple], dict]:
        """Return (metric, value, unit) of expectations at the test points, and `estimates`."""
        raise NotImplementedError

    @classmethod
    def begin_together(cls, jobs: Sequence[Self], units: Sequence[int]) -> Callable[[int], list]:
        """Return a function that fits and tests all methods in a repetition."""
        backend = resolve_backend(jobs[0].backend)

        def work(number: int) -> list[Outcome]:
            fitted = {}
            for given in jobs[0].under_each_law(number, backend):
                fitted |= _results(jobs, given)
            return [job._outcome(given, fitted) for job in jobs]

        return work

    def _outcome(self, given: Repetition, fitted: Mapping[_Key, _Result]) -> Outcome:
        """Return the outcome of this method in a repetition; NaN where there is no fit."""
        settings = self.settings()
        shape = (len(settings), self.test_rows)
        arrays = {name: np.full(shape, np.nan, dtype=np.float32) for name in self.estimates}
        found = Outcome([], arrays=arrays | given.arrays())
        for place, setting in enumerate(settings):
            if (one := fitted.get((self.method, setting))) is None:
                continue
            found.rows += one.rows
            named = {"split": given.number, **setting.axes()}
            found.chosen.append(named | {"chosen": one.chosen and one.chosen._asdict()})
            for name, values in one.arrays.items():
                arrays[name][place] = values
        return found

    def _row(self, given: Repetition, setting: Setting) -> dict:
        dim, n = self.sized_names.sizes(self.dataset)
        return self.row(
            given.number,
            dim=dim,
            setting=scores.setting(**setting.axes()),
            n_train=training_rows(n),
            n_test=self.test_rows,
            backend=given.backend,
            seed=split_seed(self.dataset, given.number),
        )


def _results(jobs: Sequence[EmbeddingExperiment], given: Repetition) -> dict[_Key, _Result]:
    """Fit all methods of a repetition; estimators with equal bases share them."""
    tasks = {
        (job.method, setting): _Task(job, setting, job.model(given.number, setting))
        for job in jobs
        for setting in job.wanted(given)
    }
    results = {}
    for keys in group_by_basis({key: task.model for key, task in tasks.items()}):
        part = {key: tasks[key] for key in keys}
        # The bases of the former are dropped before the latter makes its own.
        found = _shared(part, given)
        if given.number < jobs[0].matched_repetitions:
            _add_matched(found, part, given)
        results |= found
    return results


def _shared(tasks: Mapping[_Key, _Task], given: Repetition) -> dict[_Key, _Result]:
    """Choose parameters for estimators with the same bases, and fit and test them.

    The published tolerance has factors of its own where it is looser than others: its seconds are
    those of such factors. Fits with the tightest may take the bases of the selection, with the
    seconds that these took, where it was on the same rows.
    """
    least = min(setting.tolerance for _, setting in tasks)
    alone = {
        key: task
        for key, task in tasks.items()
        if task.setting.tolerance == task.job.tolerances[0] > least
    }
    others = {key: task for key, task in tasks.items() if key not in alone}
    made: dict = {}
    # Seconds that are shown are not those of fits that recompute their factors.
    streamed = not any(map(_is_scheduled, others.values()))
    started = time.perf_counter()
    trials = _select(tasks, given, made, streamed)
    seconds = (time.perf_counter() - started) / len(trials)
    for method, setting in tasks:
        # What does not choose for itself takes what is best without constraints.
        free = setting._replace(constrained=False)
        trials.setdefault((method, setting), trials[method, free])
    results = {}
    for part, collected in ((others, made), (alone, {})):
        models = {key: trials[key].shape(task.model) for key, task in part.items()}
        bases = _bases(given, models, collected)
        for key in bases.in_order(models):
            results[key] = _tested(part[key], given, trials[key], bases, seconds)
    return results


def _bases(given: Repetition, models: Mapping, made: dict | None = None) -> Bases:
    train = training_rows(given.X.shape[0])
    X, Y = given.X[:train, :], given.Y[:train, :]
    return Bases(X, Y, tightest(models.values()), given.kept, made=made)


def _is_scheduled(task: _Task) -> bool:
    """Return whether a fit has the published tolerance, or none."""
    return task.setting.tolerance in (task.job.tolerances[0], 0.0)


def _select(
    tasks: Mapping[_Key, _Task], given: Repetition, made: dict, streamed: bool
) -> dict[_Key, Trials]:
    """Return the trials of those that choose for themselves; without constraints all do.

    If all rows choose, what a fit can share is added to `made`; also bases whose factors are not in
    memory if they may be `streamed`.
    """
    job = next(iter(tasks.values())).job
    own = {
        key: task
        for key, task in tasks.items()
        if task.job.choice == "own" or not task.setting.constrained
    }
    X, Y = (first_rows(rows, job.tuning_rows) for rows in (given.X, given.Y))
    all_rows = X.shape[0] == given.X.shape[0]
    trials = _low_rank.select(
        {key: task.model for key, task in own.items() if task.setting.largest_factor is None},
        X,
        Y,
        given.f,
        given.loss(*(held_out(rows, job.validation_rows) for rows in (X, Y))),
        job,
        given.kept,
        collected=made if all_rows and job.holds(X.shape[0]) else None,
        streamed=streamed,
    )
    for (method, setting), task in own.items():
        if setting.largest_factor is not None:
            train = training_rows(X.shape[0])
            sides = X[:train, :], Y[:train, :]
            limits = _low_rank.bandwidths_of(task.model, *sides, setting.largest_factor)
            whole = trials[method, setting._replace(largest_factor=None)]
            trials[method, setting] = whole.within(limits)
    return trials


def _tested(
    task: _Task, given: Repetition, trials: Trials, bases: Bases, seconds: float
) -> _Result:
    """Fit with the best parameters and test; a failure is one row that says why."""
    job, setting, model = task

    def test() -> tuple:
        chosen = trials.best()
        fitted = job.fit(given, model, bases)
        started = time.perf_counter()
        values = given.expected(fitted.model)
        evaluated = time.perf_counter() - started
        structure = _low_rank.structure(fitted.model, given.X_test, given.Y_test)
        measured, arrays = job.judged(given, values)
        return chosen, arrays, [*measured, *structure, *_low_rank.costs(fitted, evaluated)]

    row = job._row(given, setting)
    found, own_seconds = attempt(test)
    if isinstance(found, Exception):
        return _Result([row | scores.failed(job.loss, found)])
    chosen, arrays, measured = found
    row["seconds"] = seconds + own_seconds
    # A repetition is kept until all are there: in the precision in which it is written.
    kept = {name: values.astype(np.float32) for name, values in arrays.items()}
    return _Result([row | _low_rank.cell(*each) for each in measured], chosen, kept)


def _add_matched(results: Mapping[_Key, _Result], tasks: Mapping, given: Repetition) -> None:
    """Add to the rows of the published tolerance what fits of one bandwidth for all cost."""
    models = {}
    for key, task in tasks.items():
        rows, chosen, _ = results[key]
        if not chosen or not _is_scheduled(task) or task.setting.largest_factor is not None:
            continue
        if "bandwidth_x" in task.job.known:
            options = {"regularization": chosen.options["regularization"]}
            options |= _low_rank.bandwidths_of(task.model, given.X, given.Y, 1.0)
            models[key] = with_options(task.model, options)
        else:
            own = [row for row in rows if row["metric"].startswith("seconds_")]
            rows.extend(row | {"metric": f"{MATCHED}{row['metric']}"} for row in own)
    bases = _bases(given, models)

    def costs(task: _Task, model) -> list[tuple]:
        fitted = task.job.fit(given, model, bases)
        started = time.perf_counter()
        given.expected(fitted.model)
        evaluated = time.perf_counter() - started
        return [*fitted.seconds(MATCHED), (f"{MATCHED}seconds_evaluate", evaluated, "s")]

    for key in bases.in_order(models):
        found, _ = attempt(costs, tasks[key], models[key])
        if not isinstance(found, Exception):
            row = tasks[key].job._row(given, tasks[key].setting)
            results[key].rows.extend(row | _low_rank.cell(*each) for each in found)
