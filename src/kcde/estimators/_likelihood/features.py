"""Features of low rank of x and y, and the nodes over which y is integrated."""

from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_rows
from kcde.estimators._shared.floored import LocationScale
from kcde.estimators._shared.rows import by_blocks
from kcde.kernels import GaussianKernel
from kcde.linalg import PivotedCholesky, pivoted_cholesky
from kcde.panels import Pieces, cover, is_wide, mass_outside, neighbourhoods
from kcde.selection import subsample

PIVOT_ROWS = 10_000
"""Rows among which centres are chosen, at most."""

_MARGIN = 6.0  # bandwidths beyond the data, where the kernel is below 2e-8
_PANEL = 2.5  # bandwidths of ten nodes
_SMALLEST_SHARE = 1e-8  # of the trace that features may leave


class KernelFeatures:
    """k(·, C) B of a pivoted Cholesky factorisation, so that inner products are the kernel's.

    On the centres C they are exact; elsewhere they are the projection on the span of k(C, ·).
    """

    def __init__(self, factor: PivotedCholesky, *, constant: bool):
        self._factor, self._constant = factor, constant
        self.rank = factor.B.shape[1] + constant

    @classmethod
    def of_rows(cls, points, bandwidth, rank: int, rng: np.random.Generator, *, constant: bool):
        """Choose at most `rank` centres by randomly pivoted Cholesky among at most 10,000 rows."""
        chosen = take_rows(points, subsample(points.shape[0], PIVOT_ROWS, rng))
        how = {"max_rank": min(rank, chosen.shape[0]), "store": False, "pivots": "rpcholesky"}
        kernel = GaussianKernel(bandwidth)
        factor = pivoted_cholesky(kernel, chosen, _SMALLEST_SHARE, rng=rng, **how)
        return cls(factor, constant=constant)

    def pieces(self, width: float) -> Pieces:
        """Return intervals outside of which features of one dimension vanish, to 2e-8."""
        reach = _MARGIN * float(np.ravel(self._factor.kernel.bandwidth)[0])
        return neighbourhoods(self._factor.points, reach, width)

    def __call__(self, points, dtype=None):
        """Return the features of points (n, d), shape (n, rank), float64 unless `dtype` says."""
        xp = array_namespace(points)
        found = self._factor.factor_rows(points)
        found = found if dtype is None else xp.astype(found, dtype, copy=False)
        if not self._constant:
            return found
        return xp.concat([xp.ones((found.shape[0], 1), dtype=found.dtype), found], axis=1)

    def by_blocks(self, points, dtype=None):
        """Return the same by blocks of rows, without temporaries of the size of the result."""
        width = 2 * self.rank
        return by_blocks(
            lambda rows: self(points[rows, :], dtype), points.shape[0], width, like=points
        )


class OutputGrid(NamedTuple):
    """Nodes of y, with ψ and the logarithms of the weights that integrate against q_0.

    The last node stands for all y beyond the range of the others, where ψ is 0.
    """

    features: object
    log_weights: object

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.features.shape[0]

    def astype(self, dtype) -> "OutputGrid":
        """Return the grid in another floating-point type."""
        xp = array_namespace(self.features)
        return OutputGrid(*(xp.astype(each, dtype, copy=False) for each in self))

    def part(self, nodes: slice) -> "OutputGrid":
        """Return some of the nodes, and the last."""
        xp, (features, log_weights) = array_namespace(self.features), self
        return OutputGrid(
            xp.concat([features[nodes, :], features[-1:, :]]),
            xp.concat([log_weights[nodes], log_weights[-1:]]),
        )


def support(low: float, high: float, bandwidth: float, scale: float) -> tuple[float, float, float]:
    """Return where T can differ from 0, and a panel width that resolves a smooth exp T."""
    margin = _MARGIN * bandwidth
    return low - margin, high + margin, min(_PANEL * bandwidth, scale)


def node_places(features: KernelFeatures, span: tuple, finer: int = 1) -> np.ndarray:
    """Return y at the nodes of `output_grid` but its last, increasing, shape (q - 1,)."""
    return cover(span, _pieces(features, span), finer).nodes


def _pieces(features: KernelFeatures, span: tuple):
    return features.pieces(span[2]) if is_wide(span) else None


def output_grid(
    features: KernelFeatures, base: LocationScale, span: tuple, like, finer: int = 1
) -> OutputGrid:
    """Return the nodes of ten-point Gauss-Legendre panels."""
    xp, pieces = array_namespace(like), _pieces(features, span)
    panels, outside = cover(span, pieces, finer), base.outside(*span[:2])
    if pieces is not None:
        outside = mass_outside(pieces, base.outside)
    log_weights = np.log(panels.weights) + base.log_density(panels.nodes)
    psi = features(xp.asarray(panels.nodes[:, None]))
    psi = xp.concat([psi, xp.zeros((1, psi.shape[1]), dtype=psi.dtype)])
    return OutputGrid(psi, xp.asarray(np.append(log_weights, np.log(max(outside, 1e-300)))))
