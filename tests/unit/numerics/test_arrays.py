"""Arrays, solves, folds and grids, and what fits into memory."""

import importlib
import logging
import os
import re

import numpy as np
import pytest

from kcde import arrays, linalg, memory, selection
from kcde.arrays import to_numpy as host
from kcde.kernels import GaussianKernel

GIB = 1 << 30


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("transpose", [False, True])
def test_triangular_solve(xp, rng, transpose, columns):
    L = np.tril(rng.standard_normal((5, 5))) + 5 * np.eye(5)
    b = rng.standard_normal((5, *columns))
    kept = arrays.solve_triangular(xp.asarray(L), xp.asarray(b), transpose=transpose)
    np.testing.assert_allclose((L.T if transpose else L) @ host(kept), b, atol=1e-12)
    options = {"transpose": transpose, "overwrite_b": True}
    lost = arrays.solve_triangular(xp.asarray(L), xp.asarray(b.copy()), **options)
    np.testing.assert_array_equal(host(lost), host(kept))


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


@pytest.mark.parametrize("namespace", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_factors_in_place_take_no_copy_and_put_the_matrix_back(namespace, rng, monkeypatch):
    """Of each namespace whose matrices are factorised in their own memory."""
    monkeypatch.setattr(arrays, "_PANEL", 16)  # several blocks on cupy
    in_place = importlib.import_module(namespace)
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


def test_about_the_largest_rows_of_many_hold_every_larger_value(rng):
    values = rng.standard_normal(2**17)
    rows, rest = arrays.about_largest_rows(values, 4000)
    assert 2000 < len(rows) <= 8000
    np.testing.assert_array_equal(rows, np.flatnonzero(values > rest))
    # Where all are equal there is no threshold.
    assert len(arrays.about_largest_rows(np.ones(2**17), 4000)[0]) == 4000


def test_jitter_is_returned_and_logged(xp, caplog):
    singular = xp.asarray(np.ones((4, 4)))
    with caplog.at_level(logging.WARNING, logger="kcde.linalg"):
        assert linalg.factor_positive_definite(singular).jitter > 0
    assert "4 x 4" in caplog.text


@pytest.mark.parametrize("function", [linalg.factor_positive_definite, linalg.symmetric_spectrum])
@pytest.mark.parametrize("matrix", [[[1.0, np.nan], [np.nan, 1.0]], [[1.0, 0.0], [0.0, -0.5]]])
def test_matrices_that_are_not_finite_or_not_definite_are_refused(xp, function, matrix):
    with pytest.raises(np.linalg.LinAlgError):
        function(xp.asarray(np.array(matrix)))


def test_a_matrix_without_its_upper_triangle_is_written_again_where_it_has_no_factor(rng):
    root = rng.standard_normal((8, 4))
    singular, written = root @ root.T, []

    def write(matrix):
        written.append(matrix)
        matrix[...] = np.tril(singular)

    matrix = np.tril(singular)
    found = linalg.factor_positive_definite(matrix, overwrite=True, refill=write)
    expected = linalg.factor_positive_definite(singular)
    assert written
    assert all(each is matrix for each in written)
    assert found.jitter == expected.jitter > 0.0
    np.testing.assert_array_equal(np.tril(found.lower), expected.lower)


def test_a_large_shift_takes_few_steps_to_rounding_and_a_small_one_is_promised_none():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    A, shift = GaussianKernel(0.3)(X, X), 1e4
    b = np.random.default_rng(1).normal(size=(len(A), 3))
    b[:, 1] = 0.0
    steps = linalg.few_steps(A, shift)
    assert steps <= 8
    exact = np.linalg.solve(A + shift * np.eye(len(A)), b)
    found = linalg.conjugate_gradients(A, b, shift, steps)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-15 * np.abs(exact).max())
    assert not found[:, 1].any()
    assert not any(linalg.few_steps(A, shift) for shift in (1e-3, 0.0, 1e-320))
    assert linalg.few_steps(A[:100, :100], 1.0) is None
    A[0, 0] = np.nan
    assert linalg.few_steps(A, 1e4) is None


