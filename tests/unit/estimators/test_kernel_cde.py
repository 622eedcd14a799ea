"""KernelCDE: against statsmodels, a naive loop, and finite differences."""

import numpy as np
import pytest
from statsmodels.nonparametric.kernel_density import KDEMultivariateConditional

from kcde.estimators import KernelCDE, MarginalKDE
from kcde.estimators.kernel_cde import LeaveOneOut

# statsmodels draws at random where nobody asks, and says that it will do so in another way.
pytestmark = pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")


def curve(rng, n=60):
    """The second column of x says nothing about y."""
    X = rng.normal(size=(n, 2)) * [1.0, 3.0]
    return X, np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1))


def of_statsmodels(X, Y, bandwidth_x, bandwidth_y):
    # It has those of y first.
    bw = np.concatenate([bandwidth_y, bandwidth_x])
    return KDEMultivariateConditional(Y, X, "c" * Y.shape[1], "c" * X.shape[1], bw=bw), bw


@pytest.mark.parametrize("bandwidths", [([0.4, 2.0], [0.3]), ([0.1, 30.0], [0.05])])
def test_density_and_leave_one_out_likelihood_are_those_of_statsmodels(rng, bandwidths):
    X, Y = curve(rng)
    reference, bw = of_statsmodels(X, Y, *bandwidths)
    model = KernelCDE(*bandwidths).fit(X, Y)
    X_new, Y_new = curve(np.random.default_rng(5), 20)
    np.testing.assert_allclose(
        np.exp(model.log_density(X_new, Y_new)), reference.pdf(Y_new, X_new), rtol=1e-8
    )
    np.testing.assert_allclose(model.cdf(X_new, Y_new), reference.cdf(Y_new, X_new), rtol=1e-8)
    found, _ = LeaveOneOut(X, Y)(np.log(np.concatenate(bandwidths)))
    # It returns what is to be minimised.
    assert found == pytest.approx(-reference.loo_likelihood(bw, np.log), rel=1e-9)


@pytest.mark.parametrize("d_y", [1, 2])
def test_gradient_is_the_slope_of_the_likelihood(rng, d_y):
    X, Y = curve(rng, 30)
    criterion = LeaveOneOut(X, np.hstack([Y, Y**2])[:, :d_y])
    at = np.log([0.3, 4.0, 0.2, 0.4])[: 2 + d_y]
    _, slope = criterion(at)
    for k, step in enumerate(1e-5 * np.eye(len(at))):
        difference = criterion(at + step)[0] - criterion(at - step)[0]
        assert slope[k] == pytest.approx(difference / 2e-5, rel=1e-6)


def test_irrelevant_x_is_smoothed_out(rng):
    X, Y = curve(rng, 200)
    model = KernelCDE().fit(X, Y)
    assert model.bandwidth_x_[0] < 0.5
    assert model.bandwidth_x_[1] > 3.0 * X[:, 1].std()
    smooth, marginal = KernelCDE(1e7, 0.4).fit(X, Y), MarginalKDE(0.4).fit(X, Y)
    np.testing.assert_allclose(smooth.log_density(X, Y), marginal.log_density(X, Y))


def test_given_bandwidths_stay_while_the_others_are_chosen(rng):
    X, Y = curve(rng)
    model = KernelCDE(bandwidth_x=[0.4, 2.0]).fit(X, Y)
    np.testing.assert_allclose(model.bandwidth_x_, [0.4, 2.0])
    criterion, std = LeaveOneOut(X, Y), Y.std()
    grid = np.linspace(0.5, 2.0, 31) * model.bandwidth_y_[0]
    scores = [criterion(np.log([0.4, 2.0, h]))[0] for h in grid]
    assert grid[np.argmax(scores)] == pytest.approx(model.bandwidth_y_[0], rel=0.06)
    assert 0.01 * std < model.bandwidth_y_[0] < 2.0 * std


@pytest.mark.parametrize("options", [{"tuning_rows": 1}, {"bandwidth_x": [1.0, 2.0, 3.0]}])
def test_bad_parameters_are_named(rng, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        KernelCDE(**options).fit(*curve(rng, 10))
