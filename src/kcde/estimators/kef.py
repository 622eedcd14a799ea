"""Kernel exponential family by score matching (Sriperumbudur et al., JMLR 2017)."""

from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, slices, take_block, take_rows, to_numpy
from kcde.estimators._kcef.natural_parameter import NaturalParameter
from kcde.estimators._kcef.selection import Hyperparameters
from kcde.estimators._shared import checks
from kcde.estimators.base import Tags
from kcde.estimators.kcef import KCEF
from kcde.kernels import GaussianKernel, as_bandwidths
from kcde.linalg import factor_positive_definite
from kcde.memory import require_memory
from kcde.seeding import rng_of
from kcde.selection import best_index, candidates, grouped_kfold, subsample

_LARGEST_SYSTEM = 16_000
_AUTO_BASIS = 300
_TUNING_SYSTEM = 3000


@dataclass(eq=False, repr=False)
class KEF(KCEF):
    """Predict the density of y without x, of any shape, by score matching, for up to 10,000 rows.

    `score` is the mean log density of rows.

    p(y) = q_0(y) exp(f(y)) / Z: KCEF with the constant kernel on x (kcef, section 3).

    Exact: one system of n d_y unknowns, O(n³d_y³) time and 8 n²d_y² bytes. Nyström: f in the span
    of all derivatives at m rows, O(n m² d_y³) time and memory for a matrix of (m d_y)² numbers
    (Sutherland et al., AISTATS 2018).

    Parameters
    ----------
    bandwidth_y
        Standard deviations of the Gaussian kernel, in the units of y: a number, or one per
        dimension. None: chosen by `selection`.
    regularization
        λ. None: chosen by `selection`.
    base_std, folds, tuning_rows, random_state
        As in `KCEF`; `random_state` also seeds the draw of the basis.
    selection
        "score": one σ and λ on a 10 × 10 grid, by the score on held-out folds; the exact system is
        tuned on so many rows that n d_y is at most 3000. "likelihood" as in `KCEF`, for d_y = 1 and
        the exact system.
    group_copies
        Whether equal rows are in one fold, unless `fit` is given groups. A held-out copy of a
        training row lets ever narrower peaks at the training rows score ever better.
    n_basis
        m, rows chosen at random; None: the exact system; "auto": the exact system where n d_y is
        at most 16000 (4 GB), otherwise 300 rows.
    tuning_basis
        Most basis points of the Nyström estimate with which "score" chooses.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    coef_
        β, shape (n, d_y), or (m, d_y) of the Nyström estimate.
    n_basis_
        m that was used, None for the exact system.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import KEF
    >>> Y = np.random.default_rng(0).normal(size=(100, 1))
    >>> model = KEF(bandwidth_y=1.0, regularization=1e-2).fit(None, Y)
    >>> model.log_density(None, np.array([[0.0], [1.0]])).round(1)
    array([-1. , -1.4])
    """

    selection_rule = (
        "one bandwidth (0.2…5) and λ (1e-6…0.1) on a 10 × 10 grid by the 5-fold "
        "cross-validated score"
    )

    tags = Tags(unconditional=True, grouped=True)
    _score_grids = (np.geomspace(0.2, 5.0, 10), np.geomspace(1e-6, 0.1, 10))

    bandwidth_x: None = field(default=None, init=False)
    isotropic: bool = field(default=False, init=False)
    penalty: float = field(default=0.0, init=False)
    repeats: int = field(default=1, init=False)
    selection_floor: float = field(default=0.0, init=False)
    _: KW_ONLY
    n_basis: int | str | None = None
    group_copies: bool = False
    tuning_basis: int = 100

    def _fit(self, X, Y):
        (n, d), m = Y.shape, self.n_basis
        if m == "auto":
            m = None if n * d <= _LARGEST_SYSTEM else min(n, _AUTO_BASIS)
        checks.whole("n_basis", m, optional=True)
        checks.whole("tuning_basis", self.tuning_basis)
        if m is not None and m > n:
            raise ValueError(f"n_basis must be at most the {n} rows; got {m}")
        self.n_basis_ = m
        super()._fit(X, Y)

    def _solve(self, X, Y):
        if self.n_basis_ is None:
            super()._solve(X, Y)
            return
        rng = rng_of("basis", self.random_state)
        basis = take_rows(Y, subsample(Y.shape[0], self.n_basis_, rng))
        system = NystromSystem(basis, self.bandwidth_y_, self.base_std)
        self.coef_, self.jitter_ = system.solve(system.moments(Y), self.regularization_)
        self._T = system.parameter(self.coef_)

    def _given(self) -> Hyperparameters:
        # The constant kernel has no bandwidth: where the others are given, nothing is to be chosen.
        given = super()._given()
        filled = given._replace(bandwidth_x=1.0)
        return filled if filled.complete else given

    def _rows_and_folds(self, Y, folds: int) -> tuple[np.ndarray, list[np.ndarray]]:
        rows, parts = super()._rows_and_folds(Y, folds)
        if not self.group_copies or self._labels is not None:
            return rows, parts
        _, labels = np.unique(to_numpy(take_rows(Y, rows)), axis=0, return_inverse=True)
        return rows, grouped_kfold(labels, folds, rng_of("groups", self.random_state))

    def _most_rows(self, Y) -> int | None:
        if self.n_basis_ is not None:
            return self.tuning_rows
        most = max(self.folds, _TUNING_SYSTEM // Y.shape[1])
        return most if self.tuning_rows is None else min(most, self.tuning_rows)

    def _select(self, X, Y, folds: list[np.ndarray], given: Hyperparameters) -> tuple:
        if self.n_basis_ is None:
            return super()._select(X, Y, folds, given)
        if self.selection != "score":
            raise ValueError(f"selection of a Nyström KEF is 'score'; got {self.selection!r}")
        sigmas, path = self._score_grids
        sigmas = candidates(given.bandwidth_y, sigmas)
        path = np.asarray(candidates(given.regularization, path))
        most = min(self.n_basis_, self.tuning_basis)
        basis = subsample(Y.shape[0], most, rng_of("basis", self.random_state))
        score = held_out_scores(Y, folds, basis, sigmas, path, self.base_std)
        i, j = best_index(-score)
        results = {"bandwidth": sigmas, "regularization": path, "score": score}
        return Hyperparameters(1.0, sigmas[i], path[j]), results


RIDGE = 1e-5
"""λ₂, which keeps the system regular where derivatives at basis points almost coincide."""

_ROWS = 128


class Moments(NamedTuple):
    """G_mn G_mnᵀ (m d, m d) and h = M_mn 1 + G_mn r (m d,), sums over a number of rows."""

    outer: object
    h: object
    rows: int

    def plus(self, other: "Moments", sign: int = 1) -> "Moments":
        """Return the moments of both, or of the rows of this one without those of the other."""
        return Moments(*(a + sign * b for a, b in zip(self, other, strict=True)))

    def within(self, places: np.ndarray) -> "Moments":
        """Return the moments with a part of the basis, `places` in the flattened (b, i)."""
        outer = take_block(self.outer, places, places)
        return self._replace(outer=outer, h=take_rows(self.h, places))


class NystromSystem:
    """Score matching over the span of ∂_i k(Z_b, ·) for m basis points Z.

    β = -(G_mn G_mnᵀ/n + λ G_mm + λ₂ I)⁻¹ h with G = ∂_i ∂_{j+d} k and h = ⟨ξ̂, ∂_i k(Z_b, ·)⟩
    (Sutherland et al., section 4). O(n (m d)²) time once, O((m d)³) for each λ, O((m d)²) memory.
    """

    def __init__(self, basis, bandwidth: np.ndarray, base_std: float, gram=None):
        self.basis, self.bandwidth, self.base_std = basis, bandwidth, base_std
        m, d = basis.shape
        # Two sums over rows, the matrix of the basis, the system and its factor.
        require_memory(basis, "KEF with basis points", m, lambda size: 5 * (size * d) ** 2)
        self.gram = self._cross(basis)[0] if gram is None else gram

    def within(self, points: np.ndarray, places: np.ndarray) -> "NystromSystem":
        """Return the system of a part of the basis."""
        basis, gram = take_rows(self.basis, points), take_block(self.gram, places, places)
        return NystromSystem(basis, self.bandwidth, self.base_std, gram)

    def moments(self, Y) -> Moments:
        """Return the moments of rows Y (n, d), read in blocks."""
        xp = array_namespace(Y)
        size = self.basis.shape[0] * Y.shape[1]
        total = Moments(xp.zeros((size, size), dtype=Y.dtype), xp.zeros(size, dtype=Y.dtype), 0)
        for rows in slices(Y.shape[0], _ROWS):
            block = Y[rows, :]
            G, M = self._cross(block)
            h = xp.sum(M, axis=1) - G @ xp.reshape(block, (-1,)) / self.base_std**2
            total = total.plus(Moments(G @ G.T, h, block.shape[0]))
        return total

    def solve(self, moments: Moments, regularization: float):
        """Return β (m, d) and the jitter beyond λ₂."""
        xp = array_namespace(self.basis)
        n = moments.rows
        system = moments.outer / n + regularization * self.gram
        factor = factor_positive_definite(system, shift=RIDGE)
        return xp.reshape(-factor.solve(moments.h / n), self.basis.shape), factor.jitter

    def parameter(self, beta) -> NaturalParameter:
        """Return f(y) = Σ β_{b,i} ∂_i k(Z_b, y)."""
        nothing = self.basis[:, :0]
        return NaturalParameter(nothing, self.basis, beta, 0.0, np.zeros(0), self.bandwidth)

    def _cross(self, Y):
        """Return G (m d, q d) and M = ∂_i Σ_j ∂_j² k (m d, q) between basis and Y (q, d)."""
        xp = array_namespace(Y)
        (m, d), q = self.basis.shape, Y.shape[0]
        derivatives = GaussianKernel(self.bandwidth).derivatives(self.basis, Y)
        G = xp.reshape(xp.permute_dims(-derivatives.second, (0, 2, 1, 3)), (m * d, q * d))
        M = xp.reshape(xp.permute_dims(derivatives.laplacian_gradient, (0, 2, 1)), (m * d, q))
        return G, M


def held_out_scores(Y, folds, basis_rows, sigmas, path, base_std: float) -> np.ndarray:
    """Return the K-fold score for every bandwidth and λ, shape (a, b); lower is better.

    Basis points among the rows that a fold holds out leave the basis for that fold.
    """
    scores = np.zeros((len(sigmas), len(path)))
    for i, sigma in enumerate(sigmas):
        system = NystromSystem(take_rows(Y, basis_rows), as_bandwidths(sigma, Y.shape[1]), base_std)
        parts = [system.moments(take_rows(Y, fold)) for fold in folds]
        whole = reduce(Moments.plus, parts)
        for fold, part in zip(folds, parts, strict=True):
            held = take_rows(Y, fold)
            rest = np.flatnonzero(~np.isin(basis_rows, fold))
            places = (rest[:, None] * Y.shape[1] + np.arange(Y.shape[1])).ravel()
            smaller, moments = system.within(rest, places), whole.plus(part, -1).within(places)
            for j, regularization in enumerate(path):
                beta, _ = smaller.solve(moments, regularization)
                T = smaller.parameter(beta)
                scores[i, j] += T.score(held[:, :0], held, -held / base_std**2)
    return scores / Y.shape[0]
