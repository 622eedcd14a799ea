"""jdl under each reading of what it leaves open: laws, positivity and bandwidths."""

import embedding_scores as made
import numpy as np
import pandas as pd
import portfolio_scores
import pytest

from kcde.papers import published
from kcde.papers import registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.jdl import bandwidths, dependence, fig1, fig9, laws
from kcde.papers.jdl._curves import TIMINGS, tidy, varied
from kcde.papers.jdl._moments import REACHES
from kcde.papers.jdl._paired import STATISTICS, TESTS

SIZES = dict.fromkeys((1, 2, 3), (1000, 10_000, 100_000))
LAWS = ("normal-0.1", "uniform-1")
JDL = ("JDL", "JDL-sub-grid", "JDL-clipped")
LEVELS = {"JPDL": 0.5, "JDL": 1.0, "CME": 2.0}


def metrics(level):
    """Return the metrics of a fit, with losses by a function of (method, constrained)."""

    def loss(method, d, n, tolerance, constrained, split):
        known = level(method, constrained) * (d if method == "CME" else 1.0)
        return known * (1000 / n) ** 0.5 * made.spread(split)

    return {
        "second_moment_loss": loss,
        "normalisation_error": lambda *cell: 0.1 * 1000 / cell[2] if cell[0] == "CME" else 1e-15,
        "psd_violation_rate": lambda *cell: 0.0,
        "independence_loss": lambda *cell: 9.0,
        "canonical_correlation": lambda *cell: 0.04 * (cell[5] + 1),
    }


def of_method(method, constrained):
    return LEVELS[method.split("-")[0]]


def moments(level=of_method, ending="", cells=None, **stated):
    """Return scores of a variation, whose settings state more axes."""
    cells = made.fits(sizes=SIZES, more=()) if cells is None else cells
    table = made.frame(metrics(level), cells)
    for name, value in stated.items():
        word = value if isinstance(value, float) else f'"{value}"'
        table["setting"] = table["setting"].str.replace("{", f'{{"{name}":{word},', n=1)
    return table.assign(dataset=table["dataset"] + ending)


def turned(method, constrained):
    """CME below JDL."""
    return 0.7 if method == "CME" else of_method(method, constrained)


def under_laws():
    others = [
        moments(level, "-laws", law=law)
        for law, level in zip(LAWS, (of_method, turned), strict=True)
    ]
    days = portfolio_scores.frame()
    return pd.concat([moments(), *others, days], ignore_index=True)


def test_every_reading_of_jdl_is_read_by_an_artefact():
    declared = published.readings()
    wanted = set(declared.loc[declared["paper"] == "jdl", "id"])
    drawn = [each for each in registry.ARTEFACTS.values() if each.paper == "jdl"]
    assert {choice for each in drawn for choice in each.readers} == wanted


def test_the_row_of_j_time_names_the_readings_that_are_run():
    row = published.readings().set_index("id").loc["J-time"]
    both, _, alone = row["readings"].partition("; for J12 alone: ")
    assert both.split("; ") == list(TIMINGS)
    assert alone.split("; ") == list(fig9.READ)[len(TIMINGS) :]
    assert row["drawn"] == next(iter(TIMINGS))


def test_the_rows_of_sizes_and_losses_name_the_readings_that_are_run():
    rows = published.readings().set_index("id")
    assert rows.loc["J-sizes", "readings"].split("; ") == list(REACHES)
    assert rows.loc["J-test", "readings"].split("; ") == list(TESTS)
    assert rows.loc["J-losses", "readings"].split("; ") == list(fig1.LOSSES)
    assert rows.loc["J-statistic", "readings"].startswith("; ".join(STATISTICS))


@pytest.mark.nightly
def test_claims_are_decided_under_each_law():
    read = laws.read(under_laws())
    assert set(read) == {f"J{k}" for k in (*range(1, 10), *range(13, 17))}
    assert {law: one.verdict for law, one in read["J1"].items()} == {
        "s = 0.2": "holds",
        "s = 0.1": "holds",
        "uniform": "fails",
    }
    assert read["J8"]["uniform"].verdict == "holds"
    # The largest n are of the drawn law alone.
    assert read["J6"]["uniform"].verdict == "undecided"


@pytest.mark.nightly
def test_the_laws_are_rows_of_panels(tmp_path):
    artefact = registry.ARTEFACTS["jdl/laws"]
    drawn = laws.build(artefact, under_laws(), [])
    assert list(drawn.columns) == FIGURE_COLUMNS
    words = [panel.partition(" ")[2] for panel in drawn["panel"]]
    assert list(dict.fromkeys(words)) == ["s = 0.1", "s = 0.2", "uniform"]
    curves = drawn[drawn["kind"] == "curve"].set_index(["panel", "method", "series", "x"])["y"]
    mean = np.mean([made.spread(split) for split in range(20)])
    assert curves["d=2 uniform", "CME", "constrained", 1000] == pytest.approx(0.7 * 2 * mean)
    assert curves["d=2 s = 0.1", "CME", "as published", 1000] == pytest.approx(4 * mean)
    said = " ".join(laws.remarks(drawn))
    assert "d=3 uniform: 2.1" in said
    assert laws.draw(artefact, drawn, tmp_path / "laws")


