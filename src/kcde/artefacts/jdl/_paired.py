"""Paired comparison of methods on the same repetitions, for the claims of jdl."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.artefacts.judging.deciding import Missing
from kcde.artefacts.judging.verdicts import SIGNIFICANCE, too_many_failed
from kcde.artefacts.tables.markdown import probability
from kcde.metrics.paired import paired_t_test


class Pooled(NamedTuple):
    """Two methods compared over repetitions, pooled over n.

    Attributes
    ----------
    ratio
        Of the first to the second, geometric mean over n and repetitions.
    lower
        Whether the first is significantly lower.
    p_value
        Of the paired t-test of the logarithms, averaged over n.
    each
        n to the ratio there, and whether it differs significantly from 1.
    count
        Number of repetitions.
    """

    ratio: float
    lower: bool
    p_value: float
    each: Mapping[int, tuple[float, bool]]
    count: int

    def __str__(self) -> str:
        by_n = ", ".join(
            f"{ratio:.2g}{'*' if significant else ''}" for ratio, significant in self.each.values()
        )
        return f"{self.ratio:.2g} (p {probability(self.p_value)}; by n {by_n})"


def complete(
    tables: Mapping[str, pd.DataFrame], sizes: Sequence[int], further: bool = True
) -> dict[str, pd.DataFrame]:
    """Return tables at their common n, on the repetitions that all completed at each of them.

    The number of repetitions is thus the same at every n. Repetitions that were not fitted at one
    of them do not count as incomplete.

    Parameters
    ----------
    tables
        Name, for messages, to repetitions x n, as `_curves.by_repetition` returns them.
    sizes
        n that every table must have.
    further
        Whether to include the other common n at which as many repetitions were fitted.

    Returns
    -------
    dict
        Name to table, all of the same shape.

    Raises
    ------
    Missing
        If an n is missing, fewer than two repetitions are complete, or more than 5% are not.
    """
    absent = [name for name, table in tables.items() if not set(sizes) <= set(table.columns)]
    if absent:
        wanted = " and ".join(f"{n:g}" for n in sizes)
        raise Missing(f"no scores of {', '.join(absent)} at n = {wanted}")
    common = set.intersection(*(set(table.columns) for table in tables.values()))
    needed = _fitted(tables, sizes)
    taken = sorted({n for n in common if further and needed <= _fitted(tables, [n])} | {*sizes})
    joined = pd.concat({name: table[taken] for name, table in tables.items()}, axis=1)
    joined = joined.loc[joined.index.isin(needed)]
    whole = joined.dropna()
    lost = len(joined) - len(whole)
    named = ", ".join(tables)
    if len(whole) < 2:
        raise Missing(f"{len(whole)} repetitions complete for {named}; needs 2")
    if too_many_failed(lost, len(joined)):
        raise Missing(f"{lost} of {len(joined)} repetitions incomplete for {named}")
    return {name: whole[name] for name in tables}


def _fitted(tables: Mapping[str, pd.DataFrame], sizes: Sequence[int]) -> frozenset[int]:
    """Return the repetitions that were fitted in one of the tables at least, at each of some n."""
    each = [
        frozenset().union(
            *(table.attrs.get("tried", {}).get(n, table.index) for table in tables.values())
        )
        for n in sizes
    ]
    return frozenset.intersection(*each)


def pooled(first: pd.DataFrame, second: pd.DataFrame) -> Pooled:
    """Compare two complete tables of positive values by their logarithms.

    Losses and errors fall by orders of magnitude with n: without logarithms the smallest n alone
    would decide.

    Parameters
    ----------
    first, second
        Repetitions x n, of the same shape.
    """
    logs = np.log(first.to_numpy()), np.log(second.to_numpy())
    whole = paired_t_test(*(values.mean(axis=1) for values in logs))
    by_n = {
        int(n): (
            float(np.exp(logs[0][:, k].mean() - logs[1][:, k].mean())),
            paired_t_test(logs[0][:, k], logs[1][:, k]).p_value < SIGNIFICANCE,
        )
        for k, n in enumerate(first.columns)
    }
    lower = whole.sign < 0 and whole.p_value < SIGNIFICANCE
    ratio = float(np.exp(logs[0].mean() - logs[1].mean()))
    return Pooled(ratio, lower, whole.p_value, by_n, len(first))


def each_or_missing(test: Callable, places: Sequence) -> tuple[list, list[str]]:
    """Return the results of a test where it is possible, and the reasons where it is not.

    Parameters
    ----------
    test
        Maps a place to a result, or raises `Missing`.
    places
        Arguments of the test.

    Returns
    -------
    tuple of list
        Results, and messages of `Missing`.
    """
    found, absent = [], []
    for place in places:
        try:
            found.append(test(place))
        except Missing as missing:
            absent.append(f"{missing}")
    return found, absent
