"""Artefacts are made of scores whole or not at all, and drawn again to the same bytes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import artefact_scores as made
from kcde import scores as score_files
from kcde import split_scores
from kcde.cli import main
from kcde.evidence import readings
from kcde.evidence.checks import Check
from kcde.metrics.names import P_VALUE
from kcde.pages import building
from kcde.papers import drawing, registry

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


@pytest.mark.parametrize(
    ("folder", "scale"),
    [
        ("figures", "laptop"),
        ("results/paper/figures", "paper"),
        ("results/smoke/figures", "smoke"),
    ],
)
def test_a_page_says_its_scale(folder, scale, tmp_path):
    files = made.files(tmp_path / f"results/{scale}/scores/r_benchmark", CELLS)
    page = tmp_path / folder / "kcef/table1.md"
    for draw in (lambda: drawing.make(TABLE, files, tmp_path / folder), lambda: redrawn(page)):
        draw()
        title, empty, line, *_ = page.read_text().splitlines()
        assert title.startswith("# kcef/table1")
        assert (empty, line) == ("", f"*At the scale `{scale}`.*")


def redrawn(page):
    page.unlink()
    drawing.redraw(TABLE, page.parents[1])


def test_the_tracked_scores_of_all_splits_make_a_tracked_table(tmp_path):
    packed, key = TRACKED / "scores.csv.gz", "dde/table2"
    assert run("draw", key, "--scores", packed, "--into", tmp_path) == 0
    order = ["dataset", "method", "variant", "metric"]
    tracked, again = (
        building.read(folder / f"{key}.csv").sort_values(order, ignore_index=True)
        for folder in (TRACKED, tmp_path)
    )
    same = [*order, "n", "failed", "verdict"]
    assert again[same].equals(tracked[same])
    np.testing.assert_allclose(again["mean"], tracked["mean"], rtol=2e-5, atol=2e-6)


def test_packed_scores_of_similarity_are_found_by_what_is_compared(tmp_path):
    rows = [
        made.rows_of("red-wine", f"H0: {method} closer than KCEF", [0.1, 0.2], P_VALUE, "")
        for method in ("KEF", "KEF-grouped", "KEF-pair")
    ]
    path = tmp_path / "scores/similarity/red-wine/KEF.csv"
    score_files.write(
        path, [row | {"experiment": "similarity"} for each in rows for row in each], {}
    )
    packed, _ = split_scores.write([path], tmp_path, "laptop")
    artefact = registry.ARTEFACTS["kcef/table3"]
    shown = drawing._shown(artefact, score_files.read([packed]), packed)["method"]
    assert sorted(set(shown)) == ["H0: KEF closer than KCEF", "H0: KEF-grouped closer than KCEF"]


def test_all_that_has_a_csv_is_drawn_again(scores, tmp_path):
    drawing.make(registry.ARTEFACTS["kcef/table1"], scores, tmp_path / "figures")
    before = contents(tmp_path / "figures")
    (tmp_path / "figures/kcef/table1.png").unlink()
    assert run("draw", "all", "--into", tmp_path / "figures") == 0
    assert contents(tmp_path / "figures") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draw", "kcef/table9"], "no artefact is called 'kcef/table9' (did you mean `kcef/t"),
        (["draw", "kcef", "--scores", "a.csv"], f"names {len(registry.select('kcef'))}"),
        (["draw", "kcef/table1", "--scores", "nowhere.csv"], "snakemake nowhere.csv"),
        (["draw", "kcef/table1", "--judged", "judged.csv"], "need --scores"),
        (["draw", "kcef"], "has no CSV of an artefact"),
    ],
)
def test_errors_name_the_remedy(arguments, message, capsys, tmp_path):
    assert run(*arguments, "--into", tmp_path) == 2
    assert message in capsys.readouterr().err


def test_what_needs_arrays_is_not_made_of_packed_scores(tmp_path):
    for key, message in (("kcef/fig2", "needs the arrays"), ("across/larger_sets", "no scores")):
        with pytest.raises(ValueError, match=message):
            drawing.make(registry.ARTEFACTS[key], [TRACKED / "scores.csv.gz"], tmp_path / "into")
    assert not (tmp_path / "into").exists()
