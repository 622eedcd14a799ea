"""Passes over large arrays in their own memory: by blocks on numpy, one fused kernel on cupy."""

from functools import cache

import numpy as np
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array

# What the kernels compute, in the same operations as the numpy code below.
# A comparison, unlike fmax, keeps NaN.
_LOWEST = -200.0
_EXP_OF_NEGATIVE = f"y = exp(x < {_LOWEST} ? {_LOWEST} : x > 0.0 ? 0.0 : x)"


def exp_of_negative(exponents):
    """Return exp(x) for numbers that are at most 0 up to rounding; the array is overwritten.

    Below -200 it stays at exp(-200), 1e-87, so that products of three results are normal numbers
    as well: arithmetic on smaller ones takes ten times as long and more, which a Cholesky
    factorisation of kernel values otherwise meets. Arrays neither of numpy nor of cupy are left as
    they are.
    """
    if is_numpy_array(exponents):
        np.clip(exponents, _LOWEST, 0.0, out=exponents)
        return np.exp(exponents, out=exponents)
    if is_cupy_array(exponents):
        return _kernel("float64 x", _EXP_OF_NEGATIVE, "kcde_exp_of_negative")(exponents, exponents)
    xp = array_namespace(exponents)
    return xp.exp(xp.maximum(xp.minimum(exponents, 0.0), _LOWEST))


@cache
def _kernel(inputs: str, operation: str, name: str):
    """Return a cupy kernel of one output `y`, which may be one of its inputs."""
    import cupy

    return cupy.ElementwiseKernel(inputs, "float64 y", operation, name)
