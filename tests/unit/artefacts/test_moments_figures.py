"""jdl figures 1 to 6: what each shows, from score files to pages."""

from pathlib import Path

import embedding_scores as made
import numpy as np
import pandas as pd
import pytest
from artefact_scores import judged

from kcde import scores
from kcde.papers import published
from kcde.papers import registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.experiments.moments import Moments

FIGURES = tuple(f"fig{number}" for number in range(1, 7))
DECLARED = [registry.ARTEFACTS[f"jdl/{name}"] for name in FIGURES]
CONFIG = Path(__file__).parents[3] / "config.yaml"
UNREDUCED = [("JPDL-unreduced", 1, n, 0.0, limits) for n in (1000, 10_000) for limits in (0, 1)]
LOST = ("CME", 2, 10_000, 1e-3, True, 0)


def level(method, d, n, tolerance, constrained, split):
    return {"JPDL": 1.0, "CME": 3.0}.get(method, 2.0) * d * 30 / n**0.5 * made.spread(split)


METRICS = {
    "second_moment_loss": level,
    "normalisation_error": lambda *cell: level(*cell) if cell[0] == "CME" else 1e-15,
    "psd_violation_rate": lambda *cell: 0.01 * cell[5] if cell[0] == "CME" else 0.0,
    "independence_loss": lambda *cell: 9.0 * cell[1],
    **made.timings(
        solve=lambda *cell: 1e-3,
        evaluate=lambda *cell: 2e-3 * cell[1],
        factorise=lambda *cell: 1e-6 * cell[2],
        summarise=lambda *cell: 3e-6 * cell[2],
        matched=10.0,
    ),
    "peak_memory": lambda *cell: 200.0,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Score files in the real format, one a data set and method."""
    cells = [*made.fits(), *((*cell[:4], bool(cell[4])) for cell in UNREDUCED)]
    table = made.frame(METRICS, cells, repetitions=5, failed={LOST})
    folder, paths = tmp_path_factory.mktemp("scores"), []
    for (dataset, method), rows in table.groupby(["dataset", "method"], sort=False):
        paths.append(folder / dataset / f"{method}.csv")
        kept = [{k: v for k, v in row.items() if v == v} for row in rows.to_dict("records")]
        scores.write(paths[-1], kept, {})
    return paths


@pytest.fixture(scope="module")
def frames(files):
    table = scores.read(files)
    return {name: registry.ARTEFACTS[f"jdl/{name}"].build(None, table, files) for name in FIGURES}


def test_every_figure_is_declared_with_its_claims():
    every = published.claims()
    here = every[(every["paper"] == "jdl") & every["artefact"].isin(FIGURES)]
    assert {claim: artefact.name for artefact in DECLARED for claim in artefact.deciders} == dict(
        zip(here["claim"], here["artefact"], strict=True)
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", FIGURES)
def test_scores_become_csv_picture_page_and_claims(files, name, tmp_path):
    artefact = registry.ARTEFACTS[f"jdl/{name}"]
    decided = judged(artefact, files, tmp_path)
    assert set(decided.loc[decided["choice"] == "", "claim"]) == set(artefact.deciders)
    assert set(decided["choice"]) == {"", *artefact.readers}
    page = (tmp_path / "jdl" / f"{name}.md").read_text()
    assert "Here 5 repetitions. " in page
    assert "Fewer than 20 have no quantiles" in page
    assert "oracle" in page
    for method in artefact.methods:
        assert f"- **{method}**: " in page
    table = pd.read_csv(tmp_path / "jdl" / f"{name}.csv")
    assert list(table.columns) == FIGURE_COLUMNS
    assert {"seconds", "memory"} <= set(table["stat"])
    assert table[["y_low", "y_high"]].isna().all(axis=None)


def test_figure_2_and_4_are_of_one_dimension(frames):
    for name, panels in (("fig2", {"JDL", "CME"}), ("fig4", {"CME"})):
        assert set(frames[name]["panel"]) == panels
        curves = frames[name].query("kind == 'curve' and stat == 'mean'")
        assert (curves.groupby(["panel", "series"])["x"].count() == 5).all()
        assert curves["series"].nunique() == 3


def test_what_ignores_x_is_a_line_of_the_losses(frames):
    for name in ("fig1", "fig2"):
        line = frames[name][frames[name]["kind"] == "baseline"]
        assert set(line["panel"]) == set(frames[name]["panel"])
        assert set(line["n"]) == {5}
    of_two = frames["fig1"].query("kind == 'baseline' and panel == 'd=2 constrained'")
    assert of_two["y"].tolist() == [18.0] * 4


def test_figure_3_has_the_largest_over_points_and_repetitions(frames):
    rows = frames["fig3"].set_index(["panel", "method", "series", "x", "stat"])["y"]
    cell = ("d=1 unconstrained", "CME", "as published", 10_000)
    values = [level("CME", 1, 10_000, 1e-3, False, split) for split in range(5)]
    assert rows[(*cell, "max")] == pytest.approx(max(values))
    assert rows[(*cell, "mean")] == pytest.approx(np.mean(values))


def test_figure_5_is_in_percent(frames):
    rows = frames["fig5"].set_index(["panel", "method", "series", "x", "stat"])["y"]
    assert rows["d=2 constrained", "CME", "as published", 1000, "mean"] == pytest.approx(2.0)
    assert rows["d=2 constrained", "JDL", "as published", 1000, "mean"] == 0.0


def test_figure_6_times_one_bandwidth_with_the_factors_and_without(frames):
    frame = frames["fig6"]
    means = frame[frame["stat"] == "mean"].set_index(["panel", "method", "series", "x"])["y"]
    place = ("JDL", "as published", 1000)
    assert means[("d=3 constrained", *place)] == pytest.approx(10 * (3e-3 + 1e-3 + 6e-3 + 1e-3))
    assert means[("d=3 constrained without factors", *place)] == pytest.approx(10 * 1e-2)
    full = frame[frame["method"] == "JPDL-unreduced"]
    assert set(full["panel"]) == {"d=1 constrained", "d=1 constrained without factors"}
    assert set(full["series"]) == {"as published"}
    assert not any("JPDL-unreduced" in set(frames[name]["method"]) for name in FIGURES[:5])
    assert "same tolerance" not in set(frame["series"])


def test_remarks_say_how_far_and_what_failed(frames):
    said = " ".join(registry.ARTEFACTS["jdl/fig1"].remarks(frames["fig1"]))
    assert "Largest n: 1e7 (d=1), 1e6 (d=2), 1e5 (d=3)." in said
    assert "CME d=2 constrained at n = 10000: 1 of 5." in said
    # A fit that failed has no seconds either.
    timed = " ".join(registry.ARTEFACTS["jdl/fig6"].remarks(frames["fig6"]))
    assert "CME d=2 constrained at n = 10000: 1 of 5." in timed


@pytest.mark.nightly
def test_the_smallest_tour_is_drawn_and_undecided(tmp_path):
    sizes = {1: (200,)}
    table = made.frame(METRICS, made.fits(sizes=sizes), repetitions=2)
    for artefact in DECLARED:
        frame = artefact.build(artefact, table, [])
        assert artefact.draw(artefact, frame, tmp_path / artefact.name)
        for claim, decide in artefact.deciders.items():
            assert decide(table).verdict == "undecided", claim


def test_the_text_has_the_sizes_of_the_experiment():
    large, small = (Moments.at("laptop", f"gaussian-1-{n}", "JDL") for n in (10**6, 1000))
    sizes = [10**k for k in range(3, 8)]
    most = [
        max(n for n in sizes if Moments.within("laptop", f"gaussian-{d}-{n}")) for d in (1, 2, 3)
    ]
    rows = [Moments.at("laptop", f"gaussian-{d}-1000", "JDL").tuning_rows for d in (2, 3)]
    said = [
        f"{small.repetitions} correlation matrices (paper: 100)",
        f"the first {large.repetitions}; n up",
        "at most {} and {} of them".format(*rows),
        "n up to {:.0e} for d = 1, {:.0e} for d = 2 and {:.0e} for d = 3".format(*most),
    ]
    for artefact in DECLARED:
        assert [words for words in said if words.replace("e+0", "e") not in artefact.reduced] == []
