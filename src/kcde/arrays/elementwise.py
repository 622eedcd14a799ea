"""Passes over large arrays in their own memory: by blocks on numpy, one fused kernel on cupy."""

from functools import cache

import numpy as np
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array

from kcde.arrays.blocks import row_blocks

# What the kernels compute, in the same operations as the numpy code below.
# A comparison, unlike fmax, keeps NaN.
_EXP_OF_NEGATIVE = "y = exp(x < -700.0 ? -700.0 : x > 0.0 ? 0.0 : x)"
_GAUSSIAN_LOG = "double s = a + b - 2.0 * p; y = -0.5 * (s < 0.0 ? 0.0 : s)"
_GAUSSIAN = "double s = a + b - 2.0 * p; y = exp(-0.5 * (s < 0.0 ? 0.0 : s))"


def exp_of_negative(exponents):
    """Return exp(x) for numbers that are at most 0 up to rounding; the array is overwritten.

    Below -700 it stays at exp(-700), 1e-304: where the result would leave the range of normal
    numbers, numpy takes ten times as long. Arrays neither of numpy nor of cupy are left as they
    are.
    """
    if is_numpy_array(exponents):
        np.clip(exponents, -700.0, 0.0, out=exponents)
        return np.exp(exponents, out=exponents)
    if is_cupy_array(exponents):
        return _kernel("float64 x", _EXP_OF_NEGATIVE, "kcde_exp_of_negative")(exponents, exponents)
    xp = array_namespace(exponents)
    return xp.exp(xp.maximum(xp.minimum(exponents, 0.0), -700.0))


def gaussian_of_product(product, a, b, *, log: bool = False):
    """Return exp(-½ max(a_i + b_j - 2 P_ij, 0)), or its logarithm, in P's own memory.

    With P = A Bᵀ and the squared norms of rows that is the Gaussian kernel. Arrays neither of numpy
    nor of cupy are left as they are. Bit for bit what the expression gives on numpy.

    Parameters
    ----------
    product
        P, shape (m, n).
    a, b
        Shapes (m,), (n,).
    log
        Whether to return the logarithm.
    """
    if is_numpy_array(product):
        for rows in row_blocks(*product.shape, cached=True):
            _gaussian_rows(product[rows], a[rows], b, log)
        return product
    if is_cupy_array(product):
        operation, name = (_GAUSSIAN_LOG, "log") if log else (_GAUSSIAN, "exp")
        kernel = _kernel("float64 p, float64 a, float64 b", operation, f"kcde_gaussian_{name}")
        return kernel(product, a[:, None], b[None, :], product)
    xp = array_namespace(product)
    exponents = -0.5 * xp.clip(a[:, None] + b[None, :] - 2.0 * product, min=0.0)
    return exponents if log else xp.exp(exponents)


def _gaussian_rows(block: np.ndarray, a: np.ndarray, b: np.ndarray, log: bool) -> None:
    np.multiply(block, 2.0, out=block)
    np.subtract(a[:, None] + b, block, out=block)
    np.maximum(block, 0.0, out=block)
    np.multiply(block, -0.5, out=block)
    if not log:
        np.exp(block, out=block)


@cache
def _kernel(inputs: str, operation: str, name: str):
    """Return a cupy kernel of one output `y`, which may be one of its inputs."""
    import cupy

    return cupy.ElementwiseKernel(inputs, "float64 y", operation, name)
