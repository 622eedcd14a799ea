"""Pairs read in blocks: the same fit, and what is refused."""

import sys

import numpy as np
import pandas as pd
import pytest

from kcde.estimators import LikelihoodKCEF
from kcde.estimators._likelihood.features import KernelFeatures, output_grid, support
from kcde.estimators._likelihood.sources import FeatureRows, scales
from kcde.estimators._shared.floored import Normal
from kcde.streaming import ArrayRows, ParquetRows

GIVEN = {"bandwidth_x": 1.0, "bandwidth_y": 0.8, "regularization": 1e-3}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + rng.normal(size=700)})


@pytest.fixture
def parquet(table, tmp_path):
    """A folder with two files, and their pairs."""
    (tmp_path / "rows").mkdir()
    table[:300].to_parquet(tmp_path / "rows" / "0.parquet")
    table[300:].to_parquet(tmp_path / "rows" / "1.parquet")
    return tmp_path / "rows"


def pairs_of(table):
    return table[["a", "b"]].to_numpy(), table["y"].to_numpy()[:, None]


def test_blocks_give_the_fit_of_all_rows(table):
    X, Y = pairs_of(table)
    whole = LikelihoodKCEF(**GIVEN).fit(X, Y)
    found = LikelihoodKCEF(**GIVEN).fit_rows(ArrayRows(X, Y[:, 0], block=64))
    np.testing.assert_allclose(found.log_density(X, Y), whole.log_density(X, Y), atol=1e-5)
    assert found.n_features_in_ == 2
    assert found._n_fitted == whole._n_fitted == 700


def test_memory_maps(table, tmp_path):
    X, Y = pairs_of(table)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    np.save(tmp_path / "y.npy", Y.astype(np.float32))
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("x.npy", "y.npy")]
    found = LikelihoodKCEF(**GIVEN).fit_rows(ArrayRows(*mapped, block=100))
    whole = LikelihoodKCEF(**GIVEN).fit(X, Y)
    np.testing.assert_allclose(found.log_density(X, Y), whole.log_density(X, Y), atol=1e-4)


def test_parquet_files_give_the_same(table, parquet):
    X, Y = pairs_of(table)
    rows = ParquetRows(parquet, ["a", "b"], "y", block=128)
    assert len(rows) == 700
    np.testing.assert_allclose(np.concatenate([y for _, y in rows.blocks()]), Y)
    np.testing.assert_allclose(rows.take(np.array([3, 500]))[0], X[[3, 500]])
    found = LikelihoodKCEF(**GIVEN).fit_rows(rows)
    whole = LikelihoodKCEF(**GIVEN).fit(X, Y)
    np.testing.assert_allclose(found.log_density(X, Y), whole.log_density(X, Y), atol=1e-5)


def test_shards_add_up_to_the_gradient_of_all(table):
    X, Y = pairs_of(table)
    rng = np.random.default_rng(1)
    x = KernelFeatures.of_rows(X, 1.0, 20, rng, constant=True)
    y = KernelFeatures.of_rows(Y, 0.8, 8, rng, constant=False)
    grid = output_grid(y, Normal(0.0, 2.0), support(Y.min(), Y.max(), 0.8, 2.0), X)
    theta = 0.3 * rng.standard_normal((1, x.rank, y.rank))

    def sums(part, block):
        rows = FeatureRows(ArrayRows(X[part], Y[part], block), x, y, np.float64)
        return rows.sums(grid)(theta)

    whole = sums(slice(None), 1000)
    shards = [sums(part, 64) for part in (slice(0, 200), slice(200, 201), slice(201, 700))]
    added = shards[0].plus(shards[1]).plus(shards[2])
    np.testing.assert_allclose(added.log_z, whole.log_z, rtol=1e-12)
    np.testing.assert_allclose(added.moment, whole.moment, rtol=1e-10)


def test_scales_of_blocks_are_those_of_all_rows(table):
    X, Y = pairs_of(table)
    X = np.hstack([1e6 + X, np.ones((700, 1))])
    found = scales(ArrayRows(X, Y, block=33))
    np.testing.assert_allclose(found.x, [*X[:, :2].std(axis=0), 1.0], rtol=1e-9)
    assert (found.mean, found.std) == pytest.approx((Y.mean(), Y.std()), rel=1e-12)


def test_a_value_that_is_missing_is_named(table, tmp_path):
    table.assign(b=table["b"].where(table.index != 650)).to_parquet(tmp_path / "t.parquet")
    rows = ParquetRows(tmp_path / "t.parquet", ["a", "b"], "y", block=100)
    with pytest.raises(ValueError, match="column b"):
        LikelihoodKCEF(**GIVEN).fit_rows(rows)


def test_wrong_parquet_files_are_refused(table, parquet, tmp_path):
    with pytest.raises(ValueError, match="has no column c; it has a, b, y"):
        ParquetRows(parquet, ["a", "c"], "y")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        ParquetRows(tmp_path / "none.parquet", ["a"], "y")
    table.assign(a="text").to_parquet(tmp_path / "text.parquet")
    with pytest.raises(ValueError, match=r"column a of .* not of numbers"):
        ParquetRows(tmp_path / "text.parquet", ["a"], "y")
    table[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        ParquetRows(tmp_path / "empty.parquet", ["a"], "y")


def test_without_pyarrow_the_remedy_is_named(parquet, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'kcde\[parquet\]'"):
        ParquetRows(parquet, ["a"], "y")
