"""The larger sets: their questions, and that no person and no later hour is on both sides."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kcde.data import larger
from kcde.data.larger import by_group, forward, open_larger

BUNDLED = Path("resources/data")


def test_wine_asks_for_alcohol_given_the_ten_other_measurements():
    data = open_larger("red-wine", BUNDLED)
    table = pd.read_csv(BUNDLED / "uci/winequality-red.csv", sep=";")
    np.testing.assert_array_equal(data.Y[:, 0], table["alcohol"])
    assert data.X.shape == (1599, 10)
    assert not {"alcohol", "quality"} & set(data.x_columns)
    assert data.rows is None


def test_no_person_is_on_both_sides():
    data = open_larger("parkinsons", BUNDLED)
    table = pd.read_csv(BUNDLED / "uci/parkinsons_updrs.data")
    people, columns = table["subject#"].to_numpy(), table.columns
    assert data.x_columns == tuple(columns[columns.get_loc("Jitter(%)") :])
    np.testing.assert_array_equal(data.Y[:, 0], table["total_UPDRS"])
    for split in range(5):
        train, test = data.rows(split)
        assert not set(people[train]) & set(people[test])
        np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(len(people)))
    assert not np.array_equal(data.rows(0)[0], data.rows(1)[0])
    np.testing.assert_array_equal(data.rows(1)[0], open_larger("parkinsons", BUNDLED).rows(1)[0])
    assert data.groups is None
    grouped = open_larger("parkinsons-people", BUNDLED)
    np.testing.assert_array_equal(grouped.groups, people)
    np.testing.assert_array_equal(grouped.X, data.X)
    np.testing.assert_array_equal(grouped.rows(3)[0], data.rows(3)[0])


def test_traffic_has_a_row_an_hour_in_the_order_of_time():
    time = pd.date_range("2020-01-01", periods=30, freq="h")
    table = pd.DataFrame(
        {"date_time": time.astype(str), "temp": 280.0, "rain_1h": 0.0, "traffic_volume": range(30)}
    )
    table.loc[3, "temp"], table.loc[4, "rain_1h"] = 0.0, 9831.3
    doubled = pd.concat([table, table.iloc[10:12]]).sample(frac=1.0, random_state=0)
    found = larger._hours(doubled, "any")
    assert found["traffic_volume"].tolist() == [0, 1, 2, *range(5, 30)]
    assert found["hour"].tolist() == [k % 24 for k in found["traffic_volume"]]


def test_traffic_is_at_most_ten_thousand_hours():
    time = pd.date_range("2020-01-01", periods=12_000, freq="h")
    table = pd.DataFrame({"date_time": time, "temp": 280.0, "rain_1h": 0.0})
    found = larger._hours(table, "any")
    assert len(found) == 10_000
    assert found["time"].is_monotonic_increasing
    pd.testing.assert_frame_equal(found, larger._hours(table, "any"))


def test_the_past_trains_and_what_follows_tests():
    rows = forward(61)
    for split in range(5):
        train, test = rows(split)
        np.testing.assert_array_equal(train, np.arange(test[0]))
        np.testing.assert_array_equal(test, np.arange(test[0], test[-1] + 1))
    assert rows(4)[1][-1] == 60
    with pytest.raises(ValueError, match="have 5 splits; got 5"):
        rows(5)


def test_half_of_the_groups_train():
    groups = np.repeat(np.arange(7), [1, 5, 2, 9, 3, 1, 4])
    train, test = by_group(groups, "any")(2)
    assert (len(set(groups[train])), len(set(groups[test]))) == (3, 4)


def test_other_data_are_as_the_catalogue_has_them():
    assert open_larger("geyser", BUNDLED).rows is None
