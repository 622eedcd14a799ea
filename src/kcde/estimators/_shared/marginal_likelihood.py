"""Hyper-parameters of a Gaussian process by marginal likelihood, with scikit-learn.

scikit-learn forms the derivatives of the kernel matrix, one matrix for each length, and multiplies
each with an inverse that it solves for. The derivatives of both kernels here are c_ij (a_i - a_j)²
for a column a of x, and a sum of weights m_ij times those is that of products of m with a and a².
"""

import logging
import warnings
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from kcde.arrays import take_rows, to_numpy
from kcde.memory import require_memory
from kcde.selection import subsample

log = logging.getLogger(__name__)

# In standard deviations of each column: start, smallest, largest.
_LENGTHS = (1.0, 1e-2, 1e3)
_SIGNAL = (1.0, 1e-2, 1e2)
_NOISE = (0.3, 1e-3, 1e1)
_ITERATIONS = 100
_GAIN = 1e-7
_RELEVANCE_ROWS, _MOST_RATIO = 800, 100.0
_FAR = 1e3  # standard deviations of a mean from 0, from which a column is centred
_FEWER = "let fewer rows take part in it (tuning_rows), or give all hyper-parameters"


class Hyperparameters(NamedTuple):
    """σ, shape (d_x,), s and τ; those that are None are to be chosen."""

    bandwidth: np.ndarray | None
    signal_std: float | None
    noise_std: float | None


def relevant_lengths(X, y, rng: np.random.Generator) -> np.ndarray:
    """Return the ratios of the bandwidths of the columns of x, shape (d,).

    They are those of the largest marginal likelihood of at most 800 rows (automatic relevance
    determination), of one another at most a hundred times, scaled so that the mean of their inverse
    squares is 1: the mean distance between standardised rows stays.
    """
    chosen = subsample(X.shape[0], _RELEVANCE_ROWS, rng)
    X, y = (to_numpy(take_rows(each, chosen)) for each in (X, y))
    found = maximise(X, y - y.mean(), Hyperparameters(None, None, None))
    lengths = np.minimum(found.bandwidth, _MOST_RATIO * found.bandwidth.min())
    return lengths * np.sqrt(np.mean(lengths**-2.0))


def maximise(X, y, given: Hyperparameters, kernel: str = "gaussian") -> Hyperparameters:
    """Choose what is not given; O(n³) time and 6 n² numbers an iteration.

    One run of L-BFGS in the logarithms, from lengths of √d_x, a signal of 1 and a noise of 0.3
    standard deviations of the column, within factors of 100 to 1000 of it.

    X is of shape (n, d_x), and y of mean zero, shape (n,). Returns hyper-parameters, none of them
    None, and messages of scikit-learn and of L-BFGS, where the optimum is at a bound or was not
    reached.
    """
    # The Matérn kernel and its slope, which are formed of three more, and what LAPACK works in.
    require_memory(X, "the marginal likelihood", len(X), lambda n: 6 * n * n, remedy=_FEWER)
    scale_x, scale_y = _scale(X), _scale(y[:, None])[0]
    model = _regressor(given, scale_x, scale_y, kernel)
    # Without x all points coincide; the kernel is then the same constant for every length.
    points = np.zeros((len(X), 1))
    if X.shape[1]:
        mean = X.mean(axis=0)
        # Columns far from 0 are centred: there the gradient, of squares, would cancel.
        points = (X - np.where(np.abs(mean) > _FAR * scale_x, mean, 0.0)) / scale_x
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(points, y / scale_y)
    for warning in caught:
        message = " ".join(str(warning.message).split())
        log.info("marginal likelihood on %d rows: %s", len(y), message)
    product, noise = model.kernel_.k1, model.kernel_.k2
    lengths = np.broadcast_to(product.k2.length_scale, points.shape[1])[: X.shape[1]]
    stds = (scale_y * np.sqrt(each) for each in (product.k1.constant_value, noise.noise_level))
    pairs = zip(given, (lengths * scale_x, *stds), strict=True)
    return Hyperparameters(*(new if old is None else old for old, new in pairs))


