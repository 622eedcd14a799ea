"""The array namespace: numpy or cupy. The only package that imports cupy.

Estimators compute in the namespace of the arrays they are given, through the Python array API;
`asarray` is where a `backend` setting turns into arrays on a device.
"""

from array_api_compat import array_namespace

from kcde.arrays.backends import (
    BACKENDS,
    as_floating,
    asarray,
    cupy_obstacle,
    device_description,
    devices,
    free_device_bytes,
    on_device,
    resolve_backend,
    to_numpy,
)
from kcde.arrays.blocks import block_size, row_blocks
from kcde.arrays.elementwise import exp_of_negative
from kcde.arrays.factors import cholesky, inverse_of_factor, solve_triangular
from kcde.arrays.gaussians import normal_cdf
from kcde.arrays.rows import (
    about_largest_rows,
    add_to_diagonal,
    largest_rows,
    sum_runs,
    take_columns,
    take_rows,
)

__all__ = [
    "BACKENDS",
    "about_largest_rows",
    "add_to_diagonal",
    "array_namespace",
    "as_floating",
    "asarray",
    "block_size",
    "cholesky",
    "cupy_obstacle",
    "device_description",
    "devices",
    "exp_of_negative",
    "free_device_bytes",
    "inverse_of_factor",
    "largest_rows",
    "normal_cdf",
    "on_device",
    "resolve_backend",
    "row_blocks",
    "solve_triangular",
    "sum_runs",
    "take_columns",
    "take_rows",
    "to_numpy",
]
