"""The network of NADE, and training many of them at once, by a compiled program of one epoch.

The network maps the observed variables to a Gaussian mixture for each y. Points are columns here,
so that the long axis is the fast one. Training is in float32 on jax, prediction in float64 on
numpy.

The networks of one call share a shape, and a few at a time are mapped over (`jax.vmap`). When a
group of them can improve no more, the next takes its place, so that none is trained in vain. Random
numbers are drawn by a program of their own: compiling them takes as long as all else, and they are
the same for networks of all sizes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from kcde.arrays import array_namespace
from kcde.estimators._shared.batch_fit import configure

configure()

SMALLEST_STD = 1e-3
"""Added to every standard deviation: y that repeats itself would make the likelihood unbounded."""

UPDATES = 25
"""Updates per epoch, after each of which the held-out score is evaluated."""

_LARGEST_LOG_STD = 10.0
_OUTPUT_STD = 0.01
_ABSENT = -1e30
_MOMENTUM = 0.9
_LARGEST_GRADIENT = 5.0


class Network(eqx.Module):
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
        xp = array_namespace(inputs)
        values = inputs
        for weight, bias in self.hidden:
            values = xp.maximum(weight @ values + bias, 0.0)
        weight, bias = self.weight[:, dimensions], self.bias[:, dimensions]
        flat = weight.reshape(-1, weight.shape[-1]) @ values
        logits, means, log_std = flat.reshape(*weight.shape[:-1], -1) + bias
        return logits, means, xp.exp(xp.minimum(log_std, _LARGEST_LOG_STD)) + SMALLEST_STD

    def unpadded(self, inputs: int, units: int, components: int) -> "Network":
        """Return the network without what `padded` added, in float64 on numpy."""
        (first, b_1), (second, b_2) = self.hidden
        smaller = Network(
            ((first[:units, :inputs], b_1[:units]), (second[:units, :units], b_2[:units])),
            self.weight[:, :, :components, :units],
            self.bias[:, :, :components],
        )
        return jax.tree.map(lambda array: np.asarray(array, dtype=np.float64), smaller)

    def is_finite(self) -> bool:
        """Return whether every number in it is."""
        return all(bool(np.isfinite(array).all()) for array in jax.tree.leaves(self))


def known(X, Y, observed):
    """Return the inputs of the network, shape (d_in, n).

    The observed y with 0 for the others, which are observed, then x. Where d_y = 1 the only y is
    never observed, so that the input is x.

    Shapes (d_x, n), (d_y, n), and (d_y, n) or (d_y, 1): 1 where y is observed and 0 where not.
    """
    if Y.shape[0] == 1:
        return X
    xp = array_namespace(Y)
    return xp.concat([Y * observed, observed + 0.0 * Y, X])


def width(X, Y) -> int:
    """Return the d_in of X (d_x, n) and Y (d_y, n)."""
    return X.shape[0] + (2 * Y.shape[0] if Y.shape[0] > 1 else 0)


def log_mixture(mixtures, Y, logsumexp: Callable):
    """Return log Σ_k w_k N(y; μ_k, s_k²), shape (d, n).

    Mixtures are of `Network.mixtures`, Y of shape (d, n), and `logsumexp` is a function of (values,
    axis) of their namespace.
    """
    logits, means, stds = mixtures
    xp = array_namespace(logits)
    distance = (Y[:, None, :] - means) / stds
    terms = logits - 0.5 * distance * distance - xp.log(stds)
    return logsumexp(terms, 1) - logsumexp(logits, 1) - 0.5 * np.log(2.0 * np.pi)


def initial_network(
    inputs: int, units: int, components: int, Y: np.ndarray, rng: np.random.Generator
) -> Network:
    """Return a network before training, in float32 on numpy.

    Hidden weights have variance 2 over the number of their inputs, which keeps the scale of
    rectified units from layer to layer; those of the outputs are nearly zero, so that every
    mixture starts with its means spread evenly over the range of y, standard deviations 1 and
    equal weights, as in the code of Uria et al.

    The range of the training rows Y (d_y, n) places the means; `inputs` is d_in.
    """
    lowest, highest = Y.min(axis=1), Y.max(axis=1)
    steps = np.linspace(0.0, 1.0, components) if components > 1 else np.array([0.5])
    bias = np.zeros((3, Y.shape[0], components, 1))
    bias[1, :, :, 0] = lowest[:, None] + (highest - lowest)[:, None] * steps
    hidden = tuple(
        (np.sqrt(2.0 / max(1, fan)) * rng.standard_normal((units, fan)), np.zeros((units, 1)))
        for fan in (inputs, units)
    )
    weight = _OUTPUT_STD * rng.standard_normal((3, Y.shape[0], components, units))
    return jax.tree.map(lambda array: array.astype(np.float32), Network(hidden, weight, bias))


def padded(network: Network, inputs: int, units: int, components: int) -> Network:
    """Return a network of a larger shape that computes the same, also during training.

    Units without input and output weights always have zero gradients, as do components of zero
    weight and inputs that are zero.
    """
    (first, b_1), (second, b_2) = network.hidden
    hidden = (
        (_grown(first, units, inputs), _grown(b_1, units, 1)),
        (_grown(second, units, units), _grown(b_2, units, 1)),
    )
    d_y, fewer = network.weight.shape[1:3]
    weight = _grown(network.weight, 3, d_y, components, units)
    bias = _grown(network.bias, 3, d_y, components, 1)
    bias[0, :, fewer:] = _ABSENT
    return Network(hidden, weight, bias)


def _grown(array: np.ndarray, *shape: int) -> np.ndarray:
    return np.pad(array, [(0, to - now) for to, now in zip(shape, array.shape, strict=True)])


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


class Rows(eqx.Module):
    """Rows of data as columns, padded to a common number by columns of weight 0.

    X (d_x, n), Y (d_y, n), which y are observed, 0 or 1, (d_y, n), where training draws its own,
    and weights (n,): 1, or 0 for padding, which comes last.
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

    Networks as they were at the best epoch, or at the one asked for; the largest held-out log
    likelihood of a group, summed over its rows; and after how many epochs it was reached.
    """

    networks: Network
    score: object
    epochs: object


def orderless_log_density(network: Network, rows: Rows, observed):
    """Return unbiased estimates of the log density, averaged over orders, shape (n,).

    D/(D - d) Σ_{i not observed} log p(y_i | x, y_observed), with d of the D dimensions of y
    observed (Uria et al., 2016, on orderless and deep NADE).

    Padding counts like any other row.
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


