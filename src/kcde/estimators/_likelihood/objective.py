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
    """Sums over some rows, for each of K parameters: those of shards add up to those of all.

    Attributes
    ----------
    log_z
        Σ_i log Z_k(x_i), shape (K,).
    moment
        Σ_i φ(x_i) E_k[ψ(Y)|x_i]ᵀ, shape (K, r_x, r_y).
    """

    log_z: np.ndarray
    moment: np.ndarray

    def plus(self, other: "Partial") -> "Partial":
        """Return the sums over the rows of both."""
        return Partial(self.log_z + other.log_z, self.moment + other.moment)


def partial(phi, theta: np.ndarray, grid: OutputGrid) -> Partial:
    """Return the sums over rows of the normalisers and of their gradients.

    O(n K (r_x r_y + r_y q)) time, in the type of `phi`; log Z is summed in float64.

    Parameters
    ----------
    phi
        φ, shape (n, r_x).
    theta
        Θ_k, shape (K, r_x, r_y).
    grid
        Nodes of y in the same type.
    """
    return Sums([phi] * len(theta), grid)(theta)


class Sums:
    """`partial` at one Θ after another, where each k has rows of its own.

    Exponentials are relative to the normalisers at the last Θ, so that no pass looks for their
    largest, unless Θ has moved so far that they would leave the range of the type.

    Parameters
    ----------
    phis
        φ of the rows of each k, shapes (n_k, r_x).
    grid
        Nodes of y in the same type.
    """

    def __init__(self, phis: Sequence, grid: OutputGrid):
        xp = array_namespace(phis[0])
        self._phis, self._grid = phis, grid
        one = xp.ones((len_of(grid), 1), dtype=grid.features.dtype)
        self._psi_and_one = xp.concat([grid.features, one], axis=1)
        self._exponents = xp.concat([grid.features.T, grid.log_weights[None, :], one.T])
        ends = np.cumsum([0, *map(len_of, phis)]).tolist()
        self._parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self._log_z: dict[int, object] = {}

    def __call__(self, theta: np.ndarray) -> Partial:
        """Return the sums at Θ, shape (K, r_x, r_y)."""
        xp, phis = array_namespace(self._phis[0]), self._phis
        own = xp.asarray(theta, dtype=phis[0].dtype)
        coefficients = xp.concat([phi @ own[k, ...] for k, phi in enumerate(phis)])
        blocks = blocks_of(coefficients, len_of(self._grid))
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
    for rows in blocks_of(coefficients, len_of(grid)):
        T, largest = _exponentials(coefficients[rows, :], grid)
        parts.append((largest + xp.log(xp.sum(T, axis=1, keepdims=True)))[:, 0])
    return xp.concat(parts)


class Spread(NamedTuple):
    """How some densities spread over y.

    Attributes
    ----------
    covariance
        The mean over rows and k of Cov_k[ψ(Y)|x_i], shape (r_y, r_y).
    largest
        The largest share of a density that each node has, shape (q,).
    """

    covariance: np.ndarray
    largest: np.ndarray


def spread(phi, theta: np.ndarray, grid: OutputGrid) -> Spread:
    """Return the spread over rows and k; see `partial`."""
    xp = array_namespace(phi)
    flat, count = _flat(theta, phi), len(theta)
    share, outer, most = 0.0, 0.0, 0.0
    for rows in blocks_of(phi, count * len_of(grid)):
        T, _ = _exponentials(xp.reshape(phi[rows, :] @ flat, (-1, theta.shape[2])), grid)
        T /= xp.sum(T, axis=1, keepdims=True)
        means = to_numpy(T @ grid.features).astype(np.float64)
        outer = outer + means.T @ means
        share = share + to_numpy(xp.sum(T, axis=0)).astype(np.float64)
        most = np.maximum(most, to_numpy(xp.max(T, axis=0)))
    psi = to_numpy(grid.features).astype(np.float64)
    return Spread((psi.T @ (share[:, None] * psi) - outer) / share.sum(), most)


def mean_covariance(phi, theta: np.ndarray, grid: OutputGrid) -> np.ndarray:
    """Return the mean over rows and k of Cov_k[ψ(Y)|x_i], shape (r_y, r_y); see `partial`."""
    return spread(phi, theta, grid).covariance


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


def len_of(array_or_grid) -> int:
    """Return the number of rows, or of nodes."""
    if isinstance(array_or_grid, OutputGrid):
        return array_or_grid.features.shape[0]
    return array_or_grid.shape[0]


def _flat(theta: np.ndarray, phi):
    """Return Θ_k side by side, shape (r_x, K r_y), in the namespace and type of φ."""
    count, r_x, r_y = theta.shape
    flat = np.ascontiguousarray(np.moveaxis(theta, 0, 1).reshape(r_x, count * r_y))
    xp = array_namespace(phi)
    return xp.asarray(flat, dtype=phi.dtype)


class Objective:
    """-mean log p + λ/2 ‖Θ‖², without the terms of log q_0, summed over K independent problems.

    Parameters
    ----------
    partials
        Maps Θ (K, r_x, r_y) to the sums of all rows.
    cross
        (1/n_k) Σ_i φ(x_i) ψ(y_i)ᵀ over the n_k rows of k, shape (K, r_x, r_y).
    counts
        n_k, shape (K,).
    """

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
