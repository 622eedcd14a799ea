"""Tables: the verdict rule on both sides of every limit, best method, page, causes."""

import itertools
import math

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde import scores
from kcde.papers import published
from kcde.papers import drawing, registry
from kcde.papers.artefact import TABLE_COLUMNS
from kcde.evidence import causes, columns, verdicts
from kcde.evidence.verdicts import Published, Summary, judge, summarise
from kcde.pages import building, markdown

TABLE1, TABLE2 = registry.ARTEFACTS["kcef/table1"], registry.ARTEFACTS["dde/table2"]


def cell(mean, stderr=0.0, n=20, failed=0):
    return Summary(mean, mean, stderr, stderr, n, failed)


def verdict(ours, published, metric=made.METRIC):
    return judge(metric, "M", {"M": ours}, {"M": published})


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (1.04, "reproduced"),
        (0.94, "reproduced"),
        (1.0401, "worse"),
        (0.9399, "better"),
        (math.nan, "worse"),
    ],
)
def test_floor_is_five_hundredths_of_a_nat(mean, expected):
    assert verdict(cell(mean), Published(0.99)) == expected


def test_tolerance_is_two_standard_errors_of_both():
    assert verdict(cell(1.19, stderr=0.1), Published(1.0)) == "reproduced"
    assert verdict(cell(1.21, stderr=0.1), Published(1.0)) == "worse"
    spread = 0.1 * math.sqrt(20)
    assert verdict(cell(1.19), Published(1.0, spread, over_splits=True)) == "reproduced"
    assert verdict(cell(1.21), Published(1.0, spread, over_splits=True)) == "worse"
    assert verdict(cell(1.19), Published(1.0, spread, over_splits=False)) == "worse"


@pytest.mark.parametrize("metric", ["mmd", "smae"])
def test_relative_floor_is_a_tenth(metric):
    assert verdict(cell(0.0299), Published(0.0272), metric) == "reproduced"
    assert verdict(cell(0.0300), Published(0.0272), metric) == "worse"
    assert verdict(cell(0.0244), Published(0.0272), metric) == "better"


def test_more_than_one_failed_split_in_twenty_is_not_reproduced():
    assert verdict(cell(1.0, failed=1), Published(1.0)) == "reproduced"
    assert verdict(cell(1.0, failed=2), Published(1.0)) == "worse"
    assert verdict(cell(1.0, n=19, failed=1), Published(1.0)) == "worse"


def test_p_values_by_side_and_published_na():
    assert verdict(cell(0.04), Published(0.001), "p_value") == "reproduced"
    assert verdict(cell(0.06), Published(0.001), "p_value") == "different"
    assert verdict(cell(1.0), Published(math.nan)) == "published-na"


@pytest.mark.parametrize(
    ("fast", "slow", "expected"),
    [
        (1.0, 100.0, "reproduced"),
        (1.0, 51.0, "reproduced"),
        (1.0, 49.0, "different"),
        (1.0, 9000.0, "reproduced"),
    ],
)
def test_times_are_judged_as_ratios(fast, slow, expected):
    ours = {"DDE": cell(fast), "KEF": cell(slow)}
    published = {"DDE": Published(0.1), "KEF": Published(10.0)}
    assert {judge("sampling_time", name, ours, published) for name in ours} == {expected}
    alone = {"DDE": cell(fast)}
    assert judge("sampling_time", "DDE", alone, published) == "not-run"


@pytest.mark.parametrize(
    ("mean", "std", "n", "trials", "expected"),
    [
        (1.0, 0.3, 20, 20, "yes"),
        (1.198, 0.3, 20, 20, "yes"),  # 2.0930 · 0.3 · √(2/20) = 0.19856
        (1.199, 0.3, 20, 20, "no"),
        (0.801, 0.3, 20, 20, "no"),
        (1.0, 0.7554, 20, 20, "yes"),  # half-width 0.49997
        (1.0, 0.7556, 20, 20, "uninformative"),  # 0.50010
        (9.0, 0.7556, 20, 20, "uninformative"),
        (1.0, 0.3, 5, 5, "uninformative"),  # 2.7764 · 0.3 · √(2/5) = 0.527
        (1.0, 0.3, 20, 0, "uninformative"),  # the paper does not say over how many
        (1.0, math.nan, 1, 20, "uninformative"),
    ],
)
def test_compatible_is_within_a_prediction_interval_that_says_something(
    mean, std, n, trials, expected
):
    ours = Summary(mean, mean, std, 0.0, n, 0)
    assert verdicts.compatible(made.METRIC, ours, Published(1.0, trials=trials)) == expected


