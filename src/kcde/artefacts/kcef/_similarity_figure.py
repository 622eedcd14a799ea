"""A table of p-values as a picture: ours over the seeds beside the published one."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.plots import style
from kcde.artefacts.tables import page
from kcde.artefacts.tables.markdown import probability
from kcde.artefacts.tables.methods import column_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST = 1e-6
_ROW, _HEAD = 0.17, 0.75  # inches


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a table of p-values to `<stem>.md`, and to `<stem>.png` and `<stem>.pdf`.

    Parameters
    ----------
    artefact
        Gives the metric.
    table
        As `kcde.artefacts.tables.building.read` returns it.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The files written.
    """
    pages = page.write(artefact, table, stem)
    primary = table[table["metric"] == artefact.metric]
    ranges = page.ranges(table)
    places, names = _places(primary)
    with style.figure(style.PAGE, _HEAD + _ROW * (max(places) + 1)) as (made, axes):
        for place, row in zip(places, primary.to_dict("records"), strict=True):
            _draw_row(axes, place, row, ranges)
        for start, dataset in names:
            axes.annotate(
                dataset,
                (0.0, start),
                xycoords=axes.get_yaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                weight="bold",
                va="center",
            )
        _dress(axes, places, primary)
        return [*pages, *style.save(made, stem)]


def _places(primary: pd.DataFrame) -> tuple[list[float], list[tuple[float, str]]]:
    """Return the height of each row, and of the data set's name above its first row."""
    places, names, at = [], [], -1.0
    for dataset in primary["dataset"]:
        if not names or names[-1][1] != dataset:
            at += 1.0
            names.append((at, dataset))
        at += 1.0
        places.append(at)
    return places, names


def _draw_row(axes: "Axes", place: float, row: dict, ranges: dict) -> None:
    rival = next((name for name in ("NADE", "KEF") if f" {name} " in row["method"]), "KCEF")
    colour = style.line(rival)["color"]
    ends = ranges.get((row["dataset"], row["method"], row["variant"]), (row["mean"],) * 2)
    axes.hlines(place, *np.maximum(ends, _LOWEST), colors=colour, linewidth=2.4, alpha=0.5)
    ours = max(row["mean"], _LOWEST)
    axes.plot(ours, place, "o", color=colour, markersize=4, clip_on=False, zorder=3)
    if row["variant"] == AS_PUBLISHED and np.isfinite(row["published_mean"]):
        look = {"markersize": 5, "markerfacecolor": "white", "color": colour, "mew": 1.0}
        axes.plot(max(row["published_mean"], _LOWEST), place, "o", zorder=4, **look)
    axes.annotate(
        probability(row["mean"]),
        (1.0, place),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        color=colour,
        fontsize=7,
        va="center",
        annotation_clip=False,
    )


def _dress(axes: "Axes", places: list[float], primary: pd.DataFrame) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LOWEST, 1.0)
    axes.set_ylim(max(places) + 0.7, -0.7)
    axes.axvline(SIGNIFICANCE, color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
    axes.annotate(
        "5%",
        (SIGNIFICANCE, 1.0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        color=style.GREY,
        fontsize=7,
        annotation_clip=False,
    )
    titles = [
        column_title(*pair) for pair in zip(primary["method"], primary["variant"], strict=True)
    ]
    axes.set_yticks(places, titles)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("p-value of the null hypothesis named; small: KCEF's samples are closer")
    axes.set_title(
        "●  our median, from the lowest to the highest over the seeds   ○  published",
        loc="left",
        color=style.GREY,
        fontsize=7,
        pad=12,
    )
