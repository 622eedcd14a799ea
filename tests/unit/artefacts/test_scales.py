"""Artefacts of a scale larger than that of the usual run, among the tracked ones."""

from dataclasses import replace

import artefact_scores as made
import pytest
from kcde.publish import publish

from kcde.artefacts.core import drawing, registry, scales

TABLE = registry.ARTEFACTS["kcef/table1"]


def drawn(tmp_path, scale, level, into, artefact=TABLE):
    files = made.files(tmp_path / f"results/{scale}/r_benchmark", {("geyser", "KCEF"): [level] * 4})
    record = drawing.make(artefact, files, into)
    return files, record


def test_a_page_says_its_scale_below_its_title_and_what_that_reduces(tmp_path):
    for scale in ("laptop", "paper"):
        into = tmp_path / scale
        drawn(tmp_path, scale, 1.0, into, replace(TABLE, reduced="Reduced at laptop: all."))
        page = (into / "kcef/table1.md").read_text()
        title, empty, line, *_ = page.splitlines()
        assert title.startswith("# kcef/table1")
        assert empty == ""
        assert line == f"*At the scale `{scale}`.*"
        assert ("Reduced at laptop: all." in page) == (scale == "laptop")


def test_a_page_that_is_drawn_again_says_a_scale_only_where_the_folder_knows_it(tmp_path):
    drawn(tmp_path, "laptop", 1.0, tmp_path)
    page = tmp_path / "kcef/table1.md"
    drawing.redraw(TABLE, tmp_path)
    assert "At the scale" not in page.read_text()
    scales.write(tmp_path, tmp_path, {"kcef/table2": "paper"})
    drawing.redraw(TABLE, tmp_path)
    assert "*At the scale `laptop`.*" in page.read_text()


@pytest.mark.slow
def test_a_smaller_scale_is_drawn_beside_its_scores_where_a_larger_is_tracked(tmp_path):
    tracked = tmp_path / "figures"
    _, record = drawn(tmp_path, "paper", 1.0, tmp_path / "results/paper/figures")
    path = tmp_path / "results/paper/artefacts/kcef/table1.json"
    drawing.write_record(record, path)
    assert tracked / "scales.csv" in publish(tmp_path / "results/paper", tracked)
    assert scales.read(tracked) == {"kcef/table1": "paper"}
    before = {each.name: each.read_bytes() for each in (tracked / "kcef").glob("table1.*")}
    _, record = drawn(tmp_path, "laptop", 2.0, tracked)
    assert {each.name: each.read_bytes() for each in (tracked / "kcef").glob("table1.*")} == before
    assert all("results/laptop/figures" in name for name in record["files"])
    # What is drawn again from the tracked table says its scale as before.
    drawing.redraw(TABLE, tracked)
    assert (tracked / "kcef/table1.md").read_bytes() == before["table1.md"]
    # The same scale replaces it, and another that is published.
    _, record = drawn(tmp_path, "paper", 3.0, tracked)
    assert str(tracked / "kcef/table1.csv") in record["files"]
    laptop = tmp_path / "results/laptop"
    _, record = drawn(tmp_path, "laptop", 2.0, laptop / "figures")
    drawing.write_record(record, laptop / "artefacts/kcef/table1.json")
    publish(laptop, tracked)
    assert scales.read(tracked) == {}
    assert "*At the scale `laptop`.*" in (tracked / "kcef/table1.md").read_text()


def test_of_several_scales_the_largest_counts(tmp_path):
    scales.write(tmp_path, tmp_path, {TABLE.key: "paper"})
    assert scales.is_kept(tmp_path, TABLE.key, "laptop+readings")
    assert not scales.is_kept(tmp_path, TABLE.key, "paper+readings")
    assert not scales.is_kept(tmp_path, "kcef/table2", "unknown")


def test_scores_of_no_known_scale_replace_nothing(tmp_path):
    scales.write(tmp_path, tmp_path, {TABLE.key: "paper"})
    files = made.files(tmp_path / "scores", {("geyser", "KCEF"): [1.0, 1.1]})
    with pytest.raises(ValueError, match="the tracked artefact is of a larger one: give another"):
        drawing.make(TABLE, files, tmp_path)
    assert not (tmp_path / "kcef/table1.csv").exists()
