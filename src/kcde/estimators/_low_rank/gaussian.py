"""Bases of Gaussian kernels, from the hyper-parameters of an estimator."""

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._low_rank.basis import KernelBasis
from kcde.kernels import GaussianKernel, as_bandwidths, median_trick
from kcde.linalg import pivoted_cholesky
from kcde.seeding import rng_of

_MEDIAN_ROWS = 1000


class GaussianBases:
    """Hyper-parameters to bases: bandwidths and pivoted Cholesky, for an estimator to inherit.

    The estimator has hyper-parameters bandwidth_x, tolerance, max_rank, pivots, store and
    random_state. Estimators that agree in these have the same basis of the same rows.
    """

    def make_basis_x(self, X) -> KernelBasis:
        """Return the basis of functions of x over training rows X (n, d_x); n m_X² time."""
        return self._gaussian_basis(X, self.bandwidth_x, "X")

    def _gaussian_basis(self, points, bandwidth, name: str) -> KernelBasis:
        _check_variation(points, name)
        rng = rng_of("pivots", self.random_state, name)
        if bandwidth is None:
            rows = rng.permutation(points.shape[0])[:_MEDIAN_ROWS]
            few = to_numpy(take_rows(points, rows))
            bandwidth = median_trick(few, 0.5, name) if points.shape[1] else 1.0
        sigma = as_bandwidths(bandwidth, points.shape[1], f"bandwidth_{name.lower()}")
        factor = pivoted_cholesky(
            GaussianKernel(sigma),
            points,
            self.tolerance,
            max_rank=self.max_rank,
            store=self.store,
            pivots=self.pivots,
            rng=rng,
        )
        return KernelBasis(factor, points)


class GaussianPairBases(GaussianBases):
    """Bases of x and of y, and the hyper-parameters of `JDL` and `CME`."""

    def __init__(
        self,
        bandwidth_x=None,
        bandwidth_y=None,
        regularization=1e-3,
        *,
        tolerance=1e-3,
        constrained=False,
        max_rank=None,
        pivots="greedy",
        store="auto",
        random_state=0,
    ):
        self.bandwidth_x = bandwidth_x
        self.bandwidth_y = bandwidth_y
        self.regularization = regularization
        self.tolerance = tolerance
        self.constrained = constrained
        self.max_rank = max_rank
        self.pivots = pivots
        self.store = store
        self.random_state = random_state

    def make_basis_y(self, Y) -> KernelBasis:
        """Return the basis of functions of y over training rows Y (n, d_y); n m_Y² time."""
        return self._gaussian_basis(Y, self.bandwidth_y, "Y")


def _check_variation(points, name: str) -> None:
    """Raise `ValueError` where all points coincide: points without coordinates do not."""
    xp = array_namespace(points)
    if points.shape[1] and not bool(xp.any(xp.max(points, axis=0) > xp.min(points, axis=0))):
        raise ValueError(
            f"all {points.shape[0]} rows of {name} coincide, so that its kernel matrix has rank "
            "one and nothing can be learnt from it; leave the variable out"
        )
