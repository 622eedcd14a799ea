"""L-BFGS in coordinates in which the likelihood curves alike in every direction."""

from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, to_numpy

_OUTPUT_SHARE = 0.3
"""Cov ψ given x as a share of Cov ψ, for the curvature."""


class Preconditioner(NamedTuple):
    """Spectra of φᵀφ/n and of 0.3 Cov ψ: their Kronecker product is about the Hessian.

    Attributes
    ----------
    values_x, vectors_x, values_y, vectors_y
        Shapes (r_x,), (r_x, r_x), (r_y,), (r_y, r_y).
    """

    values_x: np.ndarray
    vectors_x: np.ndarray
    values_y: np.ndarray
    vectors_y: np.ndarray

    @classmethod
    def of(cls, second_x: np.ndarray, covariance_y: np.ndarray) -> "Preconditioner":
        """Return that of φᵀφ/n and Cov ψ."""
        values_x, vectors_x = np.linalg.eigh(second_x)
        values_y, vectors_y = np.linalg.eigh(_OUTPUT_SHARE * covariance_y)
        return cls(np.maximum(values_x, 0), vectors_x, np.maximum(values_y, 0), vectors_y)

    @classmethod
    def of_rows(cls, phi, psi):
        """Return that of features (n, r_x) and (n, r_y)."""
        xp, n = array_namespace(phi), phi.shape[0]
        centred = psi - xp.mean(psi, axis=0)
        return cls.of(to_numpy(phi.T @ phi) / n, to_numpy(centred.T @ centred) / n)

    def at(self, covariance: np.ndarray) -> "Preconditioner":
        """Return it with the mean of Cov[ψ|x], shape (r_y, r_y), in place of 0.3 Cov ψ."""
        values, vectors = np.linalg.eigh(covariance)
        return self._replace(values_y=np.maximum(values, 0), vectors_y=vectors)

    def scale(self, regularization: float) -> np.ndarray:
        """Return √(e_x e_yᵀ + λ), shape (r_x, r_y)."""
        return np.sqrt(np.outer(self.values_x, self.values_y) + regularization)

    def forward(self, theta: np.ndarray) -> np.ndarray:
        """Return U_xᵀ Θ U_y for Θ (K, r_x, r_y)."""
        return self.vectors_x.T @ theta @ self.vectors_y

    def backward(self, rotated: np.ndarray) -> np.ndarray:
        """Return the Θ that `forward` maps to `rotated`."""
        return self.vectors_x @ rotated @ self.vectors_y.T


class Solution(NamedTuple):
    """A minimiser: Θ (K, r_x, r_y), and iterations."""

    theta: np.ndarray
    iterations: int


def minimise(
    objective, start: np.ndarray, preconditioner, regularization: float, *, iterations, tolerance
) -> Solution:
    """Minimise from `start` until a step gains less than `tolerance` nats.

    Parameters
    ----------
    objective
        `Objective`; K problems are solved as one whose variables are those of all.
    start
        Θ, shape (K, r_x, r_y).
    preconditioner
        `Preconditioner`.
    regularization
        λ.
    iterations
        Most iterations.
    tolerance
        Nats, of the sum over the K problems.
    """
    from scipy.optimize import minimize

    scale = preconditioner.scale(regularization)

    def value_and_gradient(u):
        theta = preconditioner.backward(u.reshape(start.shape) / scale)
        values, gradient = objective(theta, regularization)
        return float(values.sum()), (preconditioner.forward(gradient) / scale).ravel()

    first = (preconditioner.forward(start) * scale).ravel()
    options = {"maxiter": iterations, "maxcor": 15, "ftol": tolerance, "gtol": 1e-9}
    found = minimize(value_and_gradient, first, jac=True, method="L-BFGS-B", options=options)
    theta = preconditioner.backward(found.x.reshape(start.shape) / scale)
    return Solution(theta, int(found.nit))
