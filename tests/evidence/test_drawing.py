"""Artefacts are made of scores whole or not at all, and drawn again to the same bytes."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from joblib import parallel_config

import artefact_scores as made
from kcde.evidence import readings
from kcde.evidence.checks import Check
from kcde.papers import drawing, registry

TRACKED = Path(__file__).parents[2] / "figures"
CELLS = {("geyser", "KCEF"): made.around(1.2), ("geyser", "LSCDE"): made.around(0.7)}
COLUMNS = [("across/all_methods", "rank"), ("kcef/table2", "best"), ("jdl/fig4", "y_low")]
DAMAGED = [(key, lambda csv, c=c: csv.drop(columns=c), f"'{c}'") for key, c in COLUMNS]
DAMAGED.append(("kcef/fig3", lambda csv: csv[:100], "drawn "))
DAMAGED.append(("kcef/fig3", lambda csv: csv[:0].T[:0], "table "))


FEW = [Check("sets", 2.0, at_least=3, part="size")]
TABLE = replace(registry.ARTEFACTS["kcef/table1"], claims={"K7": lambda *given, **more: FEW})


@pytest.fixture
def scores(tmp_path):
    return made.files(tmp_path / "results/laptop/scores/r_benchmark", CELLS)


def contents(folder):
    return {f"{each.relative_to(folder)}": each.read_bytes() for each in folder.rglob("*.*")}


def test_an_artefact_has_four_files_and_what_it_decides(scores, tmp_path):
    into, judged = tmp_path / "figures", tmp_path / "judged/kcef/table1.csv"
    written = drawing.make(TABLE, scores, into, judged=judged)
    before = contents(into)
    assert sorted(before) == [f"kcef/table1.{suffix}" for suffix in ("csv", "md", "pdf", "png")]
    assert set(written) == {judged, *map(into.joinpath, before)}
    table = readings.collect([judged]).query("choice == ''")
    found = table[["claim", "artefact", "verdict", "scale", "parts"]].to_numpy().tolist()
    assert found == [["K7", "kcef/table1", "fails", "laptop", "size: fails"]]
    (into / "kcef/table1.md").unlink()
    drawing.redraw(TABLE, into)
    assert contents(into) == before
    drawing.make(TABLE, scores, tmp_path / "other", scale="paper", judged=judged)
    assert set(readings.collect([judged])["scale"]) == {"paper"}  # as drawn, not as in the scores


def broken(*_):
    raise ValueError("broken")


@pytest.mark.parametrize("fault", [{"draw": broken}, {"claims": {"K7": broken}}])
def test_what_fails_leaves_nothing_half_written(fault, scores, tmp_path):
    into, judged = tmp_path / "figures", tmp_path / "judged.csv"
    (into / "kcef").mkdir(parents=True)
    (into / "kcef/table1.csv").write_text("before")
    with pytest.raises(ValueError, match="broken"):
        drawing.make(replace(TABLE, **fault), scores, into, judged=judged)
    assert contents(into) == {"kcef/table1.csv": b"before"}
    assert not judged.exists()


def test_all_with_a_csv_are_drawn_again_in_order(tmp_path):
    keys = ["kcef/fig3", "jdl/fig3"]
    for key in keys:
        (tmp_path / key).parent.mkdir()
        (tmp_path / f"{key}.csv").write_bytes((TRACKED / f"{key}.csv").read_bytes())
    both = [registry.ARTEFACTS[key] for key in keys]
    # Workers of their own would take longer to start than to draw.
    with parallel_config("sequential"):
        drawn = [f"{path.relative_to(tmp_path)}" for path in drawing.redraw_all(both, tmp_path)]
        assert drawn == [f"{key}.{suffix}" for key in keys for suffix in ("png", "pdf", "md")]
        assert (tmp_path / drawn[2]).read_text() == (TRACKED / drawn[2]).read_text()


@pytest.mark.parametrize(("key", "damage", "said"), DAMAGED)
def test_a_damaged_csv_is_named_with_what_it_lacks_and_the_remedy(key, damage, said, tmp_path):
    path = tmp_path / f"{key}.csv"
    path.parent.mkdir()
    damage(pd.read_csv(TRACKED / path.relative_to(tmp_path))).to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"{path} .*{said}"):
        drawing.redraw(registry.ARTEFACTS[key], tmp_path)


@pytest.mark.parametrize(
    "end", ["/table9", " --scores a", "/table1 --scores {}", "/table1 --scores no"]
)
def test_wrong_arguments_are_named(end, call, tmp_path):
    words = f"kcef{end.format(tmp_path)}".split()
    code, _, error = call("draw", *words, "--into", tmp_path)
    assert code == 2
    assert words[-1] in error


def test_scores_of_a_folder_are_those_of_its_files(scores, call, tmp_path):
    asked = "draw", "kcef/table1", "--scores"
    assert call(*asked, tmp_path / "results", "--into", tmp_path / "folder")[0] == 0
    assert call(*asked, *scores, "--into", tmp_path / "files")[0] == 0
    assert contents(tmp_path / "folder") == contents(tmp_path / "files")


def test_what_is_not_in_packed_scores_is_not_made(tmp_path):
    with pytest.raises(ValueError, match="kcef/fig2 needs the arrays"):
        drawing.make(registry.ARTEFACTS["kcef/fig2"], [TRACKED / "scores.csv.gz"], tmp_path / "in")
    assert not (tmp_path / "in").exists()
