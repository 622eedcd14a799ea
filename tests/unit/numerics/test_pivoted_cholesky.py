import sys

import numpy as np
import pytest

from kcde.arrays import to_numpy as host
from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky
from naive import greedy_cholesky

KERNEL = GaussianKernel(0.8)
# The package has the function under the module's name.
implementation = sys.modules[pivoted_cholesky.__module__]


@pytest.fixture
def points(rng):
    return rng.standard_normal((300, 2))


class LinearKernel:
    """k(a, b) = a·b, of rank d."""

    def __call__(self, A, B):
        return A @ B.T

    def diagonal(self, A):
        return (A * A).sum(axis=1)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-8])
def test_greedy_equals_algorithm_1_line_by_line(xp, points, tolerance, store):
    K = KERNEL(points, points)
    L, B, pivots, error = greedy_cholesky(K, tolerance * np.trace(K))
    result = pivoted_cholesky(KERNEL, xp.asarray(points), tolerance, store=store)
    np.testing.assert_array_equal(result.pivots, pivots)
    np.testing.assert_allclose(host(result.B), B[pivots], rtol=1e-6, atol=1e-6 * abs(B).max())
    np.testing.assert_allclose(host(result.factor_rows(xp.asarray(points))), L, atol=1e-8)
    assert result.trace_error == pytest.approx(error, rel=1e-6)
    assert (result.L is None) is not store
    if store:
        np.testing.assert_allclose(host(result.L), L, atol=1e-9)


@pytest.mark.parametrize("kind", ["generic", "duplicates", "rank-deficient"])
@pytest.mark.parametrize("pivots", ["greedy", "rpcholesky"])
def test_theorem_4_1(points, rng, pivots, kind):
    kernel, X, tolerance = {
        "generic": (KERNEL, points, 1e-4),
        "duplicates": (KERNEL, np.tile(points[:20], (15, 1)), 1e-9),
        "rank-deficient": (LinearKernel(), rng.standard_normal((300, 4)), 1e-9),
    }[kind]
    K = kernel(X, X)
    result = pivoted_cholesky(kernel, X, tolerance, pivots=pivots, rng=rng)
    L, m = result.L, len(result.pivots)
    rest = K - L @ L.T
    # (15), with the error reported; the Schur complement is positive semi-definite.
    assert np.trace(rest) <= tolerance * np.trace(K)
    assert result.trace_error == pytest.approx(np.trace(rest), rel=1e-8, abs=1e-10)
    assert np.linalg.eigvalsh(rest).min() > -1e-11
    # (16): B has rows at the pivots only, which is how it is stored, and is regular there.
    B = np.zeros((300, m))
    B[result.pivots] = result.B
    assert np.linalg.matrix_rank(result.B, tol=1e-12) == m
    np.testing.assert_allclose(B.T @ L, np.eye(m), atol=1e-7)  # (17)
    np.testing.assert_allclose(K @ B, L, atol=1e-9)  # (18)
    # One pivot fewer would not have been enough.
    assert np.trace(K - L[:, :-1] @ L[:, :-1].T) > tolerance * np.trace(K)


@pytest.mark.parametrize(("pivots", "seed"), [("greedy", 3), ("rpcholesky", 0)])
def test_rounding_of_kernel_values_is_no_pivot(pivots, seed):
    # Points up to fifty bandwidths from 0: kernel values are exact to 1e-13 only.
    X = np.random.default_rng(seed).uniform(-600.0, 1100.0, size=(3000, 1))
    kernel = GaussianKernel(20.0)
    options = {"relative": False, "max_rank": 1000, "pivots": pivots}
    factor = pivoted_cholesky(kernel, X, 1e-13, rng=np.random.default_rng(0), **options)
    assert np.abs(kernel(X, X) - factor.L @ factor.L.T).max() < 1e-9
    assert factor.trace_error > 1e-13
    assert len(factor.pivots) < 500  # 230 to 354 by the machine; 1000 if rounding were taken


