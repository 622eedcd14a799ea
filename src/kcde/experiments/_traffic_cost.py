"""Cost of a fit to traffic of PEMS-SF's size: 32256 pairs, 1008 distinct inputs (cdo, A.3.1).

The fit is measured in a process of its own. Whether the factorisation over the distinct inputs is
exact is seen on a part of the data, where a plain solve with one row a pair is affordable.
"""

import json
import sys
import time
from collections.abc import Mapping

import numpy as np

from kcde.data import traffic
from kcde.data.names import SIMULATED_TRAFFIC
from kcde.data.traffic import Traffic
from kcde.estimators import estimator_class
from kcde.experiments import _cdo_settings, _measured_fit
from kcde.experiments._measured_fit import FitError, peak_memory
from kcde.metrics.names import FIT_SECONDS, PEAK_MEMORY

__all__ = ["FitError", "check", "grouping_difference", "measured", "ungrouped_moments"]

PREDICT = "predict_seconds"
DIFFERENCE = "grouping_difference"
PART = 16
"""Every 16th input is part of the comparison: 63 of 1008, with 2016 pairs."""


def check(estimator: str, settings: str) -> None:
    """Raise `ValueError` for what cannot be compared with the plain solve.

    Raises
    ------
    ValueError
        If it is not CDO as its authors set it.
    """
    if estimator != "CDO" or settings != _cdo_settings.AUTHORS:
        raise ValueError(
            f"{SIMULATED_TRAFFIC} measures what CDO with the settings {_cdo_settings.AUTHORS!r} "
            f"costs; got {estimator} with {settings!r}: take another data set"
        )


def measured(estimator: str, options: Mapping, settings: str) -> dict[str, tuple[float, str]]:
    """Return metric to (value, unit).

    Parameters
    ----------
    estimator, options, settings
        As in `traffic.Job`.

    Returns
    -------
    dict
        `fit_seconds` and `predict_seconds` (mean and variance at all inputs) of processor time on
        one thread; `peak_memory`, MiB beyond the process with its libraries and data; and
        `grouping_difference`.

    Raises
    ------
    FitError
        If the process that fits ends without numbers.
    """
    job = {"estimator": estimator, "options": dict(options), "settings": settings}
    found = _measured_fit.in_own_process(job, module=__name__)
    difference = grouping_difference(estimator, options, settings)
    return {
        FIT_SECONDS: (found[FIT_SECONDS], "s"),
        PREDICT: (found[PREDICT], "s"),
        PEAK_MEMORY: (found[PEAK_MEMORY], "MiB"),
        DIFFERENCE: (difference, ""),
    }


def measure(job: Mapping) -> dict[str, float]:
    """Measure a fit of all simulated pairs in this process; `job` as `measured` makes it."""
    data = traffic.simulated()
    model = _model(data, **job)
    before, times = peak_memory(), [time.process_time()]
    model.fit(data.X, data.Y)
    times.append(time.process_time())
    model.mean(data.inputs), model.variance(data.inputs)
    times.append(time.process_time())
    seconds = dict(zip((FIT_SECONDS, PREDICT), np.diff(times).tolist(), strict=True))
    return seconds | {PEAK_MEMORY: (peak_memory() - before) / 2**20}


def grouping_difference(
    estimator: str, options: Mapping, settings: str, data: Traffic | None = None
) -> float:
    """Return how far means and variances are from those of a solve with one row a pair.

    Parameters
    ----------
    estimator, options, settings
        As in `traffic.Job`.
    data
        On which; None: every 16th input of the simulated data, with all its outputs.

    Returns
    -------
    float
        The largest difference over the inputs, relative to the largest value.
    """
    data = _part(traffic.simulated()) if data is None else data
    model = _model(data, estimator, options, settings).fit(data.X, data.Y)
    plain = ungrouped_moments(model, data.X, data.Y, data.inputs)
    ours = model.mean(data.inputs), model.variance(data.inputs)
    return max(
        float(np.max(np.abs(own[:, 0] - other)) / np.max(np.abs(other)))
        for own, other in zip(ours, plain, strict=True)
    )


def ungrouped_moments(model, X: np.ndarray, Y: np.ndarray, at: np.ndarray) -> tuple:
    """Return mean and variance by the formulas of cdo A.2, A.2.1 as they stand: O(N³) time.

    Parameters
    ----------
    model
        A fitted CDO with a Laplace kernel of x and signed weights: read are its hyper-parameters
        and its reference.
    X, Y, at
        All pairs, shapes (N, d_x) and (N, 1), and where, (q, d_x).

    Returns
    -------
    two of shape (q,)
    """
    sigma, z = float(np.ravel(model.bandwidth_y_)[0]), model.reference_[:, 0]

    def input_kernel(A, B):
        distance = np.abs(A[:, None, :] - B[None, :, :]) / np.asarray(model.bandwidth_x_)
        return np.exp(-distance.sum(axis=2))

    def output_kernel(a, b):
        square = ((a[:, None] - b[None, :]) / sigma) ** 2
        return np.exp(-0.5 * square) / (np.sqrt(2.0 * np.pi) * sigma)

    ridge = len(Y) * model.regularization_
    weights = np.linalg.solve(input_kernel(X, X) + ridge * np.eye(len(Y)), input_kernel(X, at))
    points = len(z) if model.scaling == "corrected" else 1
    inner = output_kernel(z, z) + points * model.output_regularization_ * np.eye(len(z))
    beta = np.linalg.solve(inner, output_kernel(z, Y[:, 0]) @ weights)
    beta = np.linalg.solve(inner, beta)
    beta /= beta.sum(axis=0)
    mean = z @ beta
    return mean, z**2 @ beta - mean**2 + sigma**2


def _model(data: Traffic, estimator: str, options: Mapping, settings: str):
    filled = _cdo_settings.complete_options(options, settings, "traffic", estimator, data.X, data.Y)
    return estimator_class(estimator)(**filled)


def _part(data: Traffic) -> Traffic:
    rows = (data.X[:, None, :] == data.inputs[None, ::PART, :]).all(axis=2).any(axis=1)
    return Traffic(data.name, data.X[rows], data.Y[rows], data.days[rows], data.unit)


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
