"""What the experiments of the cdo paper share: models of training rows, in the units they have.

The kernels of CDO and of the Gaussian process are stated in the units of the data, and so are those
of smoothers; every other estimator sees standardised data, and answers in original units. One
model is held at a time. Training rows go to the device where it is fitted.

Hyper-parameters as the authors of cdo fixed them are functions of the training data. The paper
states none of them; these are read from the authors' public code, its notebooks of the
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

Interpolation and smoothing, which terrain and traffic are compared with, predict a mean, two of
them a variance too, and no density. All see the inputs in their own units, in which the terrain's
grid has the same step along both coordinates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import interpolate
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from kcde.arrays import asarray, row_blocks, to_numpy
from kcde.data.made_up import DONUT_BOX
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import methods
from kcde.experiments.base import SMOKE, ArrayExperiment, attempt, parameter
from kcde.kernels import GaussianKernel, LaplaceKernel, scaled_similarities
from kcde.methods import METHODS
from kcde.names import OURS
from kcde.seeding import rng_of
from kcde.selection import complement, kfold

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
    ticks = np.linspace(*DONUT_BOX, _DONUT_REFERENCE)
    bandwidth_y = _median(pdist(np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)))
    return _operator("laplace", bandwidth_x, bandwidth_y, alpha, _DONUT_REFERENCE, DONUT_BOX)


def _terrain(X: np.ndarray, Y: np.ndarray) -> dict:
    """Return σ_x = √(median distance)/2, and σ_y = 50 steps of a grid of as many points as rows."""
    box = float(Y.min()) - _TERRAIN_MARGIN, float(Y.max()) + _TERRAIN_MARGIN
    step = (box[1] - box[0]) / (len(Y) - 1)
    bandwidth_x = float(np.sqrt(_median(pdist(X)))) / 2.0
    return _operator("gaussian", bandwidth_x, 50 * step, 0.1, len(Y), box)


def _traffic(X: np.ndarray, Y: np.ndarray) -> dict:
    """Return a scale √(median distance)/4 for each input, and σ_y, one step of the grid."""
    medians = [_median(pdist(column[:, None])) for column in np.unique(X, axis=0).T]
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


# Candidates of a cross-validated bandwidth, in median distances to the nearest neighbour.
BANDWIDTHS = np.geomspace(0.25, 4.0, 12)


class Interpolated:
    """A surface through the rows; beyond their convex hull the value of the nearest row.

    `interpolate` maps inputs (n, 2) and values (n,) to a function that is NaN beyond the hull.
    """

    def __init__(self, interpolate: Callable):
        self._interpolate = interpolate

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "Interpolated":
        """Fit to X (n, 2), Y (n, 1)."""
        self._surface = self._interpolate(X, Y[:, 0])
        self._nearest = interpolate.NearestNDInterpolator(X, Y[:, 0])
        return self

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the surface, shape (m, 1), at X (m, 2)."""
        found = self._surface(X)
        return np.where(np.isnan(found), self._nearest(X), found)[:, None]


class FourNeighbours:
    """The mean y of the four nearest rows."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "FourNeighbours":
        """Fit to X (n, d), Y (n, 1)."""
        from sklearn.neighbors import KNeighborsRegressor  # a tenth of the start of every job

        self.mean = KNeighborsRegressor(4).fit(X, Y).predict
        return self


class NadarayaWatson:
    """Σ_i k(x, x_i) y_i / Σ_i k(x, x_i), and the variance under the same weights.

    The bandwidth is a number, or one per column of x; None: of `BANDWIDTHS`, by 5-fold held-out
    absolute error.
    """

    def __init__(self, kernel: str, bandwidth=None, rng: np.random.Generator | None = None):
        self._kernel = {"gaussian": GaussianKernel, "laplace": LaplaceKernel}[kernel]
        self._bandwidth, self._rng = bandwidth, rng

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "NadarayaWatson":
        """Fit to X (n, d_x), Y (n, d_y); O(n²) kernel values for each candidate."""
        self._X, self._Y, self.bandwidth_ = X, Y, self._bandwidth
        if self.bandwidth_ is None:
            distances = cKDTree(X).query(X, k=2)[0][:, 1]
            candidates = BANDWIDTHS * float(np.median(distances[distances > 0.0]))
            held_out = [(held, complement(held, len(X))) for held in kfold(len(X), 5, self._rng)]

            def error(width: float) -> float:
                missed = (self._smoothed(X[a], b, Y, width) - Y[a] for a, b in held_out)
                return sum(np.abs(each).sum() for each in missed)

            self.bandwidth_ = float(candidates[int(np.argmin(list(map(error, candidates))))])
        return self

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return means, shape (m, d_y), at X (m, d_x)."""
        return self._smoothed(X, slice(None), self._Y, self.bandwidth_)

    def variance(self, X: np.ndarray) -> np.ndarray:
        """Return variances, shape (m, d_y), at X (m, d_x)."""
        centre = self._Y.mean(axis=0)
        squares = self._smoothed(X, slice(None), (self._Y - centre) ** 2, self.bandwidth_)
        return np.maximum(squares - (self.mean(X) - centre) ** 2, 0.0)

    def _smoothed(self, X, rows, values: np.ndarray, bandwidth) -> np.ndarray:
        """Return means of values under the weights of some rows."""
        kernel, inputs = self._kernel(bandwidth), self._X[rows]
        values, found = values[rows], []
        for block in row_blocks(len(X), len(inputs)):
            weights = scaled_similarities(kernel, X[block], inputs)
            found.append(weights @ values / weights.sum(axis=1, keepdims=True))
        return np.concatenate(found)


