"""Maximum mean discrepancy with a Gaussian kernel k(a, b) = exp(-|a - b|²/2σ²) (Gretton 2012).

Everything follows from the mean similarity of each point to a sample, computed in blocks of rows:
n points against m cost O(n m d) time and O(block m) memory, for every n. Kernels are computed
where the samples are; only one number per point is copied to the host.
"""

import math

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.kernels import GaussianKernel

_BLOCK_BYTES = 2**26


def mmd2_unbiased(X, Y, bandwidth: float) -> float:
    """Return the unbiased estimate of MMD² between two samples; it can be negative.

    The mean of k over pairs of different points of X, plus that of Y, minus twice the mean between
    them: Gretton et al. 2012, A kernel two-sample test, equation (3).

    Parameters
    ----------
    X, Y
        Shapes (n, d) and (m, d), at least two rows each.
    bandwidth
        σ, in the units of the data.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a sample is not a finite matrix, has fewer than two rows, the columns differ in number,
        or the bandwidth is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import mmd2_unbiased
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 1)), rng.normal(1.0, 1.0, size=(200, 1))
    >>> round(mmd2_unbiased(X, Y, bandwidth=1.0), 1)
    0.1
    """
    X, Y = as_samples(X=X, Y=Y)
    within = (similarity_within(sample, bandwidth).mean() for sample in (X, Y))
    return float(sum(within) - 2.0 * similarity(X, Y, bandwidth).mean())


def mmd2_biased(X, Y, bandwidth: float) -> float:
    """Return the biased estimate of MMD², which pairs every point with itself as well.

    It is the squared distance of the two empirical mean embeddings, so at least zero: Gretton et
    al. 2012, equation (5).

    Parameters
    ----------
    X, Y
        Shapes (n, d) and (m, d), at least two rows each.
    bandwidth
        σ, in the units of the data.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        As `mmd2_unbiased`.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import mmd2_biased
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 1)), rng.normal(1.0, 1.0, size=(200, 1))
    >>> mmd2_biased(X, X, bandwidth=1.0)
    0.0
    """
    X, Y = as_samples(X=X, Y=Y)
    within = (similarity(sample, sample, bandwidth).mean() for sample in (X, Y))
    return float(max(sum(within) - 2.0 * similarity(X, Y, bandwidth).mean(), 0.0))


def median_bandwidth(X, Y, Z) -> float:
    """Return the bandwidth with which a reference X is compared to two candidates Y and Z.

    The mean over the pairs (X, Y) and (X, Z) of √(median distance / 2). The distance is not
    squared, as in the public code of Bounliphone et al. 2015. Computed on the host.

    Parameters
    ----------
    X, Y, Z
        Shapes (n, d), (m, d) and (r, d).

    Returns
    -------
    float
        Bandwidth in the square root of the data's units, see above; O(n (m + r)) memory.

    Raises
    ------
    ValueError
        As `mmd2_unbiased`, and if the median distance is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import median_bandwidth
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 1)), rng.normal(1.0, 1.0, size=(200, 1))
    >>> round(median_bandwidth(X, Y, X), 1)
    0.7
    """
    from scipy.spatial.distance import cdist

    X, Y, Z = (to_numpy(sample) for sample in as_samples(X=X, Y=Y, Z=Z))
    medians = [float(np.median(cdist(X, other))) for other in (Y, Z)]
    if min(medians) == 0.0:
        raise ValueError(
            "more than half of the points of X coincide with points of Y or Z, so that the median "
            "distance is 0: give a bandwidth, or samples without repeated points"
        )
    return sum(math.sqrt(median / 2.0) for median in medians) / 2.0


def similarity(A, B, bandwidth: float) -> np.ndarray:
    """Return the mean of k(a, b) over the points b of B, for each a: numpy, shape (len A,)."""
    kernel, xp, n = GaussianKernel(bandwidth), array_namespace(A, B), A.shape[0]
    rows = max(1, _BLOCK_BYTES // (8 * B.shape[0]))
    blocks = [slice(k, min(k + rows, n)) for k in range(0, n, rows)]
    return to_numpy(xp.concat([xp.mean(kernel(A[block, :], B), axis=1) for block in blocks]))


def similarity_within(A, bandwidth: float) -> np.ndarray:
    """Return the mean of k(a, b) over the other points b of A, for each a: shape (len A,)."""
    n = A.shape[0]
    return (n * similarity(A, A, bandwidth) - 1.0) / (n - 1)  # k(a, a) = 1


def as_samples(*, at_least: int = 2, **samples) -> list:
    """Return samples as float64 matrices of the same number of columns.

    Parameters
    ----------
    at_least
        Minimum number of rows of each.
    **samples
        The samples by name; errors state the name.

    Returns
    -------
    list
        In the order given, each on its device.

    Raises
    ------
    ValueError
        If one is not finite, not a matrix, too short, or their columns differ in number.
    """
    arrays = {name: _as_float64(values) for name, values in samples.items()}
    for name, values in arrays.items():
        xp = array_namespace(values)
        finite = bool(xp.all(xp.isfinite(values)))
        if values.ndim != 2 or values.shape[0] < at_least or not finite:
            raise ValueError(
                f"{name} must be a finite matrix (n, d) of at least {at_least} rows; "
                f"got shape {values.shape}" + ("" if finite else " with NaN or infinity")
            )
    if len({values.shape[1] for values in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise ValueError(f"samples must have the same number of columns; got {shapes}")
    return list(arrays.values())


def _as_float64(values):
    if not hasattr(values, "dtype"):
        return np.asarray(values, dtype=np.float64)
    xp = array_namespace(values)
    return values if values.dtype == xp.float64 else xp.astype(values, xp.float64)
