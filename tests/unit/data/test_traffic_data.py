import dataclasses
import hashlib
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pems_files
import pytest

from kcde.data import catalogue, pems, synthetic, traffic
from kcde.data.traffic import Traffic, open_traffic


def pin(table, name, path, out):
    """Write a catalogue that has the checksum of a file."""
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rows.loc[rows["name"] == name, "sha256"] = digest
    rows.to_csv(out, index=False)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return folder, synthetic.write_smoke_data(folder)


def test_an_hour_counts_once_however_many_weather_labels_it_has(made_up):
    folder, path = made_up
    data = open_traffic("smoke-traffic", folder, path)
    table = pd.read_csv(folder / "smoke/smoke-traffic.csv")
    assert data.repeats == table["date_time"].duplicated().sum() > 0
    first = table.drop_duplicates("date_time")
    time = pd.to_datetime(first["date_time"])
    np.testing.assert_array_equal(
        data.X, np.column_stack([time.dt.day_of_week, 3600 * time.dt.hour])
    )
    np.testing.assert_array_equal(data.Y[:, 0], first["traffic_volume"])
    np.testing.assert_array_equal(data.days, (time.dt.normalize() - pd.Timestamp(0)).dt.days)
    assert len(data.inputs) == 7 * 8
    counts, *_ = traffic.moments(data.X, data.Y, data.inputs)
    assert len(set(counts)) > 1


def test_hours_with_two_volumes_are_refused(tmp_path):
    table = synthetic.write_smoke_data(tmp_path)
    hours = pd.read_csv(tmp_path / "smoke/smoke-traffic.csv")
    repeated = hours.index[hours["date_time"].duplicated()][0]
    hours.loc[repeated, "traffic_volume"] += 1
    path = tmp_path / "smoke/smoke-traffic.csv"
    hours.to_csv(path, index=False)
    pin(table, "smoke-traffic", path, table)
    said = f"1 hours have several volumes \\(first: {hours['date_time'][repeated]}"
    with pytest.raises(ValueError, match=said):
        open_traffic("smoke-traffic", tmp_path, table)


def test_days_that_test_are_others_than_those_that_train(made_up):
    data = open_traffic("smoke-traffic", *made_up)
    numbered = dataclasses.replace(data, Y=data.days[:, None].astype(float))
    for number in range(3):
        split = numbered.split(number)
        train, test = set(split.Y[:, 0]), set(split.Y_test[:, 0])
        assert not train & test
        assert train | test == set(data.days)
        assert len(train) == round(0.8 * len(set(data.days)))
        # Every hour of a day is on its side, with its own input.
        assert len(split.Y) + len(split.Y_test) == len(data.Y)
    first, second = (set(numbered.split(number).Y_test[:, 0]) for number in (0, 1))
    assert first != second
    np.testing.assert_array_equal(data.split(1).X, data.split(1).X)


def test_too_few_days_are_refused():
    one = Traffic("one", np.zeros((3, 2)), np.ones((3, 1)), np.zeros(3, dtype=int), "")
    with pytest.raises(ValueError, match="one has 1 days, too few to train on some"):
        one.split(0)


def test_moments_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    inputs = np.array([[0.0, 0], [0, 3], [1, 0], [2, 5]])
    X = inputs[rng.integers(0, 3, 40)]
    Y = rng.normal(size=(40, 1))
    counts, mean, std = traffic.moments(X, Y, inputs)
    edges = np.linspace(Y.min(), Y.max(), 6)
    bins = traffic.counts_in_bins(X, Y, inputs, edges)
    for i, each in enumerate(inputs[:3]):
        here = Y[np.all(each == X, axis=1), 0]
        assert counts[i] == len(here)
        np.testing.assert_allclose([mean[i], std[i]], [here.mean(), here.std()])
        np.testing.assert_array_equal(bins[i], np.histogram(here, edges)[0])
    assert (counts[3], bins[3].sum()) == (0, 0)
    assert np.isnan(mean[3])
    assert np.isnan(std[3])


def test_simulated_traffic_has_the_shape_of_the_real_one():
    data = traffic.simulated()
    assert data.X.shape == (32_256, 2)
    assert data.Y.min() >= 0.0
    assert data.Y.max() <= 1.0
    assert data.sha256 is None
    counts, mean, std = traffic.moments(data.X, data.Y, data.inputs)
    assert (len(counts), set(counts)) == (1008, {32.0})
    assert set(np.diff(np.unique(data.X[:, 1]))) == {600.0}
    rush = (data.inputs[:, 0] < 5) & (abs(data.inputs[:, 1] / 3600 - 7.8) < 1)
    weekend = (data.inputs[:, 0] >= 5) & (abs(data.inputs[:, 1] / 3600 - 7.8) < 1)
    assert mean[rush].mean() > 2 * mean[weekend].mean()
    assert np.all(std > 0)
    np.testing.assert_array_equal(data.Y, open_traffic("simulated-traffic", "nowhere").Y)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """PEMS-SF in small: 2 slots a day, and a catalogue that knows its checksum."""
    weekdays, occupancy = pems_files.small((80, 9), 4, 2)
    path = tmp_path / "pems_sf/PEMS-SF.zip"
    path.parent.mkdir()
    pems_files.write(path, pems_files.members(weekdays, occupancy))
    monkeypatch.setattr(pems, "read", partial(pems.read, sensors=4, slots=2))
    table = tmp_path / "catalogue.csv"
    pin(catalogue.BUILT_IN, "pems-sf", path, table)
    return tmp_path, table, weekdays, occupancy


