"""Traffic: hours of a table, PEMS-SF, and what is simulated in its shape."""

import dataclasses
import hashlib
import zipfile
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

from kcde.data import catalogue, traffic
from kcde.data.traffic import Traffic, open_traffic


def test_an_hour_counts_once_however_many_weather_labels_it_has(smoke):
    folder, path = smoke
    data = open_traffic("smoke-traffic", folder, path)
    table = pd.read_csv(folder / "smoke/smoke-traffic.csv")
    first = table.drop_duplicates("date_time")
    assert len(first) < len(table)
    time = pd.to_datetime(first["date_time"])
    expected = np.column_stack([time.dt.day_of_week, 3600 * time.dt.hour])
    np.testing.assert_array_equal(data.X, expected)
    np.testing.assert_array_equal(data.Y[:, 0], first["traffic_volume"])
    np.testing.assert_array_equal(data.days, (time.dt.normalize() - pd.Timestamp(0)).dt.days)
    assert len(data.inputs) == 7 * 8
    counts, *_ = traffic.moments(data.X, data.Y, data.inputs)
    assert len(set(counts)) > 1


def test_days_that_test_are_others_than_those_that_train(smoke):
    data = open_traffic("smoke-traffic", *smoke)
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
    assert np.isnan([mean[3], std[3]]).all()


def write_pems(path, changed=None):
    """Write an archive in the format of PEMS-SF; return labels and occupancies by fold."""
    rng, weekdays, occupancy, texts = np.random.default_rng(1), {}, {}, {"randperm": "[2 1]\n"}
    for fold, n in (("train", 80), ("test", 9)):
        weekdays[fold] = 1 + np.arange(n) % 7
        occupancy[fold] = rng.random((n, 4, 2)).round(4)
        rows = (";".join(f"{a:.5g} {b:.5g}" for a, b in day) for day in occupancy[fold])
        texts[f"PEMS_{fold}"] = "".join(f"[{row}]\n" for row in rows)
        texts[f"PEMS_{fold}labels"] = f"[{' '.join(map(str, weekdays[fold]))}]\n"
    for member, (old, new) in (changed or {}).items():
        texts[member] = texts[member].replace(old, new, 1)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return weekdays, occupancy


def test_pems_trains_on_the_first_days_of_each_weekday(tmp_path, monkeypatch):
    path = tmp_path / "pems_sf/PEMS-SF.zip"
    path.parent.mkdir()
    weekdays, occupancy = write_pems(path)
    rows = pd.read_csv(catalogue.BUILT_IN, dtype=str, keep_default_na=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    rows.loc[rows["name"] == "pems-sf", "sha256"] = digest
    rows.to_csv(tmp_path / "catalogue.csv", index=False)
    monkeypatch.setattr(traffic, "read_pems", partial(traffic.read_pems, sensors=4, slots=2))
    monkeypatch.setattr(traffic, "DAYS_A_WEEKDAY", 3)
    data = open_traffic("pems-sf", tmp_path, tmp_path / "catalogue.csv")
    split = data.split(0)
    counts, mean, _ = traffic.moments(split.X, split.Y, data.inputs)
    assert (len(data.inputs), set(counts)) == (7 * 2, {3.0})
    of_monday = np.flatnonzero(weekdays["train"] == 1)[:3]
    expected = occupancy["train"][of_monday, traffic.SENSOR].mean(axis=0)
    np.testing.assert_allclose(mean[:2], expected)
    np.testing.assert_array_equal(data.inputs[:2], [[0, 0], [0, 600]])
    np.testing.assert_array_equal(split.Y_test.reshape(-1, 2), occupancy["test"][:, traffic.SENSOR])


@pytest.mark.parametrize(
    ("member", "change"),
    [
        ("PEMS_train", ("]", "")),
        ("PEMS_test", ("0.", "nan 0.")),
        ("PEMS_trainlabels", ("[1 2", "[1 8")),
        ("PEMS_trainlabels", ("[1 2", "[2")),
        (None, None),
    ],
)
def test_what_is_no_pems_or_cut_short_is_refused(tmp_path, member, change):
    path = tmp_path / "p.zip"
    write_pems(path, {member: change} if member else None)
    if not member:
        path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match=r"p\.zip is not PEMS-SF"):
        traffic.read_pems(path, 0, 4, 2)


def test_thinned_splits_have_no_holidays_and_32_training_days_of_each_weekday():
    days, closed = np.repeat(np.arange(420), 2), {5, 100, 101, 300}
    X = np.column_stack([days % 7, np.tile([0.0, 3600.0], 420)]).astype(float)
    Y, holidays = days[:, None].astype(float), np.isin(days, [*closed])
    data = Traffic("made-up", X, Y, days, holidays=holidays)
    whole, thinned = data.split(1), data.split(1, thinned=True)
    assert set(thinned.Y_test[:, 0]) == set(whole.Y_test[:, 0]) - closed
    assert set(thinned.Y[:, 0]) < set(whole.Y[:, 0]) - closed
    assert set(Counter(day % 7 for day in set(thinned.Y[:, 0])).values()) == {32}
    # Of the whole period, and drawn anew for each split.
    assert thinned.Y.max() > 400
    assert set(thinned.Y[:, 0]) != set(data.split(2, thinned=True).Y[:, 0])
