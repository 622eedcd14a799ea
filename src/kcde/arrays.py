"""The array namespace: numpy or cupy. The only module that imports cupy.

Estimators compute in the namespace of the arrays they are given, through the Python array API;
`asarray` is where a `backend` setting turns into arrays on a device.
"""

import importlib.util
import logging
from functools import cache

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array

BACKENDS = ("auto", "numpy", "cupy")

log = logging.getLogger(__name__)


def resolve_backend(name: str = "auto") -> str:
    """Return the backend that a setting stands for: "numpy" or "cupy".

    "cupy" insists on a GPU; "auto" takes cupy where it and a CUDA device are there, and logs why.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
    if name == "numpy":
        return name
    obstacle = cupy_obstacle()
    if name == "cupy" and obstacle:
        raise RuntimeError(
            f"backend 'cupy' was asked for, but {obstacle}; on a machine with an NVIDIA GPU "
            "run it with `KCDE_ENV=gpu envs/run` (CUDA 12; gpu-cuda13 for 13), and `python -m "
            "kcde info` says what is installed; or set backend: numpy"
        )
    if name == "auto":
        log.info("backend auto: %s", f"numpy, because {obstacle}" if obstacle else "cupy")
    return "numpy" if obstacle else "cupy"


def asarray(values, backend: str = "numpy"):
    """Return `values` as a float64 array of the backend ("numpy" or "cupy")."""
    if backend == "numpy":
        return np.asarray(values, dtype=np.float64)
    import cupy

    return cupy.asarray(values, dtype=cupy.float64)


def as_floating(array):
    """Return an array of floating-point numbers as it is, one of other numbers in float64."""
    xp = array_namespace(array)
    return array if xp.isdtype(array.dtype, "real floating") else xp.astype(array, xp.float64)


def to_numpy(array) -> np.ndarray:
    """Return an array of any namespace as a numpy array on the host."""
    return array.get() if is_cupy_array(array) else np.asarray(array)


def logsumexp(values, axis: int):
    """Return log Σ exp(values) along an axis, without overflow; -inf where all terms are."""
    xp = array_namespace(values)
    largest = xp.max(values, axis=axis, keepdims=True)
    largest = xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))
    total = xp.sum(xp.exp(values - largest), axis=axis)
    return xp.log(total) + xp.squeeze(largest, axis=axis)


def device_description(backend: str) -> str:
    """Return the device a backend computes on, in words."""
    if backend == "numpy":
        return "CPU"
    import cupy

    return devices()[cupy.cuda.Device().id]


def devices() -> list[str]:
    """Return the names of the CUDA devices that cupy sees."""
    import cupy

    runtime = cupy.cuda.runtime
    numbers = range(runtime.getDeviceCount())
    return [runtime.getDeviceProperties(number)["name"].decode() for number in numbers]


def free_device_bytes() -> int:
    """Return the bytes that cupy can still give out on the current device.

    Memory that its pool holds free counts as free; a limit set on the pool applies.
    """
    import cupy

    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
    limit = pool.get_limit()
    return min(free, limit - pool.used_bytes()) if limit else free


def cupy_obstacle() -> str | None:
    """Return why cupy cannot be used, or None where it can."""
    if importlib.util.find_spec("cupy") is None:
        return "cupy is not installed"
    try:
        import cupy
    except Exception as error:
        # A partial installation may raise any error from its compiled libraries.
        return f"cupy cannot be imported ({type(error).__name__}: {error})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA answers {error}"
    return None if count else "there is no CUDA device"


_BLOCK, _CACHED, _ON_DEVICE = 1 << 18, 1 << 16, 1 << 24


def row_blocks(n: int, row_size: int, *, cached: bool = False, like=None) -> list[slice]:
    """Return slices that split n rows so that a temporary of `row_size` numbers a row stays small.

    That is 2 MB, unless a single row is larger; on a device 128 MB, because smaller operations cost
    less than their launch. `cached`: half a megabyte, for loops that do little with each number:
    a core's own cache holds a few of them, and memory freed is there for the next, where the C
    library would hand larger pieces back to the system and wait for them to be zeroed again.
    `like` is an array that the loop computes with.
    """
    return slices(n, max(1, block_size(cached=cached, like=like) // max(1, row_size)))


def slices(n: int, size: int) -> list[slice]:
    """Return slices of n rows, of so many each but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def block_size(*, cached: bool = False, like=None) -> int:
    """Return how many numbers a block of `row_blocks` has, unless a single row is larger."""
    return _ON_DEVICE if is_cupy_array(like) else _CACHED if cached else _BLOCK


_SAMPLE = 2**14


def sum_runs(values, starts: np.ndarray):
    """Return sums of runs of rows (n, m), shape (s, m), which begin at `starts`, the first 0."""
    if is_numpy_array(values):
        return np.add.reduceat(values, starts, axis=0)
    xp = array_namespace(values)
    run = np.searchsorted(starts, np.arange(values.shape[0]), side="right") - 1
    # Only the numbers of the runs go to a device.
    member = xp.arange(len(starts))[:, None] == xp.asarray(run)[None, :]
    return xp.astype(member, values.dtype) @ values


