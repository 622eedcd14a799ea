"""Panels with a lane for each method, named at its left in the method's colour."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from kcde.artefacts.plots import boxes, style
from kcde.artefacts.tables.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANE = 0.165
"""Height of a lane, in inches."""

_HALF = 0.32  # height of half a box, in lanes
_FAR = 3.0  # a value so many times the typical one lies beyond the axis
_ROOM = 1.04
_NAME = 0.8  # height of a line's name, in lanes


@dataclass(frozen=True)
class Line:
    """A line through all lanes, named above them.

    Attributes
    ----------
    text, colour, dashes
        Its name and how it looks.
    left
        Whether the name begins at the line, else it ends there.
    """

    text: str
    colour: str
    dashes: str | tuple
    left: bool = True


def name(axes: "Axes", methods: Sequence[str], published: Collection[str], lines: int = 0) -> None:
    """Give each method a lane from above, and name it.

    Parameters
    ----------
    axes
        Whose vertical axis becomes the lanes: the k-th method lies at k.
    methods
        In their order.
    published
        Those that stand as published: bold.
    lines
        For the names of how many lines to leave room above the first.
    """
    axes.set_ylim(len(methods) - 0.4, -0.6 - _NAME * lines)
    axes.set_yticks(range(len(methods)), [display(method) for method in methods])
    axes.tick_params(axis="y", length=0)
    for label, method in zip(axes.get_yticklabels(), methods, strict=True):
        label.set_color(style.line(method)["color"])
        label.set_fontweight("bold" if method in published else "normal")
    separate(axes, methods)


def separate(axes: "Axes", methods: Sequence[str]) -> None:
    """Draw a thin line between a method with its variations and the next."""
    for lane in range(1, len(methods)):
        if _family(methods[lane]) != _family(methods[lane - 1]):
            axes.axhline(lane - 0.5, color="#DDDDDD", linewidth=0.5, zorder=0)


def draw_line(axes: "Axes", x: float, line: Line, place: int = 0) -> None:
    """Draw a line through all lanes with its name beside it, in the room above them.

    Parameters
    ----------
    axes
        As `name` left them.
    x
        Where it is.
    line
        How it looks.
    place
        Which of the names from below.
    """
    axes.axvline(x, color=line.colour, linestyle=line.dashes, linewidth=0.8, zorder=1)
    axes.annotate(
        line.text,
        (x, -0.6 - _NAME * (place + 0.5)),
        xytext=(3 if line.left else -3, 0),
        textcoords="offset points",
        ha="left" if line.left else "right",
        va="center",
        fontsize=6.5,
        color=line.colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )


def limit(values: Sequence[float], always: Sequence[float] = ()) -> float:
    """Return where an axis from 0 ends, so that one huge value does not squeeze the others.

    Parameters
    ----------
    values
        Ends of the lanes, finite and not negative; those more than three times their median, and
        three times the largest of `always`, lie beyond.
    always
        What must be on the axis.

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
    """Draw the boxes of a panel, those of methods as published shaded.

    Parameters
    ----------
    axes
        With its limits set.
    panel
        Rows of a tracked CSV, as `kcde.artefacts.plots.boxes` makes them.
    methods
        In the order of the lanes.
    published
        Those that stand as published.
    """
    outliers = panel[panel["stat"] == boxes.OUTLIER].groupby("method")["y"].apply(list)
    for method, box in boxes.table(panel).iterrows():
        points = outliers.get(method, [])
        draw_box(axes, methods.index(method), box, points, method, method in published)


def draw_box(
    axes: "Axes", lane: float, box: pd.Series, outliers: Sequence[float], method: str, filled: bool
) -> None:
    """Draw a horizontal box; what lies beyond the axis is an arrow with the median beside it.

    Parameters
    ----------
    axes
        With its limits set.
    lane
        Its middle.
    box
        A row of `kcde.artefacts.plots.boxes.table`.
    outliers
        As kept.
    method
        Whose colour it has.
    filled
        Whether the box is shaded.
    """
    colour, end = style.line(method)["color"], axes.get_xlim()[1]
    if box[boxes.MEDIAN] > end:
        beyond(axes, lane, box[boxes.MEDIAN], colour)
        return
    thin = {"color": colour, "linewidth": 0.8, "zorder": 2}
    axes.hlines(lane, box[boxes.WHISKER_LOW], box[boxes.Q1], **thin)
    axes.hlines(lane, box[boxes.Q3], box[boxes.WHISKER_HIGH], **thin)
    shade = {"edgecolor": colour, "facecolor": "none", "linewidth": 0.8, "zorder": 2}
    width = box[boxes.Q3] - box[boxes.Q1]
    if filled:
        axes.barh(lane, width, 2 * _HALF, box[boxes.Q1], color=colour, alpha=0.25, linewidth=0)
    axes.barh(lane, width, 2 * _HALF, box[boxes.Q1], **shade)
    middle = box[boxes.MEDIAN]
    axes.vlines(middle, lane - _HALF, lane + _HALF, colors=colour, linewidth=1.6, zorder=3)
    axes.plot(box[boxes.MEAN], lane, "o", color=colour, markersize=2.2, zorder=4)
    shown = [value for value in outliers if value <= end]
    dots = {"color": colour, "markersize": 1.4, "markeredgewidth": 0.4, "fillstyle": "none"}
    axes.plot(shown, [lane] * len(shown), "o", zorder=2, **dots)


def beyond(axes: "Axes", lane: float, value: float, colour: str) -> None:
    """Mark a value outside the axis by an arrow at its right edge, with the number before it."""
    end = axes.get_xlim()[1]
    axes.plot(end, lane, ">", color=colour, markersize=4, clip_on=False, zorder=5)
    said = {"xytext": (-5, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    axes.annotate(f"{value:.3g}", (end, lane), color=colour, fontsize=6, **said)


def _family(method: str) -> str:
    return style.line(method)["color"]
