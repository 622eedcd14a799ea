"""Double-orthogonal bases of functions of one variable (jdl, sections 4.2 and 4.5).

A basis Ψ is orthonormal in its Hilbert space and orthogonal under the training rows. What an
estimator needs of the n rows are sums over them, so that rows of Ψ exist for a chunk at a time.
"""

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import NamedTuple

from kcde.arrays import array_namespace, cholesky, row_blocks, solve_triangular, take_rows, to_numpy
from kcde.estimators.base import CommonOptions
from kcde.kernels import GaussianKernel, as_bandwidths, median_trick
from kcde.linalg import PivotedCholesky, pivoted_cholesky, symmetric_spectrum
from kcde.seeding import rng_of

# Share of a monomial's square below which its part outside the others is rounding.
_DEPENDENT = 1e-12
_MEDIAN_ROWS = 1000


class Basis:
    """Ψ = L V over the training rows.

    A subclass gives `features(points)`, Ψ at points (k, d), shape (k, m), `coordinates(rows)`,
    rows of L, shape (len rows, m), for a slice of the training rows, and `average_over`.

    Attributes
    ----------
    points
        The training rows, shape (n, d); some of them, where averages are of rows read in blocks.
    rank
        m, the number of functions.
    mean
        Averages of Ψ over the rows, shape (m,).
    second_moments
        Averages of Ψ², shape (m,): Λ/n.
    rotation
        V, shape (m, m).
    """

    @property
    def rank(self) -> int:
        """m, the number of functions."""
        return self.mean.shape[0]

    def coordinates_at(self, points):
        """Return rows of L at any points (k, d), shape (k, m)."""
        return self.features(points)

    def blocks(self, width: int = 0) -> list[slice]:
        """Return slices of the training rows, for temporaries of m + width numbers a row."""
        n, width = self.points.shape[0], self.rank + width
        return row_blocks(n, width, cached=True, like=self.points)

    def mean_coordinates(self, values: Callable, width: int):
        """Return averages of value × coordinate, a column of L, over the training rows: (width, m).

        `values` maps a slice of the rows to values of shape (len rows, width). n m (d + m + width)
        time at most.
        """
        total = array_namespace(self.points).zeros((width, self.rank), dtype=self.points.dtype)
        for rows in self.blocks(width):
            total += values(rows).T @ self.coordinates(rows)
        return total / self.points.shape[0]

    @cached_property
    def extrema(self):
        """Smallest and largest value of each function over the training rows, shapes (m,)."""
        xp = array_namespace(self.points)
        lowest = xp.full_like(self.mean, xp.inf)
        highest = -lowest
        for rows in self.blocks():
            values = self.coordinates(rows) @ self.rotation
            lowest = xp.minimum(lowest, xp.min(values, axis=0))
            highest = xp.maximum(highest, xp.max(values, axis=0))
        return lowest, highest


