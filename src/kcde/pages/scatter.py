"""Samples over the data: rows of a figure's CSV, and panels."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.words import display

DATA = "data"
"""The method of rows that show the data set itself."""


def points(
    panel: str, method: str, variant: str, values: np.ndarray, at_most: int, **rest
) -> list[dict]:
    """Return rows of points, evenly spaced in the order in which they were drawn.

    Parameters
    ----------
    panel, method, variant
        As in the CSV.
    values
        Shape (m, 2).
    at_most
        Largest number of points that are kept; the actual number is in `n`.
    **rest
        Further columns.

    Returns
    -------
    list of dict
        With keys among `FIGURE_COLUMNS`.
    """
    chosen = np.linspace(0, len(values) - 1, min(at_most, len(values))).astype(int)
    n = len(chosen)
    return [row(panel, method, variant, x=x, y=y, n=n, **rest) for x, y in values[chosen]]


def row(panel: str, method: str, variant: str = "", **rest) -> dict:
    """Return one row of kind `scatter`; keys of `rest` are among `FIGURE_COLUMNS`."""
    return {"panel": panel, "kind": "scatter", "method": method, "variant": variant, **rest}


PALE = "#C4C4C4"
"""Colour of data behind samples, where the data have a panel of their own beside them."""


def draw_panel(
    axes,
    data: pd.DataFrame,
    samples: pd.DataFrame,
    method: str,
    margin: float,
    behind: str = style.BLACK,
) -> int:
    """Draw the data, and over them samples of a method in its colour, in the frame of the data.

    Parameters
    ----------
    axes
        Of the panel.
    data, samples
        With columns `x` and `y`.
    method
        Whose samples they are.
    margin
        Around the data, as a share of their range.
    behind
        Colour of the data.

    Returns
    -------
    int
        How many samples lie outside the frame.
    """
    look = {"linestyle": "none", "marker": "o", "markersize": 1.5, "markeredgewidth": 0}
    axes.plot(data["x"], data["y"], color=behind, alpha=0.6, zorder=1, **look)
    colour = style.line(method)["color"]
    axes.plot(samples["x"], samples["y"], color=colour, alpha=0.6, zorder=2, **look)
    frame = [limits(data[name], margin) for name in "xy"]
    axes.set_xlim(*frame[0])
    axes.set_ylim(*frame[1])
    return outside(samples, frame)


def limits(values: pd.Series, margin: float) -> tuple[float, float]:
    """Return the range of some values, widened on both sides by a share of it."""
    low, high = float(values.min()), float(values.max())
    reach = margin * (high - low) or 1.0
    return low - reach, high + reach


def outside(samples: pd.DataFrame, frame: list[tuple[float, float]]) -> int:
    """Return how many samples lie outside a frame, given as limits of `x` and of `y`."""
    inside = np.ones(len(samples), dtype=bool)
    for name, (low, high) in zip("xy", frame, strict=True):
        inside &= samples[name].between(low, high).to_numpy()
    return int((~inside).sum())


def legend(made, method: str, data: str, note: str = "") -> None:
    """Name in the corner of a figure, in their colours, the points of all its panels.

    Parameters
    ----------
    made
        A figure made under `kcde.pages.style`.
    method
        Whose samples are shown.
    data
        Name of the data.
    note
        A remark that holds for all panels.
    """
    from matplotlib.offsetbox import HPacker, TextArea

    words = {data: style.BLACK, f"samples of {display(method)}": style.line(method)["color"]}
    areas = [
        TextArea(word, textprops={"color": colour, "weight": "bold"})
        for word, colour in words.items()
    ]
    areas += [TextArea(note, textprops={"color": style.GREY})] if note else []
    style.above(made, HPacker(children=areas, sep=9, pad=0, align="baseline"))


def count_outside(axes, outside: int, method: str) -> None:
    """State above the right edge of a panel how many samples of a method lie outside, if any."""
    if outside:
        colour = style.line(method)["color"]
        axes.set_title(f"{outside} out", loc="right", fontsize=6, color=colour)


def heading(axes, letter: str, text: str, colour: str, notes: Sequence[str] = ()) -> None:
    """Name above a panel, in their colour, whose points are shown, and remark on them.

    Parameters
    ----------
    axes
        The heading stands above its left edge, the remarks above its right one.
    letter, text, colour
        Of the panel and of its points.
    notes
        A line each; the last stands beside the heading.
    """
    axes.set_title(f"$\\bf{{{letter}}}$  {text}", loc="left", color=colour, fontsize=7)
    axes.set_title("\n".join(notes), loc="right", color=style.GREY, fontsize=6)
