"""Joint distribution learning with polynomials (jdl, section 4.5), sums of squares: (23), (39).

By an interior-point method implemented here, or as a program for Clarabel. Here a polynomial of the
product space is known by its values at as many points as the space has dimensions (Löfberg and
Parrilo 2004). There the Gram matrix enters as diag(U A Uᵀ), and the system of an interior-point
step is an elementwise product of two matrices instead of a sum over pairs of monomials: N² k + k³/3
multiplications for k points, where a general solver needs N⁶.

Both minimise scale |H|² - 2 C·H, with C (m_Y, m_X) in the orthonormal bases, scale 1 + λ, and
polynomials in x and in y of one even degree.
"""

import itertools
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy import sparse

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._low_rank.basis import PolynomialBasis, graded_exponents
from kcde.estimators._low_rank.constraints import ConstrainedSolution
from kcde.estimators._shared import checks
from kcde.estimators.jdl import JointDistribution

_STEPS = 100
_TOLERANCE = 1e-10
_CANDIDATES = 5000
# Rows of x and of y where the sign of what Clarabel returns is checked, and what may be missing.
_CHECKED, _NEGATIVE = 1000, 1e-3
# Number of entries of the Gram matrix beyond which a blocked factorisation is faster.
_SMALL = 1000


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
    """
    (full_x, half_x), (full_y, half_y) = _samples(basis_x), _samples(basis_y)
    values, target = np.kron(full_y, full_x), (to_numpy(linear) / scale).ravel().copy()
    target[0] = 1.0
    problem = _Problem(values, np.kron(half_y, half_x), target, values[:, 1:] @ values[:, 1:].T)
    # Multipliers of the average over the training rows, under which the basis is orthonormal, so
    # that S = I, and A = I/N.
    first = np.zeros(len(target))
    first[0] = 1.0
    y, N = np.linalg.solve(values.T, first), problem.half.shape[1]
    size = 1.0 + np.linalg.norm(target)
    iterate, status = _Iterate(size * y, np.eye(N) / N, size * _gram(problem, y)), "iteration limit"
    for iteration in range(_STEPS):
        residual, misfit = _residual(problem, iterate)
        if residual <= _TOLERANCE:
            # Of the Gram matrix of 1 + h, scaled so that H_11 = 0.
            M = np.linalg.solve(values, _diagonal(problem, iterate.A))
            M = M / M[0]
            M[0] = 0.0
            H = array_namespace(linear).asarray(M.reshape(linear.shape))
            return ConstrainedSolution(H, "optimal", residual, iteration)
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
        f"{iteration} steps; raise the regularization"
    )


def _samples(basis: PolynomialBasis) -> tuple[np.ndarray, np.ndarray]:
    """Return all polynomials and those of half the degree at well-spread training rows.

    Approximate Fekete points: the rows that QR with column pivoting takes first.
    """
    n = basis.points.shape[0]
    values = to_numpy(basis.coordinates(slice(0, n, max(1, n // _CANDIDATES))))
    pivots = scipy.linalg.qr(values.T, mode="r", pivoting=True)[1][: basis.rank]
    chosen = values[np.sort(pivots)]
    return chosen, chosen[:, : len(graded_exponents(basis.points.shape[1], basis.degree // 2))]


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


def solve_with_clarabel(
    linear, scale: float, basis_x: PolynomialBasis, basis_y: PolynomialBasis, exponents: list
) -> ConstrainedSolution:
    """Minimise scale |H|² - 2 linear·H subject to H_11 = 0 and 1 + Ψ_Y H Ψ_Xᵀ a sum of squares.

    Unknowns are M = H + e e_1ᵀ, the coefficients of 1 + h, and the Gram matrix A ⪰ 0 of size N.
    For each monomial of 1 + h, or of a product of two of those in A, one equation says that both
    have the same coefficient of it. N = 9, 36, 100 reduced and 15, 70, 210 full for d = 1, 2, 3
    and q = 4; an interior-point step costs N⁶ at most.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    # One thread: results may not depend on how many cores there are.
    settings.verbose, settings.max_threads = False, 1
    C = to_numpy(linear)
    coefficients, gram_terms = _matching(basis_x, basis_y, exponents)
    count, entries = C.size, gram_terms.shape[1]
    if entries > _SMALL:
        settings.direct_solve_method = "faer"
    normalised = sparse.csc_array(([1.0], ([0], [0])), shape=(1, count + entries))
    same = sparse.hstack([coefficients, -gram_terms])
    equations = sparse.vstack([same, normalised], format="csc")
    cone = sparse.hstack([sparse.csc_array((entries, count)), -sparse.eye_array(entries)])
    quadratic = np.concatenate([np.full(count, 2.0 * scale), np.zeros(entries)])
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(quadratic)),
        np.concatenate([-2.0 * C.ravel(), np.zeros(entries)]),
        sparse.csc_matrix(sparse.vstack([equations, cone])),
        np.concatenate([np.zeros(equations.shape[0] - 1), [1.0], np.zeros(entries)]),
        [clarabel.ZeroConeT(equations.shape[0]), clarabel.PSDTriangleConeT(len(exponents))],
        settings,
    ).solve()
    H = np.reshape(np.asarray(solution.x)[: C.size], C.shape).copy()
    H[0, 0] = 0.0
    n = basis_x.points.shape[0]
    few = slice(0, n, max(1, n // _CHECKED))
    of_x, of_y = (to_numpy(basis.coordinates(few)) for basis in (basis_x, basis_y))
    residual, status = float(max(solution.r_prim, solution.r_dual)), str(solution.status)
    # Small residuals in coefficients are large far out, where monomials are large.
    least = 1.0 + float(np.min(of_y @ H @ of_x.T))
    if status not in ("Solved", "AlmostSolved") or least < -_NEGATIVE:
        raise FloatingPointError(
            f"Clarabel failed: status {status}, residual {residual:.3g}, 1 + h = {least:.3g} at a "
            f"training row after {solution.iterations} iterations; use solver='samples' or raise "
            "the regularization"
        )
    name = "optimal" if status == "Solved" else "nearly optimal"
    found = array_namespace(linear).asarray(H)
    return ConstrainedSolution(found, name, residual, int(solution.iterations))


def _matching(basis_x: PolynomialBasis, basis_y: PolynomialBasis, exponents):
    """Return sparse matrices from M and from the entries of A to coefficients of monomials.

    Monomials are of the standardised variables. A is given by its upper triangle by columns, off
    the diagonal times √2, as Clarabel has it.
    """
    pairs = itertools.product(basis_y.exponents, basis_x.exponents)
    products = {y + x: i for i, (y, x) in enumerate(pairs)}
    d_x = basis_x.points.shape[1]
    rows, values = [], []
    for j, i in zip(*np.tril_indices(len(exponents)), strict=True):
        total = tuple(a + b for a, b in zip(exponents[i], exponents[j], strict=True))
        # Monomials that 1 + h cannot have come after its own, with coefficient zero.
        rows.append(products.setdefault(total[d_x:] + total[:d_x], len(products)))
        values.append(1.0 if i == j else np.sqrt(2.0))
    shape = (len(products), len(exponents) * (len(exponents) + 1) // 2)
    terms = sparse.csc_array((values, (rows, np.arange(len(rows)))), shape=shape)
    of_m = np.kron(to_numpy(basis_y.inverse), to_numpy(basis_x.inverse))
    padding = sparse.csc_array((shape[0] - of_m.shape[0], of_m.shape[1]))
    return sparse.vstack([sparse.csc_array(of_m), padding]), terms


@dataclass(eq=False, repr=False)
class JPDL(JointDistribution):
    """Predict expectations of functions of y given a few x, by polynomials; no density.

    `predict` gives the mean of y, `score` its R².

    A joint distribution dQ = (1 + h) dP_X dP_Y with h a polynomial in x times one in y.

    With the expectation inner product and orthonormal polynomials H = (Ψ_YᵀΨ_X/n - ȳx̄ᵀ)/(1 + λ):
    (38). Its first row and column vanish, constants being the first polynomials, so that both
    marginals are those of the rows. Nothing is approximated and there is no bandwidth.

    Fitting costs n (m_X + m_Y)² multiplications, m = (d + q choose q).

    Parameters
    ----------
    degree
        q: of the polynomials in x, and of those in y; even if constrained.
    regularization
        λ of (8).
    constrained
        Whether 1 + h is constrained to a sum of squares, so that it is nonnegative: (39) and (23).
    solver
        Of the constrained problem. "samples": an interior-point method implemented here, with
        monomials of degree at most q/2 in x and in y, all that a sum of squares of this form can
        have (its Newton polytope). "clarabel-unreduced": the semidefinite program with those of
        total degree at most q, as the paper has it; the same set, but a program without interior,
        which solvers may fail on.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        H, shape (m_Y, m_X).
    objective_
        The regularised loss (38) at H.
    basis_x_, basis_y_
        The bases.
    rank_x_, rank_y_
        m_X and m_Y.
    solver_status_, solver_residual_, solver_iterations_
        "closed form" or "optimal"; the solver's largest residual; its iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import JPDL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = JPDL(degree=2).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).shape
    (1, 1)
    """

    selection_rule = "polynomials of degree 4 and λ = 0.001, nothing is searched"

    degree: int = 4
    regularization: float = 1e-3
    _: KW_ONLY
    constrained: bool = False
    solver: str = "samples"
    standardize: bool = True

    def make_basis_x(self, X):
        """Return the orthonormal polynomials over training rows X (n, d_x); n m_X² time."""
        return PolynomialBasis(self._scaled(X), self.degree, "X")

    def make_basis_y(self, Y):
        """Return the orthonormal polynomials over training rows Y (n, d_y); n m_Y² time."""
        return PolynomialBasis(self._scaled(Y), self.degree, "Y")

    def _check_parameters(self):
        checks.whole("degree", self.degree)
        checks.choice("constrained", self.constrained, (False, True))
        if self.constrained and self.degree % 2:
            raise ValueError(f"sums of squares have an even degree; got {self.degree}")
        checks.choice("solver", self.solver, ("samples", "clarabel-unreduced"))

    def _constrained(self, summary, curvature, linear, marginal, start):
        problem = linear, 1.0 + self.regularization, summary.basis_x, summary.basis_y
        if self.solver == "samples":
            return solve_by_samples(*problem)
        columns = self.n_features_in_ + self.n_outputs_
        return solve_with_clarabel(*problem, graded_exponents(columns, self.degree))
