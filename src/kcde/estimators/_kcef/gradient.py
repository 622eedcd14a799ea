"""KCEF's bandwidths and λ by L-BFGS-B on the K-fold score, with its analytic gradient (d_y = 1).

The paper tunes "by gradient descent on the cross validated score" (kcef, section 4): `minimise`.

The authors' code, `minimise_early`, minimises the 10-fold score over θ = (p_x, p_y, λ), p = 1/2σ²,
from p = 1 and λ = 1e-4, each within 1e-10…10. It stops where an iteration lowers the objective f by
less than 1e-4 max(|f|, 1), or where no element of the projected gradient is above 1e-4: as a rule
after some ten iterations, far from the minimum, which for data recorded with few digits does not
exist.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

from kcde.estimators._kcef.score import BlockedHeldOutScore, HeldOutScore

BOUNDS_BANDWIDTH = (0.05, 50.0)
BOUNDS_REGULARIZATION = (1e-8, 10.0)
START_REGULARIZATION = 1e-3
ITERATIONS = 50

BOX = (1e-10, 10.0)
"""Bounds of the authors' code of every p and of λ, so that σ is at least 0.224."""

BOX_START, BOX_START_REGULARIZATION = 1.0, 1e-4
_EARLY = {"maxls": 20, "ftol": 1e-4, "gtol": 1e-4}
_WHOLE = 1 << 22  # entries of a matrix, below which a dozen matrices fit easily


def gradient_score(X, Y, folds: Sequence[np.ndarray], base_std: float) -> Callable:
    """Return the K-fold score with its gradient: on whole matrices, or by blocks of many rows."""
    kind = HeldOutScore if Y.shape[0] ** 2 <= _WHOLE else BlockedHeldOutScore
    return kind(X, Y, folds, base_std)


def minimise(score: Callable, dimension: int, given, isotropic: bool) -> tuple:
    """Return σ_x (d_x,), σ_y, λ and a report of the smallest score, over what is not given.

    Starts at σ_x = √d_x, σ_y = 1, λ = 1e-3; at most 50 iterations of L-BFGS-B within 0.05…50 for
    bandwidths and 1e-8…10 for λ. A point where a system is singular counts as the worst seen.
    """
    sigma_x, sigma_y, regularization = given
    root = np.sqrt(max(dimension, 1))
    x = np.broadcast_to(root if sigma_x is None else sigma_x, (dimension,))
    y = np.ravel(1.0 if sigma_y is None else sigma_y)[0]
    start = np.array([*x, y, START_REGULARIZATION if regularization is None else regularization])
    groups = _groups(dimension, given, isotropic)
    box = [BOUNDS_BANDWIDTH] * (dimension + 1) + [BOUNDS_REGULARIZATION]
    limits = [tuple(np.log(np.array(b) / s)) for b, s in zip(box, start, strict=True)]
    limits = [limits[np.flatnonzero(column)[0]] for column in groups.T]
    start = np.log(start)

    def unpack(z: np.ndarray) -> tuple:
        theta = np.exp(start + groups @ z)
        return theta[:dimension], float(theta[-2]), float(theta[-1])

    def objective(z: np.ndarray):
        value, gradient = score(*unpack(z))
        return value, groups.T @ gradient

    found, report = _search(objective, np.zeros(groups.shape[1]), limits, {})
    return *unpack(found), report


class BoxedScore:
    """The K-fold score plus c Σ θ² with its gradient, for θ = (1/2σ_x², 1/2σ_y², λ).

    θ has only what is not given. Without x the authors' code keeps a p_x, which the penalty alone
    sees. Their c = 0.1 is in no paper; it favours large bandwidths. `start` is the first θ.
    """

    def __init__(self, score: Callable, dimension: int, given, *, isotropic: bool, penalty: float):
        self._score, self._dimension, self._penalty = score, dimension, penalty
        p_x, p_y = (0.0 if sigma is None else 0.5 / np.square(sigma) for sigma in given[:2])
        last = 0.0 if given[2] is None else given[2]
        self._given = np.array([*np.broadcast_to(p_x, (dimension,)), *np.ravel(p_y), last])
        self._groups = _groups(dimension, given, isotropic)
        self.start = np.full(self._groups.shape[1], BOX_START)
        if given[2] is None:
            self.start[-1] = BOX_START_REGULARIZATION
        if not dimension:
            self._groups = np.column_stack([np.zeros(len(self._groups)), self._groups])
            self.start = np.append(BOX_START, self.start)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at θ."""
        value, in_log = self._score(*self.unpack(theta))
        gradient = np.append(-0.5 * in_log[:-1], in_log[-1]) / self._natural(theta)
        penalised = value + self._penalty * theta @ theta
        return penalised, self._groups.T @ gradient + 2.0 * self._penalty * theta

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return σ_x (d_x,), σ_y and λ."""
        natural = self._natural(theta)
        sigma = np.sqrt(0.5 / natural[:-1])
        return sigma[: self._dimension], float(sigma[-1]), float(natural[-1])

    def _natural(self, theta: np.ndarray) -> np.ndarray:
        """Return 1/2σ² of each x, of y, and λ, given or from θ."""
        return self._given + self._groups @ theta


def minimise_early(score: Callable, dimension: int, given, *, isotropic: bool, penalty: float):
    """Minimise as the authors' code does; returns what `minimise` does, scores with the penalty."""
    boxed = BoxedScore(score, dimension, given, isotropic=isotropic, penalty=penalty)
    found, report = _search(boxed, boxed.start, [BOX] * len(boxed.start), _EARLY)
    return *boxed.unpack(found), report


def _search(score: Callable, start: np.ndarray, bounds: list, options: dict) -> tuple:
    """Return the minimiser, and the "score" there, the "start_score" and what the search took."""
    values = []

    def objective(theta: np.ndarray):
        try:
            value, gradient = score(theta)
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(theta))
        values.append(value)
        return value, gradient

    options = {"maxiter": ITERATIONS} | options
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    report = {"score": float(found.fun), "start_score": float(values[0] if values else found.fun)}
    return found.x, report | {"iterations": int(found.nit), "evaluations": int(found.nfev)}


def _groups(dimension: int, given, isotropic: bool) -> np.ndarray:
    """Return the 0-1 matrix that maps optimised numbers to those of each x, of y, and of λ.

    What is given is not optimised; where `isotropic`, one number stands for all x.
    """
    free = np.array([given[0] is None] * dimension + [each is None for each in given[1:]])
    columns = np.eye(dimension + 2)
    if isotropic and dimension:
        columns = np.column_stack([columns[:, :dimension].sum(axis=1), columns[:, dimension:]])
    return columns[:, (columns * free[:, None]).any(axis=0)]
