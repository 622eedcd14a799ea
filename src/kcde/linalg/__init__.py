"""Dense linear algebra: positive-definite solves, spectra, pivoted Cholesky, γ ≥ 0."""

from kcde.linalg.conjugate_gradients import conjugate_gradients, few_steps
from kcde.linalg.definite import (
    JITTERS,
    Factor,
    Solution,
    factor_positive_definite,
    solve_positive_definite,
    symmetric_spectrum,
)
from kcde.linalg.nonnegative import nonnegative_least_squares
from kcde.linalg.pivoted_cholesky import PivotedCholesky, pivoted_cholesky

__all__ = [
    "JITTERS",
    "Factor",
    "PivotedCholesky",
    "Solution",
    "conjugate_gradients",
    "factor_positive_definite",
    "few_steps",
    "nonnegative_least_squares",
    "pivoted_cholesky",
    "solve_positive_definite",
    "symmetric_spectrum",
]
