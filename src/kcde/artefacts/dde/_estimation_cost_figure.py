"""Drawing what estimation costs."""

import math
from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde._estimation_cost import METHODS, NEEDS
from kcde.artefacts.plots import labels, style

_HEIGHT = 4.4
_DASHES = {
    "DDE": "-",
    "DDE-penalised": "--",
    "DDE-features": ":",
    "KEF": "-",
    "KEF-nystrom": "--",
}
_QUANTITIES = {"memory": "peak memory (MiB)", "seconds": "processor seconds of one fit"}
_AXES = {"n": "points $n$, $d=2$", "d": "dimensions $d$, $n=500$"}


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the figure from its tracked CSV.

    Parameters
    ----------
    artefact
        The declaration.
    frame
        As tracked.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The PNG and the PDF.
    """
    with style.figure(style.PAGE, _HEIGHT, columns=2, rows=2, sharey="row") as (made, axes):
        panels = [(row, column) for row in range(2) for column in range(2)]
        for (row, column), letter in zip(panels, "abcd", strict=True):
            quantity, axis = list(_QUANTITIES)[row], list(_AXES)[column]
            panel = frame[frame["panel"] == f"{axis} {quantity}"]
            _draw_panel(axes[row, column], panel)
            axes[row, column].set_xlabel(_AXES[axis])
            style.panel_title(
                axes[row, column], letter, f"{quantity.capitalize()} against ${axis}$"
            )
        for row, label in enumerate(_QUANTITIES.values()):
            axes[row, 0].set_ylabel(label)
        for row in range(2):
            _name_curves(axes[row, 1], frame[frame["panel"] == f"d {list(_QUANTITIES)[row]}"])
        return style.save(made, stem)


def _colour(method: str) -> str:
    return style.COLOURS[method.partition("-")[0]]


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for method in METHODS:
        rows = panel[panel["method"] == method].sort_values("x")
        cost, colour = rows[rows["stat"] == "cost"], _colour(method)
        if not len(cost):
            continue
        axes.plot(
            cost["x"],
            cost["y"],
            color=colour,
            linestyle=_DASHES[method],
            marker="o",
            markersize=2.5,
            clip_on=False,
        )
        # An empty line without clipping has no extent on a logarithmic axis, and spoils the layout.
        if len(needs := rows[rows["stat"] == NEEDS]):
            hollow = {"markersize": 4, "fillstyle": "none", "clip_on": False}
            axes.plot(needs["x"], needs["y"], "o", color=colour, **hollow)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted(set(panel["x"]))
    axes.set_xlim(sizes[0] / 1.1, sizes[-1])
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _name_curves(axes, panel: pd.DataFrame) -> None:
    """Write the methods' names beside the right ends of their curves."""
    ends = panel[panel["stat"] == "cost"].sort_values("x").groupby("method", sort=False).last()
    bottom, top = axes.get_ylim()
    named = []
    for method, row in ends.iterrows():
        # Names are placed on a linear axis: the height at which the logarithmic one shows y.
        height = math.log(row["y"] / bottom) / math.log(top / bottom)
        place = bottom + height * (top - bottom)
        named.append(labels.Label(place, METHODS[method], _colour(method), _DASHES[method]))
    labels.beside(axes, named, _HEIGHT / 2.6)
