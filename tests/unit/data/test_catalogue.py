import csv
import re

import pytest

from kcde.data import catalogue
from kcde.papers import published

SYNTHETIC = {"two-moons", "ring", "grid"}


@pytest.fixture(scope="module")
def entries():
    return catalogue.read()


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of one good row with some cells changed; return its path."""

    def write(*changes, columns=catalogue.COLUMNS):
        good = {
            "name": "toy",
            "file": "toy/toy.csv",
            "urls": "https://example.org/toy.tar.gz :: toy/toy.csv | https://example.org/toy.csv",
            "sha256": "a" * 64,
            "format": "csv",
            "y": "y",
            "x": "a (%)|b c",
        }
        path = tmp_path / "catalogue.csv"
        with path.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(good | change for change in changes)
        return path

    return write


def test_a_row_becomes_an_entry(table):
    entry = catalogue.read(table({"aliases": "plaything|bauble", "rows": "12"}))["toy"]
    assert entry.x == ("a (%)", "b c")
    assert entry.y == ("y",)
    assert entry.aliases == ("plaything", "bauble")
    assert entry.rows == 12
    assert entry.bytes is None
    assert [source.member for source in entry.urls] == ["toy/toy.csv", None]
    assert str(entry.urls[0]) == "https://example.org/toy.tar.gz :: toy/toy.csv"


def test_lookup_by_alias_and_nearest_names(entries):
    assert catalogue.find(entries, "white-wine").name == "winequality-white"
    with pytest.raises(ValueError, match="'Geysir'; did you mean geyser"):
        catalogue.find(entries, "Geysir")
    with pytest.raises(ValueError, match="known: caution, ftcollinssnow"):
        catalogue.find(entries, "qqqq")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sha256": "A" * 64}, "sha256 is 'AAAA.*sha256sum FILE"),
        ({"file": "../toy.csv"}, "is no path below the data folder"),
        ({"file": "/toy.csv"}, "is no path below the data folder"),
        ({"bundled": "../toy.csv"}, "'../toy.csv' is no path below"),
        ({"bundled": "toy.csv", "sha256": ""}, "needs a sha256"),
        ({"name": "all"}, "not `all`"),
        ({"urls": "ftp://example.org/toy"}, "is no URL"),
        ({"urls": "https://a.org/x https://a.org/y"}, "separated by ` | `"),
        ({"rows": "many"}, "rows is 'many'"),
        ({"preprocessing": "impute"}, "step 'impute' is none of"),
        ({"preprocessing": "factor:sex"}, "factor:COLUMN=A B C"),
    ],
)
def test_a_wrong_row_is_refused_by_name(table, change, message):
    path = table(change)
    with pytest.raises(ValueError, match=message) as caught:
        catalogue.read(path)
    assert f"{path}, line 2" in str(caught.value)


def test_duplicates_are_refused_across_names_and_aliases(table):
    with pytest.raises(ValueError, match=r"line 3 .*'toy' stands in another row already"):
        catalogue.read(table({}, {"name": "other", "aliases": "toy"}))


def test_a_missing_column_is_named(table):
    columns = [name for name in catalogue.COLUMNS if name not in ("sha256", "y")]
    with pytest.raises(ValueError, match="no columns sha256, y; add them"):
        catalogue.read(table({}, columns=columns))


def test_a_missing_catalogue_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no catalogue at .*none.csv"):
        catalogue.read(tmp_path / "none.csv")


def test_every_published_data_set_is_in_the_table(entries):
    values = published.values()
    wanted = set(zip(values["paper"], values["dataset"], strict=True))
    wanted = {(paper, name) for paper, name in wanted if name not in SYNTHETIC}
    assert len({name for _, name in wanted}) == 24
    for paper, name in wanted:
        assert paper in catalogue.find(entries, name).papers, (paper, name)


def test_what_every_row_of_the_table_holds(entries):
    for entry in entries.values():
        assert entry.licence, entry.name
        assert entry.citation, entry.name
        assert entry.urls, entry.name
        assert set(entry.papers) <= {"kcef", "dde", "jdl", "cdo"}
        assert entry.papers or "SUBSTITUTE" in entry.notes
        if entry.columns is not None:
            assert len(entry.x) + len(entry.y) == entry.columns, entry.name
    assert [entry.name for entry in entries.values() if not entry.sha256] == [
        "fama-french-25-daily-original"
    ]


def test_copies_on_github_are_pinned_at_full_commits(entries):
    copies = [
        source.url
        for entry in entries.values()
        for source in entry.urls
        if "githubusercontent" in source.url
    ]
    assert len(copies) == 27
    for url in copies:
        assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", url), url


def test_originals_that_are_rewritten_come_after_the_pinned_copy(entries):
    for name in ("fama-french-factors-daily", "rough-terrain", "metro-traffic-substitute"):
        first = catalogue.find(entries, name).urls[0]
        assert "raw.githubusercontent.com" in first.url, name
