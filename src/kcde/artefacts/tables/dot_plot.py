"""A table of negative log-likelihoods as a dot plot: ours and the published value."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import style
from kcde.artefacts.tables import page
from kcde.artefacts.tables.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN = 0.3
_DATASET, _ROW = 0.36, 0.085  # inches of a data set at least, and of a method in it
_FEW, _WIDE_ROW = 6, 0.15  # with so few data sets a number fits at the end of every row
_MANY, _NARROW_ROW = 6, 0.075  # with more methods rows are narrower, to fit on a page
_HEAD = 0.75  # inches for the legend and the axis
_IN_A_LINE = 40  # letters of the methods' names up to which the marks fit in the same line
_NAMES, _LETTERS = 6, 78  # methods, and letters of their names, in a line of the legend
_GLYPHS = {
    "o": ("●", "○"),
    "s": ("■", "□"),
    "^": ("▲", "△"),
    "D": ("◆", "◇"),
    "v": ("▼", "▽"),
    "*": ("★", "☆"),
}
"""Marker to its letters, full and open."""


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page of a table, and its primary metric as a picture."""
    return [*page.write(artefact, table, stem), *picture(artefact, table, stem)]


def picture(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the primary metric of a table, with a dot per method in each data set's rows.

    Values beyond the widest range of `artefact.axis` become arrows with their number.
    """
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    found = dict.fromkeys(primary["method"])
    methods = [name for name in artefact.methods if name in found]
    methods += [name for name in found if name not in methods]
    row = _NARROW_ROW if len(methods) > _MANY else _ROW
    row = _WIDE_ROW if len(datasets) <= _FEW else row
    height = _HEAD + max(_DATASET, row * len(methods)) * max(len(datasets), 2)
    limits = _limits(primary, artefact.axis)
    with style.figure(style.PAGE, height) as (made, axes):
        for offset, method in zip(offsets(len(methods)), methods, strict=True):
            cells = primary[primary["method"] == method].set_index("dataset").reindex(datasets)
            _draw_method(axes, np.arange(len(datasets)) + offset, cells, method, limits)
        _dress(axes, datasets, limits, artefact.axis_label)
        _draw_legend(axes, methods, answered(primary))
        return style.save(made, stem)


def offsets(count: int) -> np.ndarray:
    """Return the vertical offsets of the methods of one data set from its centre."""
    reach = 0.36 if count > _MANY else 0.3
    return np.linspace(-reach, reach, count) if count > 1 else np.zeros(count)


def _limits(primary: pd.DataFrame, widest: tuple[float, float]) -> tuple[float, float]:
    """Return axis limits that include every value within the widest range."""
    values = primary[["mean", "median", "published_mean"]].to_numpy(float)
    values = values[(values > widest[0]) & (values < widest[1])]
    if not len(values):
        return widest
    return max(values.min() - _MARGIN, widest[0]), min(values.max() + _MARGIN, widest[1])


def _draw_method(
    axes: "Axes", rows: np.ndarray, cells: pd.DataFrame, method: str, limits: tuple[float, float]
) -> None:
    colour, marker = style.line(method)["color"], style.marker(method)
    mean, published = cells["mean"].to_numpy(float), cells["published_mean"].to_numpy(float)
    ours, theirs = (np.clip(values, *limits) for values in (mean, published))
    axes.hlines(rows, ours, theirs, colors=colour, linewidth=0.8)
    # The full spread, not capped as in the verdict: an exploding split makes the mean uncertain.
    reach = 2.0 * (cells["std"] / np.sqrt(cells["n"])).to_numpy(float)
    inside = (mean >= limits[0]) & (mean <= limits[1])
    axes.errorbar(
        mean[inside],
        rows[inside],
        xerr=reach[inside],
        fmt=marker,
        color=colour,
        markersize=3.5,
        elinewidth=2.4,
        alpha=0.9,
        zorder=3,
    )
    shown = (published >= limits[0]) & (published <= limits[1])
    axes.plot(
        published[shown],
        rows[shown],
        marker,
        linestyle="none",
        markersize=4.5,
        markerfacecolor="white",
        color=colour,
        zorder=4,
        mew=1.0,
    )
    median = cells["median"].to_numpy(float)
    within = (median >= limits[0]) & (median <= limits[1])
    axes.plot(median[within], rows[within], "|", color=colour, markersize=6, mew=1.2, zorder=2)
    for place in np.flatnonzero(~inside | ~shown):
        _beyond(axes, rows[place], (mean[place], published[place]), colour, limits)


def _beyond(
    axes: "Axes",
    row: float,
    values: tuple[float, float],
    colour: str,
    limits: tuple[float, float],
) -> None:
    """Mark a mean (full) or a published value (open) outside the axis by an arrow at its edge."""
    for right in (False, True):
        edge = limits[1] if right else limits[0]
        out = [np.isfinite(v) and (v > edge if right else v < edge) for v in values]
        if not any(out):
            continue
        axes.plot(
            edge,
            row,
            ">" if right else "<",
            color=colour,
            markerfacecolor=colour if out[0] else "white",
            markersize=4,
            clip_on=False,
            zorder=5,
        )
        said = [f"{values[0]:.3g}"] if out[0] else []
        said += [f"({values[1]:.3g})"] if out[1] else []
        _name_edge(axes, row, edge, right, " ".join(said), colour)


def _name_edge(axes: "Axes", row: float, edge: float, right: bool, text: str, colour: str) -> None:
    axes.annotate(
        text,
        (edge, row),
        xytext=(5 if right else -5, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=6,
        color=colour,
        annotation_clip=False,
    )


def _dress(axes: "Axes", datasets: Sequence[str], limits: tuple[float, float], label: str) -> None:
    axes.set_xlim(*limits)
    axes.set_ylim(len(datasets) - 0.5, -0.5)
    axes.set_yticks(range(len(datasets)), datasets)
    axes.tick_params(axis="y", length=0)
    axes.hlines(np.arange(len(datasets) - 1) + 0.5, *limits, colors="#DDDDDD", linewidth=0.5)
    axes.set_xlabel(label)


def _draw_legend(axes: "Axes", methods: Sequence[str], answered: Collection[str]) -> None:
    from matplotlib.offsetbox import AnchoredOffsetbox

    place = AnchoredOffsetbox(
        loc="lower left",
        child=legend(methods, answered),
        frameon=False,
        pad=0,
        borderpad=0.2,
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=axes.transAxes,
    )
    axes.add_artist(place)


def answered(table: pd.DataFrame) -> set[str]:
    """Return the methods that have a published number."""
    return set(table.loc[table["published_mean"].notna(), "method"])


def legend(methods: Sequence[str], answered: Collection[str]):
    """Return a matplotlib box that names methods in their colours and explains the marks.

    Parameters
    ----------
    methods
        In their order.
    answered
        Those that have a published number.

    Returns
    -------
    matplotlib.offsetbox.PackerBase
    """
    from matplotlib.offsetbox import HPacker, TextArea, VPacker

    ours, theirs = _glyphs(methods, 0), _glyphs([m for m in methods if m in answered], 1)
    several = len(set(map(style.marker, methods))) > 1
    names = []
    for method in methods:
        mark = f" {_GLYPHS[style.marker(method)][0]}" if several else ""
        look = {"color": style.line(method)["color"], "weight": "bold"}
        names.append(TextArea(display(method) + mark, textprops=look))
    marks = f"{ours}  ours ± 2 standard errors   |  our median"
    marks += f"   {theirs}  published" if theirs else ""
    said = TextArea(marks, textprops={"color": style.GREY})
    if not several and sum(len(display(name)) for name in methods) <= _IN_A_LINE:
        return HPacker(children=[*names, said], sep=9, pad=0, align="baseline")
    rows: list[list] = [[]]
    for name in names:
        letters = sum(len(each.get_text()) for each in [*rows[-1], name])
        if len(rows[-1]) == _NAMES or letters > _LETTERS:
            rows.append([])
        rows[-1].append(name)
    lines = [HPacker(children=row, sep=9, pad=0, align="baseline") for row in rows]
    return VPacker(children=[*lines, said], sep=4, pad=0, align="left")


def _glyphs(methods: Sequence[str], which: int) -> str:
    """Return the markers of some methods, without repetition, as full (0) or open (1) letters."""
    return " ".join(dict.fromkeys(_GLYPHS[style.marker(name)][which] for name in methods))
