"""Conditional score matching in a space of low rank (kcef, section 3).

With T(x, y) = φ(x)ᵀ Θ ψ(y) the empirical score, the mean of ½(∂_y T)² + ∂_y² T + ∂_y T ∂_y log q_0,
is ½ θᵀ A θ + bᵀ θ in θ = vec Θ, with z = φ(x) ⊗ ψ′(y), A = mean z zᵀ and
b = mean φ(x) ⊗ (ψ″(y) + ψ′(y) ∂_y log q_0(y)); so that θ = -(A + λI)⁻¹ b.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kcde.arrays import row_blocks, take_rows, to_numpy
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
    x: KernelFeatures,
    y: KernelFeatures,
    blocks: Iterable[tuple],
    base: LocationScale,
    cell: float | None = None,
) -> ScoreMoments:
    """Return the sums of A and b over rows.

    Row by row A costs n m². Where a cell of y with the rows q has one ψ′, that of its mean, A is
    Σ_q (Σ_{i in q} φ_i φ_iᵀ) ⊗ ψ′_q ψ′_qᵀ, which costs n r_x² + Q m² for Q cells. b is exact.

    Parameters
    ----------
    x, y
        φ and ψ, the latter without a constant.
    blocks
        X (b, d) and Y (b, 1) of some rows each.
    base
        q_0.
    cell
        Width of a cell of y; None: row by row.

    Raises
    ------
    InsufficientMemory
        If A does not fit.
    """
    total, linear, count = _Rows(x, y) if cell is None else _Cells(x, y, cell), 0.0, 0
    for X, Y in blocks:
        order = total.order(to_numpy(Y)[:, 0])
        for rows in row_blocks(len(order), total.width):
            some = take_rows(X, order[rows]), take_rows(Y, order[rows])
            phi = to_numpy(x(some[0]))
            first, second = (to_numpy(each) for each in y.derivatives(some[1]))
            values = to_numpy(some[1])
            linear = linear + phi.T @ (second + first * base.slope(values))
            total.add(phi, first, values[:, 0])
        count += len(order)
    return ScoreMoments(count, total.quadratic(), linear)


class _Rows:
    """n A row by row."""

    def __init__(self, x: KernelFeatures, y: KernelFeatures):
        self.width = _require_system(x, y)
        self._sum = np.zeros((self.width, self.width))

    def order(self, y: np.ndarray) -> np.ndarray:
        """Return the order in which the rows of a block are best added."""
        return np.arange(len(y))

    def add(self, phi: np.ndarray, first: np.ndarray, y: np.ndarray) -> None:
        """Add rows with φ, ψ′ and y."""
        z = (phi[:, :, None] * first[:, None, :]).reshape(len(phi), -1)
        self._sum += z.T @ z

    def quadratic(self) -> np.ndarray:
        """Return n A."""
        return self._sum


class _Cells:
    """n A with one ψ′ for each cell of y."""

    def __init__(self, x: KernelFeatures, y: KernelFeatures, cell: float):
        _require_system(x, y)
        self.width = x.rank + 2 * y.rank
        self._y, self._cell = y, cell
        self._grams: dict[int, np.ndarray] = {}
        self._sums: dict[int, np.ndarray] = {}

    def order(self, y: np.ndarray) -> np.ndarray:
        """Return the order in which the rows of a block are best added: by y."""
        return np.argsort(y, kind="stable")

    def add(self, phi: np.ndarray, first: np.ndarray, y: np.ndarray) -> None:
        """Add rows with φ, ψ′ and y, sorted by y."""
        numbers, starts = np.unique(np.floor(y / self._cell).astype(np.int64), return_index=True)
        for number, part in zip(
            numbers.tolist(), np.split(np.arange(len(y)), starts[1:]), strict=True
        ):
            rows = slice(part[0], part[-1] + 1)
            gram, sums = phi[rows].T @ phi[rows], np.array([y[rows].sum(), len(part)])
            self._grams[number] = self._grams.get(number, 0.0) + gram
            self._sums[number] = self._sums.get(number, 0.0) + sums

    def quadratic(self) -> np.ndarray:
        """Return n A."""
        sums, counts = np.stack(list(self._sums.values())).T
        slopes = to_numpy(self._y.derivatives(self._y.as_points(sums / counts))[0])
        return _kronecker_sum(np.stack(list(self._grams.values())), slopes)


def _require_system(x: KernelFeatures, y: KernelFeatures) -> int:
    """Return m, if matrices of m rows fit into memory."""
    m, what = x.rank * y.rank, "score matching with features"
    require_memory(np.empty(0), what, m, lambda m: 3 * m * m, remedy="take smaller ranks")
    return m


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
