"""The picture of table 1 under every reading of its grid: a panel a data set."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence.verdicts import too_many_failed
from kcde.experiments.table1_readings import DRAWN, READINGS, Reading
from kcde.pages import style
from kcde.pages.markdown import magnitude
from kcde.papers.artefact import Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLUMNS = 5
_PANEL, _HEAD = 1.4, 0.75  # inches
_PAD = 5.5  # points below a title, so that marks at the upper edge do not reach it
_RANGE = 2.5  # nats that a panel shows above its lowest value, at most
_SMALL, _LARGE = 3.2, 6.0  # of markers; the large one is the reading that is drawn elsewhere
_EDGE = "#08306B"

_BY_NAME = {f"{reading}": reading for reading in READINGS}
_SHAPES = dict(zip(dict.fromkeys(each.sigma_range for each in READINGS), "os^D", strict=True))
# Dark where λ may be small, so that the scale is read without colour.
_SHADES = dict(
    zip(
        dict.fromkeys(each.regularization_range for each in READINGS),
        (_EDGE, "#2E7EBC", "#7FB8DA", "#D0E4F2"),
        strict=True,
    )
)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw means and medians of each data set by reading, and the published value as a line.

    Parameters
    ----------
    artefact
        The declaration.
    frame
        As tracked: rows of the kind `scatter`.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The two files.
    """
    shown = frame[frame["kind"] == "scatter"]
    panels = list(shown.groupby("panel", sort=False))
    rows = -(-len(panels) // _COLUMNS)
    height = _HEAD + _PANEL * rows
    with style.figure(style.PAGE, height, _COLUMNS, rows, squeeze=False) as (made, grid):
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, (name, cells) in zip(grid.flat, panels, strict=False):
            _panel(axes, name, cells)
        of_data = shown.loc[shown["stat"] == "mean", "series"].nunique()
        made.supxlabel(f"{of_data} readings, sorted by mean", fontsize=8)
        made.supylabel("negative log-likelihood (nats); lower is better", fontsize=8)
        style.above(made, _legend())
        return style.save(made, stem)


def _panel(axes: "Axes", name: str, cells: pd.DataFrame) -> None:
    values = cells.pivot(index="series", columns="stat", values="y")
    readings = cells[cells["stat"] == "mean"].sort_values("x").set_index("series")
    values = values.reindex(readings.index)
    published = cells.loc[cells["stat"] == "published", "y"]
    low, high = _limits(np.concatenate([*values[["mean", "median"]].to_numpy(float), published]))
    for value in published:
        axes.axhline(value, color=style.VERMILLION, linewidth=1.0, zorder=1)
    for (series, place, n), row in zip(
        readings[["x", "n"]].itertuples(), values.itertuples(), strict=True
    ):
        _mark(axes, _BY_NAME[series], place, row.mean, high)
        axes.plot(place, min(row.median, high), "_", color=style.GREY, markersize=3.5, mew=0.8)
        if too_many_failed(int(row.failed), int(n)):
            axes.plot(place, low, "x", color=style.BLACK, markersize=2.8, mew=0.6, clip_on=False)
    axes.set_xlim(-0.5, len(readings) + 1.5)
    axes.set_ylim(low, high)
    axes.set_xticks([])
    axes.locator_params(axis="y", nbins=4)
    axes.set_title(name, loc="left", fontsize=7, weight="bold", pad=_PAD)
    _say_what_is_above(axes, values["mean"].to_numpy(float), high)


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Return the ends of the axis: a range from the lowest value; what is above is cut."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    lowest, highest = finite.min(), min(finite.max(), finite.min() + _RANGE)
    margin = 0.08 * max(highest - lowest, 0.1)
    return lowest - 2 * margin, highest + margin


def _mark(axes: "Axes", reading: Reading, place: float, mean: float, high: float) -> None:
    """Draw the mean of a reading, at the upper edge where it is above or no split is finite."""
    drawn = reading == DRAWN
    axes.plot(
        place,
        min(mean, high) if np.isfinite(mean) else high,
        **_look(reading),
        markersize=_LARGE if drawn else _SMALL,
        markeredgecolor=style.BLACK if drawn else _EDGE,
        markeredgewidth=1.2 if drawn else 0.4,
        clip_on=False,
        zorder=4 if drawn else 3,
    )


def _look(reading: Reading) -> dict[str, str]:
    colour, shape = _SHADES[reading.regularization_range], _SHAPES[reading.sigma_range]
    return {"color": colour, "marker": shape, "linestyle": "none"}


def _say_what_is_above(axes: "Axes", means: np.ndarray, high: float) -> None:
    above = means[~(means <= high)]
    if not len(above):
        return
    finite = above[np.isfinite(above)]
    upto = f"≤ {_size(finite.max())}" if len(finite) else "not finite"
    said = f"{len(above)} above,\n{upto}"
    axes.set_title(said, loc="right", fontsize=6, color=style.GREY, pad=_PAD)


def _size(value: float) -> str:
    return f"{value:.0f}" if value < 1000 else magnitude(value)


def _legend():
    """Return two lines: what shapes and shades mean, and what else is drawn."""
    from matplotlib.offsetbox import HPacker, VPacker

    pale = _SHADES[DRAWN.regularization_range]
    shapes = [_key(name, pale, shape) for name, shape in _SHAPES.items()]
    shades = [_key(name, shade, "s") for name, shade in _SHADES.items()]
    drawn = {"markersize": _LARGE, "markeredgecolor": style.BLACK, "markeredgewidth": 1.2}
    others = [
        _key("mean, as drawn in table 1", pale, _SHAPES[DRAWN.sigma_range], **drawn),
        _key("median", style.GREY, "_", markeredgecolor=style.GREY, markersize=5),
        _key("published", style.VERMILLION, "", linestyle="-", linewidth=1.0),
        _key("more than 5% of the splits failed", style.BLACK, "x", markeredgecolor=style.BLACK),
    ]
    lines = [
        [_words("mean; σ in"), *shapes, _words("   λ in"), *shades],
        others,
    ]
    packed = [HPacker(children=each, sep=9, pad=0, align="center") for each in lines]
    return VPacker(children=packed, sep=4, pad=0, align="left")


def _words(text: str):
    from matplotlib.offsetbox import TextArea

    return TextArea(text, textprops={"color": style.GREY, "fontsize": 7})


def _key(text: str, colour: str, marker: str, **options: object):
    """Return a marker, or a stroke, and its words."""
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import DrawingArea, HPacker

    area = DrawingArea(10, 8, 0, 0)
    look = {"color": colour, "marker": marker, "markersize": 4, "linestyle": "none"}
    look |= {"markeredgecolor": _EDGE, "markeredgewidth": 0.6}
    places: Iterable[float] = (0, 10) if options.get("linestyle") else (5,)
    area.add_artist(Line2D(list(places), [4.0] * len(list(places)), **look | options))
    return HPacker(children=[area, _words(text)], sep=2, pad=0, align="center")
