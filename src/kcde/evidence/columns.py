"""Ours against the published values of a whole column, so that a common shift is seen.

Single verdicts can hide it: each of 16 values may lie within its tolerance, 13 of them above.
"""

from dataclasses import dataclass

import pandas as pd

from kcde.evidence.verdicts import RULES
from kcde.metrics.paired import paired_wilcoxon

_FEWEST = 2


@dataclass(frozen=True)
class Shift:
    """Ours minus published over the data sets of a column.

    Attributes
    ----------
    method, metric
        Of the column.
    n
        Data sets with both numbers.
    above
        On how many of them ours is the larger, that is, the worse one.
    mean, median
        Of the differences, in the metric's unit; an exploding cell dominates the mean.
    p_value
        Two-sided, of Wilcoxon's signed-rank test.
    """

    method: str
    metric: str
    n: int
    above: int
    mean: float
    median: float
    p_value: float


def shifts(cells: pd.DataFrame) -> list[Shift]:
    """Return the shift of each column of a table.

    Parameters
    ----------
    cells
        A row per data set and method, with `method, metric, ours, published`.

    Returns
    -------
    list of Shift
        In the order of the cells; without p-values and times, whose differences are not compared,
        and without columns of fewer than two data sets.
    """
    judged = {metric for metric, rule in RULES.items() if rule.kind == "difference"}
    known = cells[cells["metric"].isin(judged)].dropna(subset=["ours", "published"])
    columns = known.groupby(["method", "metric"], sort=False)
    return [_shift(*key, rows) for key, rows in columns if len(rows) >= _FEWEST]


def _shift(method: str, metric: str, rows: pd.DataFrame) -> Shift:
    ours, theirs = (rows[name].to_numpy(float) for name in ("ours", "published"))
    difference = ours - theirs
    return Shift(
        method=method,
        metric=metric,
        n=len(difference),
        above=int((difference > 0).sum()),
        mean=float(difference.mean()),
        median=float(pd.Series(difference).median()),
        p_value=paired_wilcoxon(ours, theirs).p_value,
    )
