"""Box plots in a tracked CSV: quartiles, whiskers, outliers, what is not finite."""

import numpy as np
import pandas as pd
import pytest

from kcde.pages import box_plots, box_statistics, style
from kcde.papers.artefact import FIGURE_COLUMNS

SAME = {"panel": "a", "method": "CDO", "variant": "as-published"}


def stats(values):
    found = pd.DataFrame(box_statistics.rows(np.array(values), SAME), columns=FIGURE_COLUMNS)
    return found[found["stat"] != box_statistics.OUTLIER].set_index("stat")["y"], found


def test_a_box_is_that_of_matplotlib():
    from matplotlib.cbook import boxplot_stats

    values = np.random.default_rng(0).standard_t(2, size=200)
    mine, rows = stats(values)
    theirs = boxplot_stats(values)[0]
    for stat, key in (
        (box_statistics.WHISKER_LOW, "whislo"),
        (box_statistics.Q1, "q1"),
        (box_statistics.MEDIAN, "med"),
        (box_statistics.Q3, "q3"),
        (box_statistics.WHISKER_HIGH, "whishi"),
        (box_statistics.MEAN, "mean"),
    ):
        assert mine[stat] == pytest.approx(theirs[key])
    outliers = rows.loc[rows["stat"] == box_statistics.OUTLIER, "y"]
    assert len(outliers) == min(len(theirs["fliers"]), box_statistics.KEPT)
    assert set(outliers) <= set(theirs["fliers"])
    assert set(rows["n"]) == {200}


def test_outliers_are_thinned_and_keep_their_ends():
    values = np.concatenate([np.linspace(0, 1, 1000), np.arange(10.0, 110.0)])
    _, rows = stats(values)
    outliers = rows.loc[rows["stat"] == box_statistics.OUTLIER, "y"].to_numpy()
    assert len(outliers) == box_statistics.KEPT
    assert (outliers.min(), outliers.max()) == (10.0, 109.0)


def test_what_is_not_finite_is_counted():
    mine, rows = stats([1.0, np.nan, 2.0, np.inf])
    assert mine[box_statistics.FAILED] == 2
    assert mine[box_statistics.MEDIAN] == 1.5
    assert box_statistics.failures(rows, "fold")[0].endswith("folds 2 of CDO (a).")
    none, rows = stats([np.nan])
    assert list(none.index) == [box_statistics.FAILED]
    assert not len(box_statistics.table(rows))


def test_one_huge_value_lies_beyond_the_axis_and_is_named():
    assert box_plots.axis_limit([0.1, 0.2, 0.3, 50.0]) == pytest.approx(0.3 * 1.04)
    assert box_plots.axis_limit([0.1, 0.2, 0.3, 50.0], [40.0]) == pytest.approx(50.0 * 1.04)
    rows = pd.DataFrame(box_statistics.rows(np.array([50.0]), SAME), columns=FIGURE_COLUMNS)
    with style.figure(style.COLUMN, 1.0) as (_, axes):
        axes.set_xlim(0.0, 1.0)
        box_plots.label_rows(axes, ["CDO"], {"CDO"})
        box_plots.draw_boxes(axes, rows, ["CDO"], {"CDO"})
        assert [text.get_text() for text in axes.texts] == ["50"]
        assert [line.get_marker() for line in axes.lines] == [">"]


def test_a_reference_line_ends_at_its_label():
    with style.figure(style.COLUMN, 1.0) as (_, axes):
        box_plots.label_rows(axes, ["CDO"], {"CDO"}, lines=2)
        for place in (0, 1):
            line = box_plots.ReferenceLine(str(place), style.EXACT, "-")
            box_plots.draw_reference_line(axes, 0.5, line, place)
        lower, upper = (line.get_ydata()[1] for line in axes.lines[-2:])  # shares of the height
        foot, head = axes.get_ylim()
        label = (foot - axes.texts[1].xy[1]) / (foot - head)
    assert lower < label < upper == pytest.approx(1.0)