def test_pems_trains_on_the_first_days_of_each_weekday_and_tests_on_the_test_days(
    archive, monkeypatch
):
    folder, table, weekdays, occupancy = archive
    monkeypatch.setattr(traffic, "DAYS_A_WEEKDAY", 3)
    data = open_traffic("pems-sf", folder, table)
    assert data.splits == 1
    split = data.split(0)
    counts, mean, _ = traffic.moments(split.X, split.Y, data.inputs)
    assert (len(data.inputs), set(counts)) == (7 * 2, {3.0})
    of_monday = [k for k, label in enumerate(weekdays["train"]) if label == 1][:3]
    expected = occupancy["train"][of_monday, traffic.SENSOR].mean(axis=0)
    np.testing.assert_allclose(mean[:2], expected)
    np.testing.assert_array_equal(data.inputs[:2], [[0, 0], [0, 600]])
    np.testing.assert_array_equal(split.Y_test.reshape(-1, 2), occupancy["test"][:, traffic.SENSOR])
    with pytest.raises(ValueError, match="pems-sf has its own training and test days, one split"):
        data.split(1)


def test_a_weekday_with_fewer_days_has_fewer_outputs(archive):
    folder, table, *_ = archive
    split = open_traffic("pems-sf", folder, table).split(0)
    # 80 days: twelve Mondays to Wednesdays, eleven of the other weekdays; at most 32 are taken.
    counts = np.bincount(split.X[:, 0].astype(int)) / 2
    assert counts.tolist() == [12, 12, 12, 11, 11, 11, 11]


def test_a_wrong_file_of_pems_is_refused_before_it_is_read(archive):
    folder, table, *_ = archive
    path = folder / "pems_sf/PEMS-SF.zip"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"pems-sf: .* wrong checksum.*python -m kcde fetch pems"):
        open_traffic("pems-sf", folder, table)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="run python -m kcde fetch pems-sf"):
        open_traffic("pems-sf", folder, table)


def test_a_table_without_times_is_refused(made_up):
    with pytest.raises(ValueError, match=r"smoke-linear has no times: .* take PEMS-SF"):
        open_traffic("smoke-linear", *made_up)
    with pytest.raises(ValueError, match="no data set named 'smoke-trafic'; did you mean"):
        open_traffic("smoke-trafic", *made_up)


@pytest.mark.data
def test_metro_has_every_input_and_agrees_where_it_repeats(raw_data):
    data = open_traffic("metro-traffic-substitute", raw_data)
    assert (len(data.Y), data.repeats, len(data.inputs)) == (40_575, 7_629, 168)
    assert len(np.unique(data.days)) == 1860
    counts, mean, _ = traffic.moments(data.X, data.Y, data.inputs)
    assert (counts.min(), counts.max()) == (227, 256)
    # Tuesday 8 in the morning is busier than Sunday 3 at night.
    assert mean[24 + 8] > 10 * mean[6 * 24 + 3]


def test_days_that_the_file_names_are_holidays_all_day(made_up):
    folder, path = made_up
    data = open_traffic("smoke-traffic", folder, path)
    table = pd.read_csv(folder / "smoke/smoke-traffic.csv", keep_default_na=False)
    named = pd.to_datetime(table.loc[table["holiday"] != "None", "date_time"])
    days = set((named.dt.normalize() - pd.Timestamp(0)).dt.days)
    assert 0 < len(days) <= 4
    assert set(data.days[data.holidays]) == days
    assert not np.isin(data.days[~data.holidays], list(days)).any()
    assert data.holidays.sum() > len(days)


def test_thinned_splits_have_no_holidays_and_32_training_days_of_each_weekday():
    days = np.repeat(np.arange(420), 2)
    X = np.column_stack([days % 7, np.tile([0.0, 3600.0], 420)]).astype(float)
    holidays = np.isin(days, [5, 100, 101, 300])
    data = Traffic("made-up", X, days[:, None].astype(float), days, "", holidays=holidays)
    whole, thinned = data.split(1), data.split(1, thinned=True)
    closed = {5, 100, 101, 300}
    assert set(thinned.Y_test[:, 0]) == set(whole.Y_test[:, 0]) - closed
    kept = sorted(set(whole.Y[:, 0]) - closed)
    of_each = Counter(day % 7 for day in set(thinned.Y[:, 0]))
    assert set(of_each.values()) == {32}
    assert set(thinned.Y[:, 0]) < set(kept)
    assert len(thinned.Y) == 7 * 32 * 2
    # Of the whole period, and drawn anew for each split.
    assert thinned.Y.max() > 400
    other = data.split(2, thinned=True)
    shared = set(kept) & set(data.split(2).Y[:, 0])
    both = set(thinned.Y[:, 0]) & set(other.Y[:, 0])
    assert len(both) < 0.8 * len(shared)
