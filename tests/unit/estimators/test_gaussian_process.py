import logging
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from contracted import some_pairs
from kcde.estimators import GaussianProcess, gaussian_process
from kcde.estimators._shared import marginal_likelihood as tuning

GIVEN = {"bandwidth_x": [0.9, 0.6], "signal_std": 1.3, "noise_std": 0.35}
matern = partial(Matern, nu=1.5)


def theirs(shape, bandwidth, signal, noise, X, y):
    kernel = ConstantKernel(signal**2) * shape(bandwidth) + WhiteKernel(noise**2)
    return GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)


@pytest.fixture
def repeated(rng):
    """Ninety rows at unequally many of 25 places, two y."""
    X = rng.integers(-2, 3, (90, 2)) * 0.7
    return X, np.hstack([np.sin(X[:, :1]), X[:, 1:]]) + 0.3 * rng.standard_normal((90, 2)) + 5.0


@pytest.mark.parametrize(("name", "shape"), [("gaussian", RBF), ("matern", matern)])
def test_it_is_that_of_scikit_learn_over_all_rows(repeated, rng, monkeypatch, name, shape):
    X, Y = repeated
    at, y = rng.standard_normal((7, 2)), 5.0 + rng.standard_normal((7, 2))
    model = GaussianProcess(**GIVEN, kernel=name).fit(X, Y)
    assert model.n_distinct_ == len(np.unique(X, axis=0)) < 30
    for rows in (256, 3):
        monkeypatch.setattr(gaussian_process, "_ROWS", rows)
        log_density = 0.0
        for c, column in enumerate(Y.T):
            process = theirs(shape, *GIVEN.values(), X, column - column.mean())
            mean, std = process.predict(at, return_std=True)
            mean += column.mean()
            np.testing.assert_allclose(model.mean(at)[:, c], mean, rtol=1e-10)
            np.testing.assert_allclose(model.variance(at)[:, c], std**2, rtol=1e-9)
            log_density += norm.logpdf(y[:, c], mean, std)
        np.testing.assert_allclose(model.log_density(at, y), log_density, rtol=1e-9)


def test_columns_with_hyper_parameters_of_their_own_are_separate_fits(repeated):
    X, Y = repeated
    Y = np.hstack([Y, Y[:, :1] ** 2])
    stds = [(1.0, 0.3), (2.0, 0.5), (1.0, 0.3)]
    signal, noise = (list(each) for each in zip(*stds, strict=True))
    together = GaussianProcess(0.8, signal, noise).fit(X, Y)
    assert len(together._posteriors) == 2
    alone = [GaussianProcess(0.8, *std).fit(X, Y[:, [c]]) for c, std in enumerate(stds)]
    np.testing.assert_allclose(together.mean(X), np.hstack([m.mean(X) for m in alone]), rtol=1e-12)
    log_density = sum(m.log_density(X, Y[:, [c]]) for c, m in enumerate(alone))
    np.testing.assert_allclose(together.log_density(X, Y), log_density, 1e-12, atol=1e-13)


@pytest.mark.parametrize(("name", "shape"), [("gaussian", RBF), ("matern", matern)])
def test_no_scaled_copy_of_the_optimum_is_better(pairs, name, shape):
    """The optimum is a maximum of scikit-learn's marginal likelihood over all three."""
    X, y = pairs[0], pairs[1][:, 0] - pairs[1].mean()
    nothing = tuning.Hyperparameters(None, None, None)
    found = tuning.maximise(X, y, nothing, name)

    def likelihood(*given):
        return theirs(shape, *given, X, y).log_marginal_likelihood_value_

    best = likelihood(*found)
    for factor in (0.8, 1.25):
        for k in range(3):
            scaled = [value * factor if k == i else value for i, value in enumerate(found)]
            assert likelihood(*scaled) < best + 1e-4


@pytest.mark.parametrize(("name", "shape"), [("gaussian", RBF), ("matern", matern)])
def test_value_and_gradient_are_those_of_scikit_learn(rng, name, shape):
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    model = theirs(shape, np.linspace(0.5, 1.5, 3), 0.8, 0.2, X, y)
    value, gradient = tuning.log_marginal_likelihood(X, y, np.exp(model.kernel_.theta), name)
    expected, slope = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-9)


def test_what_is_given_is_kept_and_the_rest_chosen(pairs):
    model = GaussianProcess(bandwidth_x=[1.0, 2.0], noise_std=0.2).fit(*pairs)
    assert model.noise_std_.tolist() == [0.2]
    assert model.bandwidth_x_.tolist() == [[1.0, 2.0]]
    assert model.signal_std_ != 1.0


def test_an_optimum_at_its_bound_is_logged(rng, caplog):
    X = rng.uniform(-1, 1, (40, 1))
    with caplog.at_level(logging.INFO, logger="kcde.estimators"):
        GaussianProcess().fit(X, np.sin(3 * X))
    assert "marginal likelihood on 40 rows: a hyper-parameter is at its bound" in caplog.text


def test_choice_is_equivariant_under_units_and_far_from_zero(pairs):
    X, Y = np.round(pairs[0], 3), pairs[1]
    plain = GaussianProcess().fit(X, Y)
    scaled = GaussianProcess().fit(100.0 * X, 1e-3 * Y + 7.0)
    np.testing.assert_allclose(scaled.bandwidth_x_, 100.0 * plain.bandwidth_x_, rtol=1e-3)
    np.testing.assert_allclose(scaled.noise_std_, 1e-3 * plain.noise_std_, rtol=1e-3)
    far = GaussianProcess().fit(X + 2.0**27, Y)
    np.testing.assert_allclose(far.bandwidth_x_, plain.bandwidth_x_, rtol=1e-3)


def test_tuning_takes_at_most_so_many_rows_and_a_seed(rng):
    X, Y = some_pairs(rng, 120, 1, 0.3)
    few = GaussianProcess(tuning_rows=40)
    first, again, other = (clone(few).set_params(random_state=s).fit(X, Y) for s in (1, 1, 2))
    assert first.bandwidth_x_ == again.bandwidth_x_ != other.bandwidth_x_
    assert first.n_distinct_ == 120


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1])
def test_a_constant_column_has_no_part(rng, constant):
    """The standard deviation of a column of 0.1 is not 0 by rounding."""
    X = np.column_stack([rng.normal(size=60), np.full(60, constant)])
    model = GaussianProcess().fit(X, np.sin(X[:, :1]) + 0.3 * rng.normal(size=(60, 1)))
    assert model.bandwidth_x_[0, 1] > 0.1
