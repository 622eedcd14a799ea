"""Tables of one's own: what is read, what is said, and what is refused by name."""

import gzip
import json
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from kcde import tabular
from kcde.tabular import Columns, check, read


def table(n=40):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.normal(size=n), "town": rng.choice(["A", "B", "C"], n)})
    return frame.assign(new=rng.random(n) < 0.5, price=rng.normal(size=n))


def file(tmp_path, text, name="data.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def test_text_has_a_column_a_level_and_two_levels_one():
    frame = table().assign(kind=["u", "v"] * 20)
    encoded = check(frame, "price").columns.encode(frame)
    assert list(encoded) == ["area", "town=A", "town=B", "town=C", "new", "kind=v"]
    np.testing.assert_array_equal(encoded["town=B"], frame["town"] == "B")
    np.testing.assert_array_equal(encoded["new"], frame["new"])


def test_what_cannot_be_used_is_left_out_and_said():
    frame = table()
    frame["one"] = 3.0
    frame["again"] = frame["area"]
    days = pd.date_range("2024-01-01", periods=40)
    forms = {"when": "%Y-%m-%d", "day": "%a, %d %B %Y %H:%M", "last": "%d/%m/%y", "trip": "1:%d"}
    for name, form in forms.items():
        frame[name] = days[:4].repeat(10).strftime(form)
    checked = check(frame, "price")
    assert [column.name for column in checked.columns.x] == ["area", "town", "new"]
    said = " ".join(checked.notes)
    assert "'one' left out: it is constant" in said
    assert "'again' left out: it is a copy of 'area'" in said
    assert said.count("left out: it has dates") == 3
    assert "'trip' left out: it has times of day or durations" in said
    with pytest.raises(ValueError, match="'when'"):
        check(frame, "price", ["area", "when"])


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (np.arange(40) % 2, "'price' is binary"),
        (np.r_[np.zeros(36), 1.5, 2.5, 3.5, 4.5], "90% of 'price' are 0"),
        (np.tile(np.arange(10.0), 40), "10 different values in 400 rows"),
        (np.linspace(-0.5, 1.5, 60).clip(0.0, 1.0), "50% of 'price' are 0 or 1"),
    ],
)
def test_ties_of_y_are_said_with_what_they_do(price, said):
    checked = check(table(len(price)).assign(price=price), "price")
    assert said in checked.warnings[0]
    assert "no upper bound" in checked.warnings[0]
    assert tabular.has_ties(checked)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda f: f.drop(columns="area"), "'area'"),
        (lambda f: f[:0], "no rows"),
        (lambda f: f.assign(more=1), "'more'"),
        (lambda f: f.assign(town="Z"), "'Z'.*row 1"),
    ],
)
def test_new_rows_must_have_the_same_columns(change, word):
    columns = check(table(), "price").columns
    columns.encode(table(5).drop(columns="price"))
    with pytest.raises(ValueError, match=word):
        columns.encode(change(table(5)))


def test_times_are_numbers_or_iso_dates():
    days = ["2024-03-01", "2023-12-31"]
    stamps = pd.to_datetime(pd.Series(days))
    for series in (pd.Series(days), stamps, stamps.dt.tz_localize("UTC")):
        found = tabular.times(pd.DataFrame({"t": series}), "t")
        assert found[0] - found[1] == 61 * 86400e6
    assert tabular.times(pd.DataFrame({"t": [3, 1]}), "t").tolist() == [3.0, 1.0]
    for a, b in ((days[0], "01.02.2024"), (days[0], "2024-02-30"), (days[0], "9999-12-31"), (5, 5)):
        with pytest.raises(ValueError, match=str(b)):
            tabular.times(pd.DataFrame({"t": [a, b]}), "t")


def test_numbers_with_leading_zeros_are_said(tmp_path):
    rows = "".join(f"{k:05},0{k % 9}.5,{k * k}\n" for k in range(9_990, 10_020))
    checked = check(tabular.read(file(tmp_path, f"zip,b,y\n{rows}")), "y")
    assert checked.frame.attrs["padded"] == {"zip": "09990"}  # copied with each column
    assert "'zip' has numbers with leading zeros, such as 09990" in " ".join(checked.warnings)


