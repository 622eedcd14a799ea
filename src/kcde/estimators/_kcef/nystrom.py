"""Nyström solution of the kernel exponential family (Sutherland et al., AISTATS 2018)."""

from functools import reduce
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_columns, take_rows
from kcde.estimators._kcef.natural_parameter import NaturalParameter
from kcde.kernels import GaussianKernel, as_bandwidths
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory

RIDGE = 1e-5
"""λ₂, which keeps the system regular where derivatives at basis points almost coincide."""

_ROWS = 128


class Moments(NamedTuple):
    """Moments of some rows that the fit needs, each a sum over the rows.

    Attributes
    ----------
    outer
        G_mn G_mnᵀ, shape (m d, m d).
    h
        M_mn 1 + G_mn r, shape (m d,).
    rows
        Number of rows.
    """

    outer: object
    h: object
    rows: int

    def minus(self, other: "Moments") -> "Moments":
        """Return the moments of the rows that are in self and not in other."""
        return Moments(self.outer - other.outer, self.h - other.h, self.rows - other.rows)

    def within(self, places: np.ndarray) -> "Moments":
        """Return the moments with a part of the basis, `places` in the flattened (b, i)."""
        outer = take_columns(take_rows(self.outer, places), places)
        return Moments(outer, take_rows(self.h, places), self.rows)

    def plus(self, other: "Moments") -> "Moments":
        """Return the moments of both."""
        return Moments(self.outer + other.outer, self.h + other.h, self.rows + other.rows)


class NystromSystem:
    """Score matching over the span of ∂_i k(Z_b, ·) for m basis points Z.

    β = -(G_mn G_mnᵀ/n + λ G_mm + λ₂ I)⁻¹ h with G = ∂_i ∂_{j+d} k and h = ⟨ξ̂, ∂_i k(Z_b, ·)⟩
    (Sutherland et al., section 4). O(n (m d)²) time once, O((m d)³) for each λ, O((m d)²) memory.

    Parameters
    ----------
    basis
        Z, shape (m, d).
    bandwidth
        Shape (d,).
    base_std
        Standard deviation of q_0.
    """

    def __init__(self, basis, bandwidth: np.ndarray, base_std: float, gram=None):
        self.basis, self.bandwidth, self.base_std = basis, bandwidth, base_std
        m, d = basis.shape
        # Two sums over rows, the matrix of the basis, the system and its factor.
        require_memory(basis, "KEF with basis points", m, lambda size: 5 * (size * d) ** 2)
        self.gram = self._cross(basis)[0] if gram is None else gram

    def within(self, points: np.ndarray, places: np.ndarray) -> "NystromSystem":
        """Return the system of a part of the basis."""
        gram = take_columns(take_rows(self.gram, places), places)
        return NystromSystem(take_rows(self.basis, points), self.bandwidth, self.base_std, gram)

    def moments(self, Y) -> Moments:
        """Return the moments of rows Y (n, d), read in blocks."""
        xp = array_namespace(Y)
        size = self.basis.shape[0] * Y.shape[1]
        total = Moments(xp.zeros((size, size), dtype=Y.dtype), xp.zeros(size, dtype=Y.dtype), 0)
        for start in range(0, Y.shape[0], _ROWS):
            block = Y[start : min(start + _ROWS, Y.shape[0]), :]
            G, M = self._cross(block)
            h = xp.sum(M, axis=1) - G @ xp.reshape(block, (-1,)) / self.base_std**2
            total = total.plus(Moments(G @ G.T, h, block.shape[0]))
        return total

    def solve(self, moments: Moments, regularization: float):
        """Return β (m, d) and the jitter beyond λ₂."""
        xp = array_namespace(self.basis)
        n = moments.rows
        system = moments.outer / n + regularization * self.gram
        factor = factor_positive_definite(system, shift=RIDGE)
        return xp.reshape(-factor.solve(moments.h / n), self.basis.shape), factor.jitter

    def parameter(self, beta) -> NaturalParameter:
        """Return f(y) = Σ β_{b,i} ∂_i k(Z_b, y)."""
        nothing = self.basis[:, :0]
        return NaturalParameter(nothing, self.basis, beta, 0.0, np.zeros(0), self.bandwidth)

    def _cross(self, Y):
        """Return G (m d, q d) and M = ∂_i Σ_j ∂_j² k (m d, q) between basis and Y (q, d)."""
        xp = array_namespace(Y)
        (m, d), q = self.basis.shape, Y.shape[0]
        derivatives = GaussianKernel(self.bandwidth).derivatives(self.basis, Y)
        G = xp.reshape(xp.permute_dims(-derivatives.second, (0, 2, 1, 3)), (m * d, q * d))
        M = xp.reshape(xp.permute_dims(derivatives.laplacian_gradient, (0, 2, 1)), (m * d, q))
        return G, M


def held_out_scores(Y, folds, basis_rows, sigmas, path, base_std: float) -> np.ndarray:
    """Return the K-fold score for every bandwidth and λ, shape (a, b); lower is better.

    Basis points among the rows that a fold holds out leave the basis for that fold.

    Parameters
    ----------
    Y
        Shape (n, d).
    folds
        A partition of `range(n)`.
    basis_rows
        Rows of Y that are basis points, shape (m,).
    sigmas, path
        Candidates: bandwidths, shape (a,) of numbers or (d,) arrays, and λ, shape (b,).
    base_std
        Standard deviation of q_0.
    """
    scores = np.zeros((len(sigmas), len(path)))
    for i, sigma in enumerate(sigmas):
        bandwidth = as_bandwidths(sigma, Y.shape[1])
        system = NystromSystem(take_rows(Y, basis_rows), bandwidth, base_std)
        parts = [system.moments(take_rows(Y, fold)) for fold in folds]
        whole = reduce(Moments.plus, parts)
        for fold, part in zip(folds, parts, strict=True):
            rest = np.flatnonzero(~np.isin(basis_rows, fold))
            places = (rest[:, None] * Y.shape[1] + np.arange(Y.shape[1])).ravel()
            smaller, moments = system.within(rest, places), whole.minus(part).within(places)
            for j, regularization in enumerate(path):
                beta, _ = smaller.solve(moments, regularization)
                scores[i, j] += _score(smaller.parameter(beta), take_rows(Y, fold), base_std)
    return scores / Y.shape[0]


def _score(T: NaturalParameter, Y, base_std: float) -> float:
    """Return the sum over rows of Σ_i ½(∂_i T)² + ∂_i² T + ∂_i T ∂_i log q_0."""
    xp = array_namespace(Y)
    first = T.value_and_gradient(Y[:, :0], Y)[1]
    second = T.second_derivatives(Y[:, :0], Y)
    return float(xp.sum(0.5 * first**2 - first * Y / base_std**2) + xp.sum(second))
