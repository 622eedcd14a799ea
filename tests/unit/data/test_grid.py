from math import comb, pi

import numpy as np
import pytest
from scipy.stats import kstest

from kcde.data import grid


def cdf(x, before, frequency):
    """P(X_i <= x | before), by integrating the published density by hand."""
    wave = (1 - np.cos(2 * pi * frequency * x)) / (2 * pi * frequency)
    return x + np.sin(2 * pi * frequency * before) * wave


@pytest.mark.parametrize("frequency", [1, 2, 3])
def test_samples_follow_the_conditional_distribution(frequency):
    X = grid.sample(4000, 4, "test", 0, frequency=frequency)
    assert X.min() >= 0
    assert X.max() <= 1
    ranks = [X[:, 0], *(cdf(X[:, i], X[:, i - 1], frequency) for i in range(1, 4))]
    for rank in ranks:
        assert kstest(rank, "uniform").pvalue > 1e-3
    # The same test tells when a coordinate is taken for independent of the one before.
    peak = np.abs(frequency * X[:, 0] % 1 - 0.25) < 0.1
    assert kstest(X[peak, 1], "uniform").pvalue < 1e-6
    # Given the coordinate before, the rank does not depend on anything earlier.
    between = np.corrcoef(ranks)[np.triu_indices(4, 1)]
    assert np.abs(between).max() < 4 / np.sqrt(4000)


def test_density_integrates_to_one_and_vanishes_outside():
    x = (np.arange(400) + 0.5) / 400
    for before in (0.0, 0.1, 0.25, 0.8):
        pairs = np.column_stack([np.full(400, before), x])
        assert np.exp(grid.log_density(pairs)[:, 1]).mean() == pytest.approx(1.0, abs=1e-12)
    outside = grid.log_density([[0.5, 1.1], [-0.1, 0.5]])
    assert outside[0, 1] == -np.inf
    assert outside[1, 0] == -np.inf
    assert outside[0, 0] == 0.0
    assert grid.log_density([[0.25, 0.75]])[0, 1] < -30


def test_entropy_equals_its_series():
    # (1+u) log(1+u) = u + Σ_m u^2m / (2m (2m-1)) + odd powers, whose means vanish.
    terms = [(comb(2 * m, m) / 4**m) ** 2 / (2 * m * (2 * m - 1)) for m in range(1, 400)]
    tail = 1 / (8 * pi * 399.5**2)
    assert grid.entropy(3)[1] == pytest.approx(-(sum(terms) + tail), abs=1e-9)
    np.testing.assert_array_equal(grid.entropy(4)[[0, 2, 3]], [0.0, *grid.entropy(2)[[1, 1]]])
    assert grid.entropy(1).tolist() == [0.0]


@pytest.mark.parametrize("frequency", [1, 3])
def test_mean_log_density_is_minus_the_entropy(frequency):
    rows = grid.sample(50_000, 3, "entropy", frequency=frequency)
    terms = grid.log_density(rows, frequency)[:, 1:]
    error = terms.std(axis=0) / np.sqrt(len(terms))
    assert np.all(np.abs(terms.mean(axis=0) + grid.entropy(3)[1:]) < 4 * error)


def test_rows_and_columns_are_nested():
    train, test = grid.training_and_test(2000, 5, 1)
    fewer, same_test = grid.training_and_test(200, 3, 1)
    np.testing.assert_array_equal(fewer, train[:200, :3])
    np.testing.assert_array_equal(same_test, test[:, :3])
    assert train.shape == test.shape == (2000, 5)
    more, same_test = grid.training_and_test(4500, 3, 1)
    assert more.shape == (4500, 3)
    np.testing.assert_array_equal(more[:2000], train[:, :3])
    np.testing.assert_array_equal(same_test, test[:, :3])
    np.testing.assert_array_equal(more[:3000], grid.training_and_test(3000, 3, 1)[0])
    assert len(np.unique(more[:, 0])) == 4500
    other_train, other_test = grid.training_and_test(200, 3, 2)
    for a in (train[:200, :3], test[:200, :3], other_train):
        assert not np.any(a == other_test[:200])
    assert not np.any(train == test)


@pytest.mark.parametrize(("n", "d"), [(1, 3), (8001, 3), (200, 0)])
def test_sizes_that_there_are_not(n, d):
    with pytest.raises(ValueError, match=r"grid data .*(2 to 8000 training rows|at least 1 col)"):
        grid.training_and_test(n, d, 0)
