"""Training of DDE: a model, its updates as one compiled loop over iterations, and when to stop.

One iteration is one update of f, then five of g, each after three of ν (dde, appendix E); Adam for
f and g, RMSprop for ν, gradients of f and ν no longer than 5, as in the authors' code for the plane
(for the R data it clips those of ν alone). All in float32.
"""

import logging
import time
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numba import uint32, uint64
from scipy.special import erfinv

from kcde.estimators import _dde
from kcde.estimators._networks import perceptron as net
from kcde.kernels import GaussianKernel, as_bandwidths, median_trick
from kcde.memory import require_memory
from kcde.seeding import rng_of

SAMPLER_UPDATES = 5
DUAL_UPDATES = 3


class Recipe(NamedTuple):
    """Settings of the training of f, ν and g.

    f has random features or kernels at points; the base density is uniform on a box or a Gaussian.
    The dual weight, 1/λ of dde, equation 18, is that of the divergence from it in the objective. An
    update takes batch_size rows. The sampler g maps x, embedded, and noise to y; the dual function
    ν maps y, embedded, and x to a number. Without x nothing is embedded.
    """

    features: bool
    uniform: bool
    dual_weight: np.float32
    batch_size: int
    learning_rate: float
    sampler: net.Shape
    dual: net.Shape


class Problem(NamedTuple):
    """Arrays of one problem, float32; an empty one stands for what it does not have.

    Training rows X (d_x, n) and Y (d_y, n), and both over √2 σ, (d_x + d_y, n). `part` is the
    factor of each basis function at each training x, shape (n, m): kernels at the training rows, or
    angles of random features; empty where f is a function of y alone. Anchors are points over
    √2 σ_Y, or frequencies, shape (d_y, m), and phases those of the random features, else 0, (m,).
    `inverse_y` is 1/√2 σ_Y, (d_y,). `gram` is k_X k_Y between the points, (m, m), where f is
    penalised. Centre and spread of the base density are mean and std, or middle and width, (d_y,).
    """

    X: np.ndarray
    Y: np.ndarray
    scaled: np.ndarray
    part: np.ndarray
    anchors: np.ndarray
    phases: np.ndarray
    inverse_y: np.ndarray
    gram: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    penalty: np.float32


class State(NamedTuple):
    """Weights of f, parameters of g and ν (`parts`), and the moments of their gradients."""

    f: np.ndarray
    f_mean: np.ndarray
    f_square: np.ndarray
    g: np.ndarray
    g_mean: np.ndarray
    g_square: np.ndarray
    nu: np.ndarray
    nu_square: np.ndarray


_0, _1, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_UNIT = np.float32(2.0**-23)
_TINY = np.float32(1e-8)  # in the denominators of Adam and RMSprop
_KEPT, _ADDED = np.float32(0.9), np.float32(0.1)  # of the mean, by Adam
_KEPT_SQUARE, _ADDED_SQUARE = np.float32(0.999), np.float32(0.001)
_KEPT_LONGER, _ADDED_LESS = np.float32(0.99), np.float32(0.01)  # by RMSprop, as in PyTorch

NORMAL = (np.sqrt(2.0) * erfinv((np.arange(2**16) + 0.5) * 2.0**-15 - 1.0)).astype(np.float32)
"""The levels of standard normal numbers: two a random word, as they cost as much as g."""


@net.compiled
def normals(key, levels, out):
    """Fill a flat array with standard normal numbers, two a random word."""
    half = (out.size + 1) // 2
    words = np.empty(half, np.uint32)
    for i in range(half):
        a, b = net.fold_in(key, i)
        words[i] = a ^ b
    out[:half] = levels[words & uint32(0xFFFF)]
    out[half:] = levels[words[: out.size - half] >> uint32(16)]


