"""cdo table 3 as a picture: a lane a method, errors on a logarithmic axis."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.artefacts.cdo._terrain_tables import CENTRED, DEFINITIONS, POINTWISE, PREDICTED, TOTAL
from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import box_plots, style
from kcde.artefacts.tables import page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEAD = 0.85  # inches of a panel beside its lanes
_ROOM = 1.25  # between the outermost values and the ends of the axis, as a factor
_SIGNS = {PREDICTED: ("+", "+"), POINTWISE: ("x", "×"), TOTAL: ("|", "|")}
"""Metric to its marker, and to that as a letter."""


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw table 3 to `<stem>.md`, and to `<stem>.png` and `<stem>.pdf` as a picture.

    Parameters
    ----------
    artefact
        Gives the primary metric and the further ones.
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
    primary = table[(table["metric"] == artefact.metric) & table["mean"].notna()]
    datasets = list(dict.fromkeys(primary["dataset"]))
    methods = list(dict.fromkeys(primary["method"]))
    # A method and its variations stand together.
    colours = [style.line(method)["color"] for method in methods]
    methods.sort(key=lambda method: colours.index(style.line(method)["color"]))
    height = max(len(datasets), 1) * (_HEAD + box_plots.ROW_HEIGHT * len(methods))
    size = {"rows": max(len(datasets), 1), "squeeze": False}
    signs = {name: _SIGNS[name] for name in artefact.further}
    with style.figure(style.COLUMN, height, **size) as (made, axes):
        for one, dataset in zip(axes[:, 0], datasets, strict=False):
            here = table[table["dataset"] == dataset]
            _draw_panel(one, here, artefact.metric, methods, signs)
            if len(datasets) > 1:
                one.set_title(dataset, loc="left")
        label = DEFINITIONS[CENTRED] if artefact.metric == CENTRED else "scaled absolute error"
        axes[-1, 0].set_xlabel(f"{label}; lower is better")
        style.above(made, _key(primary, signs))
        return [*pages, *style.save(made, stem)]


def _draw_panel(
    axes: "Axes",
    here: pd.DataFrame,
    metric: str,
    methods: Sequence[str],
    signs: Mapping[str, tuple[str, str]],
) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    primary = here[(here["metric"] == metric) & here["mean"].notna()]
    further = here[here["metric"].isin(signs)]
    as_published = set(primary.loc[primary["variant"] == AS_PUBLISHED, "method"])
    axes.set_xscale("log")
    axes.set_xlim(*_limits(primary, further))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    box_plots.label_rows(axes, methods, as_published)
    for row in primary.to_dict("records"):
        _draw_cell(axes, methods.index(row["method"]), row)
    for row in further.itertuples():
        # A + reaches beyond the dot of the primary metric, which it may be close to.
        size = 7.0 if row.metric == PREDICTED else 4.5
        mark = {"color": style.line(row.method)["color"], "markersize": size, "alpha": 0.8}
        place = row.mean, methods.index(row.method)
        axes.plot(*place, signs[row.metric][0], markeredgewidth=0.9, **mark)


def _limits(primary: pd.DataFrame, further: pd.DataFrame) -> tuple[float, float]:
    shown = [primary["mean"], primary["published_mean"], further["mean"]]
    numbers = pd.concat(shown).to_numpy(float)
    numbers = numbers[np.isfinite(numbers) & (numbers > 0.0)]
    if not len(numbers):
        return 0.1, 1.0
    return numbers.min() / _ROOM, numbers.max() * _ROOM


def _draw_cell(axes: "Axes", lane: int, row: Mapping) -> None:
    colour = style.line(row["method"])["color"]
    mean, published, low = row["mean"], row["published_mean"], axes.get_xlim()[0]
    if not np.isnan(published):
        axes.hlines(lane, mean, published, colors=colour, linewidth=0.8)
    if row["std"] > 0.0:
        # The spread as it is, not as the verdict caps it.
        reach = 2.0 * row["std"] / np.sqrt(row["n"])
        axes.hlines(lane, max(mean - reach, low), mean + reach, colors=colour, linewidth=2.2)
    axes.plot(mean, lane, "o", color=colour, markersize=3.8, zorder=3)
    ring = {"markersize": 5, "markerfacecolor": "white", "markeredgewidth": 1.0, "zorder": 4}
    axes.plot(published, lane, "o", color=colour, **ring)


def _key(primary: pd.DataFrame, signs: Mapping[str, tuple[str, str]]):
    """Return a matplotlib box that says what the marks are."""
    from matplotlib.offsetbox import TextArea, VPacker

    first = "●  ours ± 2 standard errors"
    if primary["published_mean"].notna().any():
        first += "   ○  published"
    said = [f"{letter} {DEFINITIONS[name]}" for name, (_, letter) in signs.items()]
    lines = [first, *(["   ".join(said)] if said else [])]
    look = {"color": style.GREY, "fontsize": 7}
    return VPacker(
        children=[TextArea(line, textprops=look) for line in lines], sep=3, pad=0, align="left"
    )
