import logging
import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from kcde.estimators import GaussianProcess, Standardised
from kcde.estimators._gp import posterior as posterior_module
from kcde.estimators._gp.posterior import Posterior, group
from kcde.estimators._gp.tuning import Hyperparameters, maximise_marginal_likelihood

GIVEN = {"bandwidth_x": [0.9, 0.6], "signal_std": 1.3, "noise_std": 0.35}


@pytest.fixture
def repeated(rng):
    """Ninety rows at unequally many of 25 places, two y."""
    X = rng.integers(-2, 3, (90, 2)) * 0.7
    return X, np.hstack([np.sin(X[:, :1]), X[:, 1:]]) + 0.3 * rng.standard_normal((90, 2)) + 5.0


def direct(X, y, at, bandwidth, signal, noise):
    """Mean and variance of one centred output by the formula with all rows, inverted."""
    sigma = np.asarray(bandwidth)

    def kernel(A, B):
        return signal**2 * np.exp(-0.5 * cdist(A / sigma, B / sigma, "sqeuclidean"))

    inverse = np.linalg.inv(kernel(X, X) + noise**2 * np.eye(len(X)))
    cross = kernel(at, X)
    mean = y.mean() + cross @ inverse @ (y - y.mean())
    return mean, signal**2 + noise**2 - np.einsum("ij,jk,ik->i", cross, inverse, cross)


def test_mean_and_variance_are_the_formula_over_all_rows(repeated, rng):
    X, Y = repeated
    at = rng.standard_normal((7, 2))
    model = GaussianProcess(**GIVEN).fit(X, Y)
    assert model.n_distinct_ == len(np.unique(X, axis=0)) < 30
    for c in range(2):
        mean, variance = direct(X, Y[:, c], at, *GIVEN.values())
        np.testing.assert_allclose(model.mean(at)[:, c], mean, rtol=1e-11)
        np.testing.assert_allclose(model.variance(at)[:, c], variance, rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "shape"), [("gaussian", RBF([0.9, 0.6])), ("matern", Matern([0.9, 0.6], nu=1.5))]
)
def test_it_equals_scikit_learn_with_a_fixed_kernel(pairs, rng, name, shape):
    X, Y = pairs
    at = rng.standard_normal((9, 2))
    kernel = ConstantKernel(1.3**2) * shape + WhiteKernel(0.35**2)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, Y[:, 0])
    mean, std = theirs.predict(at, return_std=True)
    model = GaussianProcess(**GIVEN, kernel=name, centre=False).fit(X, Y)
    np.testing.assert_allclose(model.mean(at)[:, 0], mean, rtol=1e-10)
    np.testing.assert_allclose(np.sqrt(model.variance(at)[:, 0]), std, rtol=1e-10)
    y = rng.standard_normal((9, 1))
    np.testing.assert_allclose(model.log_density(at, y), norm.logpdf(y[:, 0], mean, std), rtol=1e-9)


def test_many_blocks_of_points_are_one(pairs, rng, monkeypatch):
    at = rng.standard_normal((23, 2))
    model = GaussianProcess(**GIVEN).fit(*pairs)
    expected = model.mean(at), model.variance(at)
    monkeypatch.setattr(posterior_module, "_ROWS", 5)
    np.testing.assert_allclose(model.mean(at), expected[0], rtol=1e-12)
    np.testing.assert_allclose(model.variance(at), expected[1], rtol=1e-12)


def test_columns_with_hyper_parameters_of_their_own_are_separate_fits(repeated):
    X, Y = repeated
    options = {"bandwidth_x": 0.8, "signal_std": [1.0, 2.0], "noise_std": [0.3, 0.5]}
    both = GaussianProcess(**options).fit(X, Y)
    alone = [
        GaussianProcess(0.8, s, t).fit(X, Y[:, [c]])
        for c, (s, t) in enumerate([(1.0, 0.3), (2.0, 0.5)])
    ]
    np.testing.assert_allclose(both.mean(X), np.hstack([m.mean(X) for m in alone]), rtol=1e-12)
    log_density = sum(m.log_density(X, Y[:, [c]]) for c, m in enumerate(alone))
    np.testing.assert_allclose(both.log_density(X, Y), log_density, rtol=1e-12)


