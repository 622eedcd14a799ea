"""KCEF's parameters as the authors' code finds them: L-BFGS-B in a box, stopped early (d_y = 1).

Their code minimises the 10-fold score over θ = (p_x, p_y, λ), p = 1/2σ², from p = 1 and λ = 1e-4,
each within 1e-10…10. It stops where an iteration lowers the objective f by less than 1e-4 max(|f|,
1), or where no element of the projected gradient is above 1e-4: as a rule after some ten
iterations, far from the minimum, which for data recorded with few digits does not exist.
"""

from collections.abc import Callable

import numpy as np

from kcde.estimators._kcef.gradient import ITERATIONS, groups_of

BOX = (1e-10, 10.0)
"""Bounds of every p and of λ, so that σ is at least 0.224."""

START = 1.0
START_REGULARIZATION = 1e-4
OPTIONS = {"maxiter": ITERATIONS, "maxls": 20, "ftol": 1e-4, "gtol": 1e-4}


class BoxedScore:
    """The K-fold score plus c Σ θ² with its gradient, for θ = (1/2σ_x², 1/2σ_y², λ).

    θ has only what is not given. Without x the authors' code keeps a p_x, which the penalty alone
    sees.

    Parameters
    ----------
    score
        The K-fold score, of `gradient_score`.
    dimension
        d_x.
    given
        `Hyperparameters`; None is chosen.
    isotropic
        Whether all x share one bandwidth.
    penalty
        c. The authors' 0.1 is in no paper; it favours large bandwidths.

    Attributes
    ----------
    start
        First θ.
    """

    def __init__(self, score: Callable, dimension: int, given, *, isotropic: bool, penalty: float):
        self._score, self._dimension, self._penalty = score, dimension, penalty
        sigma_x, sigma_y, regularization = given
        free = np.array([sigma_x is None] * dimension + [sigma_y is None, regularization is None])
        p_x, p_y = (0.0 if sigma is None else 0.5 / np.square(sigma) for sigma in given[:2])
        last = 0.0 if regularization is None else regularization
        self._given = np.array([*np.broadcast_to(p_x, (dimension,)), *np.ravel(p_y), last])
        self._groups = groups_of(dimension, free, isotropic)
        self.start = np.full(self._groups.shape[1], START)
        if regularization is None:
            self.start[-1] = START_REGULARIZATION
        if not dimension:
            self._groups = np.column_stack([np.zeros(len(free)), self._groups])
            self.start = np.append(START, self.start)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at θ."""
        value, in_log = self._score(*self.unpack(theta))
        natural = self._natural(theta)
        gradient = np.append(-0.5 * in_log[:-1], in_log[-1]) / natural
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
    """Minimise the K-fold score as the authors' code does.

    A point where a system is singular counts as the worst seen. Parameters are those of
    `BoxedScore`, returned values those of `gradient.minimise`; the scores contain the penalty.
    """
    from scipy.optimize import minimize

    boxed = BoxedScore(score, dimension, given, isotropic=isotropic, penalty=penalty)
    values = []

    def objective(theta: np.ndarray):
        try:
            value, gradient = boxed(theta)
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(theta))
        values.append(value)
        return value, gradient

    result = minimize(
        objective,
        boxed.start,
        jac=True,
        method="L-BFGS-B",
        bounds=[BOX] * len(boxed.start),
        options=OPTIONS,
    )
    report = {"score": float(result.fun), "start_score": float(values[0] if values else result.fun)}
    report |= {"iterations": int(result.nit), "evaluations": int(result.nfev)}
    return *boxed.unpack(result.x), report
