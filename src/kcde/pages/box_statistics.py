"""The statistics of box plots as rows of a tracked CSV: kind `box`, each value in `y`."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH = "whisker_low", "q1", "median", "q3", "whisker_high"
FIVE_NUMBERS = (WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH)
MEAN, OUTLIER, FAILED = "mean", "outlier", "failed"

KEPT = 20
"""At most so many outliers of a box are kept, evenly by rank."""

_REACH = 1.5  # of the whiskers, in interquartile ranges (Tukey)


def rows(values: np.ndarray, same: Mapping) -> list[dict]:
    """Return the rows of one box.

    Whiskers end at the farthest values within 1.5 interquartile ranges of the box.

    Parameters
    ----------
    values
        Shape (n,); values that are not finite are left out and counted in a row with the stat
        `failed`.
    same
        Columns that all rows share: panel, method, variant, series.

    Returns
    -------
    list of dict
        Stats whisker_low, q1, median, q3, whisker_high, mean, then at most `KEPT` outliers, evenly
        by rank and including the extremes. `n` is the number of finite values. Only `failed` where
        there are none.
    """
    values = np.asarray(values, dtype=float)
    finite = np.sort(values[np.isfinite(values)])
    row = {"kind": "box", "n": len(finite), **same}
    lost = len(values) - len(finite)
    found = [{**row, "stat": FAILED, "y": lost}] if lost else []
    if not len(finite):
        return found
    q1, median, q3 = np.quantile(finite, [0.25, 0.5, 0.75])
    reach = _REACH * (q3 - q1)
    within = (finite >= q1 - reach) & (finite <= q3 + reach)
    inner, outer = finite[within], finite[~within]
    # A quartile between two values may lie beyond the farthest value within reach.
    stats = {
        WHISKER_LOW: min(inner[0], q1),
        Q1: q1,
        MEDIAN: median,
        Q3: q3,
        WHISKER_HIGH: max(inner[-1], q3),
        MEAN: finite.mean(),
    }
    kept = np.unique(np.linspace(0, len(outer) - 1, min(KEPT, len(outer))).round().astype(int))
    return [
        *({**row, "stat": stat, "y": value} for stat, value in stats.items()),
        *({**row, "stat": OUTLIER, "y": value} for value in outer[kept]),
        *found,
    ]


def table(panel: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes of a panel: a row per method in its order, a column per stat.

    Parameters
    ----------
    panel
        Rows of a tracked CSV.

    Returns
    -------
    pandas.DataFrame
        Without outliers and without methods that have no finite value.
    """
    drawn = panel[(panel["kind"] == "box") & ~panel["stat"].isin([OUTLIER, FAILED])]
    wide = drawn.pivot(index="method", columns="stat", values="y")
    return wide.reindex(dict.fromkeys(drawn["method"]))


def failures(frame: pd.DataFrame, trial: str) -> list[str]:
    """Return a sentence that counts the fits without a finite value, or nothing."""
    lost = frame[(frame["kind"] == "box") & (frame["stat"] == FAILED)]
    if not len(lost):
        return []
    each = [f"{row.y:.0f} of {row.method} ({row.panel})" for row in lost.itertuples()]
    return [f"Left out, because they failed or are not finite: {trial}s {', '.join(each)}."]