def test_columns_that_share_hyper_parameters_share_a_factor(repeated, monkeypatch):
    X, Y = repeated
    Y = np.hstack([Y, Y[:, :1] ** 2])
    made = []
    plain = posterior_module.factor_positive_definite

    def counted(matrix, **options):
        made.append(matrix.shape)
        return plain(matrix, **options)

    monkeypatch.setattr(posterior_module, "factor_positive_definite", counted)
    model = GaussianProcess(0.8, [1.0, 2.0, 1.0], 0.3).fit(X, Y)
    assert len(made) == 2
    third = GaussianProcess(0.8, 1.0, 0.3).fit(X, Y[:, 2:])
    np.testing.assert_allclose(model.mean(X)[:, 2], third.mean(X)[:, 0], rtol=1e-12)


def test_marginal_likelihood_finds_what_made_the_data(rng):
    X = rng.uniform(-3, 3, (300, 2))
    truth = np.array([1.0, 0.6])
    K = np.exp(-0.5 * cdist(X / truth, X / truth, "sqeuclidean"))
    f = 2.0 * np.linalg.cholesky(K + 1e-9 * np.eye(300)) @ rng.standard_normal(300)
    y = 10.0 + f + 0.5 * rng.standard_normal(300)
    model = GaussianProcess().fit(X, y[:, None])
    np.testing.assert_allclose(model.bandwidth_x_[0], truth, rtol=0.2)
    np.testing.assert_allclose(model.noise_std_, 0.5, rtol=0.15)
    np.testing.assert_allclose(model.signal_std_, 2.0, rtol=0.4)


def test_no_scaled_copy_of_the_optimum_is_better(pairs):
    """The optimum is a maximum of scikit-learn's marginal likelihood over all three."""
    X, Y = pairs
    y = Y[:, 0] - Y.mean()
    found, messages = maximise_marginal_likelihood(X, y, Hyperparameters(None, None, None))
    assert not messages

    def likelihood(bandwidth, signal, noise):
        kernel = ConstantKernel(signal**2) * RBF(bandwidth) + WhiteKernel(noise**2)
        model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
        return model.log_marginal_likelihood_value_

    best = likelihood(*found)
    for factor in (0.8, 1.25):
        assert likelihood(found.bandwidth * factor, *found[1:]) < best
        assert likelihood(found.bandwidth, found.signal_std * factor, found.noise_std) < best
        assert likelihood(*found[:2], found.noise_std * factor) < best


def test_what_is_given_is_kept_and_the_rest_chosen(pairs):
    X, Y = pairs
    model = GaussianProcess(noise_std=0.2).fit(X, Y)
    assert model.noise_std_.tolist() == [0.2]
    assert model.bandwidth_x_.shape == (1, 2)
    model = GaussianProcess(bandwidth_x=[1.0, 2.0]).fit(X, Y)
    assert model.bandwidth_x_.tolist() == [[1.0, 2.0]]
    assert model.signal_std_ != 1.0


def test_an_optimum_at_its_bound_is_recorded_and_logged(rng, caplog):
    X = rng.uniform(-1, 1, (40, 1))
    with caplog.at_level(logging.INFO, logger="kcde.estimators"):
        model = GaussianProcess().fit(X, np.sin(3 * X))
    assert any("close to the specified lower bound" in text for text in model.tuning_messages_[0])
    assert "marginal likelihood on 40 rows" in caplog.text


def test_the_kernel_of_the_marginal_likelihood_is_that_of_the_fit(pairs):
    X, Y = pairs
    model = GaussianProcess(kernel="matern").fit(X, Y)
    start = ConstantKernel(0.5) * Matern([1.0, 1.0], nu=1.5) + WhiteKernel(0.1)
    theirs = GaussianProcessRegressor(start, alpha=0.0, n_restarts_optimizer=2, random_state=0)
    theirs.fit(X, Y[:, 0] - Y.mean())
    own = ConstantKernel(model.signal_std_[0] ** 2) * Matern(model.bandwidth_x_[0], nu=1.5)
    own += WhiteKernel(model.noise_std_[0] ** 2)
    found = GaussianProcessRegressor(own, alpha=0.0, optimizer=None).fit(X, Y[:, 0] - Y.mean())
    best = theirs.log_marginal_likelihood_value_
    assert found.log_marginal_likelihood_value_ == pytest.approx(best, abs=0.05)


def test_choice_is_equivariant_under_units(pairs):
    X, Y = pairs
    plain = GaussianProcess().fit(X, Y)
    scaled = GaussianProcess().fit(100.0 * X, 1e-3 * Y + 7.0)
    np.testing.assert_allclose(scaled.bandwidth_x_, 100.0 * plain.bandwidth_x_, rtol=1e-3)
    found = scaled.log_density(100.0 * X, 1e-3 * Y + 7.0) + np.log(1e-3)
    np.testing.assert_allclose(found, plain.log_density(X, Y), rtol=1e-3)