def _of_cdo(experiment: str, X, Y, rng) -> NadarayaWatson:
    """Return the smoother with the kernel and the bandwidths of CDO as its authors set it."""
    theirs = authors(experiment, "CDO", X, Y)
    return NadarayaWatson(theirs["kernel_x"], theirs["bandwidth_x"])


# Name to what makes an unfitted smoother of experiment, training rows and a generator.
MAKERS = {
    "linear-interpolation": lambda *_: Interpolated(interpolate.LinearNDInterpolator),
    "Clough-Tocher": lambda *_: Interpolated(interpolate.CloughTocher2DInterpolator),
    "four-neighbours": lambda *_: FourNeighbours(),
    "Nadaraya-Watson": lambda experiment, X, Y, rng: NadarayaWatson("gaussian", rng=rng),
    "Nadaraya-Watson-CDO": _of_cdo,
}

SMOOTHERS = tuple(MAKERS)


SETTINGS = AUTHORS, CHOSEN = ("authors", "chosen")

_WEIGHTS = ("signed", "constrained", "projected")
# Methods of donut and terrain alike.
COMPARED = ("CondRealNVP", "CondMAF", "LSCDE", *(f"LSCDE-package-{each}" for each in _WEIGHTS))
COMPARED += ("LSCDE-exact", *(f"LSCDE-{each}" for each in _WEIGHTS))

# Those that the authors of cdo score on random splits of the terrain, as their own.
FLOWS = ("ConditionalRealNVP", "ConditionalMAF")

_MOST_NUMBERS = 20  # of a hyper-parameter in the info of a job


@dataclass(frozen=True)
class Conditional(ArrayExperiment):
    """A method whose hyper-parameters may be those that the authors of cdo fixed."""

    # Of the options that are not given: those of cdo's authors, or of the class.
    settings: str = parameter(CHOSEN, "authors or chosen: whose options.", choices=SETTINGS)

    @classmethod
    def named(cls, dataset: str, method: str) -> dict:
        """Return the parameters that data set and method state."""
        return super().named(dataset, method) | ({"variant": OURS} if method in cls.beside else {})

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return a smaller flow at the scale smoke, in one stage: each is compiled."""
        if scale != SMOKE or method in cls.beside or METHODS[method].estimator not in FLOWS:
            return {}
        small = {"blocks": 2, "steps": 20, "learning_rate": 1e-3}
        return {"options": cls.options_of(METHODS[method], dataset) | small}

    def check(self) -> None:
        """Raise `ValueError` for unknown options."""
        if not self.smooths:
            methods.build(self.method, self.estimator, self.options)

    @property
    def smooths(self) -> bool:
        """Whether the method is a smoother, which is no estimator."""
        return self.method in self.beside

    @property
    def own_units(self) -> bool:
        """Whether the estimator sees the data in their own units."""
        return self.estimator in ("CDO", "GaussianProcess")

    @cached_property
    def device(self) -> str:
        """The backend of the fits, "numpy" or "cupy"."""
        if self.smooths:
            return "numpy"
        return methods.backend_of(estimator_class(self.estimator), self.backend)

    def unfitted(self, X: np.ndarray, Y: np.ndarray, seed: int):
        """Return the unfitted model of training rows (n, d_x), (n, d_y)."""
        if self.smooths:
            return MAKERS[self.method](self.name, X, Y, rng_of("smoother", seed))
        options = dict(self.options)
        if self.settings == AUTHORS:
            options = authors(self.name, self.estimator, X, Y) | options
        more = {"tuning_rows": self.tuning_rows} if hasattr(self, "tuning_rows") else {}
        model = methods.build(self.method, self.estimator, options, seed, **more)
        return model if self.own_units else Standardised(model)

    def fitted(self, X: np.ndarray, Y: np.ndarray, seed: int) -> tuple:
        """Return the model of training rows, or an error, and the seconds of the fit."""
        backend = self.device  # That there is none is no failure of a fit.
        placed = (asarray(each, backend) for each in (X, Y))
        return attempt(lambda: self.unfitted(X, Y, seed).fit(*placed))

    def moments(self, model, X: np.ndarray, names=("mean", "variance")) -> list[np.ndarray]:
        """Return moments of one y at X (n, d_x), shape (n,) each; of flows those of draws."""
        at = asarray(X, self.device)
        if hasattr(model, "moments_of_draws"):
            return [each[:, 0] for each in model.moments_of_draws(at)]
        return [to_numpy(getattr(model, name)(at))[:, 0] for name in names]

    def chosen(self, model) -> dict:
        """Return the hyper-parameters that a model used, without reference points and weights."""
        if self.smooths:
            bandwidth = getattr(model, "bandwidth_", None)
            return {} if bandwidth is None else {"bandwidth_x": np.asarray(bandwidth).tolist()}
        values = methods.chosen(getattr(model, "estimator_", model))
        if not self.own_units:
            values["dropped"] = model.dropped_
        return {name: value for name, value in values.items() if np.size(value) <= _MOST_NUMBERS}