@net.compiled
def draw_base(key, problem, recipe, levels, out):
    """Fill out (d_y, N) with draws of the base density."""
    flat = out.reshape(out.size)
    if recipe.uniform:
        for i in range(out.size):
            a, b = net.fold_in(key, i)
            flat[i] = np.float32((a ^ b) >> uint32(9)) * _UNIT - _HALF
    else:
        normals(key, levels, flat)
    for k in range(len(out)):
        out[k] = problem.centre[k] + problem.spread[k] * out[k]


@net.compiled
def _draw_rows(key, n, size, batches, rows):
    """Begin rows with those of some batches of a size, without repetition in a batch."""
    if size == n:
        rows[: batches * size] = np.arange(batches * size) % n
        return
    # Sorting is expensive: one shuffle, from which every batch takes consecutive rows starting at a
    # random position, cyclically.
    order_key, place_key = net.fold_in(key, 0), net.fold_in(key, 1)
    order, pairs = np.arange(n), np.empty(n, np.uint64)
    # Among many rows two words are the same too often for a single sort.
    for _ in range(int(np.ceil(3.0 * np.log(n) / np.log(2.0**32 - 1.0)))):
        order_key, word_key = net.fold_in(order_key, 0), net.fold_in(order_key, 1)
        for i in range(n):
            a, b = net.fold_in(word_key, i)
            pairs[i] = uint64(uint64(a ^ b) << uint64(32)) | uint64(i)
        pairs.sort()
        order = order[pairs & uint64(0xFFFFFFFF)]
    high_key, low_key = net.fold_in(place_key, 0), net.fold_in(place_key, 1)
    for batch in range(batches):
        high, low = net.fold_in(high_key, batch), net.fold_in(low_key, batch)
        place = ((high[0] ^ high[1]) % n * (2**32 % n) + (low[0] ^ low[1]) % n) % n
        rows[batch * size : (batch + 1) * size] = order[(place + np.arange(size)) % n]


@net.compiled
def _backward(parameters, gradients, at, learns):
    """Compute gradients in the parameters, or if it does not learn, in the inputs."""
    _, _, _, _, _, weights, last, _ = parameters
    above = at.d_hidden[len(weights) % 2]
    for i in range(len(above)):
        above[i] = last[0, i] * at.d_outputs[0]
        for k in range(1, len(last)):
            above[i] += last[k, i] * at.d_outputs[k]
    net.backward(parameters, gradients, at, learns)


@net.compiled
def adam(parameters, gradient, mean, square, rate, count):
    """Make the step of Adam of that number, from 1."""
    step = np.float32(rate / (1.0 - 0.9**count))
    growth = np.float32(1.0 / (1.0 - 0.999**count))
    for i in range(len(parameters)):
        mean[i] = _KEPT * mean[i] + _ADDED * gradient[i]
        square[i] = _KEPT_SQUARE * square[i] + _ADDED_SQUARE * gradient[i] * gradient[i]
        parameters[i] -= step * mean[i] / (np.sqrt(square[i] * growth) + _TINY)


@net.compiled
def rmsprop(parameters, gradient, square, rate):
    """Make a step of RMSprop, as PyTorch has it."""
    for i in range(len(parameters)):
        square[i] = _KEPT_LONGER * square[i] + _ADDED_LESS * gradient[i] * gradient[i]
        parameters[i] -= np.float32(rate) * gradient[i] / (np.sqrt(square[i]) + _TINY)


@net.compiled
def _basis(problem, features, row, Y, column, slope, out):
    """Fill out (m,) with the basis functions at the x of a row and the y of a column of Y.

    With a slope they are the values whose sum with factors gives the derivative in y (`_pull`).
    """
    m = len(out)
    for j in range(m):
        out[j] = problem.phases[j]
    for k in range(len(Y)):
        if features:
            for j in range(m):
                out[j] += problem.anchors[k, j] * Y[k, column]
        else:
            y = problem.inverse_y[k] * Y[k, column]
            for j in range(m):
                # Differences, not a product: float32 would cancel.
                out[j] -= (problem.anchors[k, j] - y) * (problem.anchors[k, j] - y)
    conditional = len(problem.part) > 0
    if features:
        scale = np.float32(np.sqrt(2.0 / m))
        for j in range(m):
            angle = out[j] + problem.part[row, j] if conditional else out[j]
            out[j] = -scale * np.sin(angle) if slope else scale * np.cos(angle)
        return
    for j in range(m):
        out[j] = net.exp(out[j])
    if conditional:
        for j in range(m):
            out[j] *= problem.part[row, j]


