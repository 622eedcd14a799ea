"""The array namespace: numpy or cupy. The only module that knows cupy exists.

Estimators compute in the namespace of the arrays they are given, through the Python array API;
`asarray` is where a `backend` setting turns into arrays on a device.
"""

import importlib.util
import logging

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array

__all__ = [
    "BACKENDS",
    "add_to_diagonal",
    "array_namespace",
    "asarray",
    "cholesky",
    "device_description",
    "exp_of_negative",
    "largest_rows",
    "resolve_backend",
    "row_blocks",
    "solve_triangular",
    "sum_runs",
    "take_columns",
    "take_rows",
    "to_numpy",
]

BACKENDS = ("auto", "numpy", "cupy")

_BLOCK, _CACHED = 1 << 18, 1 << 16

log = logging.getLogger(__name__)


def resolve_backend(name: str = "auto") -> str:
    """Return the backend that a setting stands for: "numpy" or "cupy".

    Parameters
    ----------
    name
        "numpy"; "cupy", which insists on a GPU; or "auto", which takes cupy where cupy and a
        CUDA device are there and numpy otherwise, and logs which and why.

    Returns
    -------
    str
        "numpy" or "cupy".

    Raises
    ------
    ValueError
        If `name` is not one of `BACKENDS`.
    RuntimeError
        If "cupy" is asked for and there is no cupy or no CUDA device. There is no fallback.
    """
    if name not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}; got {name!r}")
    if name == "numpy":
        return name
    obstacle = _cupy_obstacle()
    if name == "cupy":
        if obstacle:
            raise RuntimeError(
                f"backend 'cupy' was asked for, but {obstacle}; install envs/gpu.txt on a machine "
                "with an NVIDIA GPU, or set backend: numpy"
            )
        return name
    log.info("backend auto: %s", f"numpy, because {obstacle}" if obstacle else "cupy")
    return "numpy" if obstacle else "cupy"


def asarray(values, backend: str = "numpy"):
    """Return `values` as a float64 array of the backend ("numpy" or "cupy")."""
    if backend == "numpy":
        return np.asarray(values, dtype=np.float64)
    import cupy

    return cupy.asarray(values, dtype=cupy.float64)


def to_numpy(array) -> np.ndarray:
    """Return an array of any namespace as a numpy array on the host."""
    if is_cupy_array(array):
        return array.get()
    return np.asarray(array)


def device_description(backend: str) -> str:
    """Return the device a backend computes on, in words."""
    if backend == "numpy":
        return "CPU"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()


def cholesky(matrix, shift: float = 0.0, *, overwrite: bool = False):
    """Return the lower Cholesky factor of A + shift I, or None where rounding leaves none.

    On numpy, LAPACK works in one copy of the matrix; nothing else of its size is formed.

    Parameters
    ----------
    matrix
        A, shape (n, n); only its lower triangle counts.
    shift
        Added to the diagonal.
    overwrite
        Whether a numpy matrix in C order may be lost, which then has to be symmetric in full:
        LAPACK works in its lower triangle and leaves A above the diagonal, from where A is put
        back where the factorisation fails.

    Returns
    -------
    shape (n, n), zero above the diagonal unless overwritten, or None
    """
    if overwrite and is_numpy_array(matrix) and matrix.flags.c_contiguous:
        return _cholesky_in_place(matrix, shift)
    if is_numpy_array(matrix):
        copy = np.array(matrix, order="C")
        copy.flat[:: len(copy) + 1] += shift
        # The lower triangle by rows is the upper one by columns, which is how LAPACK stores it.
        upper, info = scipy.linalg.lapack.dpotrf(copy.T, lower=0, overwrite_a=1, clean=1)
        return upper.T if info == 0 and np.isfinite(upper[-1, -1]) else None
    xp = array_namespace(matrix)
    try:
        lower = xp.linalg.cholesky(matrix + shift * xp.eye(matrix.shape[0], dtype=matrix.dtype))
    except np.linalg.LinAlgError:
        return None
    # cupy reports failure by NaN instead of an exception.
    return lower if np.isfinite(to_numpy(xp.sum(lower))) else None


