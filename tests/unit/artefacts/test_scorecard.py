"""Scorecard, drawing and claims: counts, copies, not-run, missing data, redrawing."""

import shutil
from dataclasses import replace
from pathlib import Path

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde.papers import published
from kcde.papers import drawing, registry
from kcde.papers.artefact import Decision
from kcde.evidence import claims, r_sets, readings, scorecard
from kcde.papers.kcef import table1 as kcef_table1
from kcde.pages import building

TABLE1, TABLE2 = registry.ARTEFACTS["kcef/table1"], registry.ARTEFACTS["dde/table2"]
UNDRAWN = replace(TABLE1, draw=lambda *_: [])
COPIED = [
    "geyser",
    "caution",
    "ftcollinssnow",
    "highway",
    "snowgeese",
    "GAGurine",
    "topo",
    "CobarOre",
    "mcycle",
    "BigMac2003",
]


def published_scores(paper, artefact, methods, shift=0.0):
    values = published.values()
    here = values[(values["paper"] == paper) & (values["artefact"] == artefact)]
    here = here[here["method"].isin(methods)].dropna(subset="value")
    return {(r.dataset, r.method): made.around(r.value + shift) for r in here.itertuples()}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    into = folder / "figures"
    cells = published_scores("kcef", "table1", ["KCEF", "LSCDE"])
    drawing.make(UNDRAWN, made.files(folder / "scores", cells), into)
    cells = published_scores("dde", "table2", ["KCEF", "LSCDE", "epsilon-KDE"])
    undrawn = replace(TABLE2, draw=lambda *_: [])
    drawing.make(undrawn, made.files(folder / "scores", cells), into)
    return into


@pytest.fixture
def figures(drawn, tmp_path):
    return Path(shutil.copytree(drawn, tmp_path / "figures"))


def put(into, read, **decided):
    """Write the claims of papers and the readings as `scorecard.collect` does."""
    into.mkdir(exist_ok=True)
    read.to_csv(into / readings.NAME, index=False)
    for claim, decision in decided.items():
        paper = {"K": "kcef", "J": "jdl", "C": "cdo"}[claim[0]]
        known = claims.read(into, paper).to_dict("records")
        known.append({"claim": claim, "artefact": "table1", **claims.cells(decision)})
        (into / paper).mkdir(exist_ok=True)
        pd.DataFrame(known).to_csv(into / paper / claims.NAME, index=False)


def test_every_number_and_claim_has_a_row_without_any_output(tmp_path):
    card = scorecard.build(tmp_path, "laptop")
    assert list(card.columns) == scorecard.COLUMNS
    assert (card["kind"] != "claim").sum() == 142
    assert (card["kind"] == "claim").sum() == 43
    assert set(card["verdict"]) == {"not-run"}
    assert (card["reason"] != "").all()
    assert card.loc[card["kind"] == "claim", "metric"].is_unique


def test_copies_are_dde_cells_of_kcef_table1_counted_once(figures):
    card = scorecard.build(figures, "laptop")
    copies = card[card["kind"] == "copy"]
    assert len(copies) == 20
    assert set(copies["paper"]) == {"dde"}
    assert set(copies["method"]) == {"KCEF", "LSCDE"}
    assert set(copies["dataset"]) == set(COPIED)
    counts = scorecard.totals(card)
    assert {paper: sum(counts[paper]["number"].values()) for paper in counts} == {
        "kcef": 61,
        "cdo": 5,
        "jdl": 0,
        "dde": 56,
    }
    assert counts["kcef"]["number"]["reproduced"] == 28
    assert counts["dde"]["number"]["reproduced"] == 16 + 12 - 2


def test_verdict_agrees_with_the_table_and_uses_as_published_only(figures, tmp_path):
    card = scorecard.build(figures, "laptop").set_index(["artefact", "dataset", "method"])
    for name, folder in (("table1", "kcef"), ("table2", "dde")):
        for _, row in building.read(figures / folder / f"{name}.csv").iterrows():
            mine = card[card["paper"] == folder].loc[(name, row["dataset"], row["method"])]
            assert mine["verdict"] == row["verdict"]
            assert mine["ours"] == row["mean"]
    drawing.make(UNDRAWN, made.files(tmp_path / "x", {("geyser", "KCEF-LL"): [1.2]}), figures)
    again = scorecard.build(figures, "laptop")
    numbers = again[(again["artefact"] == "table1") & (again["kind"] == "number")]
    assert set(numbers["verdict"]) == {"not-run"}


