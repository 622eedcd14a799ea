"""Drawing kcef figures 2 and 4: samples over the data, a panel a data set and sampler."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts import style
from kcde.artefacts.declaration import Artefact
from kcde.artefacts.methods import display
from kcde.artefacts.slices import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 2.3  # inches of a panel
_MARGIN = 0.06  # of the data's range, around them


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 2 or 4 from its tracked CSV: a row a data set where several samplers are shown.

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
    datasets = list(dict.fromkeys(frame["panel"]))
    methods = [name for name in dict.fromkeys(frame["method"]) if name != DATA]
    pairs = [(dataset, method) for dataset in datasets for method in methods]
    rows, columns = (len(datasets), len(methods)) if len(methods) > 1 else (1, len(datasets))
    width = style.PAGE if columns > 1 else style.COLUMN
    height = rows * (_SIDE if columns > 2 else 1.2 * _SIDE)
    with style.figure(width, height, columns, rows, squeeze=False) as (made, axes):
        for letter, one, (dataset, method) in zip("abcdefghij", axes.flat, pairs, strict=False):
            outside = _draw_panel(one, frame[frame["panel"] == dataset], method)
            _name(one, letter, dataset if rows == 1 else "", method, outside)
            # Panels of a row share their axis, and its name says which data set they show.
            if rows > 1:
                label = f"{dataset}\n{one.get_ylabel()}" if method == methods[0] else ""
                one.set_ylabel(label, fontsize=7)
        return style.save(made, stem)


def _draw_panel(axes: "Axes", frame: pd.DataFrame, method: str) -> int:
    """Draw the points and return how many samples lie outside the frame."""
    points = frame[frame["stat"].isna()]
    data, samples = points[points["method"] == DATA], points[points["method"] == method]
    colour = style.line(method)["color"]
    limits = [_limits(data[name]) for name in "xy"]
    look = {"linestyle": "none", "marker": "o", "markersize": 1.5, "markeredgewidth": 0}
    axes.plot(data["x"], data["y"], color=style.BLACK, alpha=0.6, zorder=1, **look)
    axes.plot(samples["x"], samples["y"], color=colour, alpha=0.6, zorder=2, **look)
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    for name, set_label in (("x", axes.set_xlabel), ("y", axes.set_ylabel)):
        label = frame.loc[frame["stat"] == f"{name}_label", "series"].iloc[0]
        set_label(f"{label} (sd)", fontsize=7)
    return _outside(samples, limits)


def _limits(values: pd.Series) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * (high - low) or 1.0
    return low - margin, high + margin


def _outside(samples: pd.DataFrame, limits: list[tuple[float, float]]) -> int:
    inside = np.ones(len(samples), dtype=bool)
    for name, (low, high) in zip("xy", limits, strict=True):
        inside &= samples[name].between(low, high).to_numpy()
    return int((~inside).sum())


def _name(axes: "Axes", letter: str, dataset: str, method: str, outside: int) -> None:
    """Say above a panel whose points are shown, in their colours, and how many are not."""
    from matplotlib.offsetbox import AnchoredOffsetbox, HPacker, TextArea

    colour = style.line(method)["color"]
    bold = {"weight": "bold"}
    words = [
        (letter, {"size": 8, **bold}),
        (dataset, {"size": 8}),
        ("data", {"size": 7, **bold}),
        (display(method), {"size": 7, "color": colour, **bold}),
        (f"({outside} out)" if outside else "", {"size": 6, "color": colour}),
    ]
    areas = [TextArea(word, textprops=look) for word, look in words if word]
    place = AnchoredOffsetbox(
        loc="lower left",
        child=HPacker(children=areas, sep=5, pad=0, align="baseline"),
        frameon=False,
        pad=0,
        borderpad=0.3,
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=axes.transAxes,
    )
    axes.add_artist(place)
