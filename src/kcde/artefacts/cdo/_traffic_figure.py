"""Drawing cdo figure 5: a row a data set, its days at the left and the errors at the right."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.cdo._traffic_estimates import DAYS, ERRORS, LINE, METHOD, METRO, PEMS, TEST
from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import box_plots, box_statistics, style
from kcde.artefacts.tables.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.35  # inches of a data set's row
_WIDTHS = (1.5, 1.0, 1.0)
_NAMES = {PEMS: "PEMS-SF", METRO: "Metro Interstate Traffic"}
_QUANTITIES = {PEMS: "road occupancy", METRO: "vehicles an hour"}
_EDGE = 0.04  # of the shown range, around it


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 5 from its tracked CSV.

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
    days = frame[frame["panel"].str.endswith(" days")]
    datasets = [name.removesuffix(" days") for name in dict.fromkeys(days["panel"])]
    size = {"columns": 3, "rows": max(len(datasets), 1), "squeeze": False}
    size |= {"width_ratios": _WIDTHS}
    with style.figure(style.PAGE, _HEIGHT * max(len(datasets), 1), **size) as (made, axes):
        letters = iter("abcdefghi")
        for row, dataset in zip(axes, datasets, strict=False):
            named = _NAMES.get(dataset, dataset)
            _draw_days(row[0], frame[frame["panel"] == f"{dataset} days"])
            style.panel_title(row[0], next(letters), f"{named}: {DAYS} days")
            row[0].set_ylabel(_QUANTITIES.get(dataset, "y"))
            for place, quantity in enumerate(ERRORS, start=1):
                _draw_errors(row[place], frame[frame["panel"] == f"{dataset} {quantity}"], place)
                style.panel_title(row[place], next(letters), f"error of the {quantity}")
        return style.save(made, stem)


def _draw_days(axes: "Axes", days: pd.DataFrame) -> None:
    """Draw histogram, test mean and CDO's band over the hours of three days."""
    curves = days[days["kind"] == "curve"]
    test, ours = (curves[curves["method"] == name].sort_values("x") for name in (TEST, METHOD))
    _draw_histogram(axes, days[days["kind"] == "histogram"])
    colour = style.line(METHOD)["color"]
    axes.fill_between(ours["x"], ours["y_low"], ours["y_high"], color=colour, alpha=0.22, lw=0)
    axes.plot(ours["x"], ours["y"], color=colour, linewidth=1.2)
    axes.plot(test["x"], test["y"], color=style.EXACT, linewidth=0.9, linestyle=(0, (2, 1)))
    axes.set_xlim(0.0, 24.0 * DAYS)
    axes.set_xticks(np.arange(0, 24 * DAYS + 1, 12), _clock(DAYS))
    axes.set_xlabel("hour of the day")
    seen = days[["y_low", "y_high"]].to_numpy(float)
    low, high = np.nanmin(seen), np.nanmax(seen)
    # Room for the names above everything that is shown.
    axes.set_ylim(low - _EDGE * (high - low), high + 5 * _EDGE * (high - low))
    for x, text, shade in (
        (0.02, f"{display(METHOD)}: mean ± 2 sd", colour),
        (0.55, "test mean (dashed)", style.EXACT),
    ):
        look = {"color": shade, "fontsize": 7, "va": "top", "transform": axes.transAxes}
        axes.text(x, 0.985, text, **look)


def _draw_histogram(axes: "Axes", bins: pd.DataFrame) -> None:
    """Draw shares of the test outputs of each slot in grey, all slots and bins as one grid."""
    if not len(bins):
        return
    slots, levels = np.sort(bins["x"].unique()), np.sort(bins["y_low"].unique())
    # Bins without an output have no row.
    height = (bins["y_high"] - bins["y_low"]).min()
    edges = np.arange(levels[0], levels[-1] + 1.5 * height, height)
    width = (bins["x_right"] - bins["x"]).min()
    grid = np.full((len(edges) - 1, round((slots[-1] - slots[0]) / width) + 1), np.nan)
    up = np.clip(((bins["y_low"] - edges[0]) / height).round().astype(int), 0, len(grid) - 1)
    along = ((bins["x"] - slots[0]) / width).round().astype(int)
    grid[up, along] = bins["y"]
    sides = slots[0] + width * np.arange(grid.shape[1] + 1)
    top = np.nanquantile(grid, 0.98)
    axes.pcolormesh(sides, edges, grid, cmap="Greys", vmin=0.0, vmax=1.2 * top, rasterized=True)


def _clock(days: int) -> list[str]:
    return [*(["0", "12"] * days), "24"]


def _draw_errors(axes: "Axes", panel: pd.DataFrame, place: int) -> None:
    means = panel[panel["stat"] == box_statistics.MEAN]
    methods = list(dict.fromkeys(means["method"]))
    as_published = set(means.loc[means["variant"] == AS_PUBLISHED, "method"])
    ends = panel.loc[panel["stat"] == box_statistics.WHISKER_HIGH, "y"]
    axes.set_xlim(0.0, box_plots.axis_limit(ends))
    lines = panel[panel["stat"] == LINE]
    box_plots.label_rows(axes, methods, as_published, lines=len(lines))
    for line in lines.itertuples():
        look = box_plots.ReferenceLine(line.series, style.EXACT, (0, (4, 2)))
        box_plots.draw_reference_line(axes, line.y, look)
    if place > 1:  # the same lanes as beside it
        axes.set_yticklabels([])
    box_plots.draw_boxes(axes, panel, methods, as_published)
    axes.set_xlabel("|estimate/test − 1|")
