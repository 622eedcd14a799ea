"""Panels that cover a range, and their refinement, against closed forms."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from kcde import panels
from kcde.arrays import to_numpy as host
from kcde.normalisers import GaussianProposal, importance_sampling, logsumexp, quadrature

PROPOSAL = GaussianProposal(np.array([0.3]), np.array([2.0]))
SPIKES = np.array([[0.3, 1e-7, 5.0], [-7.7, 1e-3, -2000.0], [0.0, 1.0, 3000.0], [9.1, 1e-12, 0.0]])


def bump(y, x):
    """An unnormalised log density with two modes that move with x."""
    return np.log(np.exp(-2 * (y - x) ** 2) + 3.0 * np.exp(-0.5 * (y + 1) ** 2))


def at(Y):
    return lambda X: bump(np.asarray(Y)[:, 0][None, :], np.asarray(X)[:, :1])


@pytest.fixture
def X():
    return np.linspace(-1.5, 1.5, 5)[:, None]


@pytest.fixture
def exact(X):
    whole = {"a": -30, "b": 30, "limit": 200}
    return np.log([quad(lambda y, x: np.exp(bump(y, x)), args=(x,), **whole)[0] for x in X[:, 0]])


def test_quadrature_equals_scipy_and_adds_the_mass_outside(X, exact):
    inside = quadrature(at, X, (-12.0, 12.0, 0.5)).log_z
    np.testing.assert_allclose(inside, exact, atol=1e-9)
    both = quadrature(at, X, (-12.0, 12.0, 0.5), outside=0.25).log_z
    np.testing.assert_allclose(np.exp(both), np.exp(inside) + 0.25, rtol=1e-9)


def test_stated_errors_are_those_observed(X, exact):
    """Over 400 repetitions the spread of each log Z, and of their mean, is the stated one."""
    streams = map(np.random.default_rng, range(400))
    runs = [importance_sampling(at, X, PROPOSAL, 500, rng) for rng in streams]
    errors = np.array([run.log_z - exact for run in runs])
    stated = np.mean([run.stderr for run in runs], axis=0)
    np.testing.assert_allclose(errors.std(axis=0), stated, rtol=0.15)
    stated_mean = np.mean([run.mean_stderr for run in runs])
    np.testing.assert_allclose(errors.mean(axis=1).std(), stated_mean, rtol=0.15)
    with pytest.raises(ValueError, match="at least 2"):
        importance_sampling(at, X, PROPOSAL, 1, np.random.default_rng(0))


def test_logsumexp(xp):
    values = np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [-2000.0, -np.inf]])
    with np.errstate(divide="ignore"):
        result = host(logsumexp(xp.asarray(values), axis=1))
    np.testing.assert_allclose(result, [1000.0 + np.log(2.0), -np.inf, -2000.0])


@pytest.mark.parametrize("at_once", [1, 900, 1600])
def test_blocks_of_x_change_nothing(X, at_once, monkeypatch):
    def both():
        drawn = importance_sampling(at, X, PROPOSAL, 400, np.random.default_rng(2))
        return drawn, quadrature(at, X, (-12.0, 12.0, 0.5))

    whole = both()
    monkeypatch.setattr("kcde.panels.AT_ONCE", at_once)
    for one, parts in zip(whole, both(), strict=True):
        for name in ("log_z", "stderr", "effective_sample_size", "mean_stderr"):
            np.testing.assert_allclose(getattr(parts, name), getattr(one, name), rtol=1e-12)


def spikes(Y):
    """log of a normal density of standard deviation x₂ around x₁, times exp(x₃)."""
    return lambda X: stats.norm.logpdf(Y[:, 0], X[:, :1], X[:, 1:2]) + X[:, 2:]


def test_refinement_finds_peaks_between_the_nodes():
    parts = panels.refine(spikes, SPIKES, panels.equal(-20.0, 20.0, 40), np.arange(4))
    assert [part.rows.tolist() for part in parts] == [[0, 1, 2, 3]]
    np.testing.assert_allclose(parts[0].log_mass, SPIKES[:, 2], atol=1e-6)
    refined = parts[0].panels
    np.testing.assert_allclose(refined.upper[:-1], refined.lower[1:])
    assert (refined.lower[0], refined.upper[-1]) == (-20.0, 20.0)
    assert len(refined) < 1000


def test_quadrature_goes_on_where_doubling_stops_and_counts_what_is_outside():
    found = quadrature(spikes, np.array([[0.0, 3e-3, 5.0]]), (-5.0, 5.1, 5.0))
    np.testing.assert_allclose(found.log_z, 5.0, atol=1e-6)
    narrow = np.array([[0.3, 3e-5, 5.0]])
    found = quadrature(spikes, narrow, (-20.0, 20.0, 1.0), outside=2.0)
    np.testing.assert_allclose(found.log_z, np.log(np.exp(5.0) + 2.0), atol=1e-7)


def test_warnings_number_rows_as_the_caller_does():
    with (
        panels.numbered(np.array([10, 11, 12])),
        panels.numbered(np.array([1, 2])),
        pytest.warns(panels.QuadratureWarning, match="row 12 of x"),
    ):
        panels.warn_of(np.array([0.0, 0.2]))


def test_pieces_are_disjoint_and_cover_what_they_should():
    centres = np.array([5.0, 1.0, 1.5, 900.0])
    pieces = panels.neighbourhoods(centres, 1.0, 0.5)
    assert pieces == [(0.0, 2.5, 0.5), (4.0, 6.0, 0.5), (899.0, 901.0, 0.5)]
    edges = [(a, b) for a, b, _ in panels.filled(pieces, -3.0, 10.0, 2.0)]
    assert edges == [(-3, 0), (0, 2.5), (2.5, 4), (4, 6), (6, 10), (899, 901)]
    law = stats.norm(1.0, 2.0)
    inside = sum(law.cdf(b) - law.cdf(a) for a, b, _ in pieces)
    outside = panels.mass_outside(pieces, lambda a, b: law.cdf(a) + law.sf(b))
    assert outside == pytest.approx(1.0 - inside)


def test_a_wide_range_is_covered_in_pieces_and_refused_without():
    support = (-1e9, 1e9, 0.5)
    pieces = panels.neighbourhoods(np.array([-1e9 + 5.0, 0.0, 1e9 - 5.0]), 5.0, 0.5)
    assert len(panels.cover(support, pieces)) == 60
    wide = np.array([[0.2, 0.4, 0.0]])
    found = quadrature(spikes, wide, support, pieces=pieces).log_z
    np.testing.assert_allclose(found, 0.0, atol=1e-9)
    with pytest.raises(ValueError, match="wide"):
        panels.cover(support)
