"""The network of NADE: from the observed variables to a Gaussian mixture for each y.

Points are columns here, so that the long axis is the fast one. Everything works on numpy and on
jax arrays: training is in float32 on jax, prediction in float64 on numpy.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np

from kcde.arrays import array_namespace

SMALLEST_STD = 1e-3
"""Added to every standard deviation: y that repeats itself would make the likelihood unbounded."""

_LARGEST_LOG_STD = 10.0
_OUTPUT_STD = 0.01
_ABSENT = -1e30


class Network(eqx.Module):
    """Two layers of rectified linear units and one mixture of K Gaussians for each dimension of y.

    Attributes
    ----------
    hidden
        Weights and biases of the layers: shapes (H, d_in), (H, 1) and (H, H), (H, 1).
    weight, bias
        Of the outputs, shapes (3, d_y, K, H) and (3, d_y, K, 1): along the first axis logits of
        the weights, means, logarithms of the standard deviations.
    """

    hidden: tuple
    weight: object
    bias: object

    def mixtures(self, inputs, dimensions: slice = slice(None)):
        """Return the mixtures of some dimensions of y.

        Parameters
        ----------
        inputs
            Shape (d_in, n), from `known`.
        dimensions
            Dimensions of y to return; all by default.

        Returns
        -------
        logits, means, standard deviations
            Each of shape (d, K, n) for d dimensions.
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

    Parameters
    ----------
    X, Y
        Shapes (d_x, n), (d_y, n).
    observed
        Shape (d_y, n) or (d_y, 1), 1 where y is observed and 0 where it is not.
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

    Parameters
    ----------
    mixtures
        From `Network.mixtures`.
    Y
        Shape (d, n).
    logsumexp
        Function of (values, axis) of the namespace of the arrays.
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

    Parameters
    ----------
    inputs
        d_in.
    units, components
        H, K.
    Y
        Training rows, shape (d_y, n): their range places the means.
    rng
        Source of the weights.
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

    Parameters
    ----------
    network
        In numpy.
    inputs, units, components
        The larger shape.
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
