"""Drawing dde figures 2 and 3: snapshots of the sampler, and under them MMD² for every seed."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde._planar import METHOD
from kcde.artefacts.plots import scatter_panel, style
from kcde.artefacts.plots.scatter import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = 1.7  # inches of the lowest row
_HEAD = 0.4  # inches above and below a snapshot
_MARGIN = 0.1  # around the data, as a share of their range
_FEW = 4  # panels side by side that all have room for the word above them
_LINEAR = 100  # iterations before the logarithmic axis begins


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 2 or 3 from its tracked CSV.

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
    panels = list(dict.fromkeys(frame["panel"]))
    iterations = sorted(frame["x_right"].dropna().unique())
    side = style.PAGE / max(len(iterations), 1) + _HEAD
    heights = [*[side] * len(panels), _CURVES]
    letters = iter("abcdefghijklmnop")
    with style.page(style.PAGE, sum(heights)) as made:
        outer = made.add_gridspec(len(heights), 1, height_ratios=heights)
        for k, panel in enumerate(panels):
            row = outer[k].subgridspec(1, max(len(iterations), 1)).subplots(squeeze=False)[0]
            _draw_row(row, frame[frame["panel"] == panel], iterations, letters)
        below = outer[-1].subgridspec(1, len(panels)).subplots(squeeze=False)[0]
        for axes, panel in zip(below, panels, strict=True):
            curves = frame[(frame["panel"] == panel) & (frame["kind"] == "curve")]
            _draw_curves(axes, curves, iterations)
            style.panel_title(axes, next(letters), f"{panel}, {curves['series'].nunique()} seeds")
        below[0].set_ylabel("biased MMD² to the\ntraining points")
        note = "above each panel: its iteration" if len(iterations) > _FEW else ""
        scatter_panel.legend(made, METHOD, "training points", note)
        return style.save(made, stem)


def _draw_row(row, frame: pd.DataFrame, iterations: list[float], letters) -> None:
    """Draw the snapshots of one data set."""
    points = frame[frame["kind"] == "scatter"]
    data, samples = points[points["method"] == DATA], points[points["method"] != DATA]
    for k, (axes, iteration) in enumerate(zip(row, iterations, strict=False)):
        here = samples[samples["x_right"] == iteration]
        method = samples["method"].iloc[0]
        scatter_panel.count_outside(
            axes, scatter_panel.draw(axes, data, here, method, _MARGIN), method
        )
        word = "iteration " if len(iterations) <= _FEW else ""
        style.panel_title(axes, next(letters), f"{word}{iteration:.0f}")
        axes.set_box_aspect(1)
        axes.tick_params(labelleft=k == 0)
        axes.set_xlabel("$y_1$")
    row[0].set_ylabel(f"{frame['panel'].iloc[0]}\n$y_2$")


def _draw_curves(axes: "Axes", curves: pd.DataFrame, iterations: list[float]) -> None:
    """Draw a thin line a seed; triangles on the axis mark the iterations of the snapshots."""
    axes.set_xscale("symlog", linthresh=_LINEAR)
    axes.set_yscale("log")
    for _, curve in curves[curves["y"] > 0].groupby("series", sort=False):
        colour = style.line(curve["method"].iloc[0])["color"]
        axes.plot(curve["x"], curve["y"], color=colour, linewidth=0.6, alpha=0.8)
    axes.set_xlabel("iteration")
    axes.set_xlim(0, curves["x"].max())
    axes.plot(
        iterations,
        [0.0] * len(iterations),
        "^",
        transform=axes.get_xaxis_transform(),
        color=style.BLACK,
        markersize=3.5,
        clip_on=False,
        zorder=5,
    )
