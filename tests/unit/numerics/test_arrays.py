import importlib

import numpy as np
import pytest

from devices import ON_GPU
from kcde import arrays


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(xp, host, rng, transpose, columns):
    L = np.tril(rng.standard_normal((5, 5))) + 5 * np.eye(5)
    b = rng.standard_normal((5, *columns))
    kept = arrays.solve_triangular(xp.asarray(L), xp.asarray(b), transpose=transpose)
    np.testing.assert_allclose((L.T if transpose else L) @ host(kept), b, atol=1e-12)
    lost = arrays.solve_triangular(
        xp.asarray(L), xp.asarray(b.copy()), transpose=transpose, overwrite_b=True
    )
    np.testing.assert_array_equal(host(lost), host(kept))


def test_add_to_diagonal(xp, host, rng):
    A = rng.standard_normal((3, 3))
    found = arrays.add_to_diagonal(xp.asarray(A.copy()), xp.asarray(np.array([1.0, 2.0, 3.0])))
    np.testing.assert_array_equal(host(found), A + np.diag([1.0, 2.0, 3.0]))


def test_row_blocks_cover_all_rows_once():
    found = arrays.row_blocks(10, arrays._BLOCK // 4)
    assert [(block.start, block.stop) for block in found] == [(0, 4), (4, 8), (8, 10)]
    assert len(arrays.row_blocks(3, 10 * arrays._BLOCK)) == 3
    assert arrays.row_blocks(5, 0) == [slice(0, 5)]
    cached = arrays.row_blocks(10, arrays._CACHED // 4, cached=True)
    assert cached == found


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


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=ON_GPU)])
def in_place(request, monkeypatch):
    """Each namespace whose matrices are factorised in their own memory; several blocks on cupy."""
    monkeypatch.setattr(arrays, "_PANEL", 16)
    return importlib.import_module(request.param)


def test_about_the_largest_rows_of_many_hold_every_larger_value(rng):
    values = rng.standard_normal(2**17)
    rows, rest = arrays.about_largest_rows(values, 4000)
    assert 2000 < len(rows) <= 8000
    np.testing.assert_array_equal(rows, np.flatnonzero(values > rest))
    # Where all are equal there is no threshold.
    assert len(arrays.about_largest_rows(np.ones(2**17), 4000)[0]) == 4000
