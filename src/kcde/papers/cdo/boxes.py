"""Horizontal box plots, a row a method, and their statistics as rows of a tracked CSV."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH = "whisker_low", "q1", "median", "q3", "whisker_high"
FIVE_NUMBERS = (WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH)
MEAN, OUTLIER, FAILED = "mean", "outlier", "failed"

KEPT = 20
"""At most so many outliers of a box are kept, evenly by rank."""

_WHISKERS = 1.5  # of the whiskers, in interquartile ranges (Tukey)


def box_rows(values: np.ndarray, same: Mapping) -> list[dict]:
    """Return the box_rows of one box.

    Whiskers end at the farthest values within 1.5 interquartile ranges of the box.

    Parameters
    ----------
    values
        Shape (n,); values that are not finite are left out and counted in a row with the stat
        `failed`.
    same
        Columns that all box_rows share: panel, method, variant, series.

    Returns
    -------
    list of dict
        Stats whisker_low, q1, median, q3, whisker_high, mean, then at most `KEPT` outliers, evenly
        by rank and including the extremes. `n` is the number of finite values. Only `failed` where
        there are none.
    """
    values = np.asarray(values, dtype=float)
    finite = np.sort(values[np.isfinite(values)])
    row = {"kind": "box", "n": len(finite), **same}
    lost = len(values) - len(finite)
    found = [{**row, "stat": FAILED, "y": lost}] if lost else []
    if not len(finite):
        return found
    q1, median, q3 = np.quantile(finite, [0.25, 0.5, 0.75])
    reach = _WHISKERS * (q3 - q1)
    within = (finite >= q1 - reach) & (finite <= q3 + reach)
    inner, outer = finite[within], finite[~within]
    # A quartile between two values may lie beyond the farthest value within reach.
    stats = {
        WHISKER_LOW: min(inner[0], q1),
        Q1: q1,
        MEDIAN: median,
        Q3: q3,
        WHISKER_HIGH: max(inner[-1], q3),
        MEAN: finite.mean(),
    }
    kept = np.unique(np.linspace(0, len(outer) - 1, min(KEPT, len(outer))).round().astype(int))
    return [
        *({**row, "stat": stat, "y": value} for stat, value in stats.items()),
        *({**row, "stat": OUTLIER, "y": value} for value in outer[kept]),
        *found,
    ]


def boxes_of(panel: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes of a panel: a row per method in its order, a column per stat.

    Parameters
    ----------
    panel
        Rows of a tracked CSV.

    Returns
    -------
    pandas.DataFrame
        Without outliers and without methods that have no finite value.
    """
    drawn = panel[(panel["kind"] == "box") & ~panel["stat"].isin([OUTLIER, FAILED])]
    wide = drawn.pivot(index="method", columns="stat", values="y")
    return wide.reindex(dict.fromkeys(drawn["method"]))


def failures(frame: pd.DataFrame, trial: str) -> list[str]:
    """Return a sentence that counts the fits without a finite value, or nothing."""
    lost = frame[(frame["kind"] == "box") & (frame["stat"] == FAILED)]
    if not len(lost):
        return []
    each = [f"{row.y:.0f} of {row.method} ({row.panel})" for row in lost.itertuples()]
    return [f"Left out, because they failed or are not finite: {trial}s {', '.join(each)}."]


ROW_HEIGHT = 0.165
"""Height of a row, in inches."""


_HALF = 0.32  # height of half a box, in rows
_FAR = 3.0  # a value that exceeds the typical one by this factor lies beyond the axis
_ROOM = 1.04
_LABEL = 0.8  # height of the label of a reference line, in rows


@dataclass(frozen=True)
class ReferenceLine:
    """A vertical line through all rows, labelled above them.

    Attributes
    ----------
    text, colour, dashes
        Label and appearance.
    left
        Whether the label begins at the line; otherwise it ends there.
    """

    text: str
    colour: str
    dashes: str | tuple
    left: bool = True


def keys(read_off: str = "") -> list:
    """Return what the parts of a box are, for `style.legend_above`.

    Parameters
    ----------
    read_off
        What a ring over a box says, "" where there are none.
    """
    none = {"linestyle": "none", "color": style.GREY}
    made = [
        _box_key("quartiles, as published", filled=True),
        _box_key("quartiles, ours", filled=False),
        style.key("median", marker="|", mew=1.6, markersize=7, **none),
        style.key("mean", marker="o", markersize=2.2, **none),
        style.key("within 1.5 box lengths", color=style.GREY, linewidth=0.8),
        style.key("values beyond", marker="o", markersize=1.8, fillstyle="none", mew=0.5, **none),
    ]
    ring = {"markersize": 6, "fillstyle": "none", "markeredgewidth": 1.0}
    return [*made, *([style.key(read_off, marker="o", **ring, **none)] if read_off else [])]


def label_rows(
    axes: "Axes", methods: Sequence[str], published: Collection[str], lines: int = 0
) -> None:
    """Give each method a row, from the top, and label it.

    Parameters
    ----------
    axes
        Whose vertical axis becomes the rows: the k-th method lies at k.
    methods
        In their order.
    published
        The methods as published; their labels are bold.
    lines
        Number of reference lines whose labels need room above the first row.
    """
    axes.set_ylim(len(methods) - 0.4, -0.6 - _LABEL * lines)
    axes.set_yticks(range(len(methods)), [display(method) for method in methods])
    axes.tick_params(axis="y", length=0)
    for label, method in zip(axes.get_yticklabels(), methods, strict=True):
        label.set_color(style.line(method)["color"])
        label.set_fontweight("bold" if method in published else "normal")
    separate_families(axes, methods)


