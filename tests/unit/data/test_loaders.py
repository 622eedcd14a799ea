"""From raw files to arrays, of made-up files and of all bundled ones."""

import csv
import hashlib
import io
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import rdata

from kcde.data import catalogue, loaders
from kcde.data.loaders import load, removed_columns

# Rows and columns of the arrays that the dde authors released (y last): MANIFEST.csv.
R_SHAPES = {
    "caution": (100, 3),
    "ftcollinssnow": (93, 2),
    "highway": (39, 12),
    "heights": (1375, 2),
    "sniffer": (125, 5),
    "snowgeese": (45, 3),
    "BigMac2003": (69, 10),
    "UN3": (125, 7),
    "ufc": (372, 5),
    "GAGurine": (314, 2),
    "geyser": (299, 2),
    "topo": (52, 3),
    "mcycle": (133, 2),
    "cpus": (209, 8),
    "crabs": (200, 8),
    "birthwt": (189, 10),
    "gilgais": (365, 9),
    "CobarOre": (38, 3),
    "engel": (235, 2),
    "BostonHousing": (506, 14),
}


@pytest.fixture
def toy(tmp_path):
    """Write a data frame as .rda (or any bytes) with a catalogue row; return load's arguments."""

    def write(content, **row):
        row = {"name": "toy", "file": "toy.rda", "format": "rda", "y": "y", "x": "a|b"} | row
        path = tmp_path / row["file"]
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            # rdata writes no strings of pandas' own type, its default where pyarrow is installed.
            content = content if isinstance(content, dict) else {"toy": content}
            rdata.write_rda(path, {name: _plain(part) for name, part in content.items()})
        row.setdefault("sha256", hashlib.sha256(path.read_bytes()).hexdigest())
        with (tmp_path / "catalogue.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, catalogue.COLUMNS, restval="")
            writer.writeheader()
            writer.writerow(row)
        return "toy", tmp_path, tmp_path / "catalogue.csv"

    return write


def _plain(frame):
    text = frame.select_dtypes("string").columns
    return frame.astype(dict.fromkeys(text, object))


@pytest.fixture
def frame():
    return pd.DataFrame({"y": [1.5, 2.5, 3.5], "b": [7, 8, 9], "a": [4, 5, 6]}, index=[1, 2, 3])


def test_columns_come_in_declared_order_as_float64(toy, frame):
    data = load(*toy(frame))
    np.testing.assert_array_equal(data.X, [[4.0, 7.0], [5.0, 8.0], [6.0, 9.0]])
    np.testing.assert_array_equal(data.Y, [[1.5], [2.5], [3.5]])
    assert data.X.dtype == data.Y.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert (data.x_columns, data.y_columns) == (("a", "b"), ("y",))
    assert data.name == "toy"


def test_a_joint_density_has_an_x_of_no_columns(toy, frame):
    data = load(*toy(frame, x="", y="y|a|b"))
    assert data.X.shape == (3, 0)
    assert data.Y.shape == (3, 3)


def test_a_factor_is_coded_as_declared_not_as_stored(toy, frame):
    frame["a"] = pd.Categorical(["M", "F", "M"], categories=["M", "F"])
    data = load(*toy(frame, preprocessing="factor:a=F M"))
    np.testing.assert_array_equal(data.X[:, 0], [1.0, 0.0, 1.0])


def test_missing_rows_are_dropped_only_for_columns_in_use(toy, frame):
    frame["a"] = pd.array([4, None, 6], dtype="Int32")
    frame["unused"] = [np.nan, 1.0, 1.0]
    data = load(*toy(frame, preprocessing="drop-missing-rows"))
    np.testing.assert_array_equal(data.Y[:, 0], [1.5, 3.5])


@pytest.mark.parametrize(
    "steps", ["factor:a=F M|drop-missing-rows", "drop-missing-rows|factor:a=F M"]
)
def test_a_factor_may_have_missing_values(toy, steps):
    text = b"a,b,y\nM,1,1\n,1,1\nF,1,1\n"
    data = load(*toy(text, file="toy.csv", format="csv", preprocessing=steps))
    np.testing.assert_array_equal(data.X[:, 0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": "c"}, "toy: no column 'c'; there are y, b, a"),
        ({"rows": "4"}, r"3 rows after preprocessing.* says 4"),
        ({"format": "zip"}, "no loader for the format zip"),
        ({"format": "zip-french"}, "cannot be read as zip-french"),
        ({"sha256": ""}, "no checksum"),
        ({"sha256": "0" * 64}, f"expected sha256 {'0' * 64}, found .*; delete it"),
    ],
)
def test_errors_name_the_thing_and_the_remedy(toy, frame, row, message):
    with pytest.raises(ValueError, match=message):
        load(*toy(frame, **row))


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_what_is_not_finite_is_refused(toy, frame, bad):
    frame.loc[2, "y"] = bad
    with pytest.raises(ValueError, match=r"'y' is missing or infinite in 1 rows .*row 1.*drop-mis"):
        load(*toy(frame))


@pytest.mark.parametrize("column", [["F", "M", "F"], pd.Categorical(["0", "1", "0"])])
def test_text_without_a_declared_coding_is_refused(toy, frame, column):
    frame["a"] = column
    with pytest.raises(ValueError, match=r"'a' is not numeric; declare.*factor:a="):
        load(*toy(frame))


def test_an_undeclared_level_is_refused(toy, frame):
    frame["a"] = ["F", "M", "X"]
    with pytest.raises(ValueError, match="'a' has the levels X beside the declared"):
        load(*toy(frame, preprocessing="factor:a=F M"))


def test_a_missing_file_names_the_command(toy, frame):
    name, folder, table = toy(frame)
    (folder / "toy.rda").unlink()
    with pytest.raises(FileNotFoundError, match=r"toy: no file .*toy.rda; run .* fetch toy"):
        load(name, folder, table)


@pytest.mark.filterwarnings("ignore:.*RDS")
def test_what_is_damaged_or_holds_two_tables_is_refused(toy, frame):
    with pytest.raises(ValueError, match="holds 2 data frames"):
        load(*toy({"one": frame, "two": frame}))
    with pytest.raises(ValueError, match="cannot be read as rda"):
        load(*toy(b"nothing of R"))


def test_csv_formats(toy):
    data = load(*toy(b"a,b,y\n1,2,3\n", file="toy.csv", format="csv"))
    np.testing.assert_array_equal(data.X, [[1.0, 2.0]])
    data = load(*toy(b'"a b";y\n1.5;3\n', file="toy.csv", format="csv-semicolon", x="a b"))
    np.testing.assert_array_equal(data.X, [[1.5]])


def test_a_time_becomes_weekday_and_hour(toy):
    text = b"when,y\n2012-10-02 09:00:00,5\n2012-10-07 23:00:00,6\n"
    arguments = toy(
        text, file="toy.csv", format="csv", x="weekday|hour", preprocessing="weekday-hour:when"
    )
    # 2 October 2012 was a Tuesday, the 7th a Sunday.
    np.testing.assert_array_equal(load(*arguments).X, [[1.0, 9.0], [6.0, 23.0]])


def test_mat_matrices_become_columns(toy, tmp_path):
    from scipy.io import savemat

    points = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.uint16)
    savemat(tmp_path / "in.mat", {"p": points, "v": np.array([[0.5], [1.5], [2.5]]), "n": 3})
    content = (tmp_path / "in.mat").read_bytes()
    data = load(*toy(content, file="toy.mat", format="mat", x="p[0]|p[1]", y="v"))
    np.testing.assert_array_equal(data.X, points)
    np.testing.assert_array_equal(data.Y[:, 0], [0.5, 1.5, 2.5])


