"""The network of NADE, its training as one compiled loop over an epoch, and its selection.

The network maps the observed variables to a Gaussian mixture for each y. Points are columns here,
so that the long axis is the fast one. Training is in float32 by numba; prediction is in float64 on
numpy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import uint32

from kcde.estimators._networks import perceptron as net
from kcde.seeding import rng_of, seed_of
from kcde.selection import best_index, complement

SMALLEST_STD = 1e-3
"""Added to every standard deviation: y that repeats itself would make the likelihood unbounded."""

UPDATES = 25
"""Updates per epoch, after each of which the held-out score is evaluated."""

_LARGEST_LOG_STD = 10.0
_OUTPUT_STD = 0.01
_HELD_OUT_AT_ONCE = 128
_0, _1, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_SMALLEST, _LARGEST_LOG = np.float32(SMALLEST_STD), np.float32(_LARGEST_LOG_STD)
_LOWEST, _LOG_2PI = np.float32(-np.inf), np.float32(np.log(2.0 * np.pi))
_MOMENTUM = np.float32(0.9)


@dataclass(frozen=True)
class Network:
    """Two layers of rectified linear units and one mixture of K Gaussians for each dimension of y.

    Weights and biases of the layers have shapes (H, d_in), (H, 1) and (H, H), (H, 1), those of the
    outputs (3, d_y, K, H) and (3, d_y, K, 1): along the first axis logits of the weights, means,
    logarithms of the standard deviations.
    """

    hidden: tuple
    weight: object
    bias: object

    def mixtures(self, inputs, dimensions: slice = slice(None)):
        """Return logits, means, standard deviations of some dimensions of y, shape (d, K, n) each.

        Inputs, shape (d_in, n), are from `known`.
        """
        values = inputs
        for weight, bias in self.hidden:
            values = np.maximum(weight @ values + bias, 0.0)
        weight, bias = self.weight[:, dimensions], self.bias[:, dimensions]
        flat = weight.reshape(-1, weight.shape[-1]) @ values
        logits, means, log_std = flat.reshape(*weight.shape[:-1], -1) + bias
        return logits, means, np.exp(np.minimum(log_std, _LARGEST_LOG_STD)) + SMALLEST_STD

    def is_finite(self) -> bool:
        """Return whether every number in it is."""
        arrays = [*sum(self.hidden, ()), self.weight, self.bias]
        return all(bool(np.isfinite(array).all()) for array in arrays)


def initial_parameters(
    inputs: int, units: int, components: int, Y: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return the parameters of a network before training, flat, in float32.

    Hidden weights have variance 2 over the number of their inputs, which keeps the scale of
    rectified units from layer to layer; those of the outputs are nearly zero, so that every
    mixture starts with its means spread evenly over the range of y, standard deviations 1 and
    equal weights, as in the code of Uria et al.

    The range of the training rows Y (d_y, n) places the means; `inputs` is d_in.
    """
    lowest, highest = Y.min(axis=1), Y.max(axis=1)
    steps = np.linspace(0.0, 1.0, components) if components > 1 else np.array([0.5])
    bias = np.zeros((3, Y.shape[0], components))
    bias[1] = lowest[:, None] + (highest - lowest)[:, None] * steps
    first, second = (
        np.sqrt(2.0 / max(1, fan)) * rng.standard_normal((units, fan)) for fan in (inputs, units)
    )
    weight = _OUTPUT_STD * rng.standard_normal((3, Y.shape[0], components, units))
    flat = (first.ravel(), np.zeros(2 * units), second.ravel(), weight.ravel(), bias.ravel())
    return np.concatenate(flat).astype(np.float32)


def network_of(flat: np.ndarray, shape: net.Shape, dimensions: int) -> Network:
    """Return the network of flat parameters for some dimensions of y, in float64."""
    parameters = net.parts(np.asarray(flat, dtype=np.float64), shape)
    _, _, _, first, biases, (second,), last, bias = parameters
    mixtures = 3, dimensions, shape.outputs // (3 * dimensions)
    return Network(
        ((first, biases[0, :, None]), (second, biases[1, :, None])),
        last.reshape(*mixtures, shape.hidden),
        bias.reshape(*mixtures, 1),
    )


@dataclass(frozen=True)
class Recipe:
    """Settings of the training.

    Stochastic gradient descent with momentum 0.9, at a rate that falls linearly to 0 over all
    epochs (Uria et al., 2016, and their code); gradients longer than 5 are shortened to 5.

    An epoch has 25 updates; training stops after `patience` epochs without a better held-out
    likelihood. Rows of an update are drawn with replacement, all where there are no more. The
    learning rate is that of the first update.
    """

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float


