"""Sampling of a fitted joint density: by its estimator, or by Hamiltonian Monte Carlo.

A product of conditionals is sampled a column after its parents. As published (kcef, section 4) the
draws come from Hamiltonian Monte Carlo: for a column without parents 20 chains of 1000 transitions
after 100 of burn-in, thinned by 10; given parents, a chain for each row of them. The convergence
of these is checked once per model, at a few training rows with 20 chains each. Adapted (ours), the
chains of one model of all columns share step size and metric, and have a burn-in of 1000.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.joint import JointDensity
from kcde.metrics.names import DIVERGENCE_RATE, R_HAT
from kcde.names import SAMPLED_BY
from kcde.seeding import rng_of

_CHECKED_ROWS = 5

# How adapted chains differ from the published ones: declared before any sample was compared.
ADAPTED = {"burn_in": 1000, "windows": True}


class Draws(NamedTuple):
    """Samples, shape (n, d), on the host; what Hamiltonian Monte Carlo says of them, or {}."""

    samples: np.ndarray
    diagnostics: dict[str, float]


def sampler_kind(estimator, method: str) -> str:
    """Return "hmc", "adapted" or "direct".

    It is what the ending of the method's name says (`kcde.names.SAMPLED_BY`), else "hmc" where the
    estimator offers it, else "direct". Adapted chains are of one density, not of a graph.
    """
    named = (kind for ending, kind in SAMPLED_BY.items() if method.endswith(ending))
    return next(named, "hmc" if hasattr(estimator, "sample_hmc") else "direct")


def sampler_of(
    model, kind: str, train, n: int, **options
) -> Callable[[int, np.random.Generator], Draws]:
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
        return Draws(result.draws[0], _diagnostics([result], [result]))

    return draw


def check_conditionals(model: JointDensity, rows, n: int) -> list:
    """Return how Hamiltonian Monte Carlo does at fixed parents: n draws from 20 chains each.

    `rows`, shape (k, d), on the backend of the model, have the parents; there is a result for every
    factor that has any.
    """
    xp, on_host = array_namespace(rows), to_numpy(rows)
    return [
        factor.sample_hmc(xp.asarray(on_host[:, before]), n, rng_of("check", column))
        for column, (factor, before) in enumerate(zip(model.factors_, model.parents_, strict=True))
        if before
    ]


def ancestral_hmc(
    model: JointDensity, n: int, rng: np.random.Generator, checks: Sequence = ()
) -> Draws:
    """Draw n rows from a product of conditionals by Hamiltonian Monte Carlo.

    The diagnostics are the mean acceptance and the divergences of the transitions that made the
    samples, and the worst R-hat and effective sample size over the columns without parents and the
    checks (of `check_conditionals`): a single chain for each row of parents has none.
    """
    results, several = [], list(checks)

    def draw(column: int, given):
        factor, xp = model.factors_[column], array_namespace(given)
        if given.shape[1]:
            results.append(factor.sample_hmc(given, 1, rng))
            return xp.asarray(results[-1].draws[:, 0, 0])
        results.append(factor.sample_hmc(given[:1, :], n, rng))
        several.append(results[-1])
        # Draws of a chain follow each other: shuffled, the rows are exchangeable.
        return xp.asarray(rng.permutation(results[-1].draws[0, :, 0]))

    samples = to_numpy(model.ancestral(draw, n))
    return Draws(samples, _diagnostics(results, several))


def _diagnostics(results: list, several: list) -> dict[str, float]:
    """Return rates over the chains that made the samples, and the worst of those comparable.

    The rate of divergences is that of the worst column.
    """
    return {
        "acceptance_rate": float(np.mean([each.acceptance for each in results])),
        R_HAT: float(np.max([each.r_hat for each in several])),
        "effective_sample_size": float(np.min([c.effective_sample_size for c in several])),
        "divergences": float(sum(each.divergences for each in results)),
        DIVERGENCE_RATE: max(each.divergences / each.transitions for each in results),
    }
