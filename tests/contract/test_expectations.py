"""What estimators of conditional expectations promise that are not densities but weights on y.

A new file in `estimators/` whose tags say so takes part by itself.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score

from kcde.arrays import array_namespace
from kcde.estimators import estimator_class, estimator_names

CLASSES = {name: estimator_class(name) for name in estimator_names()}
CLASSES = [each for each in CLASSES.values() if not each.tags.density]


@pytest.fixture(params=[each for each in CLASSES if each.tags.target == "continuous"])
def estimator(request):
    return request.param(regularization=0.01)


def moments(y):
    """1, y and y²."""
    return array_namespace(y).concat([y**0, y, y**2], axis=1)


@pytest.mark.parametrize("standardize", [False, True])
def test_expectations_are_sums_of_weights(estimator, standardize, pairs):
    """The mean, if standardised, is that of y less its mean: of CME, weights do not sum to one."""
    X, Y = pairs[0], pairs[1] + 3.0
    estimator.set_params(standardize=standardize).fit(X, Y)
    weights, support = estimator.weights(X[:6]), estimator.support_
    assert weights.shape == (6, len(support))
    found = estimator.conditional_expectation(moments, X[:6])
    np.testing.assert_allclose(found, weights @ moments(support), rtol=1e-8, atol=1e-10)
    mean, second = estimator.conditional_moments(X[:6])
    centre = Y.mean() * standardize
    first, square = (weights @ moments(support - centre))[:, 1:].T[..., None]
    np.testing.assert_allclose(mean, centre + first, rtol=1e-8, atol=1e-10)
    expected = square + 2.0 * centre * first + centre**2
    np.testing.assert_allclose(second[:, :, 0], expected, rtol=1e-8, atol=1e-10)
    below = estimator.conditional_probability(lambda y: y <= 3.0, X[:6])
    expected = weights @ (support[:, 0] <= 3.0)
    np.testing.assert_allclose(below, expected, rtol=1e-8, atol=1e-10)


def test_paths_equal_single_fits(estimator, pairs):
    X, Y = pairs
    for model in estimator.fit_path(X, Y, [1e-4, 0.1]):
        alone = clone(estimator).set_params(regularization=model.regularization).fit(X, Y)
        np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_draws_are_from_the_support(estimator, pairs, rng):
    X, Y = pairs
    draws = estimator.fit(X, Y).sample(X[:3], 40, rng)
    assert draws.shape == (3, 40, 1)
    assert np.isin(draws, estimator.support_).all()


def test_a_density_is_refused_with_the_classes_that_have_one(estimator, pairs):
    for name in ("log_density", "log_density_at", "density_at", "pdf", "std", "cdf", "quantile"):
        assert not hasattr(estimator, name)
    with pytest.raises(AttributeError, match="no interval; SmoothedJDL"):
        estimator.fit(*pairs).interval(pairs[0], 0.9)
    found = estimator.predict(pairs[0])
    assert estimator.score(*pairs) == pytest.approx(r2_score(pairs[1], found))
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'"):
        _ = estimator.nonsense
