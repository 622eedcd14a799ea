"""What distribution functions are made of: roots, tables of an integral, the normal's own."""

import numpy as np
import pytest
from scipy import stats

from kcde.arrays import normal_cdf
from kcde.estimators import KCEF
from kcde.estimators._shared.tabulated import TabulatedCdf, increasing_root
from kcde.panels import cover

X = np.zeros((3, 1))


def at_rows(*log_densities):
    """`at(Y)(X)` of one density for each row of X."""
    return lambda Y: lambda X: np.stack([f(Y[:, 0]) for f in log_densities])


def test_normal_cdf_stays_in_its_namespace(xp, host):
    z = np.array([-30.0, -1.0, 0.0, 2.5])
    found = normal_cdf(xp.asarray(z))
    assert isinstance(found, type(xp.asarray(z)))
    np.testing.assert_allclose(host(found), stats.norm.cdf(z), rtol=1e-13)


def test_tables_are_those_of_scipy():
    laws = stats.norm(0.3, 0.7), stats.logistic(-1.0, 0.2), stats.t(20, 1.0, 0.4)
    table = TabulatedCdf(at_rows(*(law.logpdf for law in laws)), X, cover((-12.0, 12.0, 0.5)))
    y = np.array([[-20.0, -1.1, 0.4], [-1.0, -0.2, 0.0], [0.5, 1.5, 20.0]])
    expected = np.stack([law.cdf(row) for law, row in zip(laws, y, strict=True)])
    np.testing.assert_allclose(table.cdf(y), expected, atol=1e-9)
    p = np.array([0.01, 0.5, 0.77])
    expected = np.stack([law.ppf(p) for law in laws])
    np.testing.assert_allclose(table.quantile(p), expected, atol=1e-7)


def test_what_a_density_is_multiplied_with_does_not_count():
    law = stats.norm(0.0, 1.0)
    at = at_rows(law.logpdf, lambda y: law.logpdf(y) + 5000.0, lambda y: law.logpdf(y) - 5000.0)
    found = TabulatedCdf(at, X, cover((-10.0, 10.0, 1.0))).cdf(np.full((3, 1), 0.4))
    np.testing.assert_allclose(found, law.cdf(0.4), atol=1e-10)


def test_a_density_that_is_nowhere_is_an_error():
    nothing = at_rows(*[lambda y: np.full(len(y), -np.inf)] * 3)
    with pytest.raises(FloatingPointError, match="density is zero on the whole range of y"):
        TabulatedCdf(nothing, X, cover((-1.0, 1.0, 0.5)))


@pytest.mark.parametrize("std", [2e-4, 1e-9])
def test_panels_are_halved_where_a_density_is_narrow(std):
    laws = stats.norm(0.3, std), stats.norm(-7.0, 1.0), stats.norm(0.3, 0.1)
    table = TabulatedCdf(at_rows(*(law.logpdf for law in laws)), X, cover((-20.0, 20.0, 0.5)))
    p = np.array([0.01, 0.5, 0.77])
    expected = np.stack([law.ppf(p) for law in laws])
    np.testing.assert_allclose(table.quantile(p), expected, atol=1e-6 * std)
    np.testing.assert_allclose(table.cdf(expected), np.tile(p, (3, 1)), atol=1e-6)


def test_roots_are_found_from_any_start_and_where_newton_leaves_the_bracket():
    shift = np.array([-5.0, 0.0, 3.0, 7.9])

    def excess(t):
        return np.arctan(20.0 * (t - shift)), 20.0 / (1.0 + (20.0 * (t - shift)) ** 2)

    lower, upper = np.full(4, -8.0), np.full(4, 8.0)
    for start in (-8.0, 0.1, 8.0):
        found = increasing_root(excess, lower, upper, np.full(4, start), 1e-12)
        np.testing.assert_allclose(found, shift, atol=1e-11)


def test_a_root_in_a_flat_stretch_is_within_it():
    def excess(t):
        return np.where(np.abs(t) < 1.0, 0.0, np.sign(t) * (np.abs(t) - 1.0)), np.abs(t) >= 1.0

    found = increasing_root(excess, np.array([-9.0]), np.array([4.0]), np.array([-9.0]), 1e-12)
    assert abs(found[0]) <= 1.0 + 1e-12


def test_what_depends_on_y_alone_is_computed_once_for_all_blocks_of_x(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 1))
    Y = np.sin(X) + 0.3 * rng.normal(size=X.shape)
    model = KCEF(0.5, 0.5, 1e-3).fit(X, Y)
    blocks = list(model._cdf_tables(X))
    assert len(blocks) > 2
    asked, at = [], model._log_relative_at
    monkeypatch.setattr(model, "_log_relative_at", lambda Y: asked.append(Y.tobytes()) or at(Y))
    found = model.cdf(X, Y)
    assert len(asked) == len(set(asked)) > 1
    # More than is kept is computed again, with the same result.
    monkeypatch.setattr("kcde.estimators._shared.distribution._REMEMBERED", 0)
    np.testing.assert_array_equal(model.cdf(X, Y), found)
    assert len(asked) > len(set(asked)) * len(blocks) / 2
