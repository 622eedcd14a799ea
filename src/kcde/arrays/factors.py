"""Cholesky factors and triangular solves, in the memory of their arguments where that may be.

LAPACK and cuSOLVER store by columns: the lower triangle of a matrix in C order is their upper one,
so that neither a transpose nor a copy is needed.
"""

from functools import cache

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace, is_cupy_array, is_numpy_array

_BLOCK = 2048
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
    is formed. On cupy the host waits for one number, whether it succeeded.

    Parameters
    ----------
    matrix
        A, shape (n, n); only its lower triangle counts.
    shift
        Added to the diagonal.
    overwrite
        Whether a float64 matrix of numpy or cupy in C order may be lost: the factor takes its lower
        triangle and leaves A above the diagonal, from where A is put back where the factorisation
        fails, so that it has to be symmetric in full to be used again.

    Returns
    -------
    shape (n, n), zero above the diagonal unless overwritten, or None
    """
    if is_numpy_array(matrix) or is_cupy_array(matrix):
        factorise = _lapack if is_numpy_array(matrix) else _cusolver
        # f2py hands LAPACK a copy of any other type, and the factor is lost with it.
        if not (overwrite and matrix.flags.c_contiguous and matrix.dtype == np.float64):
            return factorise(_copy(matrix), shift, clean=True)
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


def _copy(matrix):
    if is_numpy_array(matrix):
        return np.array(matrix, dtype=np.float64, order="C")
    return matrix.astype(np.float64, order="C")


def _lapack(matrix: np.ndarray, shift: float, clean: bool) -> np.ndarray | None:
    """Factorise in place; `clean` zeroes what is above the diagonal."""
    matrix.flat[:: len(matrix) + 1] += shift
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

    size = cusolver.dpotrf_bufferSize(solver, upper, min(n, _BLOCK), at(0, 0), n)
    work, info = cupy.empty(size), cupy.empty(-(-n // _BLOCK), dtype=cupy.int32)
    for i, start in enumerate(range(0, n, _BLOCK)):
        stop = min(start + _BLOCK, n)
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
        _kernels()["clean"](n, matrix)
    return matrix


def _put_back(matrix, diagonal) -> None:
    """Restore a symmetric matrix from its diagonal and what is above it."""
    if is_cupy_array(matrix):
        _kernels()["put_back"](len(matrix), diagonal, matrix, size=matrix.size)
        return
    matrix.flat[:: len(matrix) + 1] = diagonal
    for i in range(1, len(matrix)):
        matrix[i, :i] = matrix[:i, i]


@cache
def _kernels() -> dict:
    """Return cupy kernels over the entries i of a matrix in C order."""
    import cupy

    return {
        "clean": cupy.ElementwiseKernel("int64 width", "float64 a", _CLEAN, "kcde_clean"),
        "put_back": cupy.ElementwiseKernel(
            "int64 width, raw float64 diagonal", "raw float64 a", _PUT_BACK, "kcde_put_back"
        ),
    }


def solve_triangular(lower, b, *, transpose: bool = False, overwrite_b: bool = False):
    """Solve L x = b, or Lᵀ x = b, for a lower triangular L.

    The array API has no triangular solve; numpy and cupy have one in (cupyx.)scipy, and any
    other namespace falls back on its general solve.

    Parameters
    ----------
    lower
        Shape (n, n), lower triangular; what is above the diagonal does not count on numpy and cupy.
    b
        Shape (n,) or (n, k).
    transpose
        Whether to solve with Lᵀ.
    overwrite_b
        Whether b may be lost.
    """
    if is_numpy_array(lower):
        return scipy.linalg.solve_triangular(
            lower,
            b,
            lower=True,
            trans=int(transpose),
            overwrite_b=overwrite_b,
            check_finite=False,
        )
    if is_cupy_array(lower):
        import cupyx.scipy.linalg

        # cupyx copies what is not stored by columns: U = Lᵀ is.
        by_rows = lower.flags.c_contiguous
        return cupyx.scipy.linalg.solve_triangular(
            lower.T if by_rows else lower,
            b,
            lower=not by_rows,
            trans=int(transpose != by_rows),
            overwrite_b=overwrite_b,
        )
    xp = array_namespace(lower, b)
    matrix = xp.linalg.matrix_transpose(lower) if transpose else lower
    return xp.linalg.solve(matrix, b)


def inverse_of_factor(lower):
    """Return (L Lᵀ)⁻¹ for a lower triangular L, shape (n, n)."""
    xp = array_namespace(lower)
    if not is_numpy_array(lower):
        half = solve_triangular(lower, xp.eye(lower.shape[0], dtype=lower.dtype))
        return solve_triangular(lower, half, transpose=True, overwrite_b=True)
    inverse, _ = scipy.linalg.lapack.dpotri(lower.T, lower=0)
    half = np.tril(inverse.T)
    return half + np.tril(half, -1).T
