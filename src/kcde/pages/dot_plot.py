"""A table of negative log-likelihoods as dot plots, one a data set: ours and published values."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.papers.artefact import Artefact

_ACROSS = 4
_LANE, _FRAME = 0.13, 0.42  # inches of a method in a panel, and of a panel's title and ticks
_HEAD = 0.4  # inches for the legend and the label of the axes
_MARGIN = 0.06  # of the range of the means and published values, at both sides of a panel
_REACH = 0.4  # of that range, by which bars may widen a panel
_LEAST = 0.05  # nats, least range of a panel
_NARROW = 0.1  # nats, range with long numbers


def draw(
    artefact: Artefact, table: pd.DataFrame, stem: Path, *, one_axis=False, through=False
) -> None:
    """Draw the primary metric of a table: a panel for each data set, a row for each method.

    Values beyond the widest range of `artefact.axis` become arrows with their number; a panel in
    which these are most means has them on an axis that is logarithmic beyond ten nats. With
    `one_axis` all panels show the same range, as for differences; `through` draws published values
    dashed through all rows, as they may belong to any.
    """
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    found = dict.fromkeys(primary["method"])
    methods = list(dict.fromkeys([*filter(found.__contains__, artefact.methods), *found]))
    columns = min(len(datasets), _ACROSS)
    rows = -(-len(datasets) // columns)
    height = _HEAD + rows * (_FRAME + _LANE * len(methods))
    size = style.PAGE, height, columns, rows, stem
    with style.figure(*size, squeeze=False, sharey=True, sharex=one_axis) as (made, grid):
        panels = grid.ravel()
        beyond = np.zeros(2, dtype=bool)
        for axes, dataset in zip(panels, datasets, strict=False):
            cells = primary[primary["dataset"] == dataset].set_index("method").reindex(methods)
            limits = _limits(primary if one_axis else cells, artefact.axis)
            logarithmic = bool(limits[1] > artefact.axis[1])
            if logarithmic:
                axes.set_xscale("symlog", linthresh=10.0)
                axes.xaxis.get_major_locator().set_params(numticks=4)
            _draw_panel(axes, cells, limits)
            values = cells[["mean", "published_mean"]]
            beyond |= (values.lt(limits[0]) | values.gt(limits[1])).any().to_numpy()
            for value in cells["published_mean"].dropna() if through else ():
                axes.axvline(value, color=style.GREY, linestyle="--", linewidth=0.8, zorder=1)
            style.panel_title(axes, "", dataset + ", logarithmic" * logarithmic)
        for axes in panels[len(datasets) :]:
            axes.set_axis_off()
        for leftmost in grid[:, 0]:
            style.name_rows(leftmost, methods)
        made.supxlabel(artefact.axis_label, fontsize=8)
        said = ["●  our mean, bar ± 2 standard errors (cut at the axis)", "|  our median"]
        if primary["published_mean"].notna().any():
            said.append("○ ¦  published" if through else "○  published")
        further = ("▶  mean beyond the axis", "▷  (published) beyond it")
        style.words_above(made, [*said, *np.compress(beyond, further)])


def _reach(cells: pd.DataFrame) -> np.ndarray:
    """Return two standard errors."""
    # The full spread, not capped as in the verdict: an exploding split makes the mean uncertain.
    return 2.0 * (cells["std"] / np.sqrt(cells["n"])).to_numpy(float)


def _limits(cells: pd.DataFrame, widest: tuple[float, float]) -> tuple[float, float]:
    """Return axis limits that include what lies within the widest range, and short bars.

    A median widens the axis only where its mean lies within, too.
    """
    mean, reach = cells["mean"].to_numpy(float), _reach(cells)
    inside = (mean > widest[0]) & (mean < widest[1])
    values = [*mean[inside], *cells["median"].to_numpy(float)[inside], *cells["published_mean"]]
    values = np.array([value for value in values if widest[0] < value < widest[1]])
    if 2 * inside.sum() < np.isfinite(mean).sum():
        return widest[0], 2.0 * mean.max(where=np.isfinite(mean), initial=widest[1])
    if not len(values):
        return widest
    low, high = values.min(), values.max()
    span = max(high - low, _LEAST)
    bars = inside & np.isfinite(reach)
    ends = [*(mean - reach)[bars], *(mean + reach)[bars], low, high]
    low = max(min(ends), low - _REACH * span) - _MARGIN * span
    high = min(max(ends), high + _REACH * span) + _MARGIN * span
    return max(low, widest[0]), min(high, widest[1])


def _draw_panel(axes, cells: pd.DataFrame, limits: tuple[float, float]) -> None:
    """Draw a row for each method."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(*limits)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    low, high = limits
    if axes.get_xscale() == "linear":
        # Numbers of a narrow range have so many digits that four or five would touch.
        axes.xaxis.set_major_locator(MaxNLocator(3 if high - low < _NARROW else 4))
    axes.tick_params(axis="y", length=0)
    for row, (cell, reach) in enumerate(zip(cells.itertuples(), _reach(cells), strict=True)):
        axes.axhline(row, **style.THIN)
        if np.isnan(cell.n):
            at = {"xycoords": axes.get_yaxis_transform(), "bbox": style.WHITE}
            style.beside(axes, "not run", (0.0, row), 3, style.GREY, **at)
            continue
        colour, mean, published = style.line(cell.Index)["color"], cell.mean, cell.published_mean
        axes.plot(np.clip([mean, published], low, high), [row] * 2, color=colour, linewidth=0.8)
        if low <= mean <= high:
            axes.hlines(row, mean - reach, mean + reach, colors=colour, linewidth=2.2, alpha=0.6)
            axes.plot(mean, row, "o", color=colour, markersize=3.5, zorder=3)
        if low <= published <= high:
            open_mark = {"markersize": 4.2, "markerfacecolor": "white", "mew": 0.9, "zorder": 4}
            axes.plot(published, row, "o", color=colour, **open_mark)
        if low <= cell.median <= high:
            axes.plot(cell.median, row, "|", color=colour, markersize=6, mew=1.2, zorder=2)
        _mark_beyond(axes, row, (mean, published), colour)


def _mark_beyond(axes, row: float, values: tuple[float, float], colour: str) -> None:
    """Mark a mean (full) or a published value (open) outside the axis by an arrow at its edge."""
    for right, edge in enumerate(axes.get_xlim()):
        out = [np.isfinite(v) and (v > edge if right else v < edge) for v in values]
        if not any(out):
            continue
        look = {"markerfacecolor": colour if out[0] else "white", "clip_on": False, "zorder": 5}
        axes.plot(edge, row, ">" if right else "<", color=colour, markersize=4, **look)
        said = [short(values[0])] if out[0] else []
        said += [f"({short(values[1])})"] if out[1] else []
        name_edge(axes, row, edge, bool(right), " ".join(said), colour)


def short(value: float) -> str:
    """Return a number in at most six letters."""
    digits = 2 if abs(value) >= 1000 else 3
    return f"{value:.{digits}g}".replace("e+0", "e").replace("-", "−")


def name_edge(axes, row: float, edge: float, right: bool, text: str, colour: str) -> None:
    """Print what lies beyond the right or left edge of the axis, beside the arrow head there."""
    look = {"annotation_clip": False, "bbox": style.WHITE}
    style.beside(axes, text, (edge, row), 5 if right else -5, colour, **look)
