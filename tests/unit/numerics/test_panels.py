"""Panels that cover a range, and their refinement, against closed forms."""

import numpy as np
import pytest
from scipy import stats

from kcde.normalisers import quadrature
from kcde.panels import (
    QuadratureWarning,
    cover,
    equal,
    filled,
    mass_outside,
    neighbourhoods,
    numbered,
    refine,
    warn_of,
)


def spikes(Y):
    """log of a normal density of standard deviation x₂ around x₁, times exp(x₃)."""
    return lambda X: stats.norm.logpdf(Y[:, 0], X[:, :1], X[:, 1:2]) + X[:, 2:]


X = np.array([[0.3, 1e-7, 5.0], [-7.7, 1e-3, -2000.0], [0.0, 1.0, 3000.0], [9.1, 1e-12, 0.0]])


def test_refinement_finds_peaks_between_the_nodes():
    parts = refine(spikes, X, equal(-20.0, 20.0, 40), np.arange(4))
    assert [part.rows.tolist() for part in parts] == [[0, 1, 2, 3]]
    np.testing.assert_allclose(parts[0].log_mass, X[:, 2], atol=1e-6)
    panels = parts[0].panels
    np.testing.assert_allclose(panels.upper[:-1], panels.lower[1:])
    assert (panels.lower[0], panels.upper[-1]) == (-20.0, 20.0)
    assert len(panels) < 1000


def test_quadrature_goes_on_where_doubling_stops_and_counts_what_is_outside():
    narrow = np.array([[0.3, 3e-5, 5.0]])
    found = quadrature(spikes, narrow, (-20.0, 20.0, 1.0), outside=2.0)
    np.testing.assert_allclose(found.log_z, np.log(np.exp(5.0) + 2.0), atol=1e-7)


def test_warnings_number_rows_as_the_caller_does():
    with (
        numbered(np.array([10, 11, 12])),
        numbered(np.array([1, 2])),
        pytest.warns(QuadratureWarning, match="row 12 of x"),
    ):
        warn_of(np.array([0.0, 0.2]))


def test_pieces_are_disjoint_and_cover_what_they_should():
    centres = np.array([5.0, 1.0, 1.5, 900.0])
    pieces = neighbourhoods(centres, 1.0, 0.5)
    assert pieces == [(0.0, 2.5, 0.5), (4.0, 6.0, 0.5), (899.0, 901.0, 0.5)]
    between = filled(pieces, -3.0, 10.0, 2.0)
    assert between == [
        (-3.0, 0.0, 2.0),
        (0.0, 2.5, 0.5),
        (2.5, 4.0, 2.0),
        (4.0, 6.0, 0.5),
        (6.0, 10.0, 2.0),
        (899.0, 901.0, 0.5),
    ]
    law = stats.norm(1.0, 2.0)
    inside = sum(law.cdf(b) - law.cdf(a) for a, b, _ in pieces)
    outside = mass_outside(pieces, lambda a, b: law.cdf(a) + law.sf(b))
    assert outside == pytest.approx(1.0 - inside)


def test_a_wide_range_is_covered_in_pieces_and_refused_without():
    support = (-1e9, 1e9, 0.5)
    pieces = neighbourhoods(np.array([-1e9 + 5.0, 0.0, 1e9 - 5.0]), 5.0, 0.5)
    panels = cover(support, pieces)
    assert len(panels) == 60
    wide = np.array([[0.2, 0.4, 0.0]])
    found = quadrature(spikes, wide, support, pieces=pieces).log_z
    np.testing.assert_allclose(found, 0.0, atol=1e-9)
    with pytest.raises(ValueError, match="too wide to integrate over; rescale y"):
        cover(support)
