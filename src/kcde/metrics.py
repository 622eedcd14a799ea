"""Comparing methods over the same splits and samples with data, and the names of metrics."""

import math
from dataclasses import dataclass

import numpy as np

from kcde.arrays import array_namespace, slices, to_numpy
from kcde.kernels import GaussianKernel

__all__ = [
    "ConditionalSpread", "PairedTest", "RelativeSimilarity", "conditional_spread", "holm",
    "median_bandwidth", "mmd2_biased", "mmd2_unbiased", "paired_t_test", "paired_wilcoxon",
    "relative_similarity_test", "smae",
]  # fmt: skip


_BLOCK_BYTES = 2**26


def mmd2_unbiased(X, Y, bandwidth: float) -> float:
    """Return the unbiased estimate of MMD² between two samples; it can be negative.

    The mean of k over pairs of different points of X, plus that of Y, minus twice the mean between
    them, with the Gaussian kernel k of standard deviation σ: Gretton et al. 2012, A kernel
    two-sample test, equation (3).

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
    al. 2012, equation (5). Parameters, return value and errors are those of `mmd2_unbiased`.

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
        why = "more than half of the points of X coincide with points of Y or Z"
        remedy = "give a bandwidth, or samples without repeated points"
        raise ValueError(f"{why}, so that the median distance is 0: {remedy}")
    return sum(math.sqrt(median / 2.0) for median in medians) / 2.0


def similarity(A, B, bandwidth: float) -> np.ndarray:
    """Return the mean of k(a, b) over the points b of B, for each a.

    Parameters
    ----------
    A, B
        Points, shapes (n, d) and (m, d).
    bandwidth
        Standard deviation of the Gaussian kernel.

    Returns
    -------
    numpy.ndarray
        Shape (n,).
    """
    kernel, xp = GaussianKernel(bandwidth), array_namespace(A, B)
    blocks = slices(A.shape[0], max(1, _BLOCK_BYTES // (8 * B.shape[0])))
    return to_numpy(xp.concat([xp.mean(kernel(A[block, :], B), axis=1) for block in blocks]))


def similarity_within(A, bandwidth: float) -> np.ndarray:
    """Return the mean of k(a, b) over the other points b of A, for each a.

    Parameters
    ----------
    A
        Points, shape (n, d).
    bandwidth
        Standard deviation of the Gaussian kernel.

    Returns
    -------
    numpy.ndarray
        Shape (n,).
    """
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
            wanted = f"{name} must be a finite matrix (n, d) of at least {at_least} rows"
            beside = "" if finite else " with NaN or infinity"
            raise ValueError(f"{wanted}; got shape {values.shape}{beside}")
    if len({values.shape[1] for values in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise ValueError(f"samples must have the same number of columns; got {shapes}")
    return list(arrays.values())


def _as_float64(values):
    if not hasattr(values, "dtype"):
        return np.asarray(values, dtype=np.float64)
    xp = array_namespace(values)
    return values if values.dtype == xp.float64 else xp.astype(values, xp.float64)


_ZERO = 1e-15
"""A variance below this is rounding: the values of k are at most 1."""


@dataclass(frozen=True)
class RelativeSimilarity:
    """The outcome of the test.

    Attributes
    ----------
    statistic
        D = MMD²(reference, a) - MMD²(reference, b) over its standard error; positive where b is
        closer.
    p_value
        P-value of the null hypothesis that a is at least as close: small if b is closer.
    mmd2_a, mmd2_b
        Unbiased MMD² of each candidate to the reference.
    """

    statistic: float
    p_value: float
    mmd2_a: float
    mmd2_b: float


def relative_similarity_test(reference, a, b, bandwidth: float) -> RelativeSimilarity:
    """Test MMD(reference, a) <= MMD(reference, b) against b being closer.

    Bounliphone et al. 2015, A test of relative similarity, section 3: both MMDs have the same
    reference, so that they are dependent, and their difference is asymptotically normal.
    Points must be independent within and between the samples. The test is degenerate, and almost
    never rejects, if both candidates have the distribution of the reference.

    Parameters
    ----------
    reference, a, b
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
    X, Y, Z = as_samples(at_least=3, reference=reference, a=a, b=b)
    to_y, to_z = similarity(X, Y, bandwidth), similarity(X, Z, bandwidth)
    within_x, within_y, within_z = (similarity_within(s, bandwidth) for s in (X, Y, Z))
    mmd2_a = float(within_x.mean() + within_y.mean() - 2.0 * to_y.mean())
    mmd2_b = float(within_x.mean() + within_z.mean() - 2.0 * to_z.mean())
    variance = _part(to_y - to_z)
    for sample, within in ((Y, within_y), (Z, within_z)):
        variance += _part(within - similarity(sample, X, bandwidth))
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


