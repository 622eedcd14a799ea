"""Paired comparison of methods on the same repetitions, for the claims of jdl."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.evidence.deciding import Missing
from kcde.evidence.verdicts import SIGNIFICANCE, too_many_failed
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon
from kcde.pages.markdown import magnitude, probability

GEOMETRIC, ARITHMETIC, MAXIMUM = "geometric mean", "arithmetic mean", "maximum"
STATISTICS: Mapping[str, Callable[[pd.DataFrame], pd.Series]] = {
    GEOMETRIC: lambda table: np.exp(np.log(table).mean()),
    ARITHMETIC: lambda table: table.mean(),
    MAXIMUM: lambda table: table.max(),
}
"""Readings of the statistic over repetitions that a claim is about, to what takes it at each n."""

T_TEST, SIGNED_RANKS = "paired t-test", "signed-rank test"
TESTS: Mapping[str, Callable[[np.ndarray, np.ndarray], PairedTest]] = {
    T_TEST: paired_t_test,
    SIGNED_RANKS: paired_wilcoxon,
}
"""Readings of the test over repetitions that a claim's "significant" is about."""

_TESTED = {
    GEOMETRIC: "the logarithms averaged over n",
    ARITHMETIC: "the values over the mean of both at their n, averaged over n",
}
"""Statistic to what is tested; a maximum has no test."""


class Pooled(NamedTuple):
    """Two methods compared over repetitions, pooled over n.

    Attributes
    ----------
    ratio
        Of the first to the second, by a statistic over repetitions; geometric mean over n.
    lower
        Whether the first is significantly lower, or has the lower maximum.
    p_value
        Of the test; NaN where there is none.
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
            f"{ratio:.2g}{'*' if significant else ''} at {magnitude(n)}"
            for n, (ratio, significant) in self.each.items()
        )
        tested = "" if np.isnan(self.p_value) else f"p {probability(self.p_value)}; "
        return f"{self.ratio:.2g} ({tested}{by_n}; {self.count} matrices)"


def complete(
    tables: Mapping[str, pd.DataFrame],
    sizes: Sequence[int],
    further: bool = True,
    every: bool = False,
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
    every
        Whether to include every common n, on the repetitions that were fitted at all of them.

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
    needed = _fitted(tables, sorted(common) if every else sizes)
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


def pooled(
    first: pd.DataFrame, second: pd.DataFrame, statistic: str = GEOMETRIC, test: str = T_TEST
) -> Pooled:
    """Compare two complete tables of positive values by a statistic over repetitions.

    Losses and errors fall by orders of magnitude with n: without logarithms, or a division by the
    mean of both at each n, the smallest n alone would decide. Maxima are not tested: the first is
    lower where the geometric mean over n of their ratios is below 1.

    Parameters
    ----------
    first, second
        Repetitions x n, of the same shape.
    statistic
        One of `STATISTICS`.
    test
        One of `TESTS`.
    """
    of, compare = STATISTICS[statistic], TESTS[test]
    ratios = of(first) / of(second)
    ratio = float(np.exp(np.log(ratios).mean()))
    if statistic == MAXIMUM:
        each = {int(n): (float(value), False) for n, value in ratios.items()}
        return Pooled(ratio, ratio < 1.0, np.nan, each, len(first))
    if statistic == GEOMETRIC:
        tested = np.log(first), np.log(second)
    else:
        middle = (first.mean() + second.mean()) / 2.0
        tested = first / middle, second / middle
    whole = compare(*(values.mean(axis=1).to_numpy() for values in tested))
    each = {
        int(n): (
            float(value),
            compare(*(values[n].to_numpy() for values in tested)).p_value < SIGNIFICANCE,
        )
        for n, value in ratios.items()
    }
    lower = whole.sign < 0 and whole.p_value < SIGNIFICANCE
    return Pooled(ratio, lower, whole.p_value, each, len(first))


def meaning(statistic: str, every: bool, test: str = T_TEST) -> str:
    """Return what the numbers of `Pooled` are, for the reasons of claims.

    Parameters
    ----------
    statistic, test
        As for `pooled`.
    every
        As for `complete`.
    """
    values = _TESTED.get(statistic)
    of_what = f"p-value of the {test} of {values} (* differs at that n)"
    tested = of_what if values else "without a test"
    counted = "every n counts" if every else "an n that fewer matrices reach does not count"
    return f"by the {statistic} over matrices, geometric mean over n, {tested}; {counted}"


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
