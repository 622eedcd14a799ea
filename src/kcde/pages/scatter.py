"""Samples over the data: rows of a figure's CSV, and panels."""

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.words import display

DATA = "data"
"""The method of rows that show the data set itself."""


def points(
    panel: str, method: str, variant: str, values: np.ndarray, at_most: int, **rest
) -> list[dict]:
    """Return rows of points, evenly spaced in the order in which they were drawn."""
    chosen = np.linspace(0, len(values) - 1, min(at_most, len(values))).astype(int)
    n = len(chosen)
    return [row(panel, method, variant, x=x, y=y, n=n, **rest) for x, y in values[chosen]]


def row(panel: str, method: str, variant: str = "", **rest) -> dict:
    """Return one row of kind `scatter`; keys of `rest` are among `FIGURE_COLUMNS`."""
    return {"panel": panel, "kind": "scatter", "method": method, "variant": variant, **rest}


PALE = "#C4C4C4"
"""Colour of data behind samples, where the data have a panel of their own beside them."""


def draw_panel(
    axes, data: pd.DataFrame, samples: pd.DataFrame, method: str, margin: float, behind=style.BLACK
) -> int:
    """Draw the data, and over them samples of a method in its colour, in the frame of the data.

    The frame is wider than the data on all sides by the `margin`, a share of their range. Returned
    is how many samples lie outside it.
    """
    look = {"linestyle": "none", "marker": "o", "markersize": 1.5, "markeredgewidth": 0}
    axes.plot(data["x"], data["y"], color=behind, alpha=0.6, zorder=1, **look)
    colour = style.line(method)["color"]
    axes.plot(samples["x"], samples["y"], color=colour, alpha=0.6, zorder=2, **look)
    inside = np.ones(len(samples), dtype=bool)
    for name, limit in (("x", axes.set_xlim), ("y", axes.set_ylim)):
        low, high = float(data[name].min()), float(data[name].max())
        reach = margin * (high - low) or 1.0
        limit(low - reach, high + reach)
        inside &= samples[name].between(low - reach, high + reach).to_numpy()
    return int((~inside).sum())


def legend(made, method: str, data: str, note: str = "") -> None:
    """Name in the corner of a figure, in their colours, the points of all its panels."""
    from matplotlib.offsetbox import HPacker, TextArea

    words = {data: style.BLACK, f"samples of {display(method)}": style.line(method)["color"]}
    looks = {word: {"color": colour, "weight": "bold"} for word, colour in words.items()}
    areas = [TextArea(word, textprops=look) for word, look in looks.items()]
    areas += [TextArea(note, textprops={"color": style.GREY})] if note else []
    style.above(made, HPacker(children=areas, sep=9, pad=0, align="baseline"))
