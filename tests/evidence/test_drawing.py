"""Artefacts are made of scores whole or not at all, and drawn again to the same bytes."""

from dataclasses import replace
from pathlib import Path

import pytest

import artefact_scores as made
from kcde.cli import main
from kcde.evidence import readings
from kcde.evidence.checks import Check
from kcde.methods import METHODS
from kcde.pages import building
from kcde.papers import drawing, registry
from kcde.papers.artefact import READINGS, RUN

TRACKED = Path(__file__).parents[2] / "figures"
CELLS = {("geyser", "KCEF"): made.around(1.2), ("geyser", "LSCDE"): made.around(0.7)}


def few(scores, test=""):
    yield Check("sets", 2.0, at_least=3, part="size")


TABLE = replace(registry.ARTEFACTS["kcef/table1"], claims={"K7": few})
FILES = [f"kcef/table1.{suffix}" for suffix in ("csv", "md", "pdf", "png")]


@pytest.fixture
def scores(tmp_path):
    return made.files(tmp_path / "results/laptop/scores/r_benchmark", CELLS)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run(*arguments):
    with pytest.raises(SystemExit) as finished:
        main([str(argument) for argument in arguments])
    return finished.value.code or 0


def test_an_artefact_has_four_files_and_what_it_decides(scores, tmp_path):
    into, judged = tmp_path / "figures", tmp_path / "judged/kcef/table1.csv"
    written = drawing.make(TABLE, scores, into, judged=judged)
    assert sorted(contents(into)) == FILES
    assert set(written) == {judged, *(into / name for name in FILES)}
    table = readings.collect([judged])
    assert set(table["scale"]) == {"laptop"}
    columns = ["claim", "choice", "artefact", "verdict", "reason", "parts"]
    drawn = table.loc[table["choice"] == "", columns]
    reason = "sets 2 (wanted at least 3)"
    assert drawn.to_numpy().tolist() == [["K7", "", "kcef/table1", "fails", reason, "size: fails"]]
    before = contents(into)
    (into / "kcef/table1.md").unlink()
    drawing.redraw(TABLE, into)
    assert contents(into) == before


def broken(*_):
    raise ValueError("broken")


@pytest.mark.parametrize(
    "fault",
    [{"build": broken}, {"draw": broken}, {"claims": {"K7": broken}}],
    ids=["build", "draw", "claim"],
)
def test_what_fails_leaves_nothing_half_written(fault, scores, tmp_path):
    into, judged = tmp_path / "figures", tmp_path / "judged.csv"
    (into / "kcef").mkdir(parents=True)
    (into / "kcef/table1.csv").write_text("before")
    with pytest.raises(ValueError, match="broken"):
        drawing.make(replace(TABLE, **fault), scores, into, judged=judged)
    assert contents(into) == {"kcef/table1.csv": b"before"}
    assert not judged.exists()


@pytest.mark.parametrize("scale", ["paper", "smoke"])
def test_a_page_says_its_scale_and_all_with_a_csv_is_drawn_again(scale, tmp_path):
    files = made.files(tmp_path / f"results/{scale}/scores/r_benchmark", CELLS)
    into = tmp_path / f"results/{scale}/figures"
    drawing.make(TABLE, files, into)
    before, page = contents(into), into / "kcef/table1.md"
    assert page.read_text().splitlines()[1:3] == ["", f"*At the scale `{scale}`.*"]
    page.unlink()
    assert run("draw", "all", "--into", into) == 0
    assert contents(into) == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("kcef/table9", "kcef/table1"),
        ("kcef --scores a.csv", "kcef"),
        ("kcef/table1 --scores nowhere.csv", "nowhere.csv"),
        ("kcef/table1 --judged judged.csv", "--scores"),
        ("kcef", "CSV"),
    ],
)
def test_wrong_arguments_are_named(arguments, named, capsys, tmp_path):
    assert run("draw", *arguments.split(), "--into", tmp_path) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("key", ["kcef/fig2", "across/larger_sets"])
def test_what_is_not_in_packed_scores_is_not_made(key, tmp_path):
    with pytest.raises(ValueError, match=key):
        drawing.make(registry.ARTEFACTS[key], [TRACKED / "scores.csv.gz"], tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("artefact", registry.ARTEFACTS.values(), ids=registry.ARTEFACTS)
def test_a_declaration_has_known_values(artefact):
    assert artefact.stage in (RUN, READINGS)
    assert artefact.text.title
    for wanted in artefact.shows.values():
        assert set(wanted) <= {"datasets", "methods", "but", "only", "scale"}
        assert wanted.get("scale", "paper") == "paper"
        assert set(wanted.get("only", ())) <= set(wanted.get("methods", METHODS))


def test_tracked_tables_have_their_columns_in_the_declared_order():
    for artefact in registry.ARTEFACTS.values():
        path = TRACKED / f"{artefact.key}.csv"
        if artefact.kind == "table" and artefact.methods and path.exists():
            table = building.read(path)
            for _, rows in table[table["metric"] == artefact.metric].groupby("dataset"):
                found = [name for name in rows["method"].unique() if name in artefact.methods]
                assert found == [name for name in artefact.methods if name in found], artefact.key
