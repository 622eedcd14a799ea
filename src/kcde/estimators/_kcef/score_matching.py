"""The linear system of Theorem 1 (kcef) and its cross-validated score along a path of λ."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, block_size, row_blocks, take_columns, take_rows, to_numpy
from kcde.kernels import GaussianKernel, KernelDerivatives
from kcde.linalg import factor_positive_definite, symmetric_spectrum
from kcde.memory import require_memory

_BLOCKS_HELD = 12  # where a block of G and M is assembled


class ScoreSystem(NamedTuple):
    """The matrices of kcef, Theorem 1, for k_X(x, x′) k(y, y′), with rows (b, i) flattened."""

    G: object
    M: object
    Q: object
    r: object


def score_system(K, derivatives: KernelDerivatives, r) -> ScoreSystem:
    """Assemble the system from k_X (n, n), the derivatives of k at (Y, Y), and ∂ log q_0 (n, d)."""
    xp = array_namespace(K)
    n, d = r.shape
    blocks = -K[:, :, None, None] * derivatives.second
    G = xp.reshape(xp.permute_dims(blocks, (0, 2, 1, 3)), (n * d, n * d))
    M = K[:, :, None] * derivatives.laplacian_gradient
    M = xp.reshape(xp.permute_dims(M, (0, 2, 1)), (n * d, n))
    return ScoreSystem(G, M, K * derivatives.bilaplacian, xp.reshape(r, (-1,)))


def write_normal_equations(G, X, Y, bandwidth_x: np.ndarray, bandwidth_y: np.ndarray):
    """Write G (n d, n d) on and below its diagonal blocks, and return M 1, shape (n d,).

    By row blocks, without another matrix of that size. k_X k is one Gaussian kernel in (x, y), so
    each block costs one product and one exponential. G is symmetric and M antisymmetric in the
    points: only blocks on and below the diagonal are computed. n²(d_x + d² + 10)/2 multiplications.
    """
    xp = array_namespace(Y)
    n, d = Y.shape
    kernel = GaussianKernel(np.concatenate([bandwidth_x, bandwidth_y]))
    points, precision = xp.concat([X, Y], axis=1), bandwidth_y**-2.0
    M1 = xp.zeros((n, d), dtype=Y.dtype)
    for rows in row_blocks(n, n * d, like=Y):
        start, stop = rows.start, rows.stop
        P = kernel(points[rows, :], points[:stop, :])
        M = xp.empty((stop - start, stop, d), dtype=Y.dtype)
        # A product is worth its while on many rows, passes over numbers on few.
        for part in row_blocks(stop - start, stop * d, cached=True, like=Y):
            first = start + part.start
            difference = Y[first : start + part.stop, None, :] - Y[None, :stop, :]
            M[part, :, :] = _write_rows(G, first, P[part, :], difference, precision)
        M1[rows, :] += xp.sum(M, axis=1)
        M1[:start, :] -= xp.sum(M[:, :start, :], axis=0)
    return xp.reshape(M1, (-1,))


def _write_rows(G, first: int, P, difference, precision: np.ndarray):
    """Write the rows of G of some points, and return theirs of M, shape (points, others, d)."""
    xp = array_namespace(P)
    points, others, d = difference.shape
    inverse = xp.asarray(precision)
    u = difference * inverse
    for i in range(d):
        for j in range(d):
            block = -u[:, :, i] * u[:, :, j] + (float(precision[i]) if i == j else 0.0)
            G[first * d + i : (first + points) * d : d, j : others * d : d] = block * P
    ell = xp.sum(u * u, axis=2) - xp.sum(inverse) if d > 1 else u[:, :, 0] ** 2 - inverse
    return u * (2.0 * inverse - ell[:, :, None]) * P[:, :, None]


def solve(X, Y, r, bandwidth_x, bandwidth_y, regularization: float) -> tuple:
    """Return β, c (n, d), jitter: (G + nλ I) β = h/λ with h = (M 1 + G r)/n (kcef, Theorem 1).

    c = β - ∂log q_0/(nλ) carries the whole first-order part of T; r is ∂log q_0 at Y, (n, d).

    As (G + nλ I) nλc = M 1 - nλ r, which needs no product with G. O(n³d³) time, one matrix of
    shape (n d, n d), in whose memory it is factorised.
    """
    xp = array_namespace(Y)
    n, d = Y.shape

    def numbers(n: int) -> int:
        """Return the size of G and of the blocks that it is assembled from."""
        return (n * d) ** 2 + _BLOCKS_HELD * min(n * n * d, max(n * d, block_size(like=Y)))

    require_memory(Y, "the exact fit of a kernel exponential family", n, numbers)
    mu, G = n * regularization, xp.zeros((n * d, n * d), dtype=Y.dtype)

    def fill(G):
        return write_normal_equations(G, X, Y, bandwidth_x, bandwidth_y)

    right = fill(G) - mu * xp.reshape(r, (-1,))
    factor = factor_positive_definite(G, shift=mu, overwrite=True, refill=fill)
    c = xp.reshape(factor.solve(right), Y.shape) / mu
    return c + r / mu, c, factor.jitter


class HeldOutSolver:
    """Solutions of (G_RR + μI) b_R = v_R for the complements R of many folds and many μ.

    All come from one spectrum of G. With A = (G + μ)⁻¹ and a fold S, block inversion gives
    b = A (v + E_S δ), A_SS δ = -(A v)_S, which is b_R on R and 0 on S. In the eigenbasis
    A = (I - U diag(γ/(γ + μ)) Uᵀ)/μ, so that eigenvalues that are negligible against μ are left
    out, and only the |S| × |S| block of A is ever formed: r |S|² multiplications for numerical rank
    r.
    """

    def __init__(self, G, smallest: float):
        xp = array_namespace(G)
        gamma, U = symmetric_spectrum(G)
        # Below 4 ulps of the largest, an eigenvalue is rounding; below 1e-12 μ, it changes nothing.
        floor = max(1e-12 * smallest, 4.0 * float(np.finfo(float).eps) * float(gamma[-1]))
        negligible = int(xp.sum(xp.astype(gamma <= floor, xp.int64)))
        self._gamma, self._U = gamma[negligible:], U[:, negligible:]

    def solve(self, held_out: np.ndarray, v, mu):
        """Solve for one fold and all μ."""
        xp = array_namespace(v)
        U_S = take_rows(self._U, held_out)
        share = self._gamma / (self._gamma + mu[:, None])
        weight = share * (v @ self._U)
        half = U_S[None, :, :] * xp.sqrt(share)[:, None, :]
        block = xp.eye(len(held_out), dtype=v.dtype) - xp.matmul(half, xp.matrix_transpose(half))
        Av_S = take_rows(v, held_out) - weight @ U_S.T
        delta = -xp.linalg.solve(block, Av_S[:, :, None])[:, :, 0]
        # The columns of delta at the rows held out, and 0 elsewhere.
        place, inside = np.zeros(v.shape[0], dtype=np.int64), np.zeros(v.shape[0])
        place[held_out], inside[held_out] = np.arange(len(held_out)), 1.0
        spread = v[None, :] + take_columns(delta, place) * xp.asarray(inside)
        return delta, (spread - (weight + share * (delta @ U_S)) @ self._U.T) / mu[:, None]


def held_out_scores(
    system: ScoreSystem, partitions: Sequence[Sequence[np.ndarray]], regularizations: np.ndarray
) -> np.ndarray:
    """Return K-fold scores for a whole path of λ from one eigendecomposition of G.

    For a fold S with complement R, μ = |R|λ and v = M 1_R + G r_R, `HeldOutSolver` gives δ and
    b = μβ; then ∂T_S = δ/μ and ∂²T_S = (Mᵀ(b - r_R) - Q_SR 1)/μ.
    """
    n = system.Q.shape[0]
    fewest = n - max(len(held_out) for folds in partitions for held_out in folds)
    solver = HeldOutSolver(system.G, fewest * float(np.min(regularizations)))
    xp = array_namespace(system.G)
    sums = xp.sum(system.M, axis=1), system.G @ system.r, xp.sum(system.Q, axis=1)
    totals = [
        sum(_held_out(system, solver, sums, held_out, regularizations) for held_out in folds)
        for folds in partitions
    ]
    return np.stack([to_numpy(total) for total in totals]) / n


def _held_out(system: ScoreSystem, solver: HeldOutSolver, sums: tuple, held_out, path: np.ndarray):
    """Return the sum of the scores over one fold's rows, shape (L,), from M 1, G r and Q 1."""
    xp = array_namespace(system.G)
    n = system.Q.shape[0]
    d = system.r.shape[0] // n
    M1, Gr, Q1 = sums
    flat = (held_out[:, None] * d + np.arange(d)).ravel()
    r_S, M_S = take_rows(system.r, flat), take_columns(system.M, held_out)
    v = M1 - xp.sum(M_S, axis=1) + Gr - take_columns(system.G, flat) @ r_S
    mu = (n - len(held_out)) * xp.asarray(path)
    delta, b = solver.solve(flat, v, mu)
    Q_S = take_rows(system.Q, held_out)
    Q_SR = take_rows(Q1, held_out) - xp.sum(take_columns(Q_S, held_out), axis=1)
    r_R = system.r @ M_S - r_S @ take_rows(M_S, flat)
    second = (b @ M_S - r_R - Q_SR) / mu[:, None]
    first = delta / mu[:, None]
    return xp.sum(0.5 * first**2 + first * r_S, axis=1) + xp.sum(second, axis=1)
