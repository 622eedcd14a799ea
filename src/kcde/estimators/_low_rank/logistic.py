"""Newton's method for the regularised logistic loss in a low-rank basis (jdl, appendix B)."""

from typing import NamedTuple

from kcde.arrays import array_namespace, row_blocks
from kcde.estimators._low_rank.basis import KernelBasis
from kcde.linalg import solve_positive_definite

_STEPS = 100
_TOLERANCE = 1e-10
# What rounding may leave where λ is so small that the loss hardly curves.
_ROUNDING = 1e-8


class NewtonSolution(NamedTuple):
    """Coefficients (m,), loss, size of the gradient against that at zero, steps."""

    coefficients: object
    objective: float
    residual: float
    iterations: int


class LogisticLoss:
    """Σ_i log(1 + exp(f_i)) - y_i f_i + λ|c|² with f = L c, with its derivatives.

    Parameters
    ----------
    basis
        Basis of the training rows.
    target
        y, zeros and ones, shape (n,).
    regularization
        λ.
    """

    def __init__(self, basis: KernelBasis, target, regularization: float):
        self.basis, self.target, self.regularization = basis, target, regularization
        self.xp = array_namespace(target)

    def log_odds(self, c):
        """Return f = L c, shape (n,); n m multiplications."""
        return self.xp.concat([self.basis.coordinates(rows) @ c for rows in self.basis.blocks()])

    def value(self, c, f) -> float:
        """Return the loss at c, whose log odds are f."""
        losses = self.xp.logaddexp(self.xp.zeros_like(f), f) - self.target * f
        return float(self.xp.sum(losses)) + self.regularization * float(c @ c)

    def gradient(self, c, f):
        """Return Lᵀ(σ(f) - y) + 2λc, shape (m,)."""
        error = 0.5 * (1.0 + self.xp.tanh(0.5 * f)) - self.target
        gradient = 2.0 * self.regularization * c
        for rows in self.basis.blocks():
            gradient = gradient + error[rows] @ self.basis.coordinates(rows)
        return gradient

    def hessian(self, f):
        """Return Lᵀ diag(σ(1 - σ)) L, shape (m, m), without 2λ; n m² multiplications."""
        xp, m = self.xp, self.basis.rank
        # Of a matrix and itself numpy computes half the product.
        root = 0.5 * xp.sqrt(xp.clip(1.0 - xp.tanh(0.5 * f) ** 2, min=0.0))
        hessian = xp.zeros((m, m), dtype=f.dtype)
        for rows in row_blocks(f.shape[0], m, like=f):
            weighted = root[rows][:, None] * self.basis.coordinates(rows)
            hessian += weighted.T @ weighted
        return hessian


def newton(loss: LogisticLoss, start) -> NewtonSolution:
    """Minimise by Newton steps, halved until the loss falls enough; it is strongly convex.

    Parameters
    ----------
    loss
        Loss to minimise.
    start
        Coefficients, shape (m,).

    Raises
    ------
    FloatingPointError
        If the gradient is still not small after 100 steps; names status and residual.
    """
    xp, zero = loss.xp, loss.xp.zeros_like(start)
    nothing = xp.zeros_like(loss.target)
    scale = _norm(loss.gradient(zero, nothing), xp)
    c, f = start, loss.log_odds(start)
    value, gradient = loss.value(c, f), loss.gradient(start, f)
    residual = float("inf")
    for iteration in range(_STEPS):
        before, residual = residual, _norm(gradient, xp) / scale if scale > 0.0 else 0.0
        if residual <= _TOLERANCE or (residual <= _ROUNDING and residual > 0.5 * before):
            return NewtonSolution(c, value, residual, iteration)
        step = -solve_positive_definite(
            loss.hessian(f), gradient, shift=2.0 * loss.regularization
        ).x
        promised = float(gradient @ step)
        direction = loss.log_odds(step)
        for halvings in range(40):
            size = 0.5**halvings
            trial = loss.value(c + size * step, f + size * direction)
            # The last steps change the loss by less than its rounding.
            if trial <= value + 1e-4 * size * promised + 1e-13 * abs(value):
                break
        c, f, value = c + size * step, f + size * direction, trial
        gradient = loss.gradient(c, f)
    raise FloatingPointError(
        f"Newton's method stopped early: status iteration limit, residual {residual:.3g} after "
        f"{_STEPS} steps; raise the regularization"
    )


def _norm(vector, xp) -> float:
    return float(xp.linalg.vector_norm(vector))
