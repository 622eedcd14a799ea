"""What every conditional density promises, and every estimator of expectations by weights on y."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score

from contracted import QUICK, make
from kcde.arrays import array_namespace
from kcde.estimators import estimator_class, estimator_names

OF_TWO_Y = QUICK.keys() - {"Defensive", "KEF", "LikelihoodKCEF", "NGBoost", "QuantileForest"}
OF_TWO_Y = [pytest.param(n, marks=[pytest.mark.nightly] * (n == "CDO")) for n in sorted(OF_TWO_Y)]
CLASSES = [each for each in map(estimator_class, estimator_names()) if not each.tags.density]


@pytest.fixture
def unfitted(fitted):
    model, X, Y = fitted
    return clone(model), X, Y


def test_density_integrates_to_one_and_its_expectation_is_that_of_the_integral(fitted):
    model, X, _ = fitted
    # The trapezoidal rule in s, where y = sinh s: tails may be as thick as those of Student's t.
    s = np.linspace(-np.arcsinh(1e4), np.arcsinh(1e4), 8001)
    y, weights = np.sinh(s), np.cosh(s) * (s[1] - s[0])
    density = np.exp(model.log_density_at(y[:, None])(X[:4])) * weights
    np.testing.assert_allclose(density.sum(axis=1), 1.0, atol=1e-6)

    def f(t):
        return np.hstack([np.ones_like(t), t, np.cos(t)])

    found = model.conditional_expectation(f, X[:4])
    np.testing.assert_allclose(found, density @ f(y[:, None]), atol=1e-5)
    mean = density @ y
    np.testing.assert_allclose(model.mean(X[:4])[:, 0], mean, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[:4]).ravel(), model.mean(X[:4])[:, 0])
    if type(model).__name__ == "LikelihoodKCEF":
        # Of p without its floor, which has no variance.
        (y_,), std = model._units.y(y[:, None]).T, model._units.std_y
        floor = np.exp(model._floor.log_density(y_)) / std * weights
        density = (density - model.weight_ * floor) / (1.0 - model.weight_)
        mean = density @ y
    std = ((density * (y - mean[:, None]) ** 2).sum(axis=1)) ** 0.5
    np.testing.assert_allclose(model.std(X[:4]).ravel(), std, atol=1e-6)
    pdf = np.exp(model.log_density(X[:4], y[:4]))
    np.testing.assert_allclose(model.pdf(X[:4], y[:4]), pdf, rtol=1e-12)


def test_pairs_and_shared_points_give_the_same_density_finite_far_away(fitted):
    model, X, Y = fitted
    shared = np.diagonal(model.log_density_at(Y[:6])(X[:6]))
    np.testing.assert_allclose(model.log_density(X[:6], Y[:6]), shared, rtol=1e-9)
    assert model.score(X[:6], Y[:6]) == pytest.approx(shared.mean())
    far = np.array([[25.0], [-25.0]])
    assert np.isfinite(model.log_density(X[:2] + 9.0, far)).all()


def test_samples_have_the_moments_of_the_density(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="random_state"):
        model.sample(X[:2], 3, "1")
    draws = model.sample(X[:3], 4000, 1).reshape(3, 4000, 1)
    same = model.sample(X[:3], 4000, np.random.default_rng(1))
    np.testing.assert_array_equal(draws, same.reshape(3, 4000, 1))
    flat = model.predict(X).ndim == 1
    assert same.shape == ((3, 4000) if flat else (3, 4000, 1))
    assert model.sample(X[:3], 0, 1).shape == ((3, 0) if flat else (3, 0, 1))
    # Bounded, because a density may have a mean and no variance.
    mean, square = model.conditional_expectation(
        lambda t: np.hstack([np.sin(t), np.sin(t) ** 2]), X[:3]
    ).T
    error = 5 * np.sqrt((square - mean**2) / 4000)
    assert (np.abs(np.sin(draws).mean(axis=1)[:, 0] - mean) < error).all()


def test_wrong_shapes_and_values_are_refused(unfitted):
    model, X, Y = unfitted
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Y has NaN or infinite"):
            model.fit(X, np.where(np.arange(30)[:, None] == 3, value, Y))
    for given, message in (
        ((X, Y[None]), "Y must have shape"),
        ((X, Y[1:]), "X has 30 rows and Y has 29"),
        ((X[:1], Y[:1]), "at least 2 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*given)
    # A fit that failed leaves nothing behind.
    with pytest.raises(NotFittedError, match="call fit first"):
        model.log_density(X, Y)


def test_selection_refuses_fewer_rows_than_folds(unfitted):
    model, X, Y = unfitted
    if not {"folds", "validation"} & set(model.get_params()):
        pytest.skip("holds no rows out")
    with pytest.raises(ValueError, match=r"at least 5 rows|min_neighbours"):
        type(model)().fit(X[:4], Y[:4])


@pytest.mark.parametrize("name", OF_TWO_Y)
def test_two_dimensional_y_integrates_to_one(name, rng):
    X = rng.standard_normal((40, 1))
    Y = np.hstack([X, X**2]) + 0.5 * rng.standard_normal((40, 2))
    model = make(name).fit(X, Y)
    axis = np.linspace(-9, 13, 221)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.log_density_at(grid)(X[:2])) * (axis[1] - axis[0]) ** 2
    # Exponential families are normalised by importance sampling for d_y > 1.
    atol = 0.05 if name in ("KCEF", "DDE") else 1e-3
    np.testing.assert_allclose(density.sum(axis=1), 1.0, atol=atol)
    draws = model.sample(X[:2], 400, rng)
    away = np.abs(draws.mean(axis=1) - density @ grid)
    assert (away < draws.std(axis=1) / 4.0).all()
    assert model.sample(X[:2], 0, rng).shape == (2, 0, 2)
    moments = model.conditional_expectation(lambda y: np.hstack([y**0, y]), X[:2])
    np.testing.assert_allclose(moments, density @ np.hstack([grid**0, grid]), atol=0.1)


@pytest.fixture(params=[each for each in CLASSES if each.tags.target == "continuous"])
def estimator(request):
    return request.param(regularization=0.01)


def moments(y):
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
