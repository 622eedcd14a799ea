"""Hyper-parameters of a Gaussian process by marginal likelihood, with scikit-learn."""

import logging
import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from kcde.memory import require_memory

log = logging.getLogger(__name__)

# In standard deviations of each column: start, smallest, largest.
_LENGTHS = (1.0, 1e-2, 1e3)
_SIGNAL = (1.0, 1e-2, 1e2)
_NOISE = (0.3, 1e-3, 1e1)
_ITERATIONS = 100
_GAIN = 1e-7
_FAR = 1e3  # standard deviations of a mean from 0, from which a column is centred
_FEWER = "let fewer rows take part in it (tuning_rows), or give all hyper-parameters"


class Hyperparameters(NamedTuple):
    """σ, shape (d_x,), s and τ; those that are None are to be chosen."""

    bandwidth: np.ndarray | None
    signal_std: float | None
    noise_std: float | None


def maximise_marginal_likelihood(
    X: np.ndarray, y: np.ndarray, given: Hyperparameters, kernel: str = "gaussian"
) -> tuple[Hyperparameters, list[str]]:
    """Choose what is not given; O(n³) time and 6 n² numbers an iteration.

    One run of L-BFGS in the logarithms, from lengths of √d_x, a signal of 1 and a noise of 0.3
    standard deviations of the column, within factors of 100 to 1000 of it.

    Parameters
    ----------
    X
        Shape (n, d_x).
    y
        Outputs of mean zero, shape (n,).
    given
        Values that are given.
    kernel
        "gaussian" or "matern".

    Returns
    -------
    hyper-parameters : none of them None
    messages : of scikit-learn and of L-BFGS, where the optimum is at a bound or was not reached
    """
    # The Matérn kernel and its slope, which are formed of three more, and what LAPACK works in.
    require_memory(X, "the marginal likelihood", len(X), lambda n: 6 * n * n, remedy=_FEWER)
    scale_x, scale_y = _scale(X), _scale(y[:, None])[0]
    model = _regressor(given, scale_x, scale_y, kernel)
    # Without x all points coincide; the kernel is then the same constant for every length.
    points = _near_zero(X, scale_x) / scale_x if X.shape[1] else np.zeros((len(X), 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(points, y / scale_y)
    messages = [" ".join(str(warning.message).split()) for warning in caught]
    for message in messages:
        log.info("marginal likelihood on %d rows: %s", len(y), message)
    product, noise = model.kernel_.k1, model.kernel_.k2
    lengths = np.broadcast_to(product.k2.length_scale, points.shape[1])[: X.shape[1]]
    return _completed(
        given,
        lengths * scale_x,
        scale_y * np.sqrt(product.k1.constant_value),
        scale_y * np.sqrt(noise.noise_level),
    ), messages


def _regressor(given: Hyperparameters, scale_x: np.ndarray, scale_y: float, kernel: str):
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    from kcde.estimators._gp.marginal_likelihood import Regressor

    dimension = max(1, len(scale_x))
    if given.bandwidth is None or not len(scale_x):
        start, lowest, highest = np.sqrt(dimension) * np.array(_LENGTHS)
        lengths = np.full(dimension, start), (lowest, highest)
    else:
        lengths = given.bandwidth / scale_x, "fixed"
    if not len(scale_x):
        lengths = np.ones(1), "fixed"
    signal = _variance(given.signal_std, scale_y, _SIGNAL)
    noise = _variance(given.noise_std, scale_y, _NOISE)
    shape = Matern(*lengths, nu=1.5) if kernel == "matern" else RBF(*lengths)
    prior = ConstantKernel(*signal) * shape + WhiteKernel(*noise)
    return Regressor(prior, alpha=0.0, optimizer=_lbfgs)


def _lbfgs(objective, start, bounds):
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": _ITERATIONS, "ftol": _GAIN},
    )
    if not found.success:
        warnings.warn(f"L-BFGS: {found.message}", ConvergenceWarning, stacklevel=2)
    return found.x, found.fun


def _variance(given: float | None, scale: float, start_and_bounds: tuple) -> tuple:
    if given is not None:
        return (given / scale) ** 2, "fixed"
    start, lowest, highest = np.square(start_and_bounds)
    return start, (lowest, highest)


def _near_zero(X: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return X with columns far from 0 centred: there the gradient, of squares, would cancel."""
    mean = X.mean(axis=0)
    return X - np.where(np.abs(mean) > _FAR * scale, mean, 0.0)


def _scale(values: np.ndarray) -> np.ndarray:
    """Return standard deviations, 1 where a column is constant: by rounding, not always 0."""
    std = values.std(axis=0)
    return np.where((np.ptp(values, axis=0) > 0) & (std > 0), std, 1.0)


def _completed(given: Hyperparameters, *found) -> Hyperparameters:
    pairs = zip(given, found, strict=True)
    return Hyperparameters(*(new if old is None else old for old, new in pairs))