def test_too_many_failed_splits_count_as_failed(figures, tmp_path):
    cells = {("geyser", "LSCDE"): [*made.around(0.7, 18), None, 50.0]}
    drawing.make(UNDRAWN, made.files(tmp_path / "x", cells), figures)
    card = scorecard.build(figures, "laptop")
    row = card[(card["artefact"] == "table1") & (card["failed"] > 0)].iloc[0]
    assert row["verdict"] == "worse"
    assert row["reason"].startswith("2 of 20 splits failed; ")
    counts = scorecard.totals(card)["kcef"]["number"]
    assert (counts["failed"], counts["worse"]) == (1, 0)


def test_page_starts_with_a_line_a_paper(figures):
    scorecard.write(scorecard.build(figures, "laptop"), figures, "laptop")
    lines = (figures / "scorecard.md").read_text().splitlines()
    assert lines[4].startswith(
        "- **kcef**: of 28 informative numbers 28 are compatible; 61 numbers: 28 reproduced, "
        "0 better, 0 worse, 0 failed, 33 not run; "
    )
    assert [line.split("**")[1] for line in lines[4:8]] == ["kcef", "dde", "cdo", "jdl"]
    text = "\n".join(lines)
    assert all(f"| {claim} |" in text for claim in published.claims()["claim"])


def test_times_state_an_order_of_magnitude(figures, monkeypatch, tmp_path):
    table1 = replace(TABLE2, name="table1", deciders={}, metric="mmd")
    monkeypatch.setitem(registry.ARTEFACTS, "dde/table1", table1)
    cells = {("ring", "DDE"): [0.037] * 3, ("ring", "KEF"): [17.3] * 3}
    frame = made.frame(cells, "sampling_time", "s")
    mmd = made.frame({key: [1.5, 1.6] for key in cells}, "mmd", "1e-3")
    (figures / "dde").mkdir(exist_ok=True)
    table1.build(table1, pd.concat([frame, mmd]), []).to_csv(
        figures / "dde" / "table1.csv", index=False
    )
    card = scorecard.build(figures, "laptop")
    times = card[(card["metric"] == "sampling_time") & (card["dataset"] == "ring")]
    assert times["ours"].tolist() == [0.1, 10.0]
    assert times["stderr"].isna().all()
    assert set(times["verdict"]) == {"reproduced"}


def test_claims_count_by_the_amended_test_and_by_their_readings(tmp_path):
    better = Decision("holds", "enough")
    found = {"K7": Decision("fails", "a", {"size": "holds"}, better), "K8": Decision("fails", "b")}
    rows = [
        {"claim": "K7", "choice": "K-grid", "reading": f"grid {k}", "verdict": "fails"}
        | {"amended": "holds" if k else "undecided"}
        for k in range(3)
    ]
    rows += [
        {"claim": "K7", "choice": "K-nade", "reading": "joint", "verdict": "holds"},
        {"claim": "K8", "choice": "K-nade", "reading": "joint", "verdict": "fails"},
        {"claim": "K8", "choice": "amended", "reading": "ten seeds", "verdict": "undecided"},
    ]
    read = pd.DataFrame(rows, columns=readings.COLUMNS, dtype=object).fillna("")
    read = read.assign(paper="kcef", artefact="kcef/x", scale="laptop", commit="0123456789")
    put(tmp_path, read, **found)
    card = scorecard.build(tmp_path, "laptop")
    decided = card[card["kind"] == "claim"].set_index("metric")
    said = decided[["verdict", "amended", "readings", "parts"]].T.to_dict("list")
    assert said["K7"] == [
        "fails",
        "holds",
        "K-grid: holds 2, undecided 1 (grid 0); K-nade (by the first test): holds 1",
        "size: holds",
    ]
    assert said["K8"] == ["fails", "undecided", "K-nade (by the first test): fails 1 (joint)", ""]
    assert said["K9"] == ["not-run", "", "", ""]
    assert decided["amended_reason"]["K7"] == "enough"
    counts = scorecard.totals(card, readings.read(tmp_path))["kcef"]
    assert counts["claim"] == {"holds": 1, "undecided": 1, "not-run": 12}
    assert counts["reading"] == {"some": 1, "none": 1}
    scorecard.write(card, tmp_path, "laptop")
    page = (tmp_path / "scorecard.md").read_text()
    assert "of 2 with several readings hold 0 under every, 1 under some, 1 under none" in page
    said = "Of the 2 claims that depend on a choice which the paper leaves open, 0 hold under every"
    assert said in page.split("\n\n")[1]
    assert "each with its scale and the commit that made it" in page
    assert "0123456789" not in page
    assert "| claim | artefact | statement | verdict | amended | readings | parts |" in page
    assert "Amended test: enough. First test: a |" in page


