"""Selection of KCEF's bandwidths and λ: by held-out score as published, or by likelihood."""

from collections.abc import Callable, Mapping, Sequence
from math import log, log1p
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_columns, take_rows, to_numpy
from kcde.estimators._kcef.early_stopping import minimise_early
from kcde.estimators._kcef.gradient import gradient_score, minimise
from kcde.estimators._kcef.normaliser_rules import CheckedRule, LegendreRule
from kcde.estimators._kcef.score_matching import HeldOutSolver, held_out_scores, score_system
from kcde.kernels import GaussianKernel, as_bandwidths
from kcde.memory import require_memory
from kcde.selection import best_index, complement, log_grid, refined_grid

SCORE_GRIDS = (log_grid(0.2, 8.0, 20), log_grid(1e-5, 1.0, 20))
LIKELIHOOD_GRIDS = (log_grid(0.2, 8.0, 8), log_grid(1e-5, 1.0, 7))
EARLY_STOPPING = "early-stopping"
_FINER = 5
_ROUNDING = 1e-9
_FEWER = "set tuning_rows, or take more memory"
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


def select_by_score(X, Y, rows, folds, given: Hyperparameters, base_std: float, grids=SCORE_GRIDS):
    """Choose one σ for x and y, and λ, by the score on held-out folds (kcef, section 4).

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y).
    rows
        The rows that take part.
    folds
        A partition of `range(len(rows))`.
    given
        Given values; None is chosen.
    base_std
        Standard deviation of q_0.
    grids
        Candidates of σ and of λ.

    Returns
    -------
    chosen : Hyperparameters
    cv_results : dict
        "bandwidth" (a,), "regularization" (b,), "score" (a, b), lower is better.

    Raises
    ------
    InsufficientMemory
        If the matrices do not fit.
    """
    X, Y = take_rows(X, rows), take_rows(Y, rows)
    sigmas, pairs = _shared(given, grids[0])
    path = np.asarray(_candidates(given.regularization, grids[1]))
    score = _score_tables(X, Y, [folds], pairs, path, base_std)[0]
    i, j = best_index(-score)
    chosen = pairs[i]._replace(regularization=path[j])
    return chosen, {"bandwidth": sigmas, "regularization": path, "score": score}


def select_from_grids(
    X,
    Y,
    grids: Sequence[ScoreGrid],
    partitions: Mapping[int, Sequence[np.ndarray]],
    base_std: float,
) -> list[Hyperparameters | ValueError]:
    """Choose as `select_by_score` does from each of several grids, which share what is computed.

    Each σ of any grid costs one eigendecomposition, whatever the number of grids and folds.

    Parameters
    ----------
    X, Y
        Shapes (n, d_x), (n, d_y).
    grids
        What is chosen from, and on how many folds.
    partitions
        Number of folds to the partition of `range(n)`.
    base_std
        Standard deviation of q_0.

    Returns
    -------
    list
        For each grid its choice, or the error where no candidate has a finite score.

    Raises
    ------
    InsufficientMemory
        If the matrices do not fit.
    """
    sigmas, path = (_union(each) for each in ([g[0] for g in grids], [g[1] for g in grids]))
    pairs = [Hyperparameters(sigma, sigma, None) for sigma in sigmas]
    tables = _score_tables(X, Y, list(partitions.values()), pairs, path, base_std)
    of_folds = dict(zip(partitions, tables, strict=True))
    return [
        _best_of(
            grid, of_folds[grid.folds][np.ix_(_places(grid[0], sigmas), _places(grid[1], path))]
        )
        for grid in grids
    ]


def _best_of(grid: ScoreGrid, score: np.ndarray) -> Hyperparameters | ValueError:
    try:
        i, j = best_index(-score)
    except ValueError as error:
        return error
    sigma = grid.bandwidths[i]
    return Hyperparameters(sigma, sigma, grid.regularizations[j])


