"""Training many networks of NADE at once: one compiled program, no Python loop over steps.

The networks of one call share a shape. They are mapped over (`jax.vmap`) and stepped through by
`lax.scan` inside a `lax.while_loop` over epochs, which ends when no network can improve.
"""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from kcde.estimators._nade.network import Network, known, log_mixture
from kcde.estimators._shared.jax_settings import configure

configure()

UPDATES = 25
"""Updates per epoch, after each of which the held-out score is evaluated."""

_MOMENTUM = 0.9
_LARGEST_GRADIENT = 5.0


@dataclass(frozen=True)
class Recipe:
    """Settings of the training.

    Stochastic gradient descent with momentum 0.9, at a rate that falls linearly to 0 over all
    epochs (Uria et al., 2016, and their code); gradients longer than 5 are shortened to 5.

    Attributes
    ----------
    epochs
        Maximum number of epochs, of 25 updates each.
    patience
        Number of epochs without a better held-out likelihood after which training stops.
    batch_size
        Rows an update, drawn with replacement; all rows where there are no more.
    learning_rate
        Learning rate of the first update.
    """

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float


class Rows(eqx.Module):
    """Rows of data as columns, padded to a common number by columns of weight 0.

    Attributes
    ----------
    X, Y
        Shapes (d_x, n), (d_y, n).
    observed
        Which y are observed, 0 or 1, shape (d_y, n); training draws its own.
    weight
        Shape (n,): 1, or 0 for padding, which comes last.
    """

    X: object
    Y: object
    observed: object
    weight: object

    def padded(self, n: int) -> "Rows":
        """Return n columns, the added ones with weight 0; on numpy."""
        return jax.tree.map(
            lambda array: np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, n - array.shape[-1])]),
            self,
        )


class TrainingResult(eqx.Module):
    """Result of the training, for each network or group of networks.

    Attributes
    ----------
    networks
        As they were at the best epoch, or at the one asked for.
    score
        The largest held-out log likelihood of a group, summed over its rows, shape (groups,).
    epochs
        After how many epochs it was reached, shape (groups,).
    """

    networks: Network
    score: object
    epochs: object


class _State(eqx.Module):
    networks: Network
    optimiser: object
    kept: Network
    score: object
    epochs: object
    epoch: object


def orderless_log_density(network: Network, rows: Rows, observed):
    """Return unbiased estimates of the log density, averaged over orders, shape (n,).

    D/(D - d) Σ_{i not observed} log p(y_i | x, y_observed), with d of the D dimensions of y
    observed (Uria et al., 2016, on orderless and deep NADE).

    Parameters
    ----------
    network
        One network.
    rows
        Padding counts like any other row.
    observed
        Shape (D, n), 0 or 1.
    """
    mixtures = network.mixtures(known(rows.X, rows.Y, observed))
    hidden = 1.0 - observed
    log_density = log_mixture(mixtures, rows.Y, jax.nn.logsumexp)
    share = rows.Y.shape[0] / jnp.sum(hidden, axis=0)
    return share * jnp.sum(hidden * log_density, axis=0)


def draw_observed(key, dimensions: int, n: int):
    """Return random sets of observed dimensions, 0 or 1, shape (dimensions, n).

    Sizes are uniform on 0 … dimensions - 1, and so are the sets of a size: the variables before a
    random position of a random order.
    """
    size_key, order_key = jax.random.split(key)
    size = jax.random.randint(size_key, (n,), 0, dimensions)
    place = jax.random.uniform(order_key, (dimensions, n))
    rank = jnp.sum(place[None, :, :] < place[:, None, :], axis=1)
    return (rank < size).astype(place.dtype)


