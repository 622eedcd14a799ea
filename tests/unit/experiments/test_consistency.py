"""kcef theorem 2: the target, its samples, distances to it, and which λ are run."""

import numpy as np
import pytest
from scipy import integrate, stats

from kcde.estimators import KCEF
from kcde.experiments import consistency
from kcde.kernels import GaussianKernel
from kcde.seeding import rng_of


@pytest.fixture(scope="module")
def smooth():
    return consistency.target(1.0)


@pytest.fixture(scope="module")
def fitted(smooth):
    """A fit to fifty pairs, with the pairs."""
    x, y = smooth.sample(50, rng_of("test", "well-specified"))
    sizes = {"bandwidth_x": 1.0, "bandwidth_y": 2.0, "base_std": 2.0}
    return KCEF(regularization=0.05, **sizes).fit(x[:, None], y[:, None]), x, y


def value(coefficients, x, y):
    """T(x, y) at pairs."""
    in_x = consistency.features(x, consistency.BANDWIDTH_X, coefficients.shape[0])
    in_y = consistency.features(y, consistency.BANDWIDTH_Y, coefficients.shape[1])
    return np.sum((in_x @ coefficients) * in_y, axis=1)


def test_the_basis_gives_the_kernel_and_its_derivatives():
    a, b = np.linspace(-3, 4, 7), np.linspace(-5, 2, 6)
    derivatives = GaussianKernel(2.0).derivatives(a[:, None], b[:, None])
    rows = [consistency.features(a, 2.0, 60, order) for order in range(3)]
    at_b = consistency.features(b, 2.0, 60)
    np.testing.assert_allclose(rows[0] @ at_b.T, derivatives.value, atol=1e-12)
    np.testing.assert_allclose(rows[1] @ at_b.T, derivatives.first[..., 0], atol=1e-12)
    np.testing.assert_allclose(rows[2] @ at_b.T, derivatives.laplacian, atol=1e-12)


def test_t_0_is_c_applied_to_the_source(smooth):
    """T_0 = r' E_{p_0}[∂S(x, y) k_X(x, ·) ∂k(y, ·)], by adaptive quadrature over all of p_0."""
    p, q = np.ogrid[: consistency.TERMS[0], : consistency.TERMS[1]]
    source = (-1.0) ** (p * q) / ((1 + p) * (1 + q))
    x, wx = np.polynomial.legendre.leggauss(40)
    in_x = consistency.features(x, 1.0, len(p))

    def unnormalised(y):
        shape = consistency.features(np.array([y]), 2.0, source.shape[1])[0]
        return stats.norm.pdf(y, scale=2.0) * np.exp(in_x @ smooth.coefficients @ shape)

    z, _ = integrate.quad_vec(unnormalised, -20, 20, epsabs=1e-11)

    def at(x0, y0):
        def integrand(y):
            slope = in_x @ source @ consistency.features(np.array([y]), 2.0, 60, 1)[0]
            bend = -(y - y0) / 4 * np.exp(-((y - y0) ** 2) / 8)
            return (wx / 2 * np.exp(-((x - x0) ** 2) / 2) * slope * bend) @ (unnormalised(y) / z)

        return integrate.quad(integrand, -20, 20, epsabs=1e-11, limit=200)[0]

    points = [(-0.8, -2.0), (-0.3, 1.0), (0.4, 0.5), (0.9, 3.0)]
    wanted = np.array([at(*point) for point in points])
    got = value(smooth.coefficients, *np.array(points).T)
    np.testing.assert_allclose(got / got[0], wanted / wanted[0], rtol=1e-5)
    assert got[0] * wanted[0] > 0
    assert np.linalg.norm(smooth.coefficients) == pytest.approx(consistency.NORM, abs=1e-6)


def test_no_noise_is_the_population_solution(smooth):
    """T_λ = (C + λ)⁻¹CT_0, solved directly."""
    C = smooth.grid.covariance(smooth.coefficients)
    t0 = smooth.coefficients.ravel()
    solved = np.linalg.solve(C + 0.01 * np.eye(len(C)), C @ t0)
    assert smooth.regularization_error(0.01) == pytest.approx(np.linalg.norm(solved - t0), rel=1e-8)


def test_samples_follow_the_conditional_density(smooth):
    x, y = smooth.sample(1500, rng_of("test", "samples"))
    assert stats.kstest(x, stats.uniform(-1, 2).cdf).pvalue > 1e-3
    fine = np.linspace(-16, 16, 1601)
    in_y = consistency.features(fine, 2.0, consistency.TERMS[1])
    in_x = consistency.features(x, 1.0, consistency.TERMS[0])
    density = np.exp(in_x @ smooth.coefficients @ in_y.T - fine**2 / 8)
    below = integrate.cumulative_simpson(density, x=fine, initial=0.0)
    uniform = [np.interp(y[i], fine, row / row[-1]) for i, row in enumerate(below)]
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_the_estimate_is_the_same_function_in_the_basis(fitted):
    model, x, y = fitted
    coefficients = consistency.estimate_coefficients(x, y, model.coef_[:, 0], 0.05)
    at_x, at_y = np.linspace(-1, 1, 9), np.linspace(-6, 6, 9)
    log_base = stats.norm.logpdf(at_y, scale=2.0)
    wanted = model.log_unnormalized(at_x[:, None], at_y[:, None]) - log_base
    np.testing.assert_allclose(value(coefficients, at_x, at_y), wanted, atol=1e-8)


def test_the_divergence_is_the_expected_log_ratio(smooth, fitted):
    model, x, y = fitted
    norm, kl = consistency.errors(smooth, x, y, 0.05)
    coefficients = consistency.estimate_coefficients(x, y, model.coef_[:, 0], 0.05)
    assert norm == pytest.approx(np.linalg.norm(coefficients - smooth.coefficients))
    many_x, many_y = smooth.sample(4000, rng_of("test", "divergence"))
    in_x = consistency.features(many_x, 1.0, consistency.TERMS[0])
    fine = np.linspace(-16, 16, 2001)
    in_y = consistency.features(fine, 2.0, consistency.TERMS[1])
    log_f = in_x @ smooth.coefficients @ in_y.T + stats.norm.logpdf(fine, scale=2.0)
    log_z = np.log(integrate.simpson(np.exp(log_f), x=fine))
    log_p = value(smooth.coefficients, many_x, many_y) + stats.norm.logpdf(many_y, scale=2) - log_z
    ratio = log_p - model.log_density(many_x[:, None], many_y[:, None])
    assert kl == pytest.approx(ratio.mean(), abs=4 * ratio.std() / np.sqrt(len(ratio)))
    own = smooth.log_density
    assert smooth.grid.divergence(own, own) == 0
    assert kl > 0


@pytest.mark.nightly
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_the_exponent_is_the_one_declared(gamma):
    """‖T_λ - T_0‖ falls like λ^γ; S is barely in the space, so hardly faster."""
    target = consistency.target(gamma)
    error = [target.regularization_error(target.operator_norm * each) for each in (1e-5, 1e-3)]
    assert gamma - 0.05 < np.log(error[1] / error[0]) / np.log(100) < gamma + 0.12
