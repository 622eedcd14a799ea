"""Kernel exponential family by score matching (Sriperumbudur et al., JMLR 2017)."""

from functools import partial
from typing import ClassVar

import numpy as np

from kcde.arrays import take_rows, to_numpy
from kcde.estimators._kcef import nystrom
from kcde.estimators._kcef.selection import Hyperparameters
from kcde.estimators.base import Tags
from kcde.estimators.kcef import KCEF
from kcde.seeding import rng_of
from kcde.selection import best_index, grouped_kfold, log_grid, subsample

_LARGEST_SYSTEM = 16_000
_AUTO_BASIS = 300
_TUNING_BASIS = 100
_TUNING_SYSTEM = 3000


class KEF(KCEF):
    """p(y) = q_0(y) exp(f(y)) / Z: KCEF with the constant kernel on x (kcef, section 3).

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
        tuned on so many rows that n d_y is at most 3000, the Nyström one with at most 100 basis
        points. "likelihood" as in `KCEF`, for d_y = 1 and the exact system.
    group_copies
        Whether equal rows are in one fold, unless `fit` is given groups. A held-out copy of a
        training row lets ever narrower peaks at the training rows score ever better.
    n_basis
        m, rows chosen at random; None: the exact system; "auto": the exact system where n d_y is
        at most 16000 (4 GB), otherwise 300 rows.

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

    selection_rule: ClassVar[str] = (
        "one bandwidth (0.2…5) and λ (1e-6…0.1) on a 10 × 10 grid by the 5-fold "
        "cross-validated score"
    )

    tags: ClassVar[Tags] = Tags(unconditional=True, grouped=True)
    _grids: ClassVar[dict] = KCEF._grids | {
        "score": (log_grid(0.2, 5.0, 10), log_grid(1e-6, 0.1, 10))
    }

    def __init__(
        self,
        bandwidth_y=None,
        regularization=None,
        base_std=2.0,
        *,
        selection="score",
        folds=5,
        tuning_rows=None,
        random_state=0,
        n_basis=None,
        group_copies=False,
    ):
        super().__init__(
            None,
            bandwidth_y,
            regularization,
            base_std,
            selection=selection,
            folds=folds,
            tuning_rows=tuning_rows,
            random_state=random_state,
        )
        self.n_basis = n_basis
        self.group_copies = group_copies

    def _fit(self, X, Y):
        self.n_basis_ = self._basis_size(*Y.shape)
        super()._fit(X, Y)

    def _solve(self, X, Y):
        if self.n_basis_ is None:
            super()._solve(X, Y)
            return
        rng = rng_of("basis", self.random_state)
        basis = take_rows(Y, subsample(Y.shape[0], self.n_basis_, rng))
        system = nystrom.NystromSystem(basis, self.bandwidth_y_, self.base_std)
        self.coef_, self.jitter_ = system.solve(system.moments(Y), self.regularization_)
        self._T = system.parameter(self.coef_)

    def _given(self) -> Hyperparameters:
        # The constant kernel has no bandwidth: where the others are given, nothing is to be chosen.
        given = super()._given()
        filled = given._replace(bandwidth_x=1.0)
        return filled if filled.complete else given

    def _basis_size(self, n: int, d: int) -> int | None:
        """Return m, or None for the exact system."""
        m = self.n_basis
        if m == "auto":
            return None if n * d <= _LARGEST_SYSTEM else min(n, _AUTO_BASIS)
        if m is None:
            return None
        if not (isinstance(m, (int, np.integer)) and 1 <= m <= n):
            raise ValueError(
                f"n_basis must be None, 'auto' or a whole number from 1 to the {n} rows; got {m!r}"
            )
        return int(m)

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

    def _selector(self):
        if self.n_basis_ is None:
            return super()._selector()
        if self.selection != "score":
            raise ValueError(
                f"a Nyström KEF is selected by 'score'; got selection {self.selection!r}"
            )
        basis = partial(subsample, most=_TUNING_BASIS, rng=rng_of("basis", self.random_state))
        return partial(_select_by_score, basis=basis, grids=self._grids["score"])


def _select_by_score(X, Y, rows, folds, given: Hyperparameters, base_std, *, basis, grids):
    """Choose σ and λ of the Nyström estimate, as `select_by_score` does."""
    sigmas = grids[0] if given.bandwidth_y is None else [given.bandwidth_y]
    path = grids[1] if given.regularization is None else np.array([given.regularization])
    score = nystrom.held_out_scores(
        take_rows(Y, rows), folds, basis(len(rows)), sigmas, path, base_std
    )
    i, j = best_index(-score)
    chosen = given._replace(bandwidth_x=1.0, bandwidth_y=sigmas[i], regularization=path[j])
    return chosen, {"bandwidth": sigmas, "regularization": path, "score": score}