class Rows(NamedTuple):
    """Rows of data as columns, float32: X (d_x, n), Y (d_y, n).

    Which y are observed, 0 or 1, (d_y, n); training draws its own.
    """

    X: np.ndarray
    Y: np.ndarray
    observed: np.ndarray


@dataclass(frozen=True)
class Task:
    """One network to train: flat parameters and their shape, a seed of 32 bits, and its rows."""

    parameters: np.ndarray
    shape: net.Shape
    seed: int
    rows: Rows
    held_out: Rows


class TrainingResult(NamedTuple):
    """Result of the training of a group.

    Parameters at the best epoch, or at the one asked for; the largest mean held-out log
    density of a row; and after how many epochs it was reached.
    """

    parameters: list[np.ndarray]
    score: float
    epochs: int


@net.compiled
def below(key, i, n):
    """Return the i-th of random whole numbers below n; 32-bit words wrap as in jax."""
    high_key, low_key = net.fold_in(key, 0), net.fold_in(key, 1)
    high, low = net.fold_in(high_key, i), net.fold_in(low_key, i)
    factor = uint32(65536) % uint32(n)
    factor = uint32(factor * factor) % uint32(n)
    high_part = uint32(uint32(uint32(high[0] ^ high[1]) % uint32(n)) * factor)
    return uint32(high_part + uint32(low[0] ^ low[1]) % uint32(n)) % uint32(n)


@net.compiled
def draw_observed(key, observed):
    """Fill with random sets of observed dimensions, 0 or 1, shape (d, n).

    Sizes are uniform on 0 … d - 1, and so are the sets of a size: the variables before a random
    position of a random order.
    """
    dimensions, n = observed.shape
    size_key, order_key = net.fold_in(key, 0), net.fold_in(key, 1)
    place = np.empty((dimensions, n), np.uint32)
    for i in range(dimensions):
        for j in range(n):
            a, b = net.fold_in(order_key, i * n + j)
            place[i, j] = uint32(a ^ b) >> uint32(9)
    for j in range(n):
        size = below(size_key, j, dimensions)
        for i in range(dimensions):
            rank = 0
            for k in range(dimensions):
                rank += place[k, j] < place[i, j]
            observed[i, j] = _1 if rank < size else _0


@net.compiled
def _fill(at, rows, columns, Y, observed):
    """Take columns of rows: their y, and the inputs that `kcde.estimators.nade.known` makes."""
    d_y = len(Y)
    before = 2 * d_y if d_y > 1 else 0
    Y[:], at.inputs[before:] = rows.Y[:, columns], rows.X[:, columns]
    if before:
        at.inputs[:d_y], at.inputs[d_y:before] = Y * observed, observed


@net.compiled
def orderless_log_density(at, Y, observed, learns):
    """Return unbiased estimates of the log density, averaged over orders, summed over columns.

    D/(D - d) Σ_{i not observed} log p(y_i | x, y_observed), with d of the D dimensions of y
    observed (Uria et al., 2016, on orderless and deep NADE). If it learns, not that but 0, and the
    gradient of minus the mean in the outputs.
    """
    (d_y, n), out, d_out = Y.shape, at.outputs, at.d_outputs
    K = len(out) // (3 * d_y)
    total, share = 0.0, np.zeros(n, np.float32)
    inverse, weight = np.empty((K, n), np.float32), np.empty((K, n), np.float32)
    top, top_logit, mixed, whole = np.empty((4, n), np.float32)
    for i in range(d_y):
        share += _1 - observed[i]
    share[:] = np.float32(d_y) / share
    for i in range(d_y):
        top[:], top_logit[:], mixed[:], whole[:] = _LOWEST, _LOWEST, _0, _0
        for k in range(K):
            a, b, c = i * K + k, (d_y + i) * K + k, (2 * d_y + i) * K + k
            for j in range(n):
                log_std = out[c, j]
                std = net.exp(_LARGEST_LOG if log_std > _LARGEST_LOG else log_std)
                slope = _0 if log_std > _LARGEST_LOG else std
                over = _1 / (std + _SMALLEST)
                z = (Y[i, j] - out[b, j]) * over
                term = out[a, j] - _HALF * z * z
                inverse[k, j] = over
                d_out[a, j], d_out[b, j] = term, z * over
                d_out[c, j] = (z * z - _1) * slope * over
                top[j] = term if term > top[j] or term != term else top[j]
                top_logit[j] = max(top_logit[j], out[a, j])
        for k in range(K):
            a = i * K + k
            for j in range(n):
                # No logarithm of the standard deviation: it is far from the limits of float32.
                d_out[a, j] = net.exp(d_out[a, j] - top[j]) * inverse[k, j]
                mixed[j] += d_out[a, j]
                weight[k, j] = net.exp(out[a, j] - top_logit[j])
                whole[j] += weight[k, j]
        if not learns:
            for j in range(n):
                if observed[i, j] == _0:
                    log_density = top[j] - top_logit[j] + np.log(mixed[j] / whole[j])
                    total += share[j] * (log_density - _HALF * _LOG_2PI)
            continue
        top[:] = (_1 - observed[i]) * share / np.float32(n)
        mixed[:], whole[:] = top / mixed, top / whole
        for k in range(K):
            a, b, c = i * K + k, (d_y + i) * K + k, (2 * d_y + i) * K + k
            for j in range(n):
                part = d_out[a, j] * mixed[j]
                d_out[a, j] = weight[k, j] * whole[j] - part
                d_out[b, j] *= -part
                d_out[c, j] *= -part
    return total


