"""Selection of CDO's bandwidths, α and α′: held-out, with one spectrum of K for all α and α′."""

from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, take_columns, take_rows, to_numpy
from kcde.estimators._cdo import operator
from kcde.kernels import PeriodicKernel, as_bandwidths, median_trick
from kcde.linalg import symmetric_spectrum
from kcde.memory import require_memory
from kcde.selection import best_index, complement, log_grid

FACTORS_X = 2.0 ** np.arange(-5, 3)
"""Times the median distance over √2: from 1/32, because structure on a surface or over a week is
small compared with the distance of two of its points, to 4."""

REGULARIZATIONS = {1: log_grid(1e-7, 1.0, 8), 2: log_grid(1e-6, 1e-1, 5)}
OUTPUT_REGULARIZATIONS = {1: log_grid(1e-5, 1e2, 8), 2: log_grid(1e-4, 1e2, 4)}
"""By d_y, where 2 stands for more than one; α′ times the volume of the reference's box, in which
the largest eigenvalue of L/M is about 1: from almost no to very strong regularisation."""

_BANDWIDTHS_Y = {1: (8, 1.0), 2: (5, 2.0)}
_NEGLIGIBLE, _OVERLAP = 1e-6, 1e-12
_FEWER = "let fewer rows take part in it (tuning_rows), or give all hyper-parameters"


class Hyperparameters(NamedTuple):
    """Bandwidths, α and α′; None where they are to be chosen."""

    bandwidth_x: object
    bandwidth_y: object
    regularization: object
    output_regularization: object


def select(model, X, Y, reference: operator.Reference, folds: list[np.ndarray]):
    """Choose what is None by a held-out criterion.

    For every fold and σ_x one eigendecomposition of K, 9G³; for every σ_y and α then n G r + n r² A
    multiplications for rank r of L and A values of α′, which is diagonal in L's eigenbasis. The
    scores have shape (σ_x, σ_y, α, α′), higher is better.
    """
    grids = _grids(model, X, Y, reference)
    published = model.scaling == "published"
    shifts = grids.output_regularization * (1 if published else reference.size)
    bases = [OutputBasis(reference, sigma, shifts) for sigma in grids.bandwidth_y]
    widths = [as_bandwidths(sigma, X.shape[1], "bandwidth_x") for sigma in grids.bandwidth_x]
    kernels = [operator.make_kernel(model.kernel_x, sigma, model._periods) for sigma in widths]
    criterion, least = CRITERIA[model.selection], float(np.min(grids.regularization))
    score = np.zeros([len(grid) for grid in grids])
    for held_out in folds:
        rows = complement(held_out, Y.shape[0])
        groups = operator.Groups(take_rows(X, rows), take_rows(Y, rows))
        outputs = take_rows(Y, held_out)
        of_y = [(basis, basis.means(groups), basis.at(outputs)) for basis in bases]
        for i, kernel in enumerate(kernels):
            path = _InputPath(kernel, groups, take_rows(X, held_out), least * len(rows))
            for j, (basis, means, test) in enumerate(of_y):
                rotated = path.vectors.T @ means
                for k, alpha in enumerate(grids.regularization):
                    beta = basis.filtered(path.solution(rotated, float(alpha) * len(rows)))
                    score[i, j, k] -= criterion(basis, beta, test, model.weights == "signed")
    best = best_index(score / Y.shape[0])
    chosen = Hyperparameters(*(grid[i] for grid, i in zip(grids, best, strict=True)))
    return chosen, {**grids._asdict(), "score": score / Y.shape[0]}


def _grids(model, X, Y, reference: operator.Reference) -> Hyperparameters:
    """Return the candidates: given values, and the default grids of the others."""
    kind = min(2, Y.shape[1])
    points, values = to_numpy(reference.points), to_numpy(Y)
    extent = np.ptp(points, axis=0)
    path = OUTPUT_REGULARIZATIONS[kind] / np.prod(extent)
    if model.scaling == "published":
        path = path * reference.size
    given = model.regularization, model.output_regularization
    alphas, primes = (
        grid if known is None else np.array([known])
        for known, grid in zip(given, (REGULARIZATIONS[kind], path), strict=True)
    )
    of_x = [model.bandwidth_x] if model.bandwidth_x is not None else _bandwidths_x(model, X)
    if model.bandwidth_y is not None:
        of_y = as_bandwidths(model.bandwidth_y, Y.shape[1], "bandwidth_y")[None, :]
    else:
        count, steps = _BANDWIDTHS_Y[kind]
        lowest = steps * extent / (reference.size ** (1.0 / Y.shape[1]) - 1.0)
        highest = np.maximum(values.std(axis=0), lowest)
        of_y = np.geomspace(lowest, highest, count)
    return Hyperparameters(of_x, of_y, alphas, primes)


def _bandwidths_x(model, X) -> list:
    """Return multiples of the median distance over √2; a column at a time where one has a period.

    If all rows are equal, every bandwidth gives the same kernel.
    """
    values = to_numpy(X)
    if not np.any(np.ptp(values, axis=0)):
        return [1.0]
    if model._periods is None or all(period is None for period in model._periods):
        return list(FACTORS_X * median_trick(values, 0.5, "X"))
    columns = (values[:, i : i + 1] for i in range(values.shape[1]))
    each = [_median_way(c, p) for c, p in zip(columns, model._periods, strict=True)]
    return list(FACTORS_X[:, None] * np.array(each))


