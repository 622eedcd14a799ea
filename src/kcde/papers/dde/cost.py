"""Memory and seconds of one estimation (dde section 4), a figure of ours."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.metrics.names import FIT_SECONDS, PEAK_MEMORY, SYSTEM_MEMORY
from kcde.pages import labels, style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import claims

_METHODS = {
    "DDE": ("DDE", "-"),
    "DDE-penalised": ("DDE, penalised", "--"),
    "DDE-features": ("DDE, features", ":"),
    "KEF": ("KEF, exact", "-"),
    "KEF-nystrom": ("KEF, Nyström", "--"),
}
"""Method of the scores to its displayed name and its line."""

_AXES = {"n": "number of points $n$ (at $d=2$)", "d": "number of dimensions $d$ (at $n=500$)"}
_QUANTITIES = {
    "memory": (PEAK_MEMORY, "peak memory (MiB)"),
    "seconds": (FIT_SECONDS, "processor time of one fit (s)"),
}
"""Quantity of a panel to its metric in the scores and the label of its axis."""

_COST, _NEEDS = "cost", "needs"
_HEIGHT = 4.4  # inches


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cost of every method at every size.

    Panels `n memory`, `n seconds`, `d memory`, `d seconds`: x is the size, y MiB or seconds, stat
    `cost`; or `needs`, the memory that a fit of the exact KEF that was not run needs, or
    `no number` for another fit that failed.
    """
    rows = []
    for axis in _AXES:
        column, other = ("n_train", "dim") if axis == "n" else ("dim", "n_train")
        sizes = pd.Index(sorted(set(scores.loc[scores[other] == scores[other].min(), column])))
        for quantity, (metric, _) in _QUANTITIES.items():
            for method, (name, _) in _METHODS.items():
                variant = next(iter(scores.loc[scores["method"] == method, "variant"]), "")
                known = {"panel": f"{axis} {quantity}", "method": method, "variant": variant}
                known |= {"series": name, "n": 1}
                cost = claims.along(scores, axis, method, metric)
                rows += [
                    known | {"kind": "curve", "x": x, "y": y, "stat": _COST}
                    for x, y in cost.items()
                ]
                if quantity == "memory":
                    needed = claims.along(scores, axis, method, SYSTEM_MEMORY)
                    rows += [
                        known
                        | {"kind": "scatter", "x": x, "y": needed.get(x, np.nan)}
                        | {"stat": _NEEDS if x in needed.index else "no number"}
                        for x in sizes.difference(cost.index)
                    ]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw memory above seconds, against n and against d."""
    options = {"columns": 2, "rows": 2, "sharey": "row"}
    with style.figure(style.PAGE, _HEIGHT + 0.2, **options) as (made, axes):
        letters = iter("abcd")
        for row, (quantity, (_, label)) in zip(axes, _QUANTITIES.items(), strict=True):
            for one, (axis, words) in zip(row, _AXES.items(), strict=True):
                panel = frame[frame["panel"] == f"{axis} {quantity}"]
                _draw_panel(one, panel)
                one.set_xlabel(words)
                title = f"{quantity.capitalize()} against ${axis}$"
                style.panel_title(one, next(letters), title)
            row[0].set_ylabel(label)
            _name_curves(row[1], panel)
        mark = {"color": style.GREY, "linestyle": "none", "marker": "o"}
        unrun = "not run: what the system of exact KEF needs"
        keys = [
            style.key("one fit, measured", markersize=2.5, **mark),
            style.key(unrun, fillstyle="none", **mark),
        ]
        style.legend_above(made, keys)
        return style.save(made, stem)


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for method, (_, dashes) in _METHODS.items():
        rows = panel[panel["method"] == method].sort_values("x")
        cost, needs = (rows[rows["stat"] == stat] for stat in (_COST, _NEEDS))
        look = {"color": _colour(method), "clip_on": False}
        # An empty line without clipping has no extent on a logarithmic axis, and breaks the layout.
        if len(cost):
            axes.plot(cost["x"], cost["y"], dashes, marker="o", markersize=2.5, **look)
        if len(needs):
            axes.plot(needs["x"], needs["y"], "o", markersize=4, fillstyle="none", **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted(set(panel["x"]))
    axes.set_xlim(sizes[0] / 1.1, sizes[-1])
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _name_curves(axes, panel: pd.DataFrame) -> None:
    """Write the methods' names beside the right ends of their curves."""
    ends = panel[panel["stat"] == _COST].sort_values("x").groupby("method", sort=False).last()
    bottom, top = axes.get_ylim()
    named = []
    for method, row in ends.iterrows():
        # Names are placed on a linear axis: the height at which the logarithmic one shows y.
        height = math.log(row["y"] / bottom) / math.log(top / bottom)
        place = bottom + height * (top - bottom)
        name, dashes = _METHODS[method]
        named.append(labels.Label(place, name, _colour(method), dashes))
    labels.beside(axes, named, _HEIGHT / 2.6)


def _colour(method: str) -> str:
    return style.COLOURS[method.partition("-")[0]]


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"estimation_cost": {}},
    build=build,
    draw=draw,
    claims={"D7": claims.cheaper_estimation},
    trial="fit",
)
