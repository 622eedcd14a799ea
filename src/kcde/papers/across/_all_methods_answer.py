"""The recommendation of the cross table: which method to take, in sentences from its rows."""

import math
from collections.abc import Iterable

import pandas as pd

from kcde.pages.markdown import number
from kcde.pages.methods import display
from kcde.papers.across._all_methods_risk import MARGINAL, OUTLYING, RESAMPLES
from kcde.papers.across._all_methods_rows import (
    GIVEN,
    TIED,
    in_order,
    of_methods,
    of_sets,
)

_FEWEST = 4
"""With fewer sets the smaller and the larger half are not compared."""

_RARE = 0.01
"""A method that is first in a smaller share of resamples is not named."""

_MOST_NAMES = 6
"""More methods than that are counted, not named."""


def sentences(table: pd.DataFrame) -> list[str]:
    """Return the answer.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Which method to take, in one sentence with its rank and its risk: the first by mean rank
        that failed on no split of any set, and those with the same mean rank, which have no lower
        mean loss; which is the first of all, if that is another; which
        others are not significantly different from the first, how often it is first when sets are
        redrawn, and whether two sets or the size of a set matter. None of `GIVEN` is
        recommended.
    """
    methods = of_methods(table)
    if len(methods) < 2:
        return ["No two methods were fitted on the same sets, so that none can be compared."]
    choosing = methods[~methods["method"].isin(GIVEN)]
    if not len(choosing):
        return ["None of the methods chooses its own parameters, so that none is recommended."]
    return [
        *_choice(choosing),
        _rivals(methods),
        *_chance(methods),
        *_without_outlying(methods, of_sets(table)),
        *_by_size(of_sets(table), choosing),
    ]


def _choice(choosing: pd.DataFrame) -> list[str]:
    """Name the first by rank that never failed, and the first of all where that is another."""
    sound, first = choosing[choosing["failed"] == 0], choosing.iloc[0]
    if not len(sound):
        return ["Every method failed on some set, so that none is recommended."]
    taken = sound.iloc[0]
    said = [
        f"**Take {display(taken['method'])}**{_ties(sound, taken)}: {_merits(taken)}"
        f"{_safest(sound, taken)}."
    ]
    if taken["method"] != first["method"]:
        said.append(
            f"{display(first['method'])}, the first by mean rank ({first['rank']:.1f}), failed on "
            f"{first['failed']:.0f} of {first['n']:.0f} sets."
        )
    return said


def _ties(sound: pd.DataFrame, taken: pd.Series) -> str:
    """Name the methods that have exactly the mean rank of the one taken."""
    same = sound[(sound["rank"].round(TIED) == round(taken["rank"], TIED))].iloc[1:]
    if not len(same):
        return ""
    named = " and ".join(
        f"{display(row.method)} (mean loss {number(row.capped)})" for row in same.itertuples()
    )
    return f", tied by mean rank with {named}"


def _merits(row: pd.Series) -> str:
    said = [f"mean rank {row['rank']:.1f}"]
    if not math.isnan(row["capped"]):
        said.append(
            f"mean loss {number(row['capped'])} nats, at worst {number(row['worst_capped'])} on "
            f"{row['worst']}"
        )
    if not math.isnan(row["below_marginal"]):
        said.append(
            f"worse than {display(MARGINAL)} on {row['below_marginal']:.0f} of "
            f"{row['of_marginal']:.0f} sets"
        )
    return ", ".join([*said, f"no failed split on {row['n']:.0f} sets"])


def _safest(sound: pd.DataFrame, taken: pd.Series) -> str:
    """Name the method with the lowest mean loss, if that is not the one taken."""
    lowest = sound.sort_values("capped", kind="stable").iloc[0]
    if lowest["method"] == taken["method"] or not lowest["capped"] < taken["capped"]:
        return ""
    return (
        f"; {display(lowest['method'])} has the lowest mean loss ({number(lowest['capped'])} "
        f"nats, mean rank {lowest['rank']:.1f})"
    )


def _rivals(methods: pd.DataFrame) -> str:
    """Say which methods are not significantly different from the first."""
    rivals = methods.iloc[1:]
    same = rivals.loc[rivals["best"], "method"]
    return (
        f"Of the {len(rivals)} rivals of {display(methods['method'].iloc[0])}, the first by mean "
        "rank, not significantly different by the test over sets (Holm over the rivals): "
        f"{_listed(same)}."
    )


def _chance(methods: pd.DataFrame) -> list[str]:
    """Say how often the first is first when sets are redrawn."""
    shares = methods.set_index("method")["first_share"].sort_values(ascending=False, kind="stable")
    if shares.isna().all():
        return []
    often = [
        f"{display(name)} {100 * share:.0f}%" for name, share in shares.items() if share >= _RARE
    ]
    return [f"First in {RESAMPLES} resamples of sets: {', '.join(often[:3])}."]


def _without_outlying(methods: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    ranks = methods.set_index("method")["rank_without"]
    if ranks.isna().all():
        return []
    losses = cells[~cells["dataset"].isin(list(OUTLYING))].groupby("method")["capped"].mean()
    first = in_order(ranks, losses)[0]
    return [
        f"Without {' and '.join(OUTLYING)} the first is {display(first)} (mean rank "
        f"{ranks[first]:.1f})."
    ]


def _by_size(cells: pd.DataFrame, choosing: pd.DataFrame) -> list[str]:
    """Name the first method on the sets with few rows, and on those with many."""
    wide, losses = (
        cells.pivot(index="dataset", columns="method", values=value)[list(choosing["method"])]
        for value in ("rank", "capped")
    )
    wide = wide.dropna()
    rows = cells.groupby("dataset")["n_train"].first()[wide.index].sort_values(kind="stable")
    half = len(rows) // 2
    if len(rows) < _FEWEST or not rows.iloc[half - 1] < rows.iloc[half]:
        return []
    parts = (rows.iloc[:half], rows.iloc[half:])
    ranks = [wide.loc[part.index].mean() for part in parts]
    few, many = (
        in_order(each, losses.loc[part.index].mean())[0]
        for each, part in zip(ranks, parts, strict=True)
    )
    return [
        f"On the {half} sets with at most {rows.iloc[half - 1]:.0f} training rows the first is "
        f"{display(few)} ({ranks[0][few]:.1f}), on the larger ones {display(many)} "
        f"({ranks[1][many]:.1f})."
    ]


def _listed(names: Iterable[str]) -> str:
    names = list(map(display, names))
    return ", ".join(names) if 0 < len(names) <= _MOST_NAMES else str(len(names) or "none")
