"""Plots of jdl's curves: a panel for each dimension, without and with constraints."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase

import pandas as pd

from kcde.pages import labels, style
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact, Draw
from kcde.papers.jdl.curves import (
    BASELINE,
    BY_TOLERANCE,
    CONSTRAINED,
    EXCLUDED,
    MEAN,
    SCHEDULED,
    THROUGHOUT,
    UNCONSTRAINED,
)

_ROW_HEIGHT = 1.9
_TOLERANCE_DASHES = ("-", "--", ":", "-.")
_OVER, _UNDER = 1.4, 1 / 1.4
_KEYS, _KEY_HEIGHT = 4, 0.16  # entries in a line of the legend, and inches of a line
_THIN = {"linestyle": (0, (2, 1)), "linewidth": 0.7}

_SCHEDULE = "tolerance $10^{-3}$, larger at large $n$"
_AT_ONE = "tolerance $10^{-3}$ at every $n$"
_LARGEST, _AVERAGE = "largest of the repetitions", "their mean"
_ZERO = "0 for every line"
_BAND = "5% to 95% of the repetitions"


LIMIT_KEYS = (
    {"label": UNCONSTRAINED, "color": style.GREY},
    {"label": CONSTRAINED, "color": style.GREY, "linestyle": "--"},
)
"""`PlotSpec.keys` where dashed lines have constraints."""


@dataclass(frozen=True)
class PlotSpec:
    """How a figure of curves against n is drawn.

    Attributes
    ----------
    label
        Of the vertical axis.
    stat
        Of the rows that are lines.
    linear_below
        Where values may be 0: the vertical axis is linear from 0 to here and logarithmic above.
    band
        Whether the quantiles over repetitions are shown, where there are any.
    dashes
        Series to line style, for series besides those of `_curves`; they have no band.
    names
        Series to what follows the name of the method at the end of its line; None for no name.
    baseline
        What the line of `BASELINE` is called.
    methods
        Method to its name in the figure, where it differs from the usual one.
    width
        In inches.
    along
        Label of the horizontal axis.
    row_labels
        Row to the label of its vertical axis, where that is not `label`.
    words
        Parts of the names of panels to what stands for them in titles.
    keys
        Entries of the legend above the panels, besides those that follow from the rows.
    named
        Whether lines are named at their ends; otherwise `keys` names them.
    average
        Where `stat` is the largest value over repetitions: whether a thin line has their mean,
        which the band belongs to.
    """

    label: str
    stat: str = MEAN
    linear_below: float | None = None
    band: bool = True
    dashes: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    baseline: str = "ignoring x"
    methods: Mapping[str, str] = field(default_factory=dict)
    width: float = style.PAGE
    along: str = "data points $n$"
    row_labels: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[Mapping] = ()
    named: bool = True
    average: bool = False


def drawer(spec: PlotSpec) -> Draw:
    """Return the `draw` of an artefact.

    Parameters
    ----------
    spec
        What differs between the figures.

    Returns
    -------
    callable
        A `kcde.papers.artefact.Draw` of the rows of kind `curve` and `BASELINE`. A
        panel named `d=1 constrained` stands in the column `d=1` and the row `constrained`; the
        panels of one word share one row.
    """

    def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
        curves = frame[frame["kind"].isin(["curve", BASELINE])]
        names = list(dict.fromkeys(curves["panel"]))
        columns = list(dict.fromkeys(name.partition(" ")[0] for name in names))
        rows = list(dict.fromkeys(name.partition(" ")[2] for name in names))
        size = {"columns": len(columns), "rows": len(rows), "sharey": True, "squeeze": False}
        keys = _keys(curves, spec)
        lines = -(-len(keys) // _KEYS)
        height = 0.3 + _ROW_HEIGHT * len(rows) + _KEY_HEIGHT * lines
        with style.figure(spec.width, height, **size) as (made, axes):
            _scale(axes[0, 0], curves, spec)
            places = [(row, column) for row in range(len(rows)) for column in range(len(columns))]
            for (row, column), letter in zip(places, ascii_lowercase, strict=False):
                name = f"{columns[column]} {rows[row]}".strip()
                _draw_panel(axes[row, column], curves[curves["panel"] == name], spec)
                style.panel_title(
                    axes[row, column], letter if len(places) > 1 else "", _title(name, spec)
                )
            for row, line in zip(rows, axes, strict=True):
                line[0].set_ylabel(spec.row_labels.get(row, spec.label))
            for bottom in axes[-1]:
                bottom.set_xlabel(spec.along)
            if keys:
                style.legend_above(made, keys, columns=min(_KEYS, len(keys)))
            return style.save(made, stem)

    return draw


def _keys(curves: pd.DataFrame, spec: PlotSpec) -> list:
    """Return what lines and bands are that have no name beside them, for the legend."""
    from matplotlib.patches import Patch

    shown = _shown(curves, spec)
    found, drawn = [style.key(**look) for look in spec.keys], set(shown["series"])
    if spec.average:
        found.append(style.key(_LARGEST, color=style.GREY))
        found.append(style.key(_AVERAGE, color=style.GREY, **_THIN))
    elif THROUGHOUT in drawn:
        found.append(style.key(_SCHEDULE, color=style.GREY))
    if THROUGHOUT in drawn:
        found.append(style.key(_AT_ONE, color=style.GREY, linestyle=":", linewidth=0.9))
    if spec.band and shown["y_low"].notna().any():
        found.append(Patch(label=_BAND, facecolor=style.GREY, alpha=0.25, linewidth=0))
    return found


def _title(panel: str, spec: PlotSpec) -> str:
    for part, words in spec.words.items():
        panel = panel.replace(part, words)
    panel = panel.replace(EXCLUDED, f"\n{EXCLUDED.strip()}")
    return panel.replace("d=", "$d=", 1).replace(" ", "$, ", 1) if "d=" in panel else panel


def _scale(axes, curves: pd.DataFrame, spec: PlotSpec) -> None:
    """Set the vertical axis, which all panels share, around every line and band."""
    from matplotlib.ticker import LogLocator, NullFormatter

    shown = _shown(curves, spec)
    values = pd.concat([shown["y"], *((shown["y_low"], shown["y_high"]) if spec.band else ())])
    positive = values[values > 0]
    most = positive.max() * _OVER if len(positive) else 1.0
    if spec.linear_below is not None:
        axes.set_yscale("symlog", linthresh=spec.linear_below, linscale=0.4)
        # Lines at 0 must not lie on the axis.
        axes.set_ylim(-0.2 * spec.linear_below, max(most, 10.0 * spec.linear_below))
        return
    least = positive.min() * _UNDER if len(positive) else 0.1
    axes.set_yscale("log")
    axes.set_ylim(least, most)
    if most < 30.0 * least:  # fewer than two powers of ten may be on the axis
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_panel(axes, panel: pd.DataFrame, spec: PlotSpec) -> None:
    shown, ends = _shown(panel, spec), []
    last = shown["x"].max()
    for (method, series), rows in shown.groupby(["method", "series"], sort=False):
        rows = rows.sort_values("x")
        colour, dashes = _line(method, series, shown, spec)
        beside = series in (THROUGHOUT, BASELINE, *spec.dashes)
        size = {"markersize": 1.2, "linewidth": 0.9} if beside else {"markersize": 2.0}
        line = {"color": colour, "linestyle": dashes, "clip_on": False, **size}
        axes.plot(rows["x"], rows["y"], marker="o", **line)
        if spec.average and not beside:
            mean = panel[(panel["method"] == method) & (panel["series"] == series)]
            mean = mean[mean["stat"] == MEAN].sort_values("x")
            axes.plot(mean["x"], mean["y"], color=colour, **_THIN)
        if spec.band and not beside and rows["y_low"].notna().any():
            axes.fill_between(
                rows["x"], rows["y_low"], rows["y_high"], color=colour, alpha=0.12, linewidth=0
            )
        x, y = rows.iloc[-1][["x", "y"]]
        name = _name(method, series, spec) if spec.named else None
        if name is not None and x == last:
            ends.append((y, name, colour, "" if dashes == "-" else dashes))
        elif name is not None:
            # Above its beginning, where fewer lines pass than beside its end; a point's beside it.
            start = tuple(rows.iloc[0][["x", "y"]])
            place = {"xytext": (2, 4)} if len(rows) > 1 else {"xytext": (4, 0), "va": "center"}
            axes.annotate(
                name, start, color=colour, fontsize=7, textcoords="offset points", **place
            )
    if not len(shown):
        return
    _number_sizes(axes, sorted(set(shown["x"])))
    if (shown["y"] == 0.0).all():
        axes.annotate(_ZERO, (0.5, 0.5), xycoords="axes fraction", ha="center", color=style.GREY)
    else:
        _name_lines(axes, ends)


def _number_sizes(axes, sizes: list[float]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(sizes[0] / 1.15, sizes[-1])
    labelled = [f"{size / 1000:g}k" if size >= 1000 else f"{size:g}" for size in sizes]
    if all(math.log10(size).is_integer() for size in sizes):
        labelled = [_number(size) for size in sizes]
    axes.set_xticks(sizes, labelled)
    axes.set_xticks([], minor=True)


def _shown(curves: pd.DataFrame, spec: PlotSpec) -> pd.DataFrame:
    return curves[curves["stat"] == spec.stat]


def _line(method: str, series: str, shown: pd.DataFrame, spec: PlotSpec) -> tuple[str, str]:
    """Return colour and dashes: colours are methods, dashes their variations and series."""
    if series == BASELINE:
        return style.GREY, "--"
    base = style.line(method)
    if series == SCHEDULED:
        return base["color"], base["linestyle"]
    if series.startswith(BY_TOLERANCE):
        named = {name for name in shown["series"] if name.startswith(BY_TOLERANCE)}
        order = sorted(named, key=_tolerance)
        return base["color"], _TOLERANCE_DASHES[order.index(series)]
    return base["color"], {THROUGHOUT: ":", **spec.dashes}[series]


def _name(method: str, series: str, spec: PlotSpec) -> str | None:
    """Return the label at the end of a line, None where another line has it."""
    if series == BASELINE:
        return spec.baseline
    if series.startswith(BY_TOLERANCE):
        return f"tolerance {_number(_tolerance(series))}"
    behind = {SCHEDULED: "", THROUGHOUT: None, **spec.names}[series]
    return None if behind is None else spec.methods.get(method, display(method)) + behind


def _name_lines(axes, ends: list[tuple[float, str, str, str]]) -> None:
    """Write labels beside the right ends, at their heights: `labels` knows linear axes only."""
    height = axes.transScale.transform
    bottom, top = (height((1.0, y))[1] for y in axes.get_ylim())
    low, high = axes.get_ylim()
    named = [
        labels.Label(
            low + (high - low) * (height((1.0, y))[1] - bottom) / (top - bottom), name, colour, dash
        )
        for y, name, colour, dash in ends
    ]
    labels.beside(axes, named, _ROW_HEIGHT - 0.6)


def _tolerance(series: str) -> float:
    return float(series.removeprefix(BY_TOLERANCE))


def _number(value: float) -> str:
    """Return a power of ten as such, and another number plainly."""
    exact = f"{value:e}".startswith("1.000000e")
    return f"$10^{{{round(math.log10(value))}}}$" if exact else f"{value:g}"