@eqx.filter_jit
def train(
    networks: Network, seeds, rows: Rows, held_out: Rows, stop, pool: int, recipe: Recipe
) -> TrainingResult:
    """Train networks of one shape side by side.

    Parameters
    ----------
    networks
        With a leading axis F, as all arrays here.
    seeds
        Seeds of the batches, unsigned 32-bit integers, shape (F,).
    rows, held_out
        To train on, and to stop by.
    stop
        Epochs after which to stop, shape (F,); 0: where the held-out likelihood says.
    pool
        Each `pool` consecutive networks form a group that stops by the sum of their likelihoods.
    recipe
        How to train.

    Returns
    -------
    TrainingResult
        With F networks and F/pool groups. It depends on the rest of the batch only through
        rounding, which an unstable training amplifies.
    """
    keys = jax.vmap(jax.random.key)(seeds)

    def epoch(state):
        first = state.epoch * UPDATES
        state = _updated(state, keys, rows, first + jnp.arange(UPDATES), recipe)
        score = _pooled(jax.vmap(_held_out_score)(state.networks, held_out), pool)
        better = (score > state.score) & _waiting(state, recipe)
        take = jnp.where(stop > 0, state.epoch < stop, jnp.repeat(better, pool))
        return _State(
            state.networks,
            state.optimiser,
            _where(take, state.networks, state.kept),
            jnp.where(better, score, state.score),
            jnp.where(better, state.epoch + 1, state.epochs),
            state.epoch + 1,
        )

    def unfinished(state):
        waiting = jnp.repeat(_waiting(state, recipe), pool)
        going_on = jnp.where(stop > 0, state.epoch < stop, waiting)
        return (state.epoch < recipe.epochs) & jnp.any(going_on)

    last = lax.while_loop(unfinished, epoch, _start(networks, pool, recipe))
    return TrainingResult(last.kept, last.score, last.epochs)


def _start(networks: Network, pool: int, recipe: Recipe) -> _State:
    groups = networks.weight.shape[0] // pool
    optimiser = jax.vmap(_optimiser(recipe).init)(networks)
    score, epochs = jnp.full(groups, -jnp.inf), jnp.zeros(groups, dtype=jnp.int32)
    return _State(networks, optimiser, networks, score, epochs, jnp.int32(0))


def _updated(state: _State, keys, rows: Rows, steps, recipe: Recipe) -> _State:
    """Return the state after the updates of these numbers."""
    optimiser = _optimiser(recipe)

    def update(network, optimiser_state, key, rows, step):
        gradient = jax.grad(_loss)(network, *_batch(jax.random.fold_in(key, step), rows, recipe))
        change, optimiser_state = optimiser.update(gradient, optimiser_state)
        return optax.apply_updates(network, change), optimiser_state

    def all_networks(carry, step):
        mapped = jax.vmap(update, in_axes=(0, 0, 0, 0, None))
        return mapped(*carry, keys, rows, step), None

    (networks, optimiser_state), _ = lax.scan(
        all_networks, (state.networks, state.optimiser), steps
    )
    return replace(state, networks=networks, optimiser=optimiser_state)


def _optimiser(recipe: Recipe):
    rate = optax.linear_schedule(recipe.learning_rate, 0.0, recipe.epochs * UPDATES)
    return optax.chain(
        optax.clip_by_global_norm(_LARGEST_GRADIENT), optax.sgd(rate, momentum=_MOMENTUM)
    )


def _waiting(state: _State, recipe: Recipe):
    """Return which groups are still within their patience; once false, it stays false."""
    return state.epoch - state.epochs < recipe.patience


def _batch(key, rows: Rows, recipe: Recipe) -> tuple[Rows, object]:
    """Return the rows of one update and which of their y are observed."""
    draw_key, order_key = jax.random.split(key)
    dimensions, n = rows.Y.shape
    if n > recipe.batch_size:
        real = jnp.sum(rows.weight).astype(jnp.int32)
        drawn = jax.random.randint(draw_key, (recipe.batch_size,), 0, real)
        rows = jax.tree.map(lambda array: array[..., drawn], rows)
    if dimensions == 1:
        return rows, rows.observed
    return rows, draw_observed(order_key, dimensions, rows.Y.shape[1])


def _loss(network: Network, rows: Rows, observed):
    log_density = orderless_log_density(network, rows, observed)
    return -jnp.sum(rows.weight * log_density) / jnp.sum(rows.weight)


def _held_out_score(network: Network, rows: Rows):
    return jnp.sum(rows.weight * orderless_log_density(network, rows, rows.observed))


def _pooled(scores, pool: int):
    return jnp.sum(scores.reshape(-1, pool), axis=1)


def _where(take, new, old):
    def choose(a, b):
        return jnp.where(take.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, new, old)


def stack(trees: list):
    """Return one tree whose arrays have a leading axis: the trees, on numpy."""
    return jax.tree.map(lambda *arrays: np.stack(arrays), *trees)


def unstack(tree, index: int):
    """Return one of the trees that were stacked."""
    return jax.tree.map(lambda array: array[index], tree)


def to_host(tree):
    """Return the tree on numpy."""
    return jax.tree.map(np.asarray, tree)