_TAIL = 0.01


@dataclass(frozen=True)
class ConditionalSpread:
    """Relative errors per bin.

    Attributes
    ----------
    std_error
        Shape (bins,): of the standard deviation of the second coordinate.
    q01_error, q99_error
        Shape (bins,): of its 1% and 99% quantile, as a share of that quantile's distance from
        the reference's median in the bin. (A quantile itself can be near zero, and depends on where
        zero is.)

    Notes
    -----
    A bin is NaN where the reference has no spread in it, infinite where only the samples are
    absent.
    """

    std_error: np.ndarray
    q01_error: np.ndarray
    q99_error: np.ndarray

    def in_median_bin(self) -> dict[str, float]:
        """Return each error in its median bin, named as in the scores; bins of NaN are left out."""
        return {f"conditional_{name}": _median(errors) for name, errors in vars(self).items()}


def conditional_spread(
    samples: np.ndarray, reference: np.ndarray, bins: int = 10
) -> ConditionalSpread:
    """Compare the spread of the second coordinate in bins of the first.

    A sampler with the right means can still miss a spread or a threshold that depends on x.

    Parameters
    ----------
    samples
        Shape (n, 2).
    reference
        Shape (m, 2), data; the bins are the quantiles of its first coordinate, with about m / bins
        rows each. Bins that repeated values leave empty are NaN. Samples outside its range belong
        to the outermost bins.
    bins
        Number of bins.

    Returns
    -------
    ConditionalSpread

    Raises
    ------
    ValueError
        If either is not a finite matrix of two columns, or the reference has fewer rows than bins.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.metrics import conditional_spread
    >>> data = np.random.default_rng(0).normal(size=(500, 2))
    >>> conditional_spread(data, data, bins=2).std_error
    array([0., 0.])
    """
    samples, reference = as_samples(samples=samples, reference=reference)
    if reference.shape[1] != 2:
        wanted = "samples and reference must have two columns, the pair to compare"
        raise ValueError(f"{wanted}; got {reference.shape[1]}")
    if not 1 <= bins <= (most := len(reference)):
        raise ValueError(f"bins must be from 1 to the {most} rows of the reference; got {bins}")
    inner = np.quantile(reference[:, 0], np.arange(1, bins) / bins)
    ours, theirs = (np.searchsorted(inner, one[:, 0], side="right") for one in (samples, reference))
    errors = [_errors(samples[ours == k, 1], reference[theirs == k, 1]) for k in range(bins)]
    return ConditionalSpread(*np.array(errors).T)


def _errors(samples: np.ndarray, reference: np.ndarray) -> tuple[float, float, float]:
    if len(reference) < 2 or np.ptp(reference) == 0.0:
        return (np.nan,) * 3
    if len(samples) < 2:
        return (np.inf,) * 3
    std, median = reference.std(ddof=1), np.median(reference)
    errors = [abs(samples.std(ddof=1) / std - 1.0)]
    for level in (_TAIL, 1.0 - _TAIL):
        wanted, found = np.quantile(reference, level), np.quantile(samples, level)
        # More than half of the bin may lie on one value: then the scale is zero.
        errors.append(abs(found - wanted) / abs(wanted - median) if wanted != median else np.nan)
    return tuple(errors)


