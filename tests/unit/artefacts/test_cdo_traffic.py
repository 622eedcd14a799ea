"""cdo figure 5 with and without PEMS-SF, claims C4 and C5 on both sides."""

import artefact_scores
import cdo_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.papers.cdo import fig5
from kcde.papers import drawing, registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.evidence import claims, scorecard
from kcde.pages import box_statistics

FIG5 = registry.ARTEFACTS["cdo/fig5"]
BOTH = (made.METRO, made.PEMS)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return made.traffic_files(tmp_path_factory.mktemp("scores"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, paths):
    folder = tmp_path_factory.mktemp("fig5")
    artefact_scores.judged(FIG5, paths, folder)
    scorecard.collect([folder / "judged.csv"], folder)
    return folder


def table(changes=None, dataset=made.PEMS):
    cells = made.TRAFFIC | (changes or {})
    rows = [
        row for method, errors in cells.items() for row in made.traffic(dataset, method, errors)
    ]
    return pd.DataFrame(rows, columns=scores.COLUMNS)


def test_without_pems_the_figure_is_of_metro_under_its_own_name(drawn):
    frame = pd.read_csv(drawn / "cdo" / "fig5.csv")
    assert list(frame.columns) == FIGURE_COLUMNS
    ends = ("days", "mean", "sd", "mean, overlapping", "sd, overlapping")
    assert set(frame["panel"]) == {f"{made.METRO} {end}" for end in ends} | {made.PEMS}
    page = (drawn / "cdo" / "fig5.md").read_text()
    assert "pems-sf is not shown" in page
    decided = claims.read(drawn, "cdo").set_index("claim")
    assert decided["verdict"].to_dict() == {"C4": "holds", "C5": "not-run"}


def test_scorecard_and_its_page_take_a_claim_that_was_not_run(drawn):
    card = scorecard.build(drawn, "laptop")
    row = card[card["metric"] == "C5"].iloc[0]
    assert row["verdict"] == "not-run"
    assert "evidence from metro-traffic-substitute" in row["reason"]
    scorecard.write(card, drawn, "laptop")
    assert f"| not run | {row['reason'][:30]}" in (drawn / "scorecard.md").read_text()


@pytest.mark.nightly
def test_with_pems_both_are_drawn_and_pems_comes_first(tmp_path):
    paths = made.traffic_files(tmp_path / "s", datasets=BOTH)
    decided = artefact_scores.judged(FIG5, paths, tmp_path).set_index("claim")
    frame = pd.read_csv(tmp_path / "cdo" / "fig5.csv")
    panels = list(dict.fromkeys(frame["panel"]))
    assert [name.split(" ")[0] for name in panels[::5]] == [made.PEMS, made.METRO]
    days = frame[(frame["panel"] == f"{made.PEMS} days") & (frame["kind"] == "curve")]
    assert len(days[days["method"] == "CDO"]) == 3 * 144
    assert decided.loc["C5", "verdict"] == "holds"


def test_days_are_those_of_the_first_split(drawn):
    frame = pd.read_csv(drawn / "cdo" / "fig5.csv")
    days = frame[frame["panel"] == f"{made.METRO} days"]
    stored = made.arrays(made.TRAFFIC["CDO"], seed=0)
    bins = days[days["kind"] == "histogram"]
    # One row a bin with outputs; a slot's shares add up to one.
    assert (bins.groupby("x")["y"].sum() - 1.0).abs().max() < 1e-4
    assert bins["n"].sum() == stored["histogram"][:72].sum()
    assert bins["x"].nunique() == 72
    ours = days[days["method"] == "CDO"].sort_values("x")
    np.testing.assert_allclose(ours["x"], np.arange(72) + 0.5)
    np.testing.assert_allclose(ours["y"], stored["mean"][0, :72], rtol=1e-5)
    np.testing.assert_allclose(ours["y_high"] - ours["y"], 2 * stored["std"][0, :72], rtol=1e-4)
    test = days[(days["method"] == "test") & (days["kind"] == "curve")].sort_values("x")
    np.testing.assert_allclose(test["y"], stored["test_mean"][0, :72], rtol=1e-5)


def test_boxes_are_of_scaled_errors_over_the_inputs_of_all_splits(drawn):
    frame = pd.read_csv(drawn / "cdo" / "fig5.csv")
    stored = made.arrays(made.TRAFFIC["CDO"], seed=0)
    for panel, one, other in (("mean", "mean", "test_mean"), ("sd", "std", "test_std")):
        box = frame[(frame["panel"] == f"{made.METRO} {panel}") & (frame["method"] == "CDO")]
        errors = np.abs(stored[one] / stored[other] - 1.0)
        median = box.set_index("stat")["y"][box_statistics.MEDIAN]
        assert median == pytest.approx(np.median(errors), rel=1e-5)
        assert set(box["n"]) == {errors.size}
        line = frame[(frame["panel"] == f"{made.METRO} {panel}") & (frame["stat"] == "line")]
        assert line["y"].tolist() == [0.04 if panel == "mean" else 0.08]


def test_untested_inputs_are_left_out_and_negative_variances_counted(tmp_path):
    stored = made.arrays((0.05, 0.1))
    for name in ("test", "overlapping"):
        stored[f"{name}_mean"][:, 3] = stored[f"{name}_std"][:, 3] = np.nan
    stored["std"][0, 5] = np.nan
    path = tmp_path / made.METRO / "CDO.csv"
    scores.write(path, made.traffic(made.METRO, "CDO", (0.05, 0.1)), {}, stored)
    frame = FIG5.build(FIG5, scores.read([path]), [path])
    lost = frame[frame["stat"] == box_statistics.FAILED]
    panels = [f"{made.METRO} sd", f"{made.METRO} sd, overlapping"]
    assert lost[["panel", "y"]].to_numpy().tolist() == [[panel, 1] for panel in panels]
    assert set(frame.loc[frame["stat"] == box_statistics.MEAN, "n"]) == {3 * 167, 3 * 167 - 1}


def test_other_views_are_of_days_that_overlap_and_of_thinned_splits(tmp_path):
    stored = made.arrays((0.05, 0.1), thinned=2)
    path = tmp_path / made.METRO / "CDO.csv"
    scores.write(path, made.traffic(made.METRO, "CDO", (0.05, 0.1)), {}, stored)
    frame = FIG5.build(FIG5, scores.read([path]), [path])
    boxes = frame[frame["stat"] == box_statistics.MEDIAN].set_index("panel")
    for view, splits, test in (
        ("", slice(3), "test"),
        (", overlapping", slice(3), "overlapping"),
        (", thinned", slice(3, 5), "test"),
    ):
        errors = np.abs(stored["mean"][splits] / stored[f"{test}_mean"][splits] - 1.0)
        box = boxes.loc[f"{made.METRO} mean{view}"]
        assert box["y"] == pytest.approx(np.median(errors))
        assert box["n"] == errors.size
    # The reference lines are of whole splits.
    assert frame[frame["stat"] == "line"]["n"].tolist() == [3, 3]
    drawing.make(FIG5, [path], tmp_path)


@pytest.mark.nightly
def test_a_method_without_any_estimate_is_drawn_as_none(tmp_path):
    cells = made.TRAFFIC | {"CDO": (None, None)}
    paths = made.traffic_files(tmp_path / "s", cells)
    drawing.make(FIG5, paths, tmp_path)
    frame = pd.read_csv(tmp_path / "cdo" / "fig5.csv")
    assert "CDO" not in set(frame["method"])


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ({}, "holds"),
        ({"seconds": 299.0, "difference": 9e-9}, "holds"),
        ({"seconds": 301.0}, "fails"),
        ({"difference": 2e-8}, "fails"),
        ({"pairs": 1000}, "undecided"),
    ],
)
def test_c4_wants_seconds_and_agreement(how, verdict):
    frame = pd.DataFrame(made.simulated(**how), columns=scores.COLUMNS)
    assert fig5.fast_through_distinct_inputs(frame).verdict == verdict