@pytest.mark.parametrize(
    ("form", "word"),
    [
        *(("%d%m%y", "DDMMYY"), ("%d%m%Y%H%M", "DDMMYYYYHHMM"), ("%d%m%Y", "DDMMYYYY")),
        *(("%m%d%Y", "MMDDYYYY"), ("%Y%m%d", ""), ("%y%m%d", "")),
    ],
)
def test_an_order_in_time_has_the_year_first(form, word):
    days = pd.date_range("2020-01-01", periods=300).strftime(form).astype(int)
    frame = pd.DataFrame({"day": days})
    if not word:
        assert (np.diff(tabular.times(frame, "day")) > 0).all()
        return
    with pytest.raises(ValueError, match=f"dates as {word}:"):
        tabular.times(frame, "day")


@pytest.mark.parametrize(
    ("text", "options", "word"),
    [
        ("", {}, "empty"),
        ("a,b,a\n1,2,3\n", {}, "twice"),
        (",a,b\n0,1,2\n", {}, "no name"),
        ("a,b\n1,2\n1,2,3\n", {}, "fields"),
        ("a;b\n1;2\n", {"delimiter": ","}, "--delimiter ';'"),
        ("a,b\n1,2\n", {"delimiter": "ab"}, "--delimiter"),
        ("0.5,-2,3\n1,2,3\n", {}, "header"),
        ("M,0.45,0.36\nF,0.5,0.4\n", {}, "header"),
        ("# from a logger, station 3\na,b\n1,2\n", {}, "#"),
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", {}, "line 3"),
        ("sep=;\na;b\n1;2\n3\n", {}, "line 4"),
    ],
)
def test_a_bad_csv_is_refused(tmp_path, text, options, word):
    with pytest.raises(ValueError, match=word):
        read(file(tmp_path, text), **options)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="UTF-8"):
        read(file(tmp_path, "größe,b\n1,2\n", "latin.csv", "latin-1"))
    words = {"xlsx": "CSV", "zip": "unpack", "doc": "parquet", "csv.gz": "cannot be read"}
    for kind, word in words.items():
        with pytest.raises(ValueError, match=word):
            read(file(tmp_path, "a", f"d.{kind}"))
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("name", "text", "options", "names"),
    [
        ("a.csv", 'x, "area, m2", y\n1,2,3\n', {}, ["x", "area, m2", "y"]),
        ("a.csv", '"x","area,\nm2",y\n1,2,3\n', {}, ["x", "area,\nm2", "y"]),
        ("a.csv", 'screen 5",b\n' + "1,2\n" * 30_000, {}, ['screen 5"', "b"]),
        ("a.tsv", "size, m2, inside\tprice\n1\t2\n", {}, ["size, m2, inside", "price"]),
        ("a.csv", "a,b\tc\n1\t2\n", {"delimiter": "tab"}, ["a,b", "c"]),
        ("a.csv", "\ufeffsep=|\r\nx, m| y \r\n1|2\r\n", {}, ["x, m", "y"]),
        ("a.csv", "\ufeffgröße m²;town name;y\n1.5;Ö x;2\n", {}, ["größe m²", "town name", "y"]),
        ("a.csv", "größe m²|y\n1.5|2\n", {}, ["größe m²", "y"]),
        ("a.csv", "land,1990,1991\na,1,2\n", {}, ["land", "1990", "1991"]),
    ],
)
def test_names_may_have_delimiters_quotes_and_lines(tmp_path, name, text, options, names):
    assert list(read(file(tmp_path, text, name), **options)) == names


def test_decimal_commas_and_thousands_are_not_guessed(tmp_path):
    path = file(tmp_path, "x;y\n" + "".join(f"{i},5;{i * i % 7}\n" for i in range(30)))
    with pytest.raises(ValueError, match="'x'"):
        check(read(path), "y")
    assert check(read(path, decimal=","), "y").frame["x"][1] == 1.5
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    pd.testing.assert_frame_equal(read(tmp_path / "data.csv.gz"), read(path))
    versions = read(file(tmp_path, "v;y\n1.2;0,5\n1.10;1,5\n2.0.1;2,5\n"), decimal=",")
    assert versions["v"].tolist() == ["1.2", "1.10", "2.0.1"]


def test_categories_of_numbers_are_levels(tmp_path):
    codes = np.repeat([20095, 10115, 80331, 60311], 10)
    frame = table().assign(code=pd.Categorical(codes, [*np.unique(codes), 0]), number=codes, k=1)
    columns = check(frame, "price").columns
    assert Columns.of_plain(asdict(columns)) == columns
    assert columns.x[3].levels == ("10115", "20095", "60311", "80331")
    many = table(120).assign(code=np.arange(120) % 24)
    assert len(check(many, "price", levels=["code"]).columns.x[-1].levels) == 24
    frame.to_csv(tmp_path / "later.csv", index=False)
    frame.to_parquet(tmp_path / "later.parquet")
    for later in ("later.csv", "later.parquet"):
        found = columns.encode(read(tmp_path / later, text=columns.text))
        np.testing.assert_array_equal(found["code=20095"], codes == 20095)
    pd.testing.assert_frame_equal(columns.encode(frame.assign(code=codes)), found)


