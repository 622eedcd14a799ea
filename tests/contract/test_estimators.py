"""What every conditional density promises. A new file in `estimators/` takes part by itself."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from contracted import QUICK, densities, line
from kcde.estimators import Standardised, estimator_class, estimator_names
from kcde.estimators.base import ConditionalDensity

# The mean of draws, of which there are 1000.
BY_DRAWS = {"ConditionalRealNVP", "ConditionalMAF"}


@pytest.mark.parametrize("name", estimator_names())
def test_each_states_its_own_selection_rule_for_tables(name):
    rule = vars(estimator_class(name)).get("selection_rule", "")
    assert rule, f"{name} needs a selection_rule: how it chooses what is left open, in a sentence"
    assert rule[-1] not in ".;,"
    assert "\n" not in rule


@pytest.mark.parametrize("name", densities())
def test_methods_that_are_inherited_find_what_they_need(name):
    cls = estimator_class(name)
    needs = {
        "_draws": {"_support", "_sample_multivariate"},
        "_expectation": {"_support", "_proposal"},
        "_cdf": {"_support"},
    }
    for method, hooks in needs.items():
        if getattr(cls, method) is getattr(ConditionalDensity, method):
            assert not [hook for hook in hooks if not hasattr(cls, hook)]


@pytest.fixture
def unfitted(fitted):
    """The class of each density, unfitted, with x and y."""
    model, X, Y = fitted
    return clone(model), X, Y


def test_density_integrates_to_one_and_its_expectation_is_that_of_the_integral(fitted):
    model, X, _ = fitted
    y, weights = line()
    density = np.exp(model.log_density_at(y[:, None])(X[:4])) * weights
    np.testing.assert_allclose(density.sum(axis=1), 1.0, atol=1e-6)

    def f(t):
        return np.hstack([np.ones_like(t), t, np.cos(t)])

    found = model.conditional_expectation(f, X[:4])
    np.testing.assert_allclose(found, density @ f(y[:, None]), atol=1e-5)
    atol = 0.1 if type(model).__name__ in BY_DRAWS else 1e-6
    mean = density @ y
    np.testing.assert_allclose(model.mean(X[:4])[:, 0], mean, atol=atol)
    np.testing.assert_array_equal(model.predict(X[:4]).ravel(), model.mean(X[:4])[:, 0])
    if type(model).__name__ == "LikelihoodKCEF":
        # Of p without its floor, which has no variance.
        (y_,), std = model._units.y(y[:, None]).T, model._units.std_y
        floor = np.exp(model._floor.log_density(y_)) / std * weights
        density = (density - model.weight_ * floor) / (1.0 - model.weight_)
        mean = density @ y
    std = ((density * (y - mean[:, None]) ** 2).sum(axis=1)) ** 0.5
    np.testing.assert_allclose(model.std(X[:4]).ravel(), std, atol=atol)
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
    # Some draw from what is near the density only.
    error = 5 * np.sqrt((square - mean**2) / 4000) + (not model.tags.exact_sampler) * 0.3
    assert (np.abs(np.sin(draws).mean(axis=1)[:, 0] - mean) < error).all()


def test_same_seed_same_bits(fitted, unfitted):
    first, X, Y = fitted
    again = unfitted[0].fit(X, 0.8 * Y + 0.1 if isinstance(first, Standardised) else Y[:, 0])
    np.testing.assert_array_equal(first.log_density(X, Y), again.log_density(X, Y))
    draws = [model.sample(X[:2], 3, np.random.default_rng(5)) for model in (first, again)]
    np.testing.assert_array_equal(*draws)


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


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("CDO", marks=pytest.mark.nightly),
        "ConditionalMAF",
        "ConditionalRealNVP",
        "DDE",
        "EpsilonKDE",
        "GaussianProcess",
        "KCEF",
        "LSCDE",
        "NADE",
        "SmoothedJDL",
    ],
)
def test_two_dimensional_y_integrates_to_one(name, rng):
    X = rng.standard_normal((40, 1))
    Y = np.hstack([X, X**2]) + 0.5 * rng.standard_normal((40, 2))
    model = estimator_class(name)(**QUICK[name]).fit(X, Y)
    axis = np.linspace(-9, 13, 221)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.log_density_at(grid)(X[:2])).sum(axis=1) * (axis[1] - axis[0]) ** 2
    # Exponential families are normalised by importance sampling for d_y > 1.
    np.testing.assert_allclose(density, 1.0, atol=0.05 if name in ("KCEF", "DDE") else 1e-3)
    assert model.sample(X[:2], 4, rng).shape == (2, 4, 2)
    assert model.sample(X[:2], 0, rng).shape == (2, 0, 2)
    moments = model.conditional_expectation(lambda y: np.hstack([y**0, y]), X[:2])
    cell = (axis[1] - axis[0]) ** 2
    expected = np.exp(model.log_density_at(grid)(X[:2])) @ np.hstack([grid**0, grid]) * cell
    np.testing.assert_allclose(moments, expected, atol=0.1)
