import importlib.util
import logging

import numpy as np
import pytest

from kcde import arrays


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(arrays, "_cupy_obstacle", lambda: "there is no CUDA device")


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
    monkeypatch.setattr(arrays, "_cupy_obstacle", lambda: None)
    with caplog.at_level(logging.INFO, logger="kcde.arrays"):
        assert arrays.resolve_backend("auto") == "cupy"
    assert "backend auto: cupy" in caplog.text


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="cupy is installed")
def test_missing_cupy_is_the_obstacle_named():
    assert arrays._cupy_obstacle() == "cupy is not installed"


@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(xp, host, rng, transpose):
    L = np.tril(rng.standard_normal((5, 5))) + 5 * np.eye(5)
    b = rng.standard_normal((5, 2))
    x = host(arrays.solve_triangular(xp.asarray(L), xp.asarray(b), transpose=transpose))
    np.testing.assert_allclose((L.T if transpose else L) @ x, b, atol=1e-12)


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
    blocks = arrays.row_blocks(10, arrays._BLOCK // 4)
    assert [(block.start, block.stop) for block in blocks] == [(0, 4), (4, 8), (8, 10)]
    assert len(arrays.row_blocks(3, 10 * arrays._BLOCK)) == 3
    assert arrays.row_blocks(5, 0) == [slice(0, 5)]
    cached = arrays.row_blocks(10, arrays._CACHED // 4, cached=True)
    assert cached == blocks


def test_exp_of_negative(xp, host):
    values = np.array([-800.0, -700.0, -1.0, 0.0, 1e-15])
    expected = np.exp([-700.0, -700.0, -1.0, 0.0, 0.0])
    np.testing.assert_allclose(host(arrays.exp_of_negative(xp.asarray(values))), expected)


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


def test_factors_in_place_take_no_copy_and_put_the_matrix_back(rng):
    root = rng.standard_normal((40, 40))
    matrix = root @ root.T
    expected = arrays.cholesky(matrix, 0.5)
    copy = matrix.copy()
    lower = arrays.cholesky(copy, 0.5, overwrite=True)
    assert lower is copy
    np.testing.assert_array_equal(np.tril(lower), expected)
    indefinite = matrix - 3.0 * np.eye(40)
    kept = indefinite.copy()
    assert arrays.cholesky(kept, overwrite=True) is None
    np.testing.assert_array_equal(kept, indefinite)