def test_true_and_false_beside_missing_values_are_one_column(tmp_path):
    lines = ["new,y", *(f"{('TRUE', '0', 'false', '1', '', '')[k % 6]},{k}" for k in range(60))]
    checked = check(read(file(tmp_path, "\n".join(lines))), "y", missing="drop")
    assert checked.columns.text == []
    assert len(checked.frame) == 40
    assert "20 rows" in checked.notes[0]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda f: f.rename(columns={"price": "prize"}), "did you mean `prize`"),
        (lambda f: f.rename(columns={"area": "town=B"}), "town=B"),
        (lambda f: f.head(3), "too few"),
        (lambda f: f.assign(price=1.0), "constant"),
        (lambda f: f.assign(price="12 kg"), "text.*such as '12 kg'"),
        (lambda f: f.assign(id=[f"n{i}" for i in range(40)]), "--levels 'id' takes"),
        (lambda f: f.assign(area=[*["1"] * 39, "n/a!"]), "'area'.*row 40"),
        (lambda f: f.assign(area=f["area"].where(f.index > 0, np.inf)), "'area'.*infinite"),
        (lambda f: f.assign(area=f["area"].where(f.index != 6, 1e150)), "'area' has 1 .* row 7"),
        (lambda f: f.assign(price=1e300 * f["price"]), "'price' has 40 value.*beyond 1e.100"),
        (lambda f: f.assign(area=1j * f["area"]), "'area'.*complex"),
        (lambda f: f.assign(area=["1.200,50", "-", "3.100,00", "7,5"] * 10), "'area'.*commas"),
        (lambda f: f.assign(area=["?", None] * 20), r"area \(40, also written '\?'\)"),
        (lambda f: f.assign(area=f["area"].where(f.index > 1)), r"area \(2\)"),
        (lambda f: f.assign(area=[[1, 2]] * 40), "'area'.*lists"),
        (lambda f: f.set_axis([0, 1, 2, 3], axis=1), "names"),
        (lambda f: f[["price"]].assign(one=1), "'one' left out"),
        (lambda f: f[["price"]], "no column is left"),
    ],
)
def test_what_is_wrong_is_named(change, word):
    with pytest.raises(ValueError, match=word):
        check(change(table()), "price")
    for wrong in ({"x": "area"}, {"drop": "area"}, {"levels": "area"}, {"y": ["price"]}):
        with pytest.raises(ValueError, match=r'a list of columns, as \["area"\]|mean `price`'):
            check(table(), **{"y": "price"} | wrong)


@pytest.mark.parametrize(
    ("values", "decimal", "word"),
    [
        (["1 250", "1 400"], ".", "'1 250'.*row 1"),
        (["3\u202f250,5", "2,5"], ",", "thousands"),
        (["1'250.5", "9"], ".", "thousands"),
        (["4.152.000", "683"], ".", "thousands"),
        (["4.152", "683"], ",", "thousands"),
        (["€ 12.50", "3 %"], ".", "units"),
        (["7.5", "7,5"], ",", "20 values have points, such as '7.5' in row 1.*alike"),
        (["7.5", "7,5"], ".", "20 values have commas, such as '7,5' in row 2.*alike"),
        (["7,5", "8,5"], ".", "--decimal ,"),
        (["1.250,5", "9"], ".", "separators, and give --decimal ,"),
        (["1,250.5", "9"], ",", "separators; --levels"),
    ],
)
def test_numbers_in_disguise_are_named_unless_they_are_levels(values, decimal, word):
    frame = table().assign(area=values * 20)
    frame.attrs["decimal"] = decimal
    with pytest.raises(ValueError, match=f"'area'.*{word}"):
        check(frame, "price")
    assert len(check(frame, "price", levels=["area"]).columns.x[0].levels) == 2


