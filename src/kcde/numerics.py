"""Kernels and factorisations that are of use by themselves.

Examples
--------
>>> import numpy as np
>>> from kcde.numerics import GaussianKernel, pivoted_cholesky
>>> X = np.random.default_rng(0).normal(size=(200, 1))
>>> pivoted_cholesky(GaussianKernel(1.0), X, tolerance=1e-3).L.shape[1] < 10
True
"""

from kcde.kernels import GaussianKernel, LaplaceKernel, MaternKernel, median_trick
from kcde.linalg import factor_positive_definite, nonnegative_least_squares, pivoted_cholesky

__all__ = [
    "GaussianKernel", "LaplaceKernel", "MaternKernel", "factor_positive_definite", "median_trick",
    "nonnegative_least_squares", "pivoted_cholesky",
]  # fmt: skip