def _union(grids: Sequence[np.ndarray]) -> np.ndarray:
    """Return all values of some grids, ascending; those that differ by rounding are one."""
    values = np.unique(np.concatenate(grids))
    return values[np.append(True, values[1:] > values[:-1] * (1.0 + _ROUNDING))]


def _places(grid: np.ndarray, union: np.ndarray) -> np.ndarray:
    """Return where the values of a grid are in the union of several."""
    return np.searchsorted(union, np.asarray(grid) * (1.0 + _ROUNDING)) - 1


def _score_tables(
    X,
    Y,
    partitions: Sequence[Sequence[np.ndarray]],
    pairs: Sequence[Hyperparameters],
    path: np.ndarray,
    base_std: float,
) -> np.ndarray:
    """Return the K-fold score of each partition, pair of bandwidths and λ, in this order."""
    d = Y.shape[1]
    # At the peak, with the derivatives of the kernel that the system is assembled from.
    matrices = 9 * d * d + 5 * d + 5
    require_memory(Y, "tuning KCEF by score", Y.shape[0], lambda n: matrices * n * n, remedy=_FEWER)
    score = np.empty((len(partitions), len(pairs), len(path)))
    for i, pair in enumerate(pairs):
        K = GaussianKernel(pair.bandwidth_x)(X, X)
        derivatives = GaussianKernel(pair.bandwidth_y).derivatives(Y, Y)
        system = score_system(K, derivatives, -Y / base_std**2)
        score[:, i] = held_out_scores(system, partitions, path)
    return score


def select_by_likelihood(
    X, Y, rows, folds, given: Hyperparameters, base_std: float, grids=LIKELIHOOD_GRIDS, floor=0.0
):
    """Choose σ_x, σ_y and λ by held-out log likelihood: coarse, finer, then σ_x per dimension.

    Parameters and the first return value are as in `select_by_score`; `folds` may be several
    partitions, one after the other, and with a `floor` ε the likelihood is that of
    (1 - ε) p + ε q_0. `cv_results` holds the
    coarse grid's "bandwidth_x", "bandwidth_y", "regularization" and "log_likelihood", and the
    "best_log_likelihood" after refinement.

    Raises
    ------
    ValueError
        If y is not one-dimensional: its normaliser is computed by quadrature.
    InsufficientMemory
        If the matrices do not fit.
    """
    _check_one_column(Y, "likelihood")
    limits = grids[0][0], grids[0][-1]
    parts = take_rows(X, rows), take_rows(Y, rows), folds, base_std
    search = _LikelihoodSearch(*parts, limits, floor)
    sigmas_x = _candidates(given.bandwidth_x, grids[0] if X.shape[1] else grids[0][:1])
    sigmas_y = _candidates(given.bandwidth_y, grids[0])
    path = np.asarray(_candidates(given.regularization, grids[1]))
    # The kernel of each σ_x is kept; the others are what a fold takes at the peak.
    matrices = 18 + max(len(sigmas_x), _FINER)
    require_memory(
        Y, "tuning KCEF by likelihood", len(rows), lambda n: matrices * n * n, remedy=_FEWER
    )
    coarse = search.over(sigmas_x, sigmas_y, path)
    i, j, k = best_index(coarse)
    finer = [_around(c, g) for c, g in ((sigmas_x[i], sigmas_x), (sigmas_y[j], sigmas_y))]
    finer.append(np.asarray(_around(path[k], path)))
    fine = search.over(*finer)
    i, j, k = best_index(fine)
    best = Hyperparameters(finer[0][i], finer[1][j], finer[2][k])
    value = float(fine[i, j, k])
    if given.bandwidth_x is None and 1 < X.shape[1] <= _MOST_REFINED_DIMENSIONS:
        best, value = search.refine_dimensions(best, value, X.shape[1])
    results = {"bandwidth_x": np.asarray(sigmas_x), "bandwidth_y": np.asarray(sigmas_y)}
    results |= {"regularization": path, "log_likelihood": coarse, "best_log_likelihood": value}
    return best, results