def test_words_for_missing_values_are_counted_and_as_levels_said(tmp_path):
    words = ["?", "n/a", "-", "Unknown", "#DIV/0!", "2.5", "-99", "3"]
    lines = [
        f"{words[i % 8]},{'?' if i == 6 else 'ab'[i // 8 % 2]},{i * 7 % 80}" for i in range(80)
    ]
    path = file(tmp_path, "\n".join(["a,kind,y", *lines]))
    assert "'kind' has '?' in 1 rows" in check(read(path), "y", missing="drop").warnings[-1]
    with pytest.raises(ValueError, match=r"a \(50, also written '\?'"):
        check(read(path), "y")
    checked = check(read(path, na=["-99.0", "?"]), "y", missing="drop")
    assert "kind (1); where NA" in checked.notes[0]
    assert len(checked.frame) == 20
    assert checked.columns.x[1].levels == ("a", "b")


def test_blanks_are_stripped_and_labels_are_text_however_written():
    frame = table().assign(town=["yes ", "Yes", " yes", "no"] * 10, g=[7, "8 ", "7.0", "8"] * 10)
    checked = check(frame, "price", groups="g")
    assert checked.columns.x[1].levels == ("Yes", "no", "yes")
    assert "'yes' (20 rows), 'Yes' (10 rows)" in checked.warnings[-1]
    assert set(checked.frame["g"]) == {"7", "8"}
    assert not any("'g'" in each for each in (*checked.notes, *checked.warnings))
    with pytest.raises(ValueError, match="'g'"):
        check(frame, "price", groups="g", levels=["g"])


@pytest.mark.parametrize("written", ["07", "p 07", "P\u20137", "P\u00a07", "\uff307", "site3 07"])
def test_a_thing_is_one_group_however_its_label_is_written(written):
    plain = {"0": "7", "P": "P7", "p": "P7", "\uff30": "P7"}.get(written[0], "site 3-7")
    labels = [plain, written, "P70", "17", "7.05", "7.5", "A+", "A-", "site 37", "x"]
    checked = check(table().assign(g=labels * 4), "price", groups="g")
    assert set(checked.frame["g"]) == {*labels} - {written} | {plain}
    assert "one group" in " ".join(checked.notes)


def test_missing_x_is_indicated_and_rows_without_y_are_left_out():
    frame = table().drop(columns="new")
    frame.loc[[0, 1], "area"], frame.loc[2, "town"], frame.loc[3, "price"] = np.nan, None, np.nan
    checked = check(frame, "price", missing="indicate")
    assert len(checked.frame) == len(frame) - 1
    assert "area (2), town (1)" in checked.notes[1]
    columns = Columns.of_plain(json.loads(json.dumps(asdict(checked.columns))))
    made = columns.encode(frame[["area", "town"]])
    np.testing.assert_array_equal(made["area=(missing)"].to_numpy().nonzero()[0], [0, 1])
    np.testing.assert_array_equal(made["town=(missing)"].to_numpy().nonzero()[0], [2])
    assert (made["area"][:2] == frame["area"].drop(3).median()).all()
    usable, said = columns.usable(frame[["area", "town"]])
    assert usable.all()
    assert not said


@pytest.mark.parametrize("form", ["{} kg", "<{}", "{}0-{}9", "A{}"])
def test_levels_with_numbers_in_them_are_said(form):
    frame = table().assign(size=[form.replace("{}", str(i % 5 + 1)) for i in range(40)])
    said = [each for each in check(frame, "price").warnings if "without order" in each]
    assert len(said) == (form != "A{}")
    for named in (
        check(frame, "price", levels=["size"]),
        check(frame.astype({"size": "category"}), "price"),
    ):
        assert not any("order" in each for each in named.warnings)


@pytest.mark.parametrize("seed", range(10))
def test_ordinary_samples_are_quiet(seed):
    rng = np.random.default_rng(seed)
    draws = [rng.normal(size=500), rng.exponential(size=500), rng.standard_t(3, 500)]
    for values in (*draws, rng.poisson(2.0, 500), rng.poisson(0.05, 500)):
        assert not tabular._far("x", values.astype(float))
        assert not tabular._skewed("x", values + 40.0)
    assert not tabular._far("x", [*[-0.06] * 3, *np.linspace(0.36, 2.22, 10).repeat(8)])
    assert not tabular._skewed("x", draws[1])


