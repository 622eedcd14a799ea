"""Three days of traffic, for the left of cdo figure 5: test outputs, their mean, and CDO's band."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import style
from kcde.pages.methods import display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHOD, TEST = "CDO", "test"
TEST_MEAN, BAND = "test mean", "mean ± 2 sd"
"""Series of the curves."""

DAYS_SHOWN = ("Monday", "Tuesday", "Wednesday")
"""The first days of the week, of which the panel is."""

DAYS = len(DAYS_SHOWN)
_HOURS = 24.0
_BANDS = 2.0  # standard deviations
_EDGE = 0.04  # of the shown range, around it


def rows(dataset: str, sound: Mapping[str, Mapping], known: Mapping[str, str]) -> list[dict]:
    """Return the rows of the first `DAYS` days of the first split.

    Parameters
    ----------
    dataset
        Its name; the panel is `<data set> days`.
    sound
        Method to the arrays of its `.npz`, of the methods that did not fail.
    known
        Method to its variant.

    Returns
    -------
    list of dict
        Keys among `FIGURE_COLUMNS`; `x` is in hours since the beginning of the first day. Rows of
        kind `histogram` have a slot from `x` to `x_right`, a bin from `y_low` to `y_high`, the
        share of the slot's test outputs in `y` and their number in `n`. Rows of kind `curve` have
        the test mean, and the mean of CDO with `y_low` and `y_high` two standard deviations away.
    """
    if not sound:
        return []
    arrays = sound.get(METHOD, next(iter(sound.values())))
    hours, width = _hours(arrays["inputs"][0])
    shown = np.flatnonzero(hours < DAYS * _HOURS)
    same = {"panel": f"{dataset} days", "x": None}
    found = []
    for place in shown:
        slot = same | {"x": hours[place], "x_right": hours[place] + width}
        found += _histogram(slot, arrays["histogram"][place], arrays["edges"])
    for place in shown:
        at = same | {"kind": "curve", "x": hours[place] + width / 2}
        y = arrays["test_mean"][0, place]
        found.append({**at, "method": TEST, "series": TEST_MEAN, "y": y})
    for place in shown if METHOD in sound else ():
        at = same | {"kind": "curve", "x": hours[place] + width / 2}
        mean, reach = arrays["mean"][0, place], _BANDS * arrays["std"][0, place]
        band = {"y": mean, "y_low": mean - reach, "y_high": mean + reach}
        found.append({**at, "method": METHOD, "variant": known[METHOD], "series": BAND, **band})
    return found


def _histogram(slot: Mapping, counts: np.ndarray, edges: np.ndarray) -> list[dict]:
    total = counts.sum()
    return [
        {
            **slot,
            "kind": "histogram",
            "method": TEST,
            "y": counts[k] / total,
            "y_low": edges[k],
            "y_high": edges[k + 1],
            "n": int(counts[k]),
        }
        for k in np.flatnonzero(counts)
    ]


def _hours(inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """Return when each slot begins, in hours since the beginning of the first day, and its length.

    Times of day may be in any unit; they divide the day into slots of equal length.
    """
    days, times = (np.unique(inputs[:, column], return_inverse=True) for column in (0, 1))
    width = _HOURS / len(times[0])
    return _HOURS * days[1].reshape(-1) + width * times[1].reshape(-1), width


def draw(axes: "Axes", days: pd.DataFrame) -> None:
    """Draw histogram, test mean and CDO's band over the hours of three days.

    Parameters
    ----------
    axes
        Of the panel.
    days
        Rows of the panel, as `rows` makes them.
    """
    curves = days[days["kind"] == "curve"]
    test, ours = (curves[curves["method"] == name].sort_values("x") for name in (TEST, METHOD))
    _draw_histogram(axes, days[days["kind"] == "histogram"])
    colour = style.line(METHOD)["color"]
    axes.fill_between(ours["x"], ours["y_low"], ours["y_high"], color=colour, alpha=0.22, lw=0)
    axes.plot(ours["x"], ours["y"], color=colour, linewidth=1.2)
    axes.plot(test["x"], test["y"], color=style.EXACT, linewidth=0.9, linestyle=(0, (2, 1)))
    axes.set_xlim(0.0, 24.0 * DAYS)
    axes.set_xticks(np.arange(0, 24 * DAYS + 1, 12), _hour_labels())
    axes.set_xlabel("hour of the day")
    seen = days[["y_low", "y_high"]].to_numpy(float)
    low, high = np.nanmin(seen), np.nanmax(seen)
    # Room for the names above everything that is shown.
    axes.set_ylim(low - _EDGE * (high - low), high + 5 * _EDGE * (high - low))
    for x, text, shade in (
        (0.02, f"{display(METHOD)}: mean ± 2 sd", colour),
        (0.55, "test mean (dashed)", style.EXACT),
    ):
        font = {"color": shade, "fontsize": 7, "va": "top"}
        axes.text(x, 0.985, text, transform=axes.transAxes, **font)


def _draw_histogram(axes: "Axes", bins: pd.DataFrame) -> None:
    """Draw shares of the test outputs of each slot in grey, all slots and bins as one grid."""
    if not len(bins):
        return
    slots, levels = np.sort(bins["x"].unique()), np.sort(bins["y_low"].unique())
    # Bins without an output have no row.
    height = (bins["y_high"] - bins["y_low"]).min()
    edges = np.arange(levels[0], levels[-1] + 1.5 * height, height)
    width = (bins["x_right"] - bins["x"]).min()
    grid = np.full((len(edges) - 1, round((slots[-1] - slots[0]) / width) + 1), np.nan)
    up = np.clip(((bins["y_low"] - edges[0]) / height).round().astype(int), 0, len(grid) - 1)
    along = ((bins["x"] - slots[0]) / width).round().astype(int)
    grid[up, along] = bins["y"]
    sides = slots[0] + width * np.arange(grid.shape[1] + 1)
    top = np.nanquantile(grid, 0.98)
    axes.pcolormesh(sides, edges, grid, cmap="Greys", vmin=0.0, vmax=1.2 * top, rasterized=True)


def _hour_labels() -> list[str]:
    return [*(label for name in DAYS_SHOWN for label in ("0", f"12\n{name}")), "24"]
