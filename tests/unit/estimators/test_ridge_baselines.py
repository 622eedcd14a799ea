"""LinearGaussian, ResidualKDE and MarginalKDE: against loops that leave rows out, and scipy."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde, norm
from sklearn.linear_model import Ridge

from kcde.estimators import LinearGaussian, MarginalKDE, ResidualKDE
from kcde.estimators._shared.rows import column_std
from kcde.estimators.marginal_kde import FACTORS


@pytest.fixture
def slanted(rng):
    X = rng.normal(size=(25, 3)) @ np.diag([1.0, 0.3, 2.0]) + 4.0
    return X, X @ [[1.0], [0.0], [-0.5]] + 7.0 + 0.4 * rng.exponential(size=(25, 1))


def left_out(X, Y, regularization):
    """What is left of each y by scikit-learn's regression on all other rows."""
    n, found = len(X), []
    for i in range(n):
        rest = np.arange(n) != i
        # Its penalty is on the sum of squares; the sum of n rows has n times ours.
        model = Ridge(n * regularization, solver="cholesky").fit(X[rest], Y[rest])
        found.append(Y[i] - model.predict(X[i : i + 1])[0])
    return np.array(found)


@pytest.mark.parametrize("regularization", [1e-3, 0.7])
def test_ridge_and_its_residuals_are_those_of_fits_without_each_row(slanted, regularization):
    X, Y = slanted
    model = LinearGaussian(regularization).fit(X, Y)
    expected = Ridge(len(X) * regularization, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.mean(X + 1.0)[:, 0], expected.predict(X + 1.0).ravel())
    residuals = left_out(X, Y, regularization).ravel()
    assert model.residual_std_[0] == pytest.approx(np.sqrt(np.mean(residuals**2)))
    logs = norm.logpdf(Y[:, 0], model.mean(X)[:, 0], model.residual_std_[0])
    np.testing.assert_allclose(model.log_density(X, Y), logs)
    found = ResidualKDE(regularization).fit(X, Y).residuals_._centres
    np.testing.assert_allclose(found.ravel(), residuals)


@pytest.mark.parametrize("regularization", [1e-3, 0.7])
def test_with_more_columns_than_rows_the_fits_are_those_without_each_row(rng, regularization):
    """By the eigenvectors of XXᵀ; one column a copy of another, so that XᵀX is singular twice."""
    X = rng.normal(size=(9, 14)) + 4.0
    X[:, 3] = X[:, 5]
    Y = X[:, :2] + 0.3 * rng.normal(size=(9, 2))
    model = LinearGaussian(regularization).fit(X, Y)
    expected = Ridge(len(X) * regularization, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.coef_, expected.coef_.T, atol=1e-9)
    np.testing.assert_allclose(model.mean(X + 1.0), expected.predict(X + 1.0))
    residuals = left_out(X, Y, regularization)
    np.testing.assert_allclose(model.residual_std_, np.sqrt(np.mean(residuals**2, axis=0)))


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


def test_marginal_is_the_estimate_of_scipy(rng):
    X, Y = rng.normal(size=(60, 2)), rng.standard_t(3, size=60)
    model = MarginalKDE(0.35).fit(X, Y)
    reference = gaussian_kde(Y, bw_method=0.35 / Y.std(ddof=1))
    np.testing.assert_allclose(np.exp(model.log_density(X, Y)), reference(Y))
    np.testing.assert_allclose(model.cdf(X[:1], [0.4]), reference.integrate_box_1d(-np.inf, 0.4))


def test_marginal_bandwidth_has_the_largest_leave_one_out_likelihood(rng):
    Y = np.concatenate([rng.normal(-3, 0.5, 25), rng.normal(3, 1.0, 25)])[:, None]
    model = MarginalKDE().fit(None, Y)
    score = [
        sum(
            np.log(norm.pdf(y, np.delete(Y, i), factor * Y.std()).mean())
            for i, y in enumerate(Y[:, 0])
        )
        for factor in FACTORS
    ]
    np.testing.assert_allclose(model.cv_results_["score"], score)
    assert model.bandwidth_y_[0] == pytest.approx(FACTORS[np.argmax(score)] * Y.std())
    assert 0 < np.argmax(score) < len(FACTORS) - 1


def test_residual_kde_is_scipys_of_the_residuals(slanted):
    X, Y = slanted
    model = ResidualKDE(0.1, 0.3).fit(X, Y)
    residuals = left_out(X, Y, 0.1).ravel()
    reference = gaussian_kde(residuals, bw_method=0.3 / residuals.std(ddof=1))
    rest = (Y - LinearGaussian(0.1).fit(X, Y).mean(X)).ravel()
    np.testing.assert_allclose(np.exp(model.log_density(X, Y)), reference(rest))
    np.testing.assert_allclose(model.mean(X) - Y + rest[:, None], residuals.mean(), atol=1e-10)


def test_standard_deviations_of_any_scale(rng):
    values = rng.normal(size=(50, 2))
    for scale in (1e-300, 1.0, 1e99):
        np.testing.assert_allclose(column_std(values * scale), values.std(axis=0) * scale)
    np.testing.assert_array_equal(column_std(np.full((4, 1), 0.1)), 0.0)


def test_bad_parameters_and_nothing_left_of_y_are_refused(slanted):
    for model, name in (
        (LinearGaussian(0.0), "regularization"),
        (MarginalKDE(tuning_rows=0), "tuning_rows"),
        (ResidualKDE(bandwidth_y=-1.0), "bandwidth_y"),
    ):
        with pytest.raises(ValueError, match=name):
            model.fit(*slanted)
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.raises(ValueError, match="linear"):
        LinearGaussian(1e-300).fit(X, 2.0 * X)
