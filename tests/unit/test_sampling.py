import numpy as np
from scipy import stats

from kcde.sampling import hmc, inverse_cdf


def test_inverse_cdf_draws_from_each_density(rng):
    nodes = np.linspace(-8, 8, 4001)
    means = np.array([-1.0, 2.0])
    log_density = stats.norm.logpdf(nodes[None, :], means[:, None], 0.7) + 5.0
    draws = inverse_cdf(log_density, nodes, 4000, rng)
    for mean, row in zip(means, draws, strict=True):
        assert stats.kstest(row, stats.norm(mean, 0.7).cdf).pvalue > 1e-3


def test_hmc_finds_known_moments(rng):
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    precision, mean = np.linalg.inv(covariance), np.array([1.0, -2.0])

    def gradient(Y):
        return -(Y - mean) @ precision

    def log_density(Y):
        return 0.5 * np.sum((Y - mean) * gradient(Y), axis=1)

    sample = hmc(log_density, gradient, np.zeros((4000, 2)), rng, transitions=60)
    np.testing.assert_allclose(sample.states.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(sample.states.T), covariance, atol=0.15)
    assert 0.6 < sample.acceptance < 0.98