@pytest.mark.parametrize(
    ("places", "values", "word"),
    [
        ([3, 9, 20], -999.0, "3 .*'area' are -999, .*--na -999"),
        ([3], 1e6, "1 .*'area' are 1000000"),
        ([1, 2, 3, 4], [500.0, 501.0, 502.0, 503.0], "from 503 to 500"),
        (slice(0, 200), 99.0, "200 .*are 99"),
        ([1, 2, 3, 4], [-499.0, -499.0, -999.0, -999.0], "are -999 or -499"),
        ([1, 2, 3], -3.4028234663852886e38, r"--na -3.4028234663852886e\+38;"),
    ],
)
def test_values_far_from_the_others_and_a_skewed_y_are_said(places, values, word):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.normal(40.0, 8.0, 500), "price": rng.lognormal(0, 1.5, 500)})
    frame.loc[np.arange(500)[places], "area"] = values
    skewed, far = check(frame, "price").warnings
    assert "--log-y" in skewed
    assert re.search(word, far)
    assert check(frame, "price", lower=0.0).warnings == (far,)
    with pytest.raises(ValueError, match="logarithm"):
        check(frame.assign(price=frame["price"] - 1.0), "price", lower=0.0)
    with pytest.raises(ValueError, match="finite"):
        check(frame, "price", lower=-np.inf)


def test_rows_that_can_be_used_are_told_from_others_and_far_ones_counted():
    columns = check(table().assign(land="DE", fee=5), "price").columns
    rows = table(6).assign(area=[0.0, None, "x", 99.0, np.inf, 0.1], town=[*"ABCAA", "Z"])
    usable, said = columns.usable(rows.assign(land="DE", fee=7.0))
    assert usable.tolist() == [True, False, False, True, False, False]
    for word in ("4 of 6 rows", "missing", "'x' in row 3", "'Z'", "row 6"):
        assert word in said[0]
    assert re.match(r"1 row.*'area' above", said[1])
    assert re.match(r".*'fee' has 6 value.*'7' beside '5'", said[-1])
    with pytest.raises(ValueError, match="no row"):
        columns.usable(rows.assign(town="Z"))
    with pytest.raises(ValueError, match="'price'"):
        columns.target(rows.drop(columns="price"))


def leak(copy):
    return table().assign(leak=lambda f: copy(f["price"]))