def test_a_paper_with_open_questions_has_a_page(tmp_path):
    decided = {"J1": Decision("fails", "a"), "J2": Decision("holds", "b")}
    rows = [
        {"claim": "J1", "choice": "J-law", "reading": law, "verdict": verdict}
        for law, verdict in (("s = 0.1", "holds"), ("uniform", "fails"))
    ]
    read = pd.DataFrame(rows, columns=readings.COLUMNS, dtype=object).fillna("")
    put(tmp_path, read.assign(paper="jdl", artefact="jdl/laws"), **decided)
    card = scorecard.build(tmp_path, "laptop")
    reasons = card[card["kind"] == "claim"].set_index("metric")["reason"]
    choice = published.readings().set_index("id").loc["J-law", "choice"]
    assert reasons["J1"] == f"depends on what the paper leaves open, {choice} (J-law); a"
    assert reasons["J2"] == "b"
    written = scorecard.write(card, tmp_path, "laptop")
    assert tmp_path / "jdl/README.md" in written
    page = (tmp_path / "jdl/README.md").read_text()
    statement = published.claims().set_index("claim").loc["J1", "statement"]
    held = "J-law: holds 1, fails 1"
    assert f"| J1 | {statement} | fails | under some readings | {held} |" in page
    assert "| holds | not read |" in page
    affected = published.readings().set_index("id").loc["J-law", "affects"]
    assert f"- **J-law**: {choice}. It bears on {affected}." in page
    asked = published.questions()
    assert set(asked["paper"]) == set(published.claims()["paper"])
    assert set(asked["choice"]) <= {"", *published.readings()["id"]}
    for paper, own in asked.groupby("paper"):
        page = (tmp_path / paper / "README.md").read_text()
        for k, question in enumerate(own["question"], start=1):
            assert f"{k}. {question}" in page
    assert "(K-grid)." in page
    assert "()" not in page


def test_many_readings_that_do_not_hold_are_counted_alone():
    rows = [{"claim": "K7", "choice": "K-grid", "reading": f"{k}"} for k in range(32)]
    table = pd.DataFrame(rows, columns=readings.COLUMNS, dtype=object).fillna("")
    table["verdict"] = ["holds"] * 27 + ["fails"] * 5
    own = readings.of_claim(table, "K7")
    assert readings.counted(own) == "K-grid (by the first test): holds 27, fails 5"
    assert readings.share(own) == "some"
    assert readings.share(own.head(27)) == "every"
    assert readings.share(own.tail(5)) == "none"


def test_readings_of_another_scale_are_counted_apart_and_say_so(tmp_path):
    verdicts = {
        "own": ("holds", "laptop"),
        "large": ("fails", "paper"),
        "old": ("fails", "unknown"),
    }
    rows = [
        {"claim": "K2", "choice": "K-lscde", "reading": name, "verdict": verdict, "scale": scale}
        for name, (verdict, scale) in verdicts.items()
    ]
    read = pd.DataFrame(rows, columns=readings.COLUMNS, dtype=object).fillna("")
    read = read.assign(paper="kcef", artefact="kcef/fig1-lscde")
    put(tmp_path, read, K2=Decision("fails", "a"))
    said = {
        scale: scorecard.build(tmp_path, scale).set_index("metric")["readings"]["K2"]
        for scale in ("laptop", "paper")
    }
    assert said == {
        "laptop": "K-lscde: holds 1, fails 1 (old); K-lscde (at paper): fails 1 (large)",
        "paper": "K-lscde (at laptop): holds 1; K-lscde: fails 2 (large, old)",
    }
    assert readings.counted(readings.of_claim(read, "K2")) == (
        "K-lscde: holds 1, fails 2 (large, old)"
    )
    first = readings.of_claim(read.assign(claim="K7", scale="laptop"), "K7")
    assert readings.counted(first, "paper").startswith("K-lscde (by the first test, at laptop):")