def test_tables_of_the_data_library_are_read_up_to_the_first_empty_line(toy):
    text = "Created by.\n\nValue Weighted\n,S L, BIG  \n20200102, 1.5, -9\n20200103,2,-3\n"
    for more in ("\n\nEqual Weighted\n,S L,BIG\n20200102,7,7\n", ""):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("a.CSV", text + more)
        row = {"file": "toy.zip", "format": "zip-french", "x": "date", "y": "S L|BIG"}
        data = load(*toy(content.getvalue(), **row))
        np.testing.assert_array_equal(data.X[:, 0], [20200102, 20200103])
        np.testing.assert_array_equal(data.Y, [[1.5, -9.0], [2.0, -3.0]])


# ---- columns of a joint density ------------------------------------------------------------------


def test_discrete_columns_and_the_first_of_a_correlated_pair_go(rng):
    a, b = rng.standard_normal((2, 200))
    near, mirrored = a + 0.1 * rng.standard_normal(200), -b + 1e-3 * rng.standard_normal(200)
    whole, text = np.arange(200.0), ["x"] * 200
    table = pd.DataFrame({"a": a, "b": b, "c": near, "d": whole, "e": text, "f": mirrored})
    r = abs(np.corrcoef(a, near)[0, 1])
    removed = removed_columns(table)
    assert removed == {
        "a": f"|r| = {r:.3f} with c",
        "b": "|r| = 1.000 with f",
        "d": "discrete",
        "e": "discrete",
    }
    assert "a" not in removed_columns(table, r + 1e-9)
    table.loc[17, "d"] = 17.5
    assert "d" not in removed_columns(table)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "discrete"),
    [("white-wine", ["quality"]), ("parkinsons", ["subject#", "age", "sex"])],
)
def test_the_rule_leaves_the_columns_of_the_catalogue(name, discrete, raw_data):
    data = load(name, raw_data)
    removed = loaders.removed_from(data, raw_data)
    assert [column for column, why in removed.items() if why == "discrete"] == discrete
    with pytest.raises(ValueError, match="the rule leaves"):
        loaders.removed_from(replace(data, y_columns=data.y_columns[1:]), raw_data)


# ---- the bundled files ---------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", R_SHAPES)
def test_r_sets_have_the_shapes_of_the_published_arrays(raw_data, name):
    data = load(name, raw_data)
    assert (len(data.Y), data.X.shape[1] + data.Y.shape[1]) == R_SHAPES[name]
    assert data.Y.shape[1] == 1
    assert np.isfinite(data.X).all()
    assert np.ptp(data.Y) > 0


@pytest.mark.data
def test_crabs_and_ufc_are_coded_as_in_the_published_arrays(raw_data):
    crabs = load("crabs", raw_data)
    # The file starts with 50 blue males and ends with 50 orange females.
    assert crabs.Y[0, 0] == 1.0
    assert crabs.X[0, 0] == 1.0
    assert crabs.Y[-1, 0] == 0.0
    assert crabs.X[-1, 0] == 0.0
    assert set(load("ufc", raw_data).X[:, 2]) == set(range(10))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("red-wine", (1599, 0, 11)),
        ("white-wine", (4898, 0, 11)),
        ("parkinsons", (5875, 0, 15)),
        ("rough-terrain", (14040, 2, 1)),
        ("fama-french", (25670, 1, 25)),
        ("fama-french-factors-daily", (25795, 1, 1)),
        ("metro-traffic-substitute", (48204, 2, 1)),
    ],
)
def test_the_other_sets_load(raw_data, name, shape):
    data = load(name, raw_data)
    assert (len(data.Y), data.X.shape[1], data.Y.shape[1]) == shape
