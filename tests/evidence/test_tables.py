"""Tables: order, best method, published values, picture, scorecard."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import artefact_scores as made
from kcde.evidence import scorecard
from kcde.pages import building, dot_plot, style, words
from kcde.papers import registry

TABLE1 = registry.ARTEFACTS["kcef/table1"]


def build(cells, artefact=TABLE1):
    table = building.build(artefact, made.frame(cells), [])
    return table.set_index(["dataset", "method"])


def test_best_is_lowest_or_not_told_from_it():
    wave = list(1.0 + np.sin(np.arange(20)))
    close = [value + (0.3 if k % 2 else -0.28) for k, value in enumerate(wave)]
    far = [value + 0.5 + 0.01 * k for k, value in enumerate(wave)]
    table = build({("engel", "KCEF"): wave, ("engel", "KCEF-LL"): close, ("engel", "LSCDE"): far})
    assert table["best"].tolist() == [True, True, False]
    assert table["p_value"].tolist()[0] == 1.0
    assert table["p_value"].tolist()[1] > 0.05 > table["p_value"].tolist()[2]
    failed = [*made.around(0.5)[:-1], None]
    table = build({("engel", "KCEF"): failed, ("engel", "LSCDE"): made.around(1.0)})
    assert table["best"].tolist() == [False, True]
    assert table["failed"].tolist() == [1, 0]


def test_split_given_twice_is_refused():
    twice = made.frame({("geyser", "KCEF"): [1.0]})
    with pytest.raises(ValueError, match="geyser, KCEF occurs twice"):
        building.build(TABLE1, twice.loc[[0, 0]], [])
    with pytest.raises(ValueError, match="needs scores with the metric"):
        building.build(TABLE1, twice.assign(metric="kl"), [])


def test_published_values_beyond_the_axis_are_named_at_its_edge(tmp_path):
    """NADE's published 13.8 on BigMac2003 lies beyond the axis; ours may lie within."""
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


@pytest.mark.parametrize("low", [-1.88, 13.0])
def test_ticks_of_a_narrow_panel_do_not_touch(low):
    table = building.build(TABLE1, made.frame({("geyser", "KCEF"): made.around(1.2)}), [])
    for width in (0.0501, 0.0999, 0.1001, 7.0):
        with style.figure(style.PAGE, 2.0, columns=4) as (figure, grid):
            dot_plot._draw_panel(grid[0], table.set_index("method"), (low, low + width))
            figure.canvas.draw()
            inside = [label for label in grid[0].get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in inside]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_panel_includes_short_bars_and_no_median_of_a_mean_beyond_it():
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
        return scorecard.cause_of("kcef", "table1", *cell)

    assert "different bandwidths" in cause("mcycle", "KCEF", "worse")
    assert "exploding" in cause("geyser", "KCEF", "worse")
    assert "different bandwidths" not in cause("mcycle", "KCEF", "better")
    assert cause("geyser", "NADE", "worse") == scorecard.UNKNOWN
    assert (
        scorecard.cause_of("cdo", "table3", "rough-terrain", "CDO", "better") == scorecard.UNKNOWN
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.005, "1.00"), (-0.07, "−0.07"), (2400.4, "2400"), (3e7, "3.0e+07"), (math.nan, "–")],
)
def test_numbers_are_short(value, text):
    assert words.number(value) == text
