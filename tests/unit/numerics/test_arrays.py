import ctypes
import importlib.util
import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg

from kcde import arrays
from kcde.arrays import backends, blocks, factors


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(backends, "cupy_obstacle", lambda: "there is no CUDA device")


def test_unknown_backend_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="auto, numpy, cupy; got 'torch'"):
        arrays.resolve_backend("torch")


def test_cupy_without_a_gpu_is_an_error_that_says_so(no_gpu):
    with pytest.raises(RuntimeError, match=r"there is no CUDA device.*backend: numpy"):
        arrays.resolve_backend("cupy")


def test_auto_logs_what_it_took_and_why(no_gpu, caplog):
    with caplog.at_level(logging.INFO, logger="kcde.arrays"):
        assert arrays.resolve_backend("auto") == "numpy"
    assert "numpy, because there is no CUDA device" in caplog.text


def test_auto_takes_cupy_where_nothing_stands_against_it(monkeypatch, caplog):
    monkeypatch.setattr(backends, "cupy_obstacle", lambda: None)
    with caplog.at_level(logging.INFO, logger="kcde.arrays"):
        assert arrays.resolve_backend("auto") == "cupy"
    assert "backend auto: cupy" in caplog.text


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="cupy is installed")
def test_missing_cupy_is_the_obstacle_named():
    assert backends.cupy_obstacle() == "cupy is not installed"


def test_half_an_installation_of_cupy_is_an_obstacle_and_no_crash(monkeypatch, tmp_path):
    (tmp_path / "cupy.py").write_text("raise OSError('libcublas.so.12 cannot be opened')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert arrays.resolve_backend("auto") == "numpy"
    with pytest.raises(RuntimeError, match=r"cannot be imported \(OSError: libcublas.*info"):
        arrays.resolve_backend("cupy")


@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(xp, host, rng, transpose):
    L = np.tril(rng.standard_normal((5, 5))) + 5 * np.eye(5)
    b = rng.standard_normal((5, 2))
    x = host(arrays.solve_triangular(xp.asarray(L), xp.asarray(b), transpose=transpose))
    np.testing.assert_allclose((L.T if transpose else L) @ x, b, atol=1e-12)


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve_in_the_memory_of_b(xp, host, rng, transpose, columns):
    L = np.tril(rng.standard_normal((5, 5))) + 5 * np.eye(5)
    b = rng.standard_normal((5, *columns))
    kept = arrays.solve_triangular(xp.asarray(L), xp.asarray(b), transpose=transpose)
    lost = arrays.solve_triangular(
        xp.asarray(L), xp.asarray(b.copy()), transpose=transpose, overwrite_b=True
    )
    np.testing.assert_array_equal(host(lost), host(kept))


def test_what_is_above_the_diagonal_of_a_factor_does_not_count(rng):
    L, b = rng.standard_normal((5, 5)) + 5 * np.eye(5), rng.standard_normal(5)
    np.testing.assert_array_equal(
        arrays.solve_triangular(L, b), arrays.solve_triangular(np.tril(L), b)
    )


def test_take_rows(xp, host):
    array = xp.asarray(np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(
        host(arrays.take_rows(array, np.array([3, 0]))), [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]]
    )


def test_add_to_diagonal(xp, host, rng):
    A = rng.standard_normal((3, 3))
    found = arrays.add_to_diagonal(xp.asarray(A.copy()), xp.asarray(np.array([1.0, 2.0, 3.0])))
    np.testing.assert_array_equal(host(found), A + np.diag([1.0, 2.0, 3.0]))


def test_row_blocks_cover_all_rows_once():
    found = arrays.row_blocks(10, blocks._BLOCK // 4)
    assert [(block.start, block.stop) for block in found] == [(0, 4), (4, 8), (8, 10)]
    assert len(arrays.row_blocks(3, 10 * blocks._BLOCK)) == 3
    assert arrays.row_blocks(5, 0) == [slice(0, 5)]
    cached = arrays.row_blocks(10, blocks._CACHED // 4, cached=True)
    assert cached == found


def test_blocks_on_a_device_are_larger(monkeypatch):
    monkeypatch.setattr(blocks, "is_cupy_array", lambda array: array == "on a device")
    monkeypatch.setattr(blocks, "_ON_DEVICE", 12)
    assert len(arrays.row_blocks(10, 2, cached=True, like="on a device")) == 2
    assert len(arrays.row_blocks(10, 2, like="on the host")) == 1


def test_exp_of_negative(xp, host):
    values = np.array([-800.0, -200.0, -1.0, 0.0, 1e-15])
    expected = np.exp([-200.0, -200.0, -1.0, 0.0, 0.0])
    np.testing.assert_allclose(host(arrays.exp_of_negative(xp.asarray(values))), expected)
    # Arithmetic on subnormal numbers is slow; a factorisation multiplies what it is given.
    assert expected[0] ** 3 > np.finfo(np.float64).tiny


@pytest.mark.parametrize("count", [1, 3, 6, 7, 20])
def test_largest_rows_and_the_largest_of_the_others(xp, count):
    values = np.array([2.0, 5.0, 5.0, 1.0, 5.0, 3.0, 0.0])
    rows, rest = arrays.largest_rows(xp.asarray(values), count)
    assert (np.diff(rows) > 0).all()
    others = np.delete(values, rows)
    assert len(rows) == min(count, 7)
    assert values[rows].min() >= max(others, default=-np.inf)
    assert rest == max(others, default=-np.inf)
    assert 1 in rows


def test_sums_of_runs(xp, host, rng):
    values = rng.standard_normal((7, 3))
    expected = [values[:2].sum(axis=0), values[2:3].sum(axis=0), values[3:].sum(axis=0)]
    found = arrays.sum_runs(xp.asarray(values), np.array([0, 2, 3]))
    np.testing.assert_allclose(host(found), expected, rtol=1e-12)


def test_factors_in_place_take_no_copy_and_put_the_matrix_back(in_place, host, rng):
    root = rng.standard_normal((40, 40))
    matrix = root @ root.T
    expected = host(arrays.cholesky(in_place.asarray(matrix), 0.5))
    np.testing.assert_allclose(expected @ expected.T, matrix + 0.5 * np.eye(40), atol=1e-10)
    np.testing.assert_array_equal(expected, np.tril(expected))
    copy = in_place.asarray(matrix.copy())
    lower = arrays.cholesky(copy, 0.5, overwrite=True)
    assert lower is copy
    np.testing.assert_array_equal(np.tril(host(lower)), expected)
    indefinite = matrix - 3.0 * np.eye(40)
    kept = in_place.asarray(indefinite.copy())
    assert arrays.cholesky(kept, overwrite=True) is None
    np.testing.assert_array_equal(host(kept), indefinite)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 2), (3, 1), (4, 4)])