class KernelBasis(Basis):
    """Ψ(x) = k(x, X_P) B V with V Λ Vᵀ = Lᵀ L, from a pivoted Cholesky factor: (21), (28).

    n m² multiplications for Lᵀ L and m³ for its spectrum.

    `points` are the training rows, shape (n, d).
    """

    def __init__(self, factor: PivotedCholesky, points):
        self.factor, self.points = factor, points
        xp = array_namespace(points)
        n, m = points.shape[0], factor.pivots.shape[0]
        gram, total = xp.zeros((m, m), dtype=points.dtype), xp.zeros(m, dtype=points.dtype)
        for rows in row_blocks(n, m, like=points):
            L = self.coordinates(rows)
            gram += L.T @ L
            total += xp.sum(L, axis=0)
        self.average_over(gram / n, total / n)

    def average_over(self, gram, mean):
        """Diagonalise the averages of LᵀL, given those of L; return V, shape (m, m)."""
        self._gram, self._mean = gram, mean
        self.second_moments, self.rotation = symmetric_spectrum(gram)
        self.mean = mean @ self.rotation
        self.on_pivots = self.factor.B @ self.rotation
        """Q at the pivots, shape (m, m): Ψ(x) = k(x, X_P) Q."""
        return self.rotation

    def truncate(self, tolerance: float) -> "KernelBasis":
        """Return the basis for a looser relative tolerance of the factor; m³ multiplications.

        Its factor is the first columns of this one's, and so are sums over the rows.
        """
        looser = copy(self)
        vars(looser).pop("extrema", None)
        looser.factor = self.factor.truncate(tolerance)
        m = looser.factor.pivots.shape[0]
        looser.average_over(self._gram[:m, :m], self._mean[:m])
        return looser

    def features(self, points):
        """Return Ψ at points of shape (k, d): shape (k, m); k m (d + m) multiplications."""
        return self.factor.kernel(points, self.factor.points) @ self.on_pivots

    def coordinates(self, rows):
        """Return rows of L, shape (len rows, m), recomputed if they are not stored."""
        if self.factor.L is not None:
            return self.factor.L[rows, :]
        return self.coordinates_at(self.points[rows, :])

    def coordinates_at(self, points):
        """Return k(x, X_P) B, rows of L at any points (k, d), shape (k, m)."""
        return self.factor.factor_rows(points)

    def blocks(self, width=0):
        """Return slices of the training rows, for temporaries of m + width numbers a row."""
        if self.factor.L is not None:
            return super().blocks(width)
        # To recompute rows takes so many calls a block that larger blocks are faster.
        return row_blocks(self.points.shape[0], self.rank + width, like=self.points)


@dataclass(eq=False, repr=False)
class GaussianBases(CommonOptions):
    """Hyper-parameters to bases: bandwidths and pivoted Cholesky, for an estimator to inherit.

    The estimator has the hyper-parameter bandwidth_x besides. Estimators that agree in it and in
    tolerance, max_rank, store and random_state have the same basis of the same rows.
    """

    _: KW_ONLY
    tolerance: float = 1e-3
    max_rank: int | None = None
    store: str = "auto"

    def make_basis_x(self, X) -> KernelBasis:
        """Return the basis of functions of x over training rows X (n, d_x); n m_X² time."""
        return self._gaussian_basis(self._scaled(X), self.bandwidth_x, "X")

    def _gaussian_basis(self, points, bandwidth, name: str) -> KernelBasis:
        xp, d = array_namespace(points), points.shape[1]
        if d and not bool(xp.any(xp.max(points, axis=0) > xp.min(points, axis=0))):
            raise ValueError(f"all {points.shape[0]} rows of {name} coincide: leave it out")
        rng = rng_of("pivots", self.random_state, name)
        if bandwidth is None:
            few = to_numpy(take_rows(points, rng.permutation(points.shape[0])[:_MEDIAN_ROWS]))
            bandwidth = median_trick(few, 0.5, name) if d else 1.0
        sigma = as_bandwidths(bandwidth, d, f"bandwidth_{name.lower()}")
        how = {"max_rank": self.max_rank, "store": self.store}
        factor = pivoted_cholesky(GaussianKernel(sigma), points, self.tolerance, **how)
        return KernelBasis(factor, points)


@dataclass(eq=False, repr=False)
class GaussianPairBases(GaussianBases):
    """Bases of x and of y, and the hyper-parameters of `JDL` and `CME`."""

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float = 1e-3
    _: KW_ONLY
    constrained: bool | str = False

    def make_basis_y(self, Y) -> KernelBasis:
        """Return the basis of functions of y over training rows Y (n, d_y); n m_Y² time."""
        return self._gaussian_basis(self._scaled(Y), self.bandwidth_y, "Y")


