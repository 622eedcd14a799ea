"""Conditional second moments of Gaussian pairs (jdl, section 5.1, figures 1 to 6).

A repetition is a random correlation matrix; every method is given the same. Parameters are chosen
by the loss (40) at the validation points, which takes the *true* conditional moments there: an
oracle, as in the paper. Each combination of tolerance and constraints chooses its own.

``second_moment_loss``    (40), the mean over test points of ‖T̂(x) - T(x)‖²/‖T(x)‖², T = E[y yᵀ|x]
``normalisation_error``   the largest |E[1|x] - 1| over test points
``psd_violation_rate``    share of test points with a T̂ that is not positive semi-definite
``independence_loss``     (40) of the mean of y yᵀ over the training points, which ignores x
``canonical_correlation`` the largest of x and y: |ρ| for d = 1
``tuning_rows``           points that trained or compared the candidates

Beside them what a fit cost, in some repetitions also at one bandwidth for all methods, and what
`low_rank.structure` finds.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, resolve_backend, to_numpy
from kcde.data import made_up
from kcde.data.made_up import GaussianPairs
from kcde.data.names import DRAWN_LAW, GAUSSIAN
from kcde.estimators import estimator_class
from kcde.experiments import _low_rank, methods, runner
from kcde.experiments._low_rank import Selection, Trials
from kcde.experiments._shared_bases import Bases, group_by_basis, tightest
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.moments import Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import (
    CANONICAL_CORRELATION,
    INDEPENDENCE_LOSS,
    MATCHED,
    NORMALISATION_ERROR,
    PSD_VIOLATION_RATE,
    SECOND_MOMENT_LOSS,
    TUNING_ROWS,
)
from kcde.seeding import split_seed

ROUNDING = 1e-12
"""An eigenvalue below -ROUNDING times the largest absolute one is negative, not rounding."""


class Setting(NamedTuple):
    """Settings of a fit; `largest_factor` is None where no bandwidth of the grid is left out."""

    tolerance: float
    constrained: bool
    law: str = DRAWN_LAW
    largest_factor: float | None = None

    def axes(self) -> dict:
        """Return what a score row states."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Repetition(NamedTuple):
    """Data of a repetition under a law: n pairs, and test pairs, arrays of a backend.

    `kept` has the bases of x that other laws made which have the same x, None without such.
    """

    number: int
    law: GaussianPairs
    X: object
    Y: object
    X_test: object
    Y_test: object
    backend: str = "numpy"
    kept: dict | None = None


class Estimates(NamedTuple):
    """A fit's estimates at the test points, on the host.

    Attributes
    ----------
    error
        Terms of the loss (40), shape (m,).
    mass
        E[1|x] - 1, shape (m,).
    smallest
        Smallest eigenvalue of T̂ over the largest absolute one, shape (m,).
    """

    error: np.ndarray
    mass: np.ndarray
    smallest: np.ndarray

    def metrics(self) -> list[tuple[str, float, str]]:
        """Return (metric, value, unit)."""
        return [
            (SECOND_MOMENT_LOSS, float(self.error.mean()), ""),
            (NORMALISATION_ERROR, float(np.abs(self.mass).max()), ""),
            (PSD_VIOLATION_RATE, float(np.mean(self.smallest < -ROUNDING)), ""),
        ]


class Experiment(runner.Experiment[Job]):
    """Every repetition with every setting. The `.npz` has `error`, `mass` and `smallest` of
    `Estimates`, each of shape (repetitions, settings, test points), float32, NaN where there is no
    fit, in the order of `settings` in the `.json`.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown data and options."""
        GAUSSIAN.sizes(job.dataset)
        _make(job, 0, settings(job)[0])

    def begin(self, units: Sequence[int]) -> Callable[[int], list[Outcome]]:
        """Return a function that fits and tests a repetition."""
        backend = resolve_backend(self.job.backend)

        def work(number: int) -> list[Outcome]:
            fitted = {}
            for law, given in _under_each_law(self.job, number, backend):
                fitted |= _outcomes(self.jobs, law, given)
            return [_of_method(job, number, fitted) for job in self.jobs]

        return work

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        each = [setting.axes() for setting in settings(job)]
        return super().info(job) | {"source": "jdl, section 5.1", "settings": each}


def settings(job: Job) -> list[Setting]:
    """Return how each repetition is fitted, in the order of the arrays."""
    return [setting for law in job.laws for setting in _settings_under(job, law)]


