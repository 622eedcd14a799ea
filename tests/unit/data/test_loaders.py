"""The catalogue, and from raw files to arrays: made-up tables, all bundled ones, larger sets."""

import hashlib
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

from kcde.data import catalogue, french, loaders, names
from kcde.data.loaders import load
from kcde.data.smoke import write_smoke_data
from kcde.experiments import r_benchmark
from kcde.experiments.r_benchmark import by_group, forward, open_larger
from kcde.papers import published

# Rows and columns of x and of y, and the y of the first row.
BUNDLED = {
    "caution": (100, 2, 1, 0.156042),
    "highway": (39, 11, 1, 4.58),
    "BigMac2003": (69, 9, 1, 16.0),
    "ufc": (372, 4, 1, 205.0),
    "geyser": (299, 1, 1, 4.0166667),
    "crabs": (200, 7, 1, 1.0),
    "birthwt": (189, 9, 1, 2523.0),
    "BostonHousing": (506, 13, 1, 24.0),
    "red-wine": (1599, 0, 11, 7.4),
    "white-wine": (4898, 0, 11, 7.0),
    "parkinsons": (5875, 0, 15, 5.6431),
    "rough-terrain": (14040, 2, 1, 930.8533333333334),
    "fama-french": (25670, 1, 25, -0.46),
    "fama-french-factors-daily": (25795, 1, 1, 0.009),
    "metro-traffic-substitute": (48204, 2, 1, 5545.0),
}

TEXT = b"b,y,a\n7,1.5,4\n8,2.5,5\n9,3.5,6\n"
DAYS = [19261231, 19270103, 19270104, 19270105, 20221230, 20230103]
RETURNS = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
RATES = [[0.5], [0.1], [0.2], [0.3], [0.4], [0.5]]


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of one good row with some cells changed; return its path."""

    def write(*changes, columns=catalogue.COLUMNS):
        good = {"name": "toy", "file": "toy/toy.csv", "sha256": "a" * 64, "format": "csv"}
        good |= {"urls": "https://example.org/toy.tar.gz :: toy/toy.csv | https://example.org/toy"}
        good |= {"y": "y", "x": "a (%)|b c"}
        frame = pd.DataFrame([good | change for change in changes], columns=columns)
        frame.to_csv(tmp_path / "catalogue.csv", index=False)
        return tmp_path / "catalogue.csv"

    return write


@pytest.fixture
def toy(tmp_path, table):
    """Write bytes with a catalogue row; return load's arguments."""

    def write(content=TEXT, **row):
        row = {"file": "toy.csv", "x": "a|b", "sha256": hashlib.sha256(content).hexdigest()} | row
        (tmp_path / row["file"]).write_bytes(content)
        return "toy", tmp_path, table(row)

    return write


def test_columns_come_in_declared_order_as_float64(toy):
    data = load(*toy())
    np.testing.assert_array_equal(data.X, [[4.0, 7.0], [5.0, 8.0], [6.0, 9.0]])
    np.testing.assert_array_equal(data.Y, [[1.5], [2.5], [3.5]])
    assert data.X.dtype == data.Y.dtype == np.float64
    assert (data.x_columns, data.y_columns) == (("a", "b"), ("y",))
    joint = load(*toy(x="", y="y|a|b"))
    assert (joint.X.shape, joint.Y.shape) == ((3, 0), (3, 3))
    # A row counts by the columns in use.
    gaps = toy(b"a,b,y,z\n4,1,1,\n,1,1,2\n", preprocessing="drop-missing-rows")
    np.testing.assert_array_equal(load(*gaps).X, [[4.0, 1.0]])


@pytest.mark.filterwarnings("ignore:.*RDS")
@pytest.mark.parametrize(
    ("content", "row", "named"),
    [
        (TEXT, {"x": "c"}, "'c'"),
        (TEXT, {"rows": "4"}, "4"),
        (TEXT, {"format": "zip"}, "zip"),
        (TEXT, {"format": "zip-french"}, "zip-french"),
        (TEXT, {"sha256": "0" * 64}, "sha256"),
        (b"a,b,y\n1,1,inf\n", {}, "'y'"),
        (b"a,b,y\nF,1,1\n", {}, "'a'"),
        (b"a,b,y\nX,1,1\n", {"preprocessing": "factor:a=F M"}, "'a'"),
        (b"nothing of R", {"format": "rda"}, "rda"),
    ],
)
def test_what_cannot_be_read_is_refused(toy, content, row, named):
    with pytest.raises(ValueError, match=named):
        load(*toy(content, **row))


