"""Constrained conditional mean embedding: jdl (53) and (54) in simplex form, and (33) for it."""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from kcde.arrays import (
    array_namespace,
    cholesky,
    solve_triangular,
    take_columns,
    take_rows,
    to_numpy,
)

_TOLERANCE = 1e-11
# Rounds in which the violations may fail to become fewer, before entries move one at a time.
_PATIENCE = 3
# What rounding may leave where the kernel matrix at the pivots is ill-conditioned.
_ROUNDING = 1e-7


class SimplexSolution(NamedTuple):
    """The point p, the residual of its optimality conditions, the number of systems solved."""

    point: object
    residual: float
    iterations: int


def project_on_simplex(K, target, near=None) -> SimplexSolution:
    """Minimise (p - p⁰)ᵀ K (p - p⁰) over p ≥ 0 with Σ p = 1.

    Block principal pivoting: all entries that violate p ≥ 0 or have a negative multiplier change
    sides at once, which from a close start ends at the optimum after two to six systems. Where it
    cycles, or a support on its way has a singular system, a primal active-set method goes on, which
    takes up or drops one entry at a time and ends because the objective falls. k³/3 multiplications
    a system for k positive entries.

    Parameters
    ----------
    K
        Shape (m, m), positive definite.
    target
        p⁰, shape (m,).
    near
        The solution for another target, shape (m,), whose support is a better start if the two are
        close; None: the positive entries of the target.

    Returns
    -------
    SimplexSolution

    Raises
    ------
    FloatingPointError
        If the method does not end; names status and residual.
    """
    search = _ActiveSet(K, target)
    limit = 10 * target.shape[0] + 50
    support, p = search.start(target if near is None else near)
    status = "iteration limit"
    while search.systems <= limit:
        entering, residual = search.entering(p, support)
        if residual <= _TOLERANCE:
            return SimplexSolution(p, residual, search.systems)
        before = support
        support, p = search.descend(p, np.sort(np.union1d(support, entering)))
        if np.array_equal(support, before):
            # What enters falls out at once: its multiplier was rounding.
            if residual <= _ROUNDING:
                return SimplexSolution(p, residual, search.systems)
            status = "no progress"
            break
    raise FloatingPointError(
        f"the active-set method for the simplex stopped early: status {status}, residual "
        f"{residual:.3g} after {search.systems} systems; loosen the tolerance, so that the kernel "
        "matrix at the pivots is better conditioned"
    )


class _Singular(FloatingPointError):
    """The kernel matrix on a support has no Cholesky factor."""