def _cholesky_in_place(matrix: np.ndarray, shift: float) -> np.ndarray | None:
    diagonal = matrix.diagonal().copy()
    matrix.flat[:: len(matrix) + 1] += shift
    # LAPACK leaves the other triangle alone unless told to clean it.
    _, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)
    if info == 0 and np.isfinite(matrix[-1, -1]):
        return matrix
    matrix.flat[:: len(matrix) + 1] = diagonal
    for i in range(1, len(matrix)):
        matrix[i, :i] = matrix[:i, i]
    return None


def solve_triangular(lower, b, *, transpose: bool = False):
    """Solve L x = b, or Lᵀ x = b, for a lower triangular L.

    The array API has no triangular solve; numpy and cupy have one in (cupyx.)scipy, and any
    other namespace falls back on its general solve.

    Parameters
    ----------
    lower
        Shape (n, n), lower triangular.
    b
        Shape (n,) or (n, k).
    transpose
        Whether to solve with Lᵀ.
    """
    if is_numpy_array(lower):
        return scipy.linalg.solve_triangular(
            lower, b, lower=True, trans=int(transpose), check_finite=False
        )
    if is_cupy_array(lower):
        import cupyx.scipy.linalg

        return cupyx.scipy.linalg.solve_triangular(lower, b, lower=True, trans=int(transpose))
    xp = array_namespace(lower, b)
    matrix = xp.linalg.matrix_transpose(lower) if transpose else lower
    return xp.linalg.solve(matrix, b)


def row_blocks(n: int, row_size: int, *, cached: bool = False) -> list[slice]:
    """Return slices that split n rows so that a temporary of `row_size` numbers a row stays small.

    That is 2 MB, but for single rows that are larger.

    Parameters
    ----------
    n
        How many rows.
    row_size
        Numbers a row, at least 0.
    cached
        Half a megabyte instead, for loops that do little with each number: a core's own cache holds
        a few of them, and memory freed is there for the next, where the C library would hand larger
        pieces back to the system and wait for them to be zeroed again.
    """
    size = max(1, (_CACHED if cached else _BLOCK) // max(1, row_size))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def sum_runs(values, starts: np.ndarray):
    """Return sums of consecutive rows, shape (s, m).

    Parameters
    ----------
    values
        Shape (n, m).
    starts
        Where each run begins, numpy integers, shape (s,), the first 0, increasing.
    """
    if is_numpy_array(values):
        return np.add.reduceat(values, starts, axis=0)
    xp = array_namespace(values)
    run = np.searchsorted(starts, np.arange(values.shape[0]), side="right") - 1
    return xp.asarray((np.arange(len(starts))[:, None] == run) * 1.0) @ values


def take_rows(array, rows: np.ndarray):
    """Return `array[rows]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(rows), axis=0)


def take_columns(array, columns: np.ndarray):
    """Return `array[:, columns]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(columns), axis=1)


def add_to_diagonal(matrix, values):
    """Return A + diag(values), in A's own memory; `values` has shape (n,)."""
    xp = array_namespace(matrix)
    xp.reshape(matrix, (-1,), copy=False)[:: matrix.shape[0] + 1] += values
    return matrix


def exp_of_negative(exponents):
    """Return exp(x) for numbers that are at most 0 but for rounding; numpy's are overwritten.

    Below -700 it stays at exp(-700), 1e-304: where the result would leave the range of normal
    numbers, numpy takes ten times as long.
    """
    if is_numpy_array(exponents):
        np.clip(exponents, -700.0, 0.0, out=exponents)
        return np.exp(exponents, out=exponents)
    xp = array_namespace(exponents)
    return xp.exp(xp.maximum(xp.minimum(exponents, 0.0), -700.0))


def largest_rows(values, count: int) -> tuple[np.ndarray, float]:
    """Return the row numbers of the largest values, and the largest of the others.

    Parameters
    ----------
    values
        Shape (n,).
    count
        How many, at least 1; beyond n, all.

    Returns
    -------
    rows : numpy integers, ascending, shape (count,); the first largest value of all is among them
    rest : float, -inf where no value is left
    """
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


def _cupy_obstacle() -> str | None:
    """Return why cupy cannot be used, or None where it can."""
    if importlib.util.find_spec("cupy") is None:
        return "cupy is not installed"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA answers {error}"
    return None if count else "there is no CUDA device"