def test_tables_of_the_data_library_are_read_up_to_the_first_empty_line(toy, tmp_path):
    text = "Created by.\n\nValue Weighted\n,S L, BIG  \n20200102, 1.5, -9\n20200103,2,-3\n"
    for more in ("\n\nEqual Weighted\n,S L,BIG\n20200102,7,7\n", ""):
        with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
            archive.writestr("a.CSV", text + more)
        row = {"file": "toy.zip", "format": "zip-french", "x": "date", "y": "S L|BIG"}
        data = load(*toy((tmp_path / "whole.zip").read_bytes(), **row))
        np.testing.assert_array_equal(data.X[:, 0], [20200102, 20200103])
        np.testing.assert_array_equal(data.Y, [[1.5, -9.0], [2.0, -3.0]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_have_their_shapes_and_first_rows(raw_data, name):
    data = load(name, raw_data)
    found = (len(data.Y), data.X.shape[1], data.Y.shape[1], float(data.Y[0, 0]))
    assert found == pytest.approx(BUNDLED[name])
    assert np.isfinite(data.X).all()


@pytest.mark.parametrize("name", ["parkinsons", "red-wine", "white-wine"])
def test_the_rule_of_kcef_leaves_the_columns_of_the_catalogue(raw_data, name):
    """No whole numbers alone, and of a pair with |r| > 0.98 not the first (section 4)."""
    entry = catalogue.find(catalogue.read(), name)
    table = loaders.read_table(entry, loaders.raw_file(entry, raw_data)).astype(float)
    table = table[[column for column in table if (table[column] != table[column].round()).any()]]
    near = np.triu(np.abs(np.corrcoef(table.to_numpy().T)) > 0.98, 1).any(axis=1)
    assert tuple(table.columns[~near]) == entry.y


def test_smoke_data_have_the_same_bytes_on_every_run_and_are_read(tmp_path, monkeypatch):
    written = write_smoke_data(tmp_path / "a")
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    write_smoke_data(tmp_path / "b")
    files = [entry.file for entry in catalogue.read(written).values()]
    for file in ("catalogue.csv", *files):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    sizes = {name: load(name, tmp_path / "a", written).X.shape for name in catalogue.read(written)}
    assert sizes["smoke-mixed"] == (90, 2)
    assert sizes["smoke-terrain"] == (340, 2)


@pytest.fixture
def excess(monkeypatch):
    """Return the excess returns of made-up returns and rates."""

    def opened(returns=RETURNS, rates=RATES, days=DAYS):
        tables = {"p": (DAYS, returns), "f": (days, rates)}

        def read(name, data_dir, catalogue):
            dates, values = tables[name]
            X, Y = np.asarray(dates, float)[:, None], np.asarray(values, float)
            return loaders.Dataset(name, X, Y, ("date",), ("r",) * Y.shape[1], "")

        monkeypatch.setattr(french, "load", read)
        return french.excess_returns("p", "f", "nowhere")

    return opened


def test_excess_over_the_rate_of_the_day_within_the_years(excess):
    found = excess([*RETURNS], [[9.0], *RATES], [19260101, *DAYS])
    np.testing.assert_allclose(found.returns[:, 0], [2.9, 4.8, 6.7, 8.6])
    x, y = found.pairs(2)
    np.testing.assert_allclose(x[1], [4.8, 5.8])
    np.testing.assert_allclose(y[:, 0], [10.6, 14.4, 18.2])
    with pytest.raises(ValueError, match="d = 3"):
        found.pairs(3)
    with pytest.raises(ValueError, match="f has no"):
        excess(rates=RATES[:3], days=DAYS[:3])


@pytest.mark.parametrize("code", french.MISSING)
def test_a_day_with_a_missing_return_is_neither_x_nor_y(excess, code, monkeypatch):
    monkeypatch.setattr(french, "YEARS", (1926, 2023))
    returns = [[1, 2], [3, 4], [5, code], *RETURNS[3:]]
    found = excess(returns)
    assert np.isnan(found.returns).sum() == 1
    x, y = found.pairs(1)
    # Day 2 misses the second return: all days keep the same pairs, whatever the dimension.
    np.testing.assert_allclose(x[:, 0], [0.5, 6.7, 8.6])
    np.testing.assert_allclose(y[:, 0], [2.9, 8.6, 10.5])
    assert np.isnan(excess(rates=[*RATES[:3], [code], *RATES[4:]]).returns[3]).all()


def test_subsamples_are_disjoint_and_the_same_days_for_every_dimension():
    t = np.arange(300.0)[:, None]
    one, other = (french.subsample((t, -t), 100, number, 50) for number in (4, 5))
    more = french.subsample((np.hstack([t, t]), -t), 100, 4, 50)
    assert len(set(np.concatenate([one.X, one.X_test])[:, 0])) == 150
    np.testing.assert_array_equal(one.X[:, 0], more.X[:, 1])
    np.testing.assert_array_equal(one.Y_test, -one.X_test)
    assert not np.array_equal(one.X, other.X)


def test_wine_and_parkinsons_ask_their_questions_and_no_person_is_on_both_sides(raw_data):
    wine = open_larger("red-wine", raw_data)
    assert (wine.X.shape, wine.y_columns, wine.rows) == ((1599, 10), ("alcohol",), None)
    assert not {"alcohol", "quality"} & set(wine.x_columns)
    data, grouped = (open_larger(f"parkinsons{end}", raw_data) for end in ("", "-people"))
    people = grouped.groups
    assert len(set(people)) == 42
    for split in range(5):
        train, test = data.rows(split)
        assert not set(people[train]) & set(people[test])
        np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(len(people)))
        np.testing.assert_array_equal(grouped.rows(split)[0], train)
    assert not np.array_equal(data.rows(0)[0], data.rows(1)[0])


def test_the_past_trains_and_what_follows_tests_and_half_of_the_groups_train():
    rows = forward(61)
    for split in range(5):
        train, test = rows(split)
        np.testing.assert_array_equal([*train, *test], np.arange(test[-1] + 1))
    assert rows(4)[1][-1] == 60
    groups = np.repeat(np.arange(7), [1, 5, 2, 9, 3, 1, 4])
    train, test = by_group(groups, "any")(2)
    assert (len(set(groups[train])), len(set(groups[test]))) == (3, 4)


def test_traffic_has_a_plausible_row_an_hour_in_the_order_of_time():
    time = pd.date_range("2020-01-01", periods=30, freq="h")
    table = pd.DataFrame({"date_time": time.astype(str), "temp": 280.0, "rain_1h": 0.0})
    table["traffic_volume"] = range(30)
    table.loc[3, "temp"], table.loc[4, "rain_1h"] = 0.0, 9831.3
    doubled = pd.concat([table, table.iloc[10:12]]).sample(frac=1.0, random_state=0)
    found = r_benchmark._hours(doubled, "any")
    assert found["traffic_volume"].tolist() == [0, 1, 2, *range(5, 30)]
    assert found["hour"].tolist() == [k % 24 for k in found["traffic_volume"]]


def test_a_row_becomes_an_entry_and_duplicates_and_missing_columns_are_refused(table):
    entry = catalogue.read(table({"aliases": "plaything|bauble", "rows": "12"}))["toy"]
    assert (entry.x, entry.y) == (("a (%)", "b c"), ("y",))
    assert entry.aliases == ("plaything", "bauble")
    assert (entry.rows, entry.bytes) == (12, None)
    assert [source.member for source in entry.urls] == ["toy/toy.csv", None]
    with pytest.raises(ValueError, match="toy"):
        catalogue.read(table({}, {"name": "other", "aliases": "toy"}))
    with pytest.raises(ValueError, match="sha256"):
        catalogue.read(table({}, columns=[c for c in catalogue.COLUMNS if c != "sha256"]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sha256": "A" * 64}, "sha256"),
        ({"file": "../toy.csv"}, "toy.csv"),
        ({"urls": "ftp://example.org/toy"}, "URL"),
        ({"rows": "many"}, "rows"),
        ({"preprocessing": "impute"}, "impute"),
        ({"preprocessing": "factor:sex"}, "factor"),
    ],
)
def test_a_wrong_row_is_refused_by_name(table, change, named):
    with pytest.raises(ValueError, match=named):
        catalogue.read(table(change))


def test_what_every_row_of_the_table_holds():
    entries = catalogue.read()
    for name in set(published.values()["dataset"]) - {*names.PLANAR}:
        assert catalogue.find(entries, name)
    for entry in entries.values():
        assert all((entry.licence, entry.citation, entry.urls)), entry.name
        if entry.columns is not None:
            assert len(entry.x) + len(entry.y) == entry.columns, entry.name
        for source in entry.urls:
            # Copies on GitHub are pinned at full commits.
            if "githubusercontent" in source.url:
                assert re.search(r"githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", source.url)
    assert catalogue.find(entries, "white-wine").name == "winequality-white"
    with pytest.raises(ValueError, match="geyser"):
        catalogue.find(entries, "Geysir")
    without = [entry.name for entry in entries.values() if not entry.sha256]
    assert without == ["fama-french-25-daily-original"]


def test_names_say_dimension_rows_and_variation():
    assert names.GAUSSIAN.sizes("gaussian-2-1000-laws") == (2, 1000)
    assert names.GAUSSIAN.variation("gaussian-2-1000-laws") == names.LAWS
    assert names.GAUSSIAN.variation("gaussian-2-1000") == ""
    assert names.PORTFOLIOS.sizes("portfolios-25-20000") == (25, 20000)
    for wrong in ("gaussian-0-10", "gaussian-2", "grid-200", "gaussian-1-1e5", "gaussian-1-9-more"):
        assert not names.GAUSSIAN.has(wrong)
        with pytest.raises(ValueError, match=wrong):
            names.GAUSSIAN.sizes(wrong)
    assert names.grid_name("grid-2000-frequency-3") == names.GridName(2000, 3)
    assert names.grid_name("grid-8000").columns(20) == 3
    assert names.grid_name("grid-2000-frequency-2").columns(20) == 20
    # One wave is what `grid-60` has: no data have two names.
    wrong = ("grid", "grid-6o", "my-grid-60", "grid-60-code", "grid-60-frequency-1")
    assert not any(map(names.is_grid, wrong))
