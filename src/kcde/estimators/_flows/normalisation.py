"""Batch normalisation between the layers of a flow (Dinh et al., ICLR 2017, section 3.7)."""

import equinox as eqx
import jax.numpy as jnp
from flowjax.bijections import AbstractBijection
from jax import Array
from paramax import AbstractUnwrappable, NonTrainable

_LEAST_VARIANCE = 1e-5


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