def _settings_under(job: Job, law: str) -> list[Setting]:
    if "tolerance" not in _known(job):
        return [Setting(0.0, constrained, law) for constrained in (False, True)]
    first, *others = job.tolerances
    both = [
        Setting(first, constrained, law, largest)
        for largest in (None, *job.largest_factors)
        for constrained in (False, True)
    ]
    return both + [Setting(tolerance, False, law) for tolerance in others]


def repetition(job: Job, number: int, backend: str = "numpy", law: str | None = None) -> Repetition:
    """Return the data of a repetition, the same for every method and backend.

    Parameters
    ----------
    job
        Gives the sizes.
    number
        Of the repetition.
    backend
        Of the arrays.
    law
        One of `job.laws`; the first by default.
    """
    dim, n = GAUSSIAN.sizes(job.dataset)
    pairs_law = made_up.gaussian_random_pairs(dim, number, law or job.laws[0])
    pairs = made_up.gaussian_training_pairs(pairs_law, n, number)
    pairs += made_up.gaussian_held_out_pairs(pairs_law, number, job.test_rows)
    return Repetition(number, pairs_law, *(asarray(rows, backend) for rows in pairs), backend)


def _under_each_law(job: Job, number: int, backend: str) -> Iterator[tuple[str, Repetition]]:
    """Yield each law with the data of a repetition; at d = 1 all have the same x."""
    dim, _ = GAUSSIAN.sizes(job.dataset)
    kept = {} if dim == 1 and len(job.laws) > 1 else None
    for law in job.laws:
        yield law, repetition(job, number, backend, law)._replace(kept=kept)


def second_moments_and_one(Y):
    """Return the products of the entries of y and then 1, shape (k, d² + 1), for Y (k, d)."""
    xp = array_namespace(Y)
    products = xp.reshape(Y[:, :, None] * Y[:, None, :], (Y.shape[0], -1))
    return xp.concat([products, xp.ones((Y.shape[0], 1), dtype=Y.dtype)], axis=1)


def relative_errors(found, true):
    """Return ‖found - true‖²/‖true‖², shape (m,), of matrices (m, d, d): the terms of (40).

    `found` may have its matrices as rows of length d² or longer.
    """
    xp = array_namespace(true)
    true = xp.reshape(true, (true.shape[0], -1))
    found = xp.reshape(found, (found.shape[0], -1))[:, : true.shape[1]]
    return xp.sum((found - true) ** 2, axis=1) / xp.sum(true**2, axis=1)


def _mean_relative_error(true) -> Callable:
    """Return the mean of `relative_errors` as a function of what was found, for many calls."""
    xp = array_namespace(true)
    true = xp.reshape(true, (true.shape[0], -1))
    # A few long rows are faster than many short ones; a copy of the transpose has its short rows.
    rows = xp.empty((true.shape[1], true.shape[0]), dtype=true.dtype)
    rows[:, :] = true.T
    sizes = xp.sum(rows**2, axis=0)

    def mean_error(found):
        return xp.mean(xp.sum((found.T[: rows.shape[0], :] - rows) ** 2, axis=0) / sizes)

    return mean_error


def tested(values: np.ndarray, given: Repetition) -> Estimates:
    """Judge the expectations of `second_moments_and_one` at the test points."""
    d = given.law.dim
    second = values[:, :-1].reshape(-1, d, d)
    eigenvalues = np.linalg.eigvalsh(second)
    largest = np.abs(eigenvalues).max(axis=1)
    smallest = eigenvalues[:, 0] / np.where(largest > 0.0, largest, 1.0)
    true = given.law.conditional_second_moment(to_numpy(given.X_test))
    return Estimates(relative_errors(second, true), values[:, -1] - 1.0, smallest)


def _wanted(job: Job, number: int, law: str) -> list[Setting]:
    """Return the settings of a repetition: the later ones may go without constraints."""
    limit = job.repetitions if job.constrained_repetitions is None else job.constrained_repetitions
    return [each for each in _settings_under(job, law) if number < limit or not each.constrained]


class _FitResult(NamedTuple):
    """Result of one fit: score rows, chosen parameters, and estimates; None if it failed."""

    rows: list
    chosen: Selection | None = None
    tested: Estimates | None = None


class _FitTask(NamedTuple):
    """An estimator to fit, with its job."""

    job: Job
    setting: Setting
    model: object