def test_no_factor_of_what_is_not_finite(xp, value, place):
    matrix = 10.0 * np.eye(5)
    matrix[place] = matrix[place[::-1]] = value
    assert arrays.cholesky(xp.asarray(matrix)) is None


class OnDevice(np.ndarray):
    """A stand-in for cupy's arrays, in the host's memory."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def lapack_as_cusolver(handle, uplo, n, matrix, stride, work, size, info):
    """dpotrf as cuSOLVER's: pointers in, the upper triangle by columns overwritten."""
    assert (uplo, stride, size) == ("upper", n, 7)
    numbers = np.ctypeslib.as_array((ctypes.c_double * (n * n)).from_address(matrix))
    _, found = scipy.linalg.lapack.dpotrf(
        numbers.reshape((n, n), order="F"), lower=0, overwrite_a=1, clean=0
    )
    ctypes.c_int32.from_address(info).value = found


@pytest.fixture
def stand_in(monkeypatch):
    """What `cholesky` asks of cupy, in numpy and LAPACK, to go through its branches on any host."""

    def empty(size, dtype):
        return np.empty(size, dtype=dtype).view(OnDevice)

    cupy = SimpleNamespace(empty=empty, float64=np.float64, int32=np.int32, isfinite=np.isfinite)
    cupy.ndarray = type(None)  # array_api_compat asks whether an array is one
    device = SimpleNamespace(get_cusolver_handle=lambda: None)
    cusolver = SimpleNamespace(dpotrf=lapack_as_cusolver, dpotrf_bufferSize=lambda *_: 7)
    cublas = SimpleNamespace(CUBLAS_FILL_MODE_UPPER="upper")
    modules = {"cupy": cupy, "cupy.cuda": SimpleNamespace(device=device)}
    libraries = SimpleNamespace(cublas=cublas, cusolver=cusolver)
    modules |= {"cupy_backends.cuda": None, "cupy_backends.cuda.libs": libraries}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)

    def clean(width, a):
        a[np.triu_indices(width, 1)] = 0.0

    def put_back(width, diagonal, a, size):
        assert size == width**2
        a[...] = np.triu(a, 1) + np.triu(a, 1).T + np.diag(diagonal)

    monkeypatch.setattr(factors, "_kernels", lambda: {"clean": clean, "put_back": put_back})
    monkeypatch.setattr(factors, "is_cupy_array", lambda array: isinstance(array, OnDevice))
    monkeypatch.setattr(factors, "is_numpy_array", lambda array: not isinstance(array, OnDevice))
    return SimpleNamespace(asarray=lambda array: np.asarray(array).view(OnDevice))


@pytest.fixture(params=["numpy", "stand-in", pytest.param("cupy", marks=pytest.mark.gpu)])
def in_place(request):
    """Each namespace whose matrices are factorised in their own memory."""
    if request.param == "stand-in":
        return request.getfixturevalue("stand_in")
    if request.param == "cupy" and backends.cupy_obstacle():
        pytest.skip(backends.cupy_obstacle())
    return np if request.param == "numpy" else importlib.import_module("cupy")


def test_on_a_device_what_is_not_a_number_leaves_no_factor(stand_in):
    matrix = 10.0 * np.eye(5)
    matrix[3, 1] = matrix[1, 3] = np.nan
    assert arrays.cholesky(stand_in.asarray(matrix)) is None


def test_a_matrix_beyond_the_library_is_refused(stand_in, monkeypatch):
    monkeypatch.setattr(factors, "MOST_ON_DEVICE", 4)
    with pytest.raises(ValueError, match=r"at most 4 rows.*32-bit.*got 5: take fewer rows"):
        arrays.cholesky(stand_in.asarray(np.eye(5)))


def test_the_limit_of_the_library_is_that_of_its_integers():
    assert factors.MOST_ON_DEVICE**2 <= np.iinfo(np.int32).max < (factors.MOST_ON_DEVICE + 1) ** 2


def test_about_the_largest_rows_of_many_hold_every_larger_value(rng):
    values = rng.standard_normal(2**17)
    rows, rest = arrays.about_largest_rows(values, 4000)
    assert 2000 < len(rows) <= 8000
    np.testing.assert_array_equal(rows, np.flatnonzero(values > rest))
    # Where all are equal there is no threshold.
    assert len(arrays.about_largest_rows(np.ones(2**17), 4000)[0]) == 4000
