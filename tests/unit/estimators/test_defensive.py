"""Defensive: the mixture, and what an estimator inside knows of it when it is chosen."""

import numpy as np
import pytest
from scipy.stats import norm

from kcde.estimators import DDE, KCEF, KEF, LSCDE, NADE, Defensive, GaussianProcess, Standardised
from kcde.estimators._kcef.normaliser_rules import CheckedRule, _interpolated
from kcde.estimators._kcef.selection import _LikelihoodSearch
from kcde.experiments import methods
from kcde.selection import complement, kfold

GIVEN = {"bandwidth_x": 0.6, "bandwidth_y": 0.5, "regularization": 0.1}


def naive(inner, X, Y, weight, std):
    """Return the log density of the mixture, pair by pair."""
    found = []
    for x, y in zip(X, Y, strict=True):
        p = np.exp(inner.log_density(x[None], y[None])[0])
        found.append(np.log((1 - weight) * p + weight * np.prod(norm.pdf(y, 0.0, std))))
    return np.array(found)


@pytest.mark.parametrize(("base_std", "std"), [(None, 2.0), (3.0, 3.0)])
def test_density_equals_a_naive_loop(pairs, base_std, std):
    X, Y = pairs
    model = Defensive(LSCDE(**GIVEN), 0.05, base_std).fit(X, Y)
    expected = naive(LSCDE(**GIVEN).fit(X, Y), X, Y, 0.05, std)
    np.testing.assert_allclose(model.log_density(X, Y), expected, rtol=1e-10)


def test_several_y(pairs):
    X, Y = pairs
    Y = np.hstack([Y, Y**2])
    inner = GaussianProcess(1.0, 0.8, 0.4)
    model = Defensive(inner, 0.2).fit(X, Y)
    expected = naive(inner.fit(X, Y), X, Y, 0.2, 2.0)
    np.testing.assert_allclose(model.log_density(X, Y), expected, rtol=1e-10)
    rng = np.random.default_rng(0)
    draws = model.sample(X[:2], 20_000, rng)
    assert draws.shape == (2, 20_000, 2)
    mean = model.mean(X[:2])
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05)
    moments = model.conditional_expectation(lambda y: np.hstack([y[:, :1] ** 0, y]), X[:2])
    np.testing.assert_allclose(moments, np.hstack([np.ones((2, 1)), mean]), atol=1e-2)


def test_the_given_estimator_is_cloned_and_the_default_takes_its_parameters(pairs):
    X, Y = pairs
    inner = KCEF(selection="likelihood", tuning_rows=20)
    model = Defensive(inner, repeats=2).fit(X, Y)
    assert not hasattr(inner, "n_features_in_")
    assert (inner.selection_floor, inner.repeats) == (0.0, 1)
    own = model.estimator_
    assert (own.selection_floor, own.repeats, own.tuning_rows) == (0.01, 2, 20)
    default = Defensive(repeats=1, tuning_rows=20, random_state=3).fit(X, Y).estimator_
    assert (default.selection, default.tuning_rows, default.random_state) == ("likelihood", 20, 3)


def test_selection_is_by_the_likelihood_of_the_mixture(pairs):
    """The cross-validated value is that of separate fits, each with its own normaliser."""
    X, Y = pairs
    folds = [*kfold(30, 5, np.random.default_rng(0)), *kfold(30, 5, np.random.default_rng(1))]
    path = np.array([0.003, 0.1])
    search = _LikelihoodSearch(X, Y, folds, 2.0, floor=0.02)
    found = search.over([1.2], [0.9], path)[0, 0]
    for value, regularization in zip(found, path, strict=True):
        total = 0.0
        for held_out in folds:
            rows = complement(held_out, 30)
            model = Defensive(KCEF(1.2, 0.9, regularization), 0.02).fit(X[rows], Y[rows])
            total += model.log_density(X[held_out], Y[held_out]).sum()
        assert value == pytest.approx(total / 60, abs=1e-4)


def test_interpolated_nodes_and_the_normaliser_are_those_of_a_fine_grid():
    rule = CheckedRule(np.array([[-1.0], [1.5]]), 0.5, 2.0)
    centres, width = np.array([0.1, 0.7]), np.array([[0.5], [0.55]])

    def T(y):
        return 60.0 * np.exp(-0.5 * ((y - centres[:, None]) / width) ** 2)

    y, step = np.linspace(-40.0, 40.0, 400_001, retstep=True)
    expected = np.log(np.sum(np.exp(T(y)) * norm.pdf(y, 0.0, 2.0), axis=1) * step)
    at_nodes = np.hstack([T(rule.nodes), np.zeros((2, 1))])
    np.testing.assert_allclose(rule.log_normaliser(at_nodes[None])[0], expected, atol=1e-6)
    peaked = np.hstack([40.0 * T(rule.nodes), np.zeros((2, 1))])
    assert np.isinf(rule.log_normaliser(1000.0 * peaked[None])).all()
    fine = np.linspace(rule.nodes[0], rule.nodes[-1], 4 * (len(rule.nodes) - 1) + 1)
    np.testing.assert_allclose(_interpolated(T(rule.nodes)), T(fine), atol=1e-6)


def test_tags_are_those_of_the_estimator_inside():
    assert Defensive.tags.array_api
    assert not Defensive(NADE()).tags.array_api
    assert Defensive(KEF()).tags.unconditional
    assert not Defensive(DDE()).tags.exact_sampler
    assert methods.backend_of(Defensive(NADE()), "numpy") == "numpy"


@pytest.mark.parametrize("options", [{"weight": 0.0}, {"weight": 1.0}, {"base_std": 0.0}])
def test_wrong_parameters_are_refused(pairs, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Defensive(**options).fit(*pairs)


def test_standardised_is_to_be_outside(pairs):
    with pytest.raises(ValueError, match="Standardised"):
        Defensive(Standardised(LSCDE(0.5, 0.3, 0.1))).fit(*pairs)
