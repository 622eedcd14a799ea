"""Sampling of a fitted joint density: by its estimator, or by Hamiltonian Monte Carlo.

A product of conditionals is sampled a column after its parents. As published (kcef, section 4) the
draws come from Hamiltonian Monte Carlo: for a column without parents 20 chains of 1000 transitions
after 100 of burn-in, thinned by 10; given parents, a chain for each row of them. The convergence
of these is checked once per model, at a few training rows with 20 chains each. Adapted (ours), the
chains of one model of all columns share step size and metric, and have a burn-in of 1000.
"""

from collections.abc import Callable

import numpy as np

from kcde.arrays import to_numpy
from kcde.joint import Draws, JointDensity, ancestral_hmc, check_conditionals, hmc_diagnostics
from kcde.names import SAMPLED_BY

_CHECKED_ROWS = 5

# How adapted chains differ from the published ones: declared before any sample was compared.
ADAPTED = {"burn_in": 1000, "windows": True}


def sampler_kind(estimator, method: str) -> str:
    """Return "hmc", "adapted" or "direct".

    It is what the ending of the method's name says (`kcde.names.SAMPLED_BY`), else "hmc" where the
    estimator offers it, else "direct". Adapted chains are of one density, not of a graph.
    """
    named = (kind for ending, kind in SAMPLED_BY.items() if method.endswith(ending))
    return next(named, "hmc" if hasattr(estimator, "sample_hmc") else "direct")


def sampler_of(model, kind: str, train, n: int, **options) -> Callable:
    """Return the function of (n, rng) that draws from a fitted model.

    `train`: the rows that it was fitted to, on its backend, at the first of which convergence is
    checked with n draws; `options`: for `sample_hmc` of an estimator without x.
    """
    if kind == "direct":
        no_x = train[:1, :0]
        return lambda n, rng: Draws(to_numpy(model.sample(no_x, n, rng))[0], {})
    if isinstance(model, JointDensity):
        checks = check_conditionals(model, train[: min(_CHECKED_ROWS, train.shape[0]), :], n)
        return lambda n, rng: ancestral_hmc(model, n, rng, checks)
    how = {**(ADAPTED if kind == "adapted" else {}), **options}

    def draw(n: int, rng: np.random.Generator) -> Draws:
        result = model.sample_hmc(None, n, rng, **how)
        return Draws(result.draws[0], hmc_diagnostics([result], [result]))

    return draw