@pytest.mark.parametrize(
    ("verdicts", "share"),
    [
        (["not-run", "not-run"], "not-run"),
        (["not-run", "fails"], "none"),
        (["not-run", "undecided"], "none"),
        (["not-run", "holds"], "every"),
        (["not-run", "holds", "fails"], "some"),
    ],
)
def test_readings_that_were_not_run_do_not_count(tmp_path, verdicts, share):
    rows = [
        {"claim": "C5", "choice": "C-split", "reading": f"{k}", "verdict": verdict}
        for k, verdict in enumerate(verdicts)
    ]
    read = pd.DataFrame(rows, columns=readings.COLUMNS, dtype=object).fillna("")
    read = read.assign(paper="cdo", artefact="cdo/table3-readings")
    put(tmp_path, read, C5=Decision("fails", "a"))
    assert readings.share(readings.of_claim(readings.read(tmp_path), "C5")) == share
    card = scorecard.build(tmp_path, "laptop")
    counts = scorecard.totals(card, readings.read(tmp_path))["cdo"]["reading"]
    assert counts == ({} if share == "not-run" else {share: 1})
    scorecard.write(card, tmp_path, "laptop")
    (line,) = [
        line for line in (tmp_path / "cdo/README.md").read_text().split("\n") if "| C5 |" in line
    ]
    words = {"not-run": "not run", "none": "under no reading", "every": "under every reading"}
    assert f"| fails | {words.get(share, 'under some readings')} |" in line


def test_compatible_stands_beside_the_verdict(figures):
    card = scorecard.build(figures, "laptop")
    said = card.loc[card["kind"] != "claim"].groupby("verdict")["compatible"].unique()
    assert said["reproduced"].tolist() == ["yes"]
    assert set(said["not-run"]) == {""}
    counts = scorecard.totals(card)
    assert counts["kcef"]["compatible"] == {"yes": 28}
    assert counts["dde"]["compatible"] == {"yes": 26}


