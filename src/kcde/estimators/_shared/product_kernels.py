"""Leave-one-out likelihood of a conditional Gaussian product kernel estimate, with its gradient."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from kcde.memory import require_memory
from kcde.normalisers import logsumexp

_GAIN = 1e-7  # of the mean log density, at which the search stops


class Found(NamedTuple):
    """End of a search: bandwidths of x, then y, the log likelihood, and whether it converged."""

    bandwidth: np.ndarray
    score: float
    converged: bool


class LeaveOneOut:
    """L(h) = Σ_i log Σ_{j≠i} K_x K_y - log Σ_{j≠i} K_x - Σ log √2π h_y, of rows of unit scale.

    With D_kij = (z_ik - z_jk)² over all columns z of x and y, and the shares P_ij ∝ K_x K_y and
    Q_ij ∝ K_x of row j at row i, ∂L/∂log h_k = Σ_ij (P_ij - Q_ij) D_kij / h_k² for a column of x,
    and Σ_ij P_ij D_kij / h_k² - n for one of y.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y); n² (d_x + d_y + 6) numbers are held.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray):
        width = X.shape[1] + Y.shape[1] + 6
        remedy = "let fewer rows take part in it (tuning_rows), or give all bandwidths"
        require_memory(X, "a likelihood", len(X), lambda n: n * n * width, remedy=remedy)
        self.n, self.inputs = len(X), X.shape[1]
        columns = np.concatenate([X, Y], axis=1).T
        squares = (columns[:, :, None] - columns[:, None, :]) ** 2
        self._squares = squares.reshape(len(columns), -1)
        self._diagonal = np.arange(self.n) * (self.n + 1)

    def __call__(self, log_bandwidth: np.ndarray) -> tuple[float, np.ndarray]:
        """Return L and its gradient, at log bandwidths of shape (d_x + d_y,), those of x first."""
        inverse = np.exp(-2.0 * log_bandwidth)
        of_x, of_y = slice(None, self.inputs), slice(self.inputs, None)
        exponent_x = -0.5 * (inverse[of_x] @ self._squares[of_x])
        exponent = exponent_x - 0.5 * (inverse[of_y] @ self._squares[of_y])
        log_x, share_x = self._shares(exponent_x)
        log_xy, share_xy = self._shares(exponent)
        constant = np.sum(log_bandwidth[of_y]) + 0.5 * np.log(2.0 * np.pi) * len(inverse[of_y])
        slope = inverse * (self._squares @ share_xy)
        slope[of_x] -= inverse[of_x] * (self._squares[of_x] @ share_x)
        slope[of_y] -= self.n
        return log_xy - log_x - self.n * constant, slope

    def _shares(self, exponent: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Σ_i log Σ_{j≠i} exp, and the shares of the terms in their sums, flat."""
        exponent[self._diagonal] = -np.inf
        terms = exponent.reshape(self.n, self.n)
        total = logsumexp(terms, axis=1)
        return float(np.sum(total)), np.exp(terms - total[:, None]).ravel()

    def start(
        self,
        at: tuple[float, float],
        fixed: list[np.ndarray | None],
        bounds_x: tuple[float, float],
        bounds_y: tuple[float, float],
    ) -> tuple[np.ndarray, list[tuple[float, float]]]:
        """Return bandwidths (d_x + d_y,) to start at, and the bounds of each.

        Parameters
        ----------
        at
            Bandwidth of all columns of x, and of all of y.
        fixed
            Bandwidths of x and of y that are given, or None.
        bounds_x, bounds_y
            Smallest and largest bandwidth.
        """
        lengths = self.inputs, len(self._squares) - self.inputs
        begin, bounds = [], []
        parts = zip(at, lengths, fixed, (bounds_x, bounds_y), strict=True)
        for value, size, known, ends in parts:
            begin.append(np.full(size, np.clip(value, *ends)) if known is None else known)
            bounds += [ends] * size if known is None else [(h, h) for h in known]
        return np.concatenate(begin), bounds

    def maximise(self, begin: np.ndarray, bounds: list, iterations: int) -> Found:
        """Search for the largest L from bandwidths on, within bounds, by L-BFGS."""

        def loss(log_bandwidth):
            value, slope = self(log_bandwidth)
            return -value / self.n, -slope / self.n

        done = minimize(
            loss,
            np.log(begin),
            jac=True,
            method="L-BFGS-B",
            bounds=np.log(bounds),
            options={"maxiter": iterations, "ftol": _GAIN},
        )
        return Found(np.exp(done.x), -self.n * float(done.fun), bool(done.success))
