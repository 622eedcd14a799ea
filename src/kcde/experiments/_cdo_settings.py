"""Hyper-parameters as the authors of cdo fixed them, as functions of the training data.

The paper states none of them; these are read from the authors' public code, its notebooks of the
donut and traffic, and of the terrain a notebook for the flows and a script for the rest: distances
are not squared, coordinates are those of the file, and the noise of a Gaussian process is a
variance. Bandwidths are standard deviations of Gaussian kernels and scales of Laplace kernels,
exp(-|a - b|/s).

What differs from that code: its kernels of x are normalised densities, which scales α by a constant
where weights are then divided by their sum. It begins a search for the Gaussian processes' length
scales at the values that are fixed here. On the donut it takes 1 for the standard deviation of
their predictions: that is for the experiment to do. Flows on the terrain get the column of y twice
there, because they refuse a single one. The notebook of traffic has no Gaussian process, fits one
flow to unscaled or otherwise scaled data, and reads the samples of the other from a file: nothing
is taken from it but the parameters of CDO and LSCDE.

LSCDE is that of the Python package `cde`, which standardises x and y itself. The notebook of the
donut prints what the package's cross-validation chose: 100 centres, and in eight repetitions of ten
a bandwidth of 1.0, the largest of the package's grid, and λ = 1, in one each 0.7 and 8, and 1.0 and
0.5. The first stands here, and on the terrain, for which nothing is printed, as well. That of
traffic gives 1000 centres, 0.1 and 0.1.
"""

import numpy as np
from scipy.spatial.distance import pdist

from kcde.data.made_up import DONUT_BOX

_DONUT_REFERENCE = 62
_TERRAIN_MARGIN = 0.2
# Stated in the other order: the authors' x is the second column of the file, which is their first.
_TERRAIN_LENGTHS = (5.358, 3.567)
_TRAFFIC_REFERENCE = 1008


def authors(experiment: str, estimator: str, X: np.ndarray, Y: np.ndarray) -> dict:
    """Return the hyper-parameters that the authors fixed; none for other estimators.

    O(n² d_x) time and memory for the distances; those of traffic are between distinct inputs.
    """
    rule = _RULES.get((experiment, estimator), {})
    return rule(X, Y) if callable(rule) else rule


def grid_distance(box: tuple[float, float], reference: int) -> float:
    """Return the median distance between different points of a square grid of two dimensions."""
    ticks = np.linspace(*box, reference)
    return _median(pdist(np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)))


def _median(distances: np.ndarray) -> float:
    """Return the median of distances, whose order is lost."""
    return float(np.median(distances, overwrite_input=True))


def _operator(kernel_x: str, bandwidth_x, bandwidth_y, alpha, reference, reference_box) -> dict:
    """Return signed weights in the published formula, with α = α' and points of a box."""
    common = {"kernel_x": kernel_x, "weights": "signed", "scaling": "published"}
    common |= {"bandwidth_x": bandwidth_x, "bandwidth_y": bandwidth_y, "standardize": False}
    common |= {"reference": reference, "reference_box": reference_box}
    return common | dict.fromkeys(("regularization", "output_regularization"), alpha)


def _donut(X: np.ndarray, Y: np.ndarray) -> dict:
    """Return α = α' = max(M^-½, 1/N) for M points of the grid, and σ_y, their median distance."""
    alpha = max(1.0 / _DONUT_REFERENCE, 1.0 / len(X))
    bandwidth_x = _median(pdist(X, "cityblock")) / np.sqrt(2.0)
    bandwidth_y = grid_distance(DONUT_BOX, _DONUT_REFERENCE)
    return _operator("laplace", bandwidth_x, bandwidth_y, alpha, _DONUT_REFERENCE, DONUT_BOX)


def _terrain(X: np.ndarray, Y: np.ndarray) -> dict:
    """Return σ_x = √(median distance)/2, and σ_y = 50 steps of a grid of as many points as rows."""
    box = float(Y.min()) - _TERRAIN_MARGIN, float(Y.max()) + _TERRAIN_MARGIN
    step = (box[1] - box[0]) / (len(Y) - 1)
    bandwidth_x = float(np.sqrt(_median(pdist(X)))) / 2.0
    return _operator("gaussian", bandwidth_x, 50 * step, 0.1, len(Y), box)


def _traffic(X: np.ndarray, Y: np.ndarray) -> dict:
    """Return a scale √(median distance)/4 for each input, and σ_y, one step of the grid."""
    distinct = np.unique(X, axis=0)
    medians = [_median(pdist(column[:, None])) for column in distinct.T]
    margin = float(np.ptp(Y)) / 10.0
    box = float(Y.min()) - margin, float(Y.max()) + margin
    scales = [float(np.sqrt(median)) / 4.0 for median in medians]
    step = (box[1] - box[0]) / (_TRAFFIC_REFERENCE - 1)
    alpha = _TRAFFIC_REFERENCE**-0.441
    return _operator("laplace", scales, step, alpha, _TRAFFIC_REFERENCE, box)


def _package(bandwidth: float, regularization: float, n_centres: int) -> dict:
    """Return the options of LSCDE in the package that the authors call."""
    fixed = {"regularization": regularization, "n_centres": n_centres, "implementation": "cde"}
    return fixed | dict.fromkeys(("bandwidth_x", "bandwidth_y"), bandwidth)


def _process(bandwidth_x: float | list[float]) -> dict:
    """Return the options of a process with a noise of variance 0.1."""
    return {"bandwidth_x": bandwidth_x, "signal_std": 1.0, "noise_std": float(np.sqrt(0.1))}


# Twice the layers of the donut, and three stages of Adam on all rows.
_TERRAIN_FLOW = {"blocks": 10, "steps": [100, 100, 300], "learning_rate": [1e-2, 1e-3, 1e-4]}

_RULES = {
    ("donut", "CDO"): _donut,
    ("terrain", "CDO"): _terrain,
    ("traffic", "CDO"): _traffic,
    ("terrain", "ConditionalRealNVP"): _TERRAIN_FLOW,
    ("terrain", "ConditionalMAF"): _TERRAIN_FLOW,
    ("donut", "LSCDE"): _package(1.0, 1.0, 100),
    ("terrain", "LSCDE"): _package(1.0, 1.0, 100),
    ("traffic", "LSCDE"): _package(0.1, 0.1, 1000),
    ("donut", "GaussianProcess"): _process(1.0),
    ("terrain", "GaussianProcess"): _process([2.0 * s**2 for s in _TERRAIN_LENGTHS]),
}
