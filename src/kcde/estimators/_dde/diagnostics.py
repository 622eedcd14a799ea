"""Diagnostics of doubly dual embedding: the objective, and the distance of g from the data."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from kcde.estimators._dde.functional import Expansion
from kcde.estimators._dde.problem import Problem, Recipe, squared_distances
from kcde.estimators._dde.training import State, dual_values, f_values, normal

_DRAWS = 1000


class Diagnosis(NamedTuple):
    """Numbers of each problem.

    Attributes
    ----------
    objective
        ℓ̃(f, ν, g) of dde, equation 18, plus 1/λ: E_D f - E_g f - η/2 ‖f‖² + (E_g ν - E_p0 exp ν
        + 1)/λ, at training x and one set of draws.
    mmd2_biased
        Biased MMD² between training pairs and draws of g at training x, with the kernel of f.
    """

    objective: object
    mmd2_biased: object


@eqx.filter_jit
def diagnose(state: State, seeds, problem: Problem, recipe: Recipe) -> Diagnosis:
    """Return the diagnosis of all problems, which have a leading axis.

    O(1000 (m + H²)) time a problem, for m basis functions and H units.
    """

    def one(state, seed, problem):
        key = jax.random.key(seed)
        rows = _rows(problem)
        fakes = state.sampler(problem.X[:, rows], normal(key, (recipe.latent, len(rows))))
        objective = _objective(state, jax.random.fold_in(key, 1), rows, fakes, problem, recipe)
        return Diagnosis(objective, _mmd2(rows, fakes, problem))

    return jax.vmap(one)(state, seeds, problem)


def _rows(problem: Problem):
    """Return training rows whose x the draws are for: each as often, a thousand or fewer."""
    n = problem.Y.shape[1]
    times = 1 if problem.X.shape[0] else max(1, _DRAWS // n)
    return jnp.tile(jnp.arange(min(n, _DRAWS)), times)


def _objective(state: State, key, rows, fakes, problem: Problem, recipe: Recipe):
    dual = state.weights if state.dual is None else state.dual
    spread = problem.spread * (
        jax.random.uniform(key, fakes.shape) - 0.5 if recipe.uniform else normal(key, fakes.shape)
    )
    at_data = f_values(state.weights, rows, problem.Y[:, rows], problem, recipe)
    at_fakes = f_values(state.weights, rows, fakes, problem, recipe)
    nu = dual_values(dual, rows, fakes, problem, recipe)
    prior = dual_values(dual, rows, problem.centre + spread, problem, recipe)
    divergence = jnp.mean(nu) - jnp.mean(jnp.exp(prior)) + 1.0
    objective = jnp.mean(at_data) - jnp.mean(at_fakes) + recipe.dual_weight * divergence
    return objective - 0.5 * _penalty(state.weights, problem)


def _penalty(weights, problem: Problem):
    """Return η ‖f‖²."""
    if isinstance(weights, Expansion):
        return problem.penalty * weights.norm2()
    return weights @ problem.penalty_gradient(weights)


def _mmd2(rows, fakes, problem: Problem):
    kept = slice(0, min(problem.Y.shape[1], _DRAWS))
    data = problem.scaled_x[:, kept], problem.inverse_y * problem.Y[:, kept]
    drawn = problem.scaled_x[:, rows], problem.inverse_y * fakes

    def mean_kernel(a, b):
        distance = squared_distances(a[1].T, b[1])
        if a[0].shape[0]:
            distance = distance + squared_distances(a[0].T, b[0])
        return jnp.mean(jnp.exp(-distance))

    return mean_kernel(data, data) + mean_kernel(drawn, drawn) - 2.0 * mean_kernel(data, drawn)
