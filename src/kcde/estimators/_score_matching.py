"""The linear system of Theorem 1 (kcef) and its cross-validated score along a path of λ."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.kernels import GaussianJet
from kcde.linalg import Solution, solve_positive_definite, symmetric_spectrum


class ScoreSystem(NamedTuple):
    """The matrices of kcef, Theorem 1, for k_X(x, x′) k(y, y′), with rows (b, i) flattened.

    Attributes
    ----------
    G
        Shape (n d, n d): k_X ∂_i ∂_{j+d} k.
    M
        Shape (n d, n): k_X ∂_i Σ_j ∂_j² k, so that h = (M 1 + G r)/n.
    Q
        Shape (n, n): k_X Σ_i ∂_i² Σ_j ∂_j² k.
    r
        Shape (n d,): ∂_i log q_0 at the training points.
    """

    G: object
    M: object
    Q: object
    r: object


def score_system(K, jet: GaussianJet, r) -> ScoreSystem:
    """Assemble the system from k_X (n, n), the jet of k at (Y, Y), and ∂ log q_0 (n, d)."""
    xp = array_namespace(K)
    n, d = r.shape
    if d == 1:
        G = -K * jet.second[..., 0, 0]
        M = K * jet.laplacian_gradient[..., 0]
    else:
        blocks = -K[:, :, None, None] * jet.second
        G = xp.reshape(xp.permute_dims(blocks, (0, 2, 1, 3)), (n * d, n * d))
        M = K[:, :, None] * jet.laplacian_gradient
        M = xp.reshape(xp.permute_dims(M, (0, 2, 1)), (n * d, n))
    return ScoreSystem(G, M, K * jet.bilaplacian, xp.reshape(r, (-1,)))


def solve(system: ScoreSystem, regularization: float) -> Solution:
    """Solve (G + nλ I) β = h/λ; β has shape (n d,). O(n³d³) time, O(n²d²) memory."""
    xp = array_namespace(system.G)
    n = system.Q.shape[0]
    h = (xp.sum(system.M, axis=1) + system.G @ system.r) / n
    return solve_positive_definite(system.G, h / regularization, shift=n * regularization)


def held_out_score(
    system: ScoreSystem, folds: Sequence[np.ndarray], regularizations: np.ndarray
) -> np.ndarray:
    """Return the K-fold score for a whole path of λ from one eigendecomposition of G.

    For a fold S with complement R, μ = |R|λ, A = (G + μ)⁻¹ and v = M 1_R + G r_R, block inversion
    gives the held-out ∂T_S = -A_SS⁻¹ (A v)_S / μ, and b = A (v + E_S μ ∂T_S) is the fold's
    coefficient vector μβ, zero on S, whence ∂²T_S = (-Q_SR 1 + (Mᵀ (b - r_R))_S) / μ. In the
    eigenbasis of G everything but A_SS is a product of a matrix and a vector.

    Parameters
    ----------
    system
        Of all training rows.
    folds
        Rows held out in turn; together all rows.
    regularizations
        λ, shape (L,).

    Returns
    -------
    numpy.ndarray
        Shape (L,): mean over rows of Σ_i ½(∂_i T)² + ∂_i² T + ∂_i T ∂_i log q_0, each row's from
        the fold that held it out. Lower is better. Beyond one eigendecomposition and one
        product of the size of G: (nd)³ L/K multiplications.
    """
    xp = array_namespace(system.G)
    n, d = system.Q.shape[0], system.r.shape[0] // system.Q.shape[0]
    gamma, U = symmetric_spectrum(system.G)
    P, Ur = U.T @ system.M, U.T @ system.r
    total = xp.zeros(len(regularizations), dtype=system.G.dtype)
    for held_out in folds:
        flat = (held_out[:, None] * d + np.arange(d)).ravel()
        U_S, r_S = take_rows(U, flat), take_rows(system.r, flat)
        P_S = xp.take(P, xp.asarray(held_out), axis=1)
        r_R = Ur - U_S.T @ r_S
        t = xp.sum(P, axis=1) - xp.sum(P_S, axis=1) + gamma * r_R
        mu = (n - len(held_out)) * xp.asarray(regularizations)
        D = 1.0 / (gamma[None, :] + mu[:, None])
        half = U_S[None, :, :] * xp.sqrt(D)[:, None, :]
        A_SS = xp.matmul(half, xp.matrix_transpose(half))
        Av_S = (D * t) @ U_S.T
        delta = -xp.linalg.solve(A_SS, Av_S[:, :, None])[:, :, 0]
        b = D * (t + delta @ U_S)
        Q_S = take_rows(system.Q, held_out)
        Q_SR = xp.sum(Q_S, axis=1) - xp.sum(xp.take(Q_S, xp.asarray(held_out), axis=1), axis=1)
        second = ((b - r_R) @ P_S - Q_SR) / mu[:, None]
        first = delta / mu[:, None]
        total = total + xp.sum(0.5 * first**2 + first * r_S, axis=1) + xp.sum(second, axis=1)
    return to_numpy(total) / n
