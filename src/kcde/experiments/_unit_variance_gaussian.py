"""The Gaussian process of the donut as the authors of cdo score it."""

from collections.abc import Callable

import numpy as np

from kcde.arrays import array_namespace

_LOG_ROOT_TWO_PI = float(0.5 * np.log(2.0 * np.pi))


class UnitVarianceGaussian:
    """p(y|x) = N(y; m(x), I) with the predictive mean of a model.

    The authors' code asks its processes for the mean alone and takes the Gaussian density of
    standard deviation 1 around it, in place of that of the predictive variance.

    Parameters
    ----------
    model
        Fitted, with `mean`.
    """

    def __init__(self, model):
        self.model = model

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), nats, shape (n, q), at shared Y (q, d_y)."""

        def at(X):
            difference = Y[None, :, :] - self.model.mean(X)[:, None, :]
            return -array_namespace(Y).sum(0.5 * difference**2 + _LOG_ROOT_TWO_PI, axis=2)

        return at

    def density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        log_at = self.log_density_at(Y)
        return lambda X: array_namespace(Y).exp(log_at(X))
