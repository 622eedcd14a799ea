"""What distribution functions and scores are made of, against scipy and scoringrules."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

from contracted import make
from kcde.estimators import EpsilonKDE
from kcde.estimators._shared.floored import StudentT
from kcde.estimators._shared.tabulated import TabulatedCdf
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


@pytest.mark.parametrize("sigma", [0.01, 0.3])
def test_mixtures_with_common_centres_by_pairs_and_by_nodes(sigma):
    """Nodes are fewer than centres for 400 of them and the larger σ alone."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 1))
    Y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(400)
    for n in (30, 400):
        model = EpsilonKDE(1.0, sigma).fit(X[:n], Y[:n])
        assert ("integral" in model._half_spread().__name__) == (n == 400 and sigma == 0.3)
        centres = model._centres.T
        width = np.full(centres.shape, model._sigma[0])
        found = model.crps(X[:9], Y[:9])
        for i in range(9):
            weights = model.weights_at(X[i : i + 1])
            expected = scoringrules.crps_mixnorm(Y[i : i + 1], centres, width, weights)
            assert found[i] == pytest.approx(float(expected[0]), rel=1e-7)


@pytest.mark.parametrize("degrees", [3.0, 10.0])
def test_students_t(degrees):
    y = np.array([-5.0, 0.3, 1.0])
    expected = scoringrules.crps_t(y, degrees, 0.3, 2.0)
    np.testing.assert_allclose(StudentT(0.3, 2.0, degrees).crps(y), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["EpsilonKDE", "SmoothedCME"])
def test_moments_are_those_of_the_density(pairs, xp, host, name):
    X, Y = (xp.asarray(rows) for rows in pairs)
    model = make(name).fit(X, Y)
    y = np.linspace(-9.0, 9.0, 4001)
    density = host(model.density_at(xp.asarray(y[:, None]))(X))
    first, second = (np.trapezoid(density * y**p, y, axis=1) for p in (1, 2))
    np.testing.assert_allclose(host(model.mean(X))[:, 0], first, rtol=1e-8)
    np.testing.assert_allclose(host(model.variance(X))[:, 0], second - first**2, rtol=1e-7)
    np.testing.assert_allclose(host(xp.sum(model.weights_at(X), axis=1)), 1.0)


def test_moments_far_from_the_origin_lose_no_digits(pairs):
    X, Y = pairs
    plain = EpsilonKDE(0.5, 0.3).fit(X, Y)
    moved = EpsilonKDE(0.5, 0.3).fit(X, Y + 1e6)
    np.testing.assert_allclose(moved.variance(X), plain.variance(X), rtol=1e-8)
    np.testing.assert_allclose(moved.mean(X) - 1e6, plain.mean(X), atol=1e-8)
