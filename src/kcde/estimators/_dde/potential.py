"""f(x, y) of doubly dual embedding: kernels at points, or random features."""

from dataclasses import dataclass

import numpy as np

from kcde.arrays import row_blocks
from kcde.kernels import GaussianKernel

POINTS, FEATURES, FUNCTIONAL = "points", "features", "functional"
"""Representations of f: kernels at the training rows, random features, functional gradients."""


@dataclass(frozen=True)
class KernelSum:
    """f(x, y) = Σ_b a_b k_X(X_b, x) k_Y(Y_b, y), Gaussian kernels.

    Parameters
    ----------
    X, Y
        Points of the expansion, shapes (m, d_x), (m, d_y).
    weights
        a, shape (m,).
    bandwidth_x, bandwidth_y
        Shapes (d_x,), (d_y,).
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray

    def kernel_x(self, X):
        """Return k_X(X, X_b), shape (n, m)."""
        return GaussianKernel(self.bandwidth_x)(X, self.X)

    def potential(self, Y):
        """Return F (m, q) such that f(x, Y_q) = Σ_b k_X(X_b, x) F_bq, at Y (q, d_y)."""
        return self.weights[:, None] * GaussianKernel(self.bandwidth_y)(self.Y, Y)

    def at_pairs(self, X, Y):
        """Return f at the pairs X (n, d_x), Y (n, d_y), shape (n,)."""
        return _at_pairs(self, X, Y, len(self.weights))


@dataclass(frozen=True)
class FeatureSum:
    """f(x, y) = √(2/r) Σ_j b_j cos(ω_j·x + υ_j·y + φ_j) (dde, appendix B).

    With ω_j ~ N(0, σ_X⁻²), υ_j ~ N(0, σ_Y⁻²) and φ_j uniform, the mean product of two features is
    k_X k_Y (Rahimi and Recht 2008).

    Parameters
    ----------
    frequencies_x, frequencies_y
        ω, υ: shapes (r, d_x), (r, d_y).
    phases
        φ, shape (r,).
    weights
        b, shape (r,).
    """

    frequencies_x: np.ndarray
    frequencies_y: np.ndarray
    phases: np.ndarray
    weights: np.ndarray

    def kernel_x(self, X):
        """Return cos and -sin of ω·x + φ, shape (n, 2r)."""
        angle = X @ self.frequencies_x.T + self.phases
        return np.concatenate([np.cos(angle), -np.sin(angle)], axis=1)

    def potential(self, Y):
        """Return F (2r, q) such that f(x, Y_q) is row x of `kernel_x` times column q of F."""
        angle = self.frequencies_y @ Y.T
        scaled = np.sqrt(2.0 / len(self.phases)) * self.weights[:, None]
        return np.concatenate([scaled * np.cos(angle), scaled * np.sin(angle)])

    def at_pairs(self, X, Y):
        """Return f at the pairs X (n, d_x), Y (n, d_y), shape (n,)."""
        return _at_pairs(self, X, Y, 2 * len(self.phases))


def _at_pairs(potential, X, Y, width: int) -> np.ndarray:
    parts = [
        np.sum(potential.kernel_x(X[rows]).T * potential.potential(Y[rows]), axis=0)
        for rows in row_blocks(len(Y), width)
    ]
    return np.concatenate(parts)