def _regressor(given: Hyperparameters, scale_x: np.ndarray, scale_y: float, kernel: str):
    dimension = len(scale_x)
    if not dimension:
        lengths = np.ones(1), "fixed"
    elif given.bandwidth is not None:
        lengths = given.bandwidth / scale_x, "fixed"
    else:
        start, lowest, highest = np.sqrt(dimension) * np.array(_LENGTHS)
        lengths = np.full(dimension, start), (lowest, highest)
    signal = _variance(given.signal_std, scale_y, _SIGNAL)
    noise = _variance(given.noise_std, scale_y, _NOISE)
    shape = Matern(*lengths, nu=1.5) if kernel == "matern" else RBF(*lengths)
    prior = ConstantKernel(*signal) * shape + WhiteKernel(*noise)
    return Regressor(prior, alpha=0.0, optimizer=_lbfgs)


def _lbfgs(objective, start, bounds):
    options = {"maxiter": _ITERATIONS, "ftol": _GAIN}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    if not found.success:
        warnings.warn(f"L-BFGS: {found.message}", ConvergenceWarning, stacklevel=2)
    return found.x, found.fun


def _variance(given: float | None, scale: float, start_and_bounds: tuple) -> tuple:
    if given is not None:
        return (given / scale) ** 2, "fixed"
    start, lowest, highest = np.square(start_and_bounds)
    return start, (lowest, highest)


def _scale(values: np.ndarray) -> np.ndarray:
    """Return standard deviations, 1 where a column is constant: by rounding, not always 0."""
    std = values.std(axis=0)
    return np.where((np.ptp(values, axis=0) > 0) & (std > 0), std, 1.0)


class Regressor(GaussianProcessRegressor):
    """With a kernel s² k + τ² for the Gaussian k or that of Matérn of smoothness 3/2, and one y."""

    def log_marginal_likelihood(self, theta=None, eval_gradient=False, clone_kernel=True):
        """Return what scikit-learn returns, to rounding (Rasmussen and Williams 2006, 5.8, 5.9).

        O(n³) time for any number of lengths, six matrices (n, n).
        """
        if not eval_gradient:
            return super().log_marginal_likelihood(theta, False, clone_kernel)
        kernel = self.kernel_.clone_with_theta(theta) if clone_kernel else self.kernel_
        kernel.theta = theta
        signal, shape, noise = kernel.k1.k1, kernel.k1.k2, kernel.k2
        X, y = self.X_train_ / shape.length_scale, self.y_train_
        K, C = _kernel_and_slope(X, isinstance(shape, Matern))
        s, t, n = signal.constant_value, noise.noise_level, len(y)
        A = s * K
        A.flat[:: n + 1] += t
        lower, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
        if info:
            return -np.inf, np.zeros_like(theta)
        half = lapack.dpotrs(lower, y, lower=1)[0]
        value = -0.5 * y @ half - np.log(lower.diagonal()).sum() - 0.5 * n * np.log(2.0 * np.pi)
        # Its lower triangle, zero above; by columns, as are A and C transposed.
        inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
        of_noise = 0.5 * t * (half @ half - inverse.diagonal().sum())
        of_signal = 0.5 * (half @ y - n) - of_noise
        parts = [] if signal.hyperparameter_constant_value.fixed else [[of_signal]]
        if not shape.hyperparameter_length_scale.fixed:
            inverse *= C.T
            sums = inverse.sum(axis=0) + inverse.sum(axis=1)
            of_inverse = sums @ (X * X) - 2.0 * np.sum(X * (inverse @ X), axis=0)
            weighted = half[:, None] * X
            of_outputs = (half * (C @ half)) @ (X * X) - np.sum(weighted * (C @ weighted), axis=0)
            parts.append(s * (of_outputs - of_inverse))
        if not noise.hyperparameter_noise_level.fixed:
            parts.append([of_noise])
        return value, np.concatenate(parts)


def _kernel_and_slope(X: np.ndarray, matern: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return k of rows in units of their lengths, and c: ∂k/∂log ℓ_j = c (a - b)_j²."""
    squares = cdist(X, X, "sqeuclidean")
    if not matern:
        squares *= -0.5
        K = np.exp(squares, out=squares)
        return K, K
    r = np.sqrt(3.0 * squares)
    decay = np.exp(-r)
    return (1.0 + r) * decay, 3.0 * decay