@net.compiled
def _pull(problem, features, slopes, y, k, distances):
    """Return the derivative of f in the k-th dimension of y, of slopes times the weights of f."""
    place, factor = _0, _1
    if not features:
        place = problem.inverse_y[k] * y
        factor = np.float32(2.0) * problem.inverse_y[k]
    for j in range(len(slopes)):
        distances[j] = problem.anchors[k, j] - place
    return factor * np.dot(slopes, distances)


@net.compiled
def f_values(weights, problem, features, rows, Y, out):
    """Fill out (N,) with f at the x of some rows (N,) and Y (d_y, N)."""
    values = np.empty(len(weights), np.float32)
    for i in range(len(rows)):
        _basis(problem, features, rows[i], Y, i, False, values)
        out[i] = np.dot(weights, values)


@net.compiled
def mean_kernel(A, B):
    """Return the mean of exp(-|a - b|²) over the columns of A (d, n) and B (d, N)."""
    total, distances = 0.0, np.empty(B.shape[1], np.float32)
    ones = np.ones_like(distances)
    for i in range(A.shape[1]):
        distances[:] = _0
        for k in range(len(A)):
            for j in range(B.shape[1]):
                distances[j] += (A[k, i] - B[k, j]) * (A[k, i] - B[k, j])
        for j in range(B.shape[1]):
            distances[j] = net.exp(-distances[j])
        total += np.dot(distances, ones)
    return total / (A.shape[1] * B.shape[1])


@net.compiled
def penalty_gradient(problem, features, weights):
    """Return the gradient of η/2 ‖f‖² in the weights."""
    if len(problem.gram) and not features:
        return problem.penalty * np.dot(problem.gram, weights)
    return problem.penalty * weights


@net.compiled
def _update_f(state, problem, recipe, rows, sampler, values, gradient, count):
    """Update f from what g draws at the first rows."""
    size = recipe.batch_size
    gradient[:] = _0
    for i in range(size):
        _basis(problem, recipe.features, rows[i], sampler.outputs, i, False, values)
        for j in range(len(values)):
            gradient[j] += values[j]
        _basis(problem, recipe.features, rows[i], problem.Y, rows[i], False, values)
        for j in range(len(values)):
            gradient[j] -= values[j]
    smooth = penalty_gradient(problem, recipe.features, state.f)
    gradient[:] = gradient / np.float32(size) + smooth
    net.clip(gradient)
    adam(state.f, gradient, state.f_mean, state.f_square, recipe.learning_rate, count)


@net.compiled
def _update_dual(state, recipe, dual, nu, gradients, gradient):
    """Update ν from its inputs: at draws of g, then as many of p_0."""
    net.forward(nu, dual)
    size, share = recipe.batch_size, np.float32(1.0 / recipe.batch_size)
    for i in range(size):
        dual.d_outputs[0, i] = -share
        dual.d_outputs[0, size + i] = share * net.exp(dual.outputs[0, size + i])
    _backward(nu, gradients, dual, True)
    net.clip(gradient)
    rmsprop(state.nu, gradient, state.nu_square, recipe.learning_rate)