def select_by_shared_likelihood(
    X, Y, rows, folds, given: Hyperparameters, base_std: float, grids=SCORE_GRIDS
):
    """Choose one σ for x and y, and λ, by held-out log likelihood on the grid of the score.

    Parameters are as in `select_by_score`. `cv_results` holds "bandwidth" (a,), "regularization"
    (b,) and "log_likelihood" (a, b).

    Raises
    ------
    ValueError
        If y is not one-dimensional: its normaliser is computed by quadrature.
    InsufficientMemory
        If the matrices do not fit.
    """
    _check_one_column(Y, "shared-likelihood")
    require_memory(Y, "tuning KCEF by likelihood", len(rows), lambda n: 19 * n * n, remedy=_FEWER)
    search = _LikelihoodSearch(take_rows(X, rows), take_rows(Y, rows), folds, base_std)
    sigmas, pairs = _shared(given, grids[0])
    path = np.asarray(_candidates(given.regularization, grids[1]))
    found = [search.over([pair.bandwidth_x], [pair.bandwidth_y], path)[0, 0] for pair in pairs]
    likelihood = np.stack(found)
    i, j = best_index(likelihood)
    chosen = pairs[i]._replace(regularization=path[j])
    return chosen, {"bandwidth": sigmas, "regularization": path, "log_likelihood": likelihood}


def select_by_gradient(
    X, Y, rows, folds, given: Hyperparameters, base_std: float, isotropic: bool = False
):
    """Choose a σ per dimension and λ by L-BFGS-B on the K-fold score (kcef, section 4).

    Parameters are as in `select_by_score`; `isotropic` gives all x one bandwidth. `cv_results`
    holds the "score" at the end, the "start_score", "iterations" and "evaluations".

    Raises
    ------
    ValueError
        If y is not one-dimensional: the gradient is that of the scalar closed forms.
    InsufficientMemory
        If the matrices do not fit.
    """
    score = _held_out_score(X, Y, rows, folds, base_std)
    *chosen, report = minimise(score, X.shape[1], given, isotropic)
    return Hyperparameters(*chosen), report


def select_by_early_stopping(
    X,
    Y,
    rows,
    folds,
    given: Hyperparameters,
    base_std: float,
    isotropic: bool = False,
    penalty: float = 0.0,
):
    """Choose bandwidths and λ as the authors' code does, by L-BFGS-B that stops early.

    Parameters, results and errors are those of `select_by_gradient`; `penalty` is the c of
    `early_stopping.BoxedScore`.
    """
    score = _held_out_score(X, Y, rows, folds, base_std)
    *chosen, report = minimise_early(score, X.shape[1], given, isotropic=isotropic, penalty=penalty)
    return Hyperparameters(*chosen), report


def _held_out_score(X, Y, rows, folds, base_std: float) -> Callable:
    if Y.shape[1] != 1:
        raise ValueError(f"selection by gradient needs one-dimensional y; got d_y = {Y.shape[1]}")
    return gradient_score(take_rows(X, rows), take_rows(Y, rows), folds, base_std)


def _check_one_column(Y, selection: str) -> None:
    if Y.shape[1] != 1:
        raise ValueError(f"selection {selection!r} needs one-dimensional y; got d_y = {Y.shape[1]}")


RULES = {
    "score": select_by_score,
    "gradient": select_by_gradient,
    EARLY_STOPPING: select_by_early_stopping,
    "likelihood": select_by_likelihood,
    "shared-likelihood": select_by_shared_likelihood,
}


