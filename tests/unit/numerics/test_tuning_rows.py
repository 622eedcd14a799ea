import numpy as np
import pytest

from kcde.selection import subsample, tuning_rows


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
        grid(20, 20) ** 2,
        np.empty((300, 0)),
        np.ones((300, 1)),
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
