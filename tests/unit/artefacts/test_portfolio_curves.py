"""jdl figures 7 to 9 from made-up scores of portfolios."""

import numpy as np
import pandas as pd
import portfolio_scores as made
import pytest
from artefact_scores import judged

from kcde import scores
from kcde.papers import registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.jdl import _portfolio, fig7, fig8, fig9
from kcde.papers.jdl._curves import EXCLUDED

FIGURES = {
    "fig7": (fig7.build, fig7.draw),
    "fig8": (fig8.build, fig8.draw),
    "fig9": (fig9.build, fig9.draw),
}
FAILED = [("CME", 5, 5000, 1e-3, True, 3), ("KLR", 1, 1000, 1e-3, False, 0)]


def row_of(frame, panel, method, n, stat="mean"):
    """Return the row of a place."""
    found = frame[frame["panel"].eq(panel) & frame["method"].eq(method) & frame["stat"].eq(stat)]
    (row,) = found[found["x"] == n].to_dict("records")
    return row


@pytest.mark.nightly
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_panel_for_each_d_without_and_with_constraints(name, tmp_path):
    build, draw = FIGURES[name]
    frame = build(None, made.frame(), [])
    assert list(frame.columns) == FIGURE_COLUMNS
    words = ["unconstrained", "constrained"]
    if name == "fig9":
        words += [f"{limits}{EXCLUDED}" for limits in words]
    panels = [f"d={d} {limits}" for limits in words for d in made.DIMENSIONS]
    if name == "fig7":
        line = frame[frame["kind"] == "baseline"]
        assert set(line["panel"]) == set(panels)
        assert set(line["y"]) == {1.5}
        frame = frame[frame["kind"] != "baseline"]
    assert list(dict.fromkeys(frame["panel"])) == panels
    assert set(frame["x"]) == set(made.SIZES)
    # KLR needs no constraints, and stands beside both.
    assert set(frame.groupby("panel")["method"].agg(frozenset)) == {
        frozenset(["JDL", "CME", "KLR"])
    }
    path = tmp_path / f"{name}.csv"
    frame.to_csv(path, index=False)
    drawn = draw(None, pd.read_csv(path), tmp_path / name)
    assert [file.suffix for file in drawn] == [".png", ".pdf"]
    assert all(file.stat().st_size > 10_000 for file in drawn)


def test_a_curve_is_the_mean_between_quantiles_over_subsamples():
    scores = made.frame()
    frame = fig7.build(None, scores, [])
    cell = scores["dataset"].eq("portfolios-5-10000") & scores["metric"].eq("logistic_loss")
    held = cell & scores["setting"].str.contains("true") & scores["method"].eq("CME")
    values = scores.loc[held, "value"]
    row = row_of(frame, "d=5 constrained", "CME", 10000)
    assert (row["kind"], row["n"]) == ("curve", 20)
    assert row["y"] == pytest.approx(values.mean())
    assert [row["y_low"], row["y_high"]] == pytest.approx(list(np.quantile(values, [0.05, 0.95])))
    assert row_of(frame, "d=5 constrained", "CME", 10000, "seconds")["y"] == pytest.approx(0.5)
    assert row_of(frame, "d=5 constrained", "CME", 10000, "memory")["y"] == pytest.approx(300.0)
    held, free = (row_of(frame, f"d=10 {limits}constrained", "KLR", 1000) for limits in ("", "un"))
    assert held["y"] == free["y"]


def test_shares_are_percent_and_may_be_zero():
    scores = made.frame()
    frame = fig8.build(None, scores, [])
    cell = scores["dataset"].eq("portfolios-1-1000") & scores["method"].eq("CME")
    free = cell & scores["setting"].str.contains("false")
    values = scores.loc[free & scores["metric"].eq("negative_probability_rate"), "value"]
    assert row_of(frame, "d=1 unconstrained", "CME", 1000)["y"] == pytest.approx(
        100 * values.mean()
    )
    assert row_of(frame, "d=1 constrained", "JDL", 1000)["y"] == 0.0
    assert row_of(frame, "d=1 constrained", "KLR", 1000)["y"] == 0.0


def test_seconds_stand_with_the_factors_and_without():
    frame = fig9.build(None, made.frame(), [])
    shown = frame[frame["kind"] == "curve"]
    apart = shown["panel"].str.endswith(EXCLUDED)
    whole, solved = shown[~apart], shown[apart]
    assert len(whole) == len(solved) == 4 * 4 * 6
    np.testing.assert_allclose(whole["y"].to_numpy() - 0.1, solved["y"].to_numpy())
    own = {"JDL": 0.002, "CME": 0.002, "KLR": 0.0}  # cross moments
    least = 0.01 + 0.02 * np.exp(-0.5) * 0.97 + solved["method"].map(own)
    assert (solved["y"] > least).all()
    klr = row_of(solved, f"d=5 unconstrained{EXCLUDED}", "KLR", 1000)["y"]
    spread = [made.of(made.SOLVE)("KLR", 5, 1000, 1e-3, False, split) for split in range(20)]
    assert klr == pytest.approx(0.01 + np.mean(spread))
    assert len(frame[frame["stat"] == "seconds"]) == len(solved)


@pytest.mark.parametrize("name", FIGURES)
def test_what_capped_factors_leave_is_said(name):
    frame = FIGURES[name][0](None, made.frame(), [])
    said = _portfolio.remarks(frame)
    assert row_of(frame, "d=25 constrained", "JDL", 1000, "trace")["y"] == pytest.approx(4.0)
    assert "Capped factors of x leave on average up to 4% (d = 25) of the trace." in said


@pytest.mark.parametrize("name", FIGURES)
def test_failed_subsamples_are_in_no_curve_and_said(name):
    frame = FIGURES[name][0](None, made.frame(failed=FAILED), [])
    assert row_of(frame, "d=5 constrained", "CME", 5000, "failed")["y"] == 1
    said = " ".join(_portfolio.remarks(frame))
    assert "Here 20 repetitions." in said
    assert "CME d=5 constrained at n = 5000: 1 of 20" in said
    assert "KLR d=1 unconstrained at n = 1000: 1 of 20" in said


@pytest.mark.parametrize("name", FIGURES)
def test_the_smallest_tour_is_drawn(name, tmp_path):
    cells = [(method, 2, 300, *rest) for method, d, n, *rest in made.CELLS if (d, n) == (1, 1000)]
    build, draw = FIGURES[name]
    assert draw(None, build(None, made.frame(cells=cells, repetitions=2), []), tmp_path / name)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "claim"), [("fig7", "J10"), ("fig8", "J11"), ("fig9", "J12")])
def test_scores_become_csv_picture_page_and_claim(name, claim, tmp_path):
    path = tmp_path / "portfolio.csv"
    scores.write(path, made.frame().to_dict("records"), {})
    decided = judged(registry.ARTEFACTS[f"jdl/{name}"], [path], tmp_path)
    drawn = decided[decided["choice"] == ""]
    assert dict(drawn[["claim", "verdict"]].to_numpy()) == {claim: "holds"}
    page = (tmp_path / "jdl" / f"{name}.md").read_text()
    for words in ("20 repetitions", "Reduced at laptop", "its 1% quantile", "**KLR**: Gaussian"):
        assert words in page
