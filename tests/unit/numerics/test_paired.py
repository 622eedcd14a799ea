"""Paired tests: known values, symmetry, failed splits, ties."""

import numpy as np
import pytest
from scipy import stats

from kcde.metrics import paired_t_test, paired_wilcoxon

BOTH = pytest.mark.parametrize("test", [paired_t_test, paired_wilcoxon])


@pytest.fixture
def splits():
    rng = np.random.default_rng(0)
    common = rng.normal(size=20)
    return common + 0.1 * rng.normal(size=20), common + 0.3 + 0.1 * rng.normal(size=20)


def test_t_test_is_two_sided_and_paired(splits):
    first, second = splits
    assert paired_t_test(first, second).p_value == pytest.approx(
        stats.ttest_rel(first, second).pvalue
    )
    # Unpaired, the common part of the splits would hide the difference.
    assert stats.ttest_ind(first, second).pvalue > 0.05 > paired_t_test(first, second).p_value


@BOTH
def test_sign_turns_with_the_arguments(test, splits):
    first, second = splits
    assert test(first, second).sign == -1
    assert test(second, first).sign == 1
    assert test(first, second).p_value == pytest.approx(test(second, first).p_value)


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_failed_splits_are_paired_out_and_counted(test, splits, bad):
    first, second = (x.copy() for x in splits)
    first[3], second[7] = bad, bad
    keep = np.delete(np.arange(20), [3, 7])
    result = test(first, second)
    assert (result.n, result.dropped) == (18, 2)
    assert result.p_value == test(first[keep], second[keep]).p_value


@BOTH
def test_equal_methods_are_not_told_apart(test):
    same = np.arange(5.0)
    assert (test(same, same).p_value, test(same, same).sign) == (1.0, 0)
    assert test(np.full(4, np.nan), np.ones(4)).p_value == 1.0
    assert test(np.ones(1), np.zeros(1)).p_value == 1.0


def test_constant_difference_is_significant():
    result = paired_t_test(np.full(5, 2.0), np.full(5, 1.0))
    assert (result.p_value, result.sign) == (0.0, 1)


@BOTH
def test_wrong_shapes_are_refused(test):
    with pytest.raises(ValueError, match=r"\(3,\) and \(4,\)"):
        test(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="one value a split"):
        test(np.zeros((2, 2)), np.zeros((2, 2)))


def test_shared_training_rows_make_the_t_test_wider(splits):
    first, second = splits
    overlap = 1 / 9
    gap = first - second
    t = gap.mean() / np.sqrt((1 / 20 + overlap) * gap.var(ddof=1))
    found = paired_t_test(first, second, overlap)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 19))
    assert found.p_value > paired_t_test(first, second).p_value
    assert found.sign == -1
    # Towards none, it is the plain test.
    assert paired_t_test(first, second, 1e-12).p_value == pytest.approx(
        paired_t_test(first, second).p_value
    )


@pytest.mark.parametrize("overlap", [-0.1, np.nan, np.inf])
def test_an_impossible_overlap_is_refused(overlap):
    with pytest.raises(ValueError, match="overlap must be test rows over training rows"):
        paired_t_test(np.ones(3), np.zeros(3), overlap)
