"""LinearGaussian, ResidualKDE, MarginalKDE, KernelCDE, EpsilonKDE: against loops and libraries."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict
from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

from kcde.estimators import EpsilonKDE, KernelCDE, LinearGaussian, MarginalKDE, ResidualKDE
from kcde.estimators.baselines import FACTORS, LeaveOneOut
from naive import epsilon_kde_density, slopes

# statsmodels draws at random where nobody asks, and says that it will do so in another way.
pytestmark = pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")


def of_mean_one(weights, n):
    """Weights of so many rows as they count; None are equal ones."""
    return np.ones(n) if weights is None else weights / weights.mean()


def left_out(X, Y, regularization, weights):
    """What is left of each y by scikit-learn's regression on all other rows."""
    # Its penalty is on the sum of squares; the sum of n rows has n times ours.
    model, given = Ridge(len(X) * regularization, solver="cholesky"), {"sample_weight": weights}
    return Y - cross_val_predict(model, X, Y, cv=len(X), params=given).reshape(Y.shape)


@pytest.mark.parametrize("regularization", [1e-3, 0.7])
@pytest.mark.parametrize("columns", [3, 14])
@pytest.mark.parametrize("given", [None, np.arange(9) % 4 + 1.0], ids=["equal", "weighted"])
def test_ridge_and_its_residuals_are_those_of_fits_without_each_row(
    rng, columns, regularization, given
):
    """By the eigenvectors of XᵀX, or of XXᵀ; a column is a copy of another: singular."""
    X = rng.normal(size=(9, columns)) + 4.0
    X[:, 2] = X[:, 1]
    Y = X[:, :2] + 0.3 * rng.normal(size=(9, 2))
    model, weights = LinearGaussian(regularization), of_mean_one(given, 9)
    model.fit(X, Y, sample_weight=given)
    expected = Ridge(9 * regularization, solver="cholesky").fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, expected.coef_.T, atol=1e-9)
    np.testing.assert_allclose(model.mean(X + 1.0), expected.predict(X + 1.0))
    residuals = left_out(X, Y, regularization, weights)
    variance = np.average(residuals**2, axis=0, weights=weights)
    np.testing.assert_allclose(model.residual_std_, np.sqrt(variance))
    logs = norm.logpdf(Y, model.mean(X), model.residual_std_).sum(axis=1)
    np.testing.assert_allclose(model.log_density(X, Y), logs)
    found = ResidualKDE(regularization).fit(X, Y, sample_weight=given).residuals_._centres
    np.testing.assert_allclose(found, residuals)


@pytest.mark.parametrize("given", [np.ones(30), np.arange(30) % 3 + 1.0], ids=["equal", "weighted"])
def test_ridge_has_the_largest_leave_one_out_likelihood(rng, given):
    """Of one strong and many weak slopes; the score is that of the variance that it has."""
    X = rng.normal(size=(30, 20))
    Y = X[:, :1] + rng.normal(size=(30, 1))
    model, weights = LinearGaussian().fit(X, Y, sample_weight=given), of_mean_one(given, 30)
    grid, score = model.cv_results_["regularization"], model.cv_results_["score"]
    for k in (5, 25, int(np.argmax(score))):
        residuals = left_out(X, Y, grid[k], weights)[:, 0]
        std = np.sqrt(np.average(residuals**2, weights=weights))
        assert score[k] == pytest.approx(weights @ norm.logpdf(residuals, scale=std))
    assert model.regularization_ == grid[np.argmax(score)]
    assert 1e-3 < model.regularization_ < 1e3


@pytest.mark.parametrize(
    ("groups", "given"), [(None, None), (np.arange(50) % 21, None), (None, np.arange(50) % 3 + 1.0)]
)
def test_marginal_bandwidth_has_the_largest_leave_one_out_likelihood(rng, groups, given):
    Y = np.concatenate([rng.normal(-3, 0.5, 25), rng.normal(3, 1.0, 25)])[:, None]
    model, weights = MarginalKDE().fit(None, Y, groups, given), of_mean_one(given, 50)
    labels = np.arange(50) if groups is None else groups
    other = (labels[:, None] != labels) * weights
    score = []
    for factor in FACTORS:
        others = norm.pdf(Y, Y.T, factor * Y.std()) * other
        score.append(weights @ np.log(others.sum(axis=1) / other.sum(axis=1)))
    np.testing.assert_allclose(model.cv_results_["score"], score)
    assert model.bandwidth_y_[0] == pytest.approx(FACTORS[np.argmax(score)] * Y.std())
    assert 0 < np.argmax(score) < len(FACTORS) - 1


