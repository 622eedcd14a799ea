"""The cross table as a picture: the distance to the best of each set."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.pages import style
from kcde.pages.methods import display
from kcde.papers.across._all_methods_rows import GIVEN, of_methods, of_sets, shown_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 1.0  # nats of excess from which on the colour is the same
_DARK = 0.55  # of the colour scale, from where on letters on it are white
_ROW = 0.2  # inches a method
_HEAD, _FOOT = 0.7, 1.2  # inches for the colour scale, and for the names of the sets below
_LETTERS = 7  # points of a number in a cell
_FAILED = "✕"


def draw(table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the excess over the best of each set, with methods by rank.

    Parameters
    ----------
    table
        As `kcde.pages.building.read` returns it.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The two files.
    """
    names, cells = shown_methods(table), of_sets(table)
    ranks = of_methods(table).set_index("method")["rank"].reindex(names)
    height = _HEAD + _FOOT + _ROW * max(len(names), 4)
    with style.figure(style.PAGE, height) as (made, axes):
        image = _excess(axes, cells, ranks)
        scale = made.colorbar(image, location="top", shrink=0.55, aspect=45, pad=0.015)
        scale.set_label("median over splits above the lowest of the set (nats)", fontsize=8)
        scale.set_ticks([0.0, 0.25, 0.5, 0.75, _MOST], labels=["0", ".25", ".5", ".75", "≥ 1"])
        scale.outline.set_visible(False)
        return style.save(made, stem)


def _excess(axes: "Axes", cells: pd.DataFrame, ranks: pd.Series):
    """Draw the cells, and return the image."""
    from matplotlib import colormaps

    names, datasets = list(ranks.index), list(dict.fromkeys(cells["dataset"]))
    sizes = cells.groupby("dataset", sort=False)["n_train"].first()
    colours = colormaps["Oranges"].with_extremes(bad="white")
    wide = cells.pivot(index="method", columns="dataset", values="excess")
    values = wide.reindex(index=names, columns=datasets).to_numpy(float)
    image = axes.imshow(values, cmap=colours, vmin=0.0, vmax=_MOST, aspect="auto")
    for cell in cells.itertuples():
        _number(axes, cell, datasets.index(cell.dataset), names.index(cell.method))
    labels = [name if np.isnan(sizes[name]) else f"{name}  {sizes[name]:.0f}" for name in datasets]
    axes.set_xticks(range(len(datasets)), labels, rotation=90)
    axes.set_yticks(range(len(names)), [_label(name, rank) for name, rank in ranks.items()])
    axes.set_xticks(np.arange(1, len(datasets)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(names)) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.0)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    legend = (
        f"data set, training rows; ▪ best or not significantly different; {_FAILED} > 5% failed"
    )
    given = "; ‡ parameters given, not ranked" if set(GIVEN) & set(names) else ""
    axes.set_xlabel(f"{legend}\nmethod, mean rank{given}", fontsize=7)
    return image


def _label(method: str, rank: float) -> str:
    """Return the name of a method with its mean rank, `‡` for one that has none."""
    return f"{display(method)}  {'‡' if np.isnan(rank) else format(rank, '.1f')}"


def _number(axes: "Axes", cell, column: int, row: int) -> None:
    """Write the excess into its cell; mark where the method is best, and where splits failed."""
    colour = "white" if cell.excess > _DARK * _MOST else "black"
    weight = "bold" if cell.best else "normal"
    options = {"ha": "center", "va": "center", "color": colour, "weight": weight}
    axes.text(column, row, _short(cell.excess), fontsize=_LETTERS, **options)
    if cell.best:
        axes.plot(column - 0.38, row - 0.3, "s", color=style.BLUE, markersize=2.5)
    if verdicts.too_many_failed(cell.failed, cell.n):
        axes.text(column + 0.38, row - 0.26, _FAILED, fontsize=5, **options)


def _short(value: float) -> str:
    """Return nats in at most three letters, and a sign."""
    if value <= -0.005:
        return f"−{_short(-value)}"
    if value >= 9.5:
        return f"{value:.0f}"
    if value >= 0.995:
        return f"{value:.1f}"
    return f"{value:.2f}".removeprefix("0") if value >= 0.005 else "0"
