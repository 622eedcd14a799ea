"""What CDO computes with: reference points, (L + c)⁻², distinct inputs, the nearest mixture.

Reference points are a grid on a box (cdo, A.2 and A.3.2); rows of x that repeat are one row with
several outputs (A.3.1).
"""

import logging
from collections.abc import Iterator
from functools import partial

import numpy as np

from kcde.arrays import array_namespace, exp_of_negative, row_blocks, sum_runs, take_rows, to_numpy
from kcde.estimators._shared.mixture import log_volume
from kcde.kernels import GaussianKernel, LaplaceKernel, PeriodicKernel, ProductKernel
from kcde.linalg import (
    conjugate_gradients,
    factor_positive_definite,
    few_steps,
    nonnegative_least_squares,
    pivoted_cholesky,
    symmetric_spectrum,
)
from kcde.memory import require_memory

KERNELS = {"gaussian": GaussianKernel, "laplace": LaplaceKernel}
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
        xp, values = array_namespace(Y), None
        for j, factor in enumerate(self.factors):
            own = _densities(Y[:, j : j + 1], factor, sigma[j : j + 1])
            if values is None:
                values = own
            else:
                values = xp.reshape(values[:, :, None] * own[:, None, :], (Y.shape[0], -1))
        return values


def _densities(A, B, sigma: np.ndarray):
    """Return N(a; b, σ²), shape (len A, len B), for A (n, 1), B (m, 1) and σ (1,)."""
    # Differences first: on a fine grid the product in GaussianKernel would lose digits.
    z = (A - B.T) / float(sigma[0])
    z *= z
    z *= -0.5
    values = exp_of_negative(z)
    values /= float(np.exp(log_volume(sigma)))
    return values


def make_reference(Y, reference, box) -> Reference:
    """Return the reference of two hyper-parameters of `CDO` for training y (n, d_y).

    Warns where it misses some of them.
    """
    values = to_numpy(Y)
    lower, upper = _checked_box(box, values)
    counts = _counts(reference, values.shape[1])
    axes = [np.linspace(*ends) for ends in zip(lower, upper, counts, strict=True)]
    if outside := np.mean(np.any((values < lower) | (values > upper), axis=1)):
        log.warning(
            "%.3g%% of the training y lie outside the reference box from %s to %s, where the "
            "estimate cannot reach them: widen reference_box",
            *(100.0 * outside, lower.tolist(), upper.tolist()),
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
        ends = [np.broadcast_to(np.asarray(end, dtype=float), values.shape[1:]) for end in box]
        lower, upper = ends
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
        parts.append(symmetric_spectrum(_densities(Z, Z, sigma[j : j + 1])))
    return Spectrum(parts)


def squared_inverse_of(reference: Reference, sigma: np.ndarray, c: float):
    """Return a function from V (n, M) to V (L + c)⁻², (n, M); L to a trace error far below c."""
    # Fitted models are pickled, which a lambda cannot be.
    return partial(spectrum_of(reference, sigma, _FAR_BELOW * c).squared_inverse, c=c)


def _low_rank_part(points, sigma: np.ndarray, trace_error: float):
    """Return eigenvalues and eigenvectors of the numerical range, or None where it is large."""
    xp = array_namespace(points)
    volume = float(np.exp(log_volume(sigma)))
    n = points.shape[0]
    allowed = min(trace_error * volume, 1e-6 * n)
    most = n // _WORTHWHILE
    found = pivoted_cholesky(GaussianKernel(sigma), points, allowed, relative=False, max_rank=most)
    if len(found.pivots) == most and found.trace_error > allowed:
        return None
    Q, R = xp.linalg.qr(found.L)
    values, rotation = symmetric_spectrum((R @ R.T) / volume)
    return values, Q @ rotation


class NearestMixture:
    """argmin over γ ≥ 0 of (γ - β)ᵀ G (γ - β), G_ij = ∫ l(z_i, y) l(z_j, y) dy (supplement B).

    G_ij = N(z_i - z_j; 0, 2σ²), so that it is the Gram matrix of the reference at √2 σ; its square
    root of low rank makes the problem least squares.
    """

    def __init__(self, reference: Reference, sigma: np.ndarray):
        sigma = np.sqrt(2.0) * sigma
        trace = reference.size / float(np.exp(log_volume(sigma)))
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
        gamma[bad] = nonnegative_least_squares(self._root, target)
        return gamma


def make_kernel(name: str, bandwidth: np.ndarray, periods):
    """Return the kernel of x: one of `KERNELS`, or a product where columns have periods."""
    if periods is None or all(period is None for period in periods):
        return KERNELS[name](bandwidth)
    return ProductKernel(
        tuple(
            KERNELS[name](scale) if period is None else PeriodicKernel(scale, period, name)
            for scale, period in zip(bandwidth, periods, strict=True)
        )
    )


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
        rows = to_numpy(X) + 0.0
        if rows.shape[1]:
            distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        else:
            distinct, inverse = rows[:1], np.zeros(len(rows), dtype=np.intp)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        self._group = inverse.reshape(-1)[order]
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
        self._matrix = _weighted_gram(kernel, X, self._root)
        self._steps, self._known = few_steps(self._matrix, ridge), None
        # Where few steps are enough, nothing is near to singular.
        self.jitter = 0.0 if self._steps is not None else self._factor.jitter

    @property
    def _factor(self):
        """The factor, which takes the place of the matrix."""
        if self._known is None:
            self._known = factor_positive_definite(self._matrix, shift=self._ridge, overwrite=True)
            self._matrix = None
        return self._known

    def solve(self, B):
        """Return (K + Nα diag(1/n_i))⁻¹ B, shape (G, q), for B (G, q)."""
        if self._known is None and self._steps is not None and B.shape[1] <= _FEW_COLUMNS:
            solved = conjugate_gradients(self._matrix, self._root * B, self._ridge, self._steps)
            return self._root * solved
        return self._root * self._factor.solve(self._root * B)

    def similarities(self, X):
        """Return k(x, x_i), shape (n, G), each row divided by its largest."""
        return scaled_similarities(self._kernel, X, self._X)


def _weighted_gram(kernel, X, root):
    """Return D^½ K D^½, shape (G, G): its lower triangle by rows of blocks, then mirrored."""
    matrix = array_namespace(X).empty((X.shape[0], X.shape[0]), dtype=X.dtype)
    for rows in row_blocks(X.shape[0], X.shape[0], like=X):
        values = kernel(X[rows, :], X[: rows.stop, :])
        values *= root[rows, :]
        values *= root[: rows.stop, :].T
        matrix[rows, : rows.stop] = values
        matrix[: rows.start, rows] = values[:, : rows.start].T
    return matrix


def scaled_similarities(kernel, A, B):
    """Return k(a, b), shape (len A, len B), each row divided by its largest.

    Weights are divided by their sum, so that only ratios matter; far from all inputs every k
    underflows, and the ratios do not.
    """
    exponents = kernel.log(A, B)
    return exp_of_negative(exponents - array_namespace(A).max(exponents, axis=1, keepdims=True))
