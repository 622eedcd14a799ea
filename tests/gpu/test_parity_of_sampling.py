"""Normalisers and Markov chains where the data are, with the random numbers of the host."""

import numpy as np
import pytest
from parity import assert_same, moved

from contracted import QUICK
from kcde import panels
from kcde.arrays import array_namespace
from kcde.estimators import KCEF, KEF
from kcde.sampling import hmc

# The first steps of the burn-in are ten times the given one, whose orbits are chaotic: after two of
# them a difference of 1e-16 has become one of 1e-7. So a model's chains are compared without.
SHORT = {"chains": 4, "burn_in": 0, "thin": 2}


def gaussian(Y):
    """Log density and gradient of independent Gaussians."""
    return -0.5 * array_namespace(Y).sum(Y * Y, axis=1), -Y


@pytest.fixture(params=[1, 2])
def fitted(request, rng, pairs, other_xp):
    """Return a model, its x and the same in another namespace; y of one and of two columns."""
    X, Y = pairs
    Y = np.hstack([Y, X[:, 1:] ** 2 + 0.3 * rng.standard_normal((30, 1))])[:, : request.param]
    moved_X, moved_Y = moved((X, Y), other_xp)
    expected, found = KCEF(**QUICK["KCEF"]).fit(X, Y), KCEF(**QUICK["KCEF"]).fit(moved_X, moved_Y)
    return expected, X, found, moved_X


def test_short_chains_are_the_same(fitted):
    expected, X, found, moved_X = fitted
    streams = np.random.default_rng(3), np.random.default_rng(3)
    one = expected.sample_hmc(X[:6], 24, streams[0], **SHORT)
    other = found.sample_hmc(moved_X[:6, :], 24, streams[1], **SHORT)
    assert_same(other.draws, one.draws)
    assert other.acceptance == pytest.approx(one.acceptance, rel=1e-9)
    assert other.divergences == one.divergences
    assert streams[0].random() == streams[1].random()


def test_chains_without_x(pairs, other_xp):
    Y = pairs[1]
    runs = [
        KEF(**QUICK["KEF"]).fit(None, y).sample_hmc(None, 24, np.random.default_rng(3), **SHORT)
        for y in (Y, other_xp.asarray(Y))
    ]
    assert_same(runs[1].draws, runs[0].draws)


def test_chains_that_adapt_in_windows_stay_where_they_start(other_xp):
    start = np.random.default_rng(0).standard_normal((6, 2))
    how = {"burn_in": 40, "iterations": 4, "thin": 2, "leapfrog_steps": 2, "windows": True}
    expected = hmc(gaussian, start, np.random.default_rng(3), **how)
    found = hmc(gaussian, other_xp.asarray(start), np.random.default_rng(3), **how)
    assert array_namespace(found.draws) == array_namespace(other_xp.asarray(start))
    assert_same(found.draws, expected.draws)


def test_chains_stay_where_they_start(other_xp):
    start = np.linspace(-1.0, 1.0, 12).reshape(6, 2)
    expected = hmc(gaussian, start, np.random.default_rng(3), burn_in=5, iterations=20, thin=5)
    start = other_xp.asarray(start)
    found = hmc(gaussian, start, np.random.default_rng(3), burn_in=5, iterations=20, thin=5)
    assert array_namespace(found.draws) == array_namespace(found.acceptance)
    assert array_namespace(found.draws) == array_namespace(start)
    assert_same(found.draws, expected.draws)
    assert_same(found.acceptance, expected.acceptance)


@pytest.mark.parametrize("at_once", [None, 3000])
def test_importance_sampling(fitted, at_once, monkeypatch):
    expected, X, found, moved_X = fitted
    if at_once:
        monkeypatch.setattr(panels, "AT_ONCE", at_once)
    settings = {"method": "importance", "n_samples": 500}
    one = expected.log_normaliser(X, rng=np.random.default_rng(3), **settings)
    other = found.log_normaliser(moved_X, rng=np.random.default_rng(3), **settings)
    for name in ("log_z", "stderr", "effective_sample_size"):
        assert_same(getattr(other, name), getattr(one, name))
    assert other.mean_stderr == pytest.approx(one.mean_stderr, rel=1e-9)


def test_quadrature(fitted):
    expected, X, found, moved_X = fitted
    if expected.n_outputs_ > 1:
        pytest.skip("quadrature is for one y")
    one, other = expected.log_normaliser(X), found.log_normaliser(moved_X)
    assert_same(other.log_z, one.log_z)
    assert array_namespace(other.stderr) == array_namespace(moved_X)
