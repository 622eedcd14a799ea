"""jdl figures 1 to 6: what each shows, from score files to pages."""

import math
from pathlib import Path

import embedding_scores as made
import numpy as np
import pandas as pd
import pytest
import yaml

from kcde import published, scores
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.core.declaration import FIGURE_COLUMNS
from kcde.artefacts.judging import claims
from kcde.artefacts.tables import methods
from kcde.data import names

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


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_scores_become_csv_picture_page_and_claims(files, name, tmp_path):
    artefact = registry.ARTEFACTS[f"jdl/{name}"]
    record = drawing.make(artefact, files, tmp_path)
    assert record["status"] == drawing.REGENERATED
    assert {Path(path).name for path in record["files"]} == {
        *(f"{name}{suffix}" for suffix in (".csv", ".png", ".pdf", ".md")),
        "claims.csv",
        *(["readings.csv"] if artefact.readers else []),
    }
    decided = claims.read(tmp_path, "jdl")
    assert set(decided["claim"]) == set(artefact.deciders)
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


@pytest.mark.slow
def test_the_smallest_tour_is_drawn_and_undecided(tmp_path):
    sizes = {1: (200,)}
    table = made.frame(METRICS, made.fits(sizes=sizes), repetitions=2)
    for artefact in DECLARED:
        frame = artefact.build(artefact, table, [])
        assert artefact.draw(artefact, frame, tmp_path / artefact.name)
        for claim, decision in claims.decide(artefact, table).items():
            assert decision.verdict == "undecided", claim


def test_details_say_what_the_laptop_scale_reduces():
    config = yaml.safe_load(CONFIG.read_text())
    laptop = {name: sizes["laptop"] for name, sizes in config["scales"].items()}
    rows = [laptop[f"moments_tuning_rows_{d}"] for d in (1, 2, 3)]
    most = [f"{laptop[f'moments_rows_{d}']:.0e}".replace("e+0", "e") for d in (1, 2, 3)]
    for artefact in DECLARED:
        reduced = artefact.reduced
        assert f"{laptop['moments_repetitions']} correlation matrices (paper: 100)" in reduced
        assert (
            "on all points at d = 1, and on at most {} and {} of them".format(*rows[1:]) in reduced
        )
        assert f"the first {laptop['moments_large_repetitions']}; n up" in reduced
        assert "n up to {} for d = 1, {} for d = 2 and {} for d = 3".format(*most) in reduced
    moments = config["experiments"]["moments"]
    assert rows[0] == laptop["moments_rows_1"]
    assert moments["law"] == names.DRAWN_LAW
    kind, size = names.parsed_law(moments["law"])
    for artefact in DECLARED:
        last_sentence = artefact.caption.rpartition(". ")[2]
        assert f"elements from N(0, {size:g}²), the largest declared law" in last_sentence
    assert kind == "normal"
    assert moments["bandwidth_factors"] == [0.5, 1, 2, 4]
    assert [moments["regularizations"][k] for k in (0, 1, -1)] == [1e-14, 1e-13, 10.0]
    assert moments["shared_choice"]["JPDL"] == [3]
    for artefact in DECLARED:
        said = "JPDL with constraints at d = 3 takes the λ that is best without."
        assert said in artefact.details
        assert "best without" not in artefact.reduced
    grid = f"{len(moments['bandwidth_factors'])} × " * 2 + f"{len(moments['regularizations'])} grid"
    for method in ("JDL", "CME"):
        assert grid in methods.selection(method, "moments")
    assert f"λ among {len(moments['regularizations'])} " in methods.selection("JPDL", "moments")


def test_details_say_where_the_same_tolerance_is_fitted():
    config = yaml.safe_load(CONFIG.read_text())["experiments"]["moments"]
    rows = {more["dim"]: more["rows"] for more in config["more_tolerances"]}
    assert set(rows) == {1, 2}
    assert rows[1]["laptop"] == rows[1]["paper"] == 10**7
    assert (rows[2]["laptop"], rows[2]["paper"]) == (10**5, 10**6)
    assert config["tolerances"][1]["rows"] == 10**6  # where the schedule loosens
    for name in ("fig1", "fig3", "fig5"):
        details = registry.ARTEFACTS[f"jdl/{name}"].details
        assert "tolerance 1e-3 at every n, without constraints only, at d = 1 up to" in details
        assert "not fitted at d = 2, n = 1e6 at laptop (the paper scale has it)" in details
        assert "at d = 3 from n = 1e6 on" in details


def test_figure_6_says_how_large_the_unreduced_program_is_at_d_3():
    config = yaml.safe_load(CONFIG.read_text())["experiments"]["moments"]
    assert not any("gaussian-3" in name for name in config["only"]["JPDL-unreduced"])
    monomials = math.comb(2 * 3 + 4, 4)  # of degree 4 in x and y
    entries = monomials * (monomials + 1) // 2
    said = f"Gram matrix is {monomials} × {monomials} with {entries} entries in the cone"
    assert said in registry.ARTEFACTS["jdl/fig6"].details
