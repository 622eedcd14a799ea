"""Estimators of the cdo paper fitted to training rows, in the units that each of them has.

The kernels of CDO and of the Gaussian process are stated in the units of the data; every other
estimator sees standardised data, and answers in original units. One model is held at a time, unless
its class fits several in one go.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kcde.estimators import Standardised, estimator_class
from kcde.experiments import cdo_settings, methods

log = logging.getLogger(__name__)

RAW = ("CDO", "GaussianProcess")
"""Estimators that see the data in their own units."""

_MOST_NUMBERS = 20  # of a hyper-parameter in the info of a job


class Job(Protocol):
    """What the jobs of these experiments share; `settings` is one of `cdo_settings.SETTINGS`."""

    dataset: str
    method: str
    estimator: str
    options: Mapping
    settings: str


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
    chosen
        Hyper-parameters, ready for JSON.
    """

    found: Any
    detail: str
    seconds: float
    chosen: dict = field(default_factory=dict)


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
    trainings: Sequence[Training],
    evaluate: Callable[[int, Any], Any],
) -> list[Outcome]:
    """Fit to each of the training rows and evaluate.

    Parameters
    ----------
    job, experiment
        What to fit.
    trainings
        One a split.
    evaluate
        Maps the number of a split and its fitted model to what is wanted of it.

    Returns
    -------
    list of Outcome
        One a split; a fit or evaluation that fails numerically says why.

    Raises
    ------
    ValueError
        As `make`: a wrong option is no failure of a fit.
    """
    if hasattr(estimator_class(job.estimator), "fit_many") and job.estimator not in RAW:
        return _together(job, experiment, trainings, evaluate)
    found = []
    started = time.perf_counter()
    for number, training in enumerate(trainings):
        found.append(_alone(number, make(job, experiment, training), training, evaluate))
        done = number + 1
        left = (time.perf_counter() - started) / done * (len(trainings) - done)
        log.info(
            "%s %s: %d/%d, about %.0f s left", job.dataset, job.method, done, len(trainings), left
        )
    return found


def cell(
    metric: str, value: float, *, unit: str = "", stderr: float = np.nan, detail: str = ""
) -> dict:
    """Return the columns of a score row that a number fills; failed where it is not finite."""
    row = {"metric": metric, "unit": unit}
    if np.isfinite(value):
        return row | {"value": value, "stderr": stderr, "status": "ok", "detail": detail}
    return row | {"value": np.nan, "status": "failed", "detail": detail or f"{metric} is {value}"}


def _together(job: Job, experiment: str, trainings: Sequence[Training], evaluate) -> list[Outcome]:
    """Fit all in one call of `fit_many`; the seconds of each are its share and its evaluation."""
    if not trainings:
        return []
    log.info("%s %s: %d fits in one go", job.dataset, job.method, len(trainings))
    models = [make(job, experiment, training) for training in trainings]
    started = time.perf_counter()
    pairs = [training.X for training in trainings], [training.Y for training in trainings]
    fitted = Standardised.fit_many(models, *pairs)
    share = (time.perf_counter() - started) / len(trainings)
    log.info("%s %s: fitted in %.0f s each", job.dataset, job.method, share)
    return [_outcome(number, model, evaluate, share) for number, model in enumerate(fitted)]


def _alone(number: int, model, training: Training, evaluate) -> Outcome:
    """Fit one model; it is released with this frame, before the next needs the memory."""
    started = time.perf_counter()
    try:
        model.fit(training.X, training.Y)
    except methods.FAILURES as error:
        model = error
    return _outcome(number, model, evaluate, time.perf_counter() - started)


def _outcome(number: int, model, evaluate, seconds: float) -> Outcome:
    """Evaluate a model, or report the error that stands in its place."""
    started = time.perf_counter()
    try:
        if isinstance(model, Exception):
            raise model
        found = evaluate(number, model)
    except methods.FAILURES as error:
        return Outcome(None, f"{type(error).__name__}: {error}", seconds)
    seconds += time.perf_counter() - started
    return Outcome(found, "", seconds, _chosen(model))


def _chosen(model) -> dict:
    """Return what a model used; not the points of a reference, nor the weights of a mixture."""
    inner = getattr(model, "estimator_", model)
    dropped = {"dropped": model.dropped_} if inner is not model else {}
    values = methods.chosen(inner) | dropped
    return {name: value for name, value in values.items() if np.size(value) <= _MOST_NUMBERS}
