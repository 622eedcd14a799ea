"""dde table 1 as a picture: MMD and sampling time on logarithmic axes, published values beside."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde._planar import CODE, MMD, TIME
from kcde.artefacts.plots import style
from kcde.artefacts.tables import dot_plot, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEAD, _LANE = 0.85, 0.14  # inches
_LABELS = {
    MMD: "MMD² to the test set × 1000; lower is better",
    TIME: "seconds for as many samples as test points",
}
_ROOM = 1.6  # between the outermost values and the ends of an axis, as a factor


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw table 1 to `<stem>.md`, and to `<stem>.png` and `<stem>.pdf` as a picture.

    Parameters
    ----------
    artefact
        Gives the order of the methods.
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
    shown = table[table["metric"].isin(_LABELS)]
    datasets = list(dict.fromkeys(shown["dataset"]))
    methods = [name for name in artefact.methods if name in set(shown["method"])]
    variants = [False, True] if (shown["variant"] == CODE).any() else [False]
    series = [(name, of_code) for name in methods for of_code in variants]
    height = _HEAD + _LANE * (len(series) + 1) * len(datasets)
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        for one, metric in zip(axes, _LABELS, strict=True):
            cells = shown[shown["metric"] == metric]
            _draw_panel(one, cells, datasets, series)
            one.set_xlabel(_LABELS[metric])
        axes[0].set_yticks(range(len(datasets)), datasets)
        axes[0].set_ylim(len(datasets) - 0.5, -0.5)
        style.above(made, dot_plot.legend(methods, dot_plot.answered(shown)))
        return [*pages, *style.save(made, stem)]


def _draw_panel(
    axes: "Axes", cells: pd.DataFrame, datasets: Sequence[str], series: Sequence[tuple[str, bool]]
) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*_limits(cells))
    for offset, (method, of_code) in zip(dot_plot.offsets(len(series)), series, strict=True):
        own = cells[(cells["method"] == method) & ((cells["variant"] == CODE) == of_code)]
        own = own.set_index("dataset").reindex(datasets)
        _draw_method(axes, np.arange(len(datasets)) + offset, own, method, of_code)
    axes.tick_params(axis="y", length=0)
    for edge in np.arange(len(datasets) - 1) + 0.5:
        axes.axhline(edge, color="#DDDDDD", linewidth=0.5)


def _limits(cells: pd.DataFrame) -> tuple[float, float]:
    values = cells[["mean", "published_mean"]].to_numpy(float)
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return 0.1, 10.0
    return values.min() / _ROOM, values.max() * _ROOM


def _draw_method(
    axes: "Axes", rows: np.ndarray, cells: pd.DataFrame, method: str, of_code: bool
) -> None:
    """Draw our means, and where they answer a published number that one, joined by a line."""
    colour, marker = style.line(method)["color"], style.marker(method)
    mean, published = cells["mean"].to_numpy(float), cells["published_mean"].to_numpy(float)
    reach = 2.0 * (cells["std"] / np.sqrt(cells["n"])).to_numpy(float)
    low = axes.get_xlim()[0]
    shown = mean > low
    least = np.maximum(mean - reach, low)
    axes.hlines(rows[shown], least[shown], (mean + reach)[shown], colors=colour, linewidth=2.4)
    axes.plot(mean[shown], rows[shown], marker, color=colour, markersize=4, zorder=3)
    axes.hlines(rows[shown], mean[shown], published[shown], colors=colour, linewidth=0.8)
    look = {"markersize": 5, "markerfacecolor": "white", "color": colour, "zorder": 4}
    axes.plot(published, rows, marker, linestyle="none", **look)
    axes.plot(cells["median"], rows, "|", color=colour, markersize=7, mew=1.2, zorder=2)
    for row in rows[mean <= low]:  # an unbiased MMD² can be negative
        axes.plot(low, row, "<", color=colour, markersize=4, clip_on=False, zorder=5)
    if of_code:
        for row, right in zip(rows[shown], (mean + reach)[shown], strict=True):
            note = {"textcoords": "offset points", "xytext": (4, 0), "va": "center"}
            axes.annotate("authors' set", (right, row), color=colour, fontsize=6, **note)
