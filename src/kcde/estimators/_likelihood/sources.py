"""Pairs that are read in blocks, and their features."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._likelihood.features import KernelFeatures
from kcde.estimators._likelihood.objective import Partial, Preconditioner, Sums, partial
from kcde.estimators._shared.rows import check_rows, check_same_length
from kcde.memory import free_bytes

log = logging.getLogger(__name__)

BLOCK = 1 << 16
"""Rows of a block."""

_SHARE_KEPT = 0.4  # of the free memory, for φ
_SAY_AFTER = 10.0  # seconds between lines of progress


class RowSource(Protocol):
    """Pairs that may not fit into memory; every pass gives the same blocks in the same order."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def blocks(self) -> Iterator[tuple]:
        """Yield X (b, d) and Y (b, 1) in float64."""

    def take(self, rows: np.ndarray) -> tuple:
        """Return X and Y of some rows, sorted row numbers."""


class ArrayRows:
    """Pairs of arrays, or of memory maps, of which a block at a time is read."""

    def __init__(self, X, Y, block: int = BLOCK):
        check_same_length(X, Y)
        self._X, self._Y, self._block = X, Y, block

    def __len__(self) -> int:
        return self._X.shape[0]

    def blocks(self) -> Iterator[tuple]:
        """Yield X (b, d) and Y (b, 1) in float64."""
        n = len(self)
        for start in range(0, n, self._block):
            rows = slice(start, min(start + self._block, n))
            yield _checked(self._X[rows, ...], self._Y[rows, ...])

    def take(self, rows: np.ndarray) -> tuple:
        """Return X and Y of some rows, sorted row numbers."""
        if isinstance(self._X, np.memmap):
            return _checked(np.asarray(self._X[rows]), np.asarray(self._Y[rows]))
        return _checked(take_rows(self._X, rows), take_rows(self._Y, rows))


def _checked(X, Y) -> tuple:
    return check_rows("X", X), check_rows("Y", Y, vector=True)


class Scales(NamedTuple):
    """Standard deviations of x, shape (d,), 1 where a column is constant; mean and std of y."""

    x: np.ndarray
    mean: float
    std: float


def scales(source: RowSource) -> Scales:
    """Return the scales of all rows, in one pass (Chan, Golub and LeVeque 1983)."""
    count, mean, squares, low, high = 0, 0.0, 0.0, np.inf, -np.inf
    for X, Y in source.blocks():
        block = np.hstack([to_numpy(X), to_numpy(Y)])
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        here, rows = block.mean(axis=0), len(block)
        shift = here - mean
        total = count + rows
        squares = squares + ((block - here) ** 2).sum(axis=0) + shift**2 * count * rows / total
        mean, count = mean + shift * rows / total, total
    # The deviation of a constant column such as 0.1 is not 0 by rounding.
    std = np.where(high > low, np.sqrt(squares / count), 0.0)
    return Scales(np.where(std[:-1] > 0, std[:-1], 1.0), float(mean[-1]), float(std[-1]))


class FeatureRows:
    """φ and ψ of a source, and the sums that the likelihood needs of them.

    φ is kept where it takes less than 40% of the free memory, and recomputed in every pass
    where it does not.
    """

    def __init__(self, source: RowSource, x: KernelFeatures, y: KernelFeatures, dtype):
        self._source, self._x, self._y, self.dtype = source, x, y, dtype
        self._kept: list | None = None
        self._said, self._passes = time.monotonic(), 0

    def __len__(self) -> int:
        return len(self._source)

    def phi(self) -> Iterator:
        """Yield φ by blocks."""
        if self._kept is not None:
            yield from self._kept
            return
        for X, _ in self._source.blocks():
            yield self._x.by_blocks(X, self.dtype)

    def moments(self) -> tuple[np.ndarray, Preconditioner]:
        """Return Σ φψᵀ/n, shape (r_x, r_y), and the preconditioner; one pass, which keeps φ."""
        n, kept, keep = len(self), [], None
        totals = [0.0] * 4
        for X, Y in self._source.blocks():
            phi, psi = self._x.by_blocks(X, self.dtype), self._y.by_blocks(Y, self.dtype)
            if keep is None:
                size = np.dtype(str(phi.dtype).rpartition(".")[2]).itemsize
                keep = n * phi.shape[1] * size < _SHARE_KEPT * free_bytes(phi)
            found = phi.T @ psi, phi.T @ phi, psi.T @ psi, array_namespace(psi).sum(psi, axis=0)
            found = [to_numpy(each).astype(np.float64) for each in found]
            totals = [total + each for total, each in zip(totals, found, strict=True)]
            if keep:
                kept.append(phi)
        self._kept = kept if keep else None
        cross, second, squares, mean = (total / n for total in totals)
        return cross, Preconditioner.of(second, squares - np.outer(mean, mean))

    def sums(self, grid) -> Callable[[np.ndarray], Partial]:
        """Return a function of Θ (1, r_x, r_y): the sums over all rows, see `objective.partial`."""
        kept = None if self._kept is None else [Sums([phi], grid) for phi in self._kept]

        def of(theta: np.ndarray) -> Partial:
            total, done = None, 0
            self._passes += 1
            for number, phi in enumerate(self.phi()):
                part = partial(phi, theta, grid) if kept is None else kept[number](theta)
                total = part if total is None else total.plus(part)
                done += phi.shape[0]
                self._say(done)
            return total

        return of

    def _say(self, done: int) -> None:
        """Log how far the passes are, each ten seconds."""
        if time.monotonic() - self._said > _SAY_AFTER:
            self._said = time.monotonic()
            log.info("gradient %d: %d of %d rows", self._passes, done, len(self))
