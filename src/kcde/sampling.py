"""Sampling: inversion of a one-dimensional distribution function, Hamiltonian Monte Carlo."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_DIVERGENCE = 1000.0  # nats of energy

log = logging.getLogger(__name__)


class HMCSample(NamedTuple):
    """What `hmc` returns.

    Attributes
    ----------
    draws
        Shape (chains, iterations // thin, d).
    acceptance
        Mean acceptance probability of each chain after the burn-in, shape (chains,).
    divergences
        Transitions after the burn-in that diverged, over all chains.
    """

    draws: np.ndarray
    acceptance: np.ndarray
    divergences: int


class Convergence(NamedTuple):
    """Rank-normalised split R-hat and bulk effective sample size, shape (d,) each."""

    r_hat: np.ndarray
    effective_sample_size: np.ndarray


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
    value_and_gradient: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    rng: np.random.Generator,
    *,
    burn_in: int = 100,
    iterations: int = 1000,
    thin: int = 10,
    leapfrog_steps: int = 10,
    step_size: float = 0.1,
    target_acceptance: float = 0.8,
) -> HMCSample:
    """Run one Hamiltonian Monte Carlo chain per row of `start`, side by side.

    Each chain has its own step size, which follows its acceptance probability during the burn-in
    and is fixed after it. A leapfrog step is drawn within 10% of it, so that no orbit is periodic.
    A proposal whose energy is off by more than 1000 nats, or not finite, is rejected and counted
    as a divergence.

    Parameters
    ----------
    value_and_gradient
        Maps states (chains, d) to log densities up to a constant (chains,) and their gradients
        (chains, d).
    start
        Shape (chains, d).
    rng
        Source of momenta and acceptances.
    burn_in, iterations, thin
        Transitions of each chain that adapt the step, transitions after them, and how many of
        these make one draw.
    leapfrog_steps
        Leapfrog steps a transition.
    step_size
        First step size, in the units of y.
    target_acceptance
        What the burn-in steers to.

    Returns
    -------
    HMCSample

    Raises
    ------
    ValueError
        If a chain starts where the log density is not finite, or `iterations` is below `thin`.
    """
    if not 1 <= thin <= iterations:
        raise ValueError(f"thin must lie between 1 and iterations, {iterations}; got {thin}")
    chain = _Chains(value_and_gradient, start, leapfrog_steps, step_size)
    adaptation = _DualAveraging(chain.step)
    draws, accepted, divergences = [], [], 0
    for transition in range(burn_in + iterations):
        probability, diverged = chain.move(rng)
        if transition < burn_in:
            chain.step = adaptation.update(target_acceptance - probability)
            if transition == burn_in - 1:
                chain.step = adaptation.average
            continue
        accepted.append(probability)
        divergences += int(diverged.sum())
        if (transition - burn_in + 1) % thin == 0:
            draws.append(chain.state)
    if divergences:
        log.warning(
            "%d of %d transitions of Hamiltonian Monte Carlo diverged",
            divergences,
            iterations * len(start),
        )
    acceptance = np.mean(accepted, axis=0)
    return HMCSample(np.stack(draws, axis=1), acceptance, divergences)


def convergence(draws: np.ndarray) -> Convergence:
    """Compare chains that sample one density (Vehtari et al., Bayesian Analysis 2021).

    Parameters
    ----------
    draws
        Shape (chains, draws, d), at least 2 chains and 4 draws.

    Returns
    -------
    Convergence
    """
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    return Convergence(
        np.atleast_1d(array_stats.rhat(draws, **axes)),
        np.atleast_1d(array_stats.ess(draws, **axes)),
    )


class _DualAveraging:
    """Step sizes that steer to an acceptance (Hoffman and Gelman, JMLR 2014, section 3.2)."""

    _SHRINKAGE, _OFFSET, _DECAY = 0.05, 10.0, 0.75

    def __init__(self, step: np.ndarray):
        self._centre, self._count = np.log(10.0 * step), 0
        self._error, self._log_average = np.zeros(len(step)), np.log(step)

    def update(self, error: np.ndarray) -> np.ndarray:
        """Take the shortfall of acceptance of one transition and return the next steps."""
        self._count += 1
        self._error += (error - self._error) / (self._count + self._OFFSET)
        log_step = self._centre - np.sqrt(self._count) / self._SHRINKAGE * self._error
        weight = self._count**-self._DECAY
        self._log_average += weight * (log_step - self._log_average)
        return np.exp(log_step)

    @property
    def average(self) -> np.ndarray:
        """The steps to keep after the burn-in."""
        return np.exp(self._log_average)


class _Chains:
    """States of the chains with their log densities and gradients."""

    def __init__(self, value_and_gradient, start: np.ndarray, leapfrog_steps: int, step: float):
        self._at, self._leaps = value_and_gradient, leapfrog_steps
        self.state, self.step = start, np.full(len(start), step)
        self._value, self._slope = value_and_gradient(start)
        if not np.all(np.isfinite(self._value)):
            raise ValueError(
                f"{np.sum(~np.isfinite(self._value))} of {len(start)} chains start where the log "
                "density is not finite; start them within the range of the data"
            )

    def move(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Make one transition; return acceptance probabilities and whether each chain diverged."""
        step = (self.step * rng.uniform(0.9, 1.1))[:, None]
        momentum = rng.standard_normal(self.state.shape)
        energy = 0.5 * np.sum(momentum**2, axis=1) - self._value
        # A leap into the far tail may overflow: that is a divergence, and is counted as one.
        with np.errstate(over="ignore", invalid="ignore"):
            state, momentum = self.state, momentum + 0.5 * step * self._slope
            for leap in range(self._leaps):
                state = state + step * momentum
                value, slope = self._at(state)
                momentum = momentum + (0.5 if leap == self._leaps - 1 else 1.0) * step * slope
            change = energy - (0.5 * np.sum(momentum**2, axis=1) - value)
        change = np.where(np.isfinite(change), change, -np.inf)
        accept = np.log(rng.random(len(change))) < change
        self.state = np.where(accept[:, None], state, self.state)
        self._value = np.where(accept, value, self._value)
        self._slope = np.where(accept[:, None], slope, self._slope)
        return np.exp(np.minimum(change, 0.0)), change < -_DIVERGENCE
