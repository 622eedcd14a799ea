"""What distribution functions are made of: roots, tables of an integral, the normal's own."""

import numpy as np
import pytest
from scipy import stats

from kcde.estimators._shared.tabulated import TabulatedCdf, increasing_root
from kcde.panels import cover

X = np.zeros((3, 1))


def at_rows(*log_densities):
    """`at(Y)(X)` of one density for each row of X."""
    return lambda Y: lambda X: np.stack([f(Y[:, 0]) for f in log_densities])


def test_tables_are_those_of_scipy():
    laws = stats.norm(0.3, 0.7), stats.logistic(-1.0, 0.2), stats.t(20, 1.0, 0.4)
    table = TabulatedCdf(at_rows(*(law.logpdf for law in laws)), X, cover((-12.0, 12.0, 0.5)))
    y = np.array([[-20.0, -1.1, 0.4], [-1.0, -0.2, 0.0], [0.5, 1.5, 20.0]])
    expected = np.stack([law.cdf(row) for law, row in zip(laws, y, strict=True)])
    np.testing.assert_allclose(table.cdf(y), expected, atol=1e-9)
    p = np.array([0.01, 0.5, 0.77])
    expected = np.stack([law.ppf(p) for law in laws])
    np.testing.assert_allclose(table.quantile(p), expected, atol=1e-7)


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
