"""The made-up table of houses: its shape, its law, and that it is a table without faults."""

import numpy as np
import pandas as pd
from scipy import stats
from typer.testing import CliRunner

from kcde import tabular
from kcde.cli import app
from kcde.data import houses


def test_the_shape_is_that_of_the_california_housing_data():
    frame = houses.made_up()
    assert frame.shape == (20_640, 9)
    checked = tabular.check(frame, "price")
    assert len(checked.columns.x) == 8
    assert not checked.notes + checked.warnings
    assert 0.02 < (frame["price"] == houses.HIGHEST_PRICE).mean() < 0.08
    assert frame["price"].min() > 0.1


def test_below_the_cut_off_the_price_has_the_stated_law():
    frame = houses.made_up()
    mean, std = houses.log_price(frame)
    pit = stats.norm.cdf((np.log(frame["price"]) - mean) / std)
    likely = stats.norm.cdf((np.log(houses.HIGHEST_PRICE) - mean) / std)
    # Rows whose price is cut off have a known share at and above each level of the others.
    below = frame["price"] < houses.HIGHEST_PRICE
    assert abs(below.mean() - likely.mean()) < 0.01
    assert stats.kstest(pit[below] / likely[below], "uniform").pvalue > 0.001
    assert std.max() > 1.5 * std.min()


def test_the_command_writes_the_first_rows_of_the_same_table(tmp_path):
    done = CliRunner().invoke(app, ["houses", str(tmp_path / "houses.csv"), "--rows", "200"])
    assert "200 rows" in done.output
    few = houses.made_up(200)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "houses.csv"), few, check_dtype=False)
    pd.testing.assert_frame_equal(houses.made_up(300)[:200], few)
