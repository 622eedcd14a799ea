"""Gaussian pairs with random correlations and exact conditional moments (jdl, section 5.1).

z = (x, y) has 2d coordinates of mean 0 and standard deviation 1. Its correlation matrix is drawn in
the parametrisation of Archakov and Hansen (2021): the off-diagonal of log C, γ, may be any vector,
and determines C. jdl does not say how γ is distributed; here its elements are independent, and the
caller names their law. Matrix, training and test points of a (d, number) are functions of the same
standard normal draws under every law: at d = 1 the points of x are the same.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcde.data.names import DRAWN_LAW, NORMAL, parsed_law
from kcde.seeding import rng_of

TEST_ROWS = 5000
"""Points at which jdl tests each fit."""

_TOLERANCE = 1e-13
_MOST_ITERATIONS = 1000
_CHUNK = 2**20


@dataclass(frozen=True)
class GaussianPairs:
    """The law of (x, y), each of d coordinates, with mean 0 and unit variances.

    Attributes
    ----------
    correlation
        C, shape (2d, 2d): unit diagonal, positive definite; x comes first.
    """

    correlation: np.ndarray

    @property
    def dim(self) -> int:
        """d, the number of coordinates of x and of y."""
        return len(self.correlation) // 2

    @cached_property
    def canonical_correlation(self) -> float:
        """The largest correlation of a linear function of x with one of y; |ρ| for d = 1."""
        d = self.dim
        of_x, of_y = (np.linalg.cholesky(self.correlation[part, part]) for part in _halves(d))
        whitened = np.linalg.solve(of_x, self.correlation[:d, d:])
        return float(np.linalg.norm(np.linalg.solve(of_y, whitened.T), 2))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n pairs, independently.

        Parameters
        ----------
        n
            Number of pairs.
        rng
            Source of the draws.

        Returns
        -------
        numpy.ndarray, numpy.ndarray
            x and y, each of shape (n, d); 4 n d² multiplications, and the memory of a chunk of
            rows in addition.
        """
        d, lower = self.dim, np.linalg.cholesky(self.correlation)
        X, Y = np.empty((n, d)), np.empty((n, d))
        for start in range(0, n, _CHUNK):
            rows = slice(start, min(start + _CHUNK, n))
            z = rng.standard_normal((rows.stop - start, 2 * d)) @ lower.T
            X[rows], Y[rows] = z[:, :d], z[:, d:]
        return X, Y

    def conditional_mean(self, X: np.ndarray) -> np.ndarray:
        """Return E[y|x], shape (n, d), at X (n, d): C_yx C_xx⁻¹ x."""
        return X @ self._regression

    @cached_property
    def conditional_covariance(self) -> np.ndarray:
        """Cov[y|x], shape (d, d), the same at every x: C_yy - C_yx C_xx⁻¹ C_xy."""
        d = self.dim
        return self.correlation[d:, d:] - self.correlation[d:, :d] @ self._regression

    def conditional_second_moment(self, X: np.ndarray) -> np.ndarray:
        """Return E[y yᵀ|x], shape (n, d, d), at X (n, d): covariance plus the mean's square."""
        mean = self.conditional_mean(X)
        return self.conditional_covariance + mean[:, :, None] * mean[:, None, :]

    @cached_property
    def _regression(self) -> np.ndarray:
        d = self.dim
        return np.linalg.solve(self.correlation[:d, :d], self.correlation[:d, d:])


def correlation_of(gamma: np.ndarray) -> np.ndarray:
    """Return the correlation matrix whose logarithm has a given off-diagonal.

    The diagonal of log C is found by the iteration of Archakov and Hansen (2021, corollary 1),
    a ← a - log diag exp(A[a]), a contraction. About 30 to 70 spectra of the matrix.

    Parameters
    ----------
    gamma
        γ, shape (k(k-1)/2,): the elements of log C below the diagonal, row by row.

    Returns
    -------
    numpy.ndarray
        C, shape (k, k), unit diagonal.

    Raises
    ------
    ValueError
        If γ does not have the length of a triangle, is not finite, or is so large that C is
        numerically singular.
    """
    gamma = np.asarray(gamma, dtype=np.float64)
    k = round((1.0 + np.sqrt(1.0 + 8.0 * gamma.size)) / 2.0)
    if gamma.shape != (k * (k - 1) // 2,) or k < 2:
        raise ValueError(
            f"gamma must have k(k-1)/2 elements, those below a diagonal; got shape {gamma.shape}"
        )
    if not np.all(np.isfinite(gamma)):
        raise ValueError("gamma has NaN or infinite elements; give finite ones")
    log_c = np.zeros((k, k))
    log_c[np.tril_indices(k, -1)] = gamma
    log_c += log_c.T
    for _ in range(_MOST_ITERATIONS):
        correlation = _exponential(log_c)
        step = np.log(np.diag(correlation))
        if np.linalg.norm(step) < _TOLERANCE * np.sqrt(k):
            return _positive_definite(correlation, gamma)
        log_c[np.diag_indices(k)] -= step
    raise ValueError(
        f"no correlation matrix found for gamma of norm {np.linalg.norm(gamma):.3g} within "
        f"{_MOST_ITERATIONS} iterations; give smaller elements"
    )


def random_pairs(dim: int, number: int, law: str = DRAWN_LAW) -> GaussianPairs:
    """Return the law with the number-th random correlation matrix of its dimension.

    Parameters
    ----------
    dim
        d, of x and of y.
    number
        From 0; the matrix depends on (dim, number, law) alone.
    law
        Of the independent elements of γ, see `kcde.data.names.parsed_law`. For d = 1 the
        correlation of x and y is tanh γ.

    Raises
    ------
    ValueError
        If the dimension is not positive or the law is unknown.
    """
    if dim < 1:
        raise ValueError(f"the dimension of x and y must be at least 1; got {dim}")
    kind, size = parsed_law(law)
    drawn = rng_of("gaussian-correlation", dim, number).standard_normal(dim * (2 * dim - 1))
    # Under every law an increasing function of the same draws, so that laws are comparable.
    return GaussianPairs(correlation_of(size * (drawn if kind == NORMAL else _uniform(drawn))))


def training_pairs(law: GaussianPairs, n: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n pairs that a fit of the number-th matrix trains and validates on, (n, d) each.

    They depend on (d, n, number) alone, so that every method is given the same.
    """
    return law.draw(n, rng_of("gaussian-training", law.dim, n, number))


def held_out_pairs(
    law: GaussianPairs, number: int, count: int = TEST_ROWS
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs at which every fit of the number-th matrix is tested, for every n."""
    return law.draw(count, rng_of("gaussian-test", law.dim, number))


def _halves(d: int) -> tuple[slice, slice]:
    """Return the places of x and of y among the 2d coordinates."""
    return slice(0, d), slice(d, 2 * d)


def _uniform(normal: np.ndarray) -> np.ndarray:
    """Return numbers that are uniform on (-1, 1) where those given are standard normal."""
    from scipy.special import ndtr

    return 2.0 * ndtr(normal) - 1.0


def _exponential(symmetric: np.ndarray) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(symmetric)
    return (vectors * np.exp(eigenvalues)) @ vectors.T


def _positive_definite(correlation: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Return the matrix with a diagonal of exactly one, unless it is singular to rounding."""
    np.fill_diagonal(correlation, 1.0)
    if np.linalg.eigvalsh(correlation)[0] <= len(correlation) * np.finfo(float).eps:
        raise ValueError(
            f"the correlation matrix of gamma of norm {np.linalg.norm(gamma):.3g} is singular to "
            "rounding; give smaller elements"
        )
    return correlation