def test_other_laws_are_in_no_other_figure():
    shown = tidy(under_laws())
    shown = shown[shown["experiment"] == "moments"]
    assert set(shown["dataset"]) == set(moments()["dataset"])
    without = varied(under_laws(), "laws", law="normal-9")
    assert set(without["experiment"]) == {"portfolio"}


def positivity():
    """Clipped JDL is best, (33) above CME."""

    def level(method, constrained):
        held = {"JDL": 3.0, "JDL-sub-grid": 1.2, "JDL-clipped": 0.9}
        return (
            held.get(method, of_method(method, constrained))
            if constrained
            else (of_method(method, constrained))
        )

    cells = made.fits(sizes=SIZES, more=())
    cells += [(name, *cell[1:]) for cell in cells if cell[0] == "JDL" for name in JDL[1:]]
    return pd.concat([moments(level, cells=cells), portfolio_scores.frame()], ignore_index=True)


@pytest.mark.nightly
def test_positivity_is_read_in_the_place_of_the_single_inequality():
    scores = positivity()
    of_days = scores[scores["experiment"].eq("portfolio") & scores["method"].eq("JDL")]
    others = [of_days.assign(method=name) for name in JDL[1:]]
    read = dependence.read(pd.concat([scores, *others], ignore_index=True))
    assert set(read) == {"J1", "J5", "J7", "J10", "J11"}
    verdicts = {name: one.verdict for name, one in read["J1"].items()}
    assert verdicts == {"(33)": "fails", "sub-grid": "holds", "clipped and renormalised": "holds"}
    assert len({one.reason for one in read["J7"].values()}) == 1
    assert read["J1"]["(33)"].parts["d = 1 unconstrained"] == "holds"


def test_dependence_has_a_point_a_fit(tmp_path):
    artefact = registry.ARTEFACTS["jdl/dependence"]
    other = moments(
        ending="-laws",
        law="uniform-1",
        cells=[(name, 1, 10_000, 1e-3, held) for name in (*JDL, "CME") for held in (False, True)],
    )
    drawn = dependence.build(artefact, pd.concat([positivity(), other]), [])
    assert list(drawn.columns) == FIGURE_COLUMNS
    of_jdl = drawn[drawn["panel"] == "JDL"]
    assert list(dict.fromkeys(of_jdl["series"])) == [
        "unconstrained",
        "(33)",
        "sub-grid",
        "clipped and renormalised",
        "baseline",
    ]
    # Twenty matrices under each of two laws.
    assert (of_jdl["series"].value_counts() == 40).all()
    one = of_jdl[of_jdl["series"].eq("(33)") & np.isclose(of_jdl["x"], 0.04)]
    expected = [level * 0.1**0.5 * made.spread(0) for level in (1.0, 3.0)]
    assert sorted(one["y"]) == pytest.approx(expected)
    said = " ".join(dependence.remarks(drawn))
    assert "Above |ρ| = 0.7 a fit leaves" in said
    assert "Below |ρ| = 0.25 the loss of JDL with (33) is" in said
    assert dependence.draw(artefact, drawn, tmp_path / "dependence")


def by_factors():
    small = dict.fromkeys((1, 2, 3), (1000, 10_000))
    cells = [cell for cell in made.fits(sizes=small, more=()) if cell[0] != "JPDL"]
    others = [
        moments(level, "-factors", cells=cells, law="normal-0.2", largest_factor=factor)
        for factor, level in ((0.5, of_method), (1.0, turned), (2.0, of_method))
    ]
    plain = moments(of_method, "-factors", cells=cells, law="normal-0.2")
    return pd.concat([moments(), plain, *others], ignore_index=True)


@pytest.mark.nightly
def test_smaller_grids_are_read_and_drawn(tmp_path):
    scores = by_factors()
    read = bandwidths.read(scores)
    assert {name: one.verdict for name, one in read["J1"].items()} == {
        "up to 4": "holds",
        "up to 2": "holds",
        "up to 1": "fails",
        "up to 0.5": "holds",
    }
    assert read["J4"]["up to 1"].verdict == "holds"
    assert "at n = 1e4" in read["J4"]["up to 1"].reason
    artefact = registry.ARTEFACTS["jdl/bandwidths"]
    drawn = bandwidths.build(artefact, scores[scores["dim"] < 3], [])
    curves = drawn[drawn["kind"] == "curve"].set_index(["panel", "method", "series", "x"])["y"]
    mean = np.mean([made.spread(split) for split in range(20)])
    assert curves["d=1 n = 1000", "CME", "as published", 1.0] == pytest.approx(0.7 * mean)
    assert curves["d=1 n = 1000", "CME", "as published", 4.0] == pytest.approx(2.0 * mean)
    assert bandwidths.draw(artefact, drawn, tmp_path / "bandwidths")
    narrower = drawn["x"].eq(0.5) & drawn["method"].eq("CME") & drawn["series"].eq("constrained")
    drawn.loc[narrower, "y"] *= 3.0
    said = bandwidths.remarks(drawn)[0]
    assert "with factors up to 0.5 over that up to 4: JDL unconstrained 1 (d=1 n = 1000), " in said
    assert "; CME constrained 3 (d=1 n = 1000), " in said