@pytest.mark.nightly
def test_randomly_pivoted_draws_by_the_diagonal(rng):
    """Frequencies of pairs of pivots against p(i) p(j|i) = K_ii/trace × S_jj/trace S."""
    X = np.array([[0.0], [0.6], [1.5], [1.7]])
    K = KERNEL(X, X)
    draws = 4000
    found = np.zeros((4, 4))
    for _ in range(draws):
        i, j = pivoted_cholesky(KERNEL, X, 1e-9, max_rank=2, pivots="rpcholesky", rng=rng).pivots
        found[i, j] += 1.0 / draws
    expected = np.zeros((4, 4))
    for i in range(4):
        rest = np.diag(K - np.outer(K[i], K[i]) / K[i, i]).copy()
        rest[i] = 0.0
        expected[i] = K[i, i] / np.trace(K) * rest / rest.sum()
    assert np.abs(found - expected).max() < 5 * np.sqrt(0.25 / draws)


def test_absolute_tolerance_and_largest_rank(points):
    relative = pivoted_cholesky(KERNEL, points, 0.01)
    absolute = pivoted_cholesky(KERNEL, points, 3.0, relative=False)
    np.testing.assert_array_equal(relative.pivots, absolute.pivots)
    capped = pivoted_cholesky(KERNEL, points, 0.01, max_rank=5)
    np.testing.assert_array_equal(capped.pivots, relative.pivots[:5])
    assert capped.trace_error > 3.0


@pytest.mark.parametrize("pivots", ["greedy", "rpcholesky"])
def test_a_factor_that_outgrows_its_room_is_streamed_from_there(points, pivots, monkeypatch):
    monkeypatch.setitem(implementation._MAX_STORED, "auto", 40 * len(points))

    def factorised(store, tolerance):
        rng = np.random.default_rng(3)
        return pivoted_cholesky(KERNEL, points, tolerance, store=store, pivots=pivots, rng=rng)

    kept, loose = factorised(True, 1e-8), factorised("auto", 0.5)
    dropped = factorised("auto", 1e-8)
    assert loose.L is not None
    assert dropped.L is None
    assert len(kept.pivots) > 40
    np.testing.assert_array_equal(dropped.pivots, kept.pivots)
    np.testing.assert_allclose(dropped.factor_rows(points), kept.L, atol=1e-6)


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("pivots", ["greedy", "rpcholesky"])
def test_truncated_is_factorised_anew_with_a_looser_tolerance(xp, points, pivots, store):
    def factorise(tolerance, max_rank=None):
        options = {"store": store, "pivots": pivots, "rng": np.random.default_rng(5)}
        return pivoted_cholesky(KERNEL, xp.asarray(points), tolerance, max_rank=max_rank, **options)

    for looser, most in ((1e-2, None), (1e-5, None), (1e-2, 20)):
        part, anew = factorise(1e-7, most).truncate(looser), factorise(looser, most)
        np.testing.assert_array_equal(part.pivots, anew.pivots)
        np.testing.assert_array_equal(part.trace_errors, anew.trace_errors)
        for name in ("B", "points", "L")[: 2 + store]:
            same, other = host(getattr(part, name)), host(getattr(anew, name))
            np.testing.assert_allclose(same, other, rtol=1e-12, atol=1e-14)
        assert (part.target, part.trace) == (anew.target, anew.trace)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": 500.0, "relative": False}, "trace"),
        ({"max_rank": 301}, "max_rank"),
        ({"pivots": "best"}, "pivots"),
        ({"pivots": "rpcholesky"}, "rng"),
        ({"store": "disk"}, "store"),
    ],
)
def test_bad_arguments_are_named(points, arguments, message):
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(KERNEL, points, **{"tolerance": 1e-3, **arguments})
    with pytest.raises(ValueError, match="smaller tolerance"):
        pivoted_cholesky(KERNEL, points, 0.01).truncate(0.001)