def take_rows(array, rows: np.ndarray):
    """Return `array[rows]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(rows), axis=0)


def take_columns(array, columns: np.ndarray):
    """Return `array[:, columns]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(columns), axis=1)


def take_block(matrix, rows: np.ndarray, columns: np.ndarray):
    """Return `matrix[np.ix_(rows, columns)]` for numpy integer indices, in any namespace."""
    return take_columns(take_rows(matrix, rows), columns)


def add_to_diagonal(matrix, values):
    """Return A + diag(values), in A's own memory; `values` has shape (n,)."""
    xp = array_namespace(matrix)
    xp.reshape(matrix, (-1,), copy=False)[:: matrix.shape[0] + 1] += values
    return matrix


def about_largest_rows(values, count: int) -> tuple[np.ndarray, float]:
    """Return as `largest_rows` at most twice `count` rows, by a sample of many values.

    Every largest value is among them, and no other exceeds the second result.
    """
    n = values.shape[0]
    if is_numpy_array(values) and n >= 4 * _SAMPLE:
        sample = np.sort(values[:: n // _SAMPLE])
        rest = float(sample[len(sample) - 1 - len(sample) * count // n])
        rows = np.flatnonzero(values > rest)
        if 0 < len(rows) <= 2 * count:
            return rows, rest
    return largest_rows(values, count)


def largest_rows(values, count: int) -> tuple[np.ndarray, float]:
    """Return the rows of the `count` largest values, ascending, and the largest other or -inf."""
    n = values.shape[0]
    if count >= n:
        return np.arange(n), -np.inf
    xp = array_namespace(values)
    if is_numpy_array(values):
        order = np.argpartition(values, n - count - 1)
        rows, rest = order[n - count :], float(values[order[n - count - 1]])
    else:
        order = xp.argsort(values, descending=True)
        rows, rest = to_numpy(order[:count]), float(values[order[count]])
    first = int(xp.argmax(values))
    if first not in rows:
        # It ties with the others; either may stay out.
        rows[0] = first
    return np.sort(rows), rest


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
        kernel = _kernel("float64 x", "float64 y", _EXP_OF_NEGATIVE, "kcde_exp_of_negative")
        return kernel(exponents, exponents)
    xp = array_namespace(exponents)
    return xp.exp(xp.maximum(xp.minimum(exponents, 0.0), _LOWEST))


@cache
def _kernel(inputs: str, output: str, operation: str, name: str):
    """Return a cupy kernel of one output, which may be one of its inputs."""
    import cupy

    return cupy.ElementwiseKernel(inputs, output, operation, name)


_PANEL = 2048
"""Columns of a block on a device; of 512 to 4096 the fastest at n = 30,000 on an H200."""

_CLEAN = "if (i % width > i / width) a = 0.0"
_PUT_BACK = """
const long long row = i / width, column = i % width;
if (column < row) a[i] = a[column * width + row];
if (column == row) a[i] = diagonal[row]
"""


def cholesky(matrix, shift: float = 0.0, *, overwrite: bool = False):
    """Return the lower Cholesky factor of A + shift I, or None where rounding leaves none.

    On numpy and cupy the library works in one float64 copy of the matrix; nothing else of its size
    is formed. On cupy the host waits for one number, whether it succeeded. Only the lower triangle
    of A counts. `overwrite`: a float64 matrix in C order may be lost; the factor takes its lower
    triangle and leaves A above the diagonal, from where it is put back where the factorisation
    fails, so that it has to be symmetric in full to be used again.
    """
    if is_numpy_array(matrix) or is_cupy_array(matrix):
        factorise = _lapack if is_numpy_array(matrix) else _cusolver
        # f2py hands LAPACK a copy of any other type, and the factor is lost with it.
        if not (overwrite and matrix.flags.c_contiguous and matrix.dtype == np.float64):
            return factorise(matrix.astype(np.float64, order="C"), shift, clean=True)
        diagonal = matrix.diagonal().copy()
        lower = factorise(matrix, shift, clean=False)
        if lower is None:
            _put_back(matrix, diagonal)
        return lower
    xp = array_namespace(matrix)
    try:
        lower = xp.linalg.cholesky(matrix + shift * xp.eye(matrix.shape[0], dtype=matrix.dtype))
    except np.linalg.LinAlgError:
        return None
    return lower if bool(xp.all(xp.isfinite(xp.linalg.diagonal(lower)))) else None


def _lapack(matrix: np.ndarray, shift: float, clean: bool) -> np.ndarray | None:
    """Factorise in place; `clean` zeroes what is above the diagonal."""
    matrix.flat[:: len(matrix) + 1] += shift
    # By columns, as LAPACK reads it, the lower triangle in C order is the upper one.
    _, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=0, overwrite_a=1, clean=int(clean))
    return matrix if info == 0 and np.isfinite(matrix.diagonal()).all() else None


def _cusolver(matrix, shift: float, clean: bool):
    """As `_lapack`, on the device: blocks of columns from the left, mostly matrix products.

    cuSOLVER's dpotrf reaches half the rate of matrix products (n = 30,000 on an H200), and counts
    the entries of a matrix with 32 bits; here it factorises blocks on the diagonal alone.
    """
    from ctypes import addressof, c_double

    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas, cusolver

    n = len(matrix)
    matrix.ravel()[:: n + 1] += shift
    blas, solver = device.get_cublas_handle(), device.get_cusolver_handle()
    upper, transposed = cublas.CUBLAS_FILL_MODE_UPPER, cublas.CUBLAS_OP_T
    factors = (c_double * 2)(1.0, -1.0)
    one, minus_one = addressof(factors), addressof(factors) + 8

    def at(row: int, column: int) -> int:
        """Return where an entry of U = Lᵀ, stored by columns, lies."""
        return matrix.data.ptr + matrix.itemsize * (row + column * n)

    size = cusolver.dpotrf_bufferSize(solver, upper, min(n, _PANEL), at(0, 0), n)
    work, info = cupy.empty(size), cupy.empty(-(-n // _PANEL), dtype=cupy.int32)
    for i, start in enumerate(range(0, n, _PANEL)):
        stop = min(start + _PANEL, n)
        block, rest = stop - start, n - stop
        done, corner = (at(0, start), n), (at(start, start), n)
        if start:
            cublas.dsyrk(blas, upper, transposed, block, start, minus_one, *done, one, *corner)
        place = (work.data.ptr, size, info[i:].data.ptr)
        cusolver.dpotrf(solver, upper, block, *corner, *place)
        if not rest:
            continue
        right = (at(start, stop), n)
        if start:
            sizes = (cublas.CUBLAS_OP_N, block, rest, start)
            above = (at(0, stop), n)
            cublas.dgemm(blas, transposed, *sizes, minus_one, *done, *above, one, *right)
        kind = (cublas.CUBLAS_SIDE_LEFT, upper, transposed, cublas.CUBLAS_DIAG_NON_UNIT)
        cublas.dtrsm(blas, *kind, block, rest, one, *corner, *right)
    # A pivot that is not positive is in `info`; one that is not a number need not be.
    if not bool((info == 0).all() & cupy.isfinite(matrix.diagonal()).all()):
        return None
    if clean:
        _kernel("int64 width", "float64 a", _CLEAN, "kcde_clean")(n, matrix)
    return matrix


def _put_back(matrix, diagonal) -> None:
    """Restore a symmetric matrix from its diagonal and what is above it."""
    if is_cupy_array(matrix):
        inputs = "int64 width, raw float64 diagonal"
        kernel = _kernel(inputs, "raw float64 a", _PUT_BACK, "kcde_put_back")
        kernel(len(matrix), diagonal, matrix, size=matrix.size)
        return
    matrix.flat[:: len(matrix) + 1] = diagonal
    for i in range(1, len(matrix)):
        matrix[i, :i] = matrix[:i, i]


def solve_triangular(lower, b, *, transpose: bool = False, overwrite_b: bool = False):
    """Solve L x = b, or Lᵀ x = b, for a lower triangular L.

    The array API has no triangular solve; numpy and cupy have one in (cupyx.)scipy, and any
    other namespace falls back on its general solve. `overwrite_b`: b may be lost.
    """
    if is_numpy_array(lower):
        return scipy.linalg.solve_triangular(
            lower, b, lower=True, trans=int(transpose), overwrite_b=overwrite_b, check_finite=False
        )
    if is_cupy_array(lower):
        import cupyx.scipy.linalg

        # cupyx copies what is not stored by columns: U = Lᵀ is.
        by_rows = lower.flags.c_contiguous
        matrix = lower.T if by_rows else lower
        return cupyx.scipy.linalg.solve_triangular(
            matrix, b, lower=not by_rows, trans=int(transpose != by_rows), overwrite_b=overwrite_b
        )
    xp = array_namespace(lower, b)
    matrix = xp.linalg.matrix_transpose(lower) if transpose else lower
    return xp.linalg.solve(matrix, b)


def inverse_of_factor(lower):
    """Return L⁻¹ for a lower triangular L with zeros above, shape (n, n), which may be lost."""
    if is_numpy_array(lower):
        return scipy.linalg.lapack.dtrtri(lower.T, lower=0, overwrite_c=1)[0].T
    return solve_triangular(lower, array_namespace(lower).eye(lower.shape[0], dtype=lower.dtype))


def normal_cdf(z):
    """Return Φ(z), elementwise, in the namespace of z; to rounding in the lower tail as well."""
    if is_cupy_array(z):
        from cupyx.scipy.special import ndtr

        return ndtr(z)
    from scipy.special import ndtr

    return array_namespace(z).asarray(ndtr(to_numpy(z)))