def test_tuning_takes_at_most_so_many_rows_and_a_seed(rng):
    X = rng.standard_normal((120, 1))
    Y = np.sin(X) + 0.3 * rng.standard_normal((120, 1))
    few = GaussianProcess(tuning_rows=40)
    first, again, other = (clone(few).set_params(random_state=s).fit(X, Y) for s in (1, 1, 2))
    assert first.bandwidth_x_ == again.bandwidth_x_ != other.bandwidth_x_
    assert first.n_distinct_ == 120
    default = GaussianProcess(tuning_rows=None).fit(X, Y)
    assert default.bandwidth_x_ == GaussianProcess().fit(X, Y).bandwidth_x_


def test_without_x_it_is_one_gaussian(rng):
    Y = 3.0 + 2.0 * rng.standard_normal((400, 1))
    model = GaussianProcess(centre=False).fit(None, Y)
    assert model.n_distinct_ == 1
    x = np.empty((1, 0))
    np.testing.assert_allclose(model.mean(x)[0, 0], Y.mean(), rtol=1e-2)
    np.testing.assert_allclose(model.variance(x)[0, 0], Y.var(), rtol=1e-2)


def test_expectation_in_two_dimensions_is_that_of_the_gaussian(repeated):
    X, Y = repeated
    model = GaussianProcess(**GIVEN).fit(X, Y)
    mean, variance = model.mean(X[:4]), model.variance(X[:4])
    found = model.conditional_expectation(lambda y: np.hstack([y, y**2]), X[:4])
    np.testing.assert_allclose(found[:, :2], mean, rtol=1e-10)
    np.testing.assert_allclose(found[:, 2:], mean**2 + variance, rtol=1e-2)


def test_inside_standardised_densities_are_in_original_units(pairs, rng):
    X, Y = pairs
    model = Standardised(GaussianProcess(1.0, 0.9, 0.4)).fit(X, 50.0 * Y - 3.0)
    y = np.linspace(-400, 400, 4001)[:, None]
    np.testing.assert_allclose(np.trapezoid(np.exp(model.log_density_at(y)(X[:3])), y[:, 0]), 1.0)


def test_one_matrix_is_formed_and_no_second(rng):
    X = rng.standard_normal((700, 2))
    grouped = group(X, X[:, :1])
    size = 8 * 700**2
    tracemalloc.start()
    Posterior(grouped, grouped.means, np.ones(2), 1.0, 0.3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The matrix, and a byte a number of the check that it is finite.
    assert size < peak < 1.25 * size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth_x": -1.0}, "bandwidth_x must be positive"),
        ({"kernel": "rbf"}, "kernel must be one of gaussian, matern; got 'rbf'"),
        ({"bandwidth_x": [1.0, 1.0, 1.0]}, "bandwidth_x must be a number or one per dimension"),
        ({"signal_std": 0.0}, "signal_std must be positive"),
        ({"noise_std": [0.1, 0.2]}, "noise_std must be a number or one per dimension"),
        ({"tuning_rows": 1}, "tuning_rows must be a whole number above 1; got 1"),
    ],
)
def test_bad_parameters_are_named(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcess(**options).fit(*pairs)


@pytest.mark.parametrize("shift", [2.0**20, 2.0**27])
def test_the_choice_is_the_same_far_from_zero(rng, shift):
    X = np.round(rng.normal(size=(60, 2)), 3)
    Y = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(60, 1))
    near, far = (GaussianProcess().fit(Z, Y) for Z in (X, X + shift))
    np.testing.assert_allclose(far.bandwidth_x_, near.bandwidth_x_, rtol=1e-3)


@pytest.mark.parametrize("constant", [3.0, 0.1, 1e6 + 0.1])
def test_a_constant_column_has_no_part(rng, constant):
    """The standard deviation of a column of 0.1 is not 0 by rounding."""
    X = np.column_stack([rng.normal(size=60), np.full(60, constant)])
    Y = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(60, 1))
    model = GaussianProcess().fit(X, Y)
    new = X[:5] * np.array([1.0, 1.001])
    if constant < 1e3:
        np.testing.assert_allclose(model.mean(new), model.mean(X[:5]), atol=1e-3)
    assert model.bandwidth_x_[0, 1] > 0.1
