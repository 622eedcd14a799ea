"""KCEF's bandwidths and λ by L-BFGS-B on the K-fold score, with its analytic gradient (d_y = 1).

The paper tunes "by gradient descent on the cross validated score" (kcef, section 4).
"""

from collections.abc import Callable, Sequence

import numpy as np

from kcde.estimators._kcef.blocks import BlockedHeldOutScore
from kcde.estimators._kcef.score import HeldOutScore

BOUNDS_BANDWIDTH = (0.05, 50.0)
BOUNDS_REGULARIZATION = (1e-8, 10.0)
START_REGULARIZATION = 1e-3
ITERATIONS = 50
_WHOLE = 1 << 22  # entries of a matrix, below which a dozen matrices fit easily


def gradient_score(X, Y, folds: Sequence[np.ndarray], base_std: float) -> Callable:
    """Return the K-fold score with its gradient: on whole matrices, or by blocks of many rows.

    Parameters and errors are those of `HeldOutScore` and `BlockedHeldOutScore`.
    """
    kind = HeldOutScore if Y.shape[0] ** 2 <= _WHOLE else BlockedHeldOutScore
    return kind(X, Y, folds, base_std)


def minimise(score: Callable, dimension: int, given, isotropic: bool):
    """Minimise the K-fold score over what is not given.

    Starts at σ_x = √d_x, σ_y = 1, λ = 1e-3; at most 50 iterations of L-BFGS-B within 0.05…50 for
    bandwidths and 1e-8…10 for λ. A point where a system is singular counts as the worst seen.

    Parameters
    ----------
    score
        Function to minimise, from `gradient_score`.
    dimension
        d_x.
    given
        `Hyperparameters`; None is chosen.
    isotropic
        Whether all x share one bandwidth.

    Returns
    -------
    bandwidth_x : numpy.ndarray
        Shape (d_x,).
    bandwidth_y, regularization : float
    cv_results : dict
        "score" at the end, "start_score", "iterations", "evaluations".
    """
    from scipy.optimize import minimize

    start, free, limits = _start(dimension, given)
    groups = groups_of(dimension, free, isotropic)
    values = []

    def unpack(z: np.ndarray) -> np.ndarray:
        return start + groups @ z

    def objective(z: np.ndarray):
        theta = np.exp(unpack(z))
        try:
            value, gradient = score(theta[:dimension], theta[-2], theta[-1])
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(z))
        values.append(value)
        return value, groups.T @ gradient

    first = objective(np.zeros(groups.shape[1]))[0]
    box = [limits[np.flatnonzero(column)[0]] for column in groups.T]
    result = minimize(
        objective,
        np.zeros(groups.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"maxiter": ITERATIONS},
    )
    theta = np.exp(unpack(result.x))
    report = {"score": float(result.fun), "start_score": float(first)}
    report |= {"iterations": int(result.nit), "evaluations": int(result.nfev)}
    return theta[:dimension], float(theta[-2]), float(theta[-1]), report


def _start(dimension: int, given):
    """Return log starting values, which of them are free, and log bounds relative to them."""
    sigma_x, sigma_y, regularization = given
    root = np.sqrt(max(dimension, 1))
    x = np.broadcast_to(root if sigma_x is None else sigma_x, (dimension,))
    y = np.ravel(1.0 if sigma_y is None else sigma_y)[0]
    start = np.array([*x, y, START_REGULARIZATION if regularization is None else regularization])
    free = np.array([sigma_x is None] * dimension + [sigma_y is None, regularization is None])
    box = [BOUNDS_BANDWIDTH] * (dimension + 1) + [BOUNDS_REGULARIZATION]
    return (
        np.log(start),
        free,
        [tuple(np.log(np.array(b) / s)) for b, s in zip(box, start, strict=True)],
    )


def groups_of(dimension: int, free: np.ndarray, isotropic: bool) -> np.ndarray:
    """Return the 0-1 matrix that maps optimised numbers to those of each x, of y, and of λ.

    Parameters
    ----------
    dimension
        d_x.
    free
        Shape (d_x + 2,): which are optimised.
    isotropic
        Whether one number stands for all x.
    """
    columns = np.eye(dimension + 2)
    if isotropic and dimension:
        columns = np.column_stack([columns[:, :dimension].sum(axis=1), columns[:, dimension:]])
    return columns[:, (columns * free[:, None]).any(axis=0)]
