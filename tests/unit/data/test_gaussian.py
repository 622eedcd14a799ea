import numpy as np
import pytest
from scipy.linalg import logm
from scipy.stats import chi2, kstest, multivariate_normal, norm, uniform

from kcde.data import gaussian
from kcde.data.gaussian import GaussianPairs, correlation_of, random_pairs


@pytest.mark.parametrize("k", [2, 4, 6, 15])
def test_logarithm_has_the_given_elements_and_the_diagonal_is_one(k, rng):
    gamma = rng.standard_normal(k * (k - 1) // 2)
    correlation = correlation_of(gamma)
    np.testing.assert_array_equal(np.diag(correlation), 1.0)
    np.testing.assert_allclose(correlation, correlation.T, atol=1e-15)
    np.testing.assert_allclose(logm(correlation)[np.tril_indices(k, -1)], gamma, atol=1e-9)


def test_one_element_is_the_inverse_hyperbolic_tangent_of_the_correlation():
    for gamma in (-2.0, 0.0, 0.3):
        np.testing.assert_allclose(correlation_of([gamma])[1, 0], np.tanh(gamma), atol=1e-14)


def test_elements_far_off_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match="smaller elements"):
        correlation_of([25.0])
    with pytest.raises(ValueError, match=r"k\(k-1\)/2 elements.* got shape \(4,\)"):
        correlation_of(np.zeros(4))
    with pytest.raises(ValueError, match="NaN or infinite"):
        correlation_of([np.nan])


def test_matrices_depend_on_dimension_and_number_and_scale_with_the_law():
    first = random_pairs(2, 0).correlation
    np.testing.assert_array_equal(first, random_pairs(2, 0).correlation)
    assert np.abs(first - random_pairs(2, 1).correlation).max() > 0.01
    narrow = logm(random_pairs(2, 0, "normal-0.1").correlation)[np.tril_indices(4, -1)]
    drawn = logm(first)[np.tril_indices(4, -1)]
    np.testing.assert_allclose(2 * narrow, drawn, atol=1e-9)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ("normal-0.2", norm(scale=0.2)),
        ("normal-1", norm()),
        ("uniform-1", uniform(-1.0, 2.0)),
        ("uniform-0.5", uniform(-0.5, 1.0)),
    ],
)
def test_gamma_has_the_law_that_is_named(law, expected):
    gamma = [np.arctanh(random_pairs(1, number, law).correlation[1, 0]) for number in range(400)]
    assert kstest(gamma, expected.cdf).pvalue > 1e-3


def test_laws_share_their_draws():
    """In one dimension every law has the same x, and stronger laws stronger correlations."""
    weak, strong = (random_pairs(1, 3, law) for law in ("normal-0.1", "uniform-1"))
    assert abs(weak.correlation[1, 0]) < abs(strong.correlation[1, 0])
    first, second = (gaussian.training_pairs(law, 50, 3) for law in (weak, strong))
    np.testing.assert_array_equal(first[0], second[0])
    assert np.abs(first[1] - second[1]).max() > 1e-3


@pytest.mark.parametrize("dim", [1, 3])
def test_the_canonical_correlation_is_the_largest_of_linear_functions(dim):
    law = random_pairs(dim, 2, "normal-1")
    C = law.correlation
    squared = np.linalg.eigvals(
        np.linalg.inv(C[:dim, :dim]) @ C[:dim, dim:] @ np.linalg.inv(C[dim:, dim:]) @ C[dim:, :dim]
    )
    assert law.canonical_correlation == pytest.approx(np.sqrt(squared.real.max()), rel=1e-9)
    if dim == 1:
        assert law.canonical_correlation == pytest.approx(abs(C[0, 1]), rel=1e-12)


def test_draws_have_the_correlation_and_do_not_depend_on_the_chunk(monkeypatch, rng):
    law = random_pairs(2, 3)
    X, Y = law.draw(40_000, rng)
    found = np.cov(np.hstack([X, Y]).T)
    # The elements of a sample covariance have standard errors of at most √(2/n).
    np.testing.assert_allclose(found, law.correlation, atol=5 * np.sqrt(2 / 40_000))
    whole = law.draw(100, np.random.default_rng(0))
    monkeypatch.setattr(gaussian, "_CHUNK", 7)
    for one, other in zip(whole, law.draw(100, np.random.default_rng(0)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_conditional_moments_against_the_conditional_density_on_a_grid(dim):
    """p(y|x) = p(x, y)/p(x) by scipy, integrated by the trapezoidal rule."""
    law = random_pairs(dim, 1)
    X = np.array([np.linspace(-1.0, 1.3, dim), np.full(dim, 0.4)])
    spread = np.sqrt(np.diag(law.conditional_covariance))
    joint = multivariate_normal(np.zeros(2 * dim), law.correlation)
    for x, mean, second in zip(
        X, law.conditional_mean(X), law.conditional_second_moment(X), strict=True
    ):
        axes = [
            m + s * np.linspace(-8, 8, {1: 400, 2: 120, 3: 48}[dim])
            for m, s in zip(mean, spread, strict=True)
        ]
        y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dim)
        weight = joint.pdf(np.hstack([np.broadcast_to(x, y.shape), y]))
        weight /= weight.sum()
        np.testing.assert_allclose(weight @ y, mean, atol=1e-6)
        np.testing.assert_allclose(np.einsum("i,ij,ik->jk", weight, y, y), second, atol=1e-6)


def test_second_moments_of_draws_near_a_point(rng):
    """Regression of y yᵀ on x's own quadratic form, without the formula."""
    law = random_pairs(1, 5)
    X, Y = law.draw(200_000, rng)
    near = np.abs(X[:, 0] - 0.7) < 0.05
    expected = law.conditional_second_moment(X[near])[:, 0, 0].mean()
    found = Y[near, 0] ** 2
    assert found.mean() == pytest.approx(expected, abs=5 * found.std() / np.sqrt(near.sum()))


def test_what_a_fit_is_given_depends_on_names_alone():
    law = random_pairs(2, 0)
    X, Y = gaussian.training_pairs(law, 50, 0)
    assert X.shape == Y.shape == (50, 2)
    again = gaussian.training_pairs(law, 50, 0)[0]
    np.testing.assert_array_equal(X, again)
    longer, other = (gaussian.training_pairs(law, *axes)[0] for axes in ((80, 0), (50, 1)))
    assert not np.isin(X, longer).any()
    assert not np.isin(X, other).any()
    test = gaussian.held_out_pairs(law, 0)[0]
    assert test.shape == (gaussian.TEST_ROWS, 2)
    assert not np.isin(X, test).any()


def test_standard_normal_coordinates(rng):
    law = GaussianPairs(random_pairs(3, 0).correlation)
    X, Y = law.draw(3000, rng)
    z = np.hstack([X, Y])
    squared = np.sum(z * np.linalg.solve(law.correlation, z.T).T, axis=1)
    assert kstest(squared, chi2(6).cdf).pvalue > 1e-3
    assert law.dim == 3


def test_a_law_without_dimension_or_spread_is_refused():
    with pytest.raises(ValueError, match="dimension of x and y must be at least 1; got 0"):
        random_pairs(0, 0)
    for law in ("normal-0", "normal", "cauchy-1", "normal--1"):
        with pytest.raises(ValueError, match=f"there is no law '{law}': give normal-<standard"):
            random_pairs(1, 0, law)
