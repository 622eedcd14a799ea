"""Stochastic functional gradients for f and ν (dde, Algorithm 2).

For each update of g, f and ν start at 0 and take K steps of size τ_k = 1/√k in the function space
(equations 19 to 21); each step adds a kernel at a data point, at a draw of g and at a draw of p_0.
O(K² d) time and O(K d) memory.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import lax

from kcde.estimators._dde.problem import Problem, Recipe, squared_distances

_LARGEST_EXPONENT = 10.0  # of ν; not in the paper: a first draw far out would end the training


class Expansion(eqx.Module):
    """f and ν as sums of kernels at common points.

    Attributes
    ----------
    scaled_x, scaled_y
        Points over √2 σ, shapes (3K, d_x), (3K, d_y): K of the data, K of g, K of p_0.
    f_weights, nu_weights
        Shape (3K,).
    """

    scaled_x: object
    scaled_y: object
    f_weights: object
    nu_weights: object

    def f(self, scaled_x, scaled_y):
        """Return f, shape (B,), at points over √2 σ, shapes (d_x, B), (d_y, B)."""
        return self.f_weights @ _kernel(self.scaled_x, self.scaled_y, scaled_x, scaled_y)

    def nu(self, scaled_x, scaled_y):
        """Return ν, likewise."""
        return self.nu_weights @ _kernel(self.scaled_x, self.scaled_y, scaled_x, scaled_y)

    def norm2(self):
        """Return ‖f‖²."""
        return self.f_weights @ self.f(self.scaled_x.T, self.scaled_y.T)


def functional_gradients(problem: Problem, rows, fakes, priors, recipe: Recipe) -> Expansion:
    """Return f and ν after K steps from 0.

    Parameters
    ----------
    problem
        One problem.
    rows
        Training rows of the steps, shape (K,).
    fakes, priors
        Draws of g at the x of these rows, and of the base density, shapes (d_y, K).
    recipe
        How to train.
    """
    steps = 1.0 / jnp.sqrt(jnp.arange(1, len(rows) + 1, dtype=jnp.float32))
    # (1 - ητ) of every later step shrinks what a step added.
    kept = jnp.cumprod((1.0 - problem.penalty * steps)[::-1])[::-1]
    f_weights = steps * jnp.append(kept[1:], 1.0)
    x, scale = problem.scaled_x[:, rows], problem.inverse_y
    added, removed = _nu_weights(x, scale * fakes, scale * priors, recipe.dual_weight * steps)
    nothing = jnp.zeros_like(f_weights)
    return Expansion(
        jnp.tile(x.T, (3, 1)),
        jnp.concatenate([scale * problem.Y[:, rows], scale * fakes, scale * priors], axis=1).T,
        jnp.concatenate([f_weights, -f_weights, nothing]),
        jnp.concatenate([nothing, added, -removed]),
    )


def _nu_weights(x, fakes, priors, steps):
    """Return the weights of ν at the draws of g, and, to be subtracted, at those of p_0."""
    at_fakes = _kernel(x.T, fakes.T, x, priors)
    at_priors = _kernel(x.T, priors.T, x, priors)

    def step(removed, k):
        # Only earlier steps have a weight yet: `removed` is 0 from k on.
        earlier = jnp.where(jnp.arange(len(steps)) < k, steps, 0.0)
        value = earlier @ at_fakes[:, k] - removed @ at_priors[:, k]
        weight = steps[k] * jnp.exp(jnp.minimum(value, _LARGEST_EXPONENT))
        return removed.at[k].set(weight), None

    removed, _ = lax.scan(step, jnp.zeros_like(steps), jnp.arange(len(steps)))
    return steps, removed


def _kernel(points_x, points_y, x, y):
    """Return k_X k_Y, shape (m, B), between points (m, d) and columns (d, B), all over √2 σ."""
    distance = squared_distances(points_y, y)
    if points_x.shape[1]:
        distance = distance + squared_distances(points_x, x)
    return jnp.exp(-distance)
