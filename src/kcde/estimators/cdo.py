"""Conditional density operators (Schuster, Mollenhauer, Klus and Muandet, AISTATS 2020).

Reference points are a grid on a box (cdo, A.2 and A.3.2); rows of x that repeat are one row with
several outputs (A.3.1). Bandwidths, α and α′ are chosen by what is held out, with one spectrum of K
for all α and α′.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from kcde import kernels, linalg
from kcde.arrays import (
    array_namespace,
    exp_of_negative,
    row_blocks,
    slices,
    sum_runs,
    take_columns,
    take_rows,
    to_numpy,
)
from kcde.estimators._shared import checks, mixture
from kcde.estimators.base import CommonOptions, Tags
from kcde.memory import require_memory
from kcde.seeding import rng_of
from kcde.selection import best_index, candidates, complement, tuning_rows

KERNELS = {"gaussian": kernels.GaussianKernel, "laplace": kernels.LaplaceKernel}
"""Of x, by name."""

_ON_ONE_AXIS, _IN_ALL = 200, 900  # points of a default grid: for d_y = 1, and of all dimensions
_MARGIN = 0.1
_DENSE, _WORTHWHILE = 512, 3  # largest size without a low rank; a rank up to M over 3 is low
_FAR_BELOW = 1e-13
_NEGLIGIBLE = 1e-14
_FEW_COLUMNS = 8
_COARSER = "take fewer points (reference), or more memory"
_ROWS_AT_ONCE = 16  # blocks of row_blocks: each is added to all weights of some x

log = logging.getLogger(__name__)


class Reference:
    """Points z of a grid: the product of its axes, shapes (M_j,), the first varying slowest.

    `factors` are the axes in a namespace, shapes (M_j, 1), and `points` is of shape (M, d_y).
    """

    def __init__(self, axes, xp=np):
        self.factors = [xp.asarray(axis[:, None]) for axis in axes]
        grid = np.meshgrid(*axes, indexing="ij")
        self.points = xp.asarray(np.stack(grid, axis=-1).reshape(-1, len(axes)))
        self.size = self.points.shape[0]

    def rows(self, Y, sigma: np.ndarray):
        """Return the normalised densities l(z, y), shape (n, M), at Y (n, d_y) for σ (d_y,)."""
        xp, columns = array_namespace(Y), enumerate(self.factors)
        each = (_densities(Y[:, j : j + 1], Z, sigma[j : j + 1]) for j, Z in columns)

        def product(A, B):
            return xp.reshape(A[:, :, None] * B[:, None, :], (Y.shape[0], -1))

        return reduce(product, each)


def _densities(A, B, sigma: np.ndarray):
    """Return N(a; b, σ²), shape (len A, len B), for A (n, 1), B (m, 1) and σ (1,)."""
    # Differences first: on a fine grid the product in GaussianKernel would lose digits.
    z = (A - B.T) / float(sigma[0])
    z *= z
    z *= -0.5
    values = exp_of_negative(z)
    values /= float(np.exp(mixture.log_volume(sigma)))
    return values


def make_reference(Y, reference, box, units=None) -> Reference:
    """Return the reference of two hyper-parameters of `CDO` for training y (n, d_y).

    Warns where it misses some of them. The box is in the units that y had before `units`.
    """
    values = to_numpy(Y)
    lower, upper = given = _checked_box(box, values)
    if units is not None and box is not None:
        lower, upper = ((end - units.mean_y) / units.std_y for end in given)
    counts = _counts(reference, values.shape[1])
    axes = [np.linspace(*ends) for ends in zip(lower, upper, counts, strict=True)]
    if outside := np.mean(np.any((values < lower) | (values > upper), axis=1)):
        log.warning(
            "%.3g%% of the training y lie outside the reference box from %s to %s, where the "
            "estimate cannot reach them: widen reference_box",
            *(100.0 * outside, *(end.tolist() for end in given)),
        )
    return Reference(axes, array_namespace(Y))


def _counts(reference, d_y: int) -> np.ndarray:
    if reference is None:
        return np.full(d_y, _ON_ONE_AXIS if d_y == 1 else int(np.ceil(_IN_ALL ** (1.0 / d_y))))
    counts = np.asarray(reference)
    whole = counts.dtype.kind in "iu" and counts.shape in ((), (d_y,))
    if not whole or np.any(counts < 2):
        raise ValueError(f"reference must be whole numbers above 1, 1 or {d_y}; got {reference!r}")
    return np.broadcast_to(counts, (d_y,))


def _checked_box(box, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if box is None:
        lower, upper = values.min(axis=0), values.max(axis=0)
        margin = _MARGIN * (upper - lower)
        return lower - margin, upper + margin
    try:
        lower, upper = (np.broadcast_to(np.asarray(end, float), values.shape[1:]) for end in box)
    except (TypeError, ValueError):
        raise ValueError(f"reference_box must be (lower, upper) of y; got {box!r}") from None
    if not np.all(np.isfinite(lower) & np.isfinite(upper) & (lower < upper)):
        raise ValueError(f"reference_box is empty: {lower.tolist()} to {upper.tolist()}")
    return lower, upper


class Spectrum:
    """L = (⊗U) diag(⊗Λ) (⊗U)ᵀ from eigenbases of its factors (cdo, A.3.2).

    With regularisation the factors' inverses do not multiply; their eigenvectors do.

    Parameters
    ----------
    parts
        For each factor, eigenvalues (r_j,) and orthonormal eigenvectors (M_j, r_j), all or those
        beyond which the factor is numerically zero.
    """

    def __init__(self, parts):
        self.vectors = [vectors for _, vectors in parts]
        xp = array_namespace(self.vectors[0])
        self.values = parts[0][0]
        for values, _ in parts[1:]:
            self.values = xp.reshape(self.values[:, None] * values[None, :], (-1,))
        self.complete = all(U.shape[0] == U.shape[1] for U in self.vectors)

    def project(self, V):
        """Return V (⊗U), shape (n, r), for rows V (n, M); n M Σ r_j multiplications."""
        return self._rotate(V, self.vectors)

    def expand(self, T):
        """Return T (⊗U)ᵀ, shape (n, M), for rows T (n, r)."""
        return self._rotate(T, [U.T for U in self.vectors])

    def squared_inverse(self, V, c: float):
        """Return V (L + c)⁻², shape (n, M), for rows V (n, M)."""
        T = self.project(V)
        filtered = self.expand(T * (self.values + c) ** -2.0)
        if self.complete:
            return filtered
        return filtered + (V - self.expand(T)) * c**-2.0

    def root(self, share: float) -> tuple:
        """Return places of the eigenvalues above a share of the largest, their roots √λ, and R.

        RᵀR = L but for the other eigenvalues; R is of shape (k, M).
        """
        values = to_numpy(self.values)
        kept = np.flatnonzero(values > share * values.max())
        roots, rows = np.sqrt(values[kept]), np.zeros((len(kept), len(values)))
        rows[np.arange(len(kept)), kept] = roots
        return kept, roots, self.expand(array_namespace(self.vectors[0]).asarray(rows))

    def _rotate(self, V, matrices):
        """Multiply each axis of rows shaped (n, M_1, …, M_d) by a matrix of its own."""
        xp, n = array_namespace(V), V.shape[0]
        for U in matrices:
            # The first axis goes to the end, multiplied: after d of them the order is as it was.
            rest = V.shape[1] // U.shape[0]
            split = xp.reshape(V, (n, U.shape[0], rest))
            V = xp.reshape(xp.matmul(xp.permute_dims(split, (0, 2, 1)), U), (n, rest * U.shape[1]))
        return V


def spectrum_of(
    reference: Reference, sigma: np.ndarray, trace_error: float | None = None
) -> Spectrum:
    """Return the spectrum of the Gram matrix L of the reference under l.

    An eigendecomposition a dimension, Σ M_j³. Where a trace error is allowed, of one dimension with
    more than 512 points: pivoted Cholesky up to it and an eigenbasis of its span, M r²; but the
    matrix is dense, at 9M³ multiplications, where the rank r exceeds M/3.
    """
    if trace_error is not None and len(reference.factors) == 1 and reference.size > _DENSE:
        part = _low_rank_part(reference.factors[0], sigma, trace_error)
        if part is not None:
            return Spectrum([part])
    parts = []
    for j, Z in enumerate(reference.factors):
        require_memory(Z, "CDO's reference", Z.shape[0], lambda M: 5 * M * M, remedy=_COARSER)
        parts.append(linalg.symmetric_spectrum(_densities(Z, Z, sigma[j : j + 1])))
    return Spectrum(parts)


def _low_rank_part(points, sigma: np.ndarray, trace_error: float):
    """Return eigenvalues and eigenvectors of the numerical range, or None where it is large."""
    volume = float(np.exp(mixture.log_volume(sigma)))
    n = points.shape[0]
    allowed = min(trace_error * volume, 1e-6 * n)
    most = n // _WORTHWHILE
    kernel = kernels.GaussianKernel(sigma)
    found = linalg.pivoted_cholesky(kernel, points, allowed, relative=False, max_rank=most)
    if len(found.pivots) == most and found.trace_error > allowed:
        return None
    Q, R = array_namespace(points).linalg.qr(found.L)
    values, rotation = linalg.symmetric_spectrum((R @ R.T) / volume)
    return values, Q @ rotation


class NearestMixture:
    """argmin over γ ≥ 0 of (γ - β)ᵀ G (γ - β), G_ij = ∫ l(z_i, y) l(z_j, y) dy (supplement B).

    G_ij = N(z_i - z_j; 0, 2σ²), so that it is the Gram matrix of the reference at √2 σ; its square
    root of low rank makes the problem least squares.
    """

    def __init__(self, reference: Reference, sigma: np.ndarray):
        sigma = np.sqrt(2.0) * sigma
        trace = reference.size / float(np.exp(mixture.log_volume(sigma)))
        self._spectrum = spectrum_of(reference, sigma, _FAR_BELOW * trace)
        self._kept, self._roots, root = self._spectrum.root(_NEGLIGIBLE)
        self._root = to_numpy(root)

    def __call__(self, beta: np.ndarray) -> np.ndarray:
        """Return γ, shape (n, M), for rows β (n, M), not normalised."""
        gamma = np.array(beta)
        bad = np.any(beta < 0.0, axis=1)
        # Ratios alone matter, and of one size no tolerance is too large.
        scaled = beta[bad] / np.max(np.abs(beta[bad]), axis=1, keepdims=True, initial=0.0)
        xp = array_namespace(self._spectrum.values)
        projected = to_numpy(self._spectrum.project(xp.asarray(scaled)))
        target = projected[:, self._kept] * self._roots
        gamma[bad] = linalg.nonnegative_least_squares(self._root, target)
        return gamma


class Groups:
    """Distinct rows of x with the outputs of each, from X (N, d_x) and Y (N, d_y).

    Attributes
    ----------
    X
        Distinct rows, shape (G, d_x), sorted.
    Y
        Outputs, shape (N, d_y), those of one input together, in the order of the inputs.
    counts
        n_i, numpy integers, shape (G,).
    """

    def __init__(self, X, Y):
        # Adding 0 makes -0 and 0 one value.
        distinct, member = np.unique(to_numpy(X) + 0.0, axis=0, return_inverse=True)
        order = np.argsort(member, kind="stable")
        self._group = member[order]
        self.counts = np.bincount(self._group)
        self.X, self.Y = array_namespace(Y).asarray(distinct), take_rows(Y, order)

    def _shares(self, reference: Reference, sigma: np.ndarray) -> Iterator[tuple]:
        """Yield slices of groups with their shares of the group means L̄ of l(y, Z).

        A slice is of the groups that a block of outputs belongs to, and its share of shape
        (groups, M); the mean of a group is the sum of its shares.
        """
        xp = array_namespace(self.Y)
        for rows in row_blocks(len(self._group), reference.size // _ROWS_AT_ONCE):
            group = self._group[rows]
            groups = slice(int(group[0]), int(group[-1]) + 1)
            values = reference.rows(self.Y[rows, :], sigma)
            if len(group) > groups.stop - groups.start:
                values = sum_runs(values, np.flatnonzero(np.diff(group, prepend=-1)))
            yield groups, values / xp.asarray(self.counts[groups, None] * 1.0)

    def means(self, reference: Reference, sigma: np.ndarray, F=None):
        """Return L̄, shape (G, M), or L̄ F, shape (G, q), for F (M, q) with nothing N × M held."""
        xp, width = array_namespace(self.Y), reference.size if F is None else F.shape[1]
        total = xp.zeros((len(self.counts), width), dtype=self.Y.dtype)
        for groups, share in self._shares(reference, sigma):
            total[groups, :] += share if F is None else share @ F
        return total

    def reference_weights(self, reference: Reference, sigma: np.ndarray, S):
        """Return S L̄, shape (n, M), for S (n, G); n G M multiplications, nothing N × M held."""
        total = array_namespace(S).zeros((S.shape[0], reference.size), dtype=S.dtype)
        for groups, share in self._shares(reference, sigma):
            total += S[:, groups] @ share
        return total


class InputFactor:
    """(K + Nα diag(1/n_i))⁻¹ on the distinct rows of x, factorised symmetrically.

    It equals D^½ (D^½ K D^½ + Nα)⁻¹ D^½ with D = diag(n_i), and applied to group means it is
    exactly the solution with all N rows. One G × G matrix, formed by rows and factorised in place;
    where the ridge Nα is large beside K, a few columns are solved for without a factor, by
    conjugate gradients to rounding.
    """

    def __init__(self, kernel, groups: Groups, ridge: float):
        X = groups.X
        self._kernel, self._X, self._ridge = kernel, X, ridge
        self._root = array_namespace(X).asarray(np.sqrt(groups.counts))[:, None]
        require_memory(X, "CDO with distinct rows of x", X.shape[0], lambda G: G * G)
        self._matrix = matrix = array_namespace(X).empty((X.shape[0],) * 2, dtype=X.dtype)
        # D^½ K D^½: its lower triangle by rows of blocks, then mirrored.
        for rows in row_blocks(X.shape[0], X.shape[0], like=X):
            values = kernel(X[rows, :], X[: rows.stop, :])
            values *= self._root[rows, :]
            values *= self._root[: rows.stop, :].T
            matrix[rows, : rows.stop] = values
            matrix[: rows.start, rows] = values[:, : rows.start].T
        self._steps = linalg.few_steps(matrix, ridge)
        # Where few steps are enough, nothing is near to singular.
        self.jitter = 0.0 if self._steps is not None else self._factor.jitter

    @cached_property
    def _factor(self):
        """The factor, which takes the place of the matrix."""
        matrix, self._matrix = self._matrix, None
        return linalg.factor_positive_definite(matrix, shift=self._ridge, overwrite=True)

    def solve(self, B):
        """Return (K + Nα diag(1/n_i))⁻¹ B, shape (G, q), for B (G, q)."""
        B, steps = self._root * B, self._steps
        if self._matrix is not None and steps is not None and B.shape[1] <= _FEW_COLUMNS:
            return self._root * linalg.conjugate_gradients(self._matrix, B, self._ridge, steps)
        return self._root * self._factor.solve(B)

    def similarities(self, X):
        """Return k(x, x_i), shape (n, G), each row divided by its largest."""
        return kernels.scaled_similarities(self._kernel, X, self._X)


FACTORS_X = 2.0 ** np.arange(-5, 3)
"""Times the median distance over √2: from 1/32, because structure on a surface or over a week is
small compared with the distance of two of its points, to 4."""

REGULARIZATIONS = {1: np.geomspace(1e-7, 1.0, 8), 2: np.geomspace(1e-6, 1e-1, 5)}
OUTPUT_REGULARIZATIONS = {1: np.geomspace(1e-5, 1e2, 8), 2: np.geomspace(1e-4, 1e2, 4)}
"""By d_y, where 2 stands for more than one; α′ times the volume of the reference's box, in which
the largest eigenvalue of L/M is about 1: from almost no to very strong regularisation."""

_BANDWIDTHS_Y = {1: (8, 1.0), 2: (5, 2.0)}
_WITHOUT_EFFECT, _OVERLAP = 1e-6, 1e-12
_FEWER = "let fewer rows take part in it (tuning_rows), or give all hyper-parameters"


class Hyperparameters(NamedTuple):
    """Bandwidths, α and α′; None where they are to be chosen."""

    bandwidth_x: object
    bandwidth_y: object
    regularization: object
    output_regularization: object


def select(model, X, Y, reference: Reference, folds: list[np.ndarray]):
    """Choose what is None by a held-out criterion.

    For every fold and σ_x one eigendecomposition of K, 9G³; for every σ_y and α then n G r + n r² A
    multiplications for rank r of L and A values of α′, which is diagonal in L's eigenbasis. The
    scores have shape (σ_x, σ_y, α, α′), higher is better.
    """
    grids = _grids(model, X, Y, reference)
    shifts = grids.output_regularization * (1 if model.scaling == "published" else reference.size)
    bases = [OutputBasis(reference, sigma, shifts) for sigma in grids.bandwidth_y]
    widths = [kernels.as_bandwidths(each, X.shape[1], "bandwidth_x") for each in grids.bandwidth_x]
    of_x = [KERNELS[model.kernel_x](sigma) for sigma in widths]
    criterion, least = CRITERIA[model.selection], float(np.min(grids.regularization))
    score = np.zeros([len(grid) for grid in grids])
    for held_out in folds:
        rows = complement(held_out, Y.shape[0])
        groups = Groups(take_rows(X, rows), take_rows(Y, rows))
        outputs = take_rows(Y, held_out)
        of_y = [(basis, basis.means(groups), basis.at(outputs)) for basis in bases]
        for i, kernel in enumerate(of_x):
            path = _InputPath(kernel, groups, take_rows(X, held_out), least * len(rows))
            for j, (basis, means, test) in enumerate(of_y):
                rotated = path.vectors.T @ means
                for k, alpha in enumerate(grids.regularization):
                    solution = path.solution(rotated, float(alpha) * len(rows))
                    beta = solution[None, :, :] * basis.filters[:, None, :]  # for every shift
                    score[i, j, k] -= criterion(basis, beta, test, model.weights == "signed")
    best = best_index(score / Y.shape[0])
    chosen = Hyperparameters(*(grid[i] for grid, i in zip(grids, best, strict=True)))
    return chosen, {**grids._asdict(), "score": score / Y.shape[0]}


def _grids(model, X, Y, reference: Reference) -> Hyperparameters:
    """Return the candidates: given values, and the default grids of the others."""
    kind = min(2, Y.shape[1])
    points, values = to_numpy(reference.points), to_numpy(Y)
    extent = np.ptp(points, axis=0)
    path = OUTPUT_REGULARIZATIONS[kind] / np.prod(extent)
    if model.scaling == "published":
        path = path * reference.size
    alphas = np.asarray(candidates(model.regularization, REGULARIZATIONS[kind]))
    primes = np.asarray(candidates(model.output_regularization, path))
    of_x, inputs = [model.bandwidth_x], to_numpy(X)
    if model.bandwidth_x is None:
        # If all rows are equal, every bandwidth gives the same kernel.
        apart = np.any(np.ptp(inputs, axis=0))
        of_x = list(FACTORS_X * kernels.median_trick(inputs, 0.5, "X")) if apart else [1.0]
    if model.bandwidth_y is not None:
        of_y = kernels.as_bandwidths(model.bandwidth_y, Y.shape[1], "bandwidth_y")[None, :]
    else:
        count, steps = _BANDWIDTHS_Y[kind]
        lowest = steps * extent / (reference.size ** (1.0 / Y.shape[1]) - 1.0)
        of_y = np.geomspace(lowest, np.maximum(values.std(axis=0), lowest), count)
    return Hyperparameters(of_x, of_y, alphas, primes)


class _InputPath:
    """k(x, X)(K + ridge diag(1/n_i))⁻¹ for all ridges, from one spectrum of D^½ K D^½."""

    def __init__(self, kernel, groups: Groups, X, least_ridge: float):
        # K, its symmetric part, eigenvectors and what LAPACK works in.
        count = groups.X.shape[0]
        require_memory(X, "the selection of CDO", count, lambda G: 5 * G * G, remedy=_FEWER)
        root = array_namespace(X).asarray(np.sqrt(groups.counts))
        K = root[:, None] * kernel(groups.X, groups.X) * root[None, :]
        values, vectors = linalg.symmetric_spectrum(0.5 * (K + K.T))
        # What every ridge makes negligible is left out.
        kept = np.flatnonzero(to_numpy(values) > _WITHOUT_EFFECT * least_ridge)
        self._values = take_rows(values, kept)
        self.vectors = root[:, None] * take_columns(vectors, kept)
        self._features = kernels.scaled_similarities(kernel, X, groups.X) @ self.vectors

    def solution(self, rotated, ridge: float):
        """Return the solution at every x for group means in the eigenbasis, shape (n, r)."""
        return (self._features / (self._values + ridge)) @ rotated


class OutputBasis:
    """The eigenbasis of L for one σ_y, without directions that every shift makes negligible.

    A direction of eigenvalue λ contributes λ/(λ + c)² to the density.

    `shifts` are the candidates of c.
    """

    def __init__(self, reference: Reference, sigma: np.ndarray, shifts: np.ndarray):
        self._reference, self._sigma = reference, sigma
        xp = array_namespace(reference.points)
        spectrum = spectrum_of(reference, sigma)
        values = to_numpy(spectrum.values)
        floor = min(_WITHOUT_EFFECT * np.min(shifts), 0.5 * values.max())
        kept = np.flatnonzero(values > floor)
        self.vectors = spectrum.expand(xp.asarray(np.eye(len(values))[kept])).T
        self.filters = xp.asarray((values[kept] + shifts[:, None]) ** -2.0)
        # ∫ l(z_i, y) l(z_j, y) dy is the Gram matrix at √2 σ; this is its root in the basis.
        *_, root = spectrum_of(reference, np.sqrt(2.0) * sigma).root(_OVERLAP)
        self.overlap_root = (root @ self.vectors).T
        self.ones = xp.sum(self.vectors, axis=0)

    def at(self, Y):
        """Return l(y, Z) in the basis, shape (n, r), for y (n, d_y)."""
        return self._reference.rows(Y, self._sigma) @ self.vectors

    def means(self, groups: Groups):
        """Return the group means of `at`, shape (G, r)."""
        return groups.means(self._reference, self._sigma, self.vectors)


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


_REMEDY = "raise regularization or output_regularization, or keep to x near the training rows"
_AT_ONCE = 1 << 25  # numbers of a matrix of weights
_FEW = 8  # as many times fewer reference points than inputs: solved for once, in the fit


@dataclass(eq=False, repr=False)
class CDO(CommonOptions, mixture.SignedMixture):
    """Predict the density of a few y given x, by conditional density operators, up to 10,000 rows.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_i w_i(x) N(y; z_i, diag σ_y²), w ∝ (L + Mα′)⁻² L_ZY (K + Nα)⁻¹ k(X, x).

    Supplement A.2, with its scale corrected: L is the Gram matrix of the reference points z under
    the normalised Gaussian density l, L_ZY that of reference and training points, K that of the
    training x. The weights are divided by their sum. Rows of x that repeat are one row with several
    outputs (A.3.1), (K + Nα diag(1/n_i))⁻¹ on the G distinct rows; a grid in d_y > 1 is worked
    in the eigenbases of its dimensions (A.3.2).

    Fitting costs G³/3 + N M + Σ M_j³ and one G × G matrix; signed moments G an x and y, anything
    else of n points G² + N M + M Σ M_j each. Where M is at most G/8, fitting costs G² M more, and a
    point G M + M Σ M_j.

    Weights of the formula can be negative, and to clip them costs accuracy; see `weights`.

    Parameters
    ----------
    bandwidth_x
        Of the kernel of x, in the units of x: a number, or one per column. None: chosen from
        multiples of the median distance over √2.
    bandwidth_y
        σ_y, standard deviations in the units of y: a number, or one per dimension. None: chosen
        from one to some grid steps up to the spread of y, in each dimension.
    regularization
        α. None: chosen from log-spaced values.
    output_regularization
        α′, in the unit of a density of y. None: chosen from log-spaced values.
    kernel_x
        "gaussian" or "laplace".
    reference
        Points of the grid in every dimension, or one number per dimension. None: 200 for d_y = 1,
        about 900 in all for more.
    reference_box
        (lower, upper) of the grid in the units of y, numbers or one per dimension; inside
        `Standardised` these are standard deviations from the mean. None: the range of the training
        y, widened by a tenth of it on each side.
    weights
        "clipped": negative weights set to zero, the others divided by their sum. "signed": as
        published. "projected": the non-negative mixture nearest in L2, divided by its sum.
    scaling
        "corrected": Mα′ as above. "published": α′ as the paper prints it, and signed weights are
        divided by their sum where it is negative too, which figure 4 needs; with a warning.
    selection
        Of what is None: "squared-error", held-out ½∫p̂² - p̂(y|x) of the signed density, or
        "likelihood", of the clipped one.
    folds
        Number of folds of the cross-validation.
    tuning_rows
        Maximum number of rows used in the selection, random ones or of a grid of x contiguous
        blocks (`kcde.selection.tuning_rows`); None: all.
    random_state
        Seeds the draw of these rows and the shuffle of the folds.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    bandwidth_x_, bandwidth_y_, regularization_, output_regularization_
        Values used, given or chosen.
    reference_
        z, shape (M, d_y).
    n_distinct_
        G.
    jitter_
        Added to the diagonal beyond Nα; 0.0 as a rule.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import CDO
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = CDO(0.5, 0.3, regularization=1e-3, output_regularization=1e-2).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[0.9]])
    """

    tags = Tags(grouped=True)

    selection_rule = (
        "both bandwidths, α and α′ by 5-fold held-out squared error of the signed estimate"
    )

    bandwidth_x: float | Sequence[float] | None = None
    bandwidth_y: float | Sequence[float] | None = None
    regularization: float | None = None
    output_regularization: float | None = None
    _: KW_ONLY
    kernel_x: str = "gaussian"
    reference: int | Sequence[int] | None = None
    reference_box: Sequence | None = None
    weights: str = "clipped"
    scaling: str = "corrected"
    selection: str = "squared-error"
    folds: int = 5
    tuning_rows: int | None = 2000

    def _fit(self, X, Y):
        self._check_parameters()
        self._reference = make_reference(Y, self.reference, self.reference_box, self._units)
        self.cv_results_ = {}
        self._groups = Groups(X, Y)
        self.n_distinct_, self.reference_ = len(self._groups.counts), self._reference.points
        chosen = Hyperparameters(*(getattr(self, name) for name in Hyperparameters._fields))
        if any(value is None for value in chosen):
            rng = rng_of("selection", self.random_state)
            rows = tuning_rows(to_numpy(X), self.tuning_rows, rng)
            folds = self._kfold(rows, self.folds, rng)
            given = take_rows(X, rows), take_rows(Y, rows), self._reference, folds
            chosen, self.cv_results_ = select(self, *given)
        self.bandwidth_x_ = kernels.as_bandwidths(chosen.bandwidth_x, X.shape[1], "bandwidth_x")
        self.bandwidth_y_ = kernels.as_bandwidths(chosen.bandwidth_y, Y.shape[1], "bandwidth_y")
        self.regularization_ = float(chosen.regularization)
        self.output_regularization_ = float(chosen.output_regularization)
        M = self._reference.size
        shift = self.output_regularization_ * (M if self.scaling == "corrected" else 1)
        given = self._reference, self.bandwidth_y_
        self._spectrum, self._shift = spectrum_of(*given, _FAR_BELOW * shift), shift
        kernel = KERNELS[self.kernel_x](self.bandwidth_x_)
        self._inputs = InputFactor(kernel, self._groups, Y.shape[0] * self.regularization_)
        self.jitter_ = self._inputs.jitter
        self._solved_outputs = None
        if self.n_distinct_ >= _FEW * M and self.weights != "signed":
            self._solved_outputs = self._inputs.solve(self._groups.means(*given))
        self._centres, self._sigma = self.reference_, self.bandwidth_y_
        if self.weights == "signed":
            # What turns k(x, ·) into Σβ, Σβz and Σβz² without the weights β.
            xp = array_namespace(self.reference_)
            self._centre = xp.mean(self.reference_, axis=0)
            z = self.reference_ - self._centre
            F = xp.concat([xp.ones((z.shape[0], 1), dtype=z.dtype), z, z * z], axis=1)
            products = self._groups.means(*given, self._spectrum.squared_inverse(F.T, shift).T)
            self._moment_coef = self._inputs.solve(products)
        elif self.weights == "projected":
            self._nearest = NearestMixture(*given)

    def _check_parameters(self):
        for name in ("regularization", "output_regularization"):
            checks.positive(name, getattr(self, name), optional=True)
        checks.whole("tuning_rows", self.tuning_rows, 2, optional=True)
        checks.choice("kernel_x", self.kernel_x, KERNELS)
        checks.choice("weights", self.weights, ("clipped", "signed", "projected"))
        checks.choice("scaling", self.scaling, ("corrected", "published"))
        checks.choice("selection", self.selection, CRITERIA)

    def moments(self, X) -> tuple:
        """Return `mean` and `variance` for the cost of one, shape (n, d_y) each.

        Raises
        ------
        FloatingPointError
            If the sum of weights is not positive at some x; the message names the remedy.
        """
        if self.weights != "signed":
            return super().moments(X)
        xp = array_namespace(X)
        sums = self._inputs.similarities(X) @ self._moment_coef
        mixture.check_sums(sums[:, :1], _REMEDY, negative=self.scaling == "published")
        d = self.n_outputs_
        first, second = sums[:, 1 : d + 1] / sums[:, :1], sums[:, d + 1 :] / sums[:, :1]
        return first + self._centre, second - first**2 + xp.asarray(self.bandwidth_y_**2)

    def has_negative_normaliser(self, X):
        """Return whether the sum that normalises the signed weights is negative, booleans (n,).

        Where it is, dividing by it as published reverses the sign of the estimate.

        Raises
        ------
        ValueError
            If the weights are not signed.
        """
        if self.weights != "signed":
            raise ValueError(f"has_negative_normaliser needs signed weights; got {self.weights!r}")
        return (self._inputs.similarities(X) @ self._moment_coef[:, :1])[:, 0] < 0.0

    def _raw_weights(self, X):
        """Return β up to a positive factor a row, shape (n, M)."""
        parts = []
        for rows in slices(X.shape[0], max(1, _AT_ONCE // self._reference.size)):
            similarities = self._inputs.similarities(X[rows, :])
            if self._solved_outputs is not None:
                V = similarities @ self._solved_outputs
            else:
                S = self._inputs.solve(similarities.T).T
                V = self._groups.reference_weights(self._reference, self.bandwidth_y_, S)
            parts.append(self._spectrum.squared_inverse(V, self._shift))
        return array_namespace(X).concat(parts)

    def _signed_weights(self, X):
        negative = self.scaling == "published"
        return mixture.divided_by_sums(self._raw_weights(X), _REMEDY, negative=negative)

    def _log_weights(self, X):
        weights = self._raw_weights(X)
        if self.weights == "projected":
            weights = array_namespace(weights).asarray(self._nearest(to_numpy(weights)))
        return mixture.log_positive_shares(weights, _REMEDY)
