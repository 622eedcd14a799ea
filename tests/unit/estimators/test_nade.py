import itertools
import os
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kcde.estimators._nade.network import (
    SMALLEST_STD,
    initial_network,
    log_mixture,
    padded,
    width,
)
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from kcde.estimators import NADE
from kcde.estimators._nade.training import (
    Recipe,
    Rows,
    _loss,
    draw_observed,
    orderless_log_density,
    stack,
    to_host,
    train,
    unstack,
)
from kcde.seeding import rng_of
from kcde.selection import complement, kfold

QUICK = {"hidden_units": 8, "components": 2, "epochs": 8}
RECIPE = Recipe(epochs=6, patience=6, batch_size=100, learning_rate=0.005)


@pytest.fixture(scope="module", autouse=True)
def _quick_compiler():
    """What is tested takes longer to compile than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def triples():
    """Sixty rows with one x and three dependent y, of unit scale."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 1))
    first = 0.8 * X + 0.6 * rng.standard_normal((60, 1))
    second = np.abs(first) - 0.8 + 0.3 * rng.standard_normal((60, 1))
    return X, np.hstack([first, second, rng.standard_normal((60, 1))])


@pytest.fixture(scope="module")
def fitted(triples):
    return NADE(**QUICK).fit(*triples)


@pytest.fixture(scope="module")
def curved():
    """A fitted density over the plane, its x, and a grid with the area of a cell."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 1))
    Y = np.hstack([X, X**2]) + 0.5 * rng.standard_normal((50, 2))
    axis = np.linspace(-12, 12, 401)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return NADE(**QUICK, orders=2).fit(X, Y), X[:1], grid, (axis[1] - axis[0]) ** 2


# ---- the density ---------------------------------------------------------------------------------


def naive_log_density(network, x, y, order):
    """log Π_i p(y_{o_i} | x, y_{o_<i}) of one point: a loop over the order and the components."""
    (W_1, b_1), (W_2, b_2) = network.hidden
    total, seen = 0.0, []
    for i in order:
        known = [*(y * np.isin(range(len(y)), seen)), *np.isin(range(len(y)), seen)]
        inputs = np.array([*known, *x] if len(y) > 1 else x)
        first = np.maximum(0.0, W_1 @ inputs + b_1[:, 0])
        second = np.maximum(0.0, W_2 @ first + b_2[:, 0])
        logits, means, log_stds = np.array(
            [
                [
                    w @ second + b[0]
                    for w, b in zip(network.weight[p, i], network.bias[p, i], strict=True)
                ]
                for p in range(3)
            ]
        )
        stds = np.exp(log_stds) + SMALLEST_STD
        log_weights = logits - logsumexp(logits)
        total += logsumexp(log_weights + norm.logpdf(y[i], means, stds))
        seen.append(i)
    return total


def naive_sum(network, X, Y):
    """The log likelihood of points, in the order of the columns."""
    return sum(naive_log_density(network, x, y, range(len(y))) for x, y in zip(X, Y, strict=True))


def test_density_equals_a_naive_loop_over_each_order(fitted, triples):
    X, Y = triples
    found = fitted.log_density_by_order(X[:5], Y[:5], 4, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    orders = [np.arange(3)] + [rng.permutation(3) for _ in range(3)]
    expected = [
        [naive_log_density(fitted.network_, x, y, order) for x, y in zip(X[:5], Y[:5], strict=True)]
        for order in orders
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(fitted.log_density(X[:5], Y[:5]), expected[0], rtol=1e-10)


def test_every_order_and_their_mean_integrate_to_one(curved):
    model, x, grid, cell = curved
    at = np.repeat(x, len(grid), axis=0)
    by_order = np.stack(
        [model._factors(at.T, grid.T, order).sum(axis=0) for order in ([0, 1], [1, 0])]
    )
    assert not np.allclose(by_order[0], by_order[1])
    np.testing.assert_allclose(np.exp(by_order).sum(axis=1) * cell, 1.0, atol=1e-4)
    np.testing.assert_allclose(np.exp(model.log_density(at, grid)).sum() * cell, 1.0, atol=1e-4)


def test_factors_are_conditionals_of_the_first_columns_by_quadrature(curved):
    """Σ of the first factors is the log of what integrating out the later columns leaves."""
    model, x, grid, cell = curved
    at = np.repeat(x, len(grid), axis=0)
    step = cell**0.5
    joint = np.exp(model.factor_log_density(at, grid).sum(axis=1)).reshape(401, 401)
    marginal = joint.sum(axis=1) * step
    first = np.exp(model.factor_log_density(at, grid)[:, 0]).reshape(401, 401)
    np.testing.assert_allclose(first[:, 0], marginal, atol=1e-4)
    assert (first == first[:, :1]).all()
    np.testing.assert_allclose(joint.sum() * cell, 1.0, atol=1e-4)


def test_ensemble_is_the_mean_of_the_densities(fitted, triples):
    X, Y = triples
    model = clone(fitted).set_params(orders=5, random_state=2).fit(X, Y)
    each = model.log_density_by_order(X, Y, 5, rng_of("orders", 2))
    np.testing.assert_allclose(np.exp(model.log_density(X, Y)), np.exp(each).mean(axis=0))
    assert each.std(axis=0).max() > 0


def test_far_away_the_density_is_finite_and_normalised(fitted, pairs):
    model = NADE(**QUICK).fit(*pairs)
    far = np.array([[1e4, -1e4], [-1e4, 1e4]])
    assert np.isfinite(model.log_density(far, np.array([[1e6], [-1e6]]))).all()
    one = model.conditional_expectation(np.ones_like, far)
    np.testing.assert_allclose(one, 1.0, rtol=1e-12)
    assert np.isfinite(fitted.log_density(np.array([[1e5]]), np.full((1, 3), -1e5))).all()


def test_what_is_expected_at_x_does_not_depend_on_other_rows(curved):
    model, X = curved[0], np.array([[0.3], [-1.0], [0.8]])
    np.testing.assert_array_equal(model.mean(X)[1:], model.mean(X[1:]))


def test_samples_have_the_moments_of_the_density(curved, rng):
    model, x, grid, cell = curved
    # A mean over two orders, which differ.
    density = np.exp(model.log_density(np.repeat(x, len(grid), axis=0), grid)) * cell

    def moments(y):
        return np.column_stack([y, y**2, y[:, 0] * y[:, 1]])

    draws = moments(model.sample(x, 20_000, rng)[0])
    expected = density @ moments(grid)
    tolerance = 5 * draws.std(axis=0) / 20_000**0.5
    assert (np.abs(draws.mean(axis=0) - expected) < tolerance).all()
    assert (np.abs(model.conditional_expectation(moments, x)[0] - expected) < tolerance).all()


def test_shared_points_give_the_density_of_pairs(curved):
    model, x, grid, _ = curved
    X = np.vstack([x, x + 1.0])
    shared = model.log_density_at(grid[::40_000])(X)
    for row, values in zip(X, shared, strict=True):
        pairs = np.repeat(row[None], len(values), axis=0)
        np.testing.assert_allclose(values, model.log_density(pairs, grid[::40_000]), rtol=1e-10)


def test_a_joint_density_needs_no_x(triples):
    _, Y = triples
    model = NADE(**QUICK).fit(None, Y)
    assert model.sample(Y[:1, :0], 7, np.random.default_rng(0)).shape == (1, 7, 3)
    np.testing.assert_array_equal(model.log_density(None, Y), model.log_density(Y[:, :0], Y))


# ---- the objective -------------------------------------------------------------------------------


def some_network(d_x, d_y, rng, units=4, components=3):
    """A network whose outputs matter, in float32."""
    Y = rng.standard_normal((d_y, 9))
    network = initial_network(width(np.empty((d_x, 9)), Y), units, components, Y, rng)
    return jax.tree.map(
        lambda array: array + np.float32(0.3) * rng.standard_normal(array.shape, np.float32),
        network,
    )


def as_rows(X, Y, observed=None, weight=None):
    observed = np.zeros_like(Y) if observed is None else observed
    weight = np.ones(Y.shape[1]) if weight is None else weight
    parts = (X, Y, observed, weight)
    return Rows(*(np.asarray(part, dtype=np.float32) for part in parts))


def test_objective_is_the_mean_over_all_orders(rng):
    """Sizes uniform, sets uniform given the size, each with its share: all orders, once each."""
    network = some_network(1, 3, rng)
    X, Y = rng.standard_normal((1, 5)), rng.standard_normal((3, 5))
    exact = jax.tree.map(lambda array: array.astype(np.float64), network)
    over_orders = np.mean(
        [
            [naive_log_density(exact, x, y, order) for x, y in zip(X.T, Y.T, strict=True)]
            for order in itertools.permutations(range(3))
        ],
        axis=0,
    )
    by_size = []
    for size in range(3):
        sets = [np.isin(np.arange(3), chosen) for chosen in itertools.combinations(range(3), size)]
        columns = [np.repeat(chosen[:, None], 5, axis=1).astype(np.float32) for chosen in sets]
        each = [orderless_log_density(network, as_rows(X, Y), observed) for observed in columns]
        by_size.append(np.mean(each, axis=0))
    np.testing.assert_allclose(np.mean(by_size, axis=0), over_orders, rtol=1e-4)


def test_observed_sets_are_uniform_in_size_and_within_a_size():
    n = 60_000
    observed = np.asarray(draw_observed(jax.random.key(1), 3, n)).astype(int)
    names, counts = np.unique(observed, axis=1, return_counts=True)
    expected = {0: 1 / 3, 1: 1 / 9, 2: 1 / 9}
    assert names.shape[1] == 7
    for chosen, count in zip(names.T, counts, strict=True):
        share = expected[chosen.sum()]
        assert abs(count / n - share) < 5 * np.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("d_y", [1, 3])
def test_gradient_equals_finite_differences_of_the_naive_loop(d_y, rng):
    network = some_network(2, d_y, rng)
    X, Y = rng.standard_normal((2, 6)), rng.standard_normal((d_y, 6))
    observed = np.zeros((d_y, 6)) if d_y == 1 else np.eye(3)[:, [0, 1, 2, 2, 1, 0]]
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    rows = jax.tree.map(jnp.asarray, as_rows(X, Y, observed, weight))
    gradient = jax.jit(jax.grad(_loss))(network, rows, rows.observed)
    leaves, shape = jax.tree.flatten(network)
    for place, leaf in enumerate(leaves):
        for index in list(np.ndindex(leaf.shape))[:: max(1, leaf.size // 6)]:
            values = []
            for step in (1e-6, -1e-6):
                moved = [array.astype(np.float64) for array in leaves]
                moved[place][index] += step
                values.append(naive_loss(jax.tree.unflatten(shape, moved), X, Y, observed, 4))
            expected = (values[0] - values[1]) / 2e-6
            found = jax.tree.leaves(gradient)[place][index]
            assert found == pytest.approx(expected, rel=2e-3, abs=2e-4)


def naive_loss(network, X, Y, observed, count):
    """The loss of the first columns, each set of observed y as the beginning of an order."""
    total = 0.0
    for x, y, seen in list(zip(X.T, Y.T, observed.T, strict=True))[:count]:
        known_first = list(np.flatnonzero(seen))
        hidden = list(np.flatnonzero(seen == 0))
        before = naive_log_density(network, x, y, known_first)
        each = [naive_log_density(network, x, y, [*known_first, i]) - before for i in hidden]
        total -= len(y) / len(hidden) * sum(each)
    return total / count


def test_mixture_equals_scipy(rng):
    logits, means = rng.standard_normal((2, 2, 3, 5))
    stds, Y = rng.random((2, 3, 5)) + 0.1, rng.standard_normal((2, 5))
    found = log_mixture((logits, means, stds), Y, lambda values, axis: logsumexp(values, axis))
    terms = np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))
    expected = logsumexp(terms + norm.logpdf(Y[:, None], means, stds), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---- training ------------------------------------------------------------------------------------


def trained(networks, rows, held_out, stop, pool=1, recipe=RECIPE):
    seeds = np.arange(len(networks), dtype=np.uint32)
    stop = np.full(len(networks), stop, dtype=np.int32)
    return to_host(train(stack(networks), seeds, stack(rows), stack(held_out), stop, pool, recipe))


@pytest.mark.nightly
def test_padding_changes_nothing(rng):
    network = some_network(1, 1, rng)
    X, Y = rng.standard_normal((2, 1, 20))
    rows = as_rows(X, Y)
    small = trained([network], [rows], [rows], 2)
    wider = as_rows(np.vstack([X, np.zeros((2, 20))]), Y).padded(31)
    large = trained([padded(network, 3, 9, 5)], [wider], [wider], 2)
    expected = unstack(small.networks, 0)
    found = unstack(large.networks, 0).unpadded(1, 4, 3)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)
    assert not np.allclose(expected.weight, network.weight, atol=1e-2)
    outside = unstack(large.networks, 0)
    assert (outside.hidden[0][0][4:] == 0).all()
    assert (outside.weight[:, :, 3:] == 0).all()


def test_batches_take_no_padding(rng):
    """Batches are drawn from 3 real rows among 50: those that count are fitted alone."""
    rows = as_rows(np.zeros((1, 3)), np.array([[-0.1, 0.0, 0.1]])).padded(50)
    poisoned = Rows(rows.X, np.where(rows.weight, rows.Y, 50.0), rows.observed, rows.weight)
    recipe = Recipe(epochs=20, patience=20, batch_size=10, learning_rate=0.02)
    network = some_network(1, 1, rng)
    found = unstack(trained([network], [poisoned], [rows], 20, recipe=recipe).networks, 0)
    logits, means, _ = found.mixtures(np.zeros((1, 1)))
    weights = np.exp(logits - logsumexp(logits, axis=1))
    assert abs((weights * means).sum()) < 0.1


@pytest.mark.nightly
def test_best_epoch_is_that_of_the_pooled_likelihood(rng):
    """Against training anew for every number of epochs, and scoring with the naive loop."""
    networks = [some_network(1, 1, rng) for _ in range(8)]
    X, noise = rng.standard_normal((2, 16, 1, 8))
    parts = [as_rows(x, x + 0.5 * e) for x, e in zip(X, noise, strict=True)]
    rows, held_out = parts[:8], parts[8:]
    curve = []
    for epochs in range(1, RECIPE.epochs + 1):
        stopped = trained(networks, rows, held_out, epochs).networks
        exact = [unstack(stopped, i).unpadded(1, 4, 3) for i in range(8)]
        pairs = zip(exact, held_out, strict=True)
        curve.append([naive_sum(network, part.X.T, part.Y.T) for network, part in pairs])
    pooled = np.array(curve).reshape(-1, 4, 2).sum(axis=2)
    result = trained(networks, rows, held_out, 0, pool=2)
    np.testing.assert_allclose(result.score, pooled.max(axis=0), rtol=1e-3)
    np.testing.assert_array_equal(result.epochs, pooled.argmax(axis=0) + 1)

    hurried = trained(networks, rows, held_out, 0, pool=2, recipe=replace(RECIPE, patience=1))
    first_peak = [1 + next(e for e in range(6) if e == 5 or c[e + 1] <= c[e]) for c in pooled.T]
    np.testing.assert_array_equal(hurried.epochs, first_peak)
    assert (hurried.epochs < result.epochs).any()


@pytest.mark.nightly
@pytest.mark.parametrize(("n", "batch_size"), [(8, 100), (8, 5)])
def test_a_group_that_stops_makes_room_for_the_next(n, batch_size, rng):
    """Groups that stop at different epochs, two at a time, are as each alone."""
    recipe = Recipe(epochs=6, patience=1, batch_size=batch_size, learning_rate=0.005)
    networks = [some_network(1, 2, rng) for _ in range(10)]
    X = rng.standard_normal((10, 1, n))
    rows = [as_rows(x, np.vstack([x, -x]) + rng.standard_normal((2, n))) for x in X]
    held_out = rows[:4] + rows[:6]
    data = np.arange(10, dtype=np.uint32), stack(rows), stack(held_out)
    stop = np.zeros(10, dtype=np.int32)
    together = train(stack(networks), *data, stop, 2, recipe, 4)
    assert len(set(together.epochs.tolist())) > 1
    for group, first in enumerate(range(0, 10, 2)):
        own = slice(first, first + 2)
        alone = train(*unstack((stack(networks), *data, stop), own), 2, recipe)
        assert alone.epochs[0] == together.epochs[group]
        assert alone.score[0] == pytest.approx(together.score[group], rel=1e-4)
        weights = unstack(together.networks, own).weight
        np.testing.assert_allclose(alone.networks.weight, weights, atol=1e-4)


def test_it_learns_a_linear_gaussian(rng):
    def draw(n):
        X = rng.standard_normal((n, 1))
        return X, 0.8 * X + 0.6 * rng.standard_normal((n, 1))

    model = NADE(hidden_units=10, components=2).fit(*draw(400))
    X, Y = draw(2000)
    truth = norm.logpdf(Y, 0.8 * X, 0.6).mean()
    assert truth - 0.05 < model.score(X, Y) < truth + 0.01


# ---- fitting -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_selection_equals_training_every_fold_by_hand(rng):
    X = rng.standard_normal((23, 1))
    Y = np.sin(X) + 0.3 * rng.standard_normal((23, 1))
    model = NADE(hidden_units=3, epochs=6, random_state=5).fit(X, Y)
    scores = model.cv_results_["score"]
    assert scores.shape == (1, 4)
    assert model.components_ == model.cv_results_["components"][scores.argmax()]
    assert 1 <= model.epochs_ <= 6
    declared = Recipe(epochs=6, patience=20, batch_size=100, learning_rate=0.02)
    total, most = 0.0, 19
    for fold, held_out in enumerate(kfold(23, 5, rng_of("selection", 5))):
        rows = complement(held_out, 23)
        names = ("network", 5, 3, model.components_, fold)
        network = initial_network(1, 3, model.components_, Y[rows].T, rng_of(*names))
        columns = as_rows(X[rows].T, Y[rows].T).padded(most)
        stopped = unstack(
            trained([network], [columns], [columns], model.epochs_, recipe=declared).networks, 0
        )
        exact = stopped.unpadded(1, 3, model.components_)
        total += naive_sum(exact, X[held_out], Y[held_out])
    assert scores.max() == pytest.approx(total / 23, rel=1e-3)


def test_all_units_and_components_are_compared(pairs):
    model = NADE(epochs=2).fit(*pairs)
    assert model.cv_results_["score"].shape == (3, 4)
    assert np.isfinite(model.cv_results_["score"]).all()
    i, j = np.unravel_index(model.cv_results_["score"].argmax(), (3, 4))
    assert (model.hidden_units_, model.components_) == ((2, 10, 100)[i], (1, 2, 5, 10)[j])
    assert model.network_.weight.shape == (3, 1, model.components_, model.hidden_units_)
    assert model.network_.weight.dtype == np.float64


@pytest.mark.nightly
def test_with_several_y_all_units_and_components_are_compared_as_well(triples):
    _, Y = triples
    model = NADE(epochs=2).fit(None, Y)
    scores = model.cv_results_["score"]
    assert np.isfinite(scores).all()
    i, j = np.unravel_index(scores.argmax(), (3, 4))
    assert (model.hidden_units_, model.components_) == ((2, 10, 100)[i], (1, 2, 5, 10)[j])
    assert model.network_.weight.shape == (3, 3, model.components_, model.hidden_units_)
    # A configuration scores the same whichever others are compared beside it.
    for units, components, place in ((2, 2, (0, 1)), (10, 5, (1, 2))):
        alone = NADE(units, epochs=2).fit(None, Y).cv_results_["score"]
        assert alone[0, place[1]] == pytest.approx(scores[place], abs=1e-3), components


def test_the_network_kept_is_the_best_for_the_rows_held_out(pairs):
    X, Y = pairs
    model = NADE(**QUICK, random_state=1).fit(X, Y)
    held_out = rng_of("selection", 1).permutation(30)[:3]
    score = model.cv_results_["score"].item()
    assert model.score(X[held_out], Y[held_out]) == pytest.approx(score, rel=1e-5)


def test_without_early_stopping_all_rows_and_updates_count(triples):
    """Each of the first rows has changed the network, which a tenth held out would not."""
    X, Y = triples[0], triples[1]
    options = {"hidden_units": 3, "components": 2, "early_stopping": False, "random_state": 4}
    model = NADE(**options, epochs=3, batch_size=len(Y)).fit(X, Y)
    assert model.epochs_ == 3
    assert np.isnan(model.cv_results_["score"]).all()
    expected = model.log_density(X, Y)
    for row in range(20):
        moved = Y.copy()
        moved[row] += 3.0
        other = NADE(**options, epochs=3, batch_size=len(Y)).fit(X, moved)
        assert not np.allclose(other.log_density(X, Y), expected), row
    for wrong in ({"epochs": [1, 2]}, {"hidden_units": None}, {"components": None}):
        with pytest.raises(ValueError, match="without early_stopping nothing is chosen"):
            NADE(**(options | wrong)).fit(X, Y)


@pytest.mark.nightly
def test_rows_held_out_choose_among_several_numbers_of_epochs(triples):
    """Each model against trainings of its own for every number; not all choose the same."""
    candidates, states = [4, 40], range(6)
    X, Y = triples[0], triples[1]

    def fitted(epochs):
        models = [NADE(8, 2, epochs=epochs, random_state=state) for state in states]
        return NADE.fit_many(models, [X] * 6, [Y] * 6)

    alone = [fitted(epochs) for epochs in candidates]
    chosen = []
    for state, model in enumerate(fitted(candidates)):
        own = [models[state] for models in alone]
        scores = [each.cv_results_["score"].item() for each in own]
        np.testing.assert_allclose(model.cv_results_["score"], [[scores]], rtol=1e-4)
        assert model.cv_results_["epochs"].tolist() == candidates
        chosen.append(int(np.argmax(scores)))
        expected = own[chosen[-1]]
        assert model.epochs_ == expected.epochs_
        np.testing.assert_allclose(model.log_density(X, Y), expected.log_density(X, Y), rtol=1e-3)
    assert set(chosen) == {0, 1}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("parameters", "widths"), [(QUICK, (1, 3)), ({"hidden_units": 3, "epochs": 2}, (1, 1))]
)
def test_many_at_once_are_as_one_by_one(parameters, widths, rng):
    Xs = [rng.standard_normal((30, d_x)) for d_x in widths]
    Ys = [X[:, :1] + rng.standard_normal((30, 1)) for X in Xs]
    # A slow training: at larger rates an update amplifies the rounding of the one before.
    parameters = parameters | {"learning_rate": 0.005}
    models = [NADE(**parameters, random_state=i) for i in range(2)]
    together = NADE.fit_many(models, Xs, Ys)
    assert together[1] is models[1]
    for i, model in enumerate(together):
        alone = NADE(**parameters, random_state=i).fit(Xs[i], Ys[i])
        assert (alone.hidden_units_, alone.components_) == (model.hidden_units_, model.components_)
        expected = alone.log_density(Xs[i], Ys[i])
        np.testing.assert_allclose(model.log_density(Xs[i], Ys[i]), expected, atol=1e-5)


def test_a_fit_that_fails_leaves_the_others_alone(pairs):
    X, Y = pairs
    models = [NADE(**QUICK), NADE(**QUICK, learning_rate=1e30), NADE(**QUICK)]
    Xs, Ys = [X, X, X[1:]], [Y] * 3
    first, second, third = NADE.fit_many(models, Xs, Ys, return_errors=True)
    assert np.isfinite(first.log_density(X, Y)).all()
    assert isinstance(second, FloatingPointError)
    assert "lower learning_rate" in str(second)
    assert "X has 29 rows" in str(third)
    with pytest.raises(FloatingPointError, match="diverged"):
        NADE.fit_many(models, Xs, Ys)
    with pytest.raises(ValueError, match="no candidate has a finite"):
        NADE(hidden_units=2, epochs=2, learning_rate=1e30).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_units": 0}, "hidden_units must be a positive whole number; got 0"),
        ({"components": 1.5}, "components must be a positive whole number"),
        ({"epochs": []}, "epochs must be a positive whole number, or a list of such; got"),
        ({"epochs": [10, 0.5]}, "epochs must be a positive whole number, or a list of such; got"),
        ({"epochs": [10, 20], "components": 2}, "need hidden_units and components"),
        ({"orders": None}, "orders must be"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number"),
        ({"folds": 1}, "at least 2 folds"),
    ],
)
def test_wrong_parameters_are_named(pairs, parameters, message):
    with pytest.raises(ValueError, match=message):
        NADE(**parameters).fit(*pairs)


_COUNT_THREADS = """
import os, sys, kcde, kcde.estimators
kcde.estimators.NADE
assert "jax" not in sys.modules
kcde.estimators.estimator_class("NADE")
import jax
jax.numpy.ones(3).sum().block_until_ready()
names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
print(sum("XLAEigen" in name for name in names))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_xla_takes_as_many_threads_as_other_numerics_and_kcde_alone_does_not_load_it():
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", _COUNT_THREADS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3"]
