"""Double-orthogonal bases of functions of one variable (jdl, sections 4.2 and 4.5).

A basis Ψ is orthonormal in its Hilbert space and orthogonal under the training rows. What an
estimator needs of the n rows are sums over them, so that rows of Ψ exist for a chunk at a time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property
from itertools import combinations_with_replacement

from kcde.arrays import array_namespace, cholesky, row_blocks, solve_triangular
from kcde.linalg import PivotedCholesky, symmetric_spectrum

# Share of a monomial's square below which its part outside the others is rounding.
_DEPENDENT = 1e-12


class Basis(ABC):
    """Ψ = L V over the training rows; a subclass sets `rotation` and what `coordinates` need.

    Attributes
    ----------
    points
        The training rows, shape (n, d).
    rank
        m, the number of functions.
    mean
        Averages of Ψ over the rows, shape (m,).
    second_moments
        Averages of Ψ², shape (m,): Λ/n.
    rotation
        V, shape (m, m).
    """

    points: object
    mean: object
    second_moments: object
    rotation: object

    @property
    def rank(self) -> int:
        """m, the number of functions."""
        return self.mean.shape[0]

    @abstractmethod
    def features(self, points):
        """Return Ψ at points of shape (k, d): shape (k, m)."""

    @abstractmethod
    def coordinates(self, rows: slice):
        """Return rows of L, shape (len rows, m), for a slice of the training rows."""

    @abstractmethod
    def bounds(self):
        """Return lower and upper bounds of each function at every point, shapes (m,)."""

    def blocks(self, width: int = 0) -> list[slice]:
        """Return slices of the training rows, for temporaries of m + width numbers a row."""
        n, width = self.points.shape[0], self.rank + width
        return row_blocks(n, width, cached=True, like=self.points)

    def mean_products(self, values: Callable, width: int):
        """Return averages of value × function over the training rows, shape (width, m).

        n m (d + m + width) time at most.

        Parameters
        ----------
        values
            Maps a slice of the rows to values of shape (len rows, width).
        width
            Number of values per row.
        """
        return self.mean_coordinates(values, width) @ self.rotation

    def mean_coordinates(self, values: Callable, width: int):
        """Return the same averages of value × coordinate, a column of L."""
        xp = array_namespace(self.points)
        total = xp.zeros((width, self.rank), dtype=self.points.dtype)
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

    Parameters
    ----------
    factor
        Factor of the kernel matrix of the training rows.
    points
        The training rows, shape (n, d).
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
        self._rotate(gram / n, total / n)

    def _rotate(self, gram, mean):
        """Diagonalise the averages of LᵀL, given those of L."""
        self._gram, self._mean = gram, mean
        self.second_moments, self.rotation = symmetric_spectrum(gram)
        self.mean = mean @ self.rotation
        self.on_pivots = self.factor.B @ self.rotation
        """Q at the pivots, shape (m, m): Ψ(x) = k(x, X_P) Q."""

    def truncate(self, tolerance: float) -> "KernelBasis":
        """Return the basis for a looser relative tolerance of the factor; m³ multiplications.

        Its factor is the first columns of this one's, and so are sums over the rows.
        """
        looser = copy(self)
        vars(looser).pop("extrema", None)
        looser.factor = self.factor.truncate(tolerance)
        m = looser.factor.pivots.shape[0]
        looser._rotate(self._gram[:m, :m], self._mean[:m])
        return looser

    def features(self, points):
        """Return Ψ at points of shape (k, d): shape (k, m); k m (d + m) multiplications."""
        return self.factor.kernel(points, self.factor.points) @ self.on_pivots

    def coordinates(self, rows):
        """Return rows of L, shape (len rows, m), recomputed if they are not stored."""
        if self.factor.L is not None:
            return self.factor.L[rows, :]
        return self.factor.factor_rows(self.points[rows, :])

    def blocks(self, width=0):
        """Return slices of the training rows, for temporaries of m + width numbers a row."""
        if self.factor.L is not None:
            return super().blocks(width)
        # To recompute rows takes so many calls a block that larger blocks are faster.
        return row_blocks(self.points.shape[0], self.rank + width, like=self.points)

    def bounds(self):
        """Return lower and upper bounds of each function at every point, shapes (m,).

        For a kernel with values in [0, 1]: Ψ_j = Σ_p Q_pj k(·, x_p) lies between the sums of its
        negative and of its positive coefficients, and within ±‖Ψ_j‖ = ±1.
        """
        xp = array_namespace(self.on_pivots)
        lower = xp.sum(xp.clip(self.on_pivots, max=0.0), axis=0)
        upper = xp.sum(xp.clip(self.on_pivots, min=0.0), axis=0)
        return xp.clip(lower, min=-1.0), xp.clip(upper, max=1.0)


class PolynomialBasis(Basis):
    """Orthonormal polynomials of the training rows, constant first, by degree (section 4.5).

    Monomials of the standardised variables, orthonormalised by the Cholesky factor of their Gram
    matrix: Ψ = τ R⁻ᵀ, G = R Rᵀ. Standardising leaves the space of polynomials as it is, and G far
    better conditioned. n m² multiplications.

    Parameters
    ----------
    points
        The training rows, shape (n, d).
    degree
        q: all monomials of at most this total degree.

    Raises
    ------
    ValueError
        If a column is constant or the monomials are dependent over the rows.
    """

    def __init__(self, points, degree: int, name: str = "X"):
        self.points, self.degree = points, degree
        xp = array_namespace(points)
        n, d = points.shape
        self.exponents = graded_exponents(d, degree)
        self._centre, self._scale = xp.mean(points, axis=0), xp.std(points, axis=0)
        if not bool(xp.all(xp.max(points, axis=0) > xp.min(points, axis=0))):
            raise ValueError(
                f"{name} has a constant column, so that its monomials are dependent: leave it out"
            )
        m = len(self.exponents)
        gram = xp.zeros((m, m), dtype=points.dtype)
        for rows in row_blocks(n, m, cached=True, like=points):
            monomials = self._monomials(points[rows, :])
            gram += monomials.T @ monomials
        lower = self._factor_of(gram / n, name)
        self.inverse = solve_triangular(lower, xp.eye(m, dtype=points.dtype), transpose=True)
        self.rotation = xp.eye(m, dtype=points.dtype)
        self.second_moments = xp.ones(m, dtype=points.dtype)
        self.mean = self.rotation[0, :]

    def features(self, points):
        """Return Ψ at points of shape (k, d): shape (k, m)."""
        return self._monomials(points) @ self.inverse

    def coordinates(self, rows):
        """Return Ψ at a slice of the training rows, shape (len rows, m)."""
        return self.features(self.points[rows, :])

    def bounds(self):
        """Polynomials are unbounded: always a `TypeError`."""
        raise TypeError("polynomials have no bounds: constrain them by sums of squares")

    def _monomials(self, points):
        xp = array_namespace(points)
        standard = (points - self._centre) / self._scale
        columns = [xp.ones(points.shape[0], dtype=points.dtype)]
        places = {(0,) * points.shape[1]: 0}
        for exponent in self.exponents[1:]:
            i = next(j for j, power in enumerate(exponent) if power)
            smaller = tuple(p - (j == i) for j, p in enumerate(exponent))
            places[exponent] = len(columns)
            columns.append(columns[places[smaller]] * standard[:, i])
        return xp.stack(columns, axis=1)

    def _factor_of(self, gram, name):
        xp = array_namespace(gram)
        lower = cholesky(gram)
        # Squares of the diagonal are what a monomial adds to those before it.
        if lower is None or bool(
            xp.any(xp.linalg.diagonal(lower) ** 2 <= _DEPENDENT * xp.linalg.diagonal(gram))
        ):
            raise ValueError(
                f"the {len(self.exponents)} monomials of degree up to {self.degree} in {name} are "
                f"dependent over the {self.points.shape[0]} rows: give more rows or lower degree"
            )
        return lower


def graded_exponents(dimension: int, degree: int) -> list[tuple[int, ...]]:
    """Return the exponents of all monomials up to a total degree, by degree, constant first."""
    return [
        tuple(chosen.count(i) for i in range(dimension))
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(dimension), total)
    ]
