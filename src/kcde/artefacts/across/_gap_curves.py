"""Curves with error bars on logarithmic axes, which the figures of `large_n` share."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(axes: "Axes", rows: pd.DataFrame, label: str, x_label: str, **look: object) -> None:
    """Draw one curve, with bars from `y_low` to `y_high` where there are such.

    Parameters
    ----------
    axes
        Made logarithmic.
    rows
        With `x`, `y`, `y_low` and `y_high`.
    label
        Of the curve.
    x_label
        Of the axis.
    **look
        Colour, line style and the like.
    """
    rows = rows.sort_values("x")
    spread = np.array([rows["y"] - rows["y_low"], rows["y_high"] - rows["y"]])
    # What reaches below 0 has no place on a logarithmic axis.
    spread[0] = np.minimum(spread[0], 0.95 * rows["y"])
    bars = {"yerr": spread, "elinewidth": 0.8} if np.isfinite(spread).all() else {}
    common = {"marker": "o", "markersize": 2.5, "linewidth": 1.2}
    axes.errorbar(rows["x"], rows["y"], **bars, **common, **look, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_label)
