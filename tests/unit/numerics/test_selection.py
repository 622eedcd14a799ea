import numpy as np
import pytest

from kcde import selection
from kcde.selection import subsample, tuning_rows


def test_folds_partition_the_rows_evenly(rng):
    folds = selection.kfold(23, 5, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(23))
    assert {len(fold) for fold in folds} == {4, 5}
    with pytest.raises(ValueError, match="5 rows"):
        selection.kfold(4, 5, rng)


def test_best_index_passes_over_what_is_not_finite():
    assert selection.best_index(np.array([[np.nan, 1.0], [np.inf, 2.0]])) == (1, 1)
    with pytest.raises(ValueError, match="no candidate has a finite"):
        selection.best_index(np.array([np.nan, -np.inf]))


def test_refined_grid_stays_within_one_step():
    grid = selection.log_grid(0.1, 10.0, 5)
    finer = selection.refined_grid(grid[2], grid, 5)
    assert finer[2] == pytest.approx(grid[2])
    assert grid[1] < finer[0] < finer[-1] < grid[3]
    np.testing.assert_allclose(np.diff(np.log(finer)), np.log(grid[1] / grid[0]) / 3)


def test_rows_of_one_label_are_in_one_fold(rng):
    labels = np.array([0, 3, 1, 1, 2, 0, 4, 3, 3, 5, 6, 1])
    folds = selection.grouped_kfold(labels, 3, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(12))
    for label in range(7):
        rows = np.flatnonzero(labels == label)
        assert sum(bool(np.isin(rows, fold).any()) for fold in folds) == 1
    counts = [len(set(labels[fold])) for fold in folds]
    assert max(counts) - min(counts) <= 1
    with pytest.raises(ValueError, match="together needs at least 5 groups; got 2"):
        selection.grouped_kfold(np.array([0, 1, 0, 1, 0, 1]), 5, rng)


def grid(*sizes, step=8.0):
    ticks = [step * np.arange(size) for size in sizes]
    return np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, len(sizes))


def drawn(X, most, seed=3):
    return tuning_rows(X, most, np.random.default_rng(seed))


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
    expected = subsample(len(X), 100, np.random.default_rng(3))
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("most", [0, -5])
def test_fewer_than_one_row_are_refused(most):
    with pytest.raises(ValueError, match=f"at most {most} rows .* set tuning_rows"):
        drawn(grid(30, 21), most)
    with pytest.raises(ValueError, match="set tuning_rows"):
        subsample(100, most, np.random.default_rng(0))