@net.compiled
def _update_g(state, problem, recipe, rows, start, own, dual, nets, gradients, work, count):
    """Update g by the gradient of w mean ν - mean f at what it draws at rows from `start` on."""
    (g, nu), (d_g, d_nu), (values, distances, gradient) = nets, gradients, work
    size = recipe.batch_size
    dual.d_outputs[0] = recipe.dual_weight / np.float32(size)
    net.forward(nu, dual)
    _backward(nu, d_nu, dual, False)
    for i in range(size):
        _basis(problem, recipe.features, rows[start + i], own.outputs, i, True, values)
        for j in range(len(values)):
            values[j] *= state.f[j]
        for k in range(len(own.outputs)):
            y = own.outputs[k, i]
            pulled = _pull(problem, recipe.features, values, y, k, distances)
            own.d_outputs[k, i] = dual.d_inputs[k, i] - pulled / np.float32(size)
    _backward(g, d_g, own, True)
    adam(state.g, gradient, state.g_mean, state.g_square, recipe.learning_rate, count)


@net.compiled
def advance(state, problem, recipe, levels, seed, first, count):
    """Train for some iterations from the `first` on; the state changes in place.

    O(B m + B H²) time an update, for B rows a batch, m basis functions and H units. `levels` are
    `NORMAL`, the seed has 32 bits.
    """
    size, (d_y, n), d_x = recipe.batch_size, problem.Y.shape, len(problem.X)
    latent, seen = recipe.sampler.plain, DUAL_UPDATES * size
    own, others = net.pass_of(recipe.sampler, size), net.pass_of(recipe.sampler, seen)
    dual, of_own = net.pass_of(recipe.dual, 2 * size), net.pass_of(recipe.dual, size)
    values, f_gradient = np.empty_like(state.f), np.empty_like(state.f)
    g_gradient, nu_gradient = np.empty_like(state.g), np.empty_like(state.nu)
    parts = net.compiled_parts
    g, d_g = parts(state.g, recipe.sampler), parts(g_gradient, recipe.sampler)
    nu, d_nu = parts(state.nu, recipe.dual), parts(nu_gradient, recipe.dual)
    rows, priors = np.empty(seen + size, np.int64), np.empty((d_y, seen), np.float32)
    noise = np.empty((latent, size), np.float32), np.empty((latent, seen + size), np.float32)
    for number in range(first, first + count):
        key = net.fold_in((uint32(0), uint32(seed)), number)
        f_key, g_key = net.fold_in(key, 0), net.fold_in(key, 1)
        for update in range(-1, SAMPLER_UPDATES):
            of_f = update < 0
            before = 0 if of_f else seen
            noise_key, prior_key, batches, drawn = f_key, f_key, 1, noise[0]
            if not of_f:
                noise_key = net.fold_in(net.fold_in(g_key, update), 0)
                prior_key = net.fold_in(net.fold_in(g_key, update), 1)
                batches, drawn = DUAL_UPDATES + 1, noise[1]
            _draw_rows(net.fold_in(noise_key, 0), n, size, batches, rows)
            normals(net.fold_in(noise_key, 1), levels, drawn.reshape(drawn.size))
            own.inputs[d_x:] = drawn[:, before : before + size]
            own.inputs[:d_x] = problem.X[:, rows[before : before + size]]
            net.forward(g, own)
            if of_f:
                _update_f(state, problem, recipe, rows, own, values, f_gradient, number + 1)
                continue
            draw_base(prior_key, problem, recipe, levels, priors)
            # g does not change before its own update, so that one product serves all of ν.
            others.inputs[d_x:] = drawn[:, :seen]
            others.inputs[:d_x] = problem.X[:, rows[:seen]]
            net.forward(g, others)
            for batch in range(DUAL_UPDATES):
                start = batch * size
                dual.inputs[:d_y, :size] = others.outputs[:, start : start + size]
                dual.inputs[:d_y, size:] = priors[:, start : start + size]
                dual.inputs[d_y:, :size] = problem.X[:, rows[start : start + size]]
                dual.inputs[d_y:, size:] = dual.inputs[d_y:, :size]
                _update_dual(state, recipe, dual, nu, d_nu, nu_gradient)
            of_own.inputs[:d_y] = own.outputs
            of_own.inputs[d_y:] = problem.X[:, rows[seen:]]
            step = SAMPLER_UPDATES * number + update + 1
            nets, gradients = (g, nu), (d_g, d_nu)
            work = (values, f_gradient, g_gradient)
            _update_g(state, problem, recipe, rows, seen, own, of_own, nets, gradients, work, step)