def _median_way(column: np.ndarray, period) -> float:
    """Return the median distance of different values, the shorter way round a period, over √2."""
    values = np.unique(column)[:, None]
    if len(values) == 1:
        return 1.0
    if period is None:
        return median_trick(column, 0.5, "X")
    ways = PeriodicKernel(1.0, float(period)).arc(column, column)
    ways = ways[ways > 0.0]
    return float(np.median(ways) / np.sqrt(2.0)) if len(ways) else 1.0


class _InputPath:
    """k(x, X)(K + ridge diag(1/n_i))⁻¹ for all ridges, from one spectrum of D^½ K D^½."""

    def __init__(self, kernel, groups: operator.Groups, X, least_ridge: float):
        xp = array_namespace(X)
        # K, its symmetric part, eigenvectors and what LAPACK works in.
        require_memory(
            X, "the selection of CDO", groups.X.shape[0], lambda G: 5 * G * G, remedy=_FEWER
        )
        root = xp.asarray(np.sqrt(groups.counts))
        K = root[:, None] * kernel(groups.X, groups.X) * root[None, :]
        values, vectors = symmetric_spectrum(0.5 * (K + K.T))
        # What every ridge makes negligible is left out.
        kept = np.flatnonzero(to_numpy(values) > _NEGLIGIBLE * least_ridge)
        self._values = take_rows(values, kept)
        self.vectors = root[:, None] * take_columns(vectors, kept)
        self._features = operator.scaled_similarities(kernel, X, groups.X) @ self.vectors

    def solution(self, rotated, ridge: float):
        """Return the solution at every x for group means in the eigenbasis, shape (n, r)."""
        return (self._features / (self._values + ridge)) @ rotated


class OutputBasis:
    """The eigenbasis of L for one σ_y, without directions that every shift makes negligible.

    A direction of eigenvalue λ contributes λ/(λ + c)² to the density.

    `shifts` are the candidates of c.
    """

    def __init__(self, reference: operator.Reference, sigma: np.ndarray, shifts: np.ndarray):
        self._reference, self._sigma = reference, sigma
        xp = array_namespace(reference.points)
        spectrum = operator.spectrum_of(reference, sigma)
        values = to_numpy(spectrum.values)
        floor = min(_NEGLIGIBLE * np.min(shifts), 0.5 * values.max())
        kept = np.flatnonzero(values > floor)
        identity = xp.asarray(np.eye(len(values))[kept])
        self.vectors = spectrum.expand(identity).T
        self._filters = xp.asarray((values[kept] + shifts[:, None]) ** -2.0)
        # ∫ l(z_i, y) l(z_j, y) dy is the Gram matrix at √2 σ; this is its root in the basis.
        *_, root = operator.spectrum_of(reference, np.sqrt(2.0) * sigma).root(_OVERLAP)
        self.overlap_root = (root @ self.vectors).T
        self.ones = xp.sum(self.vectors, axis=0)

    def at(self, Y):
        """Return l(y, Z) in the basis, shape (n, r), for y (n, d_y)."""
        return self._reference.rows(Y, self._sigma) @ self.vectors

    def means(self, groups: operator.Groups):
        """Return the group means of `at`, shape (G, r)."""
        return groups.means(self._reference, self._sigma, self.vectors)

    def filtered(self, solution):
        """Return β in the basis for every shift, shape (A, n, r), for a solution (n, r)."""
        return solution[None, :, :] * self._filters[:, None, :]


def _squared_error(basis: OutputBasis, beta, test, signed: bool) -> np.ndarray:
    """Return Σ over rows of ½∫p̂² - p̂(y|x) for each shift, shape (A,).

    The density is that of the signed weights. Where these are to be used, their sum must be
    positive at every row.
    """
    xp = array_namespace(beta)
    rooted = _rows_times(beta, basis.overlap_root)
    total = xp.tensordot(beta, basis.ones, axes=1)
    square = xp.vecdot(rooted, rooted)
    value = xp.vecdot(beta, test[None, :, :])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        loss = to_numpy(xp.sum(0.5 * square / total**2 - value / total, axis=1))
    if signed:
        loss = np.where(to_numpy(xp.all(total > 0.0, axis=1)), loss, np.inf)
    return loss


def _negative_log_likelihood(basis: OutputBasis, beta, test, signed: bool) -> np.ndarray:
    """Return -Σ log p over rows for each shift, shape (A,), with the negative weights clipped."""
    xp = array_namespace(beta)
    weights = xp.clip(_rows_times(beta, basis.vectors.T), min=0.0)
    at_points = test @ basis.vectors.T
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = xp.vecdot(weights, at_points[None, :, :]) / xp.sum(weights, axis=2)
        return -to_numpy(xp.sum(xp.log(ratio), axis=1))


def _rows_times(beta, matrix):
    """Return beta @ matrix for beta (A, n, r): one product, where there are many of few rows."""
    xp = array_namespace(beta)
    A, n, r = beta.shape
    return xp.reshape(xp.reshape(beta, (A * n, r)) @ matrix, (A, n, matrix.shape[1]))


CRITERIA = {"squared-error": _squared_error, "likelihood": _negative_log_likelihood}