class _LikelihoodSearch:
    """Held-out log likelihood of candidates, sharing what they have in common."""

    def __init__(
        self,
        X,
        Y,
        folds: Sequence[np.ndarray],
        base_std: float,
        limits=(0.0, np.inf),
        floor: float = 0.0,
    ):
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
            candidates = [
                np.clip(sigma * np.where(np.arange(dimension) == axis, m, 1.0), *self.limits)
                for m in _PER_DIMENSION
            ]
            values = self.over(candidates, [best.bandwidth_y], np.array([best.regularization]))
            (index, _, _) = best_index(values)
            if values[index, 0, 0] > value:
                sigma, value = candidates[index], float(values[index, 0, 0])
        return best._replace(bandwidth_x=sigma), value

    def _path(self, K, tables: "_OutputTables", path: np.ndarray) -> np.ndarray:
        """Return the mean held-out log likelihood for each λ (kcef, Theorem 1, d_y = 1)."""
        xp = array_namespace(K)
        n = K.shape[0]
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
        K_SR = _block(K, S, R)
        own = (K_SR * _block(tables.first, R, S).T) @ c.T
        own = own - xp.sum(K_SR * _block(tables.laplacian, S, R), axis=1)[:, None] / mu
        grid = xp.reshape(c[:, None, :] * K_SR[None, ...], (-1, len(R)))
        T = xp.reshape(grid @ take_rows(tables.grid_first, R), (mu.shape[0], len(S), -1))
        smooth = K_SR @ take_rows(tables.grid_laplacian, R)
        log_Z = tables.rule.log_normaliser(T - smooth[None, ...] / mu[:, None, None])
        if not self.floor:
            return xp.sum(own, axis=0) - xp.sum(log_Z, axis=1) + self._log_base(S)
        log_ratio = log1p(-self.floor) + own.T - log_Z  # of (1 - ε) p to q_0
        least = xp.full(log_ratio.shape, log(self.floor), dtype=log_ratio.dtype)
        return xp.sum(xp.logaddexp(log_ratio, least), axis=1) + self._log_base(S)

    def _log_base(self, S) -> float:
        y = self._y[S] / self.base_std
        constant = np.log(self.base_std) + 0.5 * np.log(2 * np.pi)
        return float(np.sum(-0.5 * y * y - constant))


class _OutputTables:
    """Kernel derivatives in y that all σ_x share: at the training points and at a rule's nodes."""

    def __init__(self, Y, sigma: float, rule: LegendreRule | CheckedRule):
        xp = array_namespace(Y)
        kernel = GaussianKernel(sigma)
        derivatives = kernel.derivatives(Y, Y)
        self.first = derivatives.first[..., 0]
        self.laplacian = derivatives.laplacian
        self.minus_second = -derivatives.second[..., 0, 0]
        self.third = derivatives.laplacian_gradient[..., 0]
        self.rule = rule
        at_nodes = kernel.derivatives(Y, xp.asarray(rule.nodes[:, None]))
        # Beyond the support T is 0: one more node there.
        beyond = xp.zeros((Y.shape[0], 1), dtype=Y.dtype)
        self.grid_first = xp.concat([at_nodes.first[..., 0], beyond], axis=1)
        self.grid_laplacian = xp.concat([at_nodes.laplacian, beyond], axis=1)


def _block(matrix, rows, columns):
    return take_columns(take_rows(matrix, rows), columns)


def _candidates(value, grid: np.ndarray) -> Sequence:
    """Return the grid where the value is to be chosen, else the value alone."""
    return grid if value is None else [value]


def _shared(given: Hyperparameters, grid: np.ndarray) -> tuple[np.ndarray, list[Hyperparameters]]:
    """Return candidates of one σ for x and y, 1 alone where both are given, and the pairs."""
    fixed = given.bandwidth_x is not None and given.bandwidth_y is not None
    sigmas = np.ones(1) if fixed else grid
    return sigmas, [_fill(given, sigma, sigma) for sigma in sigmas]


def _around(value, grid):
    return [value] if len(grid) == 1 else refined_grid(value, grid, _FINER)


def _fill(given: Hyperparameters, sigma_x, sigma_y) -> Hyperparameters:
    return Hyperparameters(
        sigma_x if given.bandwidth_x is None else given.bandwidth_x,
        sigma_y if given.bandwidth_y is None else given.bandwidth_y,
        given.regularization,
    )
