"""Plots of jdl's curves against n: a panel for each dimension, without and with constraints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact, Draw
from kcde.papers.jdl.curves import (
    BASELINE,
    BY_TOLERANCE,
    CONSTRAINED,
    EXCLUDED,
    MEAN,
    SCHEDULED,
    THROUGHOUT,
    UNCONSTRAINED,
)

_THIN = {"linestyle": (0, (2, 1)), "linewidth": 0.7}
_DASHES = {SCHEDULED: "-", THROUGHOUT: ":", CONSTRAINED: "--", BASELINE: (0, (6, 2))}
_APART = 0.012
"""Share of the width between the quantiles of two methods at the same n."""


@dataclass(frozen=True)
class PlotSpec:
    """How a figure of curves against n is drawn.

    Attributes
    ----------
    label, along
        Of the vertical and of the horizontal axis.
    stat
        Of the rows that are lines.
    linear_below
        Where values may be 0: the vertical axis is linear from 0 to here and logarithmic above.
    band
        Whether the quantiles over repetitions are shown, where there are any.
    dashes
        Series to line style, besides those of `curves`.
    baseline
        What the line of `BASELINE` is called.
    width
        In inches.
    row_labels
        Row to the label of its vertical axis, where that is not `label`.
    words
        Parts of the names of panels to what stands for them in titles.
    average
        Whether a thin line has the mean, where `stat` is the largest value over repetitions.
    over
        A method by whose values in the panel all are divided; panels without factors are left out.
    turned
        Whether the dimensions are rows.
    paper_to
        The largest n of the paper, said in panels that end before it; 0: nothing is said.
    """

    label: str
    along: str = "data points $n$"
    stat: str = MEAN
    linear_below: float | None = None
    band: bool = True
    dashes: Mapping[str, str] = field(default_factory=dict)
    baseline: str = "ignoring x"
    width: float = style.PAGE
    row_labels: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    average: bool = False
    over: str = ""
    turned: bool = False
    paper_to: float = 0.0


def drawer(spec: PlotSpec) -> Draw:
    """Return the `draw` of an artefact.

    A panel named `d=1 constrained` stands in the column `d=1` and the row `constrained`; the panels
    of one word share one row.
    """

    def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
        curves = frame[frame["kind"].isin(["curve", BASELINE])]
        curves = _relative(curves, spec.over) if spec.over else curves
        words = [name.partition(" ")[::2] for name in dict.fromkeys(curves["panel"])]
        columns, rows = (list(dict.fromkeys(each)) for each in zip(*words, strict=True))
        columns, rows = (rows, columns) if spec.turned else (columns, rows)
        keys = _keys(curves, spec)
        lines = -(-len(keys) // 4)
        size = {"columns": len(columns), "rows": len(rows), "sharey": True, "squeeze": False}
        height = 0.3 + 1.9 * len(rows) + 0.16 * lines
        with style.figure(spec.width, height, **size) as (made, axes):
            _scale(axes[0, 0], curves, spec)
            for place, one in enumerate(axes.flat):
                row, column = rows[place // len(columns)], columns[place % len(columns)]
                name = f"{row} {column}" if spec.turned else f"{column} {row}".strip()
                _draw_panel(one, curves[curves["panel"] == name], spec)
                style.panel_title(
                    one, ascii_lowercase[place] if axes.size > 1 else "", _title(name, spec)
                )
                if column == columns[0]:
                    one.set_ylabel(spec.row_labels.get(row, spec.label))
                if row == rows[-1]:
                    one.set_xlabel(spec.along)
            style.legend_above(made, keys, columns=min(4, len(keys)))
            return style.save(made, stem)

    return draw


def _relative(curves: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return curves divided by those of one method, without quantiles."""
    curves = curves[~curves["panel"].str.endswith(EXCLUDED)]
    own = curves[curves["method"] == method].set_index(["panel", "x"])["y"].rename("over")
    joined = curves.join(own, on=["panel", "x"])
    return joined.assign(y=joined["y"] / joined["over"], y_low=np.nan, y_high=np.nan)


def _keys(curves: pd.DataFrame, spec: PlotSpec) -> list:
    """Return the legend: colours are methods, dashes are series."""
    shown = curves[curves["stat"] == spec.stat]
    methods = [name for name in dict.fromkeys(shown["method"]) if name != BASELINE]
    if set(methods) == set(shown["panel"]):  # they stand in the titles
        methods = []
    found = [style.key(display(each), **_line(each, SCHEDULED, shown, spec)) for each in methods]
    drawn = set(shown["series"])
    names = {BASELINE: spec.baseline, THROUGHOUT: "tolerance $10^{-3}$ at every $n$"}
    if CONSTRAINED in drawn:
        names |= {SCHEDULED: UNCONSTRAINED, CONSTRAINED: CONSTRAINED}
    elif THROUGHOUT in drawn:
        names[SCHEDULED] = "tolerance $10^{-3}$, larger at large $n$"
    by_dashes: dict[str, list[str]] = {}
    for series in dict.fromkeys(shown["series"]):
        if series in names or series not in _DASHES:
            dashes = _line(BASELINE, series, shown, spec)["linestyle"]
            by_dashes.setdefault(dashes, []).append(names.get(series, series.replace("=", " = ")))
    for dashes, each in by_dashes.items():
        found.append(style.key(" or ".join(each), color=style.GREY, linestyle=dashes))
    if spec.average:
        found.append(style.key("mean of the repetitions", color=style.GREY, **_THIN))
    if spec.band and shown.loc[shown["series"] == SCHEDULED, "y_low"].notna().any():
        look = {"linestyle": "none", "marker": "|", "markersize": 9}
        found.append(style.key("5% to 95% of the repetitions", color=style.GREY, **look))
    return found