@net.compiled
def gradient_at(flat, shape, at, Y, observed, gradient):
    """Compute the gradient of minus the mean log density."""
    own = net.compiled_parts(flat, shape)
    net.forward(own, at)
    orderless_log_density(at, Y, observed, True)
    _, _, _, _, _, _, last, _ = own
    np.dot(last.T, at.d_outputs, at.d_hidden[1])
    net.backward(own, net.compiled_parts(gradient, shape), at, True)


@net.compiled
def _advance(flat, trace, shape, rows, seed, size, rate, first, updates):
    """Make the updates of an epoch; the parameters and the trace of gradients change in place.

    Columns of an update are drawn with replacement if it has a size, or are all.
    """
    d_y, n = rows.Y.shape
    columns = np.arange(size if size else n)
    at, gradient = net.pass_of(shape, len(columns)), np.empty_like(flat)
    Y, observed = np.empty((2, d_y, len(columns)), np.float32)
    observed[:] = _0
    for update in range(first, first + UPDATES):
        key = net.fold_in((uint32(0), uint32(seed)), update)
        draw_key = net.fold_in(key, 0)
        for j in range(size):
            columns[j] = below(draw_key, j, n)
        if d_y > 1:
            draw_observed(net.fold_in(key, 1), observed)
        _fill(at, rows, columns, Y, observed)
        gradient_at(flat, shape, at, Y, observed, gradient)
        net.clip(gradient)
        step = np.float32(rate * (1.0 - update / updates))
        for i in range(len(flat)):
            trace[i] = gradient[i] + _MOMENTUM * trace[i]
            flat[i] -= step * trace[i]


@net.compiled
def held_out_score(flat, shape, rows):
    """Return the log density summed over rows."""
    own, total, (d_y, n) = net.compiled_parts(flat, shape), 0.0, rows.Y.shape
    for start in range(0, n, _HELD_OUT_AT_ONCE):
        columns = np.arange(start, min(n, start + _HELD_OUT_AT_ONCE))
        at, Y = net.pass_of(shape, len(columns)), np.empty((d_y, len(columns)), np.float32)
        observed = np.ascontiguousarray(rows.observed[:, start : start + len(columns)])
        _fill(at, rows, columns, Y, observed)
        net.forward(own, at)
        total += orderless_log_density(at, Y, observed, False)
    return total


def train(tasks: Sequence[Task], stop: int, recipe: Recipe) -> TrainingResult:
    """Train networks that stop together, by the sum of their held-out likelihoods.

    `stop` is the epochs after which to stop; 0: where the held-out likelihood says. An update
    takes rows drawn with replacement, or all where there are no more than that.
    """
    most = max(task.rows.Y.shape[1] for task in tasks)
    size = recipe.batch_size if most > recipe.batch_size else 0
    states = [task.parameters.copy() for task in tasks]
    traces = [np.zeros_like(state) for state in states]
    kept, score, best, epoch = [state.copy() for state in states], -np.inf, 0, 0
    updates, rows = recipe.epochs * UPDATES, sum(task.held_out.Y.shape[1] for task in tasks)
    while epoch < recipe.epochs and (epoch < stop if stop else epoch - best < recipe.patience):
        pooled = 0.0
        for task, state, trace in zip(tasks, states, traces, strict=True):
            drawn = size, float(recipe.learning_rate), epoch * UPDATES, updates
            _advance(state, trace, task.shape, task.rows, np.uint32(task.seed), *drawn)
            pooled += held_out_score(state, task.shape, task.held_out) / rows
        epoch += 1
        better = pooled > score
        if better:
            score, best = pooled, epoch
        if better or stop:
            kept = [state.copy() for state in states]
    return TrainingResult(kept, score, best)


_DIVERGED = "the training of NADE diverged; bring x and y to unit scale or lower learning_rate"
_HELD_OUT_SHARE = 10
_HELD_OUT_SETS = 4
_NO_SCORE = np.array([[np.nan]])  # where nothing is chosen


