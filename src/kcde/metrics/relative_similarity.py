"""Test which of two samples is closer to a reference (Bounliphone et al. 2015).

D = MMD²(reference, a) - MMD²(reference, b), both unbiased and on the same reference, so that they
are dependent; the part of both within the reference cancels. D is a U-statistic of three samples,
asymptotically normal with the sum of the variances of its first-order projections (the ζ₁ of the
paper's section 3; its S₁₁ + S₂₂ - 2 S₁₂ where all samples have the same size).
"""

import math
from dataclasses import dataclass

import numpy as np

from kcde.metrics.mmd import as_samples, similarity, similarity_within

_ZERO = 1e-15
"""A variance below this is rounding: the values of k are at most 1."""


@dataclass(frozen=True)
class RelativeSimilarity:
    """The outcome of the test.

    Attributes
    ----------
    statistic
        D over its standard error; positive where b is closer.
    p_value
        P-value of the null hypothesis that a is at least as close: small if b is closer.
    mmd2_a, mmd2_b
        Unbiased MMD² of each candidate to the reference.
    """

    statistic: float
    p_value: float
    mmd2_a: float
    mmd2_b: float


def relative_similarity_test(
    reference, candidate_a, candidate_b, bandwidth: float
) -> RelativeSimilarity:
    """Test MMD(reference, a) <= MMD(reference, b) against b being closer.

    Points must be independent within and between the samples. The test is degenerate, and almost
    never rejects, if both candidates have the distribution of the reference.

    Parameters
    ----------
    reference, candidate_a, candidate_b
        Shapes (m, d), (n, d) and (r, d), at least three rows each, in one namespace.
    bandwidth
        σ of the Gaussian kernel, in the units of the data; `kcde.metrics.median_bandwidth`.

    Returns
    -------
    RelativeSimilarity

    Raises
    ------
    ValueError
        If a sample is not a finite matrix, has fewer than three rows, the columns differ in number,
        or the bandwidth is not positive.

    Notes
    -----
    Time O((m + n + r)² d). The variance of a sample's part is 4 (n - 2)/(n (n - 1)) times that of
    its projection, as in the authors' public code, with each sample's own size for n; there all
    have that of the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import relative_similarity_test
    >>> rng = np.random.default_rng(0)
    >>> reference, near = rng.normal(size=(2, 200, 1))
    >>> far = rng.normal(1.0, 1.0, size=(200, 1))
    >>> relative_similarity_test(reference, far, near, bandwidth=1.0).p_value < 0.01
    True
    """
    X, Y, Z = as_samples(
        at_least=3, reference=reference, candidate_a=candidate_a, candidate_b=candidate_b
    )
    to_y, to_z = similarity(X, Y, bandwidth), similarity(X, Z, bandwidth)
    within_x, within_y, within_z = (similarity_within(s, bandwidth) for s in (X, Y, Z))
    mmd2_a = float(within_x.mean() + within_y.mean() - 2.0 * to_y.mean())
    mmd2_b = float(within_x.mean() + within_z.mean() - 2.0 * to_z.mean())
    variance = (
        _part(to_y - to_z)
        + _part(within_y - similarity(Y, X, bandwidth))
        + _part(within_z - similarity(Z, X, bandwidth))
    )
    difference = mmd2_a - mmd2_b
    if variance < _ZERO:
        statistic = 0.0 if abs(difference) < _ZERO else math.copysign(math.inf, difference)
    else:
        statistic = difference / math.sqrt(variance)
    p_value = 0.5 * math.erfc(statistic / math.sqrt(2.0))
    return RelativeSimilarity(statistic, p_value, mmd2_a, mmd2_b)


def _part(projection: np.ndarray) -> float:
    """Return the variance that one sample contributes, from its projection at each point."""
    n = len(projection)
    return 4.0 * (n - 2) / (n * (n - 1)) * float(projection.var())
