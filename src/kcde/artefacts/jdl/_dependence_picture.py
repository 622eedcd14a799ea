"""The picture of jdl dependence: losses against the correlation, a panel for each method."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _moments
from kcde.artefacts.jdl._curves import BASELINE, UNCONSTRAINED
from kcde.artefacts.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.6
_NEIGHBOURS = 15
_ORDER = ("JDL", "CME", "JPDL")
_LINES = ("-", "--", ":", "-.")


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each method: points, means of neighbours, and what ignores x dashed."""
    panels = [name for name in _ORDER if name in set(frame["panel"])]
    size = {"columns": len(panels), "sharey": True, "squeeze": False}
    with style.figure(style.PAGE, _HEIGHT, **size) as (made, axes):
        for one, panel, letter in zip(axes[0], panels, "abc", strict=False):
            _panel(one, frame[frame["panel"] == panel])
            style.panel_title(one, letter, panel)
            one.set_xlabel("correlation $|\\rho|$")
        axes[0, 0].set_yscale("log")
        axes[0, 0].set_ylabel(_moments.LOSS_LABEL)
        return style.save(made, stem)


def _panel(axes: "Axes", frame: pd.DataFrame) -> None:
    others = iter((style.VERMILLION, style.BLUE, style.GREEN))
    lines = iter(_LINES)
    for series, points in frame.groupby("series", sort=False):
        points = points.sort_values("x")
        middle = _smoothed(points["y"].to_numpy())
        if series == BASELINE:
            axes.plot(points["x"], middle, color=style.GREY, linestyle="--", label="ignoring x")
            continue
        colour = style.BLACK if series == UNCONSTRAINED else next(others)
        axes.plot(points["x"], points["y"], ".", color=colour, markersize=1.5, alpha=0.5)
        axes.plot(points["x"], middle, color=colour, linestyle=next(lines), label=series)
    axes.legend(frameon=False, fontsize=6)


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Return the geometric mean of each value and its neighbours, fewer at the ends."""
    reach = _NEIGHBOURS // 2
    logs = np.log(values)
    ends = [(max(0, i - reach), i + reach + 1) for i in range(len(logs))]
    return np.exp([logs[start:stop].mean() for start, stop in ends])