@pytest.mark.parametrize("M", [40, 601, 1500])
def test_no_direction_descends(rng, M):
    """Columns are close to their neighbours, as those of Gaussians on a grid."""
    z = np.linspace(-3.0, 3.0, M)
    A = np.exp(-0.5 * ((np.linspace(-4, 4, 60)[:, None] - z) / 0.3) ** 2)
    B = rng.standard_normal((5, 60)) + 0.5
    gamma = linalg.nonnegative_least_squares(A, B)
    assert gamma.shape == (5, M)
    assert (gamma >= 0.0).all()
    gradient = (B - gamma @ A.T) @ A
    assert gradient.max() < 1e-6
    assert np.abs(gradient[gamma > 0.0]).max() < 1e-6
    assert linalg.nonnegative_least_squares(A, np.empty((0, 60))).shape == (0, M)
    np.testing.assert_array_equal(linalg.nonnegative_least_squares(A, -np.ones((2, 60))), 0.0)


def grid(*sizes):
    return 8.0 * np.argwhere(np.ones(sizes))


def drawn(X, most, seed=3):
    return selection.tuning_rows(X, most, np.random.default_rng(seed))


def test_of_a_grid_they_are_a_block_in_each_quarter():
    X = np.random.default_rng(0).permutation(grid(30, 21))[:560]
    rows = drawn(X, 100)
    assert 70 <= len(rows) == len(set(rows)) <= 100
    for low in (X[:, 0] < 120, X[:, 0] >= 120):
        for left in (X[:, 1] < 80, X[:, 1] >= 80):
            part = X[rows][(low & left)[rows]]
            # All rows of the box that the block spans.
            inside = ((part.min(axis=0) <= X) & (part.max(axis=0) >= X)).all(axis=1)
            assert len(part) == inside.sum() > 9
            assert (np.ptp(part, axis=0) < [64.0, 48.0]).all()
    assert rows.tolist() == drawn(X, 100).tolist() != drawn(X, 100, seed=4).tolist()


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(1).standard_normal((300, 2)),
        grid(300)[:, [0, 0]],  # on a grid, of which the rows are a line
        np.repeat(grid(5, 5), 20, axis=0),  # the rows that are asked for can have all inputs
    ],
)
def test_other_rows_are_random(X):
    rows = drawn(X, 100)
    expected = selection.subsample(len(X), 100, np.random.default_rng(3))
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize(
    ("group", "environment", "expected"),
    [
        ({}, {}, 8 * GIB),
        ({"max": 4 * GIB, "current": 3 * GIB, "stat": "anon 5"}, {}, GIB),
        # Files that were read can be dropped.
        ({"max": 4 * GIB, "current": 3 * GIB, "stat": f"inactive_file {GIB}"}, {}, 2 * GIB),
        ({"max": "max", "current": 3 * GIB}, {}, 8 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "3072"}, 2 * GIB),
        ({}, {"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "4"}, 3 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "0"}, 8 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "512"}, 0),
    ],
)
def test_the_least_of_what_limits_leave_is_free(tmp_path, group, environment, expected):
    """Of a system with 8 GiB available whose process is in one group of each version."""
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB\n")
    (proc / "self" / "cgroup").write_text("4:cpu,memory:/batch/job\n7:pids:/\n0::/slice/job\n")
    (proc / "self" / "statm").write_text(f"9 {GIB // os.sysconf('SC_PAGE_SIZE')} 1 1 0 1 0\n")
    (tmp_path / "slice/job").mkdir(parents=True)
    for name, text in group.items():
        (tmp_path / f"slice/job/memory.{name}").write_text(f"{text}\n")
    assert memory.free_host_bytes(proc, tmp_path, environment) == expected


def numbers(n):
    return n * (n + 3)


def test_the_largest_that_fits_is_named_and_fits(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 123_456_789)
    with pytest.raises(memory.InsufficientMemory) as refused:
        memory.require_memory(np.ones(1), "the fit", 60000, numbers, remedy="buy some")
    assert "buy some" in str(refused.value)
    largest = int(re.search(r"fits is (\d+)", str(refused.value))[1])
    assert 8 * numbers(largest) <= 123_456_789 < 8 * numbers(largest + 1)
    memory.require_memory(np.ones(1), "the fit", largest, numbers)
