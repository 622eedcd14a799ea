"""Horizontal box plots, a row a method, and their statistics as rows of a tracked CSV."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED
from kcde.pages import style

WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH = "whisker_low", "q1", "median", "q3", "whisker_high"
MEAN, OUTLIER, FAILED = "mean", "outlier", "failed"
_STATS = {WHISKER_LOW: "whislo", Q1: "q1", MEDIAN: "med", Q3: "q3", WHISKER_HIGH: "whishi"}
_STATS |= {MEAN: "mean"}
"""Stat of a row to its name in matplotlib."""

KEPT = 20
"""At most so many outliers of a box are kept, evenly by rank."""

ROW_HEIGHT = 0.165
"""Height of a row, in inches."""

_FAR = 3.0  # a value that exceeds the typical one by this factor lies beyond the axis
_ROOM = 1.04


def box_rows(values: np.ndarray, same: Mapping) -> list[dict]:
    """Return the rows of one box, of kind `box` with each statistic in `y`.

    Whiskers end at the farthest values within 1.5 interquartile ranges of the box (Tukey). At most
    `KEPT` outliers follow, evenly by rank and including the extremes. `n` is the number of finite
    values; others are left out and counted in a row with the stat `failed`. `same` are columns that
    all rows share.
    """
    from matplotlib.cbook import boxplot_stats

    values = np.asarray(values, dtype=float)
    finite = np.sort(values[np.isfinite(values)])
    lost = len(values) - len(finite)
    found = [(FAILED, lost)] if lost else []
    if len(finite):
        (box,) = boxplot_stats(finite)
        outer = box["fliers"]
        kept = np.unique(np.linspace(0, len(outer) - 1, min(KEPT, len(outer))).round().astype(int))
        shown = [(stat, box[name]) for stat, name in _STATS.items()]
        found = [*shown, *((OUTLIER, value) for value in outer[kept]), *found]
    return [{"kind": "box", "n": len(finite), **same, "stat": stat, "y": y} for stat, y in found]


def failures(frame: pd.DataFrame, trial: str) -> list[str]:
    """Return a sentence that counts the fits without a finite value, or nothing."""
    lost = frame[(frame["kind"] == "box") & (frame["stat"] == FAILED)]
    each = [f"{row.y:.0f} of {row.method} ({row.panel})" for row in lost.itertuples()]
    said = f"Left out, because they failed or are not finite: {trial}s {', '.join(each)}."
    return [said] if each else []


def keys(*more) -> list:
    """Return what the parts of a box are, for `style.legend_above`, and more of a figure."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    edge = {"edgecolor": style.GREY, "linewidth": 0.8}
    none = {"linestyle": "none", "color": style.GREY}
    return [
        Patch(label="quartiles, as published", facecolor=to_rgba(style.GREY, 0.25), **edge),
        Patch(label="quartiles, ours", facecolor="none", **edge),
        style.key("median", marker="|", mew=1.6, markersize=7, **none),
        style.key("mean", marker="o", markersize=2.2, **none),
        style.key("within 1.5 box lengths", color=style.GREY, linewidth=0.8),
        style.key("values beyond", marker="o", markersize=1.8, fillstyle="none", mew=0.5, **none),
        *more,
    ]


def label_rows(axes, methods: Sequence[str], cells: pd.DataFrame) -> None:
    """Give each method a row, from the top, and label it, in bold where it is as published.

    `cells` has methods and their variants. A thin line stands between a method with its variations,
    of one colour, and the next method.
    """
    axes.set_ylim(len(methods) - 0.4, -0.6)
    style.name_rows(axes, methods)
    axes.tick_params(axis="y", length=0)
    published = set(cells.loc[cells["variant"] == AS_PUBLISHED, "method"])
    for label, method in zip(axes.get_yticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method in published else "normal")
    colours = [style.line(method)["color"] for method in methods]
    for row in range(1, len(methods)):
        if colours[row] != colours[row - 1]:
            axes.axhline(row - 0.5, color="#DDDDDD", linewidth=0.5, zorder=0)


def axis_limit(values: Sequence[float], always: Sequence[float] = ()) -> float:
    """Return where an axis that starts at 0 ends, so that one huge value does not squeeze the rest.

    Of the upper ends of whiskers, those above three times their median and above three times the
    largest of `always`, which must be on the axis, lie beyond it.
    """
    series = pd.Series([*values, *always], dtype=float)
    far = _FAR * max([series.median(), *always])
    return _ROOM * max([*series[series <= far], *always])


def draw_boxes(axes, panel: pd.DataFrame, methods: Sequence[str]) -> None:
    """Draw the boxes of a panel, with its limits set; those of methods as published are shaded.

    A box beyond the axis becomes an arrow with its median beside it.
    """
    from matplotlib.colors import to_rgba

    end, drawn = axes.get_xlim()[1], panel[panel["kind"] == "box"]
    for (method, variant), rows in drawn.groupby(["method", "variant"], sort=False):
        y, row, colour = (
            rows.set_index("stat")["y"],
            methods.index(method),
            style.line(method)["color"],
        )
        outliers = rows.loc[(rows["stat"] == OUTLIER) & (rows["y"] <= end), "y"]
        if y[MEDIAN] > end:
            axes.plot(end, row, ">", color=colour, markersize=4, clip_on=False, zorder=5)
            style.beside(axes, f"{y[MEDIAN]:.3g}", (end, row), -5, colour)
            continue
        thin, face = {"color": colour, "linewidth": 0.8}, to_rgba(colour, 0.25)
        edge = {"edgecolor": colour, "facecolor": face if variant == AS_PUBLISHED else "none"}
        dot = {"marker": "o", "mfc": colour, "mec": colour, "markersize": 2.2, "zorder": 4}
        ring = {"marker": "o", "mfc": "none", "mec": colour, "markersize": 1.4, "mew": 0.4}
        axes.bxp(
            [{name: y[stat] for stat, name in _STATS.items()} | {"fliers": outliers}],
            positions=[row],
            widths=0.64,
            orientation="horizontal",
            patch_artist=True,
            manage_ticks=False,
            showcaps=False,
            showmeans=True,
            boxprops=edge | {"linewidth": 0.8},
            whiskerprops=thin,
            medianprops=thin | {"linewidth": 1.6},
            meanprops=dot,
            flierprops=ring,
        )