def numbered():
    """Sorted by a y with ties, with the number of pairs of rows."""
    frame = table(300).assign(price=lambda f: f["price"].round(1) // 0.2).sort_values("price")
    frame = frame.assign(leak=np.sqrt(np.arange(1, 301) // 2))
    return frame.assign(price=frame.groupby("leak")["price"].transform("first"))


@pytest.mark.parametrize(
    ("frame", "suspicious"),
    [
        (leak(lambda y: 3 - 2 * y), True),
        (leak(np.exp), True),
        (table(200).assign(price=np.arange(200) == 9, leak=np.arange(200) == 9), True),
        (numbered(), True),
        (numbered().sample(frac=1, random_state=0), True),
        (numbered().assign(price=lambda f: [f["price"].iloc[150], *f["price"][1:]]), False),
        (table().assign(price=np.arange(40) >= 15, leak=np.arange(40)), True),
        # One row has another y, and one of 40 columns has its largest value there.
        (table().assign(price=lambda f: f["area"] >= f["area"].max()), False),
        (table(), False),
    ],
)
def test_what_sorts_y_is_suspicious(frame, suspicious):
    said = [each for each in check(frame, "price").warnings if each.startswith("Suspiciously")]
    assert len(said) == suspicious
    assert all("'leak'" in each for each in said)


def test_a_column_that_numbers_the_rows_is_said():
    frame = table(60).assign(id=np.random.default_rng(0).permutation(60) + 7)
    frame = frame.assign(half=frame["id"] + 0.5, gaps=3 * frame["id"], often=frame["id"] // 2)
    for some in (frame, frame[frame["id"] % 11 > 0]):
        (said,) = [each for each in check(some, "price").warnings if "numbers the rows" in each]
        assert "Column 'id'" in said
    assert not check(frame, "price", ["id"]).warnings


def numbers(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    return frame.assign(y=20.0 + 3.0 * frame["x"] + 2.0 * frame["z"] + 2.0 * rng.normal(size=n))


def test_what_a_csv_hides_is_refused_and_what_is_kept_is_carried(tmp_path):
    thousands = "x;y\n" + "".join(f"{i};{i % 9 + 1}.{100 + i}\n{i};-{386 + i}\n" for i in range(20))
    quoted = ["note,x,y", *(f"a,{i},{i + 0.5}" for i in range(9))]
    quoted[2], quoted[6] = '"' + quoted[2], '"' + quoted[6]
    for text, word in (
        (thousands, "three last digits"),
        (thousands.replace(".", ","), "three last digits"),
        (thousands.replace("-390", "?"), "three last digits"),
        ("\n".join(quoted), "a quote in row 2"),
        ("x\n1\n\n2\n", "line 3 is blank"),
        ("x\0,\0y\0\n1,2\n", "UTF-8"),
    ):
        with pytest.raises(ValueError, match=word):
            read(file(tmp_path, text), decimal="," if ",1" in text[:12] else ".")
    assert len(read(file(tmp_path, "x\n1\n2\n\n"))) == 2
    assert len(read(file(tmp_path, 'note,x,y\n"so it,\nis, not, a, row",1,2\n'))) == 1
    fine = "x;y\n" + "".join(f"{i};{i}.{'125' if i % 3 else '5'}\n{i};{i}\n" for i in range(1, 30))
    assert read(file(tmp_path, fine))["y"].iloc[0] == 1.125
    even = "x,y\n" + "".join(f"{i},{i / 8:.3f}\n" for i in range(9, 60))
    assert read(file(tmp_path, even))["y"].iloc[0] == 1.125
    assert tabular.classify(pd.Series(["*", "**"])).kind == "levels"
    beside = file(tmp_path, "x;y\n-99,9;?\n-99,9;-98,5\n")
    assert read(beside, decimal=",", na=["-99,9", "-98.5", "?"]).isna().all(axis=None)
    path = file(tmp_path, "key,flag\nNA,NA\n007,1\nnull,7\n")
    kept = read(path, na=["7"], verbatim=["key"])
    assert kept["key"].tolist() == ["NA", "007", "null"]
    assert kept["flag"].isna().tolist() == [True, False, True]


def test_a_named_index_of_a_file_is_a_column_and_labels_are_told_by_what_they_show(tmp_path):
    frame = numbers(40).assign(who=["Müller", "Mu\u0308ller", "A  B", "A\u200b B"] * 10)
    frame.index = pd.Index(range(5, 45), name="number")
    frame.to_parquet(tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert found["number"].tolist() == list(range(5, 45))
    assert check(found, "y", drop=["number"]).columns.x[-1].levels == ("A B", "Müller")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda f: {"euro": (1.17 * f["y"]).round()}, "by its order 'euro'"),
        (lambda f: {"x": f["y"] - f["z"]}, "a straight line of x"),
        (lambda f: np.exp(f.assign(x=f["y"] - f["z"])), "a product of powers of x"),
        (lambda f: {"y": f["y"].round()}, "different values"),
        (lambda f: {"x": 1e12 + f["x"]}, "'x' loses its last digits (steps of 0.00012)"),
        (lambda f: {"y": f["y"].where(f.index > 14, 0.0)}, "15 value(s) of 'y' are 0"),
        (lambda f: {"day": [20_000_100 + i % 28 + 1 for i in f.index]}, "dates as YYYYMMDD"),
    ],
)
def test_what_misleads_is_said(change, word):
    frame = numbers()
    assert not check(frame, "y").warnings
    assert word in " ".join(check(frame.assign(**change(frame)), "y").warnings)


def test_rows_that_repeat_by_nature_are_kept_and_copies_are_not():
    rng = np.random.default_rng(3)
    asked = 10.0 * rng.integers(1, 121, 400)
    paid = np.where(rng.random(400) < 0.8, asked, 5.0 + 10.0 * rng.integers(1, 121, 400))
    invoices = pd.DataFrame({"asked": asked, "paid": paid})
    assert len(check(invoices, "paid").frame) == 400
    survey = pd.DataFrame(rng.integers(0, 3, size=(400, 3)), columns=["a", "b", "y"])
    assert len(check(survey, "y").frame) == 400
    twice = pd.concat([numbers(100)[["x", "y"]]] * 2).sample(frac=1.0, random_state=0)
    checked = check(twice, "y")
    assert len(checked.frame) == 100
    assert "100 of 200 rows repeat" in checked.notes[0]


def test_a_flag_of_one_value_or_none_is_a_column_where_missing_values_are_indicated():
    frame = numbers(40).assign(promo=[1.0, np.nan] * 20)
    encoded = check(frame, "y", missing="indicate").columns.encode(frame)
    assert encoded["promo=(missing)"].tolist() == [0.0, 1.0] * 20
    sold = frame.assign(x=frame["y"].where(frame["promo"] == 1.0))
    assert check(sold, "y", missing="indicate").warnings[0].startswith("Suspiciously perfect: 'x'")
