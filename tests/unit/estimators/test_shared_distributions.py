"""What distribution functions and scores are made of, against scipy and scoringrules."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

from contracted import some_pairs
from kcde.estimators import CDO, LSCDE, EpsilonKDE
from kcde.estimators._shared.floored import Normal, StudentT

MIXTURES = [(cls, name) for cls in (CDO, LSCDE) for name in ("clipped", "signed", "projected")]
OTHERS = {CDO: {"output_regularization": 0.05, "reference": 40}, LSCDE: {"n_centres": 20}}


@pytest.mark.parametrize("sigma", [0.01, 0.3])
def test_mixtures_with_common_centres_by_pairs_and_by_nodes(sigma):
    """Nodes are fewer than centres for 400 of them and the larger σ alone."""
    X, Y = some_pairs(np.random.default_rng(2), 400, 1, 0.3)
    for n in (30, 400):
        model = EpsilonKDE(1.0, sigma).fit(X[:n], Y[:n])
        assert ("integral" in model._half_spread().__name__) == (n == 400 and sigma == 0.3)
        centres = model._centres.T
        width = np.full(centres.shape, model._sigma[0])
        found = model.crps(X[:9], Y[:9])
        for i in range(9):
            weights = model.weights_at(X[i : i + 1])
            expected = scoringrules.crps_mixnorm(Y[i], centres, width, weights)
            assert found[i] == pytest.approx(float(expected[0]), rel=1e-7)


@pytest.mark.parametrize("degrees", [None, 2.0, 3.0, 10.0])
def test_location_scale_densities_are_those_of_scipy_and_scoringrules(degrees):
    density = StudentT(0.3, 1.7, degrees) if degrees else Normal(0.3, 1.7)
    other = stats.t(degrees, 0.3, 1.7) if degrees else stats.norm(0.3, 1.7)
    y, p = np.linspace(-4.0, 5.0, 13), np.array([0.01, 0.4, 0.9])
    np.testing.assert_allclose(density.log_density(y), other.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(density.cdf(y), other.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(density.quantile(p), other.ppf(p), rtol=1e-10)
    assert density.outside(-2.0, 3.0) == pytest.approx(other.cdf(-2.0) + other.sf(3.0))
    nodes, weights = density.nodes()
    assert weights @ np.tanh(nodes) == pytest.approx(other.expect(np.tanh), abs=1e-7)
    if degrees:
        expected = scoringrules.crps_t(y, degrees, 0.3, 1.7)
        np.testing.assert_allclose(density.crps(y), expected, rtol=1e-10)


@pytest.mark.parametrize(("cls", "weights"), [*MIXTURES, (LSCDE, "constrained")])
def test_moments_are_those_of_a_density_that_may_be_negative(pairs, cls, weights):
    """Where it is not positive it has no logarithm."""
    X, y = pairs[0][:6], np.linspace(-10.0, 10.0, 4001)[:, None]
    model = cls(0.8, 0.4, 1e-3, **OTHERS[cls], weights=weights).fit(*pairs)
    density = model.density_at(y)(X)
    assert (density.min() < 0.0) == (weights == "signed")
    mass, first, second = (np.trapezoid(density * y.T**p, y[:, 0]) for p in range(3))
    np.testing.assert_allclose(mass, 1.0)
    np.testing.assert_allclose(model.mean(X)[:, 0], first, rtol=1e-8)
    np.testing.assert_allclose(model.variance(X)[:, 0], second - first**2, rtol=1e-7)
    found = model.conditional_expectation(lambda y: np.hstack([y**0, y, y**2]), X)
    np.testing.assert_allclose(found, np.column_stack([mass, first, second]), rtol=1e-7)
    log_density, positive = model.log_density_at(y)(X), density > 0.0
    np.testing.assert_array_equal(np.isneginf(log_density), ~positive)
    np.testing.assert_allclose(np.exp(log_density)[positive], density[positive], rtol=1e-9)
    of_pairs = model.log_density(np.repeat(X[:1], len(y), axis=0), y)
    np.testing.assert_allclose(of_pairs, log_density[0], rtol=1e-6)
