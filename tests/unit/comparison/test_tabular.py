"""Tables of one's own: what is read, what is said, and what is refused by name."""

import numpy as np
import pandas as pd
import pytest

from kcde import tabular
from kcde.tabular import Columns, check, read


def table(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "area": rng.normal(size=n),
            "town": rng.choice(["A", "B", "C"], n),
            "new": rng.random(n) < 0.5,
            "price": rng.normal(size=n),
        }
    )


def file(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_delimiter_and_byte_order_mark_are_found(tmp_path, delimiter, encoding):
    lines = ["größe m²,town name,y", "1.5,Ö x,2", "2.5,B,3"]
    path = file(tmp_path, "\n".join(lines).replace(",", delimiter), encoding=encoding)
    frame = read(path)
    assert list(frame) == ["größe m²", "town name", "y"]
    assert frame["größe m²"].tolist() == [1.5, 2.5]
    assert frame["town name"].tolist() == ["Ö x", "B"]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_parquet_and_feather_are_read_as_they_were_written(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    getattr(table(), f"to_{kind}")(path)
    pd.testing.assert_frame_equal(read(path), table())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b,a\n1,2,3\n", r"name\(s\) 'a' stand twice"),
        (",a,b\n0,1,2\n", r"column\(s\) 1 of the header have no name"),
        ("a,b\n1,2\n1,2,3\n", "as many fields as the header"),
    ],
)
def test_a_bad_csv_is_refused_with_the_reason(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(file(tmp_path, text))


def test_a_wrong_delimiter_encoding_or_kind_is_refused_with_the_remedy(tmp_path):
    path = file(tmp_path, "a;b\n1;2\n")
    with pytest.raises(ValueError, match="looks divided by a semicolon: --delimiter ';'"):
        read(path, delimiter=",")
    with pytest.raises(ValueError, match="is not in UTF-8"):
        read(file(tmp_path, "größe,b\n1,2\n", "latin.csv", "latin-1"))
    with pytest.raises(ValueError, match=r"is not \.csv"):
        read(file(tmp_path, "a", "data.xlsx"))
    with pytest.raises(ValueError, match="cannot be read as parquet"):
        read(file(tmp_path, "a,b", "data.parquet"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "größe,имя\n1,2\n"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_with_the_encoding_to_convert_from(tmp_path, text, encoding):
    path = file(tmp_path, text, encoding=encoding)
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    for refused in (read, tabular.header):
        with pytest.raises(ValueError, match=rf"is in {name}: .*iconv -f {name} -t UTF-8$"):
            refused(path)
    path.write_text(path.read_bytes().decode(name), encoding="utf-8")
    assert read(path).iloc[0].tolist() == [1, 2]


def test_decimal_commas_are_refused_and_read_where_they_are_told(tmp_path):
    path = file(tmp_path, "x;y\n" + "".join(f"{i},5;{i * i % 7}\n" for i in range(30)))
    with pytest.raises(ValueError, match="column 'x': it has decimal commas: --decimal ,"):
        check(read(path), "y")
    assert check(read(path, decimal=","), "y").frame["x"][1] == 1.5


@pytest.mark.parametrize(
    ("rows", "decimal", "message"),
    [
        (['"4,152",1', '"2,875",2', "683,3"], ".", "without thousands separators, or, if they are"),
        (["0,126;4.152", "0,375;683"], ",", "'b' has points in numbers, such as '4.152'"),
    ],
)
def test_thousands_separators_are_no_decimal_marks(tmp_path, rows, decimal, message):
    head = "a;b" if decimal == "," else "a,b"
    path = file(tmp_path, "\n".join([head, *rows * 10]))
    with pytest.raises(ValueError, match=message):
        check(read(path, decimal=decimal), "b" if decimal == "," else "a")


def test_levels_stay_text_where_only_numbers_are_left(tmp_path):
    frame = read(file(tmp_path, "\n".join(["c,y", *(f"{c},{i}" for i, c in enumerate(CODES))])))
    columns = check(frame, "y").columns
    assert columns.text == ["c"]
    path = file(tmp_path, "c,y\n01,1\n1,2\n")
    encoded = columns.encode(read(path, text=columns.text))
    assert encoded.loc[0, "c=01"] == encoded.loc[1, "c=1"] == 1.0
    with pytest.raises(ValueError, match=r"'c' was text or categories in training.*text=\['c'\]"):
        columns.encode(read(path))


CODES = ["01", "1", "A", "B", "C"] * 6


def test_names_of_columns_may_have_delimiters_spaces_and_lines(tmp_path):
    for head in ('x, "area, m2", y', '"x","area,\nm2",y'):
        frame = read(file(tmp_path, f"{head}\n1,2,3\n"))
        assert [" ".join(name.split()) for name in frame] == ["x", "area, m2", "y"]
        assert frame.iloc[0].tolist() == [1, 2, 3]


def test_a_quote_that_nothing_closes_is_part_of_a_name(tmp_path):
    frame = read(file(tmp_path, 'screen 5",b\n' + "1,2\n" * 30_000))
    assert frame.shape == (30_000, 2)
    assert frame.columns[0] == 'screen 5"'


@pytest.mark.parametrize("values", [["1.2", "1.10", "2.0.1"], ["12.30", "9.15", "0.05"]])
def test_points_that_are_no_thousands_are_read_with_decimal_commas(tmp_path, values):
    rows = "".join(f"{value};{k},5\n" for k, value in enumerate(values))
    frame = read(file(tmp_path, f"v;y\n{rows}"), decimal=",")
    assert frame["y"].tolist() == [0.5, 1.5, 2.5]
    assert frame["v"].astype(str).tolist() == values


def test_true_and_false_beside_missing_values_are_one_column(tmp_path):
    lines = ["new,y", *(f"{('TRUE', 'FALSE', '')[k % 3]},{k}" for k in range(60))]
    checked = check(read(file(tmp_path, "\n".join(lines))), "y", missing="drop")
    assert checked.columns.text == []
    later = read(file(tmp_path, "new,y\nTRUE,1\nFALSE,2\n"), text=checked.columns.text)
    assert checked.columns.encode(later)["new"].tolist() == [1.0, 0.0]


def test_a_tab_can_be_spelt(tmp_path):
    path = file(tmp_path, "a,b\tc\n1\t2\n")
    for delimiter in ("\t", "\\t", "tab"):
        assert read(path, delimiter).columns.tolist() == ["a,b", "c"]
    with pytest.raises(ValueError, match="must be one character, or tab; got 'ab'"):
        read(path, "ab")


def test_a_tsv_is_divided_by_tabs_where_it_has_some(tmp_path):
    text = "size, m2, inside\tprice\n1\t2\n"
    assert read(file(tmp_path, text, "a.tsv")).columns.tolist() == ["size, m2, inside", "price"]
    assert read(file(tmp_path, "a;b\n1;2\n", "b.tsv")).columns.tolist() == ["a", "b"]


def test_what_is_predicted_has_no_other_part():
    for part in ({"drop": ["price"]}, {"aside": ["price"]}):
        with pytest.raises(ValueError, match="'price' is predicted, and cannot be dropped"):
            check(table(), "price", **part)


def test_text_has_a_column_a_level_and_two_levels_one():
    frame = table().assign(kind=["u", "v"] * 20)
    encoded = check(frame, "price").columns.encode(frame)
    assert list(encoded) == ["area", "town=A", "town=B", "town=C", "new", "kind=v"]
    np.testing.assert_array_equal(encoded["town=B"], frame["town"] == "B")
    np.testing.assert_array_equal(encoded["new"], frame["new"])


def test_categories_of_numbers_are_levels(tmp_path):
    codes = np.repeat([20095, 10115, 80331, 60311], 10)
    frame = table().assign(code=pd.Categorical(codes, [*np.unique(codes), 0]), number=codes)
    columns = check(frame, "price").columns
    assert [column.name for column in columns.x] == ["area", "town", "new", "code", "number"]
    assert columns.x[3].levels == ("10115", "20095", "60311", "80331")
    np.testing.assert_array_equal(columns.encode(frame)["code=20095"], codes == 20095)
    frame.to_csv(tmp_path / "later.csv", index=False)
    frame.to_parquet(tmp_path / "later.parquet")
    for later in ("later.csv", "later.parquet"):
        found = columns.encode(read(tmp_path / later, text=columns.text))
        np.testing.assert_array_equal(found, columns.encode(frame))
    with pytest.raises(
        ValueError, match=r"'code' was text or categories.*\['code'\]\.astype\(str\)"
    ):
        columns.encode(frame.assign(code=codes))
    with pytest.raises(ValueError, match="'code' cannot be y: it has categories"):
        check(frame, "code")
    with pytest.raises(ValueError, match="'area': it is text with 40 different values"):
        check(frame.assign(area=frame["area"].astype("category")), "price")
    days = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    (said,) = check(frame.assign(day=pd.Categorical(days)), "price").notes
    assert "'day' left out: it has dates" in said


def test_a_name_that_a_level_would_have_as_well_is_refused():
    frame = table().rename(columns={"area": "town=B"})
    said = "columns 'town=B' and 'town' would both be encoded as 'town=B': rename one of them"
    with pytest.raises(ValueError, match=said):
        check(frame, "price")
    assert len(check(frame, "price", drop=["town"]).columns.x) == 2
    twice = Columns("y", (tabular.Column("town", ("A", "B", "C")), tabular.Column("town=B")))
    with pytest.raises(ValueError, match="columns 'town' and 'town=B' would both"):
        twice.encode(frame.drop(columns=["new", "price"]))


def test_what_cannot_be_used_is_left_out_and_said():
    frame = table()
    frame["one"] = 3.0
    frame["again"] = frame["area"]
    frame["when"] = pd.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    checked = check(frame, "price")
    assert [column.name for column in checked.columns.x] == ["area", "town", "new"]
    said = " ".join(checked.notes)
    assert "'one' left out: it is constant" in said
    assert "'again' left out: it is a copy of 'area'" in said
    assert "'when' left out: it has dates" in said
    with pytest.raises(ValueError, match="column 'when': it has dates"):
        check(frame, "price", ["area", "when"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.rename(columns={"price": "prize"}), r"'price'.*did you mean `prize`"),
        (lambda f: f.head(3), "3 rows are too few"),
        (lambda f: f.assign(price=1.0), "column 'price' is constant"),
        (lambda f: f.assign(price="a"), "column 'price' cannot be y: it has text"),
        (lambda f: f.assign(id=[f"n{i}" for i in range(40)]), "'id': it is text with 40 diff"),
        (lambda f: f.assign(area=[*["1"] * 39, "n/a!"]), "'area': 1 values are not.*row 40"),
        (lambda f: f.assign(area=np.inf), "'area': 40 values are infinite"),
        (lambda f: f.assign(area=1j * f["area"]), "'area': it has complex numbers"),
        (
            lambda f: f.assign(area=f["area"].where(f.index > 1)),
            r"values in column\(s\) area \(2\)",
        ),
        (lambda f: f.assign(area=[[1, 2]] * 40), "'area': it has lists or other objects"),
        (lambda f: f.set_axis([0, 1, 2, 3], axis=1), "column names must be text"),
        (
            lambda f: f[["price"]].assign(one=1),
            "no column is left to predict 'price' from: Column 'one' left out",
        ),
        (lambda f: f[["price"]], "no column is left .* from: the table has no other column"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        check(change(table()), "price")


def test_columns_that_have_another_part_are_named_where_none_is_left():
    with pytest.raises(ValueError, match=r"no column is left .* from: 'area', 'town' are dropped"):
        check(table()[["area", "town", "price"]], "price", drop=["area"], aside=["town"])


def test_a_column_that_empties_the_table_is_named():
    with pytest.raises(ValueError, match=r"0 rows are too few \(40 rows .* left out: area \(40"):
        check(table().assign(area=np.nan), "price", missing="drop")


def test_rows_with_missing_values_are_dropped_on_request():
    frame = table()
    frame.loc[:4, "area"] = np.nan
    checked = check(frame, "price", missing="drop")
    assert len(checked.frame) == 35
    assert "5 rows with missing values left out: area (5)" in checked.notes[0]


def test_rows_are_counted_as_in_the_file_where_some_are_left_out(tmp_path):
    lines = [f"{i},{i % 7 + 0.5 * i}" for i in range(40)]
    lines[3], lines[10] = "3,", "x,5.0"
    frame = read(file(tmp_path, "\n".join(["a,y", *lines])))
    with pytest.raises(ValueError, match="'a': 1 values are not numbers, such as 'x' in row 11:"):
        check(frame, "y", missing="drop")
    columns = check(table(), "price").columns
    for hidden in ("area", "town"):
        new = table().assign(**{hidden: lambda f, name=hidden: f[name].where(f.index != 7)})[5:]
        with pytest.raises(ValueError, match=f"column '{hidden}' has a missing value in row 8"):
            columns.encode(new)
        with pytest.raises(ValueError, match=f"'{hidden}' has a missing value in row day 7"):
            columns.encode(new.set_index("day " + new.index.astype(str)))


def test_words_that_are_taken_for_missing_values_are_named(tmp_path):
    rows = [f"{i},{('A', 'NA', 'None', '')[i % 4]},{('A', '')[i % 2]},{i * i}" for i in range(60)]
    frame = read(file(tmp_path, "\n".join(["a,b,c,y", *rows])))
    said = r"column\(s\) b \(45, as '' or 'NA' or 'None'\), c \(30\): fill .* must be renamed$"
    with pytest.raises(ValueError, match=said):
        check(frame, "y")
    with pytest.raises(ValueError, match=r"column\(s\) c \(30\): fill .* \(30 of 60\)$"):
        check(frame, "y", drop=["b"])
    notes = check(frame, "y", missing="drop", fewest=15).notes
    assert notes[0].startswith("45 rows with missing values left out: b (45, as '' or 'NA' or")


def test_a_column_not_used_may_have_anything():
    frame = table().assign(id=[f"n{i}" for i in range(40)], hole=np.nan)
    assert len(check(frame, "price", drop=["id", "hole"]).columns.x) == 3


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (np.arange(40) % 2, "'price' is binary"),
        (np.r_[np.zeros(36), 1.5, 2.5, 3.5, 4.5], "90% of 'price' are 0"),
        (np.tile(np.arange(10.0), 40), "10 different values in 400 rows"),
    ],
)
def test_ties_of_y_are_said_with_what_they_do(price, said):
    checked = check(table(len(price)).assign(price=price), "price")
    assert said in checked.warnings[0]
    assert "no upper bound" in checked.warnings[0]
    assert tabular.has_ties(checked)


def test_a_continuous_y_is_no_tie():
    checked = check(table(), "price")
    assert not checked.warnings
    assert not tabular.has_ties(checked)


@pytest.mark.parametrize("copy", [lambda y: y, lambda y: 3 - 2 * y, np.exp])
def test_a_copy_of_y_is_suspicious(copy):
    frame = table()
    frame["leak"] = copy(frame["price"])
    (said,) = check(frame, "price").warnings
    assert said.startswith("Suspiciously perfect: 'leak' says 'price' exactly")


def row_numbers(n):
    return np.arange(1, n + 1)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("number", [row_numbers, lambda n: np.sqrt(row_numbers(n) // 2)])
def test_what_sorts_a_y_with_ties_is_suspicious(order, number):
    frame = table(300).assign(price=lambda f: f["price"].round(1) // 0.2)
    frame = frame.sort_values("price")[::order].assign(leak=number(300))
    frame["price"] = frame.groupby("leak")["price"].transform("first")
    *_, said = check(frame.sample(frac=1, random_state=0), "price").warnings
    assert said.startswith("Suspiciously perfect: 'leak' says 'price' exactly")
    frame.iloc[0, frame.columns.get_loc("price")] = frame["price"].iloc[150]
    assert not any("Suspiciously" in said for said in check(frame, "price").warnings)


def test_the_row_number_says_a_binary_y_by_which_the_file_is_sorted():
    frame = table().assign(price=np.arange(40) >= 15, id=row_numbers(40))
    assert "'id' says 'price' exactly" in check(frame, "price").warnings[-1]


def test_what_sorts_a_y_of_few_different_values_may_do_so_by_chance():
    """One row has another y, and one of 40 columns has its largest value there."""
    frame = table().assign(price=lambda f: f["area"] >= f["area"].max())
    assert not any("Suspiciously" in said for said in check(frame, "price").warnings)


def test_new_rows_must_have_the_same_columns():
    columns = check(table(), "price").columns
    new = table(5)
    columns.encode(new.drop(columns="price"))
    for changed, message in [
        (new.drop(columns="area"), r"missing column\(s\) 'area'"),
        (new[:0], "the table has names of columns but no rows; give at least one row"),
        (new.assign(more=1), r"column\(s\) 'more' were not in the training data"),
        (new.assign(town="Z"), "column 'town' has 'Z', which training did not have"),
        (new.assign(area="x"), "column 'area': 5 values are not numbers"),
        (new.assign(area=np.nan), "column 'area' has a missing value in row 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            columns.encode(changed)


def test_columns_survive_json():
    columns = check(table(), "price").columns
    assert Columns.of_plain(columns.plain()) == columns


def test_digest_is_of_the_values():
    first = check(table(), "price").digest
    assert check(table(), "price").digest == first
    assert check(table().assign(price=np.arange(40.0) ** 2), "price").digest != first


def test_times_are_numbers_or_iso_dates():
    days = ["2024-03-01", "2023-12-31"]
    stamps = pd.to_datetime(pd.Series(days))
    for series in (pd.Series(days), stamps, stamps.dt.tz_localize("UTC")):
        found = tabular.times(pd.DataFrame({"t": series}), "t")
        assert found[0] - found[1] == 61 * 86400e9
    assert tabular.times(pd.DataFrame({"t": [3, 1]}), "t").tolist() == [3.0, 1.0]
    with pytest.raises(ValueError, match=r"'01\.02\.2024' is neither a number nor a date"):
        tabular.times(pd.DataFrame({"t": ["01.02.2024"]}), "t")
    with pytest.raises(ValueError, match="column 't' orders no rows: there is no date '2024-02-30"):
        tabular.times(pd.DataFrame({"t": ["2024-02-28", "2024-02-30"]}), "t")


@pytest.mark.nightly
def test_ten_thousand_columns_are_checked():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 10_000)), columns=[f"x{i}" for i in range(10_000)])
    frame["y"] = rng.normal(size=50)
    checked = check(frame, "y")
    assert checked.columns.encode(frame).shape == (50, 10_000)
    assert "more columns of x (10000) than rows (50)" in checked.warnings[0]
