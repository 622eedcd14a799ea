"""MMD: naive loops, closed form for Gaussians, unbiasedness, bandwidth, bad input."""

import itertools
import math

import numpy as np
import pytest

from kcde import metrics
from kcde.metrics import median_bandwidth, mmd2_biased, mmd2_unbiased


def k(a, b, bandwidth):
    return math.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / (2 * bandwidth**2))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 3)), rng.normal(size=(9, 3)) + 0.5


def test_both_estimates_against_loops(samples):
    X, Y = samples
    between = mean(k(x, y, 0.8) for x in X for y in Y)
    unbiased = sum(mean(k(a, b, 0.8) for a, b in itertools.permutations(S, 2)) for S in (X, Y))
    biased = sum(mean(k(a, b, 0.8) for a in S for b in S) for S in (X, Y))
    assert mmd2_unbiased(X, Y, 0.8) == pytest.approx(unbiased - 2 * between, abs=1e-14)
    assert mmd2_biased(X, Y, 0.8) == pytest.approx(biased - 2 * between, abs=1e-14)


def test_blocks_do_not_matter(samples, monkeypatch):
    X, Y = samples
    whole = mmd2_unbiased(X, Y, 1.0)
    monkeypatch.setattr(metrics, "_BLOCK_BYTES", 8 * 9 * 2)
    assert mmd2_unbiased(X, Y, 1.0) == pytest.approx(whole, abs=1e-15)


def test_bandwidth_is_the_mean_over_both_pairs(samples):
    X, Y = samples
    Z = Y + 3.0
    pairs = [[math.dist(x, other) for x in X for other in S] for S in (Y, Z)]
    expected = mean(math.sqrt(np.median(distances) / 2) for distances in pairs)
    assert median_bandwidth(X, Y, Z) == pytest.approx(expected)


def test_bad_input_is_named(samples):
    X, Y = samples
    with pytest.raises(ValueError, match=r"same number of columns; got X \(7, 3\), Y \(9, 2\)"):
        mmd2_unbiased(X, Y[:, :2], 1.0)
    with pytest.raises(ValueError, match="Y must be a finite matrix"):
        mmd2_unbiased(X, np.full_like(Y, np.nan), 1.0)
    same = np.zeros((5, 3))
    with pytest.raises(ValueError, match="median distance is 0"):
        median_bandwidth(same, same, same)
