"""A table of negative log-likelihoods as dot plots, one a data set: ours and published values."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.pages import building, style, table_page
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 4
_LANE, _FRAME = 0.13, 0.42  # inches of a method in a panel, and of a panel's title and ticks
_HEAD = 0.4  # inches for the legend and the label of the axes
_MARGIN = 0.06  # of the range of the means and published values, at both sides of a panel
_REACH = 0.4  # of that range, by which bars may widen a panel
_LEAST = 0.05  # nats, least range of a panel
_NARROW = 0.1  # nats, range with long numbers


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page of a table, and its primary metric as a picture."""
    return [*table_page.write(artefact, table, stem), *picture(artefact, table, stem)]


def picture(
    artefact: Artefact,
    table: pd.DataFrame,
    stem: Path,
    *,
    one_axis: bool = False,
    through: bool = False,
) -> list[Path]:
    """Draw the primary metric of a table: a panel for each data set, a row for each method.

    Values beyond the widest range of `artefact.axis` become arrows with their number.

    Parameters
    ----------
    artefact
        Gives metric, methods, and the axes' label and widest range.
    table
        As read from the tracked CSV.
    stem
        Path without suffix.
    one_axis
        Whether all panels show the same range, as for differences.
    through
        Whether published values are dashed through all rows, as they may belong to any.

    Returns
    -------
    list of pathlib.Path
        The files drawn.
    """
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    found = dict.fromkeys(primary["method"])
    methods = [name for name in artefact.methods if name in found]
    methods += [name for name in found if name not in methods]
    columns = min(len(datasets), _ACROSS)
    rows = -(-len(datasets) // columns)
    height = _HEAD + rows * (_FRAME + _LANE * len(methods))
    with style.figure(
        style.PAGE, height, columns, rows, squeeze=False, sharey=True, sharex=one_axis
    ) as (made, grid):
        panels = grid.ravel()
        beyond = np.zeros(2, dtype=bool)
        for axes, dataset in zip(panels, datasets, strict=False):
            cells = primary[primary["dataset"] == dataset].set_index("method").reindex(methods)
            limits = _limits(primary if one_axis else cells, artefact.axis)
            beyond |= _draw_panel(axes, cells, limits)
            for value in cells["published_mean"].dropna() if through else ():
                axes.axvline(value, color=style.GREY, linestyle="--", linewidth=0.8, zorder=1)
            style.panel_title(axes, "", dataset)
        for axes in panels[len(datasets) :]:
            axes.set_axis_off()
        _label_rows(grid[:, 0], methods)
        made.supxlabel(artefact.axis_label, fontsize=8)
        published = "○ ¦  published" if through else "○  published"
        known = bool(primary["published_mean"].notna().any())
        _explain(made, published if known else "", *beyond)
        return style.save(made, stem)


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
    if not len(values):
        return widest
    low, high = values.min(), values.max()
    span = max(high - low, _LEAST)
    bars = inside & np.isfinite(reach)
    ends = [*(mean - reach)[bars], *(mean + reach)[bars], low, high]
    low = max(min(ends), low - _REACH * span) - _MARGIN * span
    high = min(max(ends), high + _REACH * span) + _MARGIN * span
    return max(low, widest[0]), min(high, widest[1])


def _draw_panel(axes: "Axes", cells: pd.DataFrame, limits: tuple[float, float]) -> np.ndarray:
    """Draw a row for each method and return whether a mean and a published value lie beyond.

    Parameters
    ----------
    axes
        Of the panel.
    cells
        Of one data set, a row per method; the k-th lies at the height k. One not run has no n.
    limits
        Of the horizontal axis.
    """
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(*limits)
    axes.set_ylim(len(cells) - 0.4, -0.6)
    low, high = limits
    # Numbers of a narrow range have so many digits that four or five would touch.
    axes.xaxis.set_major_locator(MaxNLocator(3 if high - low < _NARROW else 4))
    axes.tick_params(axis="y", length=0)
    beyond = np.zeros(2, dtype=bool)
    for row, (cell, reach) in enumerate(zip(cells.itertuples(), _reach(cells), strict=True)):
        axes.axhline(row, color="#E8E8E8", linewidth=0.5, zorder=0)
        if np.isnan(cell.n):
            _say_not_run(axes, row)
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
        beyond |= _mark_beyond(axes, row, (mean, published), colour)
    return beyond


def _say_not_run(axes: "Axes", row: float) -> None:
    axes.annotate(
        "not run",
        (0.0, row),
        xycoords=axes.get_yaxis_transform(),
        xytext=(3, 0),
        textcoords="offset points",
        va="center",
        fontsize=6,
        color=style.GREY,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )


def _mark_beyond(axes: "Axes", row: float, values: tuple[float, float], colour: str) -> np.ndarray:
    """Mark a mean (full) or a published value (open) outside the axis by an arrow at its edge.

    Returns which of the two lies outside.
    """
    limits = axes.get_xlim()
    marked = np.zeros(2, dtype=bool)
    for right in (False, True):
        edge = limits[1] if right else limits[0]
        out = [np.isfinite(v) and (v > edge if right else v < edge) for v in values]
        if not any(out):
            continue
        marked |= out
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
        said = [short(values[0])] if out[0] else []
        said += [f"({short(values[1])})"] if out[1] else []
        name_edge(axes, row, edge, right, " ".join(said), colour)
    return marked


def short(value: float) -> str:
    """Return a number in at most six letters."""
    digits = 2 if abs(value) >= 1000 else 3
    return f"{value:.{digits}g}".replace("e+0", "e").replace("-", "−")


def name_edge(axes: "Axes", row: float, edge: float, right: bool, text: str, colour: str) -> None:
    """Print what lies beyond the right or left edge of the axis, beside the arrow head there."""
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
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
    )


