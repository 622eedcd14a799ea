"""Conditional flows of flowjax: how they are built, evaluated in float64, trained and chosen.

Training is full-batch Adam in float32. To compile takes longer than to train on few rows, so rows
are padded to few lengths, and trainings of one architecture that differ otherwise share a program.
Batch normalisation stands between the layers (Dinh et al., ICLR 2017, section 3.7).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flowjax.bijections import AbstractBijection, Chain, Invert, Scan
from flowjax.distributions import StandardNormal, Transformed
from flowjax.flows import coupling_flow, masked_autoregressive_flow
from jax import Array, lax
from paramax import AbstractUnwrappable, NonTrainable


def configure() -> None:
    """Set threads, platform, memory and precision of jax, before the first computation on it.

    XLA takes as many threads as there are processors, regardless of OMP_NUM_THREADS; on the CPU it
    obeys NPROC, which is set to what OMP_NUM_THREADS says, 1 by default. Unless JAX_PLATFORMS says
    otherwise training is on the CPU, so that results do not depend on whether there is a GPU.

    With JAX_PLATFORMS=cuda it is on the GPU, which cupy may want too: jax then takes memory as it
    needs it, not three quarters of the card at once, and multiplies float32 in float32, where its
    own default is TensorFloat-32 with 10 of the 23 bits. Jax's own variables,
    XLA_PYTHON_CLIENT_PREALLOCATE and JAX_DEFAULT_MATMUL_PRECISION, set both otherwise.
    """
    os.environ.setdefault("NPROC", os.environ.get("OMP_NUM_THREADS", "1"))
    # jax reads it with the first computation, not when it is imported.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if jax.config.jax_platforms is None:
        jax.config.update("jax_platforms", "cpu")
    # The CPU has no TensorFloat-32; without the setting its programs stay identical.
    if jax.config.jax_platforms != "cpu" and jax.config.jax_default_matmul_precision is None:
        jax.config.update("jax_default_matmul_precision", "float32")


configure()

PATIENCE = 30
"""Steps without a better held-out likelihood after which a training stops."""

_HIDDEN_LAYERS = 2
_FEWEST_ROWS, _MOST_ROWS = 64, 8192
_LEAST_VARIANCE = 1e-5
_BLOCK = 256
# Of the gradient of a sum over rows, as the authors'.
_WEIGHT_DECAY = 1e-6


class BatchNormalisation(AbstractBijection):
    """y -> (y - mean) / √variance · exp(log_gamma) + beta, at first the identity.

    While weights are trained the moments are those of all rows that enter, functions of the
    weights before; after it they are constants, and no row's density depends on another row.
    """

    shape: tuple[int, ...] = eqx.field(static=True)
    cond_shape: None = eqx.field(static=True)
    log_gamma: Array
    beta: Array
    mean: Array | AbstractUnwrappable[Array]
    variance: Array | AbstractUnwrappable[Array]

    def __init__(self, outputs: int):
        self.shape, self.cond_shape = (outputs,), None
        self.log_gamma = self.beta = jnp.zeros(outputs)
        self.mean, self.variance = NonTrainable(jnp.zeros(outputs)), NonTrainable(jnp.ones(outputs))

    def transform_and_log_det(self, x, condition=None):
        return normalised(self, x, self.mean, self.variance)

    def inverse_and_log_det(self, y, condition=None):
        log_slope = _log_slope(self, self.variance)
        return (y - self.beta) * jnp.exp(-log_slope) + self.mean, -jnp.sum(log_slope)


def normalised(layer: BatchNormalisation, Y, mean, variance):
    """Return rows Y (..., d_y) normalised by these moments, and the log slope, one number."""
    log_slope = _log_slope(layer, variance)
    return (Y - mean) * jnp.exp(log_slope) + layer.beta, jnp.sum(log_slope)


def moments(Y, real):
    """Return mean and variance + 1e-5, shape (d_y,), of the rows of Y (..., d_y) that are real."""
    rows, weight = Y.reshape(-1, Y.shape[-1]), real.reshape(-1, 1) / jnp.sum(real)
    mean = jnp.sum(weight * rows, axis=0)
    return mean, jnp.sum(weight * (rows - mean) ** 2, axis=0) + _LEAST_VARIANCE


def _log_slope(layer: BatchNormalisation, variance):
    return layer.log_gamma - 0.5 * jnp.log(variance)


@dataclass(frozen=True)
class Architecture:
    """Parameters that flows must share to be computed by one program.

    `kind` is "coupling" or "autoregressive", inputs d_x, at least 1, outputs d_y, hidden_units the
    units of each of the two hidden layers of a conditioner, layers the number of transformations
    of y, one after the other, of which the first `normalised`, counted from that of y, are followed
    by batch normalisation.
    """

    kind: str
    inputs: int
    outputs: int
    hidden_units: int
    layers: int
    normalised: int = 0

    def build(self, key) -> Transformed:
        """Return a flow with random weights.

        A layer takes each y_i to y_i s + t, with s > 0.01 and t a network's functions of x and
        of the y that the layer lets it see; the last layer gives a standard normal. Behind each
        is a batch normalisation, which is the identity until statistics are put in.
        """
        coupling = self.kind == "coupling"
        flow = (coupling_flow if coupling else masked_autoregressive_flow)(
            key,
            base_dist=StandardNormal((self.outputs,)),
            cond_dim=self.inputs,
            flow_layers=self.layers,
            nn_width=self.hidden_units,
            nn_depth=_HIDDEN_LAYERS,
            nn_activation=jax.nn.elu if coupling else jnp.tanh,
        )
        followed = eqx.filter_vmap(lambda layer: Chain([layer, BatchNormalisation(self.outputs)]))
        return Transformed(flow.base_dist, Invert(Scan(followed(layers_of(flow)))))


class Flow:
    """A trained flow, T_x(z) = y with z standard normal.

    `leaves` are its arrays, in the order of `jax.tree.leaves`; floating ones become float64.
    """

    def __init__(self, architecture: Architecture, leaves: list):
        self.architecture = architecture
        arrays = map(np.asarray, leaves)
        self.leaves = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]

    def is_finite(self) -> bool:
        """Return whether every number in it is."""
        return all(bool(np.isfinite(leaf).all()) for leaf in self.leaves)

    def inverse(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return z = T_x⁻¹(y), shape (n, d_y), and log |dz/dy|, shape (n,), of pairs of rows."""
        return self._in_blocks(_inverse, X, Y)

    def push(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return T_x(z), shape (n, d_y), of pairs of rows."""
        return self._in_blocks(_push, X, Z)[0]

    def _in_blocks(self, function, X, V) -> tuple[np.ndarray, ...]:
        """Apply a compiled function to blocks of few different lengths: each length compiles."""
        with jax.enable_x64(True):
            parts = []
            for start in range(0, max(1, len(V)), _MOST_ROWS):
                x, v = X[start : start + _MOST_ROWS], V[start : start + _MOST_ROWS]
                found = function(self.architecture, self.leaves, _padded(x), _padded(v))
                parts.append([np.asarray(part)[: len(v)] for part in found])
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def rebuilt(architecture: Architecture, leaves: list) -> Transformed:
    """Return the flow with these arrays; inside a compiled function the others cost nothing."""
    arrays, rest = eqx.partition(architecture.build(_key(0)), eqx.is_array)
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(arrays), leaves), rest)


def layers_of(flow: Transformed):
    """Return the layers of a flow, each with its batch normalisation, stacked in their arrays."""
    return flow.bijection.bijection.bijection


def with_statistics(flow: Transformed, mean, variance) -> Transformed:
    """Return the flow with these moments, shapes (layers, d_y), in its batch normalisations."""

    def statistics(flow):
        normalisation = layers_of(flow).bijections[1]
        return normalisation.mean, normalisation.variance

    return eqx.tree_at(statistics, flow, (mean, variance))


@partial(jax.jit, static_argnums=0)
def initial_leaves(architecture: Architecture, seed) -> list:
    """Return the arrays of a flow with random weights, from an unsigned 32-bit seed."""
    return jax.tree.leaves(eqx.filter(architecture.build(_key(seed)), eqx.is_array))


def _key(seed):
    # This generator compiles in a second where the default takes six. It is not to be vmapped.
    return jax.random.key(seed, impl="unsafe_rbg")


@partial(jax.jit, static_argnums=0)
def _inverse(architecture: Architecture, leaves: list, X, Y):
    return rebuilt(architecture, leaves).bijection._vectorize.inverse_and_log_det(Y, X)


@partial(jax.jit, static_argnums=0)
def _push(architecture: Architecture, leaves: list, X, Z):
    return (rebuilt(architecture, leaves).bijection._vectorize.transform(Z, X),)


def _padded(rows: np.ndarray) -> np.ndarray:
    size = max(_FEWEST_ROWS, 1 << max(0, len(rows) - 1).bit_length())
    return np.concatenate([rows, np.zeros((size - len(rows), rows.shape[1]))])


class Trained(NamedTuple):
    """A flow as it was after `steps` of Adam.

    The held-out value is a mean log density, nats, -inf where the first step diverged; the history
    is the mean negative log density of a row before each step, nats.
    """

    flow: Flow
    steps: int
    held_out: float
    history: np.ndarray


def train(architecture: Architecture, seed: int, X, Y, stages, most_steps: int = 0) -> Trained:
    """Maximise the likelihood of rows X (n, d_x), Y (n, d_y), in float32.

    The seed of the initial weights is an unsigned 32-bit integer. A stage is a number of steps of
    Adam, each on all rows, on the sum over rows, with weight decay 1e-6, and their learning rate;
    every stage begins with new moments. All stages are one program, which depends on the most
    steps: `most_steps`, if none is longer.
    """
    most_steps = max(most_steps, *(steps for steps, _ in stages))
    leaves, history = initial_leaves(architecture, np.uint32(seed)), []
    for steps, rate in stages:
        found = _run(architecture, leaves, X, Y, np.zeros(len(Y)), rate, most_steps, steps)
        leaves = found.flow.leaves
        history.append(found.history)
    return found._replace(history=np.concatenate(history), steps=sum(map(len, history)))


def _run(architecture, leaves, X, Y, held, rate, most_steps: int, given: int) -> Trained:
    """Train for `given` steps, whatever the rows held out say, or by them where it is negative."""
    rows = _blocks(X, Y, held)
    leaves = [np.asarray(leaf, np.float32 if leaf.dtype.kind == "f" else None) for leaf in leaves]
    found = _watch(architecture, most_steps, leaves, rows, np.float32(rate), np.int32(given))
    leaves, steps, held_out, losses = jax.tree.map(np.asarray, found)
    history = losses[:steps].astype(np.float64)
    return Trained(Flow(architecture, leaves), int(steps), float(held_out), history)


@partial(jax.jit, static_argnums=(0, 1))
def _watch(architecture, most_steps, leaves, rows: "_Rows", rate, given):
    flow = rebuilt(architecture, leaves)
    weights, rest = eqx.partition(flow, eqx.is_inexact_array, is_leaf=_is_constant)
    optimiser = optax.chain(optax.add_decayed_weights(_WEIGHT_DECAY), optax.adam(rate))

    def loss(weights):
        log_density, statistics = _log_densities(_combine(weights, rest), architecture, rows)
        # 0 of a row whose density has left the range would make NaN of the sum of the others.
        of_held = jnp.sum(jnp.where(rows.held > 0, log_density, 0.0))
        of_held /= jnp.maximum(jnp.sum(rows.held), 1.0)
        return -jnp.sum(jnp.where(rows.real > 0, log_density, 0.0)), (of_held, statistics)

    def goes_on(state):
        within = (state.step <= most_steps) & (state.step - state.best_step <= PATIENCE)
        return jnp.where(given < 0, within, state.step <= given)

    def move(state):
        found, gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
        value, (of_held, statistics) = found
        better = jnp.where(given < 0, of_held > state.best, True)
        now = state.weights, statistics, of_held, state.step
        was = state.best_weights, state.best_statistics, state.best, state.best_step
        kept = jax.tree.map(partial(jnp.where, better), now, was)
        change, moments = optimiser.update(gradient, state.moments, state.weights)
        return _State(
            state.step + 1,
            optax.apply_updates(state.weights, change),
            moments,
            *kept,
            jnp.isfinite(of_held),
            state.losses.at[state.step].set(value / jnp.sum(rows.real)),
        )

    none = (jnp.zeros((architecture.layers, architecture.outputs)),) * 2
    moments, losses = optimiser.init(weights), jnp.zeros(most_steps + 1)
    start = _State(0, weights, moments, weights, none, -jnp.inf, 0, True, losses)
    end = lax.while_loop(goes_on, move, start)
    flow = with_statistics(_combine(end.best_weights, rest), *end.best_statistics)
    # Weights that no step has made better, and that left the range, are not a training.
    best = jnp.where((end.best_step == 0) & ~end.finite, -jnp.inf, end.best)
    return jax.tree.leaves(eqx.filter(flow, eqx.is_array)), end.best_step, best, end.losses


class _State(NamedTuple):
    """A training: weights before a step, those of the best so far, and if the last is finite."""

    step: int
    weights: Transformed
    moments: tuple
    best_weights: Transformed
    best_statistics: tuple
    best: float
    best_step: int
    finite: bool
    losses: np.ndarray


def _combine(weights, rest) -> Transformed:
    return eqx.combine(weights, rest, is_leaf=_is_constant)


def _is_constant(node) -> bool:
    return isinstance(node, NonTrainable)


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
    held: np.ndarray


def _blocks(X: np.ndarray, Y: np.ndarray, held: np.ndarray) -> _Rows:
    """Return rows (n, d) in blocks of one length in float32.

    Their length is a multiple of 64, so that data of about as many rows share a program.
    """
    count = -(-len(Y) // _BLOCK)
    size = -(-len(Y) // (count * _FEWEST_ROWS)) * _FEWEST_ROWS
    parts = X, Y, 1.0 - held[:, None], held[:, None]
    padded = [np.pad(part, ((0, count * size - len(Y)), (0, 0))) for part in parts]
    X, Y, real, held = (part.astype(np.float32).reshape(count, size, -1) for part in padded)
    return _Rows(X, Y, real[..., 0], held[..., 0])


def choose(tried: Sequence[tuple], seed: int, X, Y, held, most_steps: int) -> tuple:
    """Choose by the rows held out, and train the choice on all rows.

    `tried` are architectures with learning rates; `held` says whether a row is held out, (n,).
    Each is trained on the others until `PATIENCE` steps after its best, or for `most_steps`, and
    the statistics of its batch normalisations are of these rows. Returns the flow, the place of
    its candidate and how all did.
    """
    found = []
    for architecture, rate in tried:
        given = X, Y, held.astype(float), rate, most_steps, -1
        found.append(_run(architecture, initial_leaves(architecture, np.uint32(seed)), *given))
    score, steps = (np.array([getattr(f, n) for f in found]) for n in ("held_out", "steps"))
    best = int(np.argmax(score))
    architecture, rate = tried[best]
    trained = train(architecture, seed, X, Y, [(int(steps[best]), rate)], most_steps)
    return trained, best, {"score": score, "steps": steps}
