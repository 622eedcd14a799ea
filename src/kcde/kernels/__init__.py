"""Kernels: Gaussian with the derivatives that score matching needs, Laplace, Matérn, and others.

A kernel is called as `kernel(A, B)` -> (len A, len B); `kernel.log(A, B)` is its logarithm, which
does not underflow, and `kernel.diagonal(A)` is k(a, a) for each row.
"""

from kcde.kernels.gaussian import (
    GaussianKernel,
    KernelDerivatives,
    as_bandwidths,
    median_trick,
)
from kcde.kernels.laplace import LaplaceKernel
from kcde.kernels.matern import MaternKernel
from kcde.kernels.periodic import PeriodicKernel
from kcde.kernels.product import ProductKernel

__all__ = [
    "GaussianKernel",
    "KernelDerivatives",
    "LaplaceKernel",
    "MaternKernel",
    "PeriodicKernel",
    "ProductKernel",
    "as_bandwidths",
    "median_trick",
]
