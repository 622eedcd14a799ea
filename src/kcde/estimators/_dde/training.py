"""Training f, ν and g of many problems at once: one compiled program, no Python loop over steps.

One iteration is one update of f, then five of g, each after three of ν (dde, appendix E); Adam for
f and g, RMSprop for ν, gradients of f and ν no longer than 5, as in the authors' code for the plane
(for the R data it clips those of ν alone). The problems of one call have the same shapes and are
mapped over (`jax.vmap`). Points are columns, so that the long axis is the fast one; the networks
work on numpy and on jax arrays.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from kcde.arrays import array_namespace
from kcde.estimators._dde.functions import FEATURES, HeldOut
from kcde.estimators._shared.batch_fit import configure

configure()

CHECK = 100
"""Iterations between two evaluations of a training."""

SAMPLER_UPDATES = 5
DUAL_UPDATES = 3
_LARGEST_GRADIENT = 5.0
_FORGETTING = 0.99  # of RMSprop, as in PyTorch
_DRAWS = 1000
_LARGEST_OBJECTIVE = 1e6
_IN_A_ROW = 3  # checks above it: in many dimensions exp ν may be so large for a while at the start
_WORTH_A_NEW_PROGRAM = 3  # compiling costs seconds: only when a third or fewer are left

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recipe:
    """Settings of the training of f, ν and g, equal for all problems of one program.

    The base density is uniform on a box, or else a Gaussian. The dual weight, 1/λ of dde, equation
    18, is that of the divergence from it in the objective. An update takes batch_size rows, and g
    noise of `latent` dimensions.
    """

    basis: str
    uniform: bool
    dual_weight: float
    batch_size: int
    learning_rate: float
    latent: int


class Problem(eqx.Module):
    """Arrays of one problem, float32, points as columns.

    Training rows X (d_x, n) and Y (d_y, n), and X over √2 σ_X. `part` is the factor of each basis
    function at each training x, shape (m, n): kernels at the training rows, or angles of random
    features; None where f is a function of y alone. Anchors are points over √2 σ_Y, or frequencies,
    shape (m, d_y), and phases those of the random features, (m, 1). `inverse_y` is 1/√2 σ_Y,
    (d_y, 1). `gram` is k_X k_Y between the points, (m, m), where f is penalised, None otherwise.
    Centre and spread of the base density are mean and std, or middle and width, (d_y, 1).
    """

    X: object
    Y: object
    scaled_x: object
    part: object
    anchors: object
    phases: object
    inverse_y: object
    gram: object
    penalty: object
    centre: object
    spread: object

    def part_at(self, rows):
        """Return the columns of `part` at some rows, None where it is None."""
        return None if self.part is None else self.part[:, rows]

    def basis(self, part, Y, recipe: Recipe):
        """Return the basis functions at pairs, shape (m, B), for `part` (m, B) and Y (d_y, B)."""
        if recipe.basis == FEATURES:
            angle = self.anchors @ Y + self.phases
            angle = angle if part is None else angle + part
            return jnp.sqrt(2.0 / angle.shape[0]) * jnp.cos(angle)
        values = jnp.exp(-squared_distances(self.anchors, self.inverse_y * Y))
        return values if part is None else part * values

    def penalty_gradient(self, weights):
        """Return the gradient of η/2 ‖f‖² in the weights."""
        smooth = weights if self.gram is None else self.gram @ weights
        return self.penalty * smooth


def squared_distances(A, B):
    """Return |a - b|², shape (m, n), for the rows of A (m, d) and the columns of B (d, n)."""
    # Differences, not a matrix product: float32 would cancel, and the sum fuses with what follows.
    return sum((A[:, k, None] - B[k]) ** 2 for k in range(A.shape[1]))


class Sampler(eqx.Module):
    """g(x, ξ): standard normal ξ to y, given x (dde, section 4; the shapes of the authors' code).

    The embedding has weights (z, d_x) and biases (z, 1) of a linear map of x, which is concatenated
    before ξ; None without x. All layers but the last are rectified.
    """

    embedding: tuple | None
    layers: tuple

    def __call__(self, X, noise):
        """Return y, shape (d_y, n), for X (d_x, n) and ξ (z, n)."""
        xp = array_namespace(noise)
        if self.embedding is None:
            return perceptron(self.layers, noise)
        weight, bias = self.embedding
        return perceptron(self.layers, xp.concat([weight @ X + bias, noise]))


class Dual(eqx.Module):
    """ν(x, y), an estimate of log q(y|x)/p_0(y) (dde, equation 17).

    The embedding has weights (d_x, d_y) and biases of a linear map of y, which is concatenated
    after x; None without x. All layers but the last, which has one output, are rectified.
    """

    embedding: tuple | None
    layers: tuple

    def __call__(self, X, Y):
        """Return ν, shape (n,), at X (d_x, n), Y (d_y, n)."""
        xp = array_namespace(Y)
        if self.embedding is None:
            return perceptron(self.layers, Y)[0]
        weight, bias = self.embedding
        return perceptron(self.layers, xp.concat([X, weight @ Y + bias]))[0]


def perceptron(layers: tuple, values):
    """Return the outputs of a multilayer perceptron with rectified units, shape (d_out, n)."""
    xp = array_namespace(values)
    for weight, bias in layers[:-1]:
        values = xp.maximum(weight @ values + bias, 0.0)
    weight, bias = layers[-1]
    return weight @ values + bias


def initial_layers(widths: list[int], rng: np.random.Generator) -> tuple:
    """Return the layers of a perceptron before training, float32 on numpy."""
    return tuple(initial_layer(*pair, rng) for pair in pairwise(widths))


def initial_layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> tuple:
    """Return weights uniform within √(6/(fan_in + fan_out)) (Glorot and Bengio), and biases 0."""
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    weight = rng.uniform(-limit, limit, (fan_out, fan_in)).astype(np.float32)
    return weight, np.zeros((fan_out, 1), dtype=np.float32)


class State(eqx.Module):
    """The state that training changes.

    Weights of the basis functions in f, shape (m,); g; ν; and the states of the optimisers of the
    three.
    """

    weights: object
    sampler: Sampler
    dual: Dual
    optimisers: tuple


def optimisers(recipe: Recipe) -> tuple:
    """Return the optimisers of f, g and ν."""
    clip = optax.clip_by_global_norm(_LARGEST_GRADIENT)
    rate = recipe.learning_rate
    adam, rmsprop = optax.adam(rate), optax.rmsprop(rate, decay=_FORGETTING, eps_in_sqrt=False)
    return optax.chain(clip, adam), adam, optax.chain(clip, rmsprop)


def start(weights, sampler: Sampler, dual, recipe: Recipe) -> State:
    """Return the state of one problem before training."""
    parts = zip(optimisers(recipe), (weights, sampler, dual), strict=True)
    return State(weights, sampler, dual, tuple(opt.init(part) for opt, part in parts))


@eqx.filter_jit
def advance(state: State, seeds, problem: Problem, first, count, recipe: Recipe) -> State:
    """Train all problems side by side for some iterations.

    O(B m + B H²) time a problem and update, for B rows a batch, m basis functions and H units.

    State and problem have a leading axis of problems, and seeds, unsigned 32-bit integers, are one
    a problem. Number of the first iteration, and how many to make, are scalar arrays, since every
    plain number would compile the program again.
    """

    def iterate(number, state):
        def step(state, seed, problem):
            return _iteration(
                state, jax.random.fold_in(jax.random.key(seed), number), problem, recipe
            )

        return jax.vmap(step)(state, seeds, problem)

    return lax.fori_loop(first, first + count, iterate, state)


def _iteration(state: State, key, problem: Problem, recipe: Recipe) -> State:
    f_key, g_key = jax.random.split(key)
    state = _update_f(state, f_key, problem, recipe)

    def sampler_step(state, number):
        step_key = jax.random.fold_in(g_key, number)
        return _update_dual_and_sampler(state, step_key, problem, recipe), None

    return lax.scan(sampler_step, state, jnp.arange(SAMPLER_UPDATES))[0]


def _update_f(state: State, key, problem: Problem, recipe: Recipe) -> State:
    rows, noise = _batches(key, problem, recipe, 1)
    part = problem.part_at(rows)
    fakes = state.sampler(problem.X[:, rows], noise)
    surplus = problem.basis(part, fakes, recipe) - problem.basis(part, problem.Y[:, rows], recipe)
    gradient = jnp.mean(surplus, axis=1) + problem.penalty_gradient(state.weights)
    weights, trained = _stepped(optimisers(recipe)[0], gradient, state.optimisers[0], state.weights)
    return State(weights, state.sampler, state.dual, (trained, *state.optimisers[1:]))


def _update_dual_and_sampler(state: State, key, problem: Problem, recipe: Recipe) -> State:
    noise_key, prior_key = jax.random.split(key)
    size = recipe.batch_size
    rows, noise = _batches(noise_key, problem, recipe, DUAL_UPDATES + 1)
    priors = _draw_base(prior_key, problem, recipe, DUAL_UPDATES * size)
    seen = slice(0, DUAL_UPDATES * size)
    # g does not change before its own update, so that one product serves all updates of ν.
    fakes = state.sampler(problem.X[:, rows[seen]], noise[:, seen])
    for number in range(DUAL_UPDATES):
        columns = slice(number * size, (number + 1) * size)
        pairs = rows[columns], fakes[:, columns], priors[:, columns]
        state = _update_dual(state, *pairs, problem, recipe)
    last = slice(DUAL_UPDATES * size, None)
    return _update_sampler(state, (rows[last], noise[:, last]), problem, recipe)


def _update_dual(state: State, rows, fakes, priors, problem: Problem, recipe: Recipe) -> State:
    twice = jnp.concatenate([rows, rows])
    both = jnp.concatenate([fakes, priors], axis=1)

    def loss(dual):
        values = dual(problem.X[:, twice], both)
        return jnp.mean(jnp.exp(values[len(rows) :])) - jnp.mean(values[: len(rows)])

    gradient = jax.grad(loss)(state.dual)
    dual, trained = _stepped(optimisers(recipe)[2], gradient, state.optimisers[2], state.dual)
    return State(state.weights, state.sampler, dual, (*state.optimisers[:2], trained))


def _update_sampler(state: State, batch: tuple, problem: Problem, recipe: Recipe) -> State:
    rows, noise = batch

    def loss(sampler):
        fakes = sampler(problem.X[:, rows], noise)
        f = f_values(state.weights, rows, fakes, problem, recipe)
        nu = state.dual(problem.X[:, rows], fakes)
        return recipe.dual_weight * jnp.mean(nu) - jnp.mean(f)

    gradient = jax.grad(loss)(state.sampler)
    f, old, nu = state.optimisers
    sampler, new = _stepped(optimisers(recipe)[1], gradient, old, state.sampler)
    return State(state.weights, sampler, state.dual, (f, new, nu))


def f_values(weights, rows, Y, problem: Problem, recipe: Recipe):
    """Return f, shape (B,), at the x of `rows` (B,) and Y (d_y, B)."""
    return weights @ problem.basis(problem.part_at(rows), Y, recipe)


def _stepped(optimiser, gradient, trained, parameters) -> tuple:
    change, trained = optimiser.update(gradient, trained)
    return optax.apply_updates(parameters, change), trained


def _batches(key, problem: Problem, recipe: Recipe, count: int) -> tuple:
    """Return `count` batches: rows without repetition in a batch, and noise."""
    row_key, noise_key = jax.random.split(key)
    n, size = problem.Y.shape[1], recipe.batch_size
    if size == n:
        rows = jnp.tile(jnp.arange(n), count)
    else:
        # Sorting is expensive: one shuffle, from which every batch takes consecutive rows starting
        # at a random position, cyclically.
        order_key, place_key = jax.random.split(row_key)
        order = jax.random.permutation(order_key, n)
        place = jax.random.randint(place_key, (count, 1), 0, n)
        rows = order[(place + jnp.arange(size)) % n].reshape(-1)
    return rows, normal(noise_key, (recipe.latent, count * size))


def _draw_base(key, problem: Problem, recipe: Recipe, count: int):
    """Return draws of the base density, shape (d_y, count)."""
    shape = (problem.Y.shape[0], count)
    drawn = jax.random.uniform(key, shape) - 0.5 if recipe.uniform else normal(key, shape)
    return problem.centre + problem.spread * drawn


def normal(key, shape: tuple[int, int]):
    """Return standard normal numbers of 2¹⁶ levels, two a random word: they cost as much as g."""
    size = shape[0] * shape[1]
    words = jax.random.bits(key, ((size + 1) // 2,), jnp.uint32)
    halves = jnp.concatenate([words & 0xFFFF, words >> 16])[:size]
    uniform = (halves.astype(jnp.float32) + 0.5) * 2.0**-15 - 1.0
    return jnp.sqrt(2.0) * lax.erf_inv(uniform).reshape(shape)


@eqx.filter_jit
def diagnose(state: State, seeds, problem: Problem, recipe: Recipe) -> tuple:
    """Return objective and distance of g from the data of all problems, which have a leading axis.

    The objective is ℓ̃(f, ν, g) of dde, equation 18, plus 1/λ: E_D f - E_g f - η/2 ‖f‖² + (E_g ν -
    E_p0 exp ν + 1)/λ, at training x and one set of draws. The distance is the biased MMD² between
    training pairs and draws of g at training x, with the kernel of f. O(1000 (m + H²)) time a
    problem, for m basis functions and H units.
    """

    def one(state, seed, problem):
        key = jax.random.key(seed)
        # Each x as often, a thousand draws or fewer.
        n = problem.Y.shape[1]
        times = 1 if problem.X.shape[0] else max(1, _DRAWS // n)
        rows = jnp.tile(jnp.arange(min(n, _DRAWS)), times)
        fakes = state.sampler(problem.X[:, rows], normal(key, (recipe.latent, len(rows))))
        objective = _objective(state, jax.random.fold_in(key, 1), rows, fakes, problem, recipe)
        return objective, _mmd2(rows, fakes, problem)

    return jax.vmap(one)(state, seeds, problem)


def _objective(state: State, key, rows, fakes, problem: Problem, recipe: Recipe):
    priors = _draw_base(key, problem, recipe, fakes.shape[1])
    at_data = f_values(state.weights, rows, problem.Y[:, rows], problem, recipe)
    at_fakes = f_values(state.weights, rows, fakes, problem, recipe)
    nu = state.dual(problem.X[:, rows], fakes)
    prior = state.dual(problem.X[:, rows], priors)
    divergence = jnp.mean(nu) - jnp.mean(jnp.exp(prior)) + 1.0
    objective = jnp.mean(at_data) - jnp.mean(at_fakes) + recipe.dual_weight * divergence
    return objective - 0.5 * (state.weights @ problem.penalty_gradient(state.weights))


def _mmd2(rows, fakes, problem: Problem):
    kept = slice(0, min(problem.Y.shape[1], _DRAWS))
    data = problem.scaled_x[:, kept], problem.inverse_y * problem.Y[:, kept]
    drawn = problem.scaled_x[:, rows], problem.inverse_y * fakes

    def mean_kernel(a, b):
        distance = squared_distances(a[1].T, b[1])
        if a[0].shape[0]:
            distance = distance + squared_distances(a[0].T, b[0])
        return jnp.mean(jnp.exp(-distance))

    return mean_kernel(data, data) + mean_kernel(drawn, drawn) - 2.0 * mean_kernel(data, drawn)


@dataclass
class Task:
    """One problem, and when to stop.

    Problem and state are on numpy, without the leading axis; the seed of its random numbers has 32
    bits. It ends after `target` iterations, at most, or by held-out rows.
    """

    problem: Problem
    state: State
    seed: int
    target: int
    held_out: HeldOut | None = None


@dataclass
class TrainingResult:
    """The result of a task.

    The final state and its iteration; rows of (iteration, objective, biased MMD², held-out loss);
    states of some iterations; the iteration by which something was not finite, or the objective
    too large in three checks in a row; the smallest held-out loss; and checks in a row, up to the
    last, at which the objective was too large.
    """

    state: State
    iteration: int = 0
    history: list = field(default_factory=list)
    snapshots: dict = field(default_factory=dict)
    diverged: int | None = None
    best: float = np.inf
    too_large: int = 0


def train(
    tasks: Sequence[Task], recipe: Recipe, patience: int, snapshots: Sequence[int] = ()
) -> list[TrainingResult]:
    """Train tasks of one shape side by side.

    A training ends `patience` iterations after its best held-out likelihood, if it has one. States
    of the iterations `snapshots` are kept.
    """
    outcomes = [TrainingResult(task.state) for task in tasks]
    batch, done, working = list(range(len(tasks))), set(), _Batch.of(tasks)
    targets = {task.target for task in tasks}
    last = max(targets)
    # To look at: regularly, and at snapshots and targets.
    stops = sorted({*range(0, last, CHECK), *(k for k in snapshots if k <= last), *targets})
    at, started = 0, time.perf_counter()
    while True:
        for index, state, numbers in zip(batch, *working.look(recipe), strict=True):
            if index not in done and not _should_continue(
                outcomes[index], tasks[index], state, numbers, at, patience, snapshots
            ):
                done.add(index)
        active = [index for index in batch if index not in done]
        if not active:
            return outcomes
        if len(active) * _WORTH_A_NEW_PROGRAM <= len(batch):
            working = working.only([batch.index(index) for index in active])
            batch = active
        until = next(stop for stop in stops if stop > at)
        working.advance(at, until, recipe)
        at = until
        if at % (10 * CHECK) == 0:
            left = (time.perf_counter() - started) / at * (last - at)
            log.info("iteration %d of %d, at most %.0f s left", at, last, left)


@dataclass
class _Batch:
    """States and problems with a leading axis, on jax."""

    states: State
    seeds: object
    problems: Problem

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> "_Batch":
        def stacked(trees):
            return jax.tree.map(lambda *arrays: jnp.stack(arrays), *trees)

        seeds = jnp.array([task.seed for task in tasks], dtype=jnp.uint32)
        states = stacked([task.state for task in tasks])
        return cls(states, seeds, stacked([task.problem for task in tasks]))

    def only(self, places: list[int]) -> "_Batch":
        """Return the batch of some places."""
        chosen = np.array(places)
        parts = (self.states, self.seeds, self.problems)
        return _Batch(*jax.tree.map(lambda array: array[chosen], parts))

    def advance(self, first: int, until: int, recipe: Recipe) -> None:
        # As arrays: plain numbers would be constants of a program of their own.
        span = jnp.int32(first), jnp.int32(until - first)
        self.states = advance(self.states, self.seeds, self.problems, *span, recipe)

    def look(self, recipe: Recipe) -> tuple[list[State], list[tuple[float, float]]]:
        """Return each state on the host, and its objective and biased MMD²."""
        diagnosis = diagnose(self.states, self.seeds, self.problems, recipe)
        on_host = jax.tree.map(np.asarray, self.states)
        places = range(len(self.seeds))
        states = [jax.tree.map(lambda array, k=k: array[k], on_host) for k in places]
        numbers = zip(*(np.asarray(part, dtype=float).tolist() for part in diagnosis), strict=True)
        return states, list(numbers)


def _should_continue(
    outcome: TrainingResult,
    task: Task,
    state: State,
    numbers: tuple[float, float],
    at: int,
    patience: int,
    snapshots: Sequence[int],
) -> bool:
    """Record the state of a training; return whether to continue it."""
    finite = all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    small = abs(numbers[0]) < _LARGEST_OBJECTIVE
    outcome.too_large = 0 if small else outcome.too_large + 1
    if not finite or outcome.too_large == _IN_A_ROW:
        outcome.diverged = at
        return False
    loss = np.nan if task.held_out is None else task.held_out.loss(np.float64(state.weights))
    outcome.history.append((at, *numbers, loss))
    if at in snapshots:
        outcome.snapshots[at] = state
    if task.held_out is None or loss < outcome.best:
        outcome.best, outcome.iteration, outcome.state = loss, at, state
    waiting = task.held_out is None or at - outcome.iteration < patience
    return waiting and at < task.target
