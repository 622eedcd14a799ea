"""Pivoted Cholesky, normalisers and Markov chains where the data are, with the host's numbers."""

import numpy as np
import pytest
from parity import TOLERANCE, assert_same

from contracted import QUICK
from kcde import panels
from kcde.arrays import array_namespace
from kcde.estimators import KCEF, KEF
from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky
from kcde.sampling import hmc

# The first steps of the burn-in are ten times the given one, whose orbits are chaotic: after two of
# them a difference of 1e-16 has become one of 1e-7. So a model's chains are compared without.
SHORT = {"chains": 4, "burn_in": 0, "thin": 2}


def stream():
    return np.random.default_rng(3)


@pytest.mark.parametrize("store", [True, False, "auto"])
@pytest.mark.parametrize("pivots", ["greedy", "random", "rpcholesky", "column"])
def test_factors(other_xp, rng, pivots, store):
    if pivots == "column" and store is False:
        pytest.skip("the rule needs the factor")
    # Beyond so many rows a device has fewer candidates.
    X = rng.standard_normal((9000 if pivots == "greedy" else 600, 2))
    expected, found = (
        pivoted_cholesky(
            GaussianKernel(0.6), points, 1e-3, pivots=pivots, store=store, rng=stream()
        )
        for points in (X, other_xp.asarray(X))
    )
    assert 10 < len(expected.pivots) < 300
    np.testing.assert_array_equal(found.pivots, expected.pivots)
    # Where the errors are small they are what a sum of n entries of rounding leaves.
    assert_same(found.trace_errors, expected.trace_errors)
    assert_same(found.factor_rows(other_xp.asarray(X[:50])), expected.factor_rows(X[:50]))
    if expected.L is not None:
        # A random pivot may be nearly spanned by others, which magnifies rounding.
        assert_same(found.L, expected.L, 1e-8 if pivots == "random" else TOLERANCE)


@pytest.fixture(params=[(KCEF, 1), (KCEF, 2), (KEF, 1)])
def fitted(request, rng, pairs, other_xp):
    """Return a model, its x and the same in another namespace; y of one and of two columns."""
    (cls, columns), (X, Y) = request.param, pairs
    Y = np.hstack([Y, X[:, 1:] ** 2 + 0.3 * rng.standard_normal((30, 1))])[:, :columns]
    X = X if cls is KCEF else X[:, :0]
    there = other_xp.asarray(X), other_xp.asarray(Y)
    expected, found = (cls(**QUICK[cls.__name__]).fit(*each) for each in ((X, Y), there))
    return expected, X, found, there[0]


def test_short_chains_are_the_same(fitted):
    expected, X, found, moved_X = fitted
    streams = stream(), stream()
    one = expected.sample_hmc(X[:6], 24, streams[0], **SHORT)
    other = found.sample_hmc(moved_X[:6, :], 24, streams[1], **SHORT)
    for name in ("draws", "acceptance", "divergences"):
        assert_same(getattr(other, name), getattr(one, name))
    assert streams[0].random() == streams[1].random()


@pytest.mark.parametrize("how", [{"burn_in": 40, "windows": True}, {"burn_in": 5}])
def test_chains_stay_where_they_start(other_xp, how):
    def gaussian(Y):
        return -0.5 * array_namespace(Y).sum(Y * Y, axis=1), -Y

    start = np.random.default_rng(0).standard_normal((6, 2))
    there = other_xp.asarray(start)
    how = how | {"iterations": 20, "thin": 5, "leapfrog_steps": 2}
    expected, found = (hmc(gaussian, each, stream(), **how) for each in (start, there))
    for name in ("draws", "acceptance"):
        assert array_namespace(getattr(found, name)) == array_namespace(there)
        assert_same(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("at_once", [panels.AT_ONCE, 3000])
def test_normalisers(fitted, at_once, monkeypatch):
    expected, X, found, moved_X = fitted
    monkeypatch.setattr(panels, "AT_ONCE", at_once)
    settings = {"method": "importance", "n_samples": 500}
    one = expected.log_normaliser(X, rng=stream(), **settings)
    other = found.log_normaliser(moved_X, rng=stream(), **settings)
    for name in ("log_z", "stderr", "effective_sample_size", "mean_stderr"):
        assert_same(getattr(other, name), getattr(one, name))
    if expected.n_outputs_ == 1:
        other = found.log_normaliser(moved_X)
        assert_same(other.log_z, expected.log_normaliser(X).log_z)
        assert array_namespace(other.stderr) == array_namespace(moved_X)
