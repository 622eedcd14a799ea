"""Cost of a fit to traffic of PEMS-SF's size: 32256 pairs, 1008 distinct inputs (cdo, A.3.1).

CDO as its authors set it is measured in a process of its own. Whether its factorisation over the
distinct inputs is exact is seen on a part of the data, where a plain solve with one row a pair is
affordable.
"""

import json
import sys
import time
from collections.abc import Mapping

import numpy as np

from kcde.data import traffic
from kcde.data.traffic import Traffic
from kcde.estimators import CDO
from kcde.experiments import _cdo_settings, _measured_fit
from kcde.experiments._measured_fit import peak_memory
from kcde.metrics.names import FIT_SECONDS, PEAK_MEMORY

PREDICT = "predict_seconds"
DIFFERENCE = "grouping_difference"
# Every 16th input is part of the comparison: 63 of 1008, with 2016 pairs.
PART = 16

_UNITS = {FIT_SECONDS: "s", PREDICT: "s", PEAK_MEMORY: "MiB", DIFFERENCE: ""}


def measured(options: Mapping) -> dict[str, tuple[float, str]]:
    """Return metric to (value, unit), for options of CDO beside those of its authors.

    Seconds of fit and prediction (mean and variance at all inputs) are processor time on one
    thread, memory is beyond the process with its libraries and data.
    """
    found = _measured_fit.in_own_process(dict(options), module=__name__)
    found |= {DIFFERENCE: grouping_difference(options)}
    return {name: (found[name], unit) for name, unit in _UNITS.items()}


def measure(options: Mapping) -> dict[str, float]:
    """Measure a fit of all simulated pairs in this process."""
    data = traffic.simulated()
    model = _model(data, options)
    before, times = peak_memory(), [time.process_time()]
    model.fit(data.X, data.Y)
    times.append(time.process_time())
    model.mean(data.inputs), model.variance(data.inputs)
    times.append(time.process_time())
    seconds = dict(zip((FIT_SECONDS, PREDICT), np.diff(times).tolist(), strict=True))
    return seconds | {PEAK_MEMORY: (peak_memory() - before) / 2**20}


def grouping_difference(options: Mapping, data: Traffic | None = None) -> float:
    """Return how far means and variances are from those of a solve with one row a pair.

    The largest difference over the inputs, relative to the largest value; by default on every 16th
    input of the simulated data, with all its outputs.
    """
    if data is None:
        whole = traffic.simulated()
        rows = (whole.X[:, None, :] == whole.inputs[None, ::PART, :]).all(axis=2).any(axis=1)
        data = Traffic(whole.name, whole.X[rows], whole.Y[rows], whole.days[rows], whole.unit)
    model = _model(data, options).fit(data.X, data.Y)
    plain = ungrouped_moments(model, data.X, data.Y, data.inputs)
    ours = model.mean(data.inputs), model.variance(data.inputs)
    pairs = zip(ours, plain, strict=True)
    return max(float(np.max(np.abs(own[:, 0] - p)) / np.max(np.abs(p))) for own, p in pairs)


def ungrouped_moments(model: CDO, X: np.ndarray, Y: np.ndarray, at: np.ndarray) -> tuple:
    """Return mean and variance, shape (q,), by the formulas of cdo A.2, A.2.1: O(N³) time.

    The fitted model has a Laplace kernel of x and signed weights, and gives hyper-parameters and
    reference alone; all N pairs, shapes (N, d_x) and (N, 1), and where, (q, d_x), are given.
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


def _model(data: Traffic, options: Mapping) -> CDO:
    return CDO(**_cdo_settings.authors("traffic", "CDO", data.X, data.Y) | dict(options))


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
