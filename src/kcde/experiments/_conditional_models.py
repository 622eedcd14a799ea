"""Estimators of the cdo paper fitted to training rows, in the units that each of them has.

The kernels of CDO and of the Gaussian process are stated in the units of the data, and so are those
of smoothers; every other estimator sees standardised data, and answers in original units. One
model is held at a time, unless its class is batch-fitted. Training rows go to the device where it
is fitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kcde.arrays import asarray
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import _cdo_settings, _smoothers, methods, runner
from kcde.experiments.jobs._conditional import SMOOTHERS, ConditionalJob
from kcde.seeding import rng_of

RAW = ("CDO", "GaussianProcess")
"""Estimators that see the data in their own units."""

_MOST_NUMBERS = 20  # of a hyper-parameter in the info of a job


@dataclass(frozen=True)
class Training:
    """Training rows, shapes (n, d_x) and (n, d_y), and the seed of what is random in a fit."""

    X: np.ndarray
    Y: np.ndarray
    seed: int


class Fits(NamedTuple):
    """Models of some units, repetitions, splits or folds.

    Attributes
    ----------
    backend
        Backend of the fits, "numpy" or "cupy".
    place
        Copies an array to that backend.
    model
        Maps a unit to its model, or an error in its place, and the seconds of the fit.
    """

    backend: str
    place: Callable
    model: Callable[[int], tuple[Any, float]]


def make(job: ConditionalJob, training: Training):
    """Return the unfitted model of some training rows.

    Raises
    ------
    ValueError
        If the settings are unknown, or the class does not exist or know one of the options.
    """
    if job.estimator in SMOOTHERS:
        return _smoothers.make(job, training.X, training.Y, rng_of("smoother", training.seed))
    options = _cdo_settings.complete_options(
        job.options, job.settings, job.experiment, job.estimator, training.X, training.Y
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


def fits(job: ConditionalJob, units: Sequence[int], training: Callable[[int], Training]) -> Fits:
    """Return the models of some units, fitted on request or as one batch.

    Parameters
    ----------
    job
        Job whose models are fitted.
    units
        Numbers of the repetitions, splits or folds.
    training
        Maps a number to training rows, on the host.

    Raises
    ------
    ValueError
        As `make`: a wrong option is no failure of a fit.
    RuntimeError
        As `methods.backend_of`.
    """
    smooths = job.estimator in SMOOTHERS
    backend = (
        "numpy" if smooths else methods.backend_of(estimator_class(job.estimator), job.backend)
    )
    place = partial(asarray, backend=backend)

    def fit_one(unit: int):
        rows = training(unit)
        return make(job, rows).fit(place(rows.X), place(rows.Y))

    def fit_batch(units: Sequence[int]) -> list:
        trainings = [training(unit) for unit in units]
        models = [make(job, rows) for rows in trainings]
        return Standardised.fit_many(models, *zip(*((r.X, r.Y) for r in trainings), strict=True))

    if units:
        make(job, training(units[0]))
    if smooths:
        return Fits(backend, place, lambda unit: runner.attempt(fit_one, unit))
    return Fits(backend, place, runner.fits(job.estimator, units, fit_one, fit_batch))


def chosen(model) -> dict:
    """Return the hyper-parameters that a model used, without reference points and weights."""
    if not hasattr(model, "get_params"):
        bandwidth = getattr(model, "bandwidth_", None)
        return {} if bandwidth is None else {"bandwidth_x": np.asarray(bandwidth).tolist()}
    inner = getattr(model, "estimator_", model)
    dropped = {"dropped": model.dropped_} if inner is not model else {}
    values = methods.chosen(inner) | dropped
    return {name: value for name, value in values.items() if np.size(value) <= _MOST_NUMBERS}
