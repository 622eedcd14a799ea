from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kcde.data.loaders import load
from kcde.data.preprocessing import removed_columns, removed_from
from kcde.data.synthetic import write_smoke_data


@pytest.fixture
def table(rng):
    """Columns a to f: c repeats a, d is whole, e is text, f is minus b but for noise."""
    a, b = rng.standard_normal((2, 200))
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "c": a + 0.1 * rng.standard_normal(200),
            "d": np.arange(200.0),
            "e": ["x"] * 200,
            "f": -b + 1e-3 * rng.standard_normal(200),
        }
    )


def test_the_first_of_a_correlated_pair_and_discrete_columns_go(table):
    removed = removed_columns(table)
    assert list(removed) == ["a", "b", "d", "e"]
    assert removed["d"] == removed["e"] == "discrete"
    expected = abs(np.corrcoef(table["a"], table["c"])[0, 1])
    assert removed["a"] == f"|r| = {expected:.3f} with c"
    assert removed["b"] == "|r| = 1.000 with f"


def test_the_threshold_decides(table):
    r = abs(np.corrcoef(table["a"], table["c"])[0, 1])
    assert "a" in removed_columns(table, r - 1e-9)
    assert "a" not in removed_columns(table, r + 1e-9)


def test_one_fraction_makes_a_column_continuous(table):
    table.loc[17, "d"] = 17.5
    assert "d" not in removed_columns(table)


def test_the_rule_is_held_against_the_catalogue(tmp_path):
    catalogue = write_smoke_data(tmp_path)
    data = load("smoke-joint", tmp_path, catalogue)
    removed = removed_from(data, tmp_path, catalogue)
    assert removed
    assert not set(removed) & set(data.y_columns)
    short = replace(data, y_columns=data.y_columns[1:])
    with pytest.raises(ValueError, match=r"smoke-joint: without discrete .* correct y"):
        removed_from(short, tmp_path, catalogue)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "left", "discrete"),
    [
        ("red-wine", 11, ["quality"]),
        ("white-wine", 11, ["quality"]),
        ("parkinsons", 15, ["subject#", "age", "sex"]),
    ],
)
def test_the_rule_leaves_the_columns_of_the_catalogue(name, left, discrete, raw_data):
    data = load(name, raw_data)
    removed = removed_from(data, raw_data)
    assert len(data.y_columns) == left
    assert [column for column, why in removed.items() if why == "discrete"] == discrete
