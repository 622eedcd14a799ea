"""The networks of doubly dual embedding: the sampler g, and the dual function ν.

Points are columns, so that the long axis is the fast one. Both work on numpy and on jax arrays.
"""

from itertools import pairwise

import equinox as eqx
import numpy as np

from kcde.arrays import array_namespace


class Sampler(eqx.Module):
    """g(x, ξ): standard normal ξ to y, given x (dde, section 4; the shapes of the authors' code).

    Attributes
    ----------
    embedding
        Weights (z, d_x) and biases (z, 1) of a linear map of x, which is concatenated before ξ;
        None without x.
    layers
        Weights and biases; all layers but the last are rectified.
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

    Attributes
    ----------
    embedding
        Weights (d_x, d_y) and biases of a linear map of y, which is concatenated after x; None
        without x.
    layers
        Weights and biases; all layers but the last, which has one output, are rectified.
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


def initial_sampler(
    d_x: int, d_y: int, hidden: int, latent: int, layers: int, rng: np.random.Generator
) -> Sampler:
    """Return a sampler before training, float32 on numpy."""
    embedding = _layer(d_x, latent, rng) if d_x else None
    widths = [2 * latent if d_x else latent, *[hidden] * (layers - 1), d_y]
    return Sampler(embedding, _layers(widths, rng))


def initial_dual(d_x: int, d_y: int, hidden: int, layers: int, rng: np.random.Generator) -> Dual:
    """Return a dual function before training, float32 on numpy."""
    embedding = _layer(d_y, d_x, rng) if d_x else None
    return Dual(embedding, _layers([2 * d_x or d_y, *[hidden] * (layers - 1), 1], rng))


def _layers(widths: list[int], rng: np.random.Generator) -> tuple:
    return tuple(_layer(*pair, rng) for pair in pairwise(widths))


def _layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> tuple:
    """Return weights uniform within √(6/(fan_in + fan_out)) (Glorot and Bengio), and biases 0."""
    limit = np.sqrt(6.0 / (fan_in + fan_out))
    weight = rng.uniform(-limit, limit, (fan_out, fan_in)).astype(np.float32)
    return weight, np.zeros((fan_out, 1), dtype=np.float32)
