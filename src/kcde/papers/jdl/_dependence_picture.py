"""The picture of jdl dependence: losses against the correlation, a panel for each method."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.papers.artefact import Artefact
from kcde.papers.jdl import _moments
from kcde.papers.jdl._curves import BASELINE, CONSTRAINED, UNCONSTRAINED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.9
_NEIGHBOURS = 15
_ORDER = ("JDL", "CME", "JPDL")
_LINES = {
    UNCONSTRAINED: ("unconstrained", style.BLACK, "-"),
    CONSTRAINED: ("constrained as in the paper", style.VERMILLION, "--"),
    "sub-grid": ("JDL: positive on a sub-grid", style.BLUE, ":"),
    "clipped and renormalised": ("JDL: clipped and renormalised", style.GREEN, "-."),
    BASELINE: ("ignoring x", style.GREY, (0, (6, 2))),
}
"""Series to its name, colour and dashes."""

_PAPER = "(33)"
"""The series of JDL that is constrained as in the paper."""


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each method: points, means of neighbours, and what ignores x."""
    panels = [name for name in _ORDER if name in set(frame["panel"])]
    frame = frame.assign(series=frame["series"].replace(_PAPER, CONSTRAINED))
    size = {"columns": len(panels), "sharey": True, "squeeze": False}
    with style.figure(style.PAGE, _HEIGHT, **size) as (made, axes):
        for one, panel, letter in zip(axes[0], panels, "abc", strict=False):
            _panel(one, frame[frame["panel"] == panel])
            style.panel_title(one, letter, panel)
            one.set_xlabel("correlation $|\\rho|$")
        axes[0, 0].set_yscale("log")
        axes[0, 0].set_ylabel(_moments.LOSS_LABEL)
        style.legend_above(made, _keys(set(frame["series"])), columns=4)
        return style.save(made, stem)


def _keys(drawn: Collection[str]) -> list:
    lines = [
        style.key(name, color=colour, linestyle=dashes)
        for series, (name, colour, dashes) in _LINES.items()
        if series in drawn
    ]
    dot = {"marker": ".", "markersize": 3, "linestyle": "none"}
    mean = style.key(f"geometric mean of {_NEIGHBOURS} neighbours", color=style.GREY)
    return [*lines, style.key("one matrix", color=style.GREY, **dot), mean]


def _panel(axes: "Axes", frame: pd.DataFrame) -> None:
    for series, points in frame.groupby("series", sort=False):
        points = points.sort_values("x")
        middle = _smoothed(points["y"].to_numpy())
        _, colour, dashes = _LINES[series]
        if series != BASELINE:
            axes.plot(points["x"], points["y"], ".", color=colour, markersize=1.5, alpha=0.5)
        axes.plot(points["x"], middle, color=colour, linestyle=dashes)


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Return the geometric mean of each value and its neighbours, fewer at the ends."""
    reach = _NEIGHBOURS // 2
    logs = np.log(values)
    ends = [(max(0, i - reach), i + reach + 1) for i in range(len(logs))]
    return np.exp([logs[start:stop].mean() for start, stop in ends])