def train(
    networks: Network,
    seeds,
    rows: Rows,
    held_out: Rows,
    stop,
    pool: int,
    recipe: Recipe,
    at_once: int | None = None,
) -> TrainingResult:
    """Train networks of one shape, some of them side by side.

    All arrays have a leading axis F and are on numpy: networks, seeds of the batches, unsigned
    32-bit integers, rows to train on, and rows to stop by. `stop` is the epochs after which to
    stop, equal within a group; 0: where the held-out likelihood says. Each `pool` consecutive
    networks form a group that stops by the sum of their likelihoods. `at_once` networks are side
    by side, a multiple of `pool`; all of them by default. Calls that differ in F alone share a
    program if it is the same. The result depends on the rest of the batch only through rounding,
    which an unstable training amplifies.
    """
    count = np.sum(rows.weight, axis=1).astype(np.int32)
    data = rows, held_out, seeds, count
    drawn = rows.weight.shape[1] > recipe.batch_size
    columns = recipe.batch_size if drawn else rows.weight.shape[1]
    optimiser = jax.tree.map(
        lambda array: np.zeros(array.shape, array.dtype),
        jax.eval_shape(jax.vmap(_optimiser(recipe).init), networks),
    )
    start = networks, optimiser
    members = [slice(first, first + pool) for first in range(0, len(seeds), pool)]
    groups = [_Group(own, int(stop[own.start]), unstack(start, own)) for own in members]
    places, waiting, running = (at_once or len(seeds)) // pool, list(groups), []
    while waiting or running:
        running += [waiting.pop(0) for _ in range(min(len(waiting), places - len(running)))]
        # A place without a group repeats the first one's.
        placed = running + [running[0]] * (places - len(running))
        own = [unstack(data, group.members) for group in placed]
        rows, held_out, seeds, count = jax.device_put(_joined(own))
        state = _joined([group.state for group in placed])
        while all(group.goes_on(recipe) for group in running):
            first = np.repeat([group.epoch for group in placed], pool) * UPDATES
            draws = _draws(seeds, first, count, rows.Y.shape[1], columns, drawn)
            state, scores = _epoch(*state, rows, held_out, *draws, recipe)
            pooled = np.asarray(scores).reshape(places, pool).sum(axis=1)
            for place, group in enumerate(running):
                group.advance(pooled[place], state[0], slice(place * pool, (place + 1) * pool))
        state = to_host(state)
        for place, group in enumerate(running):
            group.state = unstack(state, slice(place * pool, (place + 1) * pool))
        running = [group for group in running if group.goes_on(recipe)]
    kept = [unstack(to_host(group.kept), group.kept_at) for group in groups]
    return TrainingResult(
        _joined(kept),
        np.array([group.score for group in groups]),
        np.array([group.best for group in groups]),
    )


