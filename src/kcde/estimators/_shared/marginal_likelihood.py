"""Hyper-parameters of a Gaussian process by marginal likelihood.

The derivatives of both kernels in log ℓ_j are c_ij (a_i - a_j)² for a column a of x, and a sum of
weights m_ij times those is that of products of m with a and a²: no matrix is formed for each
length.
"""

import logging
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

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
    standard deviations of the column, within factors of 100 to 1000 of it. Logged is where the
    optimum is at a bound or was not reached.

    X is of shape (n, d_x), and y of mean zero, shape (n,). Returns hyper-parameters, none of them
    None.
    """
    # The Matérn kernel and its slope, which are formed of three more, and what LAPACK works in.
    require_memory(X, "the marginal likelihood", len(X), lambda n: 6 * n * n, remedy=_FEWER)
    scale_x, scale_y = _scale(X), _scale(y[:, None])[0]
    (n, d), mean = X.shape, X.mean(axis=0)
    # Columns far from 0 are centred: there the gradient, of squares, would cancel.
    points = (X - np.where(np.abs(mean) > _FAR * scale_x, mean, 0.0)) / scale_x
    lengths = np.full(d, np.nan) if given.bandwidth is None else given.bandwidth / scale_x
    signal, noise = (np.nan if std is None else (std / scale_y) ** 2 for std in given[1:])
    values = np.array([signal, *lengths, noise])  # NaN where they are to be chosen
    free, of_lengths = np.isnan(values), np.sqrt(d) * np.array([_LENGTHS] * d).reshape(d, 3)
    start, *ends = np.log(np.vstack([np.square(_SIGNAL), of_lengths, np.square(_NOISE)])[free].T)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        values[free] = np.exp(theta)
        value, gradient = log_marginal_likelihood(points, y / scale_y, values, kernel)
        return -value, -gradient[free]

    how = {"bounds": np.transpose(ends), "options": {"maxiter": _ITERATIONS, "ftol": _GAIN}}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", **how)
    if not found.success:
        log.info("marginal likelihood on %d rows: L-BFGS: %s", n, found.message)
    if np.isclose(ends, found.x).any():
        log.info("marginal likelihood on %d rows: a hyper-parameter is at its bound", n)
    values[free] = np.exp(found.x)
    signal, noise = scale_y * np.sqrt(values[[0, -1]])
    chosen = values[1:-1] * scale_x, signal, noise
    return Hyperparameters(*(b if a is None else a for a, b in zip(given, chosen, strict=True)))


def _scale(values: np.ndarray) -> np.ndarray:
    """Return standard deviations, 1 where a column is constant: by rounding, not always 0."""
    std = values.std(axis=0)
    return np.where((np.ptp(values, axis=0) > 0) & (std > 0), std, 1.0)


def log_marginal_likelihood(
    X: np.ndarray, y: np.ndarray, values: np.ndarray, kernel: str
) -> tuple[float, np.ndarray]:
    """Return it and its gradient in the logarithms of s², of each length and of τ².

    With the kernel s² k + τ² for the Gaussian k or that of Matérn of smoothness 3/2 (Rasmussen and
    Williams 2006, equations 5.8 and 5.9); of this y (n,). O(n³) time for any number of lengths, six
    matrices (n, n); -inf where rounding leaves no factor.
    """
    s, lengths, t, n = values[0], values[1:-1], values[-1], len(y)
    X = X / lengths
    K, C = _kernel_and_slope(X, kernel == "matern")
    A = s * K
    A.flat[:: n + 1] += t
    lower, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    if info:
        return -np.inf, np.zeros_like(values)
    half = lapack.dpotrs(lower, y, lower=1)[0]
    value = -0.5 * y @ half - np.log(lower.diagonal()).sum() - 0.5 * n * np.log(2.0 * np.pi)
    # Its lower triangle, zero above; by columns, as are A and C transposed.
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    of_noise = 0.5 * t * (half @ half - inverse.diagonal().sum())
    of_signal = 0.5 * (half @ y - n) - of_noise
    inverse *= C.T
    sums = inverse.sum(axis=0) + inverse.sum(axis=1)
    of_inverse = sums @ (X * X) - 2.0 * np.sum(X * (inverse @ X), axis=0)
    weighted = half[:, None] * X
    of_outputs = (half * (C @ half)) @ (X * X) - np.sum(weighted * (C @ weighted), axis=0)
    return value, np.array([of_signal, *(s * (of_outputs - of_inverse)), of_noise])


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
