"""Reference points of CDO: a grid on a box, or given points (cdo, A.2 and A.3.2)."""

import logging
from itertools import pairwise

import numpy as np

from kcde.arrays import array_namespace, exp_of_negative, to_numpy
from kcde.estimators._shared.mixture import log_volume
from kcde.kernels import GaussianKernel

ON_ONE_AXIS, IN_ALL = 200, 900
"""Default grid sizes: for d_y = 1, and in total for more dimensions."""

_MARGIN = 0.1

log = logging.getLogger(__name__)


class Reference:
    """Points z that are a Cartesian product of factors: the axes of a grid, or one set of points.

    Parameters
    ----------
    factors
        Arrays of shape (M_j, d_j) with Σ d_j = d_y; M = Π M_j.

    Attributes
    ----------
    points
        Shape (M, d_y), the first factor varying slowest.
    """

    def __init__(self, factors):
        self.factors = factors
        ends = np.cumsum([0] + [factor.shape[1] for factor in factors])
        self.columns = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        xp = array_namespace(factors[0])
        points = xp.zeros((1, 0), dtype=factors[0].dtype)
        for factor in factors:
            slow = xp.repeat(points, factor.shape[0], axis=0)
            fast = xp.concat([factor] * points.shape[0])
            points = xp.concat([slow, fast], axis=1)
        self.points = points

    @property
    def size(self) -> int:
        """M."""
        return self.points.shape[0]

    def rows(self, Y, sigma: np.ndarray):
        """Return the normalised densities l(z, y), shape (n, M), at Y (n, d_y) for σ (d_y,)."""
        xp = array_namespace(Y)
        values = None
        for factor, columns in zip(self.factors, self.columns, strict=True):
            own = density_matrix(Y[:, columns], factor, sigma[columns])
            if values is None:
                values = own
            else:
                values = xp.reshape(values[:, :, None] * own[:, None, :], (Y.shape[0], -1))
        return values


def density_matrix(A, B, sigma: np.ndarray):
    """Return N(a; b, diag σ²), shape (len A, len B)."""
    volume = float(np.exp(log_volume(sigma)))
    if A.shape[1] > 1:
        return GaussianKernel(sigma)(A, B) / volume
    # Differences first: on a fine grid the product in GaussianKernel would lose digits.
    z = (A - B.T) / float(sigma[0])
    z *= z
    z *= -0.5
    values = exp_of_negative(z)
    values /= volume
    return values


def make_reference(Y, reference, box, points) -> Reference:
    """Return the reference for training y (n, d_y), and warn where it misses some of them.

    Parameters
    ----------
    Y
        Training y.
    reference, box, points
        Hyper-parameters of `CDO`.

    Raises
    ------
    ValueError
        If the box is empty, or there are fewer than two points.
    """
    xp = array_namespace(Y)
    values = to_numpy(Y)
    if points is not None:
        factor = _checked_points(points, values.shape[1])
        lower, upper = factor.min(axis=0), factor.max(axis=0)
        factors = [factor]
    else:
        lower, upper = _checked_box(box, values)
        counts = _counts(reference, values.shape[1])
        ranges = zip(lower, upper, counts, strict=True)
        factors = [np.linspace(a, b, count)[:, None] for a, b, count in ranges]
    outside = np.mean(np.any((values < lower) | (values > upper), axis=1))
    if outside:
        log.warning(
            "%.3g%% of the training y lie outside the reference box from %s to %s, where the "
            "estimate cannot reach them: widen reference_box",
            100.0 * outside,
            lower.tolist(),
            upper.tolist(),
        )
    return Reference([xp.asarray(factor) for factor in factors])


def _counts(reference, d_y: int) -> np.ndarray:
    if reference is None:
        one = ON_ONE_AXIS if d_y == 1 else int(np.ceil(IN_ALL ** (1.0 / d_y)))
        return np.full(d_y, one)
    counts = np.asarray(reference)
    whole = counts.dtype.kind in "iu" and counts.shape in ((), (d_y,))
    if not whole or np.any(counts < 2):
        raise ValueError(
            "reference must be a whole number of points per dimension, at least 2, or one number "
            f"per dimension, shape ({d_y},); got {reference!r}"
        )
    return np.broadcast_to(counts, (d_y,))


def _checked_box(box, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if box is None:
        lower, upper = values.min(axis=0), values.max(axis=0)
        margin = _MARGIN * (upper - lower)
        return lower - margin, upper + margin
    try:
        ends = [np.broadcast_to(np.asarray(end, dtype=float), values.shape[1:]) for end in box]
        lower, upper = ends
    except (TypeError, ValueError):
        raise ValueError(
            "reference_box must be (lower, upper), numbers or one per dimension of y, shape "
            f"({values.shape[1]},); got {box!r}"
        ) from None
    if not np.all(np.isfinite(lower) & np.isfinite(upper) & (lower < upper)):
        raise ValueError(
            f"reference_box is empty: lower {lower.tolist()} must lie below upper "
            f"{upper.tolist()} in every dimension, both finite"
        )
    return lower, upper


def _checked_points(points, d_y: int) -> np.ndarray:
    factor = np.asarray(to_numpy(points), dtype=np.float64)
    if factor.ndim != 2 or factor.shape[1] != d_y or len(factor) < 2:
        raise ValueError(
            f"reference_points must have shape (M, {d_y}) with M at least 2; got shape "
            f"{factor.shape}"
        )
    if not np.all(np.isfinite(factor)):
        raise ValueError("reference_points has NaN or infinite values; drop those rows first")
    return factor
