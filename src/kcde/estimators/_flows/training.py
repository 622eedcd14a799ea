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


def _is_constant(node) -> bool:
    return isinstance(node, NonTrainable)


def _summed_loss(flow: Transformed, architecture: Architecture, rows: "_Rows"):
    """Return the sum of -log p(y|x), and the statistics of each layer, two (layers, d_y).

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
    log_density = flow.base_dist.log_prob(Z) + log_slope
    return -jnp.sum(rows.real * log_density), statistics


def _by_blocks(layer, X, Y):
    """Return the outputs of a layer for each row, and the log slopes; O(n d) memory.

    A block stays in a core's cache; its activations are computed again for the gradient.
    """
    apply = jax.checkpoint(jax.vmap(lambda x, y: layer.transform_and_log_det(y, x)))
    return lax.map(lambda block: apply(*block), (X, Y))


class _Rows(NamedTuple):
    """Rows in blocks, shapes (blocks, rows, d); `real` is 1 for a row, 0 for padding."""

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