def _title(panel: str, spec: PlotSpec) -> str:
    for part, words in spec.words.items():
        panel = panel.replace(part, words)
    return panel.replace("d=", "$d=", 1).replace(" ", "$, ", 1) if "d=" in panel else panel


def _scale(axes, curves: pd.DataFrame, spec: PlotSpec) -> None:
    """Set the vertical axis, which all panels share, around every line and quantile."""
    from matplotlib.ticker import LogLocator, NullFormatter

    shown = curves[curves["stat"] == spec.stat]
    values = shown[["y", "y_low", "y_high"] if spec.band else ["y"]].to_numpy().ravel()
    positive = values[values > 0]
    most = 1.4 * positive.max() if len(positive) else 1.0
    if spec.linear_below is not None:
        axes.set_yscale("symlog", linthresh=spec.linear_below, linscale=0.4)
        # Lines at 0 must not lie on the axis.
        axes.set_ylim(-0.2 * spec.linear_below, max(most, 10.0 * spec.linear_below))
        return
    least = positive.min() / 1.4 if len(positive) else 0.1
    axes.set_yscale("log")
    axes.set_ylim(least, most)
    if most < 30.0 * least:  # fewer than two powers of ten may be on the axis
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_panel(axes, panel: pd.DataFrame, spec: PlotSpec) -> None:
    shown = panel[panel["stat"] == spec.stat]
    if not len(shown):
        return
    if spec.over:
        axes.axhline(1.0, color=style.GREY, linewidth=0.6)
    sizes, methods = sorted(set(shown["x"])), list(dict.fromkeys(shown["method"]))
    width = max(sizes[-1] / sizes[0], 2.0)
    for (method, series), rows in shown.groupby(["method", "series"], sort=False):
        rows, look = rows.sort_values("x"), _line(method, series, shown, spec)
        axes.plot(rows["x"], rows["y"], marker="o", markersize=1.5, clip_on=False, **look)
        if series != SCHEDULED:
            continue
        if spec.average:
            mean = panel[(panel["method"] == method) & (panel["stat"] == MEAN)]
            mean = mean[mean["series"] == series].sort_values("x")
            axes.plot(mean["x"], mean["y"], color=look["color"], **_THIN)
        if spec.band:
            places = rows["x"] * width ** (_APART * (methods.index(method) - 1))
            axes.vlines(places, rows["y_low"], rows["y_high"], color=look["color"], linewidth=0.6)
    axes.set_xscale("log")
    axes.set_xlim(sizes[0] / width**0.03, sizes[-1] * width**0.03)
    powers = all(math.log10(size).is_integer() for size in sizes)
    thousands = [f"{size / 1000:g}k" if size >= 1000 else f"{size:g}" for size in sizes]
    axes.set_xticks(sizes, [_number(size) for size in sizes] if powers else thousands)
    axes.set_xticks([], minor=True)
    if sizes[-1] < spec.paper_to:
        words = {"xycoords": "axes fraction", "ha": "right", "va": "top", "fontsize": 6}
        said = f"the paper: to {_number(spec.paper_to)}"
        axes.annotate(said, (0.99, 0.99), color=style.GREY, **words)
    if (shown["y"] == 0.0).all():
        words = {"xycoords": "axes fraction", "ha": "center", "color": style.GREY}
        axes.annotate("0 for every line", (0.5, 0.5), **words)


def _line(method: str, series: str, shown: pd.DataFrame, spec: PlotSpec) -> dict:
    """Return the look of a line: colours are methods, dashes are variations or series."""
    own = {"color": style.GREY, "linestyle": "-"} if method == BASELINE else style.line(method)
    if series == SCHEDULED:
        return {"color": own["color"], "linestyle": own["linestyle"]}
    if series.startswith(BY_TOLERANCE):
        order = sorted({each for each in shown["series"] if each.startswith(BY_TOLERANCE)})
        return {
            "color": own["color"],
            "linestyle": ("-.", ":", "--", "-")[-1 - order.index(series)],
        }
    dashes = {**_DASHES, **spec.dashes}[series]
    return {"color": own["color"], "linestyle": dashes, "linewidth": 0.9}


def _number(value: float) -> str:
    return f"$10^{{{round(math.log10(value))}}}$"
