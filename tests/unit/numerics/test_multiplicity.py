"""Adjusted p-values against the rule in words, and what they promise."""

import numpy as np
import pytest

from kcde.metrics import holm


def rejected_in_words(p_values, level):
    """Reject the smallest of m at level/m, the next at level/(m - 1), until one is not."""
    rejected, left = set(), sorted(range(len(p_values)), key=lambda k: p_values[k])
    while left and p_values[left[0]] <= level / len(left):
        rejected.add(left.pop(0))
    return rejected


def test_it_rejects_what_the_rule_in_words_rejects():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p_values = rng.uniform(size=rng.integers(1, 9)) ** 3
        adjusted = holm(p_values)
        for level in (0.01, 0.05, 0.3):
            assert set(np.flatnonzero(adjusted <= level)) == rejected_in_words(p_values, level)


def test_a_known_example_in_any_order():
    # Ascending 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.2]).tolist() == [0.2]
    assert not len(holm([]))


@pytest.mark.parametrize("wrong", [[0.1, 1.2], [-0.1], [np.nan, 0.5], [[0.1]]])
def test_what_is_no_p_value_is_refused(wrong):
    with pytest.raises(ValueError, match="from 0 to 1"):
        holm(wrong)
