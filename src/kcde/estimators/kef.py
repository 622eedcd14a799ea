"""Kernel exponential family by score matching (Sriperumbudur et al., JMLR 2017)."""

from typing import ClassVar

from kcde.estimators.base import Tags
from kcde.estimators.kcef import KCEF
from kcde.selection import log_grid


class KEF(KCEF):
    """p(y) = q_0(y) exp(f(y)) / Z: KCEF with the constant kernel on x (kcef, section 3).

    Parameters
    ----------
    bandwidth_y
        Standard deviations of the Gaussian kernel, in the units of y: a number, or one per
        dimension. None: chosen by `selection`.
    regularization
        λ. None: chosen by `selection`.
    base_std, selection, folds, tuning_rows, random_state
        As in `KCEF`.

    Attributes
    ----------
    coef_
        β, shape (n, d_y).
    """

    tags: ClassVar[Tags] = Tags(unconditional=True)
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