class PolynomialBasis(Basis):
    """Orthonormal polynomials of the training rows, constant first, by degree (section 4.5).

    Monomials of the standardised variables, orthonormalised by the Cholesky factor of their Gram
    matrix: Ψ = τ R⁻ᵀ, G = R Rᵀ. Standardising leaves the space of polynomials as it is, and G far
    better conditioned. n m² multiplications.

    `degree` is q: all monomials of at most this total degree.

    Raises
    ------
    ValueError
        If a column is constant or the monomials are dependent over the rows.
    """

    def __init__(self, points, degree: int, name: str = "X"):
        self.points, self.degree, self._name = points, degree, name
        xp = array_namespace(points)
        n, d = points.shape
        if (count := math.comb(d + degree, degree)) > n:
            remedy = f"give more than {n} rows, or a lower degree"
            raise ValueError(f"{count} monomials in {name} are dependent: {remedy}")
        self.exponents = graded_exponents(d, degree)
        self._centre, self._scale = xp.mean(points, axis=0), xp.std(points, axis=0)
        if not bool(xp.all(xp.max(points, axis=0) > xp.min(points, axis=0))):
            raise ValueError(f"{name} has a constant column: leave it out")
        m = len(self.exponents)
        gram = xp.zeros((m, m), dtype=points.dtype)
        for rows in row_blocks(n, m, cached=True, like=points):
            monomials = self._monomials(points[rows, :])
            gram += monomials.T @ monomials
        self.inverse = self._orthonormalising(gram / n)
        self.rotation = xp.eye(m, dtype=points.dtype)
        self.second_moments = xp.ones(m, dtype=points.dtype)
        self.mean = self.rotation[0, :]

    def _orthonormalising(self, gram):
        """Return R⁻ᵀ of averages R Rᵀ of products, shape (m, m)."""
        xp, lower = array_namespace(gram), cholesky(gram)
        # Squares of the diagonal are what a monomial adds to those before it.
        diagonal = xp.linalg.diagonal
        if lower is None or bool(xp.any(diagonal(lower) ** 2 <= _DEPENDENT * diagonal(gram))):
            raise ValueError(f"{len(gram)} monomials in {self._name} are dependent: lower degree")
        return solve_triangular(lower, xp.eye(gram.shape[0], dtype=gram.dtype), transpose=True)

    def average_over(self, gram, mean):
        """Make Ψ orthonormal under averages of ΨᵀΨ of other rows; return what it is turned by."""
        change = self._orthonormalising(gram)
        self.inverse = self.inverse @ change
        return change

    def features(self, points):
        """Return Ψ at points of shape (k, d): shape (k, m)."""
        return self._monomials(points) @ self.inverse

    def coordinates(self, rows):
        """Return Ψ at a slice of the training rows, shape (len rows, m)."""
        return self.features(self.points[rows, :])

    def _monomials(self, points):
        xp = array_namespace(points)
        standard = (points - self._centre) / self._scale
        columns = {self.exponents[0]: xp.ones(points.shape[0], dtype=points.dtype)}
        for exponent in self.exponents[1:]:
            i = next(j for j, power in enumerate(exponent) if power)
            smaller = tuple(p - (j == i) for j, p in enumerate(exponent))
            columns[exponent] = columns[smaller] * standard[:, i]
        return xp.stack(list(columns.values()), axis=1)


def graded_exponents(dimension: int, degree: int) -> list[tuple[int, ...]]:
    """Return the exponents of all monomials up to a total degree, by degree, constant first."""
    return [
        tuple(chosen.count(i) for i in range(dimension))
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(dimension), total)
    ]


class Projection(NamedTuple):
    """A function f of y as an estimator sees it: mean (q,) and coefficients (m_Y, q), and f."""

    mean: object
    coefficients: object
    function: Callable


def centred_mean_of(f: Callable, basis: Basis) -> Projection:
    """Return averages over the training rows of f and of (f - f̄) × Ψ, in one pass.

    The average of Ψ is that of the same pass, so that a constant f gives exactly zero.

    f maps (k, d) to (k, q).
    """
    xp = array_namespace(basis.points)
    width = f(basis.points[:1, :]).shape[1]
    total = xp.zeros(width, dtype=basis.points.dtype)

    def values(rows):
        nonlocal total
        found = f(basis.points[rows, :])
        total = total + xp.sum(found, axis=0)
        return xp.concat([found, xp.ones((found.shape[0], 1), dtype=found.dtype)], axis=1)

    products = basis.mean_coordinates(values, width + 1) @ basis.rotation
    mean = total / basis.points.shape[0]
    return Projection(mean, (products[:-1, :] - mean[:, None] * products[-1:, :]).T, f)
