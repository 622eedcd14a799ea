"""The picture of kcef table2-readings: gaps to the bound above, likelihoods of UCI data below."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import dot_plot, style
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import _grid_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGAINST_N, AGAINST_D = "d=3", "n=2000"
"""Panels of the grid data, named by what is fixed in them."""

PUBLISHED = "published"
"""The series of the published values."""

_HEIGHT = 4.6
_GRAPHS = {"full graph": "F", "Markov graph": "M"}
_X = {AGAINST_N: "training points $n$", AGAINST_D: "dimension $d$"}
_FACTOR = 30.0  # of the smallest gap, within which gaps are shown
_LOWEST_GAP = 1e-3  # nats
# A mean is far out where it exceeds the largest published value by more than so many times the
# distance from there to the lowest value of all.
_REACH = 2.0
_MARGIN = 0.06  # of the axis of likelihoods, at both ends
_MARKERS = ("o", "s", "D")
_LINES = ("-", "-.", "--")


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw four panels of gaps, graph by axis, and one panel for each UCI data set."""
    rules = [name for name in dict.fromkeys(frame["series"]) if name != PUBLISHED]
    grids = [name for name in (AGAINST_N, AGAINST_D) if name in set(frame["panel"])]
    tables = [name for name in dict.fromkeys(frame["panel"]) if name not in _X]
    with style.page(style.PAGE, _HEIGHT) as made:
        above, below = made.subfigures(2, 1, height_ratios=[1.2, 1.0])
        letters = iter("abcdefg")
        if grids:
            axes = above.subplots(1, 2 * len(grids), sharey=True, squeeze=False)[0]
            pairs = [(panel, graph) for panel in grids for graph in _GRAPHS]
            for one, (panel, graph) in zip(axes, pairs, strict=True):
                _gaps(one, frame[frame["panel"] == panel], rules, panel, _GRAPHS[graph])
                style.panel_title(one, next(letters), f"${panel}$, {graph}")
            axes[0].set_ylabel("gap to the entropy bound (nats)")
            axes[0].legend(frameon=False, fontsize=6)
        if tables:
            axes = below.subplots(1, len(tables), sharey=True, squeeze=False)[0]
            for one, panel in zip(axes, tables, strict=True):
                _likelihoods(one, frame[frame["panel"] == panel], rules)
                style.panel_title(one, next(letters), panel)
            axes[0].set_yticks(range(len(rules)), rules)
            axes[0].invert_yaxis()
            below.supxlabel("negative log-likelihood (nats); lower is better", fontsize=8)
            style.legend_above(below, _marks())
        return style.save(made, stem)


def _marks() -> list:
    """Return what the symbols of the lower panels stand for, for a legend."""
    marks = []
    for graph, fill, dashes in (("full graph", "full", "-"), ("Markov graph", "none", "--")):
        look = {"color": style.EXACT, "fillstyle": fill}
        marks += [
            style.key(graph, marker="o", linestyle="none", **look),
            style.key(f"{graph}, published", linestyle=dashes, linewidth=0.8, **look),
        ]
    return marks


def _graph(method: str) -> str:
    """Return the graph of a method, F or M: the part of its name after the first dash."""
    return method.split("-")[1]


def _gaps(axes: "Axes", frame: pd.DataFrame, rules: list[str], panel: str, graph: str) -> None:
    own = frame[frame["method"].map(_graph) == graph]
    top = _FACTOR * max(frame["y"].min(), _LOWEST_GAP)
    colours = style.RESERVE
    for k, rule in enumerate(rules):
        curve = own[own["series"] == rule].sort_values("x")
        out = (curve["y"] > top).to_numpy()
        # A curve ends where it leaves the axis: arrow heads of all further points would merge.
        left = out & ~np.append(False, out[:-1])
        y = np.where(out & ~left, np.nan, np.clip(curve["y"], _LOWEST_GAP, top))
        look = {"color": colours[k], "linestyle": _LINES[k], "markevery": list(~out)}
        axes.plot(curve["x"], y, **look, marker=_MARKERS[k], markersize=2.8, label=rule)
        axes.vlines(
            curve["x"][~out],
            np.clip(curve["y_low"][~out], _LOWEST_GAP, top),
            np.clip(curve["y_high"][~out], _LOWEST_GAP, top),
            color=look["color"],
            linewidth=1.0,
        )
        if left.any():  # an empty line without clipping breaks the layout of a logarithmic axis
            edge = {"color": look["color"], "markersize": 5, "clip_on": False}
            axes.plot(curve["x"][left], y[left], "^", **edge)
    axes.set_yscale("log")
    if panel == AGAINST_N:
        _grid_picture.axis_of_counts(axes, frame["x"])
    else:
        _grid_picture.axis_of_dimensions(axes, frame["x"])
    axes.set_xlabel(_X[panel])


def _likelihoods(axes: "Axes", frame: pd.DataFrame, rules: list[str]) -> None:
    found = frame[frame["series"] != PUBLISHED]
    known = frame[frame["series"] == PUBLISHED]
    for row in known.itertuples():
        dashes = "-" if _graph(row.method) == "F" else "--"
        axes.axvline(row.y, color=style.EXACT, linestyle=dashes, linewidth=0.8, zorder=1)
    axes.set_xlim(*_limits(found, known))
    right = axes.get_xlim()[1]
    for row in found.itertuples():
        k, graph = rules.index(row.series), _graph(row.method)
        y = k + (-0.15 if graph == "F" else 0.15)
        look = {"color": style.RESERVE[k], "fillstyle": "full" if graph == "F" else "none"}
        if row.y > right:
            axes.plot(right, y, ">", markersize=4, clip_on=False, **look)
            dot_plot.name_edge(axes, y, right, True, dot_plot.short(row.y), look["color"])
        else:
            axes.plot(row.y, y, "o", markersize=4, **look)
            axes.hlines(y, row.y_low, row.y_high, color=look["color"], lw=1)


def _limits(found: pd.DataFrame, known: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold the published values and every mean with its bar but those far out.

    Without published values, all means.
    """
    values = found["y"][np.isfinite(found["y"])]
    largest = (known["y"] if len(known) else values).max()
    lowest = min([*values, *known["y"]])
    near = found[found["y"] <= largest + _REACH * (largest - lowest)]
    ends = [*near["y_low"], *near["y_high"], lowest, largest]  # a single run has no bar
    low, high = np.nanmin(ends), np.nanmax(ends)
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin
