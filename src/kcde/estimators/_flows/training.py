"""Training flows: full-batch Adam, several problems of one shape in one compiled program."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flowjax.distributions import Transformed
from jax import lax
from paramax import NonTrainable

from kcde.estimators._flows.model import (
    Architecture,
    Flow,
    initial_leaves,
    layers_of,
    rebuilt,
    with_statistics,
)
from kcde.estimators._flows.normalisation import moments, normalised

_BLOCK = 1024
# Of the gradient of a sum over rows, as the authors'.
_WEIGHT_DECAY = 1e-6


def train(
    architecture: Architecture,
    seeds: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    stages: Sequence[tuple[int, float]],
) -> list[tuple[Flow, np.ndarray]]:
    """Maximise the likelihood of each of P problems, in float32.

    Parameters
    ----------
    architecture
        Architecture of all flows.
    seeds
        Seeds of the initial weights, unsigned 32-bit integers, shape (P,).
    X, Y
        Shapes (P, n, d_x), (P, n, d_y).
    stages
        Steps of Adam, each on all rows, on the sum over rows, with weight decay 1e-6, and their
        learning rate; every stage begins with new moments.

    Returns
    -------
    list
        For each problem its flow, and the mean negative log density of a row before each step,
        nats, shape (all steps,). They depend on the other problems only through rounding.
    """
    starts = [initial_leaves(architecture, seed) for seed in seeds]
    leaves = [np.stack(same) for same in zip(*starts, strict=True)]
    rows, parts = _blocks(X, Y), []
    for steps, rate in stages:
        leaves, losses = _train_all(architecture, steps, np.float32(rate), leaves, rows)
        parts.append(np.asarray(losses, dtype=np.float64))
    history = np.concatenate(parts, axis=1)
    return [
        (Flow(architecture, [leaf[p] for leaf in leaves]), history[p]) for p in range(len(seeds))
    ]


@partial(jax.jit, static_argnums=(0, 1))
def _train_all(architecture: Architecture, steps: int, learning_rate, leaves, rows: "_Rows"):
    return jax.vmap(partial(_train_one, architecture, steps, learning_rate))(leaves, rows)


def _train_one(architecture: Architecture, steps: int, learning_rate, leaves, rows: "_Rows"):
    weights, rest = eqx.partition(
        rebuilt(architecture, leaves), eqx.is_inexact_array, is_leaf=_is_constant
    )
    optimiser = optax.chain(optax.add_decayed_weights(_WEIGHT_DECAY), optax.adam(learning_rate))

    def loss(weights):
        return _summed_loss(eqx.combine(weights, rest, is_leaf=_is_constant), architecture, rows)

    def step(state, _):
        weights, moments = state
        (value, _), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
        change, moments = optimiser.update(gradient, moments, weights)
        return (optax.apply_updates(weights, change), moments), value / jnp.sum(rows.real)

    (weights, _), losses = lax.scan(step, (weights, optimiser.init(weights)), length=steps)
    flow = eqx.combine(weights, rest, is_leaf=_is_constant)
    flow = with_statistics(flow, *_summed_loss(flow, architecture, rows)[1])
    return jax.tree.leaves(eqx.filter(flow, eqx.is_array)), losses


class Watched(NamedTuple):
    """Flows of P problems, each as it was after `steps` of Adam.

    Attributes
    ----------
    flows
        P flows.
    steps
        Shape (P,).
    held_out
        Mean log density of the rows held out, nats, shape (P,); -inf where the first step diverged.
    histories
        P arrays, as `train` gives them.
    """

    flows: list[Flow]
    steps: np.ndarray
    held_out: np.ndarray
    histories: list[np.ndarray]


def train_watched(
    architecture: Architecture,
    seeds: np.ndarray,
    X: np.ndarray,
    Y: np.ndarray,
    held: np.ndarray,
    rates: np.ndarray,
    most_steps: int,
    patience: int,
    steps: np.ndarray | None = None,
) -> Watched:
    """Train as `train`, and keep each flow as it was at the best step for rows held out.

    The statistics of the batch normalisations are of the other rows, then as later. A training ends
    `patience` steps after its best, or after `most_steps`.

    Parameters
    ----------
    architecture, seeds, X, Y
        As for `train`.
    held
        Whether a row is held out, shape (P, n).
    rates
        Learning rates, shape (P,).
    most_steps, patience
        See above.
    steps
        Shape (P,): as many steps instead, whatever the rows held out say; none need be.
    """
    starts = [initial_leaves(architecture, seed) for seed in seeds]
    leaves = [np.stack(same) for same in zip(*starts, strict=True)]
    rows = _blocks(X, Y)
    watched = _blocks(X, held[:, :, None].astype(float)).Y[..., 0]
    rows = rows._replace(real=rows.real * (1.0 - watched))
    given = np.full(len(seeds), -1) if steps is None else steps
    found = _watch_all(
        (architecture, most_steps, patience), leaves, rows, watched, rates.astype(np.float32), given
    )
    leaves, taken, held_out, losses = (jax.tree.map(np.asarray, part) for part in found)
    numbers = range(len(seeds))
    return Watched(
        [Flow(architecture, [leaf[p] for leaf in leaves]) for p in numbers],
        taken,
        held_out.astype(np.float64),
        [losses[p, : taken[p]].astype(np.float64) for p in numbers],
    )


@partial(jax.jit, static_argnums=0)
def _watch_all(fixed: tuple, leaves, rows: "_Rows", held, rates, given):
    return jax.vmap(partial(_watch_one, *fixed))(leaves, rows, held, rates, given)


def _watch_one(architecture, most_steps, patience, leaves, rows: "_Rows", held, rate, given):
    weights, rest = eqx.partition(
        rebuilt(architecture, leaves), eqx.is_inexact_array, is_leaf=_is_constant
    )
    optimiser = optax.chain(optax.add_decayed_weights(_WEIGHT_DECAY), optax.adam(rate))

    def loss(weights):
        flow = eqx.combine(weights, rest, is_leaf=_is_constant)
        log_density, _ = _log_densities(flow, architecture, rows)
        # 0 of a row whose density has left the range would make NaN of the sum of the others.
        of_held = jnp.sum(jnp.where(held > 0, log_density, 0.0)) / jnp.maximum(jnp.sum(held), 1.0)
        return -jnp.sum(jnp.where(rows.real > 0, log_density, 0.0)), of_held

    def goes_on(state):
        within = (state.step <= most_steps) & (state.step - state.best_step <= patience)
        return jnp.where(given < 0, within, state.step <= given)

    def move(state):
        (value, of_held), gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
        better = jnp.where(given < 0, of_held > state.best, True)
        kept = jax.tree.map(partial(jnp.where, better), state.weights, state.best_weights)
        change, moments = optimiser.update(gradient, state.moments, state.weights)
        return _State(
            state.step + 1,
            optax.apply_updates(state.weights, change),
            moments,
            jnp.where(better, of_held, state.best),
            jnp.where(better, state.step, state.best_step),
            kept,
            jnp.isfinite(of_held),
            state.losses.at[state.step].set(value / jnp.sum(rows.real)),
        )

    start = _State(
        0, weights, optimiser.init(weights), -jnp.inf, 0, weights, True, jnp.zeros(most_steps + 1)
    )
    end = lax.while_loop(goes_on, move, start)
    flow = eqx.combine(end.best_weights, rest, is_leaf=_is_constant)
    flow = with_statistics(flow, *_log_densities(flow, architecture, rows)[1])
    # Weights that no step has made better, and that left the range, are not a training.
    best = jnp.where((end.best_step == 0) & ~end.finite, -jnp.inf, end.best)
    return jax.tree.leaves(eqx.filter(flow, eqx.is_array)), end.best_step, best, end.losses


class _State(NamedTuple):
    """A training: weights before a step, those of the best so far, and if the last is finite."""

    step: int
    weights: Transformed
    moments: tuple
    best: float
    best_step: int
    best_weights: Transformed
    finite: bool
    losses: np.ndarray


def _is_constant(node) -> bool:
    return isinstance(node, NonTrainable)


def _summed_loss(flow: Transformed, architecture: Architecture, rows: "_Rows"):
    """Return the sum of -log p(y|x), and the statistics of each layer, two (layers, d_y)."""
    log_density, statistics = _log_densities(flow, architecture, rows)
    return -jnp.sum(rows.real * log_density), statistics


def _log_densities(flow: Transformed, architecture: Architecture, rows: "_Rows"):
    """Return log p(y|x) of all rows, in blocks, and the statistics of each layer, of the real ones.

    The rows pass a layer together before they enter the next: its statistics are of all of them.
    """
    arrays, rest = eqx.partition(layers_of(flow), eqx.is_array)
    followed = jnp.arange(architecture.layers) < architecture.normalised

    def through(state, entering):
        Y, log_slope = state
        arrays, is_followed = entering
        layer, normalisation = eqx.combine(arrays, rest).bijections
        Y, slopes = _by_blocks(layer, rows.X, Y)
        mean, variance = moments(Y, rows.real)
        scaled, slope = normalised(normalisation, Y, mean, variance)
        Y, slope = jnp.where(is_followed, scaled, Y), jnp.where(is_followed, slope, 0.0)
        statistics = jnp.where(is_followed, mean, 0.0), jnp.where(is_followed, variance, 1.0)
        return (Y, log_slope + slopes + slope), statistics

    start = rows.Y, jnp.zeros_like(rows.real)
    (Z, log_slope), statistics = lax.scan(through, start, (arrays, followed))
    return flow.base_dist.log_prob(Z) + log_slope, statistics


def _by_blocks(layer, X, Y):
    """Return the outputs of a layer for each row, and the log slopes; O(n d) memory.

    A block stays in a core's cache; its activations are computed again for the gradient.
    """
    apply = jax.checkpoint(jax.vmap(lambda x, y: layer.transform_and_log_det(y, x)))
    return lax.map(lambda block: apply(*block), (X, Y))


class _Rows(NamedTuple):
    """Rows in blocks, shapes (blocks, rows, d); `real` is 1 for a row, 0 for padding.

    A row held out is not real, but `held`.
    """

    X: np.ndarray
    Y: np.ndarray
    real: np.ndarray


def _blocks(X: np.ndarray, Y: np.ndarray) -> _Rows:
    """Return the rows of P problems, (P, n, d), in blocks (P, blocks, rows, d), in float32."""
    n = X.shape[1]
    count = -(-n // _BLOCK)
    size = -(-n // count)
    real = np.ones((len(X), n, 1))
    padding = (0, 0), (0, count * size - n), (0, 0)
    padded = (np.pad(array, padding).astype(np.float32) for array in (X, Y, real))
    X, Y, real = (array.reshape(len(array), count, size, -1) for array in padded)
    return _Rows(X, Y, real[..., 0])
