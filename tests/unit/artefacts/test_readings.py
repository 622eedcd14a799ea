"""Claims under several readings: tracked rows, who replaces whom, scale, commit; amended tests."""

import subprocess
from dataclasses import replace
from pathlib import Path

import artefact_scores as made
import pandas as pd
import pytest

from kcde import published
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging import checkout, claims, readings

TABLE1 = registry.ARTEFACTS["kcef/table1"]
CELLS = {("geyser", "KCEF"): made.around(1.2), ("geyser", "LSCDE"): made.around(0.7)}


def reader(**verdicts):
    """A reader of K7 with a reading a keyword."""
    return lambda scores: {"K7": {name: Decision(word, name) for name, word in verdicts.items()}}


def read_by(**readers):
    named = {name.replace("_", "-"): each for name, each in readers.items()}
    return replace(TABLE1, readers=named, deciders={})


def draw(artefact, folder, into):
    return drawing.make(artefact, made.files(folder / "laptop" / "r_benchmark", CELLS), into)


def test_drawing_merges_the_readings_of_an_artefact_and_choice(tmp_path):
    into = tmp_path / "figures"
    first = read_by(K_grid=reader(narrow="holds", wide="fails"), K_nade=reader(joint="holds"))
    record = draw(first, tmp_path, into)
    assert str(into / "readings.csv") in record["files"]
    other = replace(read_by(K_grid=reader(other="undecided")), name="other")
    draw(other, tmp_path, into)
    draw(read_by(K_grid=reader(wide="holds")), tmp_path, into)
    found = readings.read(into)
    assert list(found.columns)[:9] == (
        ["paper", "claim", "choice", "reading", "artefact", "verdict", "reason", "scale", "commit"]
    )
    rows = found[["choice", "reading", "artefact", "verdict"]].to_numpy().tolist()
    assert rows == [
        ["K-grid", "other", "kcef/other", "undecided"],
        ["K-grid", "wide", "kcef/table1", "holds"],
        ["K-nade", "joint", "kcef/table1", "holds"],
    ]
    assert set(found["paper"]) == {"kcef"}
    assert set(found["scale"]) == {"laptop"}
    assert set(found["commit"]) == {checkout.commit()}


def test_without_readers_there_is_no_file(tmp_path):
    draw(TABLE1, tmp_path, tmp_path / "figures")
    assert not (tmp_path / "figures" / "readings.csv").exists()


def test_an_artefact_of_no_paper_locks_the_folder_once(tmp_path):
    across = replace(read_by(K_grid=reader(wide="holds")), module="kcde.artefacts.across.mine")
    assert drawing.folders_to_lock(across, tmp_path, with_readings=True) == [tmp_path]
    draw(replace(across, name="mine"), tmp_path, tmp_path / "figures")  # does not wait for itself
    assert readings.read(tmp_path / "figures")["artefact"].tolist() == ["across/mine"]


def test_a_claim_that_no_paper_makes_is_refused(tmp_path):
    wrong = read_by(K_grid=lambda scores: {"K77": {"a": Decision("holds", "")}})
    with pytest.raises(ValueError, match="kcef/table1 reads the claim 'K77'"):
        draw(wrong, tmp_path, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_scales_are_those_of_the_folders_of_the_experiments():
    here = Path("results/laptop/r_benchmark/geyser/KCEF.csv")
    there = Path("/somewhere/readings/r_benchmark/geyser/KCEF.csv")
    assert readings.scale_of(TABLE1, [here, here]) == "laptop"
    assert readings.scale_of(TABLE1, [there, here]) == "laptop+readings"
    assert readings.scale_of(TABLE1, ["scores.csv"]) == readings.UNKNOWN_SCALE
    # A data set, and a folder above, with the name of an experiment.
    named = "/r_benchmark/results/paper/r_benchmark/r_benchmark/KCEF.csv"
    assert readings.scale_of(TABLE1, [named]) == "paper"
    # Experiments without data sets and methods have a file in place of a folder.
    alone = registry.ARTEFACTS["kcef/fig3"]
    assert readings.scale_of(alone, ["results/laptop/failure_case.csv"]) == "laptop"


def test_choices_of_readers_are_declared():
    known = {*published.readings()["id"], readings.AMENDED}
    wrong = {
        f"{artefact.key}: {choice}"
        for artefact in registry.ARTEFACTS.values()
        for choice in set(artefact.readers) - known
    }
    assert not wrong


def test_amended_tests_and_readings_are_of_known_claims():
    every = set(published.claims()[["paper", "claim"]].itertuples(index=False, name=None))
    amended = published.amended()[["paper", "claim"]].itertuples(index=False, name=None)
    assert set(amended) <= every
    assert set(published.readings()["paper"]) <= {paper for paper, _ in every}


def test_decisions_come_back_from_the_tracked_file(tmp_path):
    whole = Decision(
        "fails", "a, b", {"order: all": "holds", "size": "fails"}, Decision("holds", "c")
    )
    made_of = {"K7": whole, "K8": Decision("holds", "d")}
    claims.write(tmp_path, tmp_path, TABLE1, made_of)
    assert claims.decisions(tmp_path, TABLE1) == made_of
    row = claims.read(tmp_path, "kcef").iloc[0]
    assert row["parts"] == "order: all: holds; size: fails"
    assert (row["amended"], row["amended_reason"]) == ("holds", "c")
    with pytest.raises(ValueError, match="contains '; '"):
        claims.cells(Decision("holds", "", {"a; b": "holds"}))


def test_an_older_file_of_claims_is_read(tmp_path):
    (tmp_path / "kcef").mkdir()
    (tmp_path / "kcef/claims.csv").write_text("claim,artefact,verdict,reason\nK7,table1,fails,x\n")
    assert claims.decisions(tmp_path, TABLE1) == {"K7": Decision("fails", "x")}
    claims.write(tmp_path, tmp_path, TABLE1, {"K8": Decision("holds", "y")})
    assert list(pd.read_csv(tmp_path / "kcef/claims.csv").columns) == claims.COLUMNS


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True)


def test_the_commit_is_that_of_the_tracked_sources(tmp_path):
    package = tmp_path / "src/kcde"
    package.mkdir(parents=True)
    (tmp_path / "figures").mkdir()
    for path in (package / "__init__.py", tmp_path / "figures/a.csv"):
        path.write_text("1\n")
    assert checkout.commit(package) == checkout.UNKNOWN
    git(tmp_path, "init")
    checkout.commit.cache_clear()
    assert checkout.commit(package) == checkout.UNKNOWN  # an installed package is not tracked
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    checkout.commit.cache_clear()
    clean = checkout.commit(package)
    assert len(clean) == 10
    (tmp_path / "figures/a.csv").write_text("2\n")
    checkout.commit.cache_clear()
    assert checkout.commit(package) == clean
    (package / "__init__.py").write_text("2\n")
    checkout.commit.cache_clear()
    assert checkout.commit(package) == f"{clean}+"
