"""Interpolation and smoothing, which cdo's terrain and traffic are compared with.

They predict a mean, two of them a variance too, and no density. All see the inputs in their own
units, in which the terrain's grid has the same step along both coordinates.
"""

from collections.abc import Callable

import numpy as np

from kcde.arrays import exp_of_negative, row_blocks
from kcde.experiments import _cdo_settings
from kcde.experiments.jobs._conditional import SMOOTHERS, ConditionalJob
from kcde.kernels import GaussianKernel, LaplaceKernel
from kcde.selection import complement, kfold, log_grid

_KERNELS = {"gaussian": GaussianKernel, "laplace": LaplaceKernel}

BANDWIDTHS = log_grid(0.25, 4.0, 12)
"""Candidates of a cross-validated bandwidth, in median distances to the nearest neighbour."""

_FOLDS = 5


class Interpolated:
    """A surface through the rows; beyond their convex hull the value of the nearest row.

    Parameters
    ----------
    interpolate
        Maps inputs (n, 2) and values (n,) to a function that is NaN beyond the hull.
    """

    def __init__(self, interpolate: Callable):
        self._interpolate = interpolate

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "Interpolated":
        """Fit to X (n, 2), Y (n, 1)."""
        from scipy.interpolate import NearestNDInterpolator

        self._surface = self._interpolate(X, Y[:, 0])
        self._nearest = NearestNDInterpolator(X, Y[:, 0])
        return self

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the surface, shape (m, 1), at X (m, 2)."""
        found = self._surface(X)
        return np.where(np.isnan(found), self._nearest(X), found)[:, None]


class Neighbours:
    """The mean y of the nearest rows.

    Parameters
    ----------
    count
        Number of rows.
    """

    def __init__(self, count: int):
        self._count = count

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "Neighbours":
        """Fit to X (n, d_x), Y (n, d_y)."""
        from sklearn.neighbors import KNeighborsRegressor

        self._model = KNeighborsRegressor(self._count).fit(X, Y)
        return self

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return means, shape (m, d_y), at X (m, d_x)."""
        return self._model.predict(X)


class NadarayaWatson:
    """Σ_i k(x, x_i) y_i / Σ_i k(x, x_i), and the variance under the same weights.

    Parameters
    ----------
    kernel
        "gaussian" or "laplace".
    bandwidth
        A number, or one per column of x. None: of `BANDWIDTHS`, by 5-fold held-out absolute error.
    rng
        Source of the folds.

    Attributes
    ----------
    bandwidth_
        Given or chosen.
    """

    def __init__(self, kernel: str, bandwidth=None, rng: np.random.Generator | None = None):
        self._kernel, self._bandwidth, self._rng = kernel, bandwidth, rng

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "NadarayaWatson":
        """Fit to X (n, d_x), Y (n, d_y); O(n²) kernel values for each candidate."""
        self._X, self._Y, self.bandwidth_ = X, Y, self._bandwidth
        if self.bandwidth_ is None:
            candidates = BANDWIDTHS * _median_to_nearest(X)
            folds = kfold(len(X), _FOLDS, self._rng)
            errors = [self._held_out(candidate, folds) for candidate in candidates]
            self.bandwidth_ = float(candidates[int(np.argmin(errors))])
        return self

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return means, shape (m, d_y), at X (m, d_x)."""
        return self._smoothed(X, slice(None), self._Y, self.bandwidth_)

    def variance(self, X: np.ndarray) -> np.ndarray:
        """Return variances, shape (m, d_y), at X (m, d_x)."""
        centre = self._Y.mean(axis=0)
        squares = self._smoothed(X, slice(None), (self._Y - centre) ** 2, self.bandwidth_)
        return np.maximum(squares - (self.mean(X) - centre) ** 2, 0.0)

    def _held_out(self, bandwidth: float, folds: list[np.ndarray]) -> float:
        n, error = len(self._X), 0.0
        for held in folds:
            found = self._smoothed(self._X[held], complement(held, n), self._Y, bandwidth)
            error += np.abs(found - self._Y[held]).sum()
        return error

    def _smoothed(self, X, rows, values: np.ndarray, bandwidth) -> np.ndarray:
        """Return means of values under the weights of some rows."""
        kernel, inputs = _KERNELS[self._kernel](bandwidth), self._X[rows]
        values, found = values[rows], []
        for block in row_blocks(len(X), len(inputs)):
            logs = kernel.log(X[block], inputs)
            # Far from all rows every k underflows; their ratios do not.
            weights = exp_of_negative(logs - logs.max(axis=1, keepdims=True))
            found.append(weights @ values / weights.sum(axis=1, keepdims=True))
        return np.concatenate(found)


def make(job: ConditionalJob, X: np.ndarray, Y: np.ndarray, rng: np.random.Generator):
    """Return an unfitted smoother by its name.

    Parameters
    ----------
    job
        Whose estimator is one of `SMOOTHERS`.
    X, Y
        The training rows, from which CDO's bandwidths follow.
    rng
        Source of what is random.
    """
    return dict(zip(SMOOTHERS, _MAKERS, strict=True))[job.estimator](job, X, Y, rng)


def _linear(job, X, Y, rng) -> Interpolated:
    from scipy.interpolate import LinearNDInterpolator

    return Interpolated(LinearNDInterpolator)


def _clough_tocher(job, X, Y, rng) -> Interpolated:
    from scipy.interpolate import CloughTocher2DInterpolator

    return Interpolated(CloughTocher2DInterpolator)


def _of_cdo(job, X, Y, rng) -> NadarayaWatson:
    """Return the smoother with the kernel and the bandwidths of CDO as its authors set it."""
    theirs = _cdo_settings.authors(job.experiment, "CDO", X, Y)
    return NadarayaWatson(theirs["kernel_x"], theirs["bandwidth_x"])


_MAKERS = (
    _linear,
    _clough_tocher,
    lambda job, X, Y, rng: Neighbours(4),
    lambda job, X, Y, rng: NadarayaWatson("gaussian", rng=rng),
    _of_cdo,
)


def _median_to_nearest(X: np.ndarray) -> float:
    from scipy.spatial import cKDTree

    distances = cKDTree(X).query(X, k=2)[0][:, 1]
    return float(np.median(distances[distances > 0.0]))
