"""Two methods on the same splits: paired t-test and paired Wilcoxon test, both two-sided.

Random halves of one sample share rows. What the correction for this does to level and power is
measured by `benchmarks/resampled_tests.py`.
"""

from dataclasses import dataclass

import numpy as np

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
        raise ValueError(
            f"overlap must be test rows over training rows, finite and not negative; got {overlap}"
        )
    difference, dropped = _differences(first, second)
    n = len(difference)
    if n < 2 or not np.any(difference):
        return PairedTest(1.0, 0, n, dropped)
    sign = int(np.sign(difference.mean()))
    if np.ptp(difference) <= _CONSTANT * abs(difference[0]):  # t is infinite
        return PairedTest(0.0, sign, n, dropped)
    if overlap:
        scale = np.sqrt(1.0 / n + overlap) * difference.std(ddof=1)
        p_value = 2.0 * float(stats.t.sf(abs(difference.mean()) / scale, n - 1))
        return PairedTest(p_value, sign, n, dropped)
    return PairedTest(float(stats.ttest_1samp(difference, 0.0).pvalue), sign, n, dropped)


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
        raise ValueError(
            f"first and second must be one value a split each, of the same shape (n,); "
            f"got {first.shape} and {second.shape}"
        )
    usable = np.isfinite(first) & np.isfinite(second)
    return (first - second)[usable], int((~usable).sum())