class _ActiveSet:
    """The quadratic program with its count of solved systems."""

    def __init__(self, K, target):
        self.K, self.pull = K, K @ target
        self.xp = array_namespace(K)
        self.scale = float(self.xp.max(self.xp.linalg.diagonal(K)))
        self.size, self.systems = target.shape[0], 0

    def start(self, near):
        """Return a support with its solution p > 0: near where block principal pivoting ends."""
        near = to_numpy(near)
        support = np.flatnonzero(near > 0)
        if not len(support):
            support = np.array([int(np.argmax(near))])
        support, p = self.pivot(support) or (support, self.solve(support))
        while np.any(p <= 0):
            support = support[p > 0]
            p = self.solve(support)
        return support, self.scatter(p, support)

    def pivot(self, support) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the support with the fewest violations on the way, and the solution on it.

        The way ends at the optimum, or where the violations have not become fewer for some rounds,
        or at a support with a singular system, which may be larger than the start and the optimum.
        None where the start is singular.
        """
        best, fewest, left = None, self.size + 1, _PATIENCE
        with suppress(_Singular):
            while fewest and left:
                p = self.solve(support)
                multipliers, scale = self.multipliers(self.scatter(p, support), support)
                wrong = multipliers < -_TOLERANCE * scale
                wrong[support] = p <= 0
                violations, left = int(np.sum(wrong)), left - 1
                if violations < fewest:
                    best, fewest, left = (support, p), violations, _PATIENCE
                support = np.setxor1d(support, np.flatnonzero(wrong))
        return best

    def descend(self, p, support):
        """Return support and solution on it, stepping back to p ≥ 0 and dropping what blocks."""
        here = to_numpy(p)[support]
        while True:
            there = self.solve(support)
            if np.all(there > 0):
                return support, self.scatter(there, support)
            falling = there <= 0
            ratios = np.full(len(support), np.inf)
            ratios[falling] = here[falling] / (here[falling] - there[falling])
            blocking = int(np.argmin(ratios))
            here = here + ratios[blocking] * (there - here)
            keep = np.arange(len(support)) != blocking
            support, here = support[keep], np.maximum(here[keep], 0.0)

    def multipliers(self, p, support) -> tuple[np.ndarray, float]:
        """Return the multipliers of p ≥ 0, shape (m,), and what they are large or small against."""
        gradient = to_numpy(self.K @ p - self.pull)
        scale = max(self.scale, float(np.max(np.abs(gradient))))
        return gradient - np.mean(gradient[support]), scale

    def entering(self, p, support) -> tuple[np.ndarray, float]:
        """Return the entry with the most negative multiplier, and the relative residual.

        No entry where all of them are in the support.
        """
        multipliers, scale = self.multipliers(p, support)
        uneven = float(np.max(np.abs(multipliers[support])))
        outside = np.setdiff1d(np.arange(len(multipliers)), support)
        worst = outside[np.argmin(multipliers[outside])][None] if len(outside) else outside
        lowest = float(np.min(multipliers[outside], initial=0.0))
        return worst, max(-lowest, uneven) / scale

    def solve(self, support: np.ndarray):
        """Return the minimiser with Σ p = 1 on a support, numpy (k,)."""
        self.systems += 1
        rows = take_rows(self.K, support)
        lower = cholesky(take_columns(rows, support), overwrite=True)
        if lower is None:
            raise _Singular(
                "the active-set method for the simplex stopped early: status singular, residual "
                "unknown; loosen the tolerance, so that the kernel matrix at the pivots is better "
                "conditioned"
            )
        pull = take_rows(self.pull, support)
        sides = self.xp.stack([pull, self.xp.ones_like(pull)], axis=1)
        solved = solve_triangular(lower, solve_triangular(lower, sides), transpose=True)
        free, ones = to_numpy(solved).T
        return free + (1.0 - free.sum()) / ones.sum() * ones

    def scatter(self, values, support):
        p = np.zeros(self.size)
        p[support] = values
        return self.xp.asarray(p)


def move_mean(F, mean, curvature, change):
    """Return the F nearest to the unconstrained one whose product with the mean is changed.

    Minimises Σ_j D_j |F_j - F⁰_j|² subject to F x̄ = F⁰ x̄ + change: F⁰ + change wᵀ/(x̄·w), w = x̄/D.

    Parameters
    ----------
    F
        Unconstrained coefficients, shape (m_Y, m_X).
    mean, curvature
        x̄ and D, shapes (m_X,).
    change
        Shape (m_Y,).
    """
    w = mean / curvature
    return F + change[:, None] * w[None, :] / (mean @ w)


def certify_infeasibility(marginal, lower, upper) -> float | None:
    """Return a proof that a tightening like (33) contradicts normalisation (53), or None.

    For CME it is g(F) = Σ (C̲ F⁺ - C̄ F⁻) ≥ 0 together with e·F = 1. Both are positively
    homogeneous but for the 1, so there is no such F if and only if some κ ≥ 0 has e·F + κ g(F) ≤ 0
    for every F, which is -κC̄ ≤ e ≤ -κC̲ entry by entry: an interval for κ. O(m_X m_Y).

    Parameters
    ----------
    marginal, lower, upper
        e, C̲ and C̄, shapes (m_Y, m_X).

    Returns
    -------
    float or None
        κ, the certificate; None where the two are feasible together.
    """
    e, a, b = (np.asarray(to_numpy(x)).ravel() for x in (marginal, lower, upper))
    # e + κa ≤ 0 and -e - κb ≤ 0, each of the form offset + κ slope ≤ 0.
    offset, slope = np.concatenate([e, -e]), np.concatenate([a, -b])
    if np.any((slope == 0) & (offset > 0)):
        return None
    falling, rising = slope < 0, slope > 0
    least = max(0.0, np.max(offset[falling] / -slope[falling], initial=0.0))
    most = np.min(-offset[rising] / slope[rising], initial=np.inf)
    return float(least) if least <= most else None
