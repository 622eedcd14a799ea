"""Conditional flows of flowjax: how they are built, and their densities and draws in float64."""

from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import Chain, Invert, Scan
from flowjax.distributions import StandardNormal, Transformed
from flowjax.flows import coupling_flow, masked_autoregressive_flow

from kcde.estimators._flows.normalisation import BatchNormalisation
from kcde.estimators._shared.batch_fit import configure

configure()

COUPLING, AUTOREGRESSIVE = "coupling", "autoregressive"
_HIDDEN_LAYERS = 2
_FEWEST_ROWS, _MOST_ROWS = 64, 8192


@dataclass(frozen=True)
class Architecture:
    """Parameters that flows must share to be computed by one program.

    Attributes
    ----------
    kind
        `COUPLING` or `AUTOREGRESSIVE`.
    inputs, outputs
        d_x, at least 1, and d_y.
    hidden_units
        Units of each of the two hidden layers of a conditioner.
    layers
        Transformations of y, one after the other.
    normalised
        Number of them, counted from that of y, that are followed by batch normalisation.
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
        make, activation = _MAKERS[self.kind]
        flow = make(
            key,
            base_dist=StandardNormal((self.outputs,)),
            cond_dim=self.inputs,
            flow_layers=self.layers,
            nn_width=self.hidden_units,
            nn_depth=_HIDDEN_LAYERS,
            nn_activation=activation,
        )
        layers = eqx.filter_vmap(self._followed)(layers_of(flow))
        return Transformed(flow.base_dist, Invert(Scan(layers)))

    def _followed(self, layer) -> Chain:
        return Chain([layer, BatchNormalisation(self.outputs)])


_MAKERS = {
    COUPLING: (coupling_flow, jax.nn.elu),
    AUTOREGRESSIVE: (masked_autoregressive_flow, jnp.tanh),
}


class Flow:
    """A trained flow, T_x(z) = y with z standard normal.

    Parameters
    ----------
    architecture
        Shape of the flow.
    leaves
        Its arrays, in the order of `jax.tree.leaves`; floating ones become float64.
    """

    def __init__(self, architecture: Architecture, leaves: list):
        self.architecture = architecture
        self.leaves = [_in_double(np.asarray(leaf)) for leaf in leaves]

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


def _in_double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind == "f" else array
