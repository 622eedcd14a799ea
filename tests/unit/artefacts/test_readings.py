"""Claims under several readings: tracked rows, who replaces whom, scale, commit; amended tests."""

import subprocess

import pandas as pd
import pytest

from kcde.papers import published
from kcde.papers import registry
from kcde.papers.artefact import Decision
from kcde.evidence import checkout, claims, readings, scorecard


def decided(path, *rows):
    """Write what an artefact decided: claim, choice, reading and verdict."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows, columns=["claim", "choice", "reading", "verdict"])
    known = {"paper": "kcef", "artefact": f"kcef/{path.stem}", "scale": "laptop"}
    frame.assign(**known).reindex(columns=readings.COLUMNS).to_csv(path, index=False)
    return path


def test_tracked_readings_stand_for_what_was_not_made(tmp_path):
    made, tracked = tmp_path / "judged/kcef", tmp_path / "figures"
    files = [
        decided(made / "table1.csv", ("K8", "", "", "holds"), ("K7", "", "", "fails")),
        decided(made / "fig1.csv", ("K7", "K-stop", "new", "holds")),
    ]
    old = pd.concat(
        pd.read_csv(decided(tmp_path / f"{name}.csv", ("K7", choice, "old", "fails")))
        for name, choice in (("fig1", "K-stop"), ("table1-nade", "K-nade"), ("table1", "K-grid"))
    )
    tracked.mkdir()
    old.to_csv(tracked / readings.NAME, index=False)
    columns = ["claim", "choice", "reading", "artefact"]
    assert readings.collect(files)[columns].to_numpy().tolist() == [
        ["K7", "K-stop", "new", "kcef/fig1"],
        ["K7", "", "", "kcef/table1"],
        ["K8", "", "", "kcef/table1"],
    ]
    every = readings.collect(files, tracked)
    assert set(every["reading"]) == {"", "new", "old"}
    assert every.loc[every["reading"] == "old", "choice"].tolist() == ["K-nade"]
    written = scorecard.collect(files, tmp_path / "new", tracked)
    assert {path.relative_to(tmp_path / "new").as_posix() for path in written} == {
        "readings.csv",
        *(f"{paper}/claims.csv" for paper in ("kcef", "dde", "jdl", "cdo")),
    }
    assert readings.read(tmp_path / "new")["reading"].tolist() == ["new", "old"]
    claims_of_kcef = claims.read(tmp_path / "new", "kcef")
    assert claims_of_kcef[["claim", "artefact", "verdict"]].to_numpy().tolist() == [
        ["K7", "table1", "fails"],
        ["K8", "table1", "holds"],
    ]


def test_scales_are_those_of_the_folders_of_the_scores():
    here, there = "results/laptop/scores/e/geyser/KCEF.csv", "/scores/results/paper/scores/e.csv"
    assert readings.scale_of([here, here]) == "laptop"
    assert readings.scale_of([there, here]) == "laptop+paper"
    assert readings.scale_of(["scores.csv"]) == readings.UNKNOWN_SCALE


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


def test_a_decision_in_cells():
    whole = Decision("fails", "a, b", {"all: x": "holds", "size": "fails"}, Decision("holds", "c"))
    assert claims.cells(whole) == {
        "verdict": "fails",
        "reason": "a, b",
        "amended": "holds",
        "amended_reason": "c",
        "parts": "all: x: holds; size: fails",
    }
    with pytest.raises(ValueError, match="contains '; '"):
        claims.cells(Decision("holds", "", {"a; b": "holds"}))


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
