"""The picture of figures 1 and 5: log-likelihoods on the grid data and their exact bounds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import labels, style
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact
from kcde.papers.kcef._grid import EXACT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 2.9
_AXES_HEIGHT = 2.3

# Axis labels by the quantity that is fixed in a panel, the first letter of its name.
_X = {"d": "training points $n$ (log scale)", "n": "dimension $d$"}
_Y = {"d": "log-likelihood (nats)", "n": "log-likelihood per dimension (nats)"}

_BOUNDS = {
    "entropy": ("exact entropy", "-"),
    "independence": ("no dependence", (0, (1, 1.5))),
}

_MANY = 8  # ticks of dimensions before they are thinned
_CLOSE, _CLOSE_COUNTS = 0.13, 0.2  # least distance of dimensions and of n, as a part of the axis

_REACH = 8.0
"""Points farther below the bound than this many times the median distance are arrows at the edge,
so that an outlier does not flatten the other curves."""


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the panels of the CSV.

    Curves are named at their right ends; above the panels where these are alike, which share the
    vertical axis.
    """
    frame = frame[frame["stat"] == "mean"]
    panels = list(dict.fromkeys(frame["panel"]))
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    alike = len(panels) > 1 and len({name[0] for name in panels}) == 1
    with style.figure(width, _HEIGHT, columns=len(panels), squeeze=False, sharey=alike) as (
        made,
        grid,
    ):
        for letter, name, axes in zip("abc", panels, grid[0], strict=False):
            own = frame[frame["panel"] == name]
            _limit(axes, frame if alike else own)
            named = _draw_panel(axes, own, name[0])
            style.panel_title(axes, letter if len(panels) > 1 else "", _title(name))
            if not alike:
                labels.beside(axes, named, _AXES_HEIGHT)
                axes.set_ylabel(_Y[name[0]])
        if alike:
            grid[0, 0].set_ylabel(_Y[panels[0][0]])
            style.legend_above(made, _keys(frame))
        return style.save(made, stem)


def _title(panel: str) -> str:
    """Return what is fixed in a panel, and the number of waves where panels differ in it."""
    fixed, _, frequency = panel.partition(",a=")
    waves = f"{frequency} wave{'' if frequency == '1' else 's'}, " if frequency else ""
    return f"{waves}${fixed}$"


def _keys(frame: pd.DataFrame) -> list:
    """Return what the curves of all panels are, for a legend."""
    methods = [name for name in dict.fromkeys(frame["method"]) if name != EXACT]
    found = [
        style.key(display(name), **style.line(name), marker=style.marker(name)) for name in methods
    ]
    bounds = [
        style.key(text, color=style.EXACT, linestyle=dashes) for text, dashes in _BOUNDS.values()
    ]
    return found + bounds


def _limit(axes: "Axes", frame: pd.DataFrame) -> None:
    exact = frame["method"] == EXACT
    axes.set_ylim(*_limits(frame[~exact], frame[exact]))


def _draw_panel(axes: "Axes", frame: pd.DataFrame, fixed: str) -> list[labels.Label]:
    """Draw the curves of a panel and return their names at the right ends."""
    exact, found = frame[frame["method"] == EXACT], frame[frame["method"] != EXACT]
    if fixed == "d":
        axis_of_counts(axes, frame["x"])
    else:
        axis_of_dimensions(axes, frame["x"])
    named = [_bound(axes, exact[exact["series"] == series], series) for series in _BOUNDS]
    for method in dict.fromkeys(found["method"]):
        named.append(_curve(axes, found[found["method"] == method].sort_values("x"), method))
    axes.set_xlabel(_X[fixed])
    return [label for label in named if label is not None]


def axis_of_counts(axes: "Axes", n: pd.Series) -> None:
    """Make the x-axis logarithmic, from the smallest to the largest n, with ticks at some n."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.set_xlim(*np.exp(_span(np.log(n))))
    # From the largest down, which names the n = 2000 of the other panel rather than 1400.
    ticks = np.exp(-np.array(_apart(sorted(set(-np.log(n))), _CLOSE_COUNTS)))[::-1]
    axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def axis_of_dimensions(axes: "Axes", d: pd.Series) -> None:
    """Let the x-axis reach from the smallest to the largest d, with ticks at some d."""
    axes.set_xlim(*_span(d))
    axes.set_xticks(_ticks(sorted(set(d))))


def _bound(axes: "Axes", curve: pd.DataFrame, series: str) -> labels.Label | None:
    if not len(curve):
        return None
    text, dashes = _BOUNDS[series]
    curve = curve.sort_values("x")
    shown_as = {"color": style.EXACT, "linestyle": dashes, "linewidth": 1.0, "zorder": 1}
    if len(curve) > 1:
        axes.plot(curve["x"], curve["y"], **shown_as)
    else:
        axes.axhline(curve["y"].iloc[0], **shown_as)
    return labels.Label(float(curve["y"].iloc[-1]), text, style.EXACT)


def _curve(axes: "Axes", curve: pd.DataFrame, method: str) -> labels.Label | None:
    line = style.line(method)
    x, y = curve["x"].to_numpy(float), curve["y"].to_numpy(float)
    axes.plot(x, y, **line, marker=style.marker(method), markersize=2.8, linewidth=1.2, zorder=3)
    axes.vlines(x, curve["y_low"], curve["y_high"], color=line["color"], linewidth=1.0, zorder=2)
    _mark_outliers(axes, x, y, line["color"])
    known = y[np.isfinite(y)]
    if not len(known):
        return None
    return labels.Label(float(known[-1]), display(method), line["color"], line["linestyle"])


def _mark_outliers(axes: "Axes", x: np.ndarray, y: np.ndarray, colour: str) -> None:
    """Mark means below the axis by arrow heads at its edge, and print the lowest."""
    floor = axes.get_ylim()[0]
    out = np.flatnonzero(np.isfinite(y) & (y < floor))
    if not len(out):
        return
    axes.plot(x[out], np.full(len(out), floor), "v", color=colour, markersize=4, clip_on=False)
    lowest = out[np.argmin(y[out])]
    left = x[lowest] < np.mean(axes.get_xlim())
    axes.annotate(
        f"{y[lowest]:.3g}".replace("-", "−"),
        (x[lowest], floor),
        xytext=(4 if left else -4, 4),
        textcoords="offset points",
        ha="left" if left else "right",
        va="bottom",
        fontsize=6,
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        zorder=4,
    )


def _limits(found: pd.DataFrame, exact: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold the bounds and every mean with its error, outliers excepted."""
    means = pd.concat([found["y"], exact["y"]]).dropna()
    reach = _REACH * (means.max() - means.median())
    shown = found[found["y"] >= means.max() - reach]
    ends = pd.concat([shown["y_low"], shown["y_high"], shown["y"], exact["y"]]).dropna()
    margin = 0.06 * (ends.max() - ends.min()) or 0.1
    return ends.min() - margin, ends.max() + margin


def _span(x: pd.Series) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    margin = 0.02 * (high - low) or 1.0
    return low - margin, high + margin


def _ticks(places: list[float]) -> list[float]:
    """Return the dimensions of a curve as ticks: all, or if they are many the multiples of 5."""
    if len(places) > _MANY:
        places = [x for x in places if x == places[0] or x % 5 == 0]
    return _apart(places, _CLOSE)


def _apart(places: list[float], least: float) -> list[float]:
    """Return the first place, and every further one whose label would overlap no earlier one."""
    kept = places[:1]
    for x in places[1:]:
        if x - kept[-1] >= least * (places[-1] - places[0]):
            kept.append(x)
    return kept
