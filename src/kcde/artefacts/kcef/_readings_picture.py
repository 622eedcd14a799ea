"""The picture of kcef table2-readings: gaps to the bound above, likelihoods of UCI data below."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _grid_picture
from kcde.artefacts.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AGAINST_N, AGAINST_D = "d=3", "n=2000"
"""Panels of the grid data, named by what is fixed in them."""

PUBLISHED = "published"
"""The series of the published values."""

_HEIGHT = 4.6
_GRAPHS = {"full graph": "F", "Markov graph": "M"}
_X = {AGAINST_N: "training points $n$", AGAINST_D: "dimension $d$"}
_FACTOR = 30.0  # of the smallest gap, or published value, within which points are shown
_LOWEST_GAP = 1e-3  # nats
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
            axes[0].legend(handles=_marks(), frameon=False, fontsize=6, loc="center right")
        return style.save(made, stem)


def _marks() -> list:
    """Return what the symbols of the lower panels stand for, for a legend."""
    from matplotlib.lines import Line2D

    handles = []
    for graph, fill, dashes in (("full graph", "full", "-"), ("Markov graph", "none", "--")):
        look = {"color": style.EXACT, "markersize": 4, "fillstyle": fill}
        handles += [
            Line2D([], [], marker="o", linestyle="none", label=graph, **look),
            Line2D([], [], linestyle=dashes, linewidth=0.8, label=f"{graph}, published", **look),
        ]
    return handles


def _graph(method: str) -> str:
    """Return the graph of a method, F or M: the part of its name after the first dash."""
    return method.split("-")[1]


def _gaps(axes: "Axes", frame: pd.DataFrame, rules: list[str], panel: str, graph: str) -> None:
    own = frame[frame["method"].map(_graph) == graph]
    top = _FACTOR * max(frame["y"].min(), _LOWEST_GAP)
    colours = style.RESERVE
    for k, rule in enumerate(rules):
        curve = own[own["series"] == rule].sort_values("x")
        y = np.clip(curve["y"], _LOWEST_GAP, top)
        look = {"color": colours[k], "linestyle": _LINES[k]}
        axes.plot(curve["x"], y, **look, marker=_MARKERS[k], markersize=2.8, label=rule)
        axes.vlines(
            curve["x"],
            np.clip(curve["y_low"], _LOWEST_GAP, top),
            np.clip(curve["y_high"], _LOWEST_GAP, top),
            color=look["color"],
            linewidth=1.0,
        )
        out = curve[curve["y"] > top]
        axes.plot(out["x"], [top] * len(out), "^", color=look["color"], markersize=5)
    axes.set_yscale("log")
    if panel == AGAINST_N:
        _grid_picture.axis_of_counts(axes, frame["x"])
    axes.set_xlabel(_X[panel])


def _likelihoods(axes: "Axes", frame: pd.DataFrame, rules: list[str]) -> None:
    found = frame[frame["series"] != PUBLISHED]
    known = frame[frame["series"] == PUBLISHED]
    right = _FACTOR / 10 * (known["y"].max() if len(known) else found["y"].min())
    for row in known.itertuples():
        dashes = "-" if _graph(row.method) == "F" else "--"
        axes.axvline(row.y, color=style.EXACT, linestyle=dashes, linewidth=0.8, zorder=1)
    for row in found.itertuples():
        k, graph = rules.index(row.series), _graph(row.method)
        y = k + (-0.15 if graph == "F" else 0.15)
        look = {"color": style.RESERVE[k], "fillstyle": "full" if graph == "F" else "none"}
        axes.plot(min(row.y, right), y, ">" if row.y > right else "o", markersize=4, **look)
        axes.hlines(y, min(row.y_low, right), min(row.y_high, right), color=look["color"], lw=1)
    axes.set_xlabel("negative log-likelihood (nats)")