def test_the_prediction_interval_covers_means_of_the_same_law():
    """By simulation, with other numbers of trials than ours."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(2000):
        ours = summarise(rng.normal(1.0, 0.1, size=8), "nats")
        theirs = Published(rng.normal(1.0, 0.1, size=5).mean(), trials=5)
        found.append(verdicts.compatible(made.METRIC, ours, theirs))
    assert found.count("yes") + found.count("no") == 2000
    assert found.count("yes") / 2000 == pytest.approx(0.95, abs=0.015)


def test_failed_splits_do_not_narrow_the_interval():
    whole, part = (Summary(1.0, 1.0, 0.3, 0.0, 20, failed) for failed in (0, 4))
    assert verdicts.half_width(part, 20) > verdicts.half_width(whole, 20)
    sixteen = Summary(1.0, 1.0, 0.3, 0.0, 16, 0)
    assert verdicts.half_width(part, 20) == verdicts.half_width(sixteen, 20)


def test_what_is_no_mean_has_no_interval():
    ours = cell(0.1, stderr=0.01)
    assert verdicts.compatible("p_value", ours, Published(0.1, trials=5)) == ""
    assert verdicts.compatible("sampling_time", ours, Published(0.1, trials=1)) == ""
    assert verdicts.compatible(made.METRIC, ours, Published(math.nan, trials=20)) == ""
    # Of an MMD, half the published value: 2.0930 · 0.05 · √(2/20) = 0.0331.
    ours = Summary(0.1, 0.1, 0.05, 0.0, 20, 0)
    assert verdicts.compatible("mmd", ours, Published(0.1, trials=20)) == "yes"
    assert verdicts.compatible("mmd", ours, Published(0.066, trials=20)) == "uninformative"


def test_every_table_with_published_means_says_over_how_many_trials():
    values = published.values()
    means = values[values["metric"].isin(["negative_log_likelihood", "mmd", "smae"])]
    found = {
        f"{paper}/{name}": registry.ARTEFACTS[f"{paper}/{name}"].published_trials
        for paper, name in means[["paper", "artefact"]].drop_duplicates().itertuples(index=False)
    }
    assert found == {
        "kcef/table1": 20,
        "kcef/table2": 5,
        "dde/table1": 1,
        "dde/table2": 20,
        "cdo/table3": 10,
    }


def test_a_common_shift_of_a_column_is_seen_where_single_verdicts_are_not():
    names = published.datasets("dde", "table2")
    targets = building.published_cells(TABLE2)
    cells = {}
    for k, name in enumerate(names):
        value = targets[name, made.METRIC]["DDE"].value
        cells[name, "DDE"] = made.around(value + (0.02 + 0.001 * k) * (-1 if k == 3 else 1))
    table = building.build(TABLE2, made.frame(cells), [])
    assert set(table["verdict"]) == {"reproduced"}
    pairs = table.rename(columns={"mean": "ours", "published_mean": "published"})
    (shift,) = columns.shifts(pairs)
    assert (shift.method, shift.n, shift.above) == ("DDE", 16, 15)
    differences = [(0.02 + 0.001 * k) * (-1 if k == 3 else 1) for k in range(16)]
    assert shift.mean == pytest.approx(np.mean(differences))
    assert shift.median == pytest.approx(np.median(differences))
    # The one below has the fourth rank: the sum of negative ranks is 4, in 7 of 2^16 cases at most
    # 4 (0, 1, 2, 3, 4, 1 + 2, 1 + 3), on either side.
    assert shift.p_value == pytest.approx(2 * 7 / 2**16)


def test_p_values_and_single_cells_have_no_shift():
    one = {"method": "M", "dataset": "a", "ours": 0.1, "published": 0.2}
    frame = pd.DataFrame([one | {"metric": metric} for metric in ("p_value", "smae")] * 2)
    assert [shift.metric for shift in columns.shifts(frame)] == ["smae"]
    assert columns.shifts(frame.head(2)) == []


def test_the_corrected_p_value_stands_beside_that_of_the_papers():
    wave = np.array(made.around(1.0))
    other = wave + 0.05 + 0.1 * np.sin(np.arange(20.0))
    table = build({("engel", "KCEF"): list(wave), ("engel", "LSCDE"): list(other)})
    row = table.loc[("engel", "LSCDE")]
    gap = other - wave
    t = gap.mean() / math.sqrt((1 / 20 + 1) * gap.var(ddof=1))
    assert row["p_value_corrected"] == pytest.approx(2 * stats.t.sf(t, 19), rel=1e-5)
    assert row["p_value"] == pytest.approx(stats.ttest_rel(other, wave).pvalue, rel=1e-5)
    assert row["p_value"] < 0.05 < row["p_value_corrected"]
    assert not row["best"]  # by the papers' own rule


def test_one_exploding_split_does_not_widen_its_own_tolerance():
    values = np.array(made.around(1.0))
    exploded = values.copy()
    exploded[0] = 1000.0
    summary = summarise(exploded, "nats")
    assert summary.failed == 1
    assert summary.mean > 50
    assert summary.stderr == pytest.approx(
        1.4826 * np.median(np.abs(exploded - np.median(exploded))) / math.sqrt(20)
    )
    # Uncapped, two standard errors would cover the whole difference.
    assert summary.std / math.sqrt(20) * 2 > summary.mean - 1.0
    assert verdict(summary, Published(1.0)) == "worse"


def test_spread_below_the_cap_is_kept():
    values = np.array([0.0, 0.0, 1.0, 1.0])
    summary = summarise(values, "nats")
    assert summary.stderr == pytest.approx(values.std(ddof=1) / 2)


def test_failed_counts_non_finite_and_above_twenty_nats():
    values = np.array([1.0, np.nan, np.inf, 20.0, 20.1, 2.0])
    assert summarise(values, "nats").failed == 3
    assert summarise(values, "draws").failed == 2
    assert summarise(values, "nats").mean == pytest.approx((1 + 20 + 20.1 + 2) / 4)
    assert math.isnan(summarise(np.full(3, np.nan), "nats").mean)
    assert summarise(np.array([1.5]), "nats").mean == 1.5


def build(cells, artefact=TABLE1):
    table = building.build(artefact, made.frame(cells), [])
    return table.set_index(["dataset", "method"])


def test_columns_order_and_published_values():
    table = building.build(
        TABLE1,
        made.frame(
            {
                ("geyser", "LSCDE"): made.around(0.7),
                ("geyser", "KCEF"): made.around(2.0),
                ("caution", "KCEF-LL"): made.around(0.9),
                ("caution", "KCEF"): made.around(0.99),
            }
        ),
        [],
    )
    assert list(table.columns) == list(TABLE_COLUMNS)
    assert list(zip(table["dataset"], table["method"], strict=True)) == [
        ("caution", "KCEF"),
        ("caution", "KCEF-LL"),
        ("geyser", "KCEF"),
        ("geyser", "LSCDE"),
    ]
    assert table["verdict"].fillna("").tolist() == ["reproduced", "", "worse", "reproduced"]
    assert table["published_mean"].tolist()[2:] == [1.21, 0.7]
    assert table["difference"][2] == pytest.approx(0.79)
    assert math.isnan(table["published_mean"][1])  # a variant of ours answers no published number


def test_published_spread_counts_only_where_it_is_over_splits():
    cells = {("highway", "epsilon-KDE"): made.around(2.5, width=0.01)}
    row = build(cells, TABLE2).loc[("highway", "epsilon-KDE")]
    assert abs(row["difference"]) < 2 * 0.64 / math.sqrt(20)
    assert row["verdict"] == "reproduced"
    cells = {("highway", "LSCDE"): made.around(2.09, width=0.01)}
    assert build(cells, TABLE1).loc[("highway", "LSCDE"), "verdict"] == "worse"


def test_best_is_lowest_or_not_told_from_it():
    wave = list(1.0 + np.sin(np.arange(20)))
    close = [value + (0.3 if k % 2 else -0.28) for k, value in enumerate(wave)]
    far = [value + 0.5 + 0.01 * k for k, value in enumerate(wave)]
    table = build({("engel", "KCEF"): wave, ("engel", "KCEF-LL"): close, ("engel", "LSCDE"): far})
    assert table["best"].tolist() == [True, True, False]
    assert table["p_value"].tolist()[0] == 1.0
    assert table["p_value"].tolist()[1] > 0.05 > table["p_value"].tolist()[2]


def test_method_with_a_failed_split_is_not_best():
    low = made.around(0.5)
    table = build({("engel", "KCEF"): [*low[:-1], None], ("engel", "LSCDE"): made.around(1.0)})
    assert table["best"].tolist() == [False, True]
    assert table["failed"].tolist() == [1, 0]


def test_made_up_data_sets_have_no_published_columns():
    row = build({("smoke-linear", "KCEF"): made.around(1.0, 3)}).iloc[0]
    assert row[["published_mean", "published_std", "difference", "verdict"]].isna().all()


def test_split_given_twice_is_refused():
    twice = made.frame({("geyser", "KCEF"): [1.0]})
    with pytest.raises(ValueError, match="geyser, KCEF occurs twice"):
        building.build(TABLE1, twice.loc[[0, 0]], [])
    with pytest.raises(ValueError, match="needs scores with the metric"):
        building.build(TABLE1, twice.assign(metric="kl"), [])


def test_other_metrics_follow_without_verdict(tmp_path):
    cells = {("geyser", "KCEF"): made.around(1.21)}
    paths = made.files(tmp_path, cells)
    extra = made.rows_of("geyser", "KCEF", [0.002, -0.001], "importance_error")
    extra += made.rows_of("geyser", "KCEF", [10000, 10000], "importance_samples", "draws")
    scores.write(tmp_path / "extra.csv", extra, {})
    drawing.make(TABLE1, [*paths, tmp_path / "extra.csv"], tmp_path)
    table = building.read(tmp_path / "kcef" / "table1.csv")
    assert table["metric"].tolist() == [
        made.METRIC,
        "importance_error",
        "importance_samples",
    ]
    assert table["verdict"].tolist() == ["reproduced", "", ""]
    page = (tmp_path / "kcef" / "table1.md").read_text()
    assert "with 10000 draws" in page
    assert "at most 0.0005 nats (geyser, KCEF)" in page


def test_page_shows_bold_median_failures_published_and_cause(tmp_path):
    exploding = made.around(1.2)
    exploding[0] = 300.0
    cells = {
        ("geyser", "KCEF"): exploding,
        ("geyser", "LSCDE"): made.around(0.7),
        ("smoke", "KCEF"): [None] * 20,
    }
    drawing.make(TABLE1, made.files(tmp_path, cells), tmp_path)
    page = (tmp_path / "kcef" / "table1.md").read_text()
    assert "| geyser | 16.14 ± 66.81 (1.21) †1 | 1.21 ± 0.04 ▼ ? | **0.70 ± 0.06** |" in page
    assert "| smoke | – †20 |" in page
    assert "20 splits" in page
    assert "**LSCDE**: as published" in page
    assert "NADE (14)" in page
    assert causes.cause_of("kcef", "table1", "geyser", "KCEF", "worse") in page


def test_table_is_drawn_as_a_picture_with_explosions_at_the_edge(tmp_path):
    from kcde.pages import dot_plot

    exploding = [1.2] * 19 + [300.0]
    cells = {("geyser", "KCEF"): exploding, ("geyser", "LSCDE"): made.around(0.7)}
    drawing.make(TABLE1, made.files(tmp_path, cells), tmp_path)
    table = building.read(tmp_path / "kcef" / "table1.csv")
    low, high = dot_plot._limits(table[table["metric"] == made.METRIC], TABLE1.axis)
    assert low < 0.7 < 1.21 < high < table["mean"].max()


def test_published_values_beyond_the_axis_are_named_at_its_edge(tmp_path):
    """NADE's published 13.8 on BigMac2003 lies beyond the axis; ours may lie within."""
    from kcde.pages import style
    from kcde.pages import dot_plot

    cells = {("BigMac2003", "NADE"): made.around(1.5), ("geyser", "KCEF"): [300.0] * 3}
    table = building.build(TABLE1, made.frame(cells), []).fillna({"verdict": ""})
    said, beyond = [], []
    for name, method in cells:
        row = table[table["dataset"] == name].set_index("method").loc[[method]]
        with style.figure(style.PAGE, 2.0) as (_, axes):
            beyond.append(dot_plot._draw_panel(axes, row, (0.0, 4.5)).tolist())
            said += [text.get_text() for text in axes.texts]
    assert said == ["(13.8)", "300"]
    assert beyond == [[False, True], [True, False]]  # a mean, a published value


