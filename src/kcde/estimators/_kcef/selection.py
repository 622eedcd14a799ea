"""Selection of KCEF's bandwidths and λ: by held-out score as published, or by likelihood.

A rule takes the KCEF, the rows X (n, d_x), Y (n, d_y) that take part, the folds (a partition of
these rows) and what is given. It returns the `Hyperparameters` chosen, and the candidates with
their scores for `cv_results_`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import log, log1p, pi
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from kcde.arrays import array_namespace, row_blocks, take_block, take_columns, take_rows, to_numpy
from kcde.estimators._kcef.score import FEWER, HeldOutScore, minimise, minimise_early
from kcde.estimators._kcef.score_matching import HeldOutSolver, held_out_scores, score_system
from kcde.estimators._shared.floored import Normal
from kcde.estimators._shared.rows import check_pairs
from kcde.kernels import GaussianKernel, as_bandwidths
from kcde.memory import require_memory
from kcde.panels import logsumexp, panel_count, panel_nodes
from kcde.selection import best_index, candidates, complement, refined_grid

_WIDE = 2.0  # standard deviations, of a bandwidth that no longer widens the range of y
_STEP = 0.2  # of equidistant nodes, in bandwidths
_TIMES = 4  # times as many nodes in each refinement
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


class LegendreRule:
    """Panels of two bandwidths with ten nodes each, whether or not they resolve exp T."""

    def __init__(self, Y, bandwidth: float, base_std: float):
        lower, upper, width = support(to_numpy(Y), bandwidth, base_std)
        panels = int(np.ceil((upper - lower) / (2.0 * width)))
        self.nodes, weights = panel_nodes(lower, upper, panels)
        outside = Normal(0.0, base_std).outside(lower, upper)
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
        count = 1 + (len(self.nodes) - 1) * _TIMES**level
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
        for block in row_blocks(len(rows), 3 * _TIMES * T.shape[1], like=T):
            finer = _interpolated(take_rows(T, rows[block]))
            found[rows[block]] = to_numpy(self._resolve(finer, level + 1))
        return xp.asarray(found)


def _interpolated(T):
    """Return T (p, q) at equidistant nodes at `_TIMES` times as many; it is 0 beyond the ends."""
    xp = array_namespace(T)
    intervals, before = T.shape[1] - 1, _POINTS // 2 - 1
    ends = [xp.zeros((T.shape[0], width), dtype=T.dtype) for width in (before, _POINTS - before)]
    padded, places = xp.concat([ends[0], T, ends[1]], axis=1), [T[:, :-1]]
    # A place at a time: long runs of numbers, where all at once would make runs of four.
    for weights in _LAGRANGE(np.arange(1, _TIMES) / _TIMES).tolist():
        total = weights[0] * padded[:, :intervals]
        for k, weight in enumerate(weights[1:], start=1):
            total += weight * padded[:, k : k + intervals]
        places.append(total)
    finer = xp.reshape(xp.stack(places, axis=2), (T.shape[0], -1))
    return xp.concat([finer, T[:, -1:]], axis=1)


_PLACES = np.arange(_POINTS) - (_POINTS // 2 - 1.0)
_LAGRANGE = BarycentricInterpolator(_PLACES, np.eye(_POINTS), rng=0)


def _base_density(y: np.ndarray, base_std: float) -> np.ndarray:
    return np.exp(-0.5 * (y / base_std) ** 2) / (base_std * np.sqrt(2 * pi))


def _log(mass: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(mass, np.finfo(float).tiny))


SCORE_GRIDS = (np.geomspace(0.2, 8.0, 20), np.geomspace(1e-5, 1.0, 20))
LIKELIHOOD_GRIDS = (np.geomspace(0.2, 8.0, 8), np.geomspace(1e-5, 1.0, 7))
EARLY_STOPPING = "early-stopping"
_FINER = 5
_ROUNDING = 1e-9
_PER_DIMENSION = np.array([0.5, np.sqrt(0.5), 1.0, np.sqrt(2.0), 2.0])
_MOST_REFINED_DIMENSIONS = 5


class Hyperparameters(NamedTuple):
    """Bandwidths and λ; None where they are to be chosen."""

    bandwidth_x: object
    bandwidth_y: object
    regularization: object

    @property
    def complete(self) -> bool:
        """Whether all values are given."""
        return all(value is not None for value in self)


class ScoreGrid(NamedTuple):
    """Candidates of one σ for x and y, ascending, and of λ, and the folds that judge them."""

    bandwidths: np.ndarray
    regularizations: np.ndarray
    folds: int


def select_by_score(model, X, Y, folds, given: Hyperparameters):
    """Choose one σ for x and y, and λ, by the score on held-out folds (kcef, section 4).

    In `cv_results` "bandwidth" (a,), "regularization" (b,) and "score" (a, b); lower is better.
    """

    def table(pairs, path):
        return -_score_tables(X, Y, [folds], pairs, path, model.base_std)[0]

    chosen, results, table = _on_shared_grid(given, model._score_grids, table)
    return chosen, results | {"score": -table}


def select_by_shared_likelihood(model, X, Y, folds, given: Hyperparameters):
    """Choose as `select_by_score`, but by "log_likelihood", for d_y = 1."""
    n = Y.shape[0]
    require_memory(Y, "tuning KCEF by likelihood", n, lambda n: 19 * n * n, remedy=FEWER)
    search = _LikelihoodSearch(X, Y, folds, model.base_std)

    def table(pairs, path):
        return np.stack([search.over(*([each] for each in pair[:2]), path)[0, 0] for pair in pairs])

    chosen, results, table = _on_shared_grid(given, SCORE_GRIDS, table)
    return chosen, results | {"log_likelihood": table}


def _on_shared_grid(given: Hyperparameters, grids, table: Callable) -> tuple:
    """Return the best, the candidates, and their values, of one σ for x and y, and of λ.

    What is given stays; where both bandwidths are, the σ of the results is 1.
    """
    fixed = given.bandwidth_x is not None and given.bandwidth_y is not None
    sigmas = np.ones(1) if fixed else grids[0]
    pairs = [
        Hyperparameters(*(sigma if each is None else each for each in given[:2]), None)
        for sigma in sigmas
    ]
    path = np.asarray(candidates(given.regularization, grids[1]))
    values = table(pairs, path)
    i, j = best_index(values)
    results = {"bandwidth": sigmas, "regularization": path}
    return pairs[i]._replace(regularization=path[j]), results, values


def choose_from_grids(model, X, Y, grids: Sequence[ScoreGrid]) -> list:
    """Return what selection "score" of a KCEF chooses from each grid: `Hyperparameters`.

    Each choice is that of a fit with this grid and this number of folds; all together cost one
    eigendecomposition for each σ of any grid. Where no candidate of a grid has a finite score, its
    choice is the `ValueError`.
    """
    (X, Y), partitions = check_pairs(X, Y), {}
    for count in {grid.folds for grid in grids}:
        rows, partitions[count] = model._rows_and_folds(Y, count)
    sigmas, path = (_union([grid[k] for grid in grids]) for k in (0, 1))
    pairs = [Hyperparameters(sigma, sigma, None) for sigma in sigmas]
    X, Y = take_rows(X, rows), take_rows(Y, rows)
    tables = _score_tables(X, Y, list(partitions.values()), pairs, path, model.base_std)
    of_folds = dict(zip(partitions, tables, strict=True))

    def choose(grid: ScoreGrid):
        places = np.ix_(_places(grid.bandwidths, sigmas), _places(grid.regularizations, path))
        try:
            i, j = best_index(-of_folds[grid.folds][places])
        except ValueError as error:
            return error
        sigma = grid.bandwidths[i]
        return Hyperparameters(sigma, sigma, grid.regularizations[j])

    return [choose(grid) for grid in grids]


def _union(grids: Sequence[np.ndarray]) -> np.ndarray:
    """Return all values of some grids, ascending; those that differ by rounding are one."""
    values = np.unique(np.concatenate(grids))
    return values[np.append(True, values[1:] > values[:-1] * (1.0 + _ROUNDING))]


def _places(grid: np.ndarray, union: np.ndarray) -> np.ndarray:
    """Return where the values of a grid are in the union of several."""
    return np.searchsorted(union, np.asarray(grid) * (1.0 + _ROUNDING)) - 1


def _score_tables(X, Y, partitions: Sequence, pairs: Sequence, path, base_std) -> np.ndarray:
    """Return the K-fold score of each partition, pair of bandwidths and λ, in this order."""
    d = Y.shape[1]
    # At the peak, with the derivatives of the kernel that the system is assembled from.
    matrices = 9 * d * d + 5 * d + 5
    require_memory(Y, "tuning KCEF by score", Y.shape[0], lambda n: matrices * n * n, remedy=FEWER)
    score = np.empty((len(partitions), len(pairs), len(path)))
    for i, pair in enumerate(pairs):
        derivatives = GaussianKernel(pair.bandwidth_y).derivatives(Y, Y)
        system = score_system(GaussianKernel(pair.bandwidth_x)(X, X), derivatives, -Y / base_std**2)
        score[:, i] = held_out_scores(system, partitions, path)
    return score


def select_by_likelihood(model, X, Y, folds, given: Hyperparameters):
    """Choose σ_x, σ_y and λ by held-out log likelihood: coarse, finer, then σ_x per dimension.

    For d_y = 1. `folds` may be several partitions, one after the other, and with a floor ε the
    likelihood is that of (1 - ε) p + ε q_0. `cv_results` holds the coarse grid's "bandwidth_x",
    "bandwidth_y", "regularization" and "log_likelihood", and the "best_log_likelihood" after
    refinement.
    """
    sigmas, path = LIKELIHOOD_GRIDS
    limits = sigmas[0], sigmas[-1]
    search = _LikelihoodSearch(X, Y, folds, model.base_std, limits, model.selection_floor)
    sigmas_x = candidates(given.bandwidth_x, sigmas if X.shape[1] else sigmas[:1])
    sigmas_y = candidates(given.bandwidth_y, sigmas)
    path = np.asarray(candidates(given.regularization, path))
    # The kernel of each σ_x is kept; the others are what a fold takes at the peak.
    matrices, n = 18 + max(len(sigmas_x), _FINER), Y.shape[0]
    require_memory(Y, "tuning KCEF by likelihood", n, lambda n: matrices * n * n, remedy=FEWER)
    coarse = search.over(sigmas_x, sigmas_y, path)
    finer = [
        grid if len(grid) == 1 else refined_grid(grid[place], grid, _FINER)
        for grid, place in zip((sigmas_x, sigmas_y, path), best_index(coarse), strict=True)
    ]
    fine = search.over(*finer)
    place = best_index(fine)
    best = Hyperparameters(*(grid[i] for grid, i in zip(finer, place, strict=True)))
    value = float(fine[place])
    if given.bandwidth_x is None and 1 < X.shape[1] <= _MOST_REFINED_DIMENSIONS:
        best, value = search.refine_dimensions(best, value, X.shape[1])
    results = {"bandwidth_x": np.asarray(sigmas_x), "bandwidth_y": np.asarray(sigmas_y)}
    results |= {"regularization": path, "log_likelihood": coarse, "best_log_likelihood": value}
    return best, results


def select_by_gradient(model, X, Y, folds, given: Hyperparameters):
    """Choose a σ per dimension and λ by L-BFGS-B on the K-fold score (kcef, section 4), d_y = 1."""
    score = HeldOutScore(X, Y, folds, model.base_std)
    early = model.selection == EARLY_STOPPING
    search = partial(minimise_early, penalty=model.penalty) if early else minimise
    *chosen, report = search(score, X.shape[1], given, isotropic=model.isotropic)
    return Hyperparameters(*chosen), report


RULES = {
    "score": select_by_score,
    "gradient": select_by_gradient,
    EARLY_STOPPING: select_by_gradient,
    "likelihood": select_by_likelihood,
    "shared-likelihood": select_by_shared_likelihood,
}


class _LikelihoodSearch:
    """Held-out log likelihood of candidates, sharing what they have in common."""

    def __init__(self, X, Y, folds, base_std: float, limits=(0.0, np.inf), floor: float = 0.0):
        self.X, self.Y, self.folds, self.base_std = X, Y, folds, base_std
        self.limits, self.floor = limits, floor
        self.r = -Y[:, 0] / base_std**2
        self._y = to_numpy(Y)[:, 0]

    def over(self, sigmas_x, sigmas_y, path: np.ndarray) -> np.ndarray:
        """Return the mean held-out log likelihood, shape (σ_x, σ_y, λ)."""
        kernels = [GaussianKernel(sigma)(self.X, self.X) for sigma in sigmas_x]
        result = np.empty((len(sigmas_x), len(sigmas_y), len(path)))
        for j, sigma_y in enumerate(sigmas_y):
            rule = (CheckedRule if self.floor else LegendreRule)(self.Y, sigma_y, self.base_std)
            tables = _OutputTables(self.Y, sigma_y, rule)
            for i, K in enumerate(kernels):
                result[i, j] = self._path(K, tables, path)
        return result

    def refine_dimensions(self, best: Hyperparameters, value: float, dimension: int):
        """Try multiples of each dimension's σ_x in turn, keeping what improves."""
        sigma = as_bandwidths(best.bandwidth_x, dimension, "bandwidth_x")
        for axis in range(dimension):
            multiples = np.where(np.arange(dimension) == axis, _PER_DIMENSION[:, None], 1.0)
            tried = np.clip(sigma * multiples, *self.limits)
            values = self.over(tried, [best.bandwidth_y], np.array([best.regularization]))
            (index, _, _) = best_index(values)
            if values[index, 0, 0] > value:
                sigma, value = tried[index], float(values[index, 0, 0])
        return best._replace(bandwidth_x=sigma), value

    def _path(self, K, tables: "_OutputTables", path: np.ndarray) -> np.ndarray:
        """Return the mean held-out log likelihood for each λ (kcef, Theorem 1, d_y = 1)."""
        xp, n = array_namespace(K), K.shape[0]
        G, M = K * tables.minus_second, K * tables.third
        solver = HeldOutSolver(G, (n - max(map(len, self.folds))) * float(np.min(path)))
        w = xp.sum(M, axis=1) + G @ self.r
        total = xp.zeros(len(path), dtype=K.dtype)
        for held_out in self.folds:
            R = complement(held_out, n)
            mu = xp.asarray(len(R) * path)
            v = w - xp.sum(take_columns(M, held_out), axis=1)
            v = v - take_columns(G, held_out) @ take_rows(self.r, held_out)
            _, b = solver.solve(held_out, v, mu)
            c = (take_columns(b, R) - take_rows(self.r, R)) / mu[:, None]
            total = total + self._fold(K, tables, R, held_out, c, mu)
        return to_numpy(total) / sum(map(len, self.folds))

    def _fold(self, K, tables, R, S, c, mu):
        """Return Σ_S log p(y_s|x_s) for each row of c (L, |R|), which was fitted on R."""
        xp = array_namespace(K)
        K_SR = take_block(K, S, R)
        own = (K_SR * take_block(tables.first, R, S).T) @ c.T
        own = own - xp.sum(K_SR * take_block(tables.laplacian, S, R), axis=1)[:, None] / mu
        grid = xp.reshape(c[:, None, :] * K_SR[None, ...], (-1, len(R)))
        T = xp.reshape(grid @ take_rows(tables.grid_first, R), (mu.shape[0], len(S), -1))
        smooth = K_SR @ take_rows(tables.grid_laplacian, R)
        log_Z = tables.rule.log_normaliser(T - smooth[None, ...] / mu[:, None, None])
        y = self._y[S] / self.base_std
        constant = np.log(self.base_std) + 0.5 * np.log(2 * np.pi)
        log_base = float(np.sum(-0.5 * y * y - constant))
        if not self.floor:
            return xp.sum(own, axis=0) - xp.sum(log_Z, axis=1) + log_base
        log_ratio = log1p(-self.floor) + own.T - log_Z  # of (1 - ε) p to q_0
        least = xp.full(log_ratio.shape, log(self.floor), dtype=log_ratio.dtype)
        return xp.sum(xp.logaddexp(log_ratio, least), axis=1) + log_base


class _OutputTables:
    """Kernel derivatives in y that all σ_x share: at the training points and at a rule's nodes."""

    def __init__(self, Y, sigma: float, rule: LegendreRule | CheckedRule):
        xp, kernel = array_namespace(Y), GaussianKernel(sigma)
        derivatives = kernel.derivatives(Y, Y)
        self.first, self.laplacian = derivatives.first[..., 0], derivatives.laplacian
        self.minus_second = -derivatives.second[..., 0, 0]
        self.third, self.rule = derivatives.laplacian_gradient[..., 0], rule
        at_nodes = kernel.derivatives(Y, xp.asarray(rule.nodes[:, None]))
        # Beyond the support T is 0: one more node there.
        beyond = xp.zeros((Y.shape[0], 1), dtype=Y.dtype)
        self.grid_first = xp.concat([at_nodes.first[..., 0], beyond], axis=1)
        self.grid_laplacian = xp.concat([at_nodes.laplacian, beyond], axis=1)
