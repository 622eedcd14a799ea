import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from contracted import some_pairs
from kcde.estimators import NADE
from kcde.estimators._networks import nade as training
from kcde.estimators._networks.nade import SMALLEST_STD, Recipe, Rows, Task
from kcde.estimators._networks.perceptron import Shape, fold_in, pass_of
from kcde.estimators.nade import known
from kcde.seeding import rng_of
from kcde.selection import complement, kfold
from naive import slopes

QUICK = {"hidden_units": 8, "components": 2, "epochs": 8}
RECIPE = Recipe(epochs=6, patience=6, batch_size=100, learning_rate=0.005)


@pytest.fixture(scope="module")
def triples():
    """Sixty rows with one x and three dependent y, of unit scale."""
    rng = np.random.default_rng(1)
    X, noise = rng.standard_normal((60, 1)), rng.standard_normal((3, 60, 1))
    first = 0.8 * X + 0.6 * noise[0]
    return X, np.hstack([first, np.abs(first) - 0.8 + 0.3 * noise[1], noise[2]])


def naive_log_density(network, x, y, order):
    """log Π_i p(y_{o_i} | x, y_{o_<i}) of one point: a loop over the order and the components."""
    (W_1, b_1), (W_2, b_2) = network.hidden
    total, seen = 0.0, []
    for i in order:
        known = np.isin(range(len(y)), seen)
        inputs = np.array([*(y * known), *known, *x] if len(y) > 1 else x)
        second = np.maximum(0.0, W_2 @ np.maximum(0.0, W_1 @ inputs + b_1[:, 0]) + b_2[:, 0])
        logits, means, log_stds = network.weight[:, i] @ second + network.bias[:, i, :, 0]
        log_weights = logits - logsumexp(logits)
        total += logsumexp(log_weights + norm.logpdf(y[i], means, np.exp(log_stds) + SMALLEST_STD))
        seen.append(i)
    return total


def naive_sum(network, X, Y):
    return sum(naive_log_density(network, x, y, range(len(y))) for x, y in zip(X, Y, strict=True))


