"""Estimators of the cdo paper fitted to training rows, in the units that each of them has.

The kernels of CDO and of the Gaussian process are stated in the units of the data; every other
estimator sees standardised data, and answers in original units. One model is held at a time, unless
its class fits several in one go. Training rows go to the device where it is fitted.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from kcde.arrays import asarray
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import cdo_settings, methods
from kcde.experiments.shards import Cut

log = logging.getLogger(__name__)

RAW = ("CDO", "GaussianProcess")
"""Estimators that see the data in their own units."""

Evaluate = Callable[[int, Any, Callable], Any]
"""Maps the number of a unit, its fitted model, and a function that puts an array where the model
computes, to what is wanted of the model, on the host."""

_MOST_NUMBERS = 20  # of a hyper-parameter in the info of a job


class Job(Protocol):
    """What the jobs of these experiments share; `settings` is one of `cdo_settings.SETTINGS`."""

    dataset: str
    method: str
    estimator: str
    options: Mapping
    settings: str
    backend: str


@dataclass(frozen=True)
class Training:
    """Training rows, shapes (n, d_x) and (n, d_y), and the seed of what is random in a fit."""

    X: np.ndarray
    Y: np.ndarray
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What the evaluation of a model gave, or why there is none.

    Attributes
    ----------
    found
        What `evaluate` returned; None after a failure.
    detail
        Why there is nothing; "" otherwise.
    seconds
        Of the fit and the evaluation.
    backend
        Where the model computed, "numpy" or "cupy".
    chosen
        Hyper-parameters, ready for JSON.
    """

    found: Any
    detail: str
    seconds: float
    backend: str
    chosen: dict = field(default_factory=dict)


def check_cut(job: Job, cut: Cut) -> None:
    """Refuse to cut a job whose fits are one.

    Raises
    ------
    ValueError
        As `methods.check_separable`, or if the class does not exist.
    """
    methods.check_separable(estimator_class(job.estimator)(), cut)


def make(job: Job, experiment: str, training: Training):
    """Return the unfitted model of some training rows.

    Raises
    ------
    ValueError
        If the settings are unknown, or the class does not exist or know one of the options.
    """
    options = cdo_settings.filled(
        job.options, job.settings, experiment, job.estimator, training.X, training.Y
    )
    default = estimator_class(job.estimator)().get_params(deep=False)
    model = methods.build(
        job.method,
        job.estimator,
        options,
        random_state=training.seed,
        tuning_rows=default.get("tuning_rows"),
    )
    return model if job.estimator in RAW else Standardised(model)


def outcomes(
    job: Job,
    experiment: str,
    units: Sequence[int],
    training: Callable[[int], Training],
    evaluate: Evaluate,
) -> list[Outcome]:
    """Fit to the training rows of each unit, a repetition, split or fold, and evaluate.

    Parameters
    ----------
    job, experiment
        What to fit.
    units
        Their numbers.
    training
        Maps a number to training rows, on the host.
    evaluate
        What is wanted of each model.

    Returns
    -------
    list of Outcome
        One a unit; a fit or evaluation that fails numerically says why.

    Raises
    ------
    ValueError
        As `make`: a wrong option is no failure of a fit.
    RuntimeError
        As `methods.backend_of`.
    """
    cls = estimator_class(job.estimator)
    backend = methods.backend_of(cls, job.backend)
    if hasattr(cls, "fit_many") and job.estimator not in RAW:
        return _together(job, experiment, units, training, evaluate, backend)
    found = []
    started = time.perf_counter()
    for done, unit in enumerate(units, 1):
        rows = training(unit)
        found.append(_alone(unit, make(job, experiment, rows), rows, evaluate, backend))
        left = (time.perf_counter() - started) / done * (len(units) - done)
        log.info("%s %s: %d/%d, about %.0f s left", job.dataset, job.method, done, len(units), left)
    return found


def cell(
    metric: str, value: float, *, unit: str = "", stderr: float = np.nan, detail: str = ""
) -> dict:
    """Return the columns of a score row that a number fills; failed where it is not finite."""
    row = {"metric": metric, "unit": unit}
    if np.isfinite(value):
        return row | {"value": value, "stderr": stderr, "status": "ok", "detail": detail}
    return row | {"value": np.nan, "status": "failed", "detail": detail or f"{metric} is {value}"}


def _together(job: Job, experiment: str, units, training, evaluate, backend: str) -> list[Outcome]:
    """Fit all in one call of `fit_many`; the seconds of each are its share and its evaluation."""
    trainings = [training(unit) for unit in units]
    if not trainings:
        return []
    log.info("%s %s: %d fits in one go", job.dataset, job.method, len(trainings))
    models = [make(job, experiment, rows) for rows in trainings]
    started = time.perf_counter()
    pairs = [rows.X for rows in trainings], [rows.Y for rows in trainings]
    fitted = Standardised.fit_many(models, *pairs)
    share = (time.perf_counter() - started) / len(trainings)
    log.info("%s %s: fitted in %.0f s each", job.dataset, job.method, share)
    pairs = zip(units, fitted, strict=True)
    return [_outcome(unit, model, evaluate, share, backend) for unit, model in pairs]


def _alone(unit: int, model, rows: Training, evaluate: Evaluate, backend: str) -> Outcome:
    """Fit one model; it is released with this frame, before the next needs the memory."""
    started = time.perf_counter()
    try:
        model.fit(asarray(rows.X, backend), asarray(rows.Y, backend))
    except methods.FAILURES as error:
        model = error
    return _outcome(unit, model, evaluate, time.perf_counter() - started, backend)


def _outcome(unit: int, model, evaluate: Evaluate, seconds: float, backend: str) -> Outcome:
    """Evaluate a model, or report the error that stands in its place."""
    started = time.perf_counter()
    try:
        if isinstance(model, Exception):
            raise model
        found = evaluate(unit, model, partial(asarray, backend=backend))
    except methods.FAILURES as error:
        return Outcome(None, f"{type(error).__name__}: {error}", seconds, backend)
    seconds += time.perf_counter() - started
    return Outcome(found, "", seconds, backend, _chosen(model))


def _chosen(model) -> dict:
    """Return what a model used; not the points of a reference, nor the weights of a mixture."""
    inner = getattr(model, "estimator_", model)
    dropped = {"dropped": model.dropped_} if inner is not model else {}
    values = methods.chosen(inner) | dropped
    return {name: value for name, value in values.items() if np.size(value) <= _MOST_NUMBERS}