CHECK = 100
"""Iterations between two evaluations of a training."""

_DRAWS = 1000
_LARGEST_OBJECTIVE = 1e6
_IN_A_ROW = 3  # checks above it: in many dimensions exp ν may be so large for a while at the start

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Perceptron:
    """g or ν: rectified units in all layers but the last, and a linear map of some inputs before.

    g maps x and standard normal ξ to y (dde, section 4), ν maps y and x to an estimate of
    log q(y|x)/p_0(y) (equation 17); the shapes are those of the authors' code.
    """

    flat: np.ndarray
    shape: net.Shape

    def __call__(self, *inputs):
        """Return the outputs (d_out, n) at inputs (d, n)."""
        parameters = net.parts(self.flat, self.shape)
        embedding, shift, mixed, first, biases, weights, last, bias = parameters
        embedded, plain = np.split(np.concatenate(inputs), [self.shape.embedded])
        values = mixed @ (embedding @ embedded + shift[:, None]) + first @ plain
        values = np.maximum(values + biases[0][:, None], 0.0)
        for weight, shift in zip(weights, biases[1:], strict=True):
            values = np.maximum(weight @ values + shift[:, None], 0.0)
        return last @ values + bias[:, None]


def initial_parameters(
    shape: net.Shape, embedded_first: bool, rng: np.random.Generator
) -> np.ndarray:
    """Return the parameters of a perceptron before training, float32.

    Weights uniform within √(6/(fan_in + fan_out)) (Glorot and Bengio), and biases 0. In the first
    layer, as the authors' code has it, the embedded inputs come before the plain ones, or after.
    """
    embedded, width, plain, hidden, layers, outputs = shape
    size = width * (embedded + 1) + hidden * (width + plain + 1)
    size += (layers - 2) * hidden * (hidden + 1) + outputs * (hidden + 1)
    flat = np.zeros(size, np.float32)
    embedding, _, mixed, first, _, weights, last, _ = net.parts(flat, shape)

    def drawn(fan_out: int, fan_in: int) -> np.ndarray:
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        return rng.uniform(-limit, limit, (fan_out, fan_in))

    if embedded:
        embedding[:] = drawn(width, embedded)
    both = drawn(hidden, width + plain)
    mixed[:], first[:] = (
        np.hsplit(both, [width]) if embedded_first else np.hsplit(both, [plain])[::-1]
    )
    for weight in weights:
        weight[:] = drawn(hidden, hidden)
    last[:] = drawn(outputs, hidden)
    return flat


