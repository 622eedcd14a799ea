import csv
import re
from dataclasses import replace

import pytest

from kcde.data import catalogue
from kcde.published import __file__ as published

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
        ({"sha256": "abc"}, "64 lower-case hexadecimal"),
        ({"file": "../toy.csv"}, "path below the data folder"),
        ({"file": "/toy.csv"}, "path below the data folder"),
        ({"bundled": "../toy.csv"}, "bundled is '../toy.csv'; give a path below resources/data/"),
        ({"bundled": "/toy.csv"}, "give a path below resources/data/ and the sha256"),
        ({"bundled": "toy.csv", "sha256": ""}, "and the sha256 of the file, or nothing"),
        ({"name": "all"}, "not `all`"),
        ({"name": ""}, "not `all`"),
        ({"format": "xls"}, "format is 'xls'; one of rda, csv"),
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
    with pytest.raises(ValueError, match=r"line 3 .*'toy' stands in line 2 already"):
        catalogue.read(table({}, {"name": "other", "aliases": "toy"}))


def test_a_missing_column_is_named(table):
    columns = [name for name in catalogue.COLUMNS if name not in ("sha256", "y")]
    with pytest.raises(ValueError, match="missing columns sha256, y; add them"):
        catalogue.read(table({}, columns=columns))


def test_a_missing_catalogue_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no catalogue at .*none.csv"):
        catalogue.read(tmp_path / "none.csv")


def test_every_published_data_set_is_in_the_table(entries):
    with open(published.replace("__init__.py", "published_values.csv"), newline="") as handle:
        wanted = {(row["paper"], row["dataset"]) for row in csv.DictReader(handle)}
    wanted = {(paper, name) for paper, name in wanted if name not in SYNTHETIC}
    assert len({name for _, name in wanted}) == 24
    for paper, name in wanted:
        assert paper in catalogue.find(entries, name).papers, (paper, name)


def test_the_papers_without_a_published_table_are_in_the_table_too(entries):
    for name in ("fama-french", "fama-french-factors-daily", "pems-sf", "rough-terrain"):
        assert catalogue.find(entries, name).papers


def test_what_every_row_of_the_table_holds(entries):
    for entry in entries.values():
        assert entry.licence, entry.name
        # A listing shows what stands before the first semicolon.
        assert len(entry.licence.partition(";")[0]) <= 20, entry.name
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


def test_r_sets_come_from_cran_first_and_have_one_y(entries):
    tables = [entry for entry in entries.values() if entry.format == "rda" and entry.x != ("X",)]
    assert len(tables) == 20
    for entry in tables:
        first, second = entry.urls
        assert first.url.startswith("https://cran.r-project.org/src/contrib/Archive/")
        assert first.member.endswith(f"/data/{entry.name}.rda")
        assert second.url.startswith("https://raw.githubusercontent.com/cran/")
        assert second.url.endswith(f"/data/{entry.name}.rda")
        assert len(entry.y) == 1


def test_originals_that_are_rewritten_come_after_the_pinned_copy(entries):
    for name in ("fama-french-factors-daily", "rough-terrain", "metro-traffic-substitute"):
        first = catalogue.find(entries, name).urls[0]
        assert "raw.githubusercontent.com" in first.url, name


def test_a_new_address_does_not_change_the_data():
    entry = catalogue.read()["geyser"]
    moved = replace(
        entry, urls=(catalogue.Source("https://example.org/geyser.rda"),), notes="moved"
    )
    other = replace(entry, sha256="0" * 64)
    recoded = replace(entry, x=("duration",))
    for digest in (catalogue.Entry.fetch_digest, catalogue.Entry.load_digest):
        assert digest(moved) == digest(entry) != digest(other)
    assert recoded.load_digest() != entry.load_digest()
    assert recoded.fetch_digest() == entry.fetch_digest()


def test_entries_are_found_by_name_and_by_alias():
    entries = catalogue.read()
    named = catalogue.by_any_name(entries)
    assert set(entries) < set(named)
    for name, entry in named.items():
        assert catalogue.find(entries, name) is entry


def test_lists_shorten_an_alias_that_only_adds_to_another_name():
    entry = catalogue.find(catalogue.read(), "parkinsons-people")
    assert entry.all_names == "parkinsons-telemonitoring = parkinsons[-people]"
    assert catalogue.find(catalogue.read(), "caution").all_names == "caution"
    assert catalogue.find(catalogue.read(), "red-wine").all_names == "winequality-red = red-wine"
