"""Base densities p_0 of doubly dual embedding."""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from kcde.normalisers import GaussianProposal


@dataclass(frozen=True)
class GaussianBase(GaussianProposal):
    """N(mean, diag(std²))."""

    def mass_outside(self, lower: float, upper: float) -> float:
        """Return the mass outside [lower, upper], for d_y = 1."""
        mean, scale = float(self.mean[0]), float(self.std[0]) * sqrt(2.0)
        return 0.5 * (erfc((upper - mean) / scale) + erfc((mean - lower) / scale))


@dataclass(frozen=True)
class UniformBase:
    """Uniform on a box.

    Parameters
    ----------
    lower, upper
        Shapes (d_y,), in the units of y.
    """

    lower: np.ndarray
    upper: np.ndarray

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n draws, shape (n, d_y)."""
        return rng.uniform(self.lower, self.upper, (n, len(self.lower)))

    def log_density(self, Y: np.ndarray) -> np.ndarray:
        """Return the log density at Y (n, d_y), shape (n,): -inf outside the box."""
        inside = np.all((self.lower <= Y) & (self.upper >= Y), axis=1)
        return np.where(inside, -np.sum(np.log(self.upper - self.lower)), -np.inf)

    def mass_outside(self, lower: float, upper: float) -> float:
        """Return the mass outside [lower, upper], for d_y = 1."""
        inside = min(upper, float(self.upper[0])) - max(lower, float(self.lower[0]))
        return 1.0 - max(0.0, inside) / float(self.upper[0] - self.lower[0])