def curve(rng, n=60):
    """The second column of x says nothing about y."""
    X = rng.normal(size=(n, 2)) * [1.0, 3.0]
    return X, np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1))


@pytest.mark.parametrize("bandwidths", [([0.4, 2.0], [0.3]), ([0.1, 30.0], [0.05])])
def test_density_and_distribution_are_those_of_statsmodels(rng, bandwidths):
    X, Y = curve(rng)
    bw = np.concatenate(bandwidths[::-1])  # that of y first
    reference = KDEMultivariateConditional(Y, X, "c", "cc", bw=bw)
    model = KernelCDE(*bandwidths).fit(X, Y)
    X_new, Y_new = curve(np.random.default_rng(5), 20)
    np.testing.assert_allclose(model.pdf(X_new, Y_new), reference.pdf(Y_new, X_new), rtol=1e-8)
    np.testing.assert_allclose(model.cdf(X_new, Y_new), reference.cdf(Y_new, X_new), rtol=1e-8)


@pytest.mark.parametrize("d_y", [1, 2])
@pytest.mark.parametrize("labels", [np.arange(30), np.arange(30) // 3], ids=["rows", "groups"])
@pytest.mark.parametrize("given", [np.ones(30), np.arange(30) % 3 + 1.0], ids=["equal", "weighted"])
def test_likelihood_is_a_naive_sum_and_its_gradient_the_slope(rng, d_y, labels, given):
    X, Y = curve(rng, 30)
    Y = np.hstack([Y, Y**2])[:, :d_y]
    criterion, weights = LeaveOneOut(X, Y, labels, given), of_mean_one(given, 30)
    at = np.log([0.3, 4.0, 0.2, 0.4])[: 2 + d_y]
    K_x, K_y = (
        norm.pdf(Z[:, None], Z, sigma).prod(axis=2)
        for Z, sigma in ((X, np.exp(at[:2])), (Y, np.exp(at[2:])))
    )
    K_x *= (labels[:, None] != labels) * weights
    expected = weights @ np.log((K_x * K_y).sum(axis=1) / K_x.sum(axis=1))
    assert criterion(at)[0] == pytest.approx(expected)
    differences = slopes(lambda theta: criterion(theta)[0], at, 1e-5)
    np.testing.assert_allclose(criterion(at)[1], differences, rtol=1e-6)


def test_irrelevant_x_is_smoothed_out(rng):
    X, Y = curve(rng, 200)
    model = KernelCDE().fit(X, Y)
    assert model.bandwidth_x_[0] < 0.5
    assert model.bandwidth_x_[1] > 3.0 * X[:, 1].std()
    smooth, marginal = KernelCDE(1e7, 0.4).fit(X, Y), MarginalKDE(0.4).fit(X, Y)
    np.testing.assert_allclose(smooth.log_density(X, Y), marginal.log_density(X, Y))


@pytest.mark.parametrize("radius", [0.05, 0.6])
def test_density_equals_a_naive_loop(pairs, radius):
    X, Y = pairs
    model = EpsilonKDE(radius, 0.3).fit(X, Y)
    points = X[:6] + 0.1, Y[:6]
    expected = [epsilon_kde_density(*p, X, Y, radius, 0.3, 5) for p in zip(*points, strict=True)]
    np.testing.assert_allclose(model.pdf(*points), expected, rtol=1e-10)


def test_selection_takes_the_best_of_the_declared_grid(pairs):
    model = EpsilonKDE().fit(*pairs)
    score = model.cv_results_["score"]
    i, j = np.unravel_index(np.argmax(score), (4, 10))
    assert model.radius_ == model.cv_results_["radius"][i]
    assert model.bandwidth_y_[0] == model.cv_results_["bandwidth_y"][j, 0]
    assert score.min() < score.max()
