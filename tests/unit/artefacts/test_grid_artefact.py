"""kcef figures 1 and 5: curves against their definition, and each claim both ways."""

import joint_scores as made
import numpy as np
import pandas as pd
import pytest
from artefact_scores import judged

from kcde.papers import drawing, registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.kcef import _grid, _grid_picture, fig1, fig5

FIG1, FIG5 = registry.ARTEFACTS["kcef/fig1"], registry.ARTEFACTS["kcef/fig5"]
SCORES = made.grid()


def changed(method, by):
    """Return the scores with a method's loss changed by `by(row)` nats."""
    table = SCORES.copy()
    here = (table["method"] == method) & (table["metric"] == "negative_log_likelihood")
    table.loc[here, "value"] += table[here].apply(by, axis=1)
    return table


def test_curves_are_mean_log_likelihoods_per_dimension_on_the_right():
    frame = FIG1.build(FIG1, SCORES, [])
    assert list(frame.columns) == FIGURE_COLUMNS
    raw = SCORES[(SCORES["method"] == "KCEF-M") & (SCORES["dataset"] == "grid-2000")]
    values = -raw.loc[raw["dim"] == 10, "value"].to_numpy() / 10
    cell = frame[(frame["panel"] == "n=2000") & (frame["method"] == "KCEF-M") & (frame["x"] == 10)]
    stderr = values.std(ddof=1) / np.sqrt(5)
    assert cell[["y", "y_low", "y_high"]].to_numpy()[0] == pytest.approx(
        [values.mean(), values.mean() - stderr, values.mean() + stderr]
    )
    left = frame[(frame["panel"] == "d=3") & (frame["method"] == "KCEF-M")]
    assert left["x"].tolist() == list(made.SIZES)
    raw = SCORES[(SCORES["method"] == "KCEF-M") & (SCORES["dim"] == 3)]
    means = -raw.groupby("dataset", sort=False)["value"].mean()
    assert left["y"].to_numpy() == pytest.approx(means.to_numpy())


def test_the_bounds_stand_in_both_panels_with_the_sign_of_a_log_likelihood():
    frame = FIG1.build(FIG1, SCORES, [])
    exact = frame[frame["method"] == "exact"].set_index(["panel", "series", "x"])["y"]
    entropy, independence = made.bounds(3)
    assert exact["d=3", "entropy", 200] == pytest.approx(-entropy)
    assert exact["n=2000", "independence", 20] == pytest.approx(-independence / 3)
    assert "0.143 nats a conditional" in " ".join(FIG1.remarks(frame))
    assert "over 5 runs" in FIG1.remarks(frame)[0]


def test_figure_5_has_one_panel_and_the_isotropic_kernel():
    frame = FIG5.build(FIG5, SCORES[SCORES["dataset"] == "grid-2000"], [])
    assert set(frame["panel"]) == {"n=2000"}
    assert {"KCEF-F", "KCEF-F-anisotropic"} <= set(frame["method"])


def test_more_training_points_are_drawn_and_decide_only_the_amended_claim():
    table = made.grid(sizes=made.MORE_SIZES)
    frame = FIG1.build(FIG1, table, [])
    assert set(frame["panel"]) == {"d=3", "n=2000"}
    left = frame[(frame["panel"] == "d=3") & (frame["method"] == "NADE")]
    assert left["x"].tolist() == list(made.MORE_SIZES)
    beyond = table["dataset"].isin(["grid-4000", "grid-8000"])
    broken = table.copy()
    broken.loc[beyond, "value"] += 5.0 * (broken.loc[beyond, "method"] == "KCEF-M")
    for decider in (fig1.kcef_converges_faster, fig1.markov_beats_full, fig1.nade_needs_data):
        few, many, other = (decider(t) for t in (table[~beyond], table, broken))
        assert (few.verdict, few.reason) == (many.verdict, many.reason)
        assert few.reason == other.reason
    assert fig1.kcef_converges_faster(table[~beyond]).amended is None
    assert fig1.kcef_converges_faster(broken).amended.verdict == "fails"


def test_failed_runs_are_left_out_and_said():
    table = SCORES.copy()
    cell = (table["method"] == "LSCDE-M") & (table["dataset"] == "grid-400") & (table["split"] == 1)
    table.loc[cell, ["status", "value"]] = ["failed", np.nan]
    frame = FIG1.build(FIG1, table, [])
    row = frame[(frame["method"] == "LSCDE-M") & (frame["x"] == 400) & (frame["stat"] == "mean")]
    assert row["n"].item() == 4
    assert "LSCDE-M at n = 400: 1" in FIG1.remarks(frame)[-1]
    reason = fig1.markov_beats_full(table).reason
    assert "1 of 5 runs left out" in reason


def test_scores_of_other_data_are_refused():
    with pytest.raises(ValueError, match="grid-<n>"):
        FIG1.build(FIG1, SCORES.assign(dataset="red-wine"), [])


