"""The CRPS of mixtures, normal densities, Student's t and tables, against scoringrules."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

from kcde.estimators import Defensive, EpsilonKDE
from kcde.estimators._shared.floored import StudentT
from kcde.estimators._shared.tabulated import TabulatedCdf
from kcde.panels import equal


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


def test_a_table_is_exact_within_and_outside_its_support():
    """Of a logistic density, whose CRPS has a closed form."""

    def at(Y):
        return lambda X: np.repeat(stats.logistic.logpdf(Y[:, 0])[None], len(X), axis=0)

    table = TabulatedCdf(at, np.zeros((1, 0)), equal(-40.0, 40.0, 80))
    y = np.array([[-45.0, -40.0, -1.3, 0.0, 0.77, 40.0, 43.0]])
    closed = y - 2.0 * stats.logistic.logcdf(y) - 1.0
    np.testing.assert_allclose(table.crps(y), closed, rtol=1e-9)
    np.testing.assert_allclose(table.crps(y), scoringrules.crps_logistic(y, 0.0, 1.0), rtol=1e-9)


def test_a_floor_takes_its_share(pairs):
    """Of a mixture of two mixtures, which is a mixture: components with the weights of both."""
    X, Y = pairs
    inside = EpsilonKDE(0.5, 0.3).fit(X, Y)
    model = Defensive(EpsilonKDE(0.5, 0.3), weight=0.3).fit(X, Y)
    weights = np.hstack([0.7 * inside.weights_at(X), np.full((30, 1), 0.3)])
    centres = np.hstack([np.repeat(inside._centres.T, 30, axis=0), np.zeros((30, 1))])
    stds = np.hstack([np.full((30, 30), inside._sigma[0]), np.full((30, 1), 2.0)])
    expected = scoringrules.crps_mixnorm(Y[:, 0], centres, stds, weights)
    np.testing.assert_allclose(model.crps(X, Y), expected, rtol=1e-6)


@pytest.mark.parametrize("degrees", [3.0, 10.0])
def test_students_t(degrees):
    y = np.array([-5.0, 0.3, 1.0])
    expected = scoringrules.crps_t(y, degrees, 0.3, 2.0)
    np.testing.assert_allclose(StudentT(0.3, 2.0, degrees).crps(y), expected, rtol=1e-10)
