"""Quadrature of Z = ∫ q_0 exp T over y for many T at once, in the selection by likelihood."""

from math import erfc, log, pi, sqrt

import numpy as np
from numpy.polynomial import polynomial

from kcde.arrays import array_namespace, row_blocks, take_rows, to_numpy
from kcde.normalisers import logsumexp
from kcde.panels import panel_count, panel_nodes

_WIDE = 2.0  # standard deviations, of a bandwidth that no longer widens the range of y
_STEP = 0.2  # of equidistant nodes, in bandwidths
_FINER = 4  # times as many nodes in each refinement
_REFINEMENTS = 1
_RESOLVED = 0.1  # nats between the two halves of the nodes: all together are below 1e-4 off
_POINTS = 10  # of an interpolation


def support(Y: np.ndarray, bandwidth: float, base_std: float) -> tuple[float, float, float]:
    """Return where T can differ from 0, and a panel width that resolves exp T; d_y = 1.

    Eight bandwidths from the data the kernel is below 1e-13; beyond, the density is q_0's. Where
    the kernel is wider than q_0 and the data, the density ends with these: `KCEF` checks it.
    """
    margin = 8.0 * min(bandwidth, widest(Y, base_std))
    return float(Y.min()) - margin, float(Y.max()) + margin, min(bandwidth, base_std)


def widest(Y: np.ndarray, base_std: float) -> float:
    """Return the bandwidth from which on a wider one no longer widens the range of y."""
    return _WIDE * max(base_std, float(Y.std()))


def base_mass_outside(lower: float, upper: float, base_std: float) -> float:
    """Return the mass of N(0, base_std²) outside [lower, upper]."""
    scale = base_std * sqrt(2.0)
    return 0.5 * (erfc(upper / scale) + erfc(-lower / scale))


class LegendreRule:
    """Panels of two bandwidths with ten nodes each, whether or not they resolve exp T."""

    def __init__(self, Y, bandwidth: float, base_std: float):
        lower, upper, width = support(to_numpy(Y), bandwidth, base_std)
        panels = int(np.ceil((upper - lower) / (2.0 * width)))
        self.nodes, weights = panel_nodes(lower, upper, panels)
        outside = base_mass_outside(lower, upper, base_std)
        mass = np.append(weights * _base_density(self.nodes, base_std), outside)
        self._log_weights = array_namespace(Y).asarray(_log(mass))

    def log_normaliser(self, T):
        """Return log Z, shape (..., ), for T (..., q + 1) at the nodes and, 0, beyond them."""
        return logsumexp(T + self._log_weights, axis=-1)


class CheckedRule:
    """Equidistant nodes, a fifth of a bandwidth apart; Z is infinite where they are too few.

    Each half of the nodes, every other of them, is a rule of its own. Where the two differ by more
    than 0.1 nats, T is interpolated at four times as many nodes. Where they differ still, exp T has
    peaks between the nodes, Z would come out too small and the density too large.

    q_0 (exp T - 1) vanishes with all its derivatives at both ends, so that its sum over the nodes
    converges as fast as any rule does; to its integral 1 is added.

    Parameters and attributes are those of `LegendreRule`.
    """

    def __init__(self, Y, bandwidth: float, base_std: float):
        self._lower, self._upper, width = support(to_numpy(Y), bandwidth, base_std)
        count = panel_count(self._lower, self._upper, _STEP * width)
        self._base_std, self.nodes = base_std, np.linspace(self._lower, self._upper, count + 1)
        self._levels = [self._level(Y, level) for level in range(_REFINEMENTS + 1)]

    def _level(self, Y, level: int) -> tuple:
        """Return log weights of the nodes, which half each is in, and log q_0 beyond either."""
        count = 1 + (len(self.nodes) - 1) * _FINER**level
        nodes = np.linspace(self._lower, self._upper, count)
        mass = 2.0 * (nodes[1] - nodes[0]) * _base_density(nodes, self._base_std)
        halves = np.eye(2)[np.arange(count) % 2]
        asarray = array_namespace(Y).asarray
        return asarray(_log(mass)), asarray(halves), asarray(_log(1.0 - mass @ halves))

    def log_normaliser(self, T):
        """Return log Z, shape (a, b), inf where not resolved; T as `LegendreRule` takes it."""
        xp, shape = array_namespace(T), T.shape[:-1]
        flat = xp.reshape(T[..., :-1], (-1, T.shape[-1] - 1))
        return xp.reshape(self._resolve(flat, 0), shape)

    def _resolve(self, T, level: int):
        xp = array_namespace(T)
        log_weights, halves, beyond = self._levels[level]
        weighted = T + log_weights
        largest = xp.max(weighted, axis=1, keepdims=True)
        weighted -= largest
        with np.errstate(divide="ignore"):
            inside = largest + xp.log(xp.exp(weighted) @ halves)
        first, second = (xp.logaddexp(inside[:, half], beyond[half]) for half in range(2))
        apart = ~(xp.abs(first - second) <= _RESOLVED)
        log_Z = xp.where(apart, xp.full(first.shape, xp.inf), xp.logaddexp(first, second) - log(2))
        if level == _REFINEMENTS or not bool(xp.any(apart)):
            return log_Z
        rows = np.flatnonzero(to_numpy(apart))
        found = np.array(to_numpy(log_Z))
        for block in row_blocks(len(rows), 3 * _FINER * T.shape[1], like=T):
            finer = _interpolated(take_rows(T, rows[block]))
            found[rows[block]] = to_numpy(self._resolve(finer, level + 1))
        return xp.asarray(found)


def _interpolated(T):
    """Return T (p, q) at equidistant nodes at `_FINER` times as many; it is 0 beyond the ends."""
    xp = array_namespace(T)
    intervals, before = T.shape[1] - 1, _POINTS // 2 - 1
    ends = [xp.zeros((T.shape[0], width), dtype=T.dtype) for width in (before, _POINTS - before)]
    padded, places = xp.concat([ends[0], T, ends[1]], axis=1), [T[:, :-1]]
    # A place at a time: long runs of numbers, where all at once would make runs of four.
    for weights in _LAGRANGE.T[1:].tolist():
        total = weights[0] * padded[:, :intervals]
        for k, weight in enumerate(weights[1:], start=1):
            total += weight * padded[:, k : k + intervals]
        places.append(total)
    finer = xp.reshape(xp.stack(places, axis=2), (T.shape[0], -1))
    return xp.concat([finer, T[:, -1:]], axis=1)


def _lagrange() -> np.ndarray:
    """Return the weights (points, places) of places 0, ¼, ½, ¾ in the middle of ten points."""
    points = np.arange(_POINTS) - (_POINTS // 2 - 1.0)
    places = np.arange(_FINER) / _FINER
    rows = []
    for k, point in enumerate(points):
        others = np.delete(points, k)
        rows.append(polynomial.polyvalfromroots(places, others) / np.prod(point - others))
    return np.stack(rows)


_LAGRANGE = _lagrange()


def _base_density(y: np.ndarray, base_std: float) -> np.ndarray:
    return np.exp(-0.5 * (y / base_std) ** 2) / (base_std * np.sqrt(2 * pi))


def _log(mass: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(mass, np.finfo(float).tiny))