def test_a_row_of_a_method_that_was_not_run_says_so():
    from kcde.pages import style
    from kcde.pages import dot_plot

    cells = {("geyser", "KCEF"): made.around(1.2), ("geyser", "LSCDE"): [None] * 20}
    table = building.build(TABLE1, made.frame(cells), []).set_index("method")
    with style.figure(style.PAGE, 2.0) as (_, axes):
        dot_plot._draw_panel(axes, table.reindex(["KCEF", "NADE", "LSCDE"]), (0.0, 4.5))
        assert [(text.get_text(), text.xy[1]) for text in axes.texts] == [("not run", 1)]


@pytest.mark.parametrize("low", [-1.88, 0.2, 13.0])
def test_ticks_of_a_narrow_panel_do_not_touch(low):
    from kcde.pages import style
    from kcde.pages import dot_plot

    table = building.build(TABLE1, made.frame({("geyser", "KCEF"): made.around(1.2)}), [])
    for width in (0.0501, 0.0999, 0.1001, 0.3, 1.0, 7.0):
        with style.figure(style.PAGE, 2.0, columns=4) as (figure, grid):
            dot_plot._draw_panel(grid[0], table.set_index("method"), (low, low + width))
            figure.canvas.draw()
            inside = [label for label in grid[0].get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in inside]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_panel_includes_short_bars_and_no_median_of_a_mean_beyond_it():
    from kcde.pages import dot_plot

    rows = {"mean": [1.0, 2.0, 300.0], "median": [1.0, 2.1, 4.0], "std": [0.1, 8.0, 900.0]}
    cells = pd.DataFrame(rows).assign(n=4, published_mean=np.nan)
    low, high = dot_plot._limits(cells, (-3.0, 4.5))
    # Values from 1 to 2.1; a bar may widen that by 40% of 1.1, and 6% are margins.
    assert low == pytest.approx(1.0 - 0.46 * 1.1)
    assert high == pytest.approx(2.1 + 0.46 * 1.1)
    alone = cells.iloc[:1]  # one value, with a bar of 0.1 cut to 40% of the least range
    assert dot_plot._limits(alone, (-3.0, 4.5)) == pytest.approx((0.977, 1.023))


