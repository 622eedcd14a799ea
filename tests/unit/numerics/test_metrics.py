"""Metrics and tests between methods: against loops, scipy, closed forms and simulation."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import rbf_kernel

from kcde import metrics

BOTH = pytest.mark.parametrize("test", [metrics.paired_t_test, metrics.paired_wilcoxon])


@pytest.fixture
def samples(rng):
    return rng.normal(size=(7, 3)), rng.normal(size=(9, 3)) + 0.5


def test_mmd_is_that_of_the_whole_matrices_in_any_blocks(samples, monkeypatch):
    X, Y = samples
    own = [rbf_kernel(S, gamma=0.5 / 0.8**2) for S in (X, Y)]
    between = rbf_kernel(X, Y, gamma=0.5 / 0.8**2).mean()
    biased = sum(K.mean() for K in own)
    unbiased = sum((K.sum() - len(K)) / (len(K) * (len(K) - 1)) for K in own)
    for size in (metrics._BLOCK_BYTES, 8 * 9 * 2):
        monkeypatch.setattr(metrics, "_BLOCK_BYTES", size)
        assert metrics.mmd2_unbiased(X, Y, 0.8) == pytest.approx(unbiased - 2 * between, abs=1e-14)
        assert metrics.mmd2_biased(X, Y, 0.8) == pytest.approx(biased - 2 * between, abs=1e-14)
    assert metrics.mmd2_biased(X, X[::-1] + 1e-9, 1.0) >= 0.0


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda X, Y: metrics.mmd2_unbiased(X, Y[:, :2], 1.0), "columns"),
        (lambda X, Y: metrics.mmd2_unbiased(X, np.full_like(Y, np.nan), 1.0), "Y must be"),
        (lambda X, Y: metrics.median_bandwidth(X * 0, X * 0, X * 0), "bandwidth"),
        (lambda X, Y: metrics.relative_similarity_test(X, X[:2], X, 1.0), "a must be"),
        (lambda X, Y: metrics.conditional_spread(X, Y), "two columns"),
        (lambda X, Y: metrics.conditional_spread(X[:, :2], Y[:, :2], bins=31), "bins"),
        (lambda X, Y: metrics.holm([0.1, 1.2]), "p_values"),
        (lambda X, Y: metrics.smae(X[:, 0], Y[:, 0], 0.0), "shape"),
        (lambda X, Y: metrics.paired_t_test(X[:, 0], Y[:, 0]), "shape"),
        (lambda X, Y: metrics.paired_t_test(X[:, 0], X[:, 1], np.nan), "overlap"),
    ],
)
def test_bad_input_is_named(samples, wrong, word):
    with pytest.raises(ValueError, match=word):
        wrong(*samples)


def gaussian(rng, n, shift):
    return rng.normal([shift, 0.0], size=(n, 2))


def zeta(first, second):
    """Return the covariance of two MMD² that share X.

    `first` and `second` are (Kxx, Kyy, Kxy); each argument of the U-statistic's kernel h is held
    fixed in turn and the rest averaged, as in the appendix of Bounliphone et al. 2015. The part of
    a sample of n has the factor 4 (n - 2)/(n (n - 1)).
    """

    def projections(xx, yy, xy):
        x, y = ((K.sum(axis=1) - np.diag(K)) / (len(K) - 1) for K in (xx, yy))
        return x - xy.mean(axis=1), y - xy.mean(axis=0)

    of_x, of_y = zip(projections(*first), projections(*second), strict=True)
    shared = (of_x, of_y) if first is second else (of_x,)
    pairs = [(len(each[0]), np.cov(each, ddof=0)[0, 1]) for each in shared]
    return sum(4 * (n - 2) / (n * (n - 1)) * covariance for n, covariance in pairs)


def test_relative_similarity_against_the_papers_covariance_matrix(rng):
    kernel = partial(rbf_kernel, gamma=0.5)
    X, Y, Z = (gaussian(rng, n, shift) for n, shift in ((12, 0.0), (9, 0.5), (20, 1.0)))
    to_y, to_z = ((kernel(X, X), kernel(S, S), kernel(X, S)) for S in (Y, Z))
    s11, s22, s12 = (zeta(*pair) for pair in ((to_y, to_y), (to_z, to_z), (to_y, to_z)))
    mmd2 = metrics.mmd2_unbiased(X, Y, 1.0), metrics.mmd2_unbiased(X, Z, 1.0)
    expected = (mmd2[0] - mmd2[1]) / math.sqrt(s11 + s22 - 2 * s12)
    test = metrics.relative_similarity_test(X, Y, Z, 1.0)
    assert test.statistic == pytest.approx(expected, rel=1e-10)
    assert test.p_value == pytest.approx(stats.norm.cdf(-expected), rel=1e-10)
    assert (test.mmd2_a, test.mmd2_b) == pytest.approx(mmd2, abs=1e-15)
    assert metrics.relative_similarity_test(X * 0, X * 0 + 1.0, X * 0, 1.0).p_value == 0.0


@pytest.fixture
def splits(rng):
    common = rng.normal(size=20)
    return common + 0.1 * rng.normal(size=20), common + 0.3 + 0.1 * rng.normal(size=20)


def test_paired_tests_are_those_of_scipy(splits):
    assert metrics.paired_t_test(*splits).p_value == pytest.approx(stats.ttest_rel(*splits).pvalue)
    assert metrics.paired_wilcoxon(*splits).p_value == stats.wilcoxon(*splits).pvalue
    constant = metrics.paired_t_test(np.full(5, 2.0), np.full(5, 1.0))
    assert (constant.p_value, constant.sign) == (0.0, 1)


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_failed_splits_are_paired_out_and_counted(test, splits, bad):
    first, second = (x.copy() for x in splits)
    first[3], second[7] = bad, bad
    keep = np.delete(np.arange(20), [3, 7])
    result, turned = test(first, second), test(second, first)
    assert (result.n, result.dropped) == (18, 2)
    assert result.p_value == test(first[keep], second[keep]).p_value == turned.p_value
    assert (result.sign, turned.sign) == (-1, 1)


@BOTH
def test_equal_methods_are_not_told_apart(test):
    same = np.arange(5.0)
    assert (test(same, same).p_value, test(same, same).sign) == (1.0, 0)
    assert test(np.full(4, np.nan), np.ones(4)).p_value == 1.0
    assert test(np.ones(1), np.zeros(1)).p_value == 1.0


def test_holm_rejects_what_the_rule_in_words_rejects(rng):
    """The smallest of m at level/m, the next at level/(m - 1), until one is not."""
    for _ in range(200):
        p_values = rng.uniform(size=rng.integers(1, 9)) ** 3
        for level in (0.01, 0.05, 0.3):
            rejected, left = set(), sorted(range(len(p_values)), key=lambda i: p_values[i])
            while left and p_values[left[0]] <= level / len(left):
                rejected.add(left.pop(0))
            assert set(np.flatnonzero(metrics.holm(p_values) <= level)) == rejected
    assert metrics.holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_a_stretch_is_the_relative_error_of_all_three(rng):
    """Stretched about each bin's median by 1.3, every quantile is 30% farther from it."""
    x = rng.uniform(size=1000)
    data = np.column_stack([x, (0.2 + x) * rng.normal(size=1000)])
    edges = np.quantile(data[:, 0], np.arange(1, 10) / 10)
    bins, samples = np.searchsorted(edges, x, side="right"), data.copy()
    for place in range(10):
        inside = bins == place
        median = np.median(data[inside, 1])
        samples[inside, 1] = median + 1.3 * (data[inside, 1] - median)
    errors = metrics.conditional_spread(samples, data).in_median_bin()
    assert errors == pytest.approx(dict.fromkeys(errors, 0.3))
    assert set(errors) == {f"conditional_{name}_error" for name in ("std", "q01", "q99")}


def test_repeated_values_and_empty_bins(rng):
    data = np.column_stack([np.repeat([0.0, 1.0], 50), rng.normal(size=100)])
    spread = metrics.conditional_spread(data[:50], data)
    assert np.isnan(spread.std_error).sum() == 8  # two values of x fill two bins
    assert np.isinf(spread.std_error).sum() == 1  # the samples never reach x = 1
    constant = np.column_stack([np.arange(20.0), np.zeros(20)])
    errors = metrics.conditional_spread(constant, constant).in_median_bin()
    assert np.isnan(errors["conditional_std_error"])
