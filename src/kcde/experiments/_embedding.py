"""What the experiments on low-rank embeddings have in common: a repetition, from rows to scores.

Methods that have the same bases are fitted together (jdl, sections 5.1 and 5.2). Each setting
chooses its own parameters, on at most `tuning_rows` rows, and is then fitted to four fifths of all.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from kcde import scores
from kcde.arrays import resolve_backend, to_numpy
from kcde.estimators import estimator_class
from kcde.experiments import _low_rank, methods
from kcde.experiments._low_rank import Bases, Fit, is_classifier, training_rows
from kcde.experiments.base import ArrayExperiment, Outcome, attempt, clock, parameter, sized
from kcde.metrics import MATCHED
from kcde.seeding import split_seed
from kcde.selection import Trials

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


class Repetition(NamedTuple):
    """Data of a repetition: rows that train and validate, and test rows, arrays of a backend."""

    number: int
    backend: str
    X: Any
    Y: Any
    X_test: Any
    Y_test: Any
    # That of which expectations are estimated, (k, d) to (k, q).
    f: Callable

    # From the rows that validate, X and Y, to the loss of expectations there.
    loss: Callable

    # What the rows were drawn from, or cut at.
    source: Any

    # That of the settings it is for.
    law: str | None = None


# Of a fit: its method and its setting.
Key = tuple[str, Setting]


@dataclass(frozen=True)
class EmbeddingExperiment(ArrayExperiment):
    """A method on data of one dimension and number of rows, all repetitions.

    A class that extends it has `tolerances`, relative ones of the factors, the published one first;
    `sized_names` of its data; `loss`, the metric of a fit that failed; `repetition(number,
    backend)`; and `judged(given, values)`, from the expectations at the test points to (metric,
    value, unit).
    """

    repeated = ("repetitions",)

    # Those that one of the experiments has as a parameter.
    laws = (None,)
    largest_factors = ()
    constrained_repetitions = None
    validation_rows = None
    max_rank = None
    most_trace = 1.0

    repetitions: int = sized(2, 20, 100, "Random correlations or subsamples.", at_least=1)
    test_rows: int = sized(90, 5000, 5000, "Points at which each fit is tested.", at_least=1)
    tuning_rows: int | None = parameter(None, "Rows of a selection, at most.", at_least=5)
    # "shared" is for constraints that cost so much that only one fit is affordable.
    choice: str = parameter("own", "Of a fit with constraints.", choices=("own", "shared"))
    matched_repetitions: int = parameter(3, "Timed also at one bandwidth for all.", at_least=0)
    bandwidth_factors: tuple[float, ...] = parameter(BANDWIDTH_FACTORS, "Of median distance/√2.")
    regularizations: tuple[float, ...] = parameter(REGULARIZATIONS, "Regularizations λ to try.")

    def __post_init__(self):
        super().__post_init__()
        for name in ("bandwidth_factors", "regularizations", "tolerances"):
            given, most = getattr(self, name), 1.0 if name == "tolerances" else np.inf
            if not given or len({*given}) < len(given) or not 0.0 < min(given) <= max(given) < most:
                raise ValueError(f"{name} must be above 0 and below {most}, each once; got {given}")

    def check(self) -> None:
        """Raise `ValueError` for unknown data and options."""
        self.sized_names.sizes(self.dataset)
        self.model(0, self.settings()[0])

    @property
    def known(self) -> list[str]:
        """The hyper-parameters of the estimator."""
        return estimator_class(self.estimator)._get_param_names()

    def settings(self) -> list[Setting]:
        """Return how each repetition is fitted: tolerances after the first without constraints."""
        first, *others = self.tolerances if "tolerance" in self.known else (0.0,)
        both = (False,) if is_classifier(estimator_class(self.estimator)) else (False, True)
        limits = (None, *self.largest_factors) if first else (None,)
        ways = [(first, constrained, limit) for limit in limits for constrained in both]
        ways += [(tolerance, False, None) for tolerance in others]
        return [Setting(*way[:2], law, way[2]) for law in self.laws for way in ways]

    def wanted(self, given: Repetition) -> list[Setting]:
        """Return the settings of a repetition: the later ones may go without constraints."""
        most = self.constrained_repetitions
        free = most is not None and given.number >= most
        each = [setting for setting in self.settings() if setting.law == given.law]
        return [setting for setting in each if not (free and setting.constrained)]

    def model(self, number: int, setting: Setting):
        """Return the unfitted estimator of a repetition; a method may name its constraints."""
        options = dict(self.options)
        if self.max_rank is not None:
            _, n = self.sized_names.sizes(self.dataset)
            fewest = training_rows(min(n, self.tuning_rows or n))
            options = {"max_rank": min(self.max_rank, fewest), **options}
        if "tolerance" in self.known:
            options["tolerance"] = setting.tolerance
        if not is_classifier(estimator_class(self.estimator)):
            options["constrained"] = setting.constrained and options.get("constrained", True)
        return methods.build(self.method, self.estimator, options, split_seed(self.dataset, number))

    def under_each_law(self, number: int, backend: str) -> Iterator[Repetition]:
        """Yield the data of a repetition under each law, the same for every method and backend."""
        yield self.repetition(number, backend)

    def fit(self, given: Repetition, model, bases: Bases) -> Fit:
        """Fit an estimator to the training rows."""
        return bases.fit(model)

    @classmethod
    def begin_together(cls, jobs: list[Self]) -> Callable[[int], list]:
        """Return a function that fits and tests all methods in a repetition."""
        backend = resolve_backend(jobs[0].backend)

        def work(number: int) -> list[Outcome]:
            fitted = {}
            for given in jobs[0].under_each_law(number, backend):
                fitted |= _fitted(jobs, given)
            return [job._outcome(given, fitted) for job in jobs]

        return work

    def _outcome(self, given: Repetition, fitted: Mapping[Key, Outcome]) -> Outcome:
        """Return the outcome of this method in a repetition."""
        found = Outcome([])
        for setting in self.settings():
            if (one := fitted.get((self.method, setting))) is None:
                continue
            found.rows += one.rows
            named = {"split": given.number, **setting.axes()}
            found.chosen.append(named | {"chosen": next(iter(one.chosen), None)})
        return found

    def _row(self, given: Repetition, setting: Setting) -> dict:
        dim, n = self.sized_names.sizes(self.dataset)
        sizes = {"dim": dim, "n_train": training_rows(n), "n_test": self.test_rows}
        told = {"backend": given.backend, "seed": split_seed(self.dataset, given.number)}
        return self.row(given.number, setting=scores.setting(**setting.axes()), **sizes, **told)

    def _is_published(self, setting: Setting) -> bool:
        """Return whether a fit has the published tolerance, or none."""
        return setting.tolerance in (self.tolerances[0], 0.0)


# Jobs agree in all but the method, so that most of what follows asks the first.


def _fitted(jobs: list[EmbeddingExperiment], given: Repetition) -> dict[Key, Outcome]:
    """Fit all methods of a repetition; estimators with equal bases share them."""
    wanted = [(job, setting) for job in jobs for setting in job.wanted(given)]
    models = {(job.method, setting): job.model(given.number, setting) for job, setting in wanted}
    named = {job.method: job for job in jobs}
    fitted = {}
    # The bases of the former are dropped before the latter makes its own.
    for part in _low_rank.group_by_basis(models):
        found = _fitted_together(named, part, given)
        if given.number < jobs[0].matched_repetitions:
            _add_matched(found, named, part, given)
        fitted |= found
    return fitted


def _fitted_together(jobs: Mapping, models: Mapping[Key, Any], given: Repetition) -> dict:
    """Choose parameters for estimators with the same bases, and fit and test them.

    The published tolerance has factors of its own where it is looser than others: its seconds are
    those of such factors. Fits with the tightest may take the bases of the selection, with the
    seconds that these took, where it was on the same rows.
    """
    job = next(iter(jobs.values()))
    least = min(setting.tolerance for _, setting in models)
    alone = [key for key in models if key[1].tolerance == job.tolerances[0] > least]
    others = [key for key in models if key not in alone]
    made: dict = {}
    # Seconds that are shown are not those of fits that recompute their factors.
    streamed = not any(job._is_published(setting) for _, setting in others)
    started = clock(given.X)
    trials = _select(job, models, given, made, streamed)
    seconds = (clock(given.X) - started) / len(trials)
    for method, setting in models:
        # What does not choose for itself takes what is best without constraints.
        free = setting._replace(constrained=False)
        trials.setdefault((method, setting), trials[method, free])
    fitted = {}
    for keys, collected in ((others, made), (alone, {})):
        part = {key: trials[key].shape(models[key]) for key in keys}
        bases = _bases(given, part, collected)
        for key in bases.in_order(part):
            method, setting = key
            row = jobs[method]._row(given, setting)
            found, own = attempt(_tested, job, given, part[key], trials[key], bases)
            if isinstance(found, Exception):
                fitted[key] = Outcome([row | scores.failed(job.loss, found)])
                continue
            chosen, measured = found
            row["seconds"] = seconds + own
            rows = [row | scores.cell(*each) for each in measured]
            fitted[key] = Outcome(rows, [chosen._asdict()])
    return fitted


def _bases(given: Repetition, models: Mapping, made: dict | None = None) -> Bases:
    train = training_rows(given.X.shape[0])
    X, Y = given.X[:train, :], given.Y[:train, :]
    return Bases(X, Y, _low_rank.tightest(models.values()), made=made)


def _select(job, models: Mapping, given: Repetition, made: dict, streamed: bool) -> dict:
    """Return the trials of those that choose for themselves; without constraints all do.

    If all rows choose, what a fit can share is added to `made`, unless only one factor fits into
    memory; also bases whose factors are not in memory if they may be `streamed`.
    """
    own = [key for key in models if job.choice == "own" or not key[1].constrained]
    whole_grids = {key: models[key] for key in own if key[1].largest_factor is None}
    X, Y = (_low_rank.first_rows(rows, job.tuning_rows) for rows in (given.X, given.Y))
    rows = X.shape[0]
    small = job.max_rank is None or rows * min(job.max_rank, rows) <= _low_rank.MOST_HELD
    collected = made if small and rows == given.X.shape[0] else None
    loss = given.loss(*(_low_rank.held_out(each, job.validation_rows) for each in (X, Y)))
    trials = _low_rank.select(whole_grids, X, Y, given.f, loss, job, collected, streamed)
    train = training_rows(rows)
    for method, setting in own:
        if (factor := setting.largest_factor) is not None:
            model = models[method, setting]
            limits = _low_rank.bandwidths_of(model, X[:train, :], Y[:train, :], factor)
            whole = trials[method, setting._replace(largest_factor=None)]
            trials[method, setting] = whole.within(limits)
    return trials


def _tested(job, given: Repetition, model, trials: Trials, bases: Bases) -> tuple:
    """Return what was chosen, and (metric, value, unit) of a fit with it."""
    chosen = trials.best()
    fitted = job.fit(given, model, bases)
    values, evaluated = _expected(given, fitted.model)
    structure = _low_rank.structure(fitted.model, given.X_test, given.Y_test)
    return chosen, [*job.judged(given, values), *structure, *_low_rank.costs(fitted, evaluated)]


def _expected(given: Repetition, model) -> tuple[np.ndarray, float]:
    """Return what a fitted model expects of `f` at the test points, on the host, and seconds."""
    started = clock(given.X)
    if is_classifier(model):
        values = model.predict_proba(given.X_test)[:, 1:]
    else:
        values = model.conditional_expectation(given.f, given.X_test)
    return to_numpy(values), clock(given.X) - started


def _add_matched(fitted: Mapping, jobs: Mapping, models: Mapping, given: Repetition) -> None:
    """Add to the rows of the published tolerance what fits of one bandwidth for all cost."""
    matched = {}
    for (method, setting), model in models.items():
        one, job = fitted[method, setting], jobs[method]
        if not one.chosen or not job._is_published(setting) or setting.largest_factor is not None:
            continue
        if "bandwidth_x" in job.known:
            options = _low_rank.bandwidths_of(model, given.X, given.Y, 1.0)
            options["regularization"] = one.chosen[0]["options"]["regularization"]
            matched[method, setting] = _low_rank.with_options(model, options)
        else:
            own = [row for row in one.rows if row["metric"].startswith("seconds_")]
            one.rows.extend(row | {"metric": f"{MATCHED}{row['metric']}"} for row in own)
    bases = _bases(given, matched)

    def costs(job: EmbeddingExperiment, model) -> list[tuple]:
        one = job.fit(given, model, bases)
        _, evaluated = _expected(given, one.model)
        return [*one.seconds(MATCHED), (f"{MATCHED}seconds_evaluate", evaluated, "s")]

    for key in bases.in_order(matched):
        method, setting = key
        found, _ = attempt(costs, jobs[method], matched[key])
        if not isinstance(found, Exception):
            row = jobs[method]._row(given, setting)
            fitted[key].rows.extend(row | scores.cell(*each) for each in found)
