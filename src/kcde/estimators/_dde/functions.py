"""Of doubly dual embedding on numpy: f, the base densities p_0, the likelihood of held-out rows."""

from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np

from kcde.arrays import row_blocks
from kcde.kernels import GaussianKernel
from kcde.normalisers import GaussianProposal, logsumexp
from kcde.panels import panel_nodes
from kcde.seeding import rng_of

POINTS, FEATURES = "points", "features"
"""Representations of f: kernels at the training rows, random features."""

KERNEL_REACH = 8.0
"""Bandwidths: the kernel is below 1e-13 there."""

DRAWS, NODES = 4000, 1000
"""Of the normaliser of held-out rows: draws of p_0, and about the nodes of a quadrature for
bandwidths of a tenth of the spread."""


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

    The ends are of shape (d_y,), in the units of y.
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


@dataclass(frozen=True)
class KernelSum:
    """f(x, y) = Σ_b a_b k_X(X_b, x) k_Y(Y_b, y), Gaussian kernels.

    X, Y of shapes (m, d_x), (m, d_y), weights a (m,), bandwidths (d_x,), (d_y,).
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

    ω, υ are the frequencies, shapes (r, d_x), (r, d_y), φ the phases and b the weights, shape (r,).
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


class HeldOut:
    """Held-out rows, with everything that does not change while f is trained.

    Z is by Gauss-Legendre quadrature where d_y = 1, by 4000 fixed draws of p_0 otherwise. Building
    it costs O(m (h + q)) for m basis functions, h rows and q nodes; a likelihood O(h m q).

    `potential` has the basis functions, all with weight 1, and X, Y are the rows, shapes (h, d_x),
    (h, d_y). The support is lower end, upper end and panel width where d_y = 1, outside of which f
    vanishes. p is p_0 exp(f / density_weight) / Z.
    """

    def __init__(self, potential, base, X, Y, support, density_weight: float):
        self._weight = density_weight
        self._kernel = potential.kernel_x(X)
        self._pairs = self._kernel * potential.potential(Y).T
        self._log_base = base.log_density(Y)
        self._outside = 0.0
        if support is None:
            nodes = base.sample(DRAWS, rng_of("held-out", DRAWS))
            self._log_weights = np.full(DRAWS, -np.log(DRAWS))
        else:
            lower, upper, width = support
            nodes, weights = panel_nodes(lower, upper, int(np.ceil((upper - lower) / width)))
            nodes = nodes[:, None]
            self._log_weights = np.log(weights) + base.log_density(nodes)
            self._outside = base.mass_outside(lower, upper)
        self._at_nodes = potential.potential(nodes)

    def loss(self, weights: np.ndarray) -> float:
        """Return the mean negative log-likelihood, nats, for weights (m,) of the basis."""
        each = np.tile(weights, self._kernel.shape[1] // len(weights)) / self._weight
        log_f = (self._kernel * each) @ self._at_nodes + self._log_weights
        log_z = logsumexp(log_f, axis=1)
        if self._outside > 0.0:
            log_z = np.logaddexp(log_z, np.log(self._outside))
        return float(np.mean(log_z - self._pairs @ each - self._log_base))
