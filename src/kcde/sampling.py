"""Sampling: inversion of a one-dimensional distribution function, Hamiltonian Monte Carlo."""

import logging
from collections.abc import Callable, Iterator
from math import sqrt
from numbers import Integral
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, exp_of_negative

_DIVERGENCE = 1000.0  # nats of energy
_UNRESOLVED = 0.01  # of the mass of a table
_DRAWN_AT_ONCE = 1 << 20  # random numbers, 8 MB

log = logging.getLogger(__name__)


class HMCSample(NamedTuple):
    """Result of `hmc`, in the namespace of the start.

    Attributes
    ----------
    draws
        Shape (chains, iterations // thin, d).
    acceptance
        Mean acceptance probability of each chain after the burn-in, shape (chains,).
    divergences
        Transitions after the burn-in that diverged, over all chains.
    """

    draws: object
    acceptance: object
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
    density = exp_of_negative(log_density - log_density.max(axis=1, keepdims=True))
    steps = 0.5 * (density[:, 1:] + density[:, :-1]) * np.diff(nodes)
    cdf = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    cdf /= cdf[:, -1:]
    uniform = rng.random((len(cdf), n_samples))
    return np.stack([np.interp(u, F, nodes) for u, F in zip(uniform, cdf, strict=True)])


def unresolved_rows(log_density: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return which tables of `inverse_cdf` do not resolve their densities, row numbers (k,).

    Those whose mass by every other node differs by more than a hundredth.
    """
    density = exp_of_negative(log_density - log_density.max(axis=1, keepdims=True))
    fine, coarse = np.trapezoid(density, nodes), np.trapezoid(density[:, ::2], nodes[::2])
    return np.flatnonzero(~(np.abs(coarse - fine) <= _UNRESOLVED * fine))


def hmc(
    value_and_gradient: Callable[[object], tuple[object, object]],
    start,
    rng: np.random.Generator,
    *,
    burn_in: int = 100,
    iterations: int = 1000,
    thin: int = 10,
    leapfrog_steps: int = 10,
    step_size: float = 0.1,
    windows: bool = False,
) -> HMCSample:
    """Run one Hamiltonian Monte Carlo chain per row of `start`, side by side.

    Each chain has its own step size, which follows its acceptance probability during the burn-in
    and is fixed after it. A leapfrog step is drawn within 10% of it, so that no orbit is periodic.
    A proposal whose energy is off by more than 1000 nats, or not finite, is rejected and counted
    as a divergence.

    With `windows` the burn-in is that of Stan: all chains share a step size, which follows their
    mean acceptance probability, and a diagonal metric, the variances of their states in windows
    of the burn-in, each twice as long as the one before.

    States, gradients and decisions stay in the namespace of `start`, on its device. The random
    numbers are drawn on the host, the same for every namespace, and follow by many transitions at
    once, so that no transition waits for the host.

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
    windows
        Whether chains share a step size and a metric, as they must sample one density for.

    Returns
    -------
    HMCSample

    Raises
    ------
    ValueError
        If a chain starts where the log density is not finite, `iterations` is below `thin`, or
        `leapfrog_steps` is not a positive integer.
    """
    if not 1 <= thin <= iterations:
        raise ValueError(f"thin must lie between 1 and iterations, {iterations}; got {thin}")
    if not isinstance(leapfrog_steps, Integral) or leapfrog_steps < 1:
        raise ValueError(f"leapfrog_steps must be a positive integer; got {leapfrog_steps!r}")
    chain = _Chains(value_and_gradient, start, leapfrog_steps, step_size)
    adaptation = _Adaptation(chain, burn_in, windows)
    xp = array_namespace(start)
    draws, accepted, diverged = [], [], xp.zeros(start.shape[0], dtype=start.dtype)
    for transition, random in enumerate(_random(start, burn_in + iterations, rng)):
        probability, off = chain.move(*random)
        if transition < burn_in:
            adaptation.update(transition, probability)
            continue
        accepted.append(probability)
        diverged = diverged + xp.astype(off, start.dtype)
        if (transition - burn_in + 1) % thin == 0:
            draws.append(chain.state)
    if divergences := int(xp.sum(diverged)):
        share = f"{divergences} of {iterations * start.shape[0]}"
        log.warning("%s transitions of Hamiltonian Monte Carlo diverged", share)
    return HMCSample(xp.stack(draws, axis=1), xp.mean(xp.stack(accepted), axis=0), divergences)


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

    measures = array_stats.rhat, array_stats.ess
    found = (measure(draws, chain_axis=0, draw_axis=1) for measure in measures)
    return Convergence(*map(np.atleast_1d, found))


def _random(start, transitions: int, rng: np.random.Generator) -> Iterator[tuple]:
    """Yield a factor of the step, momenta and levels of acceptance for each transition.

    They are moved from the host by blocks of transitions.
    """
    xp = array_namespace(start)
    chains, d = start.shape
    most = max(1, _DRAWN_AT_ONCE // max(1, chains * (d + 1)))
    for first in range(0, transitions, most):
        # In this order for every transition: the stream is that of one transition at a time.
        drawn = [
            (rng.uniform(0.9, 1.1), rng.standard_normal((chains, d)), rng.random(chains))
            for _ in range(min(most, transitions - first))
        ]
        jitters, momenta, levels = zip(*drawn, strict=True)
        momenta, levels = xp.asarray(np.stack(momenta)), xp.asarray(np.stack(levels))
        for i, jitter in enumerate(jitters):
            yield float(jitter), momenta[i, :, :], levels[i, :]


class _DualAveraging:
    """Step sizes that steer to an acceptance (Hoffman and Gelman, JMLR 2014, section 3.2)."""

    _SHRINKAGE, _OFFSET, _DECAY = 0.05, 10.0, 0.75

    def __init__(self, step):
        self._xp = xp = array_namespace(step)
        self._centre, self._count = xp.log(10.0 * step), 0
        self._error, self._log_average = xp.zeros_like(step), xp.log(step)

    def update(self, error):
        """Take the shortfall of acceptance of one transition and return the next steps."""
        self._count += 1
        self._error += (error - self._error) / (self._count + self._OFFSET)
        log_step = self._centre - sqrt(self._count) / self._SHRINKAGE * self._error
        self._log_average += self._count**-self._DECAY * (log_step - self._log_average)
        return self._xp.exp(log_step)

    @property
    def average(self):
        """The steps to keep after the burn-in."""
        return self._xp.exp(self._log_average)


class _Adaptation:
    """A burn-in in which each chain adapts a step size of its own or, with windows, all one.

    The windows are the scheme of Stan (Stan Reference Manual, HMC algorithm parameters), with a
    diagonal metric: the step size alone for the first 7.5% and the last 10% (Stan: 5%, in which the
    step of 10 leapfrog steps does not settle). In between windows, the first 2.5% long and each
    twice as long as the one before. At the end of each the metric becomes the regularised variances
    of the states in it, and the adaptation of the step size begins again.
    """

    _FIRST, _WINDOW, _LAST = 0.075, 0.025, 0.1
    _PRIOR, _PRIOR_STATES = 1e-3, 5.0
    _TARGET = 0.8  # acceptance probability

    def __init__(self, chain: "_Chains", burn_in: int, windows: bool):
        self._chain, self._last = chain, burn_in - 1
        self._steps, self._states = _DualAveraging(chain.step), []
        self._shared, self._begin = windows, round(self._FIRST * burn_in)
        self._ends = self._window_ends(burn_in) if windows else []

    def update(self, transition: int, probability) -> None:
        """Take the acceptance probabilities of a transition; after the last, fix the steps."""
        chain, xp, error = self._chain, array_namespace(probability), self._TARGET - probability
        if self._shared:
            error = xp.full_like(error, float(xp.mean(error)))
        chain.step = self._steps.update(error)
        if self._begin <= transition < max(self._ends, default=0):
            self._states.append(chain.state)
        if transition + 1 in self._ends:
            states = xp.concat(self._states)
            prior = self._PRIOR_STATES / (states.shape[0] + self._PRIOR_STATES)
            chain.scale = xp.sqrt((1.0 - prior) * xp.var(states, axis=0) + prior * self._PRIOR)
            self._steps, self._states = _DualAveraging(self._steps.average), []
            chain.step = self._steps.average
        if transition == self._last:
            chain.step = self._steps.average

    @classmethod
    def _window_ends(cls, burn_in: int) -> list[int]:
        """Return after how many transitions each window ends; the last takes what is left."""
        place, stop = round(cls._FIRST * burn_in), burn_in - round(cls._LAST * burn_in)
        length, ends = max(1, round(cls._WINDOW * burn_in)), []
        while place + length <= stop:
            place = stop if place + 3 * length > stop else place + length
            ends.append(place)
            length *= 2
        return ends


class _Chains:
    """States of the chains with their log densities and gradients.

    The metric is that of coordinates divided by `scale`, shape (d,).
    """

    def __init__(self, value_and_gradient, start, leapfrog_steps: int, step: float):
        self._at, self._leaps = value_and_gradient, leapfrog_steps
        self._xp = xp = array_namespace(start)
        self.state, self.step = start, xp.full(start.shape[0], step, dtype=start.dtype)
        self.scale = xp.ones(start.shape[1], dtype=start.dtype)
        self._value, self._slope = value_and_gradient(start)
        if lost := int(xp.sum(xp.astype(~xp.isfinite(self._value), xp.int64))):
            where = f"{lost} of {start.shape[0]} chains start where the log density is not finite"
            raise ValueError(f"{where}; start them within the range of the data")

    def move(self, jitter: float, momentum, level) -> tuple:
        """Make one transition; return acceptance probabilities and whether each chain diverged."""
        xp = self._xp
        step = (self.step * jitter)[:, None] * self.scale
        energy = 0.5 * xp.sum(momentum**2, axis=1) - self._value
        # A leap into the far tail may overflow: that is a divergence, and is counted as one.
        with np.errstate(over="ignore", invalid="ignore"):
            state, momentum = self.state, momentum + 0.5 * step * self._slope
            for leap in range(self._leaps):
                state = state + step * momentum
                value, slope = self._at(state)
                momentum = momentum + (0.5 if leap == self._leaps - 1 else 1.0) * step * slope
            change = energy - (0.5 * xp.sum(momentum**2, axis=1) - value)
        change = xp.where(xp.isfinite(change), change, xp.full_like(change, -xp.inf))
        accept = xp.log(level) < change
        self.state = xp.where(accept[:, None], state, self.state)
        self._value = xp.where(accept, value, self._value)
        self._slope = xp.where(accept[:, None], slope, self._slope)
        return xp.exp(xp.minimum(change, 0.0)), change < -_DIVERGENCE