def test_density_equals_a_naive_loop_over_each_order(triples):
    fitted, X, Y = NADE(**QUICK).fit(*triples), triples[0][:5], triples[1][:5]

    def naive(order):
        return [naive_log_density(fitted.network_, *each, order) for each in zip(X, Y, strict=True)]

    found = fitted.log_density_by_order(X, Y, 4, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    orders = [np.arange(3)] + [rng.permutation(3) for _ in range(3)]
    np.testing.assert_allclose(found, [naive(order) for order in orders], rtol=1e-10)
    sums = fitted.factor_log_density(X, Y).cumsum(axis=1).T
    np.testing.assert_allclose(sums, [naive(range(k)) for k in (1, 2, 3)], rtol=1e-10)
    np.testing.assert_array_equal(fitted.log_density(X, Y), found[0])
    shared = fitted.log_density_at(Y[:2])(X[:2])
    np.testing.assert_allclose(np.diagonal(shared), fitted.log_density(X[:2], Y[:2]), rtol=1e-10)


def some_network(d_x, d_y, rng):
    """Parameters of a network whose outputs matter, and their shape."""
    Y = rng.standard_normal((d_y, 9))
    inputs = d_x + (2 * d_y if d_y > 1 else 0)
    flat = training.initial_parameters(inputs, 4, 3, Y, rng)
    shape = Shape(0, 0, inputs, 4, 3, 9 * d_y)
    return flat + np.float32(0.3) * rng.standard_normal(flat.shape, np.float32), shape


def as_rows(X, Y):
    return Rows(*(np.asarray(part, dtype=np.float32) for part in (X, Y, np.zeros_like(Y))))


def test_observed_sets_are_uniform_in_size_and_within_a_size():
    observed = np.empty((3, 60_000), np.float32)
    training.draw_observed((np.uint32(0), np.uint32(1)), observed)
    names, counts = np.unique(observed.astype(int), axis=1, return_counts=True)
    assert names.shape[1] == 7
    for chosen, count in zip(names.T, counts, strict=True):
        share = (1 / 3, 1 / 9, 1 / 9)[chosen.sum()]
        assert abs(count / 60_000 - share) < 5 * np.sqrt(share * (1 - share) / 60_000)


def test_random_numbers_are_those_of_jax():
    random = pytest.importorskip("jax").random
    key = np.uint32(0), np.uint32(7)
    for n in (3, 1400, 10**6):
        expected = random.randint(random.key(7), (20,), 0, n)
        np.testing.assert_array_equal([training.below(key, i, n) for i in range(20)], expected)
    child = random.key_data(random.fold_in(random.key(7), 5))
    np.testing.assert_array_equal(fold_in(key, 5), child)


@pytest.mark.parametrize("d_y", [1, 3])
def test_gradient_equals_finite_differences_of_the_naive_loop(d_y, rng):
    flat, shape = some_network(2, d_y, rng)
    X, Y = rng.standard_normal((2, 6)), rng.standard_normal((d_y, 6)).astype(np.float32)
    observed = np.zeros((d_y, 6)) if d_y == 1 else np.eye(3)[:, [0, 1, 2, 2, 1, 0]]
    at, gradient = pass_of(shape, 6), np.empty_like(flat)
    at.inputs[:] = known(X, Y, observed)
    training.gradient_at(flat, shape, at, Y, observed.astype(np.float32), gradient)

    def naive_loss(flat):
        """Each set of observed y is the beginning of an order."""
        network, total = training.network_of(flat, shape, d_y), 0.0
        for x, y, seen in zip(X.T, Y.T, observed.T, strict=True):
            first, hidden = list(np.flatnonzero(seen)), np.flatnonzero(seen == 0)
            before = naive_log_density(network, x, y, first)
            each = [naive_log_density(network, x, y, [*first, i]) - before for i in hidden]
            total -= len(y) / len(hidden) * sum(each) / 6
        return total

    along = rng.standard_normal((8, len(flat)))
    found = slopes(lambda t: naive_loss(flat + t @ along), np.zeros(8))
    np.testing.assert_allclose(along @ gradient, found, rtol=2e-3, atol=1e-3)


def trained(networks, rows, held_out, stop, recipe=RECIPE, first=0):
    each = enumerate(zip(networks, rows, held_out, strict=True))
    tasks = [Task(*network, first + i, *own) for i, (network, *own) in each]
    return training.train(tasks, stop, recipe)


@pytest.mark.nightly
def test_best_epoch_is_that_of_the_pooled_likelihood(rng):
    """Against training anew for every number of epochs, and scoring with the naive loop."""
    networks = [some_network(1, 1, rng) for _ in range(8)]
    X, noise = rng.standard_normal((2, 16, 1, 8))
    parts = [as_rows(x, x + 0.5 * e) for x, e in zip(X, noise, strict=True)]
    rows, held_out, peaks = parts[:8], parts[8:], set()
    for first in range(0, 8, 2):
        two = slice(first, first + 2)
        data, curve = (networks[two], rows[two], held_out[two]), []
        for epochs in range(1, RECIPE.epochs + 1):
            stopped = trained(*data, epochs, first=first).parameters
            exact = [training.network_of(flat, networks[0][1], 1) for flat in stopped]
            pairs = zip(exact, data[2], strict=True)
            curve.append(sum(naive_sum(own, part.X.T, part.Y.T) for own, part in pairs) / 16)
        result = trained(*data, 0, first=first)
        assert result.score == pytest.approx(max(curve), rel=1e-3)
        assert result.epochs == np.argmax(curve) + 1
        hurried = trained(*data, 0, replace(RECIPE, patience=1), first)
        peak = 1 + next(e for e in range(6) if e == 5 or curve[e + 1] <= curve[e])
        assert hurried.epochs == peak
        peaks.add(peak)
    assert len(peaks) > 1


@pytest.mark.nightly
def test_selection_equals_training_every_fold_by_hand(rng):
    X, Y = some_pairs(rng, 23, 1, 0.3)
    model = NADE(hidden_units=3, epochs=6, random_state=5).fit(X, Y)
    scores = model.cv_results_["score"]
    assert model.components_ == model.cv_results_["components"][scores.argmax()]
    declared = Recipe(epochs=6, patience=20, batch_size=100, learning_rate=0.02)
    total = 0.0
    for fold, held_out in enumerate(kfold(23, 5, rng_of("selection", 5))):
        rows = complement(held_out, 23)
        rng = rng_of("network", 5, 3, model.components_, fold)
        flat = training.initial_parameters(1, 3, model.components_, Y[rows].T, rng)
        shape = Shape(0, 0, 1, 3, 3, 3 * model.components_)
        columns = as_rows(X[rows].T, Y[rows].T)
        stopped = trained([(flat, shape)], [columns], [columns], model.epochs_, declared)
        exact = training.network_of(stopped.parameters[0], shape, 1)
        total += naive_sum(exact, X[held_out], Y[held_out])
    assert scores.max() == pytest.approx(total / 23, rel=1e-3)


@pytest.mark.parametrize("d_y", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_all_units_and_components_are_compared(triples, d_y):
    model = NADE(epochs=2).fit(triples[0], triples[1][:, :d_y])
    scores = model.cv_results_["score"]
    assert np.isfinite(scores).all()
    i, j = np.unravel_index(scores.argmax(), (3, 4))
    assert (model.hidden_units_, model.components_) == ((2, 10, 100)[i], (1, 2, 5, 10)[j])
    assert model.network_.weight.shape == (3, d_y, model.components_, model.hidden_units_)


def test_the_network_kept_is_the_best_for_the_rows_held_out(pairs):
    X, Y = pairs
    model = NADE(**QUICK, random_state=1).fit(X, Y)
    held_out = rng_of("selection", 1).permutation(30)[:3]
    score = model.cv_results_["score"].item()
    assert model.score(X[held_out], Y[held_out]) == pytest.approx(score, rel=1e-5)


def test_without_early_stopping_all_rows_and_updates_count(triples):
    """Each of the first rows has changed the network, which a tenth held out would not."""
    X, Y = triples
    model = NADE(3, 2, epochs=3, batch_size=60, early_stopping=False).fit(X, Y)
    assert model.epochs_ == 3
    for row in range(0, 60, 7):
        other = clone(model).fit(X, Y + 3.0 * (np.arange(60) == row)[:, None])
        assert not np.allclose(other.log_density(X, Y), model.log_density(X, Y)), row


@pytest.mark.nightly
def test_several_numbers_of_epochs_are_as_one_by_one(triples):
    """At larger rates an update amplifies the rounding of the one before."""
    X, Y = triples
    for seed in range(4):
        model = NADE(8, 2, epochs=[4, 40], learning_rate=0.005, random_state=seed).fit(X, Y)
        own = [clone(model).set_params(epochs=epochs).fit(X, Y) for epochs in (4, 40)]
        scores = [each.cv_results_["score"].item() for each in own]
        np.testing.assert_allclose(model.cv_results_["score"], [[scores]], rtol=1e-3)
        best = own[int(np.argmax(scores))]
        assert model.epochs_ == best.epochs_
        np.testing.assert_allclose(model.log_density(X, Y), best.log_density(X, Y), atol=0.02)


def test_a_training_that_diverges_is_an_error(pairs):
    X, Y = pairs
    with pytest.raises(FloatingPointError, match="diverged"):
        NADE(**QUICK, learning_rate=1e30).fit(X, Y)
    with pytest.raises(ValueError, match="no candidate has a finite"):
        NADE(hidden_units=2, epochs=2, learning_rate=1e30).fit(X, Y)


@pytest.mark.nightly
def test_a_job_that_compiles_writes_what_one_that_loads_does(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": f"{tmp_path / 'programs'}"}
    command = [sys.executable, "-m", "kcde", "run", "joint", "grid-60", "NADE", "--scale", "smoke"]
    files = [tmp_path / "compiles.csv", tmp_path / "loads.csv"]
    for path in files:
        subprocess.run([*command, "-o", path], env=environment, check=True)
    one, other = (pd.read_csv(path)["value"].tolist() for path in files)
    assert one == other
