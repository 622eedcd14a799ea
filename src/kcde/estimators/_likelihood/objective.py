"""The penalised negative log-likelihood of p(y|x) = q_0(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, block_size, to_numpy
from kcde.estimators._likelihood.features import OutputGrid


class Partial(NamedTuple):
    """Sums over some rows, for each of K parameters: those of shards add up to those of all.

    Attributes
    ----------
    log_z
        Σ_i w_ik log Z_k(x_i), shape (K,).
    moment
        Σ_i w_ik φ(x_i) E_k[ψ(Y)|x_i]ᵀ, shape (K, r_x, r_y).
    """

    log_z: np.ndarray
    moment: np.ndarray

    def plus(self, other: "Partial") -> "Partial":
        """Return the sums over the rows of both."""
        return Partial(self.log_z + other.log_z, self.moment + other.moment)


def partial(phi, theta: np.ndarray, grid: OutputGrid, weights=None) -> Partial:
    """Return the sums over rows of the normalisers and of their gradients.

    O(n K (r_x r_y + r_y q)) time, by blocks of rows in the type of `phi`, summed in float64.

    Parameters
    ----------
    phi
        φ, shape (n, r_x).
    theta
        Θ_k, shape (K, r_x, r_y).
    grid
        Nodes of y in the same type.
    weights
        w, shape (n, K), of the same type; None: ones.
    """
    xp = array_namespace(phi)
    count, r_x, r_y = theta.shape
    flat = _flat(theta, phi)
    log_z, moment = np.zeros(count), np.zeros((r_x, count * r_y))
    one = xp.ones((len_of(grid), 1), dtype=grid.features.dtype)
    psi_and_one = xp.concat([grid.features, one], axis=1)
    for rows in blocks_of(phi, count * len_of(grid)):
        block = phi[rows, :]
        T = exponents(block @ flat, grid, count)
        largest = xp.max(T, axis=2, keepdims=True)
        T = xp.exp(T - largest) if not isinstance(T, np.ndarray) else _exp(T, largest)
        sums = xp.reshape(xp.reshape(T, (-1, T.shape[2])) @ psi_and_one, (-1, count, r_y + 1))
        total = sums[:, :, -1]
        values, share = largest[:, :, 0] + xp.log(total), 1.0 / total
        if weights is not None:
            w = weights[rows, :]
            values, share = values * w, w * share
        expected = xp.reshape(sums[:, :, :-1] * share[:, :, None], (len_of(block), -1))
        log_z += to_numpy(xp.sum(xp.astype(values, xp.float64, copy=False), axis=0))
        moment += to_numpy(block.T @ expected)
    return Partial(log_z, np.moveaxis(moment.reshape(r_x, count, r_y), 1, 0))


def log_normalisers(phi, theta: np.ndarray, grid: OutputGrid):
    """Return log Z_k(x_i), shape (n, K); see `partial`."""
    xp = array_namespace(phi)
    flat, parts = _flat(theta, phi), []
    for rows in blocks_of(phi, len(theta) * len_of(grid)):
        T = exponents(phi[rows, :] @ flat, grid, len(theta))
        largest = xp.max(T, axis=2, keepdims=True)
        parts.append(
            (largest + xp.log(xp.sum(xp.exp(T - largest), axis=2, keepdims=True)))[:, :, 0]
        )
    return xp.concat(parts)


def mean_covariance(phi, theta: np.ndarray, grid: OutputGrid) -> np.ndarray:
    """Return the mean over rows and k of Cov_k[ψ(Y)|x_i], shape (r_y, r_y); see `partial`."""
    xp = array_namespace(phi)
    flat, count = _flat(theta, phi), len(theta)
    share, outer = 0.0, 0.0
    for rows in blocks_of(phi, count * len_of(grid)):
        T = exponents(phi[rows, :] @ flat, grid, count)
        T = xp.exp(T - xp.max(T, axis=2, keepdims=True))
        p = xp.reshape(T / xp.sum(T, axis=2, keepdims=True), (-1, T.shape[2]))
        means = to_numpy(p @ grid.features).astype(np.float64)
        share, outer = (
            share + to_numpy(xp.sum(p, axis=0)).astype(np.float64),
            outer + means.T @ means,
        )
    psi = to_numpy(grid.features).astype(np.float64)
    return (psi.T @ (share[:, None] * psi) - outer) / share.sum()


def exponents(coefficients, grid: OutputGrid, count: int):
    """Return T plus the log weights at the nodes, shape (n, K, q), for φᵀΘ (n, K r_y)."""
    xp = array_namespace(coefficients)
    rows = xp.reshape(coefficients, (-1, grid.features.shape[1]))
    T = rows @ grid.features.T
    T += grid.log_weights
    return xp.reshape(T, (-1, count, T.shape[1]))


def blocks_of(phi, row_size: int) -> list[slice]:
    """Return slices of rows for matrices of a row of `row_size` numbers."""
    size, n = max(16, 2 * block_size(like=phi) // max(1, row_size)), phi.shape[0]
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


def _exp(T: np.ndarray, largest: np.ndarray) -> np.ndarray:
    T -= largest
    return np.exp(T, out=T)


class Objective:
    """-mean log p + λ/2 ‖Θ‖², without the terms of log q_0, summed over K independent problems.

    Parameters
    ----------
    partials
        Maps Θ (K, r_x, r_y) to the sums of all rows.
    cross
        (1/n_k) Σ_i w_ik φ(x_i) ψ(y_i)ᵀ, shape (K, r_x, r_y).
    counts
        n_k = Σ_i w_ik, shape (K,).
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
