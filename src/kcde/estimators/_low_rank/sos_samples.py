"""Sums of squares from samples: jdl (23) and (39) by an interior-point method implemented here.

A polynomial of the product space is known by its values at as many points as the space has
dimensions (Löfberg and Parrilo 2004). There the Gram matrix enters as diag(U A Uᵀ), and the system
of an interior-point step is an elementwise product of two matrices instead of a sum over pairs of
monomials: N² k + k³/3 multiplications for k points, where a general solver needs N⁶.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._low_rank.basis import PolynomialBasis, graded_exponents
from kcde.estimators._low_rank.constraints import ConstrainedSolution

_STEPS = 100
_TOLERANCE = 1e-10
_CANDIDATES = 5000


class _Problem(NamedTuple):
    """Values at the points: of Ψ_Y ⊗ Ψ_X, Φ (k, k), and of those of half the degree, U (k, N)."""

    values: np.ndarray
    half: np.ndarray
    target: np.ndarray
    """g: the unconstrained coefficients, shape (k,); its first entry is that of the constant, 1."""
    quadratic: np.ndarray
    """Φ Π Φᵀ, where Π leaves the first coefficient out."""


class _Iterate(NamedTuple):
    """Multipliers of the values y (k,), Gram matrix A (N, N), S = Uᵀ diag(y) U (N, N)."""

    y: np.ndarray
    A: np.ndarray
    S: np.ndarray


def solve_by_samples(
    linear, scale: float, basis_x: PolynomialBasis, basis_y: PolynomialBasis
) -> ConstrainedSolution:
    """Minimise scale |H|² - 2 linear·H subject to H_11 = 0 and 1 + Ψ_Y H Ψ_Xᵀ a sum of squares.

    A primal-dual method with the direction of Helmberg, Kojima and Monteiro and Mehrotra's
    corrector. What it returns is a sum of squares to rounding, being made from a Gram matrix. Some
    fifteen steps for k = m_X m_Y = 25, 225, 1225 and N = 9, 36, 100 (d = 1, 2, 3 and q = 4).

    Parameters
    ----------
    linear
        C, shape (m_Y, m_X), in the orthonormal bases.
    scale
        1 + λ.
    basis_x, basis_y
        Orthonormal polynomials, of the same even degree.

    Returns
    -------
    ConstrainedSolution

    Raises
    ------
    FloatingPointError
        If the method stops early; names status and residual.
    """
    problem = _problem(to_numpy(linear) / scale, basis_x, basis_y)
    iterate, status = _start(problem), "iteration limit"
    for iteration in range(_STEPS):
        residual, misfit = _residual(problem, iterate)
        if residual <= _TOLERANCE:
            H = _coefficients(problem, iterate.A).reshape(linear.shape)
            xp = array_namespace(linear)
            return ConstrainedSolution(xp.asarray(H), "optimal", residual, iteration)
        try:
            iterate, length = _step(problem, iterate, misfit)
        except np.linalg.LinAlgError:
            status = "singular system"
            break
        if length < 1e-6:
            status = "no progress"
            break
    raise FloatingPointError(
        f"the interior-point method stopped early: status {status}, residual {residual:.3g} after "
        f"{iteration} steps; raise the regularization or use solver='clarabel'"
    )


def _problem(coefficients, basis_x, basis_y) -> _Problem:
    (full_x, half_x), (full_y, half_y) = _samples(basis_x), _samples(basis_y)
    values, half = np.kron(full_y, full_x), np.kron(half_y, half_x)
    target = coefficients.ravel().copy()
    target[0] = 1.0
    return _Problem(values, half, target, values[:, 1:] @ values[:, 1:].T)


def _samples(basis: PolynomialBasis) -> tuple[np.ndarray, np.ndarray]:
    """Return all polynomials and those of half the degree at well-spread training rows.

    Approximate Fekete points: the rows that QR with column pivoting takes first.
    """
    n = basis.points.shape[0]
    few = slice(0, n, max(1, n // _CANDIDATES))
    values = to_numpy(basis.coordinates(few))
    pivots = scipy.linalg.qr(values.T, mode="r", pivoting=True)[1][: basis.rank]
    chosen = values[np.sort(pivots)]
    return chosen, chosen[:, : len(graded_exponents(basis.points.shape[1], basis.degree // 2))]


def _start(problem: _Problem) -> _Iterate:
    """Return the multipliers of the average over the training rows, for which S = I, and A = I/N.

    The basis is orthonormal under that average.
    """
    first = np.zeros(len(problem.target))
    first[0] = 1.0
    y = np.linalg.solve(problem.values.T, first)
    N = problem.half.shape[1]
    scale = 1.0 + np.linalg.norm(problem.target)
    return _Iterate(scale * y, np.eye(N) / N, scale * _gram(problem, y))


def _gram(problem: _Problem, y) -> np.ndarray:
    return problem.half.T @ (y[:, None] * problem.half)


def _diagonal(problem: _Problem, matrix) -> np.ndarray:
    """Return diag(U A Uᵀ), shape (k,)."""
    return np.einsum("ki,ki->k", problem.half @ matrix, problem.half)


def _residual(problem: _Problem, iterate: _Iterate) -> tuple[float, np.ndarray]:
    """Return the larger of relative gap and relative misfit, and the misfit in values, (k,)."""
    m = problem.target.copy()
    m[1:] += problem.values[:, 1:].T @ iterate.y
    misfit = problem.values @ m - _diagonal(problem, iterate.A)
    gap = np.sum(iterate.A * iterate.S) / (1.0 + m @ m)
    return max(gap, np.linalg.norm(misfit) / np.linalg.norm(problem.values @ m)), misfit


def _step(problem: _Problem, iterate: _Iterate, misfit) -> tuple[_Iterate, float]:
    """Take a predictor-corrector step; return the iterate and the step length."""
    U, (y, A, S) = problem.half, iterate
    N = len(S)
    lower_s, lower_a = np.linalg.cholesky(S), np.linalg.cholesky(A)
    W = scipy.linalg.cho_solve((lower_s, True), np.eye(N))
    system = problem.quadratic + (U @ A @ U.T) * (U @ W @ U.T)
    factor = scipy.linalg.cho_factor(system, lower=True, check_finite=False)

    def direction(centre):
        dy = scipy.linalg.cho_solve(factor, _diagonal(problem, centre - A) - misfit)
        dS = _gram(problem, dy)
        dA = centre - A - A @ dS @ W
        return dy, 0.5 * (dA + dA.T), dS

    mu = np.sum(A * S) / N
    _, dA, dS = direction(np.zeros_like(A))
    length = min(_longest(lower_a, dA), _longest(lower_s, dS))
    left = np.sum((A + length * dA) * (S + length * dS)) / (N * mu)
    correction = dA @ dS @ W
    centring = max(left, 0.0) ** 3 * mu
    dy, dA, dS = direction(centring * W - 0.5 * (correction + correction.T))
    length = min(1.0, 0.95 * min(_longest(lower_a, dA), _longest(lower_s, dS)))
    y = y + length * dy
    return _Iterate(y, A + length * dA, _gram(problem, y)), length


def _longest(lower, change) -> float:
    """Return the longest step, at most 2, that keeps L Lᵀ + step × change semidefinite."""
    scaled = scipy.linalg.solve_triangular(lower, change, lower=True)
    scaled = scipy.linalg.solve_triangular(lower, scaled.T, lower=True)
    smallest = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0])
    return min(2.0, -1.0 / smallest) if smallest < 0.0 else 2.0


def _coefficients(problem: _Problem, A) -> np.ndarray:
    """Return H, shape (k,), from the Gram matrix of 1 + h, scaled so that H_11 = 0."""
    M = np.linalg.solve(problem.values, _diagonal(problem, A))
    M = M / M[0]
    M[0] = 0.0
    return M