def separate_families(axes: "Axes", methods: Sequence[str]) -> None:
    """Draw a thin line between a method with its variations and the next method."""
    for row in range(1, len(methods)):
        if _family(methods[row]) != _family(methods[row - 1]):
            axes.axhline(row - 0.5, color="#DDDDDD", linewidth=0.5, zorder=0)


def draw_reference_line(axes: "Axes", x: float, line: ReferenceLine, place: int = 0) -> None:
    """Draw a line through all rows up to its label in the room above them.

    A label at a higher place may lie over the lines of lower ones, which end below it.

    Parameters
    ----------
    axes
        As `label_rows` left them.
    x
        Position of the line.
    line
        Label and appearance.
    place
        Position of the label, counted from the first row upwards.
    """
    foot, head = axes.get_ylim()
    end = (foot + 0.6 + _LABEL * (place + 1)) / (foot - head)
    look = {"color": line.colour, "linestyle": line.dashes, "linewidth": 0.8, "zorder": 1}
    axes.axvline(x, ymax=end, **look)
    axes.annotate(
        line.text,
        (x, -0.6 - _LABEL * (place + 0.5)),
        xytext=(3 if line.left else -3, 0),
        textcoords="offset points",
        ha="left" if line.left else "right",
        va="center",
        fontsize=6.5,
        color=line.colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )


def axis_limit(values: Sequence[float], always: Sequence[float] = ()) -> float:
    """Return where an axis that starts at 0 ends, so that one huge value does not squeeze the rest.

    Parameters
    ----------
    values
        Upper ends of the whiskers, finite and not negative. Those above three times their median
        and above three times the largest of `always` lie beyond the axis.
    always
        Values that must be on the axis.

    Returns
    -------
    float
    """
    series = pd.Series([*values, *always], dtype=float)
    far = _FAR * max([series.median(), *always])
    return _ROOM * max([*series[series <= far], *always])


def draw_boxes(
    axes: "Axes", panel: pd.DataFrame, methods: Sequence[str], published: Collection[str]
) -> None:
    """Draw the boxes of a panel; those of methods as published are shaded.

    Parameters
    ----------
    axes
        With its limits set.
    panel
        Rows of a tracked CSV, as `kcde.pages.box_statistics` makes them.
    methods
        In the order of the rows.
    published
        The methods as published.
    """
    outliers = panel[panel["stat"] == OUTLIER].groupby("method")["y"].apply(list)
    for method, box in boxes_of(panel).iterrows():
        points = outliers.get(method, [])
        draw_box(axes, methods.index(method), box, points, method, method in published)


def draw_box(
    axes: "Axes", row: float, box: pd.Series, outliers: Sequence[float], method: str, filled: bool
) -> None:
    """Draw a horizontal box; one beyond the axis becomes an arrow with its median beside it.

    Parameters
    ----------
    axes
        With its limits set.
    row
        Vertical centre of the box.
    box
        A row of `kcde.pages.box_statistics.table`.
    outliers
        As kept in the CSV.
    method
        Gives the colour.
    filled
        Whether the box is shaded.
    """
    colour, end = style.line(method)["color"], axes.get_xlim()[1]
    if box[MEDIAN] > end:
        mark_beyond_axis(axes, row, box[MEDIAN], colour)
        return
    low, q1, middle, q3, high = (box[stat] for stat in FIVE_NUMBERS)
    thin = {"color": colour, "linewidth": 0.8, "zorder": 2}
    axes.hlines(row, low, q1, **thin)
    axes.hlines(row, q3, high, **thin)
    edge = {"edgecolor": colour, "facecolor": "none", "linewidth": 0.8, "zorder": 2}
    if filled:
        axes.barh(row, q3 - q1, 2 * _HALF, q1, color=colour, alpha=0.25, linewidth=0)
    axes.barh(row, q3 - q1, 2 * _HALF, q1, **edge)
    axes.vlines(middle, row - _HALF, row + _HALF, colors=colour, linewidth=1.6, zorder=3)
    axes.plot(box[MEAN], row, "o", color=colour, markersize=2.2, zorder=4)
    shown = [value for value in outliers if value <= end]
    dots = {"color": colour, "markersize": 1.4, "markeredgewidth": 0.4, "fillstyle": "none"}
    axes.plot(shown, [row] * len(shown), "o", zorder=2, **dots)


def mark_beyond_axis(axes: "Axes", row: float, value: float, colour: str) -> None:
    """Mark a value outside the axis by an arrow at its right edge, with the number before it."""
    end = axes.get_xlim()[1]
    axes.plot(end, row, ">", color=colour, markersize=4, clip_on=False, zorder=5)
    place = {"xytext": (-5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    axes.annotate(f"{value:.3g}", (end, row), color=colour, fontsize=6, **place)


def _box_key(label: str, *, filled: bool):
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    face = to_rgba(style.GREY, 0.25) if filled else "none"
    return Patch(label=label, edgecolor=style.GREY, facecolor=face, linewidth=0.8)


def _family(method: str) -> str:
    """Return what a method shares with its variations alone: the colour."""
    return style.line(method)["color"]