def _of_method(job: Job, number: int, fitted: Mapping[tuple[str, Setting], _FitResult]) -> Outcome:
    """Return the outcome of one method in a repetition."""
    each = settings(job)
    shape = (len(each), job.test_rows)
    arrays = {name: np.full(shape, np.nan, dtype=np.float32) for name in Estimates._fields}
    found = Outcome([], arrays=arrays)
    for setting in each:
        if (job.method, setting) not in fitted:
            continue
        one = fitted[job.method, setting]
        found.rows += one.rows
        named = {"split": number, **setting.axes()}
        found.chosen.append(named | {"chosen": one.chosen and one.chosen._asdict()})
        for name, values in one.tested._asdict().items() if one.tested else ():
            arrays[name][each.index(setting)] = values
    return found


def _outcomes(
    jobs: Sequence[Job], law: str, given: Repetition
) -> dict[tuple[str, Setting], _FitResult]:
    """Fit all methods of a repetition under a law; estimators with equal bases share them."""
    fittings = {
        (job.method, setting): _FitTask(job, setting, _make(job, given.number, setting))
        for job in jobs
        for setting in _wanted(job, given.number, law)
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


def _shared(fittings: Mapping, given: Repetition) -> dict[tuple[str, Setting], _FitResult]:
    """Choose parameters for estimators with the same bases, and fit and test them."""
    parts = _split_by_timing(fittings)
    made: dict = {}
    # Seconds that are shown are not those of fits that recompute their factors.
    timed = any(map(_is_scheduled, parts.get(False, {}).values()))
    started = time.perf_counter()
    trials = _select(fittings, given, made, not timed)
    seconds = (time.perf_counter() - started) / len(trials)
    for method, setting in fittings:
        # What does not choose for itself takes what is best without constraints.
        free = setting._replace(constrained=False)
        trials.setdefault((method, setting), trials[method, free])
    outcomes = {}
    for alone, part in parts.items():
        models = {key: trials[key].shape(fitting.model) for key, fitting in part.items()}
        bases = _bases(given, models, {} if alone else made)
        for key in bases.in_order(models):
            outcomes[key] = _outcome(part[key], given, trials[key], bases, seconds)
    return outcomes


def _bases(given: Repetition, models: Mapping, made: dict | None = None) -> Bases:
    train = _low_rank.training_rows(given.X.shape[0])
    X, Y = given.X[:train, :], given.Y[:train, :]
    return Bases(X, Y, tightest(models.values()), given.kept, made=made)


def _add_matched(outcomes: dict, fittings: Mapping, given: Repetition) -> None:
    """Add to the rows of the published tolerance what fits of one bandwidth for all cost."""
    chosen = [key for key in fittings if _is_published(fittings[key]) and outcomes[key].chosen]
    models = {}
    for key in chosen:
        fitting, rows = fittings[key], outcomes[key].rows
        if "bandwidth_x" in _known(fitting.job):
            options = outcomes[key].chosen.options
            models[key] = _low_rank.matched(fitting.model, options, given.X, given.Y)
        else:
            own = [row for row in rows if row["metric"].startswith("seconds_")]
            rows.extend(row | {"metric": f"{MATCHED}{row['metric']}"} for row in own)
    bases = _bases(given, models) if models else None
    for key in bases.in_order(models) if models else ():
        row = _row(fittings[key].job, given, fittings[key].setting)
        costs, _ = attempt(
            _low_rank.matched_costs,
            lambda key=key: bases.fit(models[key]),
            lambda model: _expected(model, given.X_test),
        )
        if not isinstance(costs, Exception):
            outcomes[key].rows.extend(row | _low_rank.cell(*each) for each in costs)


def _is_published(fitting: _FitTask) -> bool:
    """Return whether a fit has the published tolerance, or none, and the whole grid."""
    return _is_scheduled(fitting) and fitting.setting.largest_factor is None


def _is_scheduled(fitting: _FitTask) -> bool:
    """Return whether a fit has the published tolerance, or none."""
    return fitting.setting.tolerance in (fitting.job.tolerances[0], 0.0)


def _expected(model, X):
    """Return the expectations that a fit is tested by, on the host."""
    return to_numpy(model.conditional_expectation(second_moments_and_one, X))


def _split_by_timing(fittings: Mapping) -> dict[bool, dict]:
    """Return those whose factors are made by themselves (True), and those that share the tightest.

    The published tolerance, the first, has factors of its own where it is looser than others: its
    seconds are to be those of such factors. Fits with the tightest may take the bases of the
    selection, with the seconds that these took, where it was on the same rows.
    """
    parts: dict[bool, dict] = {}
    least = min(setting.tolerance for _, setting in fittings)
    for key, fitting in fittings.items():
        alone = fitting.setting.tolerance == fitting.job.tolerances[0] > least
        parts.setdefault(alone, {})[key] = fitting
    return parts


def _select(
    fittings: Mapping, given: Repetition, made: dict, streamed: bool
) -> dict[tuple[str, Setting], Trials]:
    """Return the trials of those that choose for themselves; without constraints all do.

    If all rows choose, what a fit can share is added to `made`; also bases whose factors are not in
    memory if they may be `streamed`.
    """
    own = {
        key: fitting
        for key, fitting in fittings.items()
        if fitting.job.choice == "own" or not fitting.setting.constrained
    }
    models = {key: own[key].model for key in own if own[key].setting.largest_factor is None}
    job = next(iter(fittings.values())).job
    X, Y = (_low_rank.first_rows(rows, job.tuning_rows) for rows in (given.X, given.Y))
    held_out = to_numpy(_low_rank.held_out(X, job.validation_rows))
    true = asarray(given.law.conditional_second_moment(held_out), given.backend)
    loss = _mean_relative_error(true)
    trials = _low_rank.select(
        models,
        X,
        Y,
        second_moments_and_one,
        loss,
        job.grid,
        job.validation_rows,
        given.kept,
        collected=made if X.shape[0] == given.X.shape[0] else None,
        streamed=streamed,
    )
    for (method, setting), fitting in own.items():
        if setting.largest_factor is not None:
            limits = _low_rank.largest_bandwidths(fitting.model, X, Y, setting.largest_factor)
            whole = trials[method, setting._replace(largest_factor=None)]
            trials[method, setting] = whole.within(limits)
    return trials


def _outcome(fitting: _FitTask, given: Repetition, trials, bases, seconds: float) -> _FitResult:
    """Fit with the best parameters and test; a failure is one row that says why."""
    row = _row(fitting.job, given, fitting.setting)
    found, fitting_seconds = attempt(_tested, fitting, given, trials, bases)
    if isinstance(found, Exception):
        return _FitResult([row | scores.failed(SECOND_MOMENT_LOSS, found)])
    chosen, result, measured = found
    row["seconds"] = seconds + fitting_seconds
    # A repetition is kept until all are there: in the precision in which it is written.
    kept = Estimates(*(estimates.astype(np.float32) for estimates in result))
    return _FitResult([row | _low_rank.cell(*each) for each in measured], chosen, kept)


def _tested(fitting: _FitTask, given: Repetition, trials, bases) -> tuple:
    """Return the chosen parameters, the estimates, and (metric, value, unit) of a fit."""
    chosen = trials.best()
    fitted = bases.fit(fitting.model)
    evaluating = time.perf_counter()
    values = _expected(fitted.model, given.X_test)
    evaluated = time.perf_counter() - evaluating
    structure = _low_rank.structure(fitted.model, given.X_test, given.Y_test)
    found = tested(values, given)
    costs = _low_rank.costs(fitted, evaluated)
    return chosen, found, [*found.metrics(), *_of_data(fitting.job, given), *structure, *costs]


def _of_data(job: Job, given: Repetition) -> list[tuple[str, float, str]]:
    """Return (metric, value, unit) of a repetition, whatever the method."""
    xp = array_namespace(given.Y)
    train = _low_rank.training_rows(given.Y.shape[0])
    ignoring = xp.mean(second_moments_and_one(given.Y[:train, :]), axis=0)[None, :]
    true = given.law.conditional_second_moment(to_numpy(given.X_test))
    everywhere = np.repeat(to_numpy(ignoring), len(true), axis=0)
    rows = given.X.shape[0]
    return [
        (INDEPENDENCE_LOSS, float(relative_errors(everywhere, true).mean()), ""),
        (CANONICAL_CORRELATION, given.law.canonical_correlation, ""),
        (TUNING_ROWS, float(min(rows, job.tuning_rows or rows)), "rows"),
    ]


def _make(job: Job, number: int, setting: Setting):
    options = _low_rank.with_constraints(job.options, setting.constrained)
    if "tolerance" in _known(job):
        options["tolerance"] = setting.tolerance
    seed = split_seed(job.dataset, number)
    return methods.build(job.method, job.estimator, options, random_state=seed, tuning_rows=None)


def _known(job: Job) -> list[str]:
    return estimator_class(job.estimator)._get_param_names()


def _row(job: Job, given: Repetition, setting: Setting) -> dict:
    return job.row(
        given.number,
        dim=given.law.dim,
        setting=scores.setting(**setting.axes()),
        n_train=_low_rank.training_rows(given.X.shape[0]),
        n_test=given.X_test.shape[0],
        backend=given.backend,
        seed=split_seed(job.dataset, given.number),
    )
