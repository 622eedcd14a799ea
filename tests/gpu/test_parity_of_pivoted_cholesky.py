"""Pivoted Cholesky where the data are, stored and streamed, takes the pivots of the host."""

import numpy as np
import pytest
from parity import TOLERANCE, assert_same

from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky

KERNEL = GaussianKernel(0.6)


@pytest.mark.parametrize("store", [True, False, "auto"])
@pytest.mark.parametrize("pivots", ["greedy", "random", "rpcholesky", "column"])
def test_factors(other_xp, rng, pivots, store):
    if pivots == "column" and store is False:
        pytest.skip("the rule needs the factor")
    # Beyond so many rows the candidates on a device are fewer than those on the host.
    X = rng.standard_normal((9000 if pivots == "greedy" else 600, 2))
    expected, found = (
        pivoted_cholesky(
            KERNEL, points, 1e-3, pivots=pivots, store=store, rng=np.random.default_rng(3)
        )
        for points in (X, other_xp.asarray(X))
    )
    assert 10 < len(expected.pivots) < 300
    np.testing.assert_array_equal(found.pivots, expected.pivots)
    # Where the errors are small they are what a sum of n entries of rounding leaves.
    assert_same(found.trace_errors, expected.trace_errors)
    few = X[:50]
    assert_same(found.factor_rows(other_xp.asarray(few)), expected.factor_rows(few))
    assert (found.L is None) == (expected.L is None)
    if expected.L is not None:
        # A random pivot may be nearly spanned by others, which magnifies rounding.
        assert_same(found.L, expected.L, 1e-8 if pivots == "random" else TOLERANCE)
