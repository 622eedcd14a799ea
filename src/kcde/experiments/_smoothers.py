"""Interpolation and smoothing, which cdo's terrain and traffic are compared with.

They predict a mean, two of them a variance too, and no density. All see the inputs in their own
units, in which the terrain's grid has the same step along both coordinates.
"""

from collections.abc import Callable

import numpy as np
from scipy import interpolate
from scipy.spatial import cKDTree

from kcde.arrays import exp_of_negative, row_blocks
from kcde.experiments import _cdo_settings
from kcde.kernels import GaussianKernel, LaplaceKernel
from kcde.selection import complement, kfold, log_grid

# Candidates of a cross-validated bandwidth, in median distances to the nearest neighbour.
BANDWIDTHS = log_grid(0.25, 4.0, 12)


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
            folds = kfold(len(X), 5, self._rng)
            held_out = [(held, complement(held, len(X))) for held in folds]

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
            logs = kernel.log(X[block], inputs)
            # Far from all rows every k underflows; their ratios do not.
            weights = exp_of_negative(logs - logs.max(axis=1, keepdims=True))
            found.append(weights @ values / weights.sum(axis=1, keepdims=True))
        return np.concatenate(found)


def _of_cdo(experiment: str, X, Y, rng) -> NadarayaWatson:
    """Return the smoother with the kernel and the bandwidths of CDO as its authors set it."""
    theirs = _cdo_settings.authors(experiment, "CDO", X, Y)
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
