"""KCEF's parameters by the objective of the authors' code: the K-fold score with a penalty."""

from collections.abc import Callable

import numpy as np

from kcde.estimators._kcef.gradient import ITERATIONS

_PENALTY = 0.1
_BOUNDS = (1e-10, 10.0)
_START_REGULARIZATION = 1e-4


class PenalisedScore:
    """The K-fold score plus 0.1 Σ θ² with its gradient, for θ = (1/2σ_x², 1/2σ_y², λ).

    One bandwidth for all x; without x the first of θ is absent. The penalty is in no paper. It
    favours large bandwidths; the score alone may be unbounded below.

    Parameters
    ----------
    score
        The K-fold score, of `gradient_score`.
    dimension
        d_x.
    """

    def __init__(self, score: Callable, dimension: int):
        self._score, self._dimension = score, dimension

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at θ, shape (3,), or (2,) where d_x = 0."""
        value, gradient = self._score(*self.unpack(theta))
        in_log = np.array([-0.5 * gradient[-2], gradient[-1]])
        if self._dimension:
            in_log = np.append(-0.5 * gradient[: self._dimension].sum(), in_log)
        return value + _PENALTY * theta @ theta, in_log / theta + 2.0 * _PENALTY * theta

    def unpack(self, theta: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return σ_x (d_x,), σ_y and λ."""
        sigma = np.sqrt(0.5 / theta[:-1])
        return np.full(self._dimension, sigma[0]), float(sigma[-1]), float(theta[-1])


def minimise_penalised(score: Callable, dimension: int, given):
    """Minimise the penalised score, at most 50 iterations of L-BFGS-B from θ = (1, 1, 1e-4).

    Each θ stays within 1e-10…10. Parameters and returned values are those of
    `gradient.minimise`.
    """
    from scipy.optimize import minimize

    start, box = _start(dimension, given)
    penalised, values = PenalisedScore(score, dimension), []

    def objective(theta: np.ndarray):
        try:
            value, gradient = penalised(theta)
        except np.linalg.LinAlgError:
            return max(values, default=0.0) + 1.0, np.zeros(len(theta))
        values.append(value)
        return value, gradient

    first = objective(start)[0]
    options = {"maxiter": ITERATIONS}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    report = {"score": float(result.fun), "start_score": float(first)}
    report |= {"iterations": int(result.nit), "evaluations": int(result.nfev)}
    return *penalised.unpack(result.x), report


def _start(dimension: int, given):
    sigma_x, sigma_y, regularization = given
    wanted = [(sigma_y, 1.0), (regularization, _START_REGULARIZATION)]
    if dimension:
        wanted = [(sigma_x, 1.0), *wanted]
    start, box = [], []
    for place, (value, default) in enumerate(wanted):
        if value is None:
            start.append(default)
            box.append(_BOUNDS)
            continue
        number = float(np.mean(value))
        start.append(number if place == len(wanted) - 1 else 0.5 / number**2)
        box.append((start[-1], start[-1]))
    return np.array(start), box