def _median(errors: np.ndarray) -> float:
    known = errors[~np.isnan(errors)]
    return float(np.median(known)) if len(known) else float("nan")


def smae(predicted: np.ndarray, observed: np.ndarray, mean: float) -> dict[str, float]:
    """Return the error of predictions ŷ of y by every definition, e = ŷ - y (cdo, table 3).

    centred: Σ|e| / Σ|y - ȳ|, against predicting the training mean ȳ; predicted: Σ|e| / Σ|ŷ - ȳ|;
    pointwise: the mean of |ŷ/y - 1|; total: Σ|e| / Σ|y|. The last two depend on the origin of y.

    Parameters
    ----------
    predicted, observed
        ŷ and y, shape (n,).
    mean
        ȳ, of the training rows.

    Returns
    -------
    dict
        By name of the definition; infinite or NaN where a denominator vanishes.

    Raises
    ------
    ValueError
        If the shapes differ or are empty.

    Examples
    --------
    >>> from kcde.metrics import smae
    >>> errors = smae([1.0, 2.0], [1.0, 4.0], mean=2.0)
    >>> round(errors["centred"], 3), errors["pointwise"]
    (0.667, 0.25)
    """
    predicted, observed = (np.asarray(values, np.float64) for values in (predicted, observed))
    if predicted.shape != observed.shape or predicted.ndim != 1 or not len(predicted):
        wanted = "predictions and observations must have one shape (n,), n > 0"
        raise ValueError(f"{wanted}; got {predicted.shape} and {observed.shape}")
    error = np.abs(predicted - observed).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "centred": float(error / np.abs(observed - mean).sum()),
            "predicted": float(error / np.abs(predicted - mean).sum()),
            "pointwise": float(np.abs(predicted / observed - 1.0).mean()),
            "total": float(error / np.abs(observed).sum()),
        }


# Differences with a smaller relative range are constant up to rounding.
_CONSTANT = 1e-12


@dataclass(frozen=True)
class PairedTest:
    """The outcome of a paired test of `first` against `second`.

    Attributes
    ----------
    p_value
        Two-sided; 1 where all differences are zero or fewer than two pairs are left.
    sign
        -1 where `first` is lower, +1 where it is higher, 0 where neither: by the mean difference
        (t-test) or the signed rank sum (Wilcoxon).
    n
        Pairs used.
    dropped
        Pairs left out because either value is not finite.
    """

    p_value: float
    sign: int
    n: int
    dropped: int


def paired_t_test(first: np.ndarray, second: np.ndarray, overlap: float = 0.0) -> PairedTest:
    """Test whether two methods have the same mean over the same splits.

    Parameters
    ----------
    first, second
        Shape (n,), one value a split, aligned by split; NaN or infinite where the split failed.
    overlap
        Test rows over training rows where the splits are of the same rows: 1 for random halves,
        1/9 for ten folds. 0 only if each split has rows of its own, as from a generator. The
        variance of the mean is then (1/n + overlap) s² instead of s²/n: splits of the same rows
        share them, so that their differences are correlated, and more of them do not make the mean
        more certain beyond what the rows themselves say (Nadeau and Bengio 2003, Inference for the
        generalization error).

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the shapes differ or are not one-dimensional, or `overlap` is negative or not finite.

    Examples
    --------
    >>> from kcde.metrics import paired_t_test
    >>> result = paired_t_test([1.0, 1.2, 0.9, 1.1], [1.3, 1.4, 1.3, 1.2])
    >>> result.sign, result.n, round(result.p_value, 3)
    (-1, 4, 0.03)
    """
    from scipy import stats

    if not 0.0 <= overlap < np.inf:
        wanted = "test rows over training rows, finite and not negative"
        raise ValueError(f"overlap must be {wanted}; got {overlap}")
    difference, dropped = _differences(first, second)
    n = len(difference)
    if n < 2 or not np.any(difference):
        return PairedTest(1.0, 0, n, dropped)
    sign = int(np.sign(difference.mean()))
    if np.ptp(difference) <= _CONSTANT * abs(difference[0]):  # t is infinite
        return PairedTest(0.0, sign, n, dropped)
    scale = np.sqrt(1.0 / n + overlap) * difference.std(ddof=1)
    p_value = 2.0 * float(stats.t.sf(abs(difference.mean()) / scale, n - 1))
    return PairedTest(p_value, sign, n, dropped)