def test_figures_are_drawn_with_a_page(tmp_path):
    shown = SCORES[SCORES["method"] != "KCEF-F"]
    drawing.make(FIG1, made.files(tmp_path / "scores", shown), tmp_path)
    page = (tmp_path / "kcef" / "fig1.md").read_text()
    assert "![log-likelihood on the grid data](fig1.png)" in page
    assert "Reduced at laptop" in page
    assert "**KCEF-M**: as KCEF-F" in page


def test_one_data_set_of_any_size_can_be_drawn(tmp_path):
    """At the scale `smoke` there is one small grid, with three columns."""
    small = SCORES[SCORES["dim"] == 3].replace({"dataset": {"grid-200": "grid-60"}})
    paths = made.files(tmp_path / "scores", small[small["dataset"] == "grid-60"])
    found = pd.concat(judged(artefact, paths, tmp_path) for artefact in (FIG1, FIG5))
    claims = found[found["choice"] == ""]
    assert set(claims["claim"]) == {"K1", "K2", "K3", "K4", "K5", "K6", "K13"}
    assert set(claims["verdict"]) == {"undecided"}


def test_an_explosion_does_not_flatten_the_axis():
    table = changed("LSCDE-F", lambda row: 1e4 if row["dim"] > 15 else 0.0)
    frame = FIG5.build(FIG5, table, [])
    frame = frame[frame["stat"] == "mean"]
    exact, found = frame[frame["method"] == "exact"], frame[frame["method"] != "exact"]
    low, high = _grid_picture._limits(found, exact)
    assert high > exact["y"].max()
    assert -2 < low < exact["y"].min()


def decided(decider, table):
    return decider(table).verdict


def test_k1_holds_only_where_every_interval_is_below_one():
    close = {name: (0.01, 0.0) for name in ("KCEF-F-anisotropic", "KCEF-M")}
    far = {name: (0.03, 0.0) for name in ("LSCDE-F", "LSCDE-M", "NADE")}
    decision = fig1.kcef_converges_faster(made.grid(close | far))
    assert decision.verdict == "holds"
    assert "KCEF-F-anisotropic/NADE 0." in decision.reason
    slow = {name: (0.03, 0.0) for name in close} | {name: (0.004, 0.0) for name in far}
    assert decided(fig1.kcef_converges_faster, made.grid(slow)) == "fails"
    same = dict.fromkeys([*close, *far], (0.01, 0.0)) | {"NADE": (0.03, 0.0)}
    noisy = fig1.kcef_converges_faster(made.grid(same, noise=0.03))
    assert noisy.verdict != "holds"
    # Where no method comes near the bound, nothing is said.
    unreached = fig1.kcef_converges_faster(SCORES)
    assert unreached.verdict == "undecided"
    assert "neither reaches it" in unreached.reason


def test_k1_amended_is_decided_by_the_gap_where_nobody_reaches_the_level():
    def decided_with(ours, rivals, noise=0.003):
        losses = dict.fromkeys((_grid.FULL, "KCEF-M"), (ours, 0.0))
        losses |= dict.fromkeys(("LSCDE-F", "LSCDE-M", "NADE"), (rivals, 0.0))
        table = made.grid(losses, sizes=made.MORE_SIZES, noise=noise)
        # A loss that no number of points removes, so that nobody reaches the level.
        table.loc[table["method"] != "exact", "value"] += 1.0
        return fig1.kcef_converges_faster(table).amended

    found = decided_with(0.03, 0.09)
    assert found.verdict == "holds"
    assert "KCEF-M/NADE: neither reaches it" in found.reason
    assert "8000: +0.0" in found.reason.split("KCEF-M/NADE (200: +")[1]
    # NADE's loss falls faster, so that at the largest n its gap is the smaller one.
    crossed = decided_with(0.03, 0.04)
    assert crossed.verdict == "fails"
    assert "8000: -0.0" in crossed.reason
    assert decided_with(0.03, 0.09, noise=0.3).verdict == "undecided"


def test_k1_reads_the_points_off_the_mean_curve():
    """Losses fall as 1/√n: the level is reached where the mean loss is a tenth of the start's."""
    sizes = np.array([200, 800, 2000])
    curve = np.array([-3.0, -1.0, -0.5])
    assert fig1._points_to(curve[None], sizes, -1.0) == pytest.approx(800)
    halfway = np.exp((np.log(200) + np.log(800)) / 2)
    assert fig1._points_to(curve[None], sizes, -2.0) == pytest.approx(halfway)
    assert fig1._points_to(curve[None], sizes, -4.0) == 200
    assert fig1._points_to(curve[None], sizes, 0.0) == np.inf


def test_k1_by_speed_asks_how_fast_the_gap_shrinks():
    """The gap of NADE shrinks as 1/n, that of the others as 1/√n: by 10 and by √10."""
    both = fig1.ARTEFACT.readers["K-speed"](made.grid(sizes=made.MORE_SIZES, noise=1e-4))["K1"]
    found = both["shrinkage of the gap"]
    assert (found.verdict, found.amended.verdict) == ("fails", "fails")
    assert "n = 200 over that at n = 2000" in found.reason
    assert "NADE 10.0" in found.reason
    assert "KCEF-M/NADE 0.3" in found.reason
    assert "n = 8000" in found.amended.reason
    assert both["points to a level"] == fig1.kcef_converges_faster(
        made.grid(sizes=made.MORE_SIZES, noise=1e-4)
    )


