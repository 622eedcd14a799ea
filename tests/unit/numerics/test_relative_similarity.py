"""Relative similarity: the paper's formula, level and power by simulation, degenerate cases."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from kcde.metrics import mmd2_unbiased, relative_similarity_test


def gaussian(rng, n, shift):
    return rng.normal([shift, 0.0], size=(n, 2))


def simulate(first, second, sizes=(60, 120, 200), repetitions=400):
    """Return the tests of a reference N(0, 1) against candidates shifted by `first`, `second`."""
    rng = np.random.default_rng(2)
    return [
        relative_similarity_test(
            gaussian(rng, sizes[0], 0.0),
            gaussian(rng, sizes[1], first),
            gaussian(rng, sizes[2], second),
            1.0,
        )
        for _ in range(repetitions)
    ]


def rejected(tests):
    return np.mean([test.p_value <= 0.05 for test in tests])


def kernel(A, B):
    return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(-1))


def zeta(first, second):
    """Return the covariance ζ₁ of two MMD² that share X, term by term by loops over indices.

    `first` and `second` are (Kxx, Kyy, Kxy); each argument of the U-statistic's kernel h is held
    fixed in turn and the rest averaged, as in the appendix of Bounliphone et al. 2015.
    """
    m = len(first[0])

    def projection(xx, yy, xy, i, side):
        others = [j for j in range(m) if j != i]
        if side == "x":
            return np.mean([xx[i, j] for j in others]) - np.mean([xy[i, j] for j in range(m)])
        return np.mean([yy[i, j] for j in others]) - np.mean([xy[j, i] for j in range(m)])

    def covariance(side):
        parts = [[projection(*K, i, side) for i in range(m)] for K in (first, second)]
        return np.cov(parts, ddof=0)[0, 1]

    return covariance("x") + (covariance("y") if first is second else 0.0)


def test_against_the_papers_covariance_matrix():
    rng = np.random.default_rng(3)
    X, Y, Z = (gaussian(rng, 12, shift) for shift in (0.0, 0.5, 1.0))
    to_y, to_z = ((kernel(X, X), kernel(S, S), kernel(X, S)) for S in (Y, Z))
    factor = 4 * (12 - 2) / (12 * 11)
    s11, s22, s12 = (factor * zeta(*pair) for pair in ((to_y, to_y), (to_z, to_z), (to_y, to_z)))
    difference = mmd2_unbiased(X, Y, 1.0) - mmd2_unbiased(X, Z, 1.0)
    expected = difference / math.sqrt(s11 + s22 - 2 * s12)
    test = relative_similarity_test(X, Y, Z, 1.0)
    assert test.statistic == pytest.approx(expected, rel=1e-10)
    assert test.p_value == pytest.approx(stats.norm.cdf(-expected), rel=1e-10)
    assert test.mmd2_a == pytest.approx(mmd2_unbiased(X, Y, 1.0), abs=1e-15)
    assert test.mmd2_b == pytest.approx(mmd2_unbiased(X, Z, 1.0), abs=1e-15)


def test_level_on_the_boundary_of_the_null():
    """Shifted to opposite sides, the candidates are equally far: the statistic is N(0, 1)."""
    tests = simulate(1.0, -1.0)
    assert 0.02 < rejected(tests) < 0.085  # 5%, and three standard errors of 400 tests
    statistics = [test.statistic for test in tests]
    assert abs(np.mean(statistics)) < 0.15
    assert 0.9 < np.std(statistics) < 1.1


def test_exchanging_the_candidates_turns_the_p_value_round():
    rng = np.random.default_rng(4)
    X, Y, Z = (gaussian(rng, 40, shift) for shift in (0.0, 0.3, 1.0))
    one, other = relative_similarity_test(X, Y, Z, 1.0), relative_similarity_test(X, Z, Y, 1.0)
    assert one.p_value + other.p_value == pytest.approx(1.0)
    assert one.p_value > 0.95  # the first candidate is closer
    assert relative_similarity_test(X, Y, Y, 1.0).p_value == pytest.approx(0.5)


def test_bad_input_is_named():
    X = np.zeros((5, 2))
    for names in itertools.combinations(("reference", "candidate_a", "candidate_b"), 1):
        arguments = {"reference": X, "candidate_a": X, "candidate_b": X} | {names[0]: X[:2]}
        with pytest.raises(ValueError, match=f"{names[0]} must .* at least 3 rows"):
            relative_similarity_test(**arguments, bandwidth=1.0)
    with pytest.raises(ValueError, match="same number of columns"):
        relative_similarity_test(X, X[:, :1], X, 1.0)