def test_causes_most_specific_wins_and_stale_ones_never_show():
    def cause(*cell):
        return causes.cause_of("kcef", "table1", *cell)

    assert "different bandwidths" in cause("mcycle", "KCEF", "worse")
    assert "exploding" in cause("geyser", "KCEF", "worse")
    assert "different bandwidths" not in cause("mcycle", "KCEF", "better")
    assert cause("geyser", "NADE", "worse") == causes.UNKNOWN
    assert causes.cause_of("cdo", "table3", "rough-terrain", "CDO", "better") == causes.UNKNOWN


@pytest.mark.parametrize(
    ("difference", "failed", "suffice"),
    [(0.37, 0, True), (-0.37, 1, True), (0.39, 0, False), (0.37, 2, False)],
)
def test_where_no_cause_is_known_other_splits_may_suffice(difference, failed, suffice):
    """With a deviation of 0.6 over 20 splits, two means differ by 2 · 0.6 · √(2/20) = 0.379.

    Two failed splits of 20 are more than 5%: their spread says nothing about other splits.
    """
    cell = {"dataset": "geyser", "method": "NADE", "verdict": "worse", "std": 0.6, "n": 20}
    found = causes.explain("kcef", "table1", cell | {"difference": difference, "failed": failed})
    assert found == (causes.OTHER_SPLITS if suffice else causes.UNKNOWN)


def test_a_known_cause_comes_before_other_splits():
    cell = {"dataset": "mcycle", "method": "KCEF", "verdict": "worse", "std": 9.0, "n": 20}
    found = causes.explain("kcef", "table1", cell | {"difference": 0.1, "failed": 0})
    assert "different bandwidths" in found


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.005, "1.00"), (-0.07, "−0.07"), (2400.4, "2400"), (3e7, "3.0e+07"), (math.nan, "–")],
)
def test_numbers_are_short(value, text):
    assert markdown.number(value) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(1000, "1e3"), (10**7, "1e7"), (20_000.0, "2e4"), (10**10, "1e10"), (200, "2e2")],
)
def test_numbers_of_points_are_short(n, text):
    assert markdown.magnitude(n) == text


def test_every_rule_has_a_published_metric():
    assert set(verdicts.RULES) == set(published.values()["metric"])


def test_a_bar_in_a_cell_does_not_end_it():
    table = markdown.pipe_table(["claim", "reason"], [["J5", "|E[1|x] - 1| is small"]])
    assert table.splitlines()[-1] == r"| J5 | \|E[1\|x] - 1\| is small |"
