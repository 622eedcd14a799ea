"""What every conditional density promises. A new file in `estimators/` takes part by itself."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from contracted import QUICK, line
from kcde import estimators
from kcde.arrays import to_numpy
from kcde.estimators import estimator_class, estimator_names
from kcde.estimators.base import ConditionalDensity

# What the default parameters cost too much of for a test.
COSTLY = ("DDE", "Defensive", "ConditionalRealNVP", "ConditionalMAF", "QuantileForest", "NGBoost")
FEWER = {name: QUICK[name] for name in COSTLY}

CLASSES = [name for name in estimator_names() if estimator_class(name).tags.density]


@pytest.fixture(params=CLASSES)
def estimator(request):
    return estimator_class(request.param)(**QUICK.get(request.param, {}))


@pytest.fixture
def data(estimator, pairs):
    X, Y = pairs
    return (X[:, :0] if estimator.tags.unconditional else X), Y


@pytest.mark.parametrize("name", CLASSES)
def test_methods_of_the_base_class_have_what_they_need(name):
    """No method is taken away, and those that are inherited find what they ask the class for."""
    cls = estimator_class(name)
    for member, inherited in vars(ConditionalDensity).items():
        assert not callable(inherited) or callable(getattr(cls, member)), member
    needs = {
        "sample": {"_support", "_sample_multivariate"},
        "conditional_expectation": {"_support", "_proposal"},
        "_cdf": {"_support"},
    }
    for method, hooks in needs.items():
        if getattr(cls, method) is getattr(ConditionalDensity, method):
            missing = {h for h in hooks if getattr(cls, h) is getattr(ConditionalDensity, h)}
            assert not missing, f"{name} inherits {method} and gives no {missing}"


def test_what_a_class_does_not_give_is_named():
    class Bare(estimator_class("KEF")):
        _support = ConditionalDensity._support

    with pytest.raises(NotImplementedError, match="Bare has no _support"):
        Bare()._support()


@pytest.mark.parametrize("name", estimator_names())
def test_each_states_its_own_selection_rule_for_tables(name):
    rule = vars(estimator_class(name)).get("selection_rule", "")
    assert rule, f"{name} needs a selection_rule: how it chooses what is left open, in a sentence"
    assert rule[-1] not in ".;,"
    assert "\n" not in rule


def test_the_package_lists_its_classes_and_imports_none():
    code = (
        "import sys, kcde.estimators; print(*dir(kcde.estimators));"
        "print(*(name for name in sys.modules if name.startswith('kcde.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, loaded = map(str.split, done.stdout.splitlines())
    assert {*estimator_names(), "Standardised", "estimator_class"} <= set(listed)
    assert "kcef" not in listed
    assert not [name for name in loaded if name.startswith("kcde.estimators.")]
    assert all(hasattr(estimators, name) for name in listed)


def test_the_four_methods_are_found_by_file_name():
    assert {"KCEF", "KEF", "LSCDE", "EpsilonKDE"} <= set(CLASSES)


def test_clone_and_parameters_follow_scikit_learn(estimator):
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    numbers = {k: v for k, v in copy.get_params().items() if type(v) in (int, float)}
    for name, value in numbers.items():
        assert copy.set_params(**{name: value + 1}).get_params()[name] == value + 1
    assert numbers
    assert not [name for name in vars(copy) if name.endswith("_")]


def test_fit_returns_self_and_leaves_parameters_alone(estimator, data):
    before = estimator.get_params()
    assert estimator.fit(*data) is estimator
    assert estimator.get_params() == before


def test_density_integrates_to_one(estimator, data):
    X, _ = data
    y, weights = line()
    density = np.exp(estimator.fit(*data).log_density_at(y[:, None])(X[:5]))
    np.testing.assert_allclose(density @ weights, 1.0, atol=1e-6)


def test_pairs_and_shared_points_give_the_same_density(estimator, data):
    X, Y = data
    estimator.fit(X, Y)
    shared = np.diagonal(estimator.log_density_at(Y[:6])(X[:6]))
    np.testing.assert_allclose(estimator.log_density(X[:6], Y[:6]), shared, rtol=1e-9)
    assert estimator.score(X[:6], Y[:6]) == pytest.approx(shared.mean())


def test_density_is_positive_where_it_says_so(estimator, data):
    X, Y = data
    far = 0 * Y[:2] + np.array([[25.0], [-25.0]])
    assert np.isfinite(estimator.fit(X, Y).log_density(X[:2] + 9.0, far)).all()


def test_expectation_is_that_of_the_density(estimator, data):
    X, _ = data
    y, weights = line()
    density = np.exp(estimator.fit(*data).log_density_at(y[:, None])(X[:4]))

    def f(t):
        return np.hstack([np.ones_like(t), t, np.cos(t)])

    expected = density * weights @ f(y[:, None])
    np.testing.assert_allclose(estimator.conditional_expectation(f, X[:4]), expected, atol=1e-5)


def test_samples_have_the_moments_of_the_density(estimator, data):
    if not estimator.tags.exact_sampler:
        pytest.skip("its draws are near the density only")
    X, _ = data
    estimator.fit(*data)
    draws = estimator.sample(X[:3], 4000, np.random.default_rng(1))
    assert draws.shape == (3, 4000, 1)
    assert estimator.sample(X[:3], 0, np.random.default_rng(1)).shape == (3, 0, 1)
    # Bounded, because a density may have a mean and no variance.
    sine = np.sin(draws)
    mean, square = estimator.conditional_expectation(
        lambda t: np.hstack([np.sin(t), np.sin(t) ** 2]), X[:3]
    ).T
    error = 5 * np.sqrt((square - mean**2) / 4000)
    assert (np.abs(sine.mean(axis=1)[:, 0] - mean) < error).all()


def test_draws_need_a_generator(estimator, data):
    estimator.fit(*data)
    with pytest.raises(ValueError, match="rng must be a numpy Generator"):
        estimator.sample(data[0][:2], 3, 0)


def test_same_seed_same_bits(estimator, data):
    X, Y = data
    name = type(estimator).__name__
    estimator = estimator_class(name)(**FEWER.get(name, {}))
    first, second = (clone(estimator).fit(X, Y).log_density(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    draws = [
        clone(estimator).fit(X, Y).sample(X[:2], 3, np.random.default_rng(5)) for _ in range(2)
    ]
    np.testing.assert_array_equal(*draws)


def test_other_namespaces_give_the_same_numbers(estimator, data, other_xp):
    if not estimator.tags.array_api:
        pytest.skip("does not claim the array API")
    X, Y = data
    expected = estimator.fit(X, Y).log_density(X, Y)
    name = type(estimator).__name__
    choosing = estimator_class(name)(**FEWER.get(name, {}))
    chosen = choosing.fit(X, Y).log_density(X, Y)
    X, Y = other_xp.asarray(X), other_xp.asarray(Y)
    np.testing.assert_allclose(to_numpy(estimator.fit(X, Y).log_density(X, Y)), expected, rtol=1e-8)
    found = to_numpy(clone(choosing).fit(X, Y).log_density(X, Y))
    np.testing.assert_allclose(found, chosen, rtol=1e-5)
    shared = to_numpy(estimator.log_density_at(Y[:4, :])(X[:4, :]))
    np.testing.assert_allclose(np.diagonal(shared), expected[:4], rtol=1e-8)
    draws = to_numpy(estimator.sample(X[:2, :], 3, np.random.default_rng(0)))
    assert np.isfinite(draws).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(estimator, data, value):
    X, Y = data
    broken = Y.copy()
    broken[3] = value
    with pytest.raises(ValueError, match=r"Y, shape \(30, 1\), has NaN or infinite"):
        estimator.fit(X, broken)


def test_wrong_shapes_are_named(estimator, data):
    X, Y = data
    with pytest.raises(
        ValueError, match=r"Y must have shape \(n,\) or \(n, d\); got shape \(1, 30"
    ):
        estimator.fit(X, Y[None])
    with pytest.raises(ValueError, match="X has 30 rows and Y has 29"):
        estimator.fit(X, Y[1:])
    with pytest.raises(ValueError, match=f"X must have {X.shape[1]} columns"):
        estimator.fit(X, Y).log_density(np.ones((30, 5)), Y)


def test_one_row_is_too_few(estimator, data):
    X, Y = data
    with pytest.raises(ValueError, match="at least 2 rows; got 1"):
        estimator.fit(X[:1], Y[:1])


def test_selection_refuses_fewer_rows_than_folds(estimator, data):
    if not {"folds", "validation"} & set(estimator.get_params()):
        pytest.skip("holds no rows out")
    X, Y = data
    with pytest.raises(ValueError, match=r"at least 5 rows; got 4|min_neighbours must be between"):
        estimator_class(type(estimator).__name__)().fit(X[:4], Y[:4])


def test_using_it_before_fitting_is_refused(estimator, data):
    with pytest.raises(NotFittedError, match="call fit first"):
        estimator.log_density(*data)


def test_unknown_estimator_lists_those_there_are():
    with pytest.raises(ValueError, match=r"no estimator 'KCFE'.*KCEF"):
        estimator_class("KCFE")


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
