"""A table of negative log-likelihoods as a picture: ours beside the published value."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts import markdown, style
from kcde.artefacts.declaration import Artefact
from kcde.artefacts.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOWEST, _HIGHEST = -3.0, 4.5  # nats; what lies beyond is an arrow at the edge
_MARGIN = 0.3
_ROW = 0.36  # inches a data set
_HEAD = 0.75  # inches for the legend and the axis


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a table to `<stem>.md`, and to `<stem>.png` and `<stem>.pdf` as a picture.

    Parameters
    ----------
    artefact
        Gives the metric and the order of the methods.
    table
        As `kcde.artefacts.tables.read` returns it.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The files written.
    """
    pages = markdown.write(artefact, table, stem)
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    methods = [name for name in artefact.methods if name in set(primary["method"])]
    height = _HEAD + _ROW * max(len(datasets), 2)
    limits = _limits(primary)
    with style.figure(style.PAGE, height) as (made, axes):
        for lane, method in zip(_lanes(len(methods)), methods, strict=True):
            cells = primary[primary["method"] == method].set_index("dataset").reindex(datasets)
            _draw_method(axes, np.arange(len(datasets)) + lane, cells, method, limits)
        _dress(axes, datasets, limits)
        _key(made, methods)
        return [*pages, *style.save(made, stem)]


def _lanes(count: int) -> np.ndarray:
    """Return vertical offsets that keep the methods of one data set apart."""
    return np.linspace(-0.3, 0.3, count) if count > 1 else np.zeros(count)


def _limits(primary: pd.DataFrame) -> tuple[float, float]:
    """Return an axis that holds every value, but no explosion."""
    values = primary[["mean", "median", "published_mean"]].to_numpy(float)
    values = values[(values > _LOWEST) & (values < _HIGHEST)]
    if not len(values):
        return _LOWEST, _HIGHEST
    return max(values.min() - _MARGIN, _LOWEST), min(values.max() + _MARGIN, _HIGHEST)


def _draw_method(
    axes: "Axes", rows: np.ndarray, cells: pd.DataFrame, method: str, limits: tuple[float, float]
) -> None:
    colour = style.line(method)["color"]
    mean, published = cells["mean"].to_numpy(float), cells["published_mean"].to_numpy(float)
    ours, theirs = (np.clip(values, *limits) for values in (mean, published))
    axes.hlines(rows, ours, theirs, colors=colour, linewidth=0.8)
    # The spread as it is, not as the verdict caps it: an exploding split makes the mean uncertain.
    reach = 2.0 * (cells["std"] / np.sqrt(cells["n"])).to_numpy(float)
    inside = (mean >= limits[0]) & (mean <= limits[1])
    axes.errorbar(
        mean[inside],
        rows[inside],
        xerr=reach[inside],
        fmt="o",
        color=colour,
        markersize=3.5,
        elinewidth=2.4,
        alpha=0.9,
        zorder=3,
    )
    axes.plot(
        theirs, rows, "o", markersize=4.5, markerfacecolor="white", color=colour, zorder=4, mew=1.0
    )
    median = cells["median"].to_numpy(float)
    axes.plot(median, rows, "|", color=colour, markersize=6, mew=1.2, zorder=2)
    for row, value in zip(rows[~inside], mean[~inside], strict=True):
        _beyond(axes, row, value, colour, limits)


def _beyond(
    axes: "Axes", row: float, value: float, colour: str, limits: tuple[float, float]
) -> None:
    """Mark a mean outside the axis by an arrow head at its edge and its value."""
    if not np.isfinite(value):
        return
    right = value > limits[1]
    edge = limits[1] if right else limits[0]
    axes.plot(edge, row, ">" if right else "<", color=colour, markersize=4, clip_on=False)
    axes.annotate(
        f"{value:.3g}",
        (edge, row),
        xytext=(5 if right else -5, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=6,
        color=colour,
        annotation_clip=False,
    )


def _dress(axes: "Axes", datasets: Sequence[str], limits: tuple[float, float]) -> None:
    axes.set_xlim(*limits)
    axes.set_ylim(len(datasets) - 0.5, -0.5)
    axes.set_yticks(range(len(datasets)), datasets)
    axes.tick_params(axis="y", length=0)
    axes.hlines(np.arange(len(datasets) - 1) + 0.5, *limits, colors="#DDDDDD", linewidth=0.5)
    axes.set_xlabel("negative log-likelihood of standardised y (nats); lower is better")


def _key(made, methods: Sequence[str]) -> None:
    """Name the methods in their colours, and say what the marks are, above the axes."""
    from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea

    words = [(display(name), style.line(name)["color"]) for name in methods]
    marks = "●  ours ± 2 standard errors   |  our median   ○  published"
    areas = [
        TextArea(word, textprops={"color": colour, "weight": "bold"}) for word, colour in words
    ]
    areas.append(TextArea(marks, textprops={"color": style.GREY}))
    box = HPacker(children=areas, sep=9, pad=0, align="baseline")
    axes = made.axes[0]
    place = AnchoredOffsetbox(
        loc="lower left",
        child=box,
        frameon=False,
        pad=0,
        borderpad=0.2,
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=axes.transAxes,
    )
    axes.add_artist(place)
