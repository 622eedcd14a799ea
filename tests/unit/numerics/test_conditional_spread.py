"""Conditional spread: exact on known errors, blind to units, honest about empty bins."""

import numpy as np
import pytest

from kcde.metrics import conditional_spread

RNG = np.random.default_rng(5)


def heteroscedastic(n, factor=1.0, slope=1.0):
    x = RNG.uniform(size=n)
    return np.column_stack([x, factor * (0.2 + slope * x) * RNG.normal(size=n)])


def test_a_stretch_is_the_relative_error_of_all_three():
    """Stretched about each bin's median by 1.3, every quantile is 30% farther from it."""
    data = heteroscedastic(1000)
    edges = np.quantile(data[:, 0], np.arange(1, 10) / 10)
    bins = np.searchsorted(edges, data[:, 0], side="right")
    samples = data.copy()
    for k in range(10):
        inside = bins == k
        median = np.median(data[inside, 1])
        samples[inside, 1] = median + 1.3 * (data[inside, 1] - median)
    for value in conditional_spread(samples, data).in_median_bin().values():
        assert value == pytest.approx(0.3)


def test_units_and_origin_do_not_matter():
    data, samples = heteroscedastic(800), heteroscedastic(800, factor=1.2)
    moved = [np.array([3.0, -2.0]) + np.array([0.1, 40.0]) * one for one in (samples, data)]
    first, second = conditional_spread(samples, data), conditional_spread(*moved)
    assert first.in_median_bin() == pytest.approx(second.in_median_bin())


def test_repeated_values_and_empty_bins():
    data = np.column_stack([np.repeat([0.0, 1.0], 50), RNG.normal(size=100)])
    spread = conditional_spread(data[:50], data)
    assert np.isnan(spread.std_error).sum() == 8  # two values of x fill two bins
    assert np.isinf(spread.std_error).sum() == 1  # the samples never reach x = 1
    constant = np.column_stack([np.arange(20.0), np.zeros(20)])
    assert np.isnan(conditional_spread(constant, constant).in_median_bin()["conditional_std_error"])


def test_bad_input_is_named():
    data = heteroscedastic(30)
    with pytest.raises(ValueError, match="two columns"):
        conditional_spread(np.zeros((9, 3)), np.zeros((9, 3)))
    with pytest.raises(ValueError, match="same number of columns"):
        conditional_spread(data, np.zeros((9, 3)))
    with pytest.raises(ValueError, match="bins must lie between 1 and the 30 rows"):
        conditional_spread(data, data, bins=31)
