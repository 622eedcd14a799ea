"""Training f, ν and g of many problems at once: one compiled program, no Python loop over steps.

One iteration is one update of f, then five of g, each after three of ν (dde, appendix E); Adam for
f and g, RMSprop for ν, gradients of f and ν no longer than 5, as in the authors' code for the plane
(for the R data it clips those of ν alone). The problems of one call have the same shapes and are
mapped over (`jax.vmap`).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax

from kcde.estimators._dde.functional import Expansion, functional_gradients
from kcde.estimators._dde.networks import Dual, Sampler
from kcde.estimators._dde.potential import FUNCTIONAL
from kcde.estimators._dde.problem import Problem, Recipe
from kcde.estimators._shared.batch_fit import configure

configure()

SAMPLER_UPDATES = 5
DUAL_UPDATES = 3
_LARGEST_GRADIENT = 5.0
_FORGETTING = 0.99  # of RMSprop, as in PyTorch


class State(eqx.Module):
    """The state that training changes.

    Attributes
    ----------
    weights
        Weights of the basis functions in f, shape (m,); an `Expansion` with functional gradients.
    sampler
        g.
    dual
        ν: a network, or weights of the basis functions, shape (m,); None with an `Expansion`.
    optimisers
        States of the optimisers of the three.
    """

    weights: object
    sampler: Sampler
    dual: object
    optimisers: tuple


class _Batches(NamedTuple):
    """Random numbers of several batches, side by side along the last axis."""

    rows: object
    noise: object


def optimisers(recipe: Recipe) -> tuple:
    """Return the optimisers of f, g and ν."""
    clip = optax.clip_by_global_norm(_LARGEST_GRADIENT)
    rate = recipe.learning_rate
    adam, rmsprop = optax.adam(rate), optax.rmsprop(rate, decay=_FORGETTING, eps_in_sqrt=False)
    return optax.chain(clip, adam), adam, optax.chain(clip, rmsprop)


def start(weights, sampler: Sampler, dual, recipe: Recipe) -> State:
    """Return the state of one problem before training."""
    parts = zip(optimisers(recipe), (weights, sampler, dual), strict=True)
    trained = [None if part is None else optimiser.init(part) for optimiser, part in parts]
    return State(weights, sampler, dual, tuple(trained))


@eqx.filter_jit
def advance(state: State, seeds, problem: Problem, first, count, recipe: Recipe) -> State:
    """Train all problems side by side for some iterations.

    O(B m + B H²) time a problem and update, for B rows a batch, m basis functions and H units.

    Parameters
    ----------
    state, problem
        With a leading axis of problems.
    seeds
        Unsigned 32-bit integers, one a problem.
    first, count
        Number of the first iteration, and how many to make: scalar arrays, since every plain
        number would compile the program again.
    recipe
        How to train.
    """
    one = _functional_iteration if recipe.basis == FUNCTIONAL else _iteration

    def iterate(number, state):
        def step(state, seed, problem):
            return one(state, jax.random.fold_in(jax.random.key(seed), number), problem, recipe)

        return jax.vmap(step)(state, seeds, problem)

    return lax.fori_loop(first, first + count, iterate, state)


def _iteration(state: State, key, problem: Problem, recipe: Recipe) -> State:
    f_key, g_key = jax.random.split(key)
    state = _update_f(state, f_key, problem, recipe)

    def sampler_step(state, number):
        step_key = jax.random.fold_in(g_key, number)
        return _update_dual_and_sampler(state, step_key, problem, recipe), None

    return lax.scan(sampler_step, state, jnp.arange(SAMPLER_UPDATES))[0]


def _functional_iteration(state: State, key, problem: Problem, recipe: Recipe) -> State:
    inner_key, outer_key = jax.random.split(key)
    batches = _batches(inner_key, problem, recipe, recipe.inner)
    fakes = state.sampler(problem.X[:, batches.rows], batches.noise)
    priors = _draw_base(jax.random.fold_in(inner_key, 1), problem, recipe, recipe.inner)
    expansion = functional_gradients(problem, batches.rows, fakes, priors, recipe)
    state = eqx.tree_at(lambda s: s.weights, state, expansion)
    return _update_sampler(state, _batches(outer_key, problem, recipe, 1), problem, recipe)


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
    return _update_sampler(state, _Batches(rows[last], noise[:, last]), problem, recipe)


def _update_dual(state: State, rows, fakes, priors, problem: Problem, recipe: Recipe) -> State:
    twice = jnp.concatenate([rows, rows])
    both = jnp.concatenate([fakes, priors], axis=1)

    def loss(dual):
        values = dual_values(dual, twice, both, problem, recipe)
        return jnp.mean(jnp.exp(values[len(rows) :])) - jnp.mean(values[: len(rows)])

    gradient = jax.grad(loss)(state.dual)
    dual, trained = _stepped(optimisers(recipe)[2], gradient, state.optimisers[2], state.dual)
    return State(state.weights, state.sampler, dual, (*state.optimisers[:2], trained))


def _update_sampler(state: State, batch: _Batches, problem: Problem, recipe: Recipe) -> State:
    rows, noise = batch

    def loss(sampler):
        fakes = sampler(problem.X[:, rows], noise)
        f = f_values(state.weights, rows, fakes, problem, recipe)
        nu = dual_values(_dual_of(state), rows, fakes, problem, recipe)
        return recipe.dual_weight * jnp.mean(nu) - jnp.mean(f)

    gradient = jax.grad(loss)(state.sampler)
    stepped = _stepped(optimisers(recipe)[1], gradient, state.optimisers[1], state.sampler)
    sampler, trained = stepped
    rest = state.optimisers
    return State(state.weights, sampler, state.dual, (rest[0], trained, rest[2]))


def f_values(weights, rows, Y, problem: Problem, recipe: Recipe):
    """Return f, shape (B,), at the x of `rows` (B,) and Y (d_y, B)."""
    if isinstance(weights, Expansion):
        return weights.f(problem.scaled_x[:, rows], problem.inverse_y * Y)
    return weights @ problem.basis(problem.part_at(rows), Y, recipe)


def dual_values(dual, rows, Y, problem: Problem, recipe: Recipe):
    """Return ν, shape (B,), at the x of `rows` (B,) and Y (d_y, B)."""
    if isinstance(dual, Dual):
        return dual(problem.X[:, rows], Y)
    if isinstance(dual, Expansion):
        return dual.nu(problem.scaled_x[:, rows], problem.inverse_y * Y)
    return dual @ problem.basis(problem.part_at(rows), Y, recipe)


def _dual_of(state: State):
    return state.weights if isinstance(state.weights, Expansion) else state.dual


def _stepped(optimiser, gradient, trained, parameters) -> tuple:
    change, trained = optimiser.update(gradient, trained)
    return optax.apply_updates(parameters, change), trained


def _batches(key, problem: Problem, recipe: Recipe, count: int) -> _Batches:
    """Return `count` batches: rows without repetition in a batch, and noise."""
    row_key, noise_key = jax.random.split(key)
    n, size = problem.Y.shape[1], recipe.batch_size
    columns = count * size
    if recipe.basis == FUNCTIONAL and count > 1:
        columns = count
        rows = jax.random.randint(row_key, (count,), 0, n)
    elif size == n:
        rows = jnp.tile(jnp.arange(n), count)
    else:
        # Sorting is expensive: one shuffle, from which every batch takes consecutive rows starting
        # at a random position, cyclically.
        order_key, place_key = jax.random.split(row_key)
        order = jax.random.permutation(order_key, n)
        place = jax.random.randint(place_key, (count, 1), 0, n)
        rows = order[(place + jnp.arange(size)) % n].reshape(-1)
    return _Batches(rows, normal(noise_key, (recipe.latent, columns)))


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
