import csv
import re

import pytest

from kcde.data import catalogue, names
from kcde.papers import published

SYNTHETIC = {"two-moons", "ring", "grid"}


@pytest.fixture(scope="module")
def entries():
    return catalogue.read()


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of one good row with some cells changed; return its path."""

    def write(*changes, columns=catalogue.COLUMNS):
        good = {"name": "toy", "file": "toy/toy.csv", "sha256": "a" * 64, "format": "csv"}
        good |= {"urls": "https://example.org/toy.tar.gz :: toy/toy.csv | https://example.org/toy"}
        good |= {"y": "y", "x": "a (%)|b c"}
        path = tmp_path / "catalogue.csv"
        with path.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, columns, restval="", extrasaction="ignore")
            writer.writeheader()
            writer.writerows(good | change for change in changes)
        return path

    return write


def test_a_row_becomes_an_entry(table):
    entry = catalogue.read(table({"aliases": "plaything|bauble", "rows": "12"}))["toy"]
    assert (entry.x, entry.y) == (("a (%)", "b c"), ("y",))
    assert entry.aliases == ("plaything", "bauble")
    assert (entry.rows, entry.bytes) == (12, None)
    assert [source.member for source in entry.urls] == ["toy/toy.csv", None]


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


def test_duplicates_and_missing_columns_are_refused(table):
    with pytest.raises(ValueError, match="toy"):
        catalogue.read(table({}, {"name": "other", "aliases": "toy"}))
    columns = [name for name in catalogue.COLUMNS if name != "sha256"]
    with pytest.raises(ValueError, match="sha256"):
        catalogue.read(table({}, columns=columns))


def test_what_every_row_of_the_table_holds(entries):
    values = published.values()
    wanted = set(zip(values["paper"], values["dataset"], strict=True))
    wanted = {(paper, name) for paper, name in wanted if name not in SYNTHETIC}
    for paper, name in wanted:
        assert paper in catalogue.find(entries, name).papers, (paper, name)
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