def _label_rows(leftmost: Sequence["Axes"], methods: Sequence[str]) -> None:
    """Name the methods, in their colours, beside the panels at the left."""
    for axes in leftmost:
        axes.set_yticks(range(len(methods)), [display(method) for method in methods])
        for label, method in zip(axes.get_yticklabels(), methods, strict=True):
            label.set_color(style.line(method)["color"])


def _explain(made: "Figure", published: str, beyond: bool, published_beyond: bool) -> None:
    """Say above the panels what the marks are that occur."""
    from matplotlib.offsetbox import TextArea

    said = ["●  our mean, bar ± 2 standard errors (cut at the axis)", "|  our median"]
    said += [published] if published else []
    said += ["▶  mean beyond the axis"] if beyond else []
    said += ["▷  (published) beyond it"] if published_beyond else []
    style.above(made, TextArea("     ".join(said), textprops={"color": style.GREY, "size": 7}))


_VERDICTS = {
    verdicts.COMPATIBLE: "#0072B2",
    verdicts.WORSE: "#D55E00",
    verdicts.BETTER: "#8A5A83",
    verdicts.UNINFORMATIVE: style.GREY,
}
_FARTHEST, _CLOSE = 3.0, 2.0  # nats: of ours less published, and of two methods


def write_against(
    artefact: Artefact, table: pd.DataFrame, stem: Path, pair: tuple[str, str]
) -> list[Path]:
    """Draw the page of a table, and as a picture ours less published for each published column.

    Rows are data sets on one common axis; the last panel has the difference of a pair of methods,
    ours and published. A table without published values is drawn as by `write`.
    """
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    judged = [name for name in artefact.methods if name in set(_answered(primary)["method"])]
    if not judged:
        return write(artefact, table, stem)
    height = 0.75 + 0.16 * len(datasets)
    with style.figure(style.PAGE, height, len(judged) + 1, sharey=True) as (made, grid):
        for axes, method in zip(grid, judged, strict=False):
            _draw_differences(axes, artefact, _answered(primary, method), datasets)
            style.panel_title(axes, "", f"{display(method)}, ours − published")
        _draw_pair(grid[-1], primary, datasets, pair)
        style.panel_title(grid[-1], "", f"{display(pair[0])} − {display(pair[1])}")
        for axes in grid:
            axes.axvline(0.0, color="black", linewidth=0.7, zorder=1)
            axes.set_ylim(len(datasets) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
        grid[0].set_yticks(range(len(datasets)), datasets)
        made.supxlabel("nats; left of 0: ours, or the first method, is better", fontsize=8)
        _explain_verdicts(made)
        return [*table_page.write(artefact, table, stem), *style.save(made, stem)]


def _answered(primary: pd.DataFrame, method: str = "") -> pd.DataFrame:
    """Return the rows beside a published number, of one method or of all."""
    known = primary[primary["published_mean"].notna()]
    return known[known["method"] == method] if method else known


def _draw_differences(axes: "Axes", artefact: Artefact, cells: pd.DataFrame, datasets) -> None:
    """Draw ours less published with the 95% prediction interval; the median where splits failed."""
    axes.set_xlim(-_FARTHEST, _FARTHEST)
    for _, cell in cells.iterrows():
        row, colour = datasets.index(cell["dataset"]), _VERDICTS.get(cell["verdict"], style.GREY)
        value = cell["median"] if cell["failed"] else cell["mean"]
        half = verdicts.half_width(building.summary_of(cell), artefact.published_trials)
        difference = value - cell["published_mean"]
        if not cell["failed"]:
            axes.hlines(row, difference - half, difference + half, colors=colour, alpha=0.5, lw=2.2)
        shown = float(np.clip(difference, -_FARTHEST, _FARTHEST))
        mark = "D" if cell["failed"] else "o"
        mark = mark if shown == difference else ">" if shown > 0 else "<"
        axes.plot(shown, row, mark, color=colour, markersize=3.5, clip_on=False, zorder=3)
        if shown != difference:
            name_edge(axes, row, shown, shown < 0, short(difference), colour)
    for row in range(len(datasets)):
        axes.axhline(row, color="#E8E8E8", linewidth=0.5, zorder=0)


def _draw_pair(axes: "Axes", primary: pd.DataFrame, datasets, pair: tuple[str, str]) -> None:
    """Draw the difference of two methods, ours full and published open; medians as above."""
    axes.set_xlim(-_CLOSE, _CLOSE)
    cells = primary.set_index(["dataset", "method"])
    for row, dataset in enumerate(datasets):
        axes.axhline(row, color="#E8E8E8", linewidth=0.5, zorder=0)
        if not all((dataset, method) in cells.index for method in pair):
            continue
        both = [cells.loc[(dataset, method)] for method in pair]
        name = "median" if any(cell["failed"] for cell in both) else "mean"
        ours = float(np.clip(both[0][name] - both[1][name], -_CLOSE, _CLOSE))
        theirs = float(
            np.clip(both[0]["published_mean"] - both[1]["published_mean"], -_CLOSE, _CLOSE)
        )
        colour = "black"
        axes.plot([ours, theirs], [row, row], color=colour, linewidth=0.8)
        axes.plot(ours, row, "D" if name == "median" else "o", color=colour, markersize=3.5)
        axes.plot(theirs, row, "o", color=colour, markersize=4.2, markerfacecolor="white", zorder=4)


def _explain_verdicts(made: "Figure") -> None:
    from matplotlib.offsetbox import HPacker, TextArea

    said = [(f"●  {word}", colour) for word, colour in _VERDICTS.items()]
    said += [
        ("bar: 95% prediction interval", style.GREY),
        ("◆  median, as splits failed", style.GREY),
    ]
    said += [("○  published", "black")]
    parts = [TextArea(text, textprops={"color": colour, "size": 7}) for text, colour in said]
    style.above(made, HPacker(children=parts, pad=0, sep=12))