def test_c4_has_no_digits_of_measured_seconds():
    reasons = {
        fig5.fast_through_distinct_inputs(
            pd.DataFrame(made.simulated(seconds=seconds), columns=scores.COLUMNS)
        ).reason
        for seconds in (0.31, 0.52)
    }
    assert len(reasons) == 1
    assert fig5.fast_through_distinct_inputs(table()).verdict == "undecided"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"LSCDE": (0.04, 0.60)}, "fails"),  # closer in the mean
        ({"CondMAF": (0.11, 0.05)}, "fails"),  # closer in the standard deviation
        ({"CDO-chosen": (0.01, 0.01)}, "holds"),  # not as published
        ({"GP-ML": (0.01, 0.01)}, "holds"),  # not in the published figure
        ({"Nadaraya-Watson-CDO": (0.01, 0.01)}, "holds"),
        ({"GP-ML": (None, None)}, "holds"),
        ({"CondMAF": (None, None)}, "undecided"),
    ],
)
def test_c5_is_decided_on_pems_alone(changes, verdict):
    worse = table({"LSCDE": (0.01, 0.01)}, made.METRO)
    decision = fig5.tracks_the_test_data(pd.concat([table(changes), worse]))
    assert decision.verdict == verdict
    # Of the mean and of the standard deviation, on PEMS-SF and on the evidence.
    known = 2 if changes.get("GP-ML") == (None, None) else 4
    said = decision.reason.count("of GP-ML, which the published figure does not have, ")
    assert said == (0 if verdict == "undecided" else known)
    if verdict == "fails":
        assert (
            "metro-traffic-substitute, where CDO is not the closest throughout" in decision.reason
        )


def test_c5_is_not_run_without_pems():
    metro = table(dataset=made.METRO)
    assert fig5.tracks_the_test_data(metro).verdict == "not-run"
