"""The inputs of CDO: rows of x that repeat are one row with several outputs (cdo, A.3.1)."""

from collections.abc import Iterator

import numpy as np

from kcde.arrays import (
    array_namespace,
    exp_of_negative,
    row_blocks,
    sum_runs,
    take_rows,
    to_numpy,
)
from kcde.estimators._cdo.reference import Reference
from kcde.kernels import GaussianKernel, LaplaceKernel, PeriodicKernel, ProductKernel
from kcde.linalg import conjugate_gradients, factor_positive_definite, few_steps
from kcde.memory import require_memory

_KERNELS = {"gaussian": GaussianKernel, "laplace": LaplaceKernel}
KERNELS = tuple(_KERNELS)

_FEW_COLUMNS = 8
_ROWS_AT_ONCE = 16  # blocks of row_blocks: each is added to all weights of some x


def make_kernel(name: str, bandwidth: np.ndarray, periods):
    """Return the kernel of x: one of `KERNELS`, or a product where columns have periods."""
    if periods is None or all(period is None for period in periods):
        return _KERNELS[name](bandwidth)
    return ProductKernel(
        tuple(
            _KERNELS[name](scale) if period is None else PeriodicKernel(scale, period, name)
            for scale, period in zip(bandwidth, periods, strict=True)
        )
    )


class Groups:
    """Distinct rows of x with the outputs of each.

    Parameters
    ----------
    X, Y
        Shapes (N, d_x), (N, d_y).

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
        xp = array_namespace(Y)
        # Adding 0 makes -0 and 0 one value.
        rows = to_numpy(X) + 0.0
        if rows.shape[1]:
            distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        else:
            distinct, inverse = rows[:1], np.zeros(len(rows), dtype=np.intp)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        self._group = inverse.reshape(-1)[order]
        self.counts = np.bincount(self._group)
        self.X, self.Y = xp.asarray(distinct), take_rows(Y, order)

    def mean_features(self, features, width: int) -> Iterator[tuple]:
        """Yield slices of groups with their shares of the group means of features(y).

        Parameters
        ----------
        features
            Maps (k, d_y) to (k, width).
        width
            Numbers a row.

        Yields
        ------
        groups : slice of the groups that a block of outputs belongs to
        share : shape (groups, width); the mean of a group is the sum of its shares
        """
        xp = array_namespace(self.Y)
        for rows in row_blocks(len(self._group), width // _ROWS_AT_ONCE):
            group = self._group[rows]
            groups = slice(int(group[0]), int(group[-1]) + 1)
            values = features(self.Y[rows, :])
            if len(group) > groups.stop - groups.start:
                values = sum_runs(values, np.flatnonzero(np.diff(group, prepend=-1)))
            yield groups, values / xp.asarray(self.counts[groups, None] * 1.0)

    def means(self, features, width: int):
        """Return the group means of features(y), shape (G, width)."""
        xp = array_namespace(self.Y)
        total = xp.zeros((len(self.counts), width), dtype=self.Y.dtype)
        for groups, share in self.mean_features(features, width):
            total[groups, :] += share
        return total

    def output_products(self, reference: Reference, sigma: np.ndarray, F):
        """Return L̄ F, shape (G, q), for F (M, q); N M (q + 1) operations, nothing N × M held."""
        xp = array_namespace(F)
        total = xp.zeros((len(self.counts), F.shape[1]), dtype=F.dtype)
        for groups, share in self.mean_features(lambda Y: reference.rows(Y, sigma), reference.size):
            total[groups, :] += share @ F
        return total

    def reference_weights(self, reference: Reference, sigma: np.ndarray, S):
        """Return S L̄, shape (n, M), for S (n, G); n G M multiplications, nothing N × M held."""
        xp = array_namespace(S)
        total = xp.zeros((S.shape[0], reference.size), dtype=S.dtype)
        for groups, share in self.mean_features(lambda Y: reference.rows(Y, sigma), reference.size):
            total += S[:, groups] @ share
        return total


class InputFactor:
    """(K + Nα diag(1/n_i))⁻¹ on the distinct rows of x, factorised symmetrically.

    It equals D^½ (D^½ K D^½ + Nα)⁻¹ D^½ with D = diag(n_i), and applied to group means it is
    exactly the solution with all N rows. One G × G matrix, formed by rows and factorised in place;
    where Nα is large beside K, a few columns are solved for without a factor, by conjugate
    gradients to rounding.

    Parameters
    ----------
    kernel
        Kernel of x.
    groups
        The training data.
    ridge
        Nα.
    """

    def __init__(self, kernel, groups: Groups, ridge: float):
        X = groups.X
        xp = array_namespace(X)
        self._kernel, self._X = kernel, X
        self._root = xp.asarray(np.sqrt(groups.counts))[:, None]
        require_memory(X, "CDO with distinct rows of x", X.shape[0], lambda G: G * G)
        self._matrix, self._ridge = _weighted_gram(kernel, X, self._root), ridge
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
    xp = array_namespace(X)
    matrix = xp.empty((X.shape[0], X.shape[0]), dtype=X.dtype)
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
