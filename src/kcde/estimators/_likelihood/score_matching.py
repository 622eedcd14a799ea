"""Conditional score matching in a space of low rank (kcef, section 3).

With T(x, y) = φ(x)ᵀ Θ ψ(y) the empirical score, the mean of ½(∂_y T)² + ∂_y² T + ∂_y T ∂_y log q_0,
is ½ θᵀ A θ + bᵀ θ in θ = vec Θ, with z = φ(x) ⊗ ψ′(y), A = mean z zᵀ and
b = mean φ(x) ⊗ (ψ″(y) + ψ′(y) ∂_y log q_0(y)); so that θ = -(A + λI)⁻¹ b.
"""

from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.estimators._likelihood.features import KernelFeatures
from kcde.estimators._shared.location_scale import LocationScale
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory

CELLS_FROM = 2000
"""Rows from which y is put in cells."""

CELLS_PER_BANDWIDTH = 25
"""A row differs from the mean of its cell by so little that A moves by about 1e-4 of its size."""


class ScoreMoments(NamedTuple):
    """Sums over some rows: those of shards add up to those of all.

    Attributes
    ----------
    count
        n.
    quadratic, linear
        n A, shape (m, m), and n b, shape (r_x, r_y), m = r_x r_y; on the host.
    """

    count: int
    quadratic: np.ndarray
    linear: np.ndarray

    def plus(self, other: "ScoreMoments") -> "ScoreMoments":
        """Return the sums over the rows of both."""
        return ScoreMoments(*(own + more for own, more in zip(self, other, strict=True)))

    def minus(self, other: "ScoreMoments") -> "ScoreMoments":
        """Return the sums without some of the rows."""
        return ScoreMoments(*(own - less for own, less in zip(self, other, strict=True)))

    def solve(self, regularization: float) -> np.ndarray:
        """Return Θ, shape (r_x, r_y), by one Cholesky factorisation, m³/3.

        Raises
        ------
        numpy.linalg.LinAlgError
            If A + λI is not positive definite to rounding.
        """
        mean = self.quadratic / self.count
        factor = factor_positive_definite(mean, shift=regularization, overwrite=True)
        return -factor.solve(self.linear.ravel() / self.count).reshape(self.linear.shape)

    def objective(self, theta: np.ndarray, regularization: float) -> float:
        """Return the empirical score plus λ/2 ‖Θ‖²."""
        flat = theta.ravel()
        value = 0.5 * flat @ self.quadratic @ flat + flat @ self.linear.ravel()
        return float(value / self.count + 0.5 * regularization * flat @ flat)


def score_moments(
    x: KernelFeatures, y: KernelFeatures, X, Y, base: LocationScale, cell: float | None = None
) -> ScoreMoments:
    """Return the sums of A and b over rows.

    Row by row A costs n m². Where a cell of y with the rows q has one ψ′, that of its mean, A is
    Σ_q (Σ_{i in q} φ_i φ_iᵀ) ⊗ ψ′_q ψ′_qᵀ, which costs n r_x² + Q m² for Q cells. b is exact.

    Parameters
    ----------
    x, y
        φ and ψ, the latter without a constant.
    X, Y
        Shapes (n, d) and (n, 1).
    base
        q_0.
    cell
        Width of a cell of y; None: row by row.

    Raises
    ------
    InsufficientMemory
        If A does not fit.
    """
    m = x.rank * y.rank
    require_memory(
        X, "score matching with features", m, lambda m: 3 * m * m, remedy="take smaller ranks"
    )
    rows = _by_row if cell is None else _by_cell
    return ScoreMoments(X.shape[0], *rows(x, y, X, Y, base, cell))


def _by_row(x, y, X, Y, base, cell) -> tuple[np.ndarray, np.ndarray]:
    m = x.rank * y.rank
    quadratic, linear = np.zeros((m, m)), np.zeros((x.rank, y.rank))
    for rows in row_blocks(X.shape[0], m):
        phi, first, target = _features(x, y, X[rows, :], Y[rows, :], base)
        z = (phi[:, :, None] * first[:, None, :]).reshape(-1, m)
        quadratic += z.T @ z
        linear += phi.T @ target
    return quadratic, linear


def _by_cell(x, y, X, Y, base, cell) -> tuple[np.ndarray, np.ndarray]:
    values = to_numpy(Y)[:, 0]
    order = np.argsort(values, kind="stable")
    values = values[order]
    _, starts = np.unique(np.floor((values - values[0]) / cell), return_index=True)
    ends = np.append(starts[1:], len(values))
    grams = np.zeros((len(starts), x.rank, x.rank))
    linear = np.zeros((x.rank, y.rank))
    for rows in row_blocks(len(values), x.rank + 2 * y.rank):
        some = order[rows]
        phi, _, target = _features(x, y, take_rows(X, some), take_rows(Y, some), base)
        linear += phi.T @ target
        first, last = np.searchsorted(ends, rows.start, "right"), np.searchsorted(starts, rows.stop)
        for q in range(first, last):
            part = phi[max(starts[q] - rows.start, 0) : ends[q] - rows.start]
            grams[q] += part.T @ part
    means = np.add.reduceat(values, starts) / (ends - starts)
    slopes = to_numpy(y.derivatives(array_namespace(Y).asarray(means[:, None]))[0])
    return _kronecker_sum(grams, slopes), linear


def _features(x, y, X, Y, base) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return φ, ψ′ and ψ″ + ψ′ ∂ log q_0, on the host."""
    first, second = (to_numpy(each) for each in y.derivatives(Y))
    slope = to_numpy(base.slope(Y))
    return to_numpy(x(X)), first, second + first * slope


def _kronecker_sum(grams: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return Σ_q G_q ⊗ s_q s_qᵀ, shape (m, m), of G (Q, r_x, r_x) and s (Q, r_y)."""
    count, r_x, _ = grams.shape
    r_y = slopes.shape[1]
    outer = (slopes[:, :, None] * slopes[:, None, :]).reshape(count, r_y * r_y)
    found = np.empty((r_x, r_y, r_x, r_y))
    for a in range(r_x):
        block = (grams[:, a, :].T @ outer).reshape(r_x, r_y, r_y)
        found[a] = block.transpose(1, 0, 2)
    return found.reshape(r_x * r_y, r_x * r_y)


def cell_width(n: int, bandwidth: float) -> float | None:
    """Return the width of the cells of y for n rows; None: row by row."""
    return bandwidth / CELLS_PER_BANDWIDTH if n >= CELLS_FROM else None
