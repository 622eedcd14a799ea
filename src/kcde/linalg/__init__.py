"""Dense linear algebra: positive-definite solves, spectra, pivoted Cholesky."""

from kcde.linalg.definite import (
    JITTERS,
    Factor,
    Solution,
    factor_positive_definite,
    solve_positive_definite,
    symmetric_spectrum,
)
from kcde.linalg.pivoted_cholesky import PivotedCholesky, pivoted_cholesky

__all__ = [
    "JITTERS",
    "Factor",
    "PivotedCholesky",
    "Solution",
    "factor_positive_definite",
    "pivoted_cholesky",
    "solve_positive_definite",
    "symmetric_spectrum",
]