def test_k1_by_speed_holds_where_every_interval_is_above_one():
    def with_faster_kcef(noise):
        """The loss of KCEF at n = 2000 is a tenth of what it would be."""
        table = made.grid(dict.fromkeys(fig1._ALL, (0.03, 0.0)), noise=noise)
        late = table["method"].str.startswith("KCEF") & (table["dataset"] == "grid-2000")
        table.loc[late, "value"] -= 0.9 * 0.03 * table.loc[late, "dim"]
        return fig1.gap_shrinks_faster(table)

    sure = with_faster_kcef(1e-5)
    assert sure.verdict == "holds"
    assert sure.amended.verdict == "undecided"  # no n up to 8000
    assert with_faster_kcef(0.03).verdict != "holds"


def test_a_closed_gap_is_infinitely_smaller():
    closed = fig1._factor(np.array([1.0, 1.0]), np.array([0.5, -0.1]))
    assert closed.tolist() == [2.0, np.inf]
    tied = fig1._factors_ratio(("a", "b"), {"a": closed[[1, 1]], "b": closed[[1, 1]]})
    assert (tied.value, tied.low, tied.high) == (1.0, 1.0, 1.0)


def test_k2_needs_both_methods():
    assert decided(fig1.markov_beats_full, SCORES) == "holds"
    worse = changed("LSCDE-M", lambda row: 1.0)
    assert decided(fig1.markov_beats_full, worse) == "fails"
    unsure = changed("LSCDE-M", lambda row: 3.0 * (row["split"] - 2))
    assert decided(fig1.markov_beats_full, unsure) == "fails"


def test_k3_needs_a_gap_that_closes():
    assert decided(fig1.nade_needs_data, SCORES) == "holds"
    stays = changed("NADE", lambda row: 0.5 if row["dim"] == 3 else 0.0)
    assert decided(fig1.nade_needs_data, stays) == "fails"
    early = changed("NADE", lambda row: -2.0 if row["dataset"] == "grid-200" else 0.0)
    assert decided(fig1.nade_needs_data, early) == "fails"


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (lambda d: 0.0, "holds"),
        (lambda d: 0.2 * (d == 4), "fails"),
        (lambda d: (0.11 + 0.20) * 0.143 * (d - 1) * (d > 5), "holds"),
        (lambda d: (0.11 + 0.30) * 0.143 * (d - 1) * (d == 9), "fails"),
    ],
)
def test_k4_counts_fractions_of_the_attainable_dependence(by, expected):
    table = changed(_grid.FULL, lambda row: by(row["dim"]))
    decision = fig1.full_kcef_like_lscde(table)
    assert decision.verdict == expected
    assert "d = 2: +" in decision.reason


@pytest.mark.parametrize(
    ("by", "expected"),
    [(lambda d: 0.0, "holds"), (lambda d: -3.0 * (d == 20), "fails"), (lambda d: d - 1, "fails")],
)
def test_k5_is_close_everywhere_and_below_at_the_end(by, expected):
    table = changed("NADE", lambda row: by(row["dim"]))
    assert decided(fig1.nade_like_full, table) == expected


def test_k6_needs_a_large_drop_that_grows():
    assert decided(fig5.isotropic_drops, SCORES) == "holds"
    none = changed(_grid.ISOTROPIC, lambda row: -0.8 * 0.143 * (row["dim"] - 1))
    assert decided(fig5.isotropic_drops, none) == "fails"
    constant = made.grid({_grid.FULL: (0.0, 0.0), _grid.ISOTROPIC: (0.0, 0.0)})
    here = constant["method"] == _grid.ISOTROPIC
    constant.loc[here, "value"] += 0.5 * made.DEPENDENCE * (constant.loc[here, "dim"] - 1)
    assert decided(fig5.isotropic_drops, constant) == "fails"


def test_k13_at_every_dimension():
    assert decided(fig1.full_like_markov, SCORES) == "holds"
    once = changed(_grid.FULL, lambda row: 0.5 * (row["dim"] == 7))
    assert decided(fig1.full_like_markov, once) == "fails"


@pytest.mark.parametrize("decider", [*FIG1.deciders.values(), *FIG5.deciders.values()])
def test_claims_are_undecided_without_scores(decider):
    without_ends = SCORES[~SCORES["dataset"].isin(["grid-200", "grid-2000"])]
    assert decided(decider, without_ends) == "undecided"
    assert decided(decider, SCORES[~SCORES["method"].str.startswith("KCEF")]) == "undecided"
    failed = SCORES.assign(status="failed", value=np.nan)
    assert decided(decider, failed) == "undecided"


def test_shares_need_the_exact_bounds():
    without = SCORES[SCORES["method"] != "exact"]
    assert "no exact entropy" in fig1.full_like_markov(without).reason
    assert "no exact entropy" in fig1.kcef_converges_faster(without).reason
