"""The penalised negative log-likelihood of p(y|x) = q_0(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x)."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, block_size, to_numpy
from kcde.estimators._likelihood.features import OutputGrid

_LEAST = 1e-20
"""Z as a share of the last one, below which, and above whose inverse, it may leave float32."""


class Partial(NamedTuple):
    """Sums over some rows, for each of K parameters: those of shards add up to those of all."""

    log_z: np.ndarray
    moment: np.ndarray

    def plus(self, other: "Partial") -> "Partial":
        """Return the sums over the rows of both."""
        return Partial(self.log_z + other.log_z, self.moment + other.moment)


def partial(phi, theta: np.ndarray, grid: OutputGrid) -> Partial:
    """Return the sums over rows of the normalisers and of their gradients.

    O(n K (r_x r_y + r_y q)) time, in the type of `phi`; log Z is summed in float64.
    """
    return Sums([phi] * len(theta), grid)(theta)


class Sums:
    """`partial` at one Θ after another, where each k has rows of its own.

    Exponentials are relative to the normalisers at the last Θ, so that no pass looks for their
    largest, unless Θ has moved so far that they would leave the range of the type.
    """

    def __init__(self, phis: Sequence, grid: OutputGrid):
        xp = array_namespace(phis[0])
        self._phis, self._grid = phis, grid
        one = xp.ones((grid.size, 1), dtype=grid.features.dtype)
        self._psi_and_one = xp.concat([grid.features, one], axis=1)
        self._exponents = xp.concat([grid.features.T, grid.log_weights[None, :], one.T])
        ends = np.cumsum([0, *(phi.shape[0] for phi in phis)]).tolist()
        self._parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self._log_z: dict[int, object] = {}

    def __call__(self, theta: np.ndarray) -> Partial:
        """Return the sums at Θ, shape (K, r_x, r_y)."""
        xp, phis = array_namespace(self._phis[0]), self._phis
        own = xp.asarray(theta, dtype=phis[0].dtype)
        coefficients = xp.concat([phi @ own[k, ...] for k, phi in enumerate(phis)])
        blocks = blocks_of(coefficients, self._grid.size)
        found = [self._of_pairs(coefficients[rows, :], i) for i, rows in enumerate(blocks)]
        log_z, expected = map(xp.concat, zip(*found, strict=True))
        moment = np.empty(theta.shape)
        for k, (phi, part) in enumerate(zip(phis, self._parts, strict=True)):
            moment[k] = to_numpy(phi.T @ expected[part, :])
        starts = [part.start for part in self._parts]
        return Partial(np.add.reduceat(to_numpy(log_z).astype(np.float64), starts), moment)

    def _of_pairs(self, coefficients, number: int) -> tuple:
        """Return log Z, shape (m,), and E ψ(Y), shape (m, r_y), of coefficients (m, r_y)."""
        xp, last = array_namespace(coefficients), self._log_z.get(number)
        sums = None
        if last is not None:
            one = xp.ones((coefficients.shape[0], 1), dtype=coefficients.dtype)
            T = xp.concat([coefficients, one, -last], axis=1) @ self._exponents
            with np.errstate(over="ignore", invalid="ignore"):
                sums = _exp(T) @ self._psi_and_one
            total = sums[:, -1]
            if not bool((xp.min(total) > _LEAST) & (xp.max(total) < 1.0 / _LEAST)):
                sums = None
        if sums is None:
            T, last = _exponentials(coefficients, self._grid)
            sums = T @ self._psi_and_one
        log_z = last + xp.log(sums[:, -1:])
        self._log_z[number] = log_z
        return log_z[:, 0], sums[:, :-1] / sums[:, -1:]


def log_normalisers(phi, theta: np.ndarray, grid: OutputGrid):
    """Return log Z_k(x_i), shape (n, K); see `partial`."""
    xp = array_namespace(phi)
    coefficients = phi @ _flat(theta, phi)
    found = log_normalisers_of(xp.reshape(coefficients, (-1, theta.shape[2])), grid)
    return xp.reshape(found, (-1, len(theta)))


def log_normalisers_of(coefficients, grid: OutputGrid):
    """Return log Z, shape (n,), of φᵀΘ, shape (n, r_y), of the type of the grid."""
    xp, parts = array_namespace(coefficients), []
    for rows in blocks_of(coefficients, grid.size):
        T, largest = _exponentials(coefficients[rows, :], grid)
        parts.append((largest + xp.log(xp.sum(T, axis=1, keepdims=True)))[:, 0])
    return xp.concat(parts)


class Spread(NamedTuple):
    """How some densities spread over y."""

    covariance: np.ndarray
    largest: np.ndarray


def spread(phi, theta: np.ndarray, grid: OutputGrid) -> Spread:
    """Return the spread over rows and k; see `partial`."""
    xp = array_namespace(phi)
    flat, count = _flat(theta, phi), len(theta)
    share, outer, most = 0.0, 0.0, 0.0
    for rows in blocks_of(phi, count * grid.size):
        T, _ = _exponentials(xp.reshape(phi[rows, :] @ flat, (-1, theta.shape[2])), grid)
        T /= xp.sum(T, axis=1, keepdims=True)
        means = to_numpy(T @ grid.features).astype(np.float64)
        outer = outer + means.T @ means
        share = share + to_numpy(xp.sum(T, axis=0)).astype(np.float64)
        most = np.maximum(most, to_numpy(xp.max(T, axis=0)))
    psi = to_numpy(grid.features).astype(np.float64)
    return Spread((psi.T @ (share[:, None] * psi) - outer) / share.sum(), most)


def _exponentials(coefficients, grid: OutputGrid) -> tuple:
    """Return exp(T - max T) of T plus log weights, (n, q), and max T, (n, 1), for (n, r_y)."""
    xp = array_namespace(coefficients)
    T = coefficients @ grid.features.T
    T += grid.log_weights
    largest = xp.max(T, axis=1, keepdims=True)
    T -= largest
    return _exp(T), largest


def _exp(T):
    return np.exp(T, out=T) if isinstance(T, np.ndarray) else array_namespace(T).exp(T)


def blocks_of(phi, row_size: int) -> list[slice]:
    """Return slices of rows for matrices of a row of `row_size` numbers."""
    size = max(16, 2 * block_size(cached=True, like=phi) // max(1, row_size))
    n = phi.shape[0]
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _flat(theta: np.ndarray, phi):
    """Return Θ_k side by side, shape (r_x, K r_y), in the namespace and type of φ."""
    count, r_x, r_y = theta.shape
    flat = np.ascontiguousarray(np.moveaxis(theta, 0, 1).reshape(r_x, count * r_y))
    xp = array_namespace(phi)
    return xp.asarray(flat, dtype=phi.dtype)


class Objective:
    """-mean log p + λ/2 ‖Θ‖², without the terms of log q_0, summed over K independent problems."""

    def __init__(self, partials: Callable[[np.ndarray], Partial], cross, counts):
        self._partials, self.cross = partials, cross
        self._counts = np.asarray(counts, dtype=np.float64)

    def __call__(self, theta: np.ndarray, regularization: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the values, shape (K,), and gradients, shape (K, r_x, r_y)."""
        sums = self._partials(theta)
        value = sums.log_z / self._counts - np.einsum("kab,kab->k", theta, self.cross)
        value = value + 0.5 * regularization * np.einsum("kab,kab->k", theta, theta)
        gradient = sums.moment / self._counts[:, None, None] - self.cross
        return value, gradient + regularization * theta


_OUTPUT_SHARE = 0.3
"""Cov ψ given x as a share of Cov ψ, for the curvature."""


class Preconditioner(NamedTuple):
    """Spectra of φᵀφ/n and of 0.3 Cov ψ: their Kronecker product is about the Hessian."""

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
    """Minimise from `start` until a step gains less than `tolerance` nats."""
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