def k7(wins, losses):
    names = list(dict.fromkeys(name for name, _ in published_scores("kcef", "table1", ["KCEF"])))
    cells = {}
    for k, name in enumerate(names):
        shift = -0.5 if k < wins else 0.5 if k < wins + losses else 0.0
        lscde = np.sin(np.arange(20.0))
        tie = 0.1 * np.cos(np.pi * np.arange(20)) * (1 + np.arange(20) // 2)
        cells[name, "LSCDE"] = list(lscde)
        cells[name, "KCEF"] = list(lscde + (shift + 0.01 * np.arange(20) if shift else tie))
    return cells


@pytest.mark.parametrize(
    ("wins", "losses", "expected"), [(8, 0, "holds"), (11, 3, "holds"), (10, 3, "fails")]
)
def test_k7_counts_significant_wins_minus_losses(wins, losses, expected):
    decision = kcef_table1.kcef_beats_lscde(made.frame(k7(wins, losses)))
    assert decision.verdict == expected
    assert f"{wins} significant wins, {losses} losses" in decision.reason


def test_k7_is_undecided_on_missing_data_sets():
    cells = k7(14, 0)
    del cells["geyser", "KCEF"]
    decision = kcef_table1.kcef_beats_lscde(made.frame(cells))
    assert decision.verdict == "undecided"
    assert "geyser" in decision.reason


@pytest.mark.parametrize(
    ("losses", "wins", "expected"), [(10, 0, "holds"), (14, 0, "holds"), (9, 5, "fails")]
)
def test_k8_counts_sets_where_nade_is_significantly_worse(losses, wins, expected):
    cells = {
        (name, {"KCEF": "NADE", "LSCDE": "KCEF"}[method]): values
        for (name, method), values in k7(wins, losses).items()
    }
    decision = kcef_table1.nade_loses_to_kcef(made.frame(cells))
    assert decision.verdict == expected
    assert f"significantly worse on {losses} (wanted 10), {wins} significantly" in decision.reason


def gap(corrected):
    """Differences of 20 splits that the signed-rank test finds; the corrected t-test, or not."""
    scatter = np.sin(3.0 * np.arange(20.0))
    return -0.5 + scatter * (0.1 if corrected else 0.5)


@pytest.mark.parametrize(
    ("sure", "unsure", "expected"), [(8, 0, "holds"), (7, 1, "undecided"), (7, 0, "fails")]
)
def test_amended_k7_takes_the_corrected_test(sure, unsure, expected):
    names = published.datasets("kcef", "table1")
    lscde = np.sin(np.arange(20.0))
    cells = {(name, "LSCDE"): list(lscde) for name in names}
    for k, name in enumerate(names):
        tie = 0.1 * np.cos(np.pi * np.arange(20)) * (1 + np.arange(20) // 2)
        found = gap(k < sure) if k < sure + unsure else tie
        cells[name, "KCEF"] = list(lscde + found)
    assert stats.wilcoxon(gap(corrected=False)).pvalue < 0.05
    decision = kcef_table1.kcef_beats_lscde(made.frame(cells))
    assert decision.verdict == ("holds" if sure + unsure >= 8 else "fails")
    assert decision.amended.verdict == expected
    assert f"{sure} significant wins" in decision.amended.reason


@pytest.mark.parametrize(("spread", "margin"), [(0.001, 10), (0.1, 5), (10.0, 0)])
def test_amended_k7_says_what_the_published_means_would_reach(spread, margin):
    """Without spread KCEF is better on 12 sets and worse on 2, whatever ours are."""
    names = published.datasets("kcef", "table1")
    scatter = spread * np.tile([-1.0, 1.0], 10)
    cells = {(name, "LSCDE"): [0.0] * 20 for name in names}
    cells |= {(name, "KCEF"): list(5.0 + scatter) for name in names}
    said = kcef_table1.kcef_beats_lscde(made.frame(cells)).amended
    assert said.reason.endswith(f"with the spreads of these differences: margin {margin}")
    assert said.verdict == "fails"
    cells |= {(name, "KCEF-LL"): list(10.0 * np.tile([-1.0, 1.0], 10)) for name in names}
    cells["geyser", "KCEF"] = [None] * 20
    said = kcef_table1.kcef_beats_lscde(made.frame(cells)).amended
    assert said.reason.endswith(", with those of KCEF-LL 0")


def nades(worse):
    """NADE worse than KCEF on so many sets."""
    cells = {}
    for k, name in enumerate(published.datasets("kcef", "table1")):
        wave = np.sin(np.arange(20.0))
        cells[name, "KCEF"] = list(wave)
        cells[name, "NADE"] = list(wave - gap(True) * (1 if k < worse else -1))
    return made.frame(cells)


def test_claims_are_decided_of_renamed_methods():
    """Readers decide a claim of other scores under the names that it speaks of."""
    table = nades(10)
    other = table.assign(method=table["method"].replace({"KCEF": "KCEF-x"}))
    assert kcef_table1.nade_loses_to_kcef(other).verdict == "undecided"
    renamed = other.assign(method=other["method"].replace({"KCEF-x": "KCEF"}))
    assert kcef_table1.nade_loses_to_kcef(renamed) == kcef_table1.nade_loses_to_kcef(table)


def test_k8_is_undecided_on_missing_data_sets():
    decision = kcef_table1.nade_loses_to_kcef(made.frame(k7(0, 14)))
    assert decision.verdict == "undecided"
    assert decision.reason.startswith("no splits of both NADE and KCEF on caution")


@pytest.mark.parametrize(
    ("cpus", "crabs", "others", "expected"),
    [(6, 5, 0, "holds"), (6, 1, 0, "fails"), (6, 5, 8, "fails"), (0, 0, 0, "fails")],
)
def test_d6_compares_the_share_of_failed_splits(cpus, crabs, others, expected):
    failed = {"cpus": cpus, "crabs": crabs}
    names = dict.fromkeys(name for name, _ in published_scores("dde", "table2", ["LSCDE"]))
    cells = {}
    for name in names:
        k = failed.get(name, others)
        cells[name, "KCEF"] = [None, 300.0, *[np.nan] * 18][:k] + made.around(1.0, 20 - k)
    decision = r_sets.kcef_unstable(made.frame(cells))
    assert decision.verdict == expected
    assert f"cpus {cpus} of 20, crabs {crabs} of 20" in decision.reason
