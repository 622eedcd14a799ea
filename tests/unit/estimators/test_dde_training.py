"""Doubly dual embedding: what the training computes, against naive computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kcde.estimators._dde.diagnostics import diagnose
from kcde.estimators._dde.fit import Task, TrainingResult, _Batch, _should_continue
from kcde.estimators._dde.functional import functional_gradients
from kcde.estimators._dde.held_out import HeldOut
from scipy import stats

from kcde.estimators import DDE
from kcde.estimators._dde import training
from kcde.estimators._dde.model import resolve_parameters
from kcde.estimators._dde.training import f_values, normal, optimisers, start
from kcde.kernels import GaussianKernel


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 2))
    return X, X[:, :1] + 0.5 * rng.standard_normal((40, 1))


def kernel(model, x, y, other_x, other_y):
    """k_X k_Y of two points, by its definition."""
    total = np.sum((x - other_x) ** 2 / model.bandwidth_x**2)
    total += np.sum((y - other_y) ** 2 / model.bandwidth_y**2)
    return np.exp(-0.5 * total)


@pytest.mark.parametrize("basis", ["points", "features"])
def test_f_in_training_is_f_in_prediction(basis, pairs, rng):
    X, Y = pairs
    model = resolve_parameters(DDE(basis=basis, features=70), X, Y)
    problem, state = model.problem(), model.initial_state(rng)
    fakes = rng.standard_normal((1, 40))
    rows = np.arange(40)
    trained = f_values(state.weights, rows, fakes.astype(np.float32), problem, model.recipe)
    expected = model.potential(state).at_pairs(X, fakes.T)
    np.testing.assert_allclose(trained, expected, atol=1e-5)
    shared = model.potential(state).kernel_x(X) @ model.potential(state).potential(fakes.T)
    np.testing.assert_allclose(np.diagonal(shared), expected, atol=1e-12)


def test_products_of_features_are_the_kernel(pairs):
    X, Y = pairs
    model = resolve_parameters(DDE(basis="features", features=40_000), X, Y)
    problem = model.problem()
    rows = np.arange(3)
    values = np.asarray(
        problem.basis(problem.part_at(rows), problem.Y[:, rows], model.recipe), dtype=float
    )
    found = values.T @ values
    for i in range(3):
        for j in range(3):
            assert found[i, j] == pytest.approx(kernel(model, X[i], Y[i], X[j], Y[j]), abs=0.03)


def test_functional_gradients_are_those_of_algorithm_2(pairs, rng):
    X, Y = pairs
    estimator = DDE(basis="functional", dual="kernel", features=12, regularization=0.3)
    model = resolve_parameters(estimator, X, Y)
    model = resolve_parameters(estimator.set_params(dual_weight=0.5), X, Y)
    rows = rng.integers(0, 40, 12)
    fakes, priors = rng.standard_normal((2, 1, 12)).astype(np.float32)
    expansion = functional_gradients(model.problem(), rows, fakes, priors, model.recipe)
    f, nu = [], []  # (weight, x, y)

    def value(terms, x, y):
        return sum(w * kernel(model, x, y, a, b) for w, a, b in terms)

    for k, row in enumerate(rows):
        step, x = 1.0 / np.sqrt(k + 1.0), X[row]
        f = [((1.0 - 0.3 * step) * w, a, b) for w, a, b in f]
        f += [(step, x, Y[row]), (-step, x, fakes[:, k])]
        growth = np.exp(value(nu, x, priors[:, k]))
        nu += [(0.5 * step, x, fakes[:, k]), (-0.5 * step * growth, x, priors[:, k])]
    points, heights = X[:5], rng.standard_normal((5, 1))
    scaled = (
        (points / (np.sqrt(2) * model.bandwidth_x)).T.astype(np.float32),
        (heights / (np.sqrt(2) * model.bandwidth_y)).T.astype(np.float32),
    )
    expected_f = [value(f, *pair) for pair in zip(points, heights, strict=True)]
    expected_nu = [value(nu, *pair) for pair in zip(points, heights, strict=True)]
    np.testing.assert_allclose(expansion.f(*scaled), expected_f, atol=1e-4)
    np.testing.assert_allclose(expansion.nu(*scaled), expected_nu, atol=1e-4)


@pytest.mark.nightly
def test_the_held_out_loss_is_that_of_the_density(pairs):
    X, Y = pairs
    model = DDE(iterations=20, validation=0, density_weight=0.7).fit(X, Y)
    held_out = model.model_.held_out(X[:9], Y[:9], 0.7)
    assert isinstance(held_out, HeldOut)
    assert held_out.loss(model.coef_) == pytest.approx(-model.score(X[:9], Y[:9]), abs=1e-6)


@pytest.mark.nightly
def test_the_objective_is_equation_18(pairs, rng):
    X, Y = pairs
    model = resolve_parameters(DDE(dual="kernel", regularization=0.1, dual_weight=0.5), X, Y)
    state = model.initial_state(rng)
    weights = rng.standard_normal(40).astype(np.float32)
    dual = 0.1 * np.abs(rng.standard_normal(40)).astype(np.float32)
    state = start(weights, state.sampler, dual, model.recipe)
    batch = _Batch.of([Task(model.problem(), state, seed, 1) for seed in range(400)])
    found = np.asarray(diagnose(batch.states, batch.seeds, batch.problems, model.recipe).objective)
    f, nu = model.potential(state), model.dual(state)
    gram = GaussianKernel(model.bandwidth_x)(X, X) * GaussianKernel(model.bandwidth_y)(Y, Y)
    many = np.repeat(np.arange(40), 500)
    draws = model.sampler(state)(X[many].T, rng.standard_normal((64, len(many)))).T
    prior = model.base.sample(len(many), rng)
    terms = [
        f.at_pairs(X, Y).mean() - f.at_pairs(X[many], draws).mean(),
        -0.05 * f.weights @ gram @ f.weights,
        0.5 * nu(X[many], draws).mean(),
        0.5 * (1.0 - np.exp(nu(X[many], prior)).mean()),
    ]
    error = found.std() / np.sqrt(len(found))
    assert min(np.abs(terms)) > 10.0 * error
    assert found.mean() == pytest.approx(sum(terms), abs=4.0 * error)


@pytest.mark.nightly
def test_an_iteration_is_one_update_of_f_five_of_g_and_fifteen_of_nu(pairs, rng, monkeypatch):
    traced = []

    def counted(*arguments):
        traced.append(1)
        return update_dual(*arguments)

    update_dual = training._update_dual
    monkeypatch.setattr(training, "_update_dual", counted)
    # A batch size of its own: the program is not one compiled before.
    model = resolve_parameters(DDE(batch_size=7), *pairs)
    batch = _Batch.of([Task(model.problem(), model.initial_state(rng), 3, 1)])
    before = jax.tree.leaves(batch.states.dual)
    batch.advance(0, 4, model.recipe)
    (_, (f_adam, _)), (g_adam, _), _ = batch.states.optimisers
    assert int(f_adam.count[0]) == 4
    assert int(g_adam.count[0]) == 5 * 4
    assert len(traced) == 3  # for each update of g
    after = jax.tree.leaves(batch.states.dual)
    assert any((a != b).any() for a, b in zip(before, after, strict=True))


def test_gradients_of_f_and_nu_are_no_longer_than_5(pairs):
    recipe = resolve_parameters(DDE(), *pairs).recipe
    direction = jnp.array([0.6, 0.8])

    def after(optimiser, second):
        """The change by a gradient that follows one of length 1."""
        first = optimiser.update(direction, optimiser.init(direction))[1]
        return np.asarray(optimiser.update(second * direction, first)[0])

    f, g, nu = optimisers(recipe)
    for optimiser in (f, nu):
        np.testing.assert_allclose(after(optimiser, 50.0), after(optimiser, 5.0), rtol=1e-6)
        assert (np.abs(after(optimiser, 4.0) / after(optimiser, 5.0) - 1.0) > 1e-3).all()
    assert (np.abs(after(g, 50.0) / after(g, 5.0) - 1.0) > 1e-3).all()


@pytest.mark.parametrize(
    ("objectives", "diverged", "kept"),
    [
        ([0.0, 1.0, np.nan], None, 200),  # a single objective that is not finite
        ([0.0, 1e7, -1e7, 3.0], None, 300),
        ([0.0, 2.0, 1e7, -1e7, np.inf], 400, 300),
    ],
)
def test_a_large_objective_must_last_to_count_as_divergence(objectives, diverged, kept):
    outcome, task = TrainingResult({"f": np.zeros(1)}), Task(None, None, 0, 10_000)
    for k, objective in enumerate(objectives):
        state = {"f": np.full(1, float(k))}
        goes_on = _should_continue(outcome, task, state, (objective, 0.1), 100 * k, 1000, ())
        assert goes_on == (100 * k != diverged)
    assert (outcome.diverged, outcome.iteration) == (diverged, kept)
    assert outcome.state["f"] == kept / 100


def test_what_is_not_finite_ends_a_training_at_once():
    outcome, task = TrainingResult({"f": np.zeros(1)}), Task(None, None, 0, 10_000)
    assert _should_continue(outcome, task, {"f": np.ones(1)}, (0.0, 0.1), 100, 1000, ())
    assert not _should_continue(outcome, task, {"f": np.full(1, np.nan)}, (0.0, 0.1), 200, 1000, ())
    assert (outcome.diverged, outcome.iteration) == (200, 100)
    assert outcome.state["f"] == 1.0


@pytest.mark.nightly
def test_patience_ends_a_training():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, 1))
    model = DDE(
        bandwidth_scale=0.01, iterations=3000, patience=200, learning_rate=1e-2, refit=False
    ).fit(None, Y)
    search = model.validation_history_
    assert search["iteration"][-1] == model.iterations_ + 200 < 3000


def test_noise_is_standard_normal():
    values = np.asarray(normal(jax.random.key(0), (201, 499))).ravel()
    assert stats.kstest(values, "norm").pvalue > 0.01
    assert values.shape == (201 * 499,)
    first, second = values[:50_000], values[50_000:100_000]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02


def test_the_dual_function_is_the_log_ratio_of_densities():
    """Equation 17 for q = N(0.5, 0.6²) against p_0 = N(0, 1), on the authors' network."""
    from kcde.estimators._dde.training import _update_dual

    rng = np.random.default_rng(2)
    Y = rng.standard_normal((100, 1))
    Y = (Y - Y.mean()) / Y.std()
    model = resolve_parameters(DDE(learning_rate=3e-3, regularization=0.0), Y[:, :0], Y)
    problem = jax.tree.map(jnp.asarray, model.problem())
    state, rows = model.initial_state(rng), jnp.arange(100)

    @jax.jit
    def step(state, fakes, priors):
        return _update_dual(state, rows, fakes, priors, problem, model.recipe)

    for _ in range(600):
        draws = rng.standard_normal((2, 1, 100)).astype(np.float32)
        state = step(state, 0.5 + 0.6 * draws[0], draws[1])
    y = np.linspace(-0.5, 1.5, 9)[:, None]
    expected = stats.norm.logpdf(y[:, 0], 0.5, 0.6) - stats.norm.logpdf(y[:, 0])
    np.testing.assert_allclose(model.dual(state)(y[:, :0], y), expected, atol=0.2)
