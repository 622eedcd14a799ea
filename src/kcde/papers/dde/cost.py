"""Memory and seconds of one estimation (dde section 4), a figure of ours."""

from pathlib import Path

import pandas as pd

from kcde.metrics.names import FIT_SECONDS, PEAK_MEMORY, SYSTEM_MEMORY
from kcde.pages import style
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


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cost of every method at every size.

    Panels `n memory`, `n seconds`, `d memory`, `d seconds`: x is the size, y MiB or seconds, stat
    `cost`; or `needs`, the memory that a fit of the exact KEF that was not run needs, or
    `no number` for another fit that failed.
    """
    rows = []
    for panel in (f"{axis} {quantity}" for axis in _AXES for quantity in _QUANTITIES):
        axis, _, quantity = panel.partition(" ")
        for method, (name, _) in _METHODS.items():
            variant = next(iter(scores.loc[scores["method"] == method, "variant"]), "")
            known = {"panel": panel, "method": method, "variant": variant, "series": name, "n": 1}
            cost = claims.along(scores, axis, method, _QUANTITIES[quantity][0])
            at = known | {"kind": "curve", "stat": "cost"}
            rows += [at | {"x": x, "y": y} for x, y in cost.items()]
            if quantity == "memory":
                needed = claims.along(scores, axis, method, SYSTEM_MEMORY)
                for x in sorted(claims.sizes(scores, axis) - set(cost.index)):
                    stat = "needs" if x in needed else "no number"
                    at = known | {"kind": "scatter", "stat": stat}
                    rows.append(at | {"x": x, "y": needed.get(x)})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw memory above seconds, against n and against d."""
    with style.figure(style.PAGE, 4.8, columns=2, rows=2, sharey="row") as (made, axes):
        letters = iter("abcd")
        for row, (quantity, (_, label)) in zip(axes, _QUANTITIES.items(), strict=True):
            for one, (axis, words) in zip(row, _AXES.items(), strict=True):
                _draw_panel(one, frame[frame["panel"] == f"{axis} {quantity}"])
                one.set_xlabel(words)
                title = f"{quantity.capitalize()} against ${axis}$"
                style.panel_title(one, next(letters), title)
            row[0].set_ylabel(label)
        keys = [style.key(words, marker="o", **_look(m)) for m, (words, _) in _METHODS.items()]
        hollow = {"color": style.GREY, "linestyle": "none", "marker": "o", "fillstyle": "none"}
        keys.append(style.key("not run: what the system of exact KEF needs", **hollow))
        style.legend_above(made, keys, columns=3)
        return style.save(made, stem)


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for (method, stat), rows in panel.sort_values("x").groupby(["method", "stat"]):
        # An empty line without clipping has no extent on a logarithmic axis, and breaks the layout.
        hollow = {"fillstyle": "none", "linestyle": "none", "markersize": 4}
        if stat != "no number":
            look = _look(method) | (hollow if stat == "needs" else {})
            axes.plot(rows["x"], rows["y"], marker="o", clip_on=False, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted(set(panel["x"]))
    axes.set_xlim(sizes[0] / 1.1, sizes[-1])
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _look(method: str) -> dict:
    colour = style.COLOURS[method.partition("-")[0]]
    return {"color": colour, "linestyle": _METHODS[method][1], "markersize": 2.5}


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"estimation_cost": {}},
    build=build,
    draw=draw,
    claims={"D7": claims.cheaper_estimation},
    trial="fit",
)
