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


def left_out(X, Y, regularization):
    """What is left of each y by scikit-learn's regression on all other rows."""
    # Its penalty is on the sum of squares; the sum of n rows has n times ours.
    model = Ridge(len(X) * regularization, solver="cholesky")
    return Y - cross_val_predict(model, X, Y, cv=len(X)).reshape(Y.shape)


@pytest.mark.parametrize("regularization", [1e-3, 0.7])
@pytest.mark.parametrize("columns", [3, 14])
def test_ridge_and_its_residuals_are_those_of_fits_without_each_row(rng, columns, regularization):
    """By the eigenvectors of XᵀX, or of XXᵀ; a column is a copy of another: singular."""
    X = rng.normal(size=(9, columns)) + 4.0
    X[:, 2] = X[:, 1]
    Y = X[:, :2] + 0.3 * rng.normal(size=(9, 2))
    model = LinearGaussian(regularization).fit(X, Y)
    expected = Ridge(9 * regularization, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_.T, atol=1e-9)
    np.testing.assert_allclose(model.mean(X + 1.0), expected.predict(X + 1.0))
    residuals = left_out(X, Y, regularization)
    np.testing.assert_allclose(model.residual_std_, np.sqrt(np.mean(residuals**2, axis=0)))
    logs = norm.logpdf(Y, model.mean(X), model.residual_std_).sum(axis=1)
    np.testing.assert_allclose(model.log_density(X, Y), logs)
    found = ResidualKDE(regularization).fit(X, Y).residuals_._centres
    np.testing.assert_allclose(found, residuals)


def test_ridge_has_the_largest_leave_one_out_likelihood(rng):
    """Of one strong and many weak slopes; the score is that of the variance that it has."""
    X = rng.normal(size=(30, 20))
    Y = X[:, :1] + rng.normal(size=(30, 1))
    model = LinearGaussian().fit(X, Y)
    grid, score = model.cv_results_["regularization"], model.cv_results_["score"]
    for k in (5, 25, int(np.argmax(score))):
        residuals = left_out(X, Y, grid[k])
        std = np.sqrt(np.mean(residuals**2))
        assert score[k] == pytest.approx(norm.logpdf(residuals, scale=std).sum())
    assert model.regularization_ == grid[np.argmax(score)]
    assert 1e-3 < model.regularization_ < 1e3


@pytest.mark.parametrize("groups", [None, np.arange(50) % 21])
def test_marginal_bandwidth_has_the_largest_leave_one_out_likelihood(rng, groups):
    Y = np.concatenate([rng.normal(-3, 0.5, 25), rng.normal(3, 1.0, 25)])[:, None]
    model = MarginalKDE().fit(None, Y, groups)
    other = ~np.eye(50, dtype=bool) if groups is None else groups[:, None] != groups
    score = []
    for factor in FACTORS:
        others = norm.pdf(Y, Y.T, factor * Y.std()) * other
        score.append(np.log(others.sum(axis=1) / other.sum(axis=1)).sum())
    np.testing.assert_allclose(model.cv_results_["score"], score)
    assert model.bandwidth_y_[0] == pytest.approx(FACTORS[np.argmax(score)] * Y.std())
    assert 0 < np.argmax(score) < len(FACTORS) - 1


def curve(rng, n=60):
    """The second column of x says nothing about y."""
    X = rng.normal(size=(n, 2)) * [1.0, 3.0]
    return X, np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1))


@pytest.mark.parametrize("bandwidths", [([0.4, 2.0], [0.3]), ([0.1, 30.0], [0.05])])
def test_density_and_leave_one_out_likelihood_are_those_of_statsmodels(rng, bandwidths):
    X, Y = curve(rng)
    bw = np.concatenate(bandwidths[::-1])  # that of y first
    reference = KDEMultivariateConditional(Y, X, "c", "cc", bw=bw)
    model = KernelCDE(*bandwidths).fit(X, Y)
    X_new, Y_new = curve(np.random.default_rng(5), 20)
    np.testing.assert_allclose(model.pdf(X_new, Y_new), reference.pdf(Y_new, X_new), rtol=1e-8)
    np.testing.assert_allclose(model.cdf(X_new, Y_new), reference.cdf(Y_new, X_new), rtol=1e-8)
    found, _ = LeaveOneOut(X, Y)(np.log(np.concatenate(bandwidths)))
    # It returns what is to be minimised.
    assert found == pytest.approx(-reference.loo_likelihood(bw, np.log), rel=1e-9)


@pytest.mark.parametrize(("d_y", "labels"), [(1, None), (2, None), (2, np.arange(30) // 3)])
def test_gradient_is_the_slope_of_the_likelihood(rng, d_y, labels):
    X, Y = curve(rng, 30)
    criterion = LeaveOneOut(X, np.hstack([Y, Y**2])[:, :d_y], labels)
    at = np.log([0.3, 4.0, 0.2, 0.4])[: 2 + d_y]
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
