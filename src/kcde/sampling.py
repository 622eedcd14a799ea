"""Sampling: inversion of a one-dimensional distribution function, Hamiltonian Monte Carlo."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class HMCSample(NamedTuple):
    """What `hmc` returns: final states (chains, d) and the mean acceptance after warm-up."""

    states: np.ndarray
    acceptance: float


def inverse_cdf(
    log_density: np.ndarray, nodes: np.ndarray, n_samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw from one-dimensional densities tabulated on a common grid.

    The distribution function is the trapezoid rule's, inverted piecewise linearly: exact up to
    the spacing of the grid. O(n (q + n_samples log q)) time.

    Parameters
    ----------
    log_density
        Shape (n, q), up to a constant per row.
    nodes
        Shape (q,), increasing.
    n_samples
        Draws per row.
    rng
        Source of the draws.

    Returns
    -------
    numpy.ndarray
        Shape (n, n_samples).
    """
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    steps = 0.5 * (density[:, 1:] + density[:, :-1]) * np.diff(nodes)
    cdf = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    cdf /= cdf[:, -1:]
    uniform = rng.random((len(cdf), n_samples))
    return np.stack([np.interp(u, F, nodes) for u, F in zip(uniform, cdf, strict=True)])


def hmc(
    log_density: Callable[[np.ndarray], np.ndarray],
    gradient: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    rng: np.random.Generator,
    *,
    transitions: int = 100,
    leapfrog_steps: int = 10,
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> HMCSample:
    """Run one Hamiltonian Monte Carlo chain per row of `start`, side by side.

    The step size adapts to the mean acceptance of all chains during the first half (the
    warm-up) and is fixed after it. Each leapfrog step is drawn within 10% of it, so that no
    orbit is periodic.

    Parameters
    ----------
    log_density
        Maps states (chains, d) to their log densities up to a constant, shape (chains,).
    gradient
        Maps states (chains, d) to the gradients of the log density, shape (chains, d).
    start
        Shape (chains, d).
    rng
        Source of momenta and acceptances.
    transitions
        Transitions of each chain; the last state is returned.
    leapfrog_steps
        Leapfrog steps a transition.
    step_size
        First step size, in the units of y.
    target_acceptance
        What the warm-up steers to.

    Returns
    -------
    HMCSample
        Final states, and the acceptance rate of the second half.
    """
    state, value, slope = start, log_density(start), gradient(start)
    accepted = []
    for transition in range(transitions):
        step = step_size * rng.uniform(0.9, 1.1)
        momentum = rng.standard_normal(state.shape)
        energy = 0.5 * np.sum(momentum**2, axis=1) - value
        proposal, momentum = state, momentum + 0.5 * step * slope
        for leap in range(leapfrog_steps):
            proposal = proposal + step * momentum
            new_slope = gradient(proposal)
            momentum = momentum + (0.5 if leap == leapfrog_steps - 1 else 1.0) * step * new_slope
        new_value = log_density(proposal)
        change = energy - (0.5 * np.sum(momentum**2, axis=1) - new_value)
        accept = np.log(rng.random(len(state))) < np.where(np.isfinite(change), change, -np.inf)
        state = np.where(accept[:, None], proposal, state)
        value = np.where(accept, new_value, value)
        slope = np.where(accept[:, None], new_slope, slope)
        if transition < transitions // 2:
            step_size *= np.exp(accept.mean() - target_acceptance)
        else:
            accepted.append(accept.mean())
    return HMCSample(state, float(np.mean(accepted)))