def paired_wilcoxon(first: np.ndarray, second: np.ndarray) -> PairedTest:
    """Test by signed ranks, which a single outlying split cannot dominate.

    It takes the pairs for independent. Where they are splits of the same rows, its p-value speaks
    of further splits of these rows and not of other rows, for which `paired_t_test` has `overlap`.

    Parameters
    ----------
    first, second
        Shape (n,), one value a split, aligned by split; NaN or infinite where the split failed.

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the shapes differ or are not one-dimensional.

    Examples
    --------
    >>> from kcde.metrics import paired_wilcoxon
    >>> result = paired_wilcoxon([1.0, 1.2, 0.9, 1.1], [1.3, 1.4, 1.35, 1.2])
    >>> result.sign, result.n, result.p_value
    (-1, 4, 0.125)
    """
    from scipy import stats

    difference, dropped = _differences(first, second)
    n = len(difference)
    moved = difference[difference != 0]
    if n < 2 or not len(moved):
        return PairedTest(1.0, 0, n, dropped)
    signed_ranks = np.sign(moved) * stats.rankdata(np.abs(moved))
    p_value = float(stats.wilcoxon(difference).pvalue)
    return PairedTest(p_value, int(np.sign(signed_ranks.sum())), n, dropped)


def _differences(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape:
        wanted = "first and second must be one value a split each, of the same shape (n,)"
        raise ValueError(f"{wanted}; got {first.shape} and {second.shape}")
    usable = np.isfinite(first) & np.isfinite(second)
    return (first - second)[usable], int((~usable).sum())


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for multiple tests.

    With the m p-values in ascending order, the i-th becomes max_{k ≤ i} (m - k + 1) p_(k), at most
    1. Rejecting where it is below 5% keeps the probability of any false rejection below 5%, for any
    dependence of the tests.

    Parameters
    ----------
    p_values
        Shape (m,), in any order.

    Returns
    -------
    numpy.ndarray
        Shape (m,), in the order given.

    Raises
    ------
    ValueError
        If they are not one-dimensional, or one is not a number from 0 to 1.

    Examples
    --------
    >>> from kcde.metrics import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.ndim != 1 or not np.all((p_values >= 0) & (p_values <= 1)):
        raise ValueError(f"p_values must be numbers from 0 to 1, shape (m,); got {p_values}")
    order = np.argsort(p_values, kind="stable")
    stepped = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted


FLOOR = 1e-12  # η of (41)


def relative_errors(found, true):
    """Return ‖found - true‖²/‖true‖², shape (m,), of matrices (m, d, d): the terms of (40).

    `found` may have its matrices as rows of length d² or longer.
    """
    xp, m = array_namespace(true), true.shape[0]
    true = xp.reshape(true, (m, -1))
    # A few long rows are faster than many short ones; a copy of the transpose has its short rows.
    rows = xp.empty((true.shape[1], m), dtype=true.dtype)
    rows[:, :] = true.T
    found = xp.reshape(found, (m, -1)).T[: rows.shape[0], :]
    return xp.sum((found - rows) ** 2, axis=0) / xp.sum(rows**2, axis=0)


def logistic_loss(probability, event) -> float:
    """Return the loss (41) of estimates of a probability, which may leave [0, 1], (n,) each."""
    xp = array_namespace(probability)
    happens = xp.log(xp.minimum(xp.maximum(probability, FLOOR), 1.0))
    does_not = xp.log(xp.maximum(xp.minimum(1.0 - probability, 1.0), FLOOR))
    return float(-xp.mean(event * happens + (1.0 - event) * does_not))


NLL = "negative_log_likelihood"
"""In nats, of one row of the standardised test data; `<NLL>_quadrature` where log Z is exact."""

NLL_QUADRATURE = f"{NLL}_quadrature"

NLL_X, NLL_CONDITIONAL = f"{NLL}_x", f"{NLL}_conditional"
"""The parts of the joint one of x and y: of x alone, and of y given x."""

COVERAGES = {"coverage_50": 0.5, "coverage_90": 0.9}
"""Share of the test rows within the central interval, by metric the probability of that."""

CRPS = "crps"
"""Mean continuous ranked probability score of the test rows, y in its standardised units."""

MMD = "mmd"
"""Unbiased squared maximum mean discrepancy, times 1000."""

P_VALUE = "p_value"
"""Of the test of relative similarity."""

R_HAT, DIVERGENCE_RATE = "r_hat", "divergence_rate"
"""Of Markov chains: the largest R-hat; the share of transitions after the burn-in that diverged, in
the worst column."""

SMAE = "smae"
"""Scaled mean absolute error."""

SECOND_MOMENT_LOSS = "second_moment_loss"
"""Error of the conditional second moments, jdl equation (40)."""

NORMALISATION_ERROR = "normalisation_error"
"""Largest |E[1|x] - 1| over the test points."""

PSD_VIOLATION_RATE = "psd_violation_rate"
"""Share of test points whose estimated second moments are not positive semi-definite."""

INDEPENDENCE_LOSS = "independence_loss"
"""The same error of the mean over the training points, which ignores x."""

CANONICAL_CORRELATION = "canonical_correlation"
"""Largest correlation of a linear function of x with one of y."""

TUNING_ROWS = "tuning_rows"
"""Rows on which the parameters of a fit were chosen."""

BASE_RATE_LOSS = "base_rate_loss"
"""Logistic loss of the share of events in the days that train and validate."""

LOGISTIC_LOSS = "logistic_loss"
"""Of the probability of a tail event in nats, jdl equation (41)."""

NEGATIVE_PROBABILITY_RATE = "negative_probability_rate"
"""Share of test points with an estimated probability below 0."""

NEGATIVE_NORMALISER = "turned_over"
"""Points at which the signed weights of a CDO have a negative sum."""

REGULARIZATION_ERROR = "regularization_error"
"""Norm of T_λ - T_0, what regularisation alone leaves."""

PEAK_MEMORY, SYSTEM_MEMORY = "peak_memory", "system_memory"
"""MiB of a process at its largest, and of the matrix of its linear system."""

FIT_SECONDS = "fit_seconds"

NEEDED_SECONDS = "needed_seconds"
"""About what a fit would take that was not made for that."""

MATCHED = "matched_"
"""Begins the metrics of seconds with the same bandwidths for all methods."""

DENSITY_SECONDS = "density_seconds"
"""Of processor time, for the log densities of the test rows."""

LOG_DENSITY_GAP = "log_density_gap"
"""Mean of log p - log p̂ over the test rows, p the true density, in nats."""

PENALISED_LOSS = "penalised_loss"
"""Of training rows: `TRAINING_NLL` and the penalty of a function of an RKHS."""

TRAINING_NLL, TRAINED_NLL = f"{NLL}_training", f"{NLL}_trained"
"""Of training rows, and of test rows under the density that was trained: with its own weight."""

PENALTY = "penalty"
"""η of that loss."""

TRAINED, OPTIMUM, PRIOR, STOPPED = "trained", "optimum", "prior", "stopped"
"""What `dde/optimum` compares: f as trained, the optimum of its objective, that with η = 1/n, and
that with the η that held-out rows choose."""


def of_optimum(name: str, metric: str) -> str:
    """Return the metric of one of the four."""
    return f"{name}_{metric}"