class _Group:
    """Networks that stop together: which they are, and how far their training is."""

    def __init__(self, members: slice, stop: int, state: tuple):
        self.members, self.stop, self.state = members, stop, state
        self.kept, self.kept_at = state[0], slice(None)
        self.score, self.best, self.epoch = np.float32(-np.inf), 0, 0

    def goes_on(self, recipe: Recipe) -> bool:
        """Return whether there is another epoch."""
        if self.epoch >= recipe.epochs:
            return False
        return self.epoch < self.stop if self.stop else self.epoch - self.best < recipe.patience

    def advance(self, score, networks: Network, at: slice):
        """Note an epoch's held-out score, and the networks where they are to be kept."""
        self.epoch += 1
        better = score > self.score
        if better:
            self.score, self.best = score, self.epoch
        if better or self.stop:
            self.kept, self.kept_at = networks, at


@partial(jax.jit, static_argnums=6)
def _epoch(networks, optimiser_state, rows: Rows, held_out: Rows, drawn, observed, recipe: Recipe):
    """Return networks and states of the optimiser after an epoch, and held-out scores.

    Draws are of each network and update the columns of `rows`, and which of their y are observed;
    None: all columns, and as `rows` says.
    """
    optimiser = _optimiser(recipe)

    def update(network, optimiser_state, rows, drawn, observed):
        if drawn is not None:
            rows = jax.tree.map(lambda array: array[..., drawn], rows)
        seen = rows.observed if observed is None else observed
        gradient = jax.grad(_loss)(network, rows, seen)
        change, optimiser_state = optimiser.update(gradient, optimiser_state)
        return optax.apply_updates(network, change), optimiser_state

    def all_networks(carry, draws):
        return jax.vmap(update)(*carry, rows, *draws), None

    draws = jax.tree.map(lambda array: jnp.moveaxis(array, 1, 0), (drawn, observed))
    state, _ = lax.scan(all_networks, (networks, optimiser_state), draws, UPDATES)
    return state, jax.vmap(_held_out_score)(state[0], held_out)


def _optimiser(recipe: Recipe):
    rate = optax.linear_schedule(recipe.learning_rate, 0.0, recipe.epochs * UPDATES)
    return optax.chain(
        optax.clip_by_global_norm(_LARGEST_GRADIENT), optax.sgd(rate, momentum=_MOMENTUM)
    )


# As fast as with all optimisations, which take two seconds.
@partial(jax.jit, static_argnums=(3, 4, 5), compiler_options={"xla_backend_optimization_level": 1})
def _draws(seeds, first, count, dimensions: int, columns: int, drawn: bool) -> tuple:
    """Return for the updates of an epoch the columns, and which of their y are observed.

    Of each network are given the seed, the number of the epoch's first update, and of rows. Columns
    of an update are drawn with replacement, or are all.
    """

    def one(seed, step, count):
        draw_key, order_key = jax.random.split(jax.random.fold_in(jax.random.key(seed), step))
        return (
            jax.random.randint(draw_key, (columns,), 0, count) if drawn else None,
            draw_observed(order_key, dimensions, columns) if dimensions > 1 else None,
        )

    steps = first[:, None] + jnp.arange(UPDATES)
    return jax.vmap(jax.vmap(one, in_axes=(None, 0, None)))(seeds, steps, count)


def _loss(network: Network, rows: Rows, observed):
    log_density = orderless_log_density(network, rows, observed)
    return -jnp.sum(rows.weight * log_density) / jnp.sum(rows.weight)


def _held_out_score(network: Network, rows: Rows):
    return jnp.sum(rows.weight * orderless_log_density(network, rows, rows.observed))


def _joined(trees: list):
    """Return one tree of what several have along the leading axis, on numpy."""
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *trees)


def stack(trees: list):
    """Return one tree whose arrays have a leading axis: the trees, on numpy."""
    return jax.tree.map(lambda *arrays: np.stack(arrays), *trees)


def unstack(tree, index: int | slice):
    """Return one of the trees that were stacked, or several as one."""
    return jax.tree.map(lambda array: array[index], tree)


def to_host(tree):
    """Return the tree on numpy."""
    return jax.tree.map(np.asarray, tree)
