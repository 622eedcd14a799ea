"""The pictures of a comparison, as data URIs of SVG; words from the file stand beside them."""

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde import webpage
from kcde.comparison.summary import CRPS, LOG_DENSITY
from kcde.pages import style

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of a fan plot."""

_BINS = 20
_HIGHEST = 3.0
_SMALL, _WIDE = (2.6, 1.7), 4.8  # inches: readable on a phone as well
_COLOURS = (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE)
DASHES = ("-", "--", "-.", ":", (0, (8, 2)))


class Picture(NamedTuple):
    """A data URI, its text alternative, and the words below it."""

    uri: str
    alternative: str
    caption: str


def _uri(made) -> str:
    buffer = io.BytesIO()
    made.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return webpage.uri(buffer.getvalue(), "image/svg+xml")


def ranking(table: pd.DataFrame, rank_by: str, path: Path | None = None) -> Picture:
    """Draw the ranked scores with two standard errors, and write them as PNG if a path is given."""
    scored = table[table["splits"].notna()]
    against = rank_by == LOG_DENSITY and scored["gain"].notna().any()
    value = "gain" if against else rank_by
    labels = {
        "gain": "held-out log density above that of MarginalKDE, nats",
        LOG_DENSITY: "held-out log density, nats",
        CRPS: "CRPS, in the units of y",
    }
    with style.figure(_WIDE, 0.7 + 0.2 * len(scored)) as (made, axes):
        for place, row in enumerate(scored.itertuples()):
            error = 2.0 * np.nan_to_num(getattr(row, f"{value}_stderr"))
            axes.errorbar(
                getattr(row, value),
                place,
                xerr=error,
                fmt="o" if not row.failed else "x",
                color=style.line(row.method)["color"],
                markersize=5,
                linewidth=1.4,
            )
        if against:
            axes.axvline(0.0, color=style.BLACK, linewidth=0.6, linestyle=":")
        axes.set_yticks(range(len(scored)), scored["method"])
        axes.set_ylim(len(scored) - 0.4, -0.6)
        axes.set_xlabel(labels[value])
        axes.tick_params(axis="y", length=0)
        if path is not None:
            made.savefig(path, format="png", dpi=style.DPI, metadata={"Software": None})
        uri = _uri(made)
    best = ", ".join(
        f"{row.method} {getattr(row, value):.3g}" for row in scored.head(5).itertuples()
    )
    return Picture(
        uri,
        f"Dot plot of {labels[value]}, the best first: {best}.",
        f"{labels[value][0].upper()}{labels[value][1:]}: means over the splits and two standard "
        "errors. A cross marks a method that failed on some split.",
    )


def pit(method: str, values: np.ndarray) -> Picture:
    """Draw the histogram of F(y|x) of the test rows."""
    counts, edges = np.histogram(values, bins=_BINS, range=(0.0, 1.0))
    heights = counts * _BINS / max(1, len(values))
    with style.figure(*_SMALL) as (made, axes):
        axes.stairs(heights, edges, fill=True, color=style.line(method)["color"], alpha=0.85)
        axes.axhline(1.0, color=style.BLACK, linewidth=0.6, linestyle=":")
        axes.set_xlim(0.0, 1.0)
        axes.set_xticks([0.0, 0.5, 1.0])
        axes.set_ylim(0.0, min(max(1.5, 1.05 * heights.max()), _HIGHEST))
        uri = _uri(made)
    highest = heights.max()
    cut = f" (cut at {_HIGHEST:g}; the highest bar is {highest:.1f})" if highest > _HIGHEST else ""
    ends = 0.5 * (heights[0] + heights[-1])
    middle = heights[_BINS // 2 - 2 : _BINS // 2 + 2].mean()
    return Picture(
        uri,
        f"Histogram of F(y|x) of {method}: {ends:.2f} at the ends and {middle:.2f} in the middle, "
        "where 1 is calibrated.",
        f"{method}{cut}",
    )


def fan(name: str, grid, quantiles: np.ndarray, points: tuple[np.ndarray, np.ndarray] | None):
    """Draw quantiles of y against one column, all others at their medians.

    Parameters
    ----------
    name
        Of the column.
    grid
        Numbers (k,) or the names of k levels.
    quantiles
        Shape (k, 5), of `LEVELS`.
    points
        Some rows: their values of the column, and y.
    """
    numeric = not isinstance(grid[0], str)
    places = np.asarray(grid, dtype=float) if numeric else np.arange(len(grid))
    with style.figure(*_SMALL) as (made, axes):
        if points is not None:
            axes.plot(*points, ".", color="#BBBBBB", markersize=1.5, rasterized=True, zorder=0)
        if numeric:
            outer = {"color": style.BLUE, "linewidth": 0}
            axes.fill_between(places, quantiles[:, 0], quantiles[:, 4], alpha=0.2, **outer)
            axes.fill_between(places, quantiles[:, 1], quantiles[:, 3], alpha=0.35, **outer)
            axes.plot(places, quantiles[:, 2], color=style.BLUE, linewidth=1.2)
        else:
            axes.vlines(places, quantiles[:, 0], quantiles[:, 4], color=style.BLUE, linewidth=1)
            axes.vlines(places, quantiles[:, 1], quantiles[:, 3], color=style.BLUE, linewidth=4)
            axes.plot(places, quantiles[:, 2], "o", color="white", mec=style.BLUE, markersize=4)
            axes.set_xticks(places, [str(i + 1) for i in places])
        spread = quantiles[:, 4].max() - quantiles[:, 0].min()
        axes.set_ylim(quantiles[:, 0].min() - 0.15 * spread, quantiles[:, 4].max() + 0.15 * spread)
        uri = _uri(made)
    ends = [f"{value:.3g}" if numeric else value for value in (grid[0], grid[-1])]
    medians = [f"{quantiles[place, 2]:.3g}" for place in (0, -1)]
    levels = "" if numeric else ": " + ", ".join(f"{i + 1} {each}" for i, each in enumerate(grid))
    return Picture(
        uri,
        f"Quantiles of y against {name}: the median goes from {medians[0]} at {ends[0]} to "
        f"{medians[1]} at {ends[1]}.",
        f"{name}{levels}",
    )


def densities(y: np.ndarray, curves: np.ndarray, observed: np.ndarray) -> Picture:
    """Draw densities of some rows, shape (rows, k) at y (k,), with what was observed."""
    with style.figure(_WIDE, 2.2) as (made, axes):
        for place, curve in enumerate(curves):
            look = {"color": _COLOURS[place % 5], "linestyle": DASHES[place % 5]}
            axes.plot(y, curve, label=f"row {'ABCDE'[place]}", **look)
            axes.plot(observed[place], 0.0, "^", color=look["color"], clip_on=False, markersize=6)
        axes.set_ylim(bottom=0.0)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.legend(frameon=False)
        uri = _uri(made)
    modes = ", ".join(f"{'ABCDE'[i]} {y[curve.argmax()]:.3g}" for i, curve in enumerate(curves))
    return Picture(
        uri,
        f"Densities of y of five rows, highest at {modes}.",
        "Densities of y at five typical rows; triangles are their y.",
    )