@dataclass(frozen=True)
class Problem:
    """Data to fit, as columns, with the seed of its random numbers.

    X (d_x, n), Y (d_y, n), what seeds the folds, the initial weights and the batches, and labels:
    the group of each row, whole numbers from 0, (n,). Rows of one are held out together.
    """

    X: np.ndarray
    Y: np.ndarray
    random_state: object
    labels: np.ndarray

    def task(self, units: int, components: int, fold: object, rows, held_out) -> Task:
        """Return a network to train on some rows, with others held out."""
        X, Y, state = self.X, self.Y, self.random_state
        rng = rng_of("network", state, units, components, fold)
        inputs = len(X) + (2 * len(Y) if len(Y) > 1 else 0)
        parameters = initial_parameters(inputs, units, components, Y[:, rows], rng)
        shape = net.Shape(0, 0, inputs, units, 3, 3 * len(Y) * components)
        seed = seed_of("batches", state, fold) % 2**32
        return Task(parameters, shape, seed, self._rows(rows), self._held_out(held_out, fold))

    def _rows(self, rows: np.ndarray) -> Rows:
        X, Y = (np.ascontiguousarray(part[:, rows], np.float32) for part in (self.X, self.Y))
        return Rows(X, Y, np.zeros_like(Y))

    def _held_out(self, held_out: np.ndarray, fold: object) -> Rows:
        """Return the rows held out, each with some sets of observed dimensions, drawn once."""
        d_y = len(self.Y)
        if d_y == 1:
            return self._rows(held_out)
        rows = self._rows(np.tile(held_out, _HELD_OUT_SETS))
        rng = rng_of("held-out", self.random_state, fold)
        rank = np.argsort(rng.random(rows.Y.shape), axis=0)
        observed = rank < rng.integers(0, d_y, rows.Y.shape[1])
        return rows._replace(observed=observed.astype(np.float32))


def fit_chosen(
    problem: Problem, units: Sequence[int], components: Sequence[int], folds: list, recipe: Recipe
) -> tuple:
    """Choose units, components and epochs by cross-validation, and train on all rows.

    Returns, as what follows does, the network with its units, components and epochs, and scores.

    The score of a configuration is its mean held-out log density over all folds, at the
    epoch where it is largest; that number of epochs is then trained on all rows.
    """
    n = problem.Y.shape[1]
    scores = np.empty((len(units), len(components)))
    epochs = np.empty(scores.shape, dtype=int)
    for i, j in np.ndindex(scores.shape):
        tasks = [
            problem.task(units[i], components[j], fold, complement(rows, n), rows)
            for fold, rows in enumerate(folds)
        ]
        trained = train(tasks, 0, recipe)
        scores[i, j], epochs[i, j] = trained.score, trained.epochs
    i, j = best_index(scores)
    return fit_all_rows(problem, units[i], components[j], int(epochs[i, j]), recipe, scores)


def fit_given(
    problem: Problem, units: int, components: int, recipe: Recipe, epochs: Sequence[int]
) -> tuple:
    """Train a network of one shape, and keep it at its largest held-out likelihood.

    A tenth of the rows, or groups, is held out. All epochs are run, as in the code of Uria et al.:
    the gain from the decreasing learning rate comes at the end. Several numbers of epochs are each
    trained in full, from the same network and with the same rows held out.

    Numbers of epochs to choose from are in place of the recipe's.
    """
    n, labels = problem.Y.shape[1], problem.labels
    count = int(labels.max()) + 1
    order = rng_of("selection", problem.random_state).permutation(count)
    held_out = np.flatnonzero(np.isin(labels, order[: max(1, count // _HELD_OUT_SHARE)]))
    task = problem.task(units, components, "given", complement(held_out, n), held_out)
    recipes = [replace(recipe, epochs=each, patience=each) for each in epochs]
    trained = [train([task], 0, each) for each in recipes]
    score = np.array([each.score for each in trained])
    networks = [network_of(each.parameters[0], task.shape, len(problem.Y)) for each in trained]
    # Of those that ended well, with the best score.
    sound = [k for k, each in enumerate(trained) if each.epochs and networks[k].is_finite()]
    if not sound:
        raise FloatingPointError(_DIVERGED)
    best = max(sound, key=score.__getitem__)
    return (networks[best], units, components, trained[best].epochs), score[None, None]


def fit_all_rows(problem, units, components, epochs, recipe, score=_NO_SCORE) -> tuple:
    """Train a network on all rows for a number of epochs, and keep it as it then is."""
    rows = np.arange(problem.Y.shape[1])
    # The held-out rows are not used: any will do.
    task = problem.task(units, components, "all", rows, rows[:1])
    network = network_of(train([task], epochs, recipe).parameters[0], task.shape, len(problem.Y))
    if not network.is_finite():
        raise FloatingPointError(_DIVERGED)
    return (network, units, components, epochs), score
