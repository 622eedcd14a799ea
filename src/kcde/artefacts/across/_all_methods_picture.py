"""The cross table as a picture: distance to the best of each set, ranks and seconds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.across._all_methods_rows import GIVEN, of_methods, of_sets, shown_methods
from kcde.artefacts.judging import verdicts
from kcde.artefacts.plots import style
from kcde.artefacts.tables.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 1.0  # nats of excess from which on the colour is the same
_DARK = 0.55  # of the colour scale, from where on letters on it are white
_ROW = 0.24  # inches a method
_HEAD, _FOOT = 0.35, 1.25  # inches for titles, and for the names of the sets below
_WIDTHS = (4.6, 1.2, 0.8)
_FAILED = "✕"


def draw(table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw excess over the best of each set, mean ranks and seconds, with methods by rank.

    Parameters
    ----------
    table
        As `kcde.artefacts.tables.building.read` returns it.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The two files.
    """
    names, cells = shown_methods(table), of_sets(table)
    methods = of_methods(table).set_index("method").reindex(names)
    height = _HEAD + _FOOT + _ROW * max(len(names), 4)
    options = {"sharey": True, "gridspec_kw": {"width_ratios": _WIDTHS}}
    with style.figure(style.PAGE, height, columns=3, **options) as (made, (left, middle, right)):
        _excess(left, cells, names)
        _ranks(middle, cells, methods)
        _seconds(right, methods)
        return style.save(made, stem)


def _excess(axes: "Axes", cells: pd.DataFrame, names: list[str]) -> None:
    from matplotlib import colormaps

    datasets = list(dict.fromkeys(cells["dataset"]))
    sizes = cells.groupby("dataset", sort=False)["n_train"].first()
    colours = colormaps["Oranges"].with_extremes(bad="white")
    wide = cells.pivot(index="method", columns="dataset", values="excess")
    values = wide.reindex(index=names, columns=datasets).to_numpy(float)
    axes.imshow(values, cmap=colours, vmin=0.0, vmax=_MOST, aspect="auto")
    for cell in cells.itertuples():
        _name(axes, cell, datasets.index(cell.dataset), names.index(cell.method))
    labels = [name if np.isnan(sizes[name]) else f"{name}  {sizes[name]:.0f}" for name in datasets]
    axes.set_xticks(range(len(datasets)), labels, rotation=90, fontsize=6)
    axes.set_yticks(range(len(names)), map(_label, names))
    axes.set_xticks(np.arange(1, len(datasets)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(names)) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.0)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    style.panel_title(axes, "a", "median nats above the lowest of the set")
    legend = (
        f"data set, training rows; ▪ best or not significantly different; {_FAILED} > 5% failed"
    )
    given = "; ‡ parameters given, not ranked" if set(GIVEN) & set(names) else ""
    axes.set_xlabel(legend + given, fontsize=7)


def _label(method: str) -> str:
    return f"{display(method)} ‡" if method in GIVEN else display(method)


def _name(axes: "Axes", cell, column: int, row: int) -> None:
    """Write the excess into its cell; mark where the method is best, and where splits failed."""
    colour = "white" if cell.excess > _DARK * _MOST else "black"
    weight = "bold" if cell.best else "normal"
    options = {"ha": "center", "va": "center", "color": colour, "weight": weight}
    axes.text(column, row, _short(cell.excess), fontsize=5, **options)
    if cell.best:
        axes.plot(column, row + 0.34, "s", color=style.BLUE, markersize=1.8)
    if verdicts.too_many_failed(cell.failed, cell.n):
        axes.text(column + 0.36, row - 0.3, _FAILED, fontsize=4, **options)


def _short(value: float) -> str:
    """Return nats in at most three letters, and a sign."""
    if value <= -0.005:
        return f"−{_short(-value)}"
    if value >= 9.5:
        return f"{value:.0f}"
    if value >= 0.995:
        return f"{value:.1f}"
    return f"{value:.2f}".removeprefix("0") if value >= 0.005 else "0"


def _ranks(axes: "Axes", cells: pd.DataFrame, methods: pd.DataFrame) -> None:
    from matplotlib.ticker import MaxNLocator

    for row, (name, summary) in enumerate(methods.iterrows()):
        colour = style.line(name)["color"]
        own = cells.loc[cells["method"] == name, "rank"]
        axes.plot(own, np.full(len(own), row), "|", color=colour, alpha=0.45, markersize=5, mew=0.7)
        face = colour if summary["best"] is True else "white"
        axes.plot(summary["rank"], row, "o", color=colour, markerfacecolor=face, markersize=5)
    axes.set_xlim(0.5, methods["rank"].notna().sum() + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    style.panel_title(axes, "b", "mean rank")
    axes.set_xlabel("of a set |, of all ●;\n○ significantly\ndifferent from the first", fontsize=7)
    _dress(axes)


def _seconds(axes: "Axes", methods: pd.DataFrame) -> None:
    known = methods["seconds"].notna().to_numpy()
    rows, colours = np.flatnonzero(known), [style.line(n)["color"] for n in methods.index[known]]
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.scatter(methods["seconds"][known], rows, c=colours, s=16)
    axes.margins(x=0.2)
    style.panel_title(axes, "c", "seconds")
    axes.set_xlabel("of a split, to\nhalf a decade", fontsize=7)
    _dress(axes)


def _dress(axes: "Axes") -> None:
    axes.tick_params(axis="y", which="both", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", which="major", color="#E5E5E5", linewidth=0.5)
    axes.set_axisbelow(True)
