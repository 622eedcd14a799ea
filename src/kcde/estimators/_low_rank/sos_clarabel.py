"""Joint polynomials that are sums of squares: jdl (23) and (39) as a program for Clarabel."""

import itertools

import clarabel
import numpy as np
from scipy import sparse

from kcde.arrays import array_namespace, to_numpy
from kcde.estimators._low_rank.basis import PolynomialBasis, graded_exponents
from kcde.estimators._low_rank.constraints import ConstrainedSolution

_ACCEPTED = ("Solved", "AlmostSolved")

# Number of entries of the Gram matrix beyond which a blocked factorisation is faster.
_SMALL = 1000


def gram_exponents(d_x: int, d_y: int, degree: int, reduced: bool) -> list[tuple[int, ...]]:
    """Return exponents (of x, then y) of the monomials whose squares are summed.

    Parameters
    ----------
    d_x, d_y
        Dimensions.
    degree
        q, even.
    reduced
        Whether of degree at most q/2 in x and in y, rather than q in total.
    """
    if not reduced:
        return graded_exponents(d_x + d_y, degree)
    half_x, half_y = graded_exponents(d_x, degree // 2), graded_exponents(d_y, degree // 2)
    return [x + y for y in half_y for x in half_x]


def solve_with_clarabel(
    linear, scale: float, basis_x: PolynomialBasis, basis_y: PolynomialBasis, *, reduced: bool
) -> ConstrainedSolution:
    """Minimise scale |H|² - 2 linear·H subject to H_11 = 0 and 1 + Ψ_Y H Ψ_Xᵀ a sum of squares.

    Unknowns are M = H + e e_1ᵀ, the coefficients of 1 + h, and the Gram matrix A ⪰ 0 of size N.
    For each monomial of 1 + h, or of a product of two of those in A, one equation says that both
    have the same coefficient of it. N = 9, 36, 100 reduced and 15, 70, 210 full for d = 1, 2, 3
    and q = 4; an interior-point step costs N⁶ at most.

    Parameters
    ----------
    linear
        C, shape (m_Y, m_X), in the orthonormal bases.
    scale
        1 + λ.
    basis_x, basis_y
        Orthonormal polynomials, of the same degree.
    reduced
        Whether A has the reduced set of monomials, see `gram_exponents`.

    Returns
    -------
    ConstrainedSolution

    Raises
    ------
    FloatingPointError
        If the solver stops early; names its status and residual.
    """
    exponents = gram_exponents(
        basis_x.points.shape[1], basis_y.points.shape[1], basis_x.degree, reduced
    )
    C = to_numpy(linear)
    coefficients, gram_terms = _matching(basis_x, basis_y, exponents)
    count, entries = C.size, gram_terms.shape[1]
    normalised = sparse.csc_array(([1.0], ([0], [0])), shape=(1, count + entries))
    equations = sparse.vstack(
        [sparse.hstack([coefficients, -gram_terms]), normalised], format="csc"
    )
    cone = sparse.hstack([sparse.csc_array((entries, count)), -sparse.eye_array(entries)])
    quadratic = sparse.diags_array(
        np.concatenate([np.full(count, 2.0 * scale), np.zeros(entries)]), format="csc"
    )
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(quadratic),
        np.concatenate([-2.0 * C.ravel(), np.zeros(entries)]),
        sparse.csc_matrix(sparse.vstack([equations, cone])),
        np.concatenate([np.zeros(equations.shape[0] - 1), [1.0], np.zeros(entries)]),
        [clarabel.ZeroConeT(equations.shape[0]), clarabel.PSDTriangleConeT(len(exponents))],
        _settings(entries),
    ).solve()
    return _checked(solution, C.shape, array_namespace(linear))


def _checked(solution, shape: tuple[int, int], xp) -> ConstrainedSolution:
    residual = float(max(solution.r_prim, solution.r_dual))
    status = str(solution.status)
    if status not in _ACCEPTED:
        raise FloatingPointError(
            f"Clarabel stopped early: status {status}, residual {residual:.3g} after "
            f"{solution.iterations} iterations; raise the regularization or use solver='samples'"
        )
    H = np.reshape(np.asarray(solution.x)[: shape[0] * shape[1]], shape).copy()
    H[0, 0] = 0.0
    name = "optimal" if status == "Solved" else "nearly optimal"
    return ConstrainedSolution(xp.asarray(H), name, residual, int(solution.iterations))


def _settings(entries: int):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # One thread: results may not depend on how many cores there are.
    settings.max_threads = 1
    if entries > _SMALL:
        settings.direct_solve_method = "faer"
    return settings


def _matching(basis_x: PolynomialBasis, basis_y: PolynomialBasis, exponents):
    """Return sparse matrices from M and from the entries of A to coefficients of monomials.

    Monomials are of the standardised variables. A is given by its upper triangle by columns, off
    the diagonal times √2, as Clarabel has it.
    """
    products = {
        y + x: i for i, (y, x) in enumerate(itertools.product(basis_y.exponents, basis_x.exponents))
    }
    d_x = basis_x.points.shape[1]
    rows, columns, values = [], [], []
    pairs = ((i, j) for j in range(len(exponents)) for i in range(j + 1))
    for column, (i, j) in enumerate(pairs):
        total = tuple(a + b for a, b in zip(exponents[i], exponents[j], strict=True))
        # Monomials that 1 + h cannot have come after its own, with coefficient zero.
        rows.append(products.setdefault(total[d_x:] + total[:d_x], len(products)))
        columns.append(column)
        values.append(1.0 if i == j else np.sqrt(2.0))
    shape = (len(products), len(exponents) * (len(exponents) + 1) // 2)
    terms = sparse.csc_array((values, (rows, columns)), shape=shape)
    of_m = np.kron(to_numpy(basis_y.inverse), to_numpy(basis_x.inverse))
    padding = sparse.csc_array((shape[0] - of_m.shape[0], of_m.shape[1]))
    return sparse.vstack([sparse.csc_array(of_m), padding]), terms