def diagnose(state: State, seed: int, problem: Problem, recipe: Recipe) -> tuple[float, float]:
    """Return objective and distance of g from the data.

    The objective is ℓ̃(f, ν, g) of dde, equation 18, plus 1/λ: E_D f - E_g f - η/2 ‖f‖² + (E_g ν -
    E_p0 exp ν + 1)/λ, at training x and one set of draws. The distance is the biased MMD² between
    training pairs and draws of g at training x, with the kernel of f. O(1000 (m + H²)) time, for m
    basis functions and H units.
    """
    n = problem.Y.shape[1]
    # Each x once; without x a thousand draws or fewer.
    times = 1 if len(problem.X) else max(1, _DRAWS // n)
    rows = np.tile(np.arange(min(n, _DRAWS)), times)
    count = len(rows)
    key = np.uint32(0), np.uint32(seed)
    noise = np.empty((recipe.sampler.plain, count), np.float32)
    priors = np.empty((len(problem.Y), count), np.float32)
    normals(key, NORMAL, noise.reshape(-1))
    draw_base(net.fold_in(key, 1), problem, recipe, NORMAL, priors)
    X, drawn = np.take(problem.X, rows, axis=1), np.take(problem.scaled, rows, axis=1)
    fakes = Perceptron(state.g, recipe.sampler)(X, noise)
    at_data, at_fakes = np.empty((2, count), np.float32)
    for Y, values in ((np.take(problem.Y, rows, axis=1), at_data), (fakes, at_fakes)):
        f_values(state.f, problem, recipe.features, rows, Y, values)
    dual = Perceptron(state.nu, recipe.dual)
    with np.errstate(over="ignore", invalid="ignore"):
        divergence = np.mean(dual(fakes, X)) - np.mean(np.exp(dual(priors, X))) + 1.0
    objective = np.mean(at_data) - np.mean(at_fakes) + recipe.dual_weight * divergence
    smooth = penalty_gradient(problem, recipe.features, state.f)
    data = np.ascontiguousarray(problem.scaled[:, :_DRAWS])
    drawn[len(X) :] = problem.inverse_y[:, None] * fakes
    mmd2 = mean_kernel(data, data) + mean_kernel(drawn, drawn)
    mmd2 -= 2.0 * mean_kernel(data, drawn)
    return float(objective - 0.5 * (state.f @ smooth)), float(mmd2)


@dataclass
class Training:
    """When a training stops, and what comes of it.

    It ends after `target` iterations, at most, or `patience` iterations after the best likelihood
    of rows held out, if there are any; states of the iterations `looked_at` are kept.

    The final state and its iteration; rows of (iteration, objective, biased MMD², held-out loss);
    the iteration by which something was not finite, or the objective too large in three checks in
    a row; the smallest held-out loss; and checks in a row, up to the last, at which the objective
    was too large.
    """

    target: int
    patience: int
    looked_at: tuple[int, ...] = ()
    held_out: _dde.HeldOut | None = None
    state: State | None = None
    iteration: int = 0
    history: list = field(default_factory=list)
    snapshots: dict = field(default_factory=dict)
    diverged: int | None = None
    best: float = np.inf
    too_large: int = 0

    def goes_on(self, at: int, state: State, numbers: tuple[float, float]) -> bool:
        """Record the state at an iteration; return whether to continue."""
        finite = all(np.isfinite(each).all() for each in state)
        self.too_large = 0 if abs(numbers[0]) < _LARGEST_OBJECTIVE else self.too_large + 1
        if not finite or self.too_large == _IN_A_ROW:
            self.diverged = at
            return False
        loss = np.nan if self.held_out is None else self.held_out.loss(np.float64(state.f))
        self.history.append((at, *numbers, loss))
        if at in self.looked_at:
            self.snapshots[at] = state
        if self.held_out is None or loss < self.best:
            self.best, self.iteration, self.state = loss, at, state
        waiting = self.held_out is None or at - self.iteration < self.patience
        return waiting and at < self.target


def train(training: Training, problem: Problem, start: State, seed: int, recipe: Recipe) -> None:
    """Train from a state on, with random numbers of a seed of 32 bits."""
    training.state, last = start, training.target
    # To look at: regularly, at snapshots and at the end.
    stops = sorted({*range(0, last, CHECK), *(k for k in training.looked_at if k <= last), last})
    state, started = _copied(start), time.perf_counter()
    for at, until in zip(stops, [*stops[1:], None], strict=True):
        if not training.goes_on(at, _copied(state), diagnose(state, seed, problem, recipe)):
            break
        advance(state, problem, recipe, NORMAL, np.uint32(seed), at, until - at)
        if until % (10 * CHECK) == 0:
            left = (time.perf_counter() - started) / until * (last - until)
            log.info("iteration %d of %d, at most %.0f s left", until, last, left)


def _copied(state: State) -> State:
    return State(*(each.copy() for each in state))


_INITIAL_STD = 0.1  # of the weights of f, as in the authors' code
_BASE_REACH = 12.0  # standard deviations
_SQRT_2 = np.sqrt(2.0)


@dataclass(frozen=True)
class Model:
    """Everything that is not trained.

    X, Y are the rows that f is trained on, the penalty is η, and base p_0. f may have random
    features. The recipe has the batch size of these rows.
    """

    X: np.ndarray
    Y: np.ndarray
    bandwidth_x: np.ndarray
    bandwidth_y: np.ndarray
    penalty: float
    base: _dde.GaussianBase | _dde.UniformBase
    features: _dde.FeatureSum | None
    recipe: Recipe

    def on(self, X, Y) -> "Model":
        """Return the model with other rows to train on."""
        recipe = self.recipe._replace(batch_size=min(self.recipe.batch_size, len(Y)))
        return replace(self, X=X, Y=Y, recipe=recipe)

    def problem(self) -> Problem:
        """Return the arrays of the training, float32."""
        X, Y = self.X, self.Y
        anchors, phases, part = Y / (_SQRT_2 * self.bandwidth_y), np.zeros(len(Y)), np.empty((0, 0))
        gram = np.empty((0, 0))
        if self.features is not None:
            anchors, phases = self.features.frequencies_y, self.features.phases
            part = X @ self.features.frequencies_x.T if X.shape[1] else part
        else:
            part = GaussianKernel(self.bandwidth_x)(X, X) if X.shape[1] else part
            if self.penalty > 0:
                gram = GaussianKernel(self.bandwidth_y)(Y, Y)
                gram = gram * part if X.shape[1] else gram
        widths = np.concatenate([self.bandwidth_x, self.bandwidth_y])
        arrays = X.T, Y.T, (np.hstack([X, Y]) / (_SQRT_2 * widths)).T, part, anchors.T, phases
        arrays += 1.0 / (_SQRT_2 * self.bandwidth_y), gram, *_location(self.base)
        single = (np.ascontiguousarray(each, dtype=np.float32) for each in arrays)
        return Problem(*single, np.float32(self.penalty))

    def initial_state(self, rng: np.random.Generator) -> State:
        """Return f, g and ν before training."""
        count = len(self.Y) if self.features is None else len(self.features.phases)
        f, zeros = _INITIAL_STD * rng.standard_normal(count).astype(np.float32), np.zeros_like
        g = initial_parameters(self.recipe.sampler, True, rng)
        nu = initial_parameters(self.recipe.dual, False, rng)
        return State(f, zeros(f), zeros(f), g, zeros(g), zeros(g), nu, zeros(nu))

    def held_out(self, X, Y, density_weight: float) -> _dde.HeldOut:
        """Return the likelihood of rows under f with any weights."""
        support = self.kernel_support if Y.shape[1] == 1 else None
        count = len(self.Y) if self.features is None else len(self.features.phases)
        ones = self._sum(np.ones(count))
        return _dde.HeldOut(ones, self.base, X, Y, support, density_weight)

    def potential(self, state: State, scale: float = 1.0):
        """Return f of a state, times a scale, in float64."""
        return self._sum(scale * np.asarray(state.f, dtype=np.float64))

    def sampler(self, state: State) -> Perceptron:
        """Return g of a state, in float64: maps X (n, d_x) and ξ (n, latent) to y, by columns."""
        return Perceptron(np.float64(state.g), self.recipe.sampler)

    @property
    def kernel_support(self) -> tuple[float, float, float]:
        """Interval outside of which f p_0 equals p_0 or 0, and a panel width; d_y = 1."""
        width = float(min(self.bandwidth_y[0], _location(self.base)[1][0]))
        if self.features is not None or isinstance(self.base, _dde.UniformBase):
            return *self.base_ends()[:2], width
        margin = _dde.KERNEL_REACH * float(self.bandwidth_y[0])
        return float(self.Y.min()) - margin, float(self.Y.max()) + margin, width

    def base_ends(self) -> tuple[float, float, float]:
        """Return the ends beyond which p_0 has no mass, and its width or scale; d_y = 1."""
        (centre, *_), (spread, *_) = _location(self.base)
        if isinstance(self.base, _dde.UniformBase):
            return float(self.base.lower[0]), float(self.base.upper[0]), float(spread)
        reach = _BASE_REACH * float(spread)
        return float(centre) - reach, float(centre) + reach, float(spread)

    def _sum(self, weights: np.ndarray) -> _dde.KernelSum | _dde.FeatureSum:
        if self.features is not None:
            return replace(self.features, weights=weights)
        return _dde.KernelSum(self.X, self.Y, weights, self.bandwidth_x, self.bandwidth_y)


def resolve_parameters(estimator, X: np.ndarray, Y: np.ndarray) -> Model:
    """Return the model of an estimator's parameters for its data.

    Bandwidths and p_0 come from all rows, X (n, d_x) and Y (n, d_y). The parameters were checked.
    """
    e, n = estimator, len(Y)
    points, nodes = e.basis == _dde.POINTS, _dde.NODES if Y.shape[1] == 1 else _dde.DRAWS

    def numbers(n: int) -> int:
        # Of the likelihood of rows held out, random features have cosine and sine.
        count, rows, times = (n, 2 * n, 1) if points else (e.features, n, 2)
        held = 2 * round(e.validation * n) + nodes if e.validation else 0
        return count * (rows // 2 + times * held)

    remedy = "take fewer rows, or basis='features'" if points else "take fewer rows or features"
    require_memory(Y, "doubly dual embedding", n, numbers, remedy=remedy)
    sigma_x = _bandwidths(e.bandwidth_x, X, e.bandwidth_scale, "bandwidth_x", "X")
    sigma_y = _bandwidths(e.bandwidth_y, Y, e.bandwidth_scale, "bandwidth_y", "Y")
    features = None
    if e.basis == _dde.FEATURES:
        rng = rng_of("features", e.random_state)
        pairs = ((X.shape[1], sigma_x), (Y.shape[1], sigma_y))
        drawn = [rng.standard_normal((e.features, d)) / sigma for d, sigma in pairs]
        phases = rng.uniform(0.0, 2.0 * np.pi, e.features)
        features = _dde.FeatureSum(*drawn, phases, np.ones(e.features))
    d_x, d_y = X.shape[1], Y.shape[1]
    hidden, latent = e.hidden_units, e.latent
    sampler = net.Shape(d_x, latent if d_x else 0, latent, hidden, e.sampler_layers, d_y)
    dual = net.Shape(d_y if d_x else 0, d_x, d_x or d_y, hidden, e.dual_layers, 1)
    kind, rate = (features is not None, e.base == "uniform"), float(e.learning_rate)
    recipe = Recipe(*kind, np.float32(e.dual_weight), e.batch_size, rate, sampler, dual)
    penalty = 1.0 / n if e.regularization is None else float(e.regularization)
    base = _dde.GaussianBase(Y.mean(axis=0), e.base_std * Y.std(axis=0))
    if e.base == "uniform":
        base = _dde.UniformBase(Y.min(axis=0), Y.max(axis=0))
    return Model(X, Y, sigma_x, sigma_y, penalty, base, features, recipe).on(X, Y)


def _bandwidths(given, data: np.ndarray, scale: float, parameter: str, name: str) -> np.ndarray:
    if given is None:
        given = median_trick(data, scale, name) if data.shape[1] else 1.0
    return as_bandwidths(given, data.shape[1], parameter)


def _location(base) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and spread: mean and standard deviation, or middle and width."""
    if isinstance(base, _dde.UniformBase):
        return 0.5 * (base.lower + base.upper), base.upper - base.lower
    return base.mean, base.std
