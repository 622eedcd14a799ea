"""What the cross table says to somebody who has to choose a method, in sentences from its rows."""

from collections.abc import Iterable

import pandas as pd

from kcde.artefacts.across._all_methods import GIVEN, of_methods, of_pairs, of_sets
from kcde.artefacts.judging import verdicts
from kcde.artefacts.tables.markdown import number
from kcde.artefacts.tables.methods import display

_FEWEST = 4
"""Sets from which on the smaller and the larger half are looked at."""


def sentences(table: pd.DataFrame) -> list[str]:
    """Return the answer.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Which method to take, and which where it failed on some set; from which others the test
        over sets tells the first, which of its equals is the quickest, and whether the size of a
        set matters. None of `GIVEN` is one to take.
    """
    methods = of_methods(table)
    if len(methods) < 2:
        return ["No two methods were fitted on the same sets, so that none are compared."]
    choosing = methods[~methods["method"].isin(GIVEN)]
    said = _choice(choosing, of_sets(table)) + _told_apart(methods, of_pairs(table))
    return [*said, *_quickest(choosing), *_by_size(of_sets(table), choosing)]


def _choice(choosing: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """Name the first by rank of those that choose their parameters, and the first that is safe."""
    if not len(choosing):
        return ["None of the methods chooses its own parameters, so that there is none to take."]
    taken, sound = choosing.iloc[0], choosing[choosing["failed"] == 0]
    said = [f"**Take {display(taken['method'])}**: {_merits(taken)}."]
    if not taken["failed"]:
        return said
    own = cells[cells["method"] == taken["method"]]
    where = ", ".join(
        f"{row.dataset} ({row.failed:.0f} of {row.n:.0f} splits)"
        for row in own.itertuples()
        if verdicts.too_many_failed(row.failed, row.n)
    )
    said.append(f"It failed on {where}, so look at its held-out likelihood before use.")
    if len(sound):
        safe = sound.iloc[0]
        said.append(
            f"The first that failed on no set is **{display(safe['method'])}**: {_merits(safe)}."
        )
    return said


def _merits(row: pd.Series) -> str:
    return (
        f"mean rank {row['rank']:.1f}; the best of a set or not told from it on "
        f"{row['sets_best']:.0f} of {row['n']:.0f}, in the median {number(row['excess'])} nats "
        f"above the lowest, about {row['seconds']:g} s a split"
    )


def _told_apart(methods: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Say from which methods the first is told by the test over sets."""
    first = methods["method"].iloc[0]
    same, worse, better = [], [], []
    for name in methods["method"].iloc[1:]:
        pair = pairs.loc[(name, first)]
        told = pair["p_value"] < verdicts.SIGNIFICANCE
        (same if not told else worse if pair["excess"] >= 0 else better).append(name)
    said = f"The test over sets, adjusted for all pairs, does not tell {display(first)}, the first "
    said += f"by mean rank of all, from {_listed(same)}, and finds {_listed(worse)} worse"
    return [said + f" (and {_listed(better)} better in spite of the rank)" * bool(better) + "."]


def _quickest(choosing: pd.DataFrame) -> list[str]:
    """Name the quickest method that failed on no set and is not told from the first."""
    equals = choosing[choosing["best"] & (choosing["failed"] == 0)]
    if not len(equals) or equals["seconds"].isna().all():
        return []
    quickest = equals.loc[equals["seconds"].idxmin()]
    return [
        f"The quickest of those not told from it that failed on no set is "
        f"{display(quickest['method'])}: about {quickest['seconds']:g} s a split."
    ]


def _by_size(cells: pd.DataFrame, choosing: pd.DataFrame) -> list[str]:
    """Name the first method of the sets with few rows, and that of those with many."""
    wide = cells.pivot(index="dataset", columns="method", values="rank").dropna()
    rows = cells.groupby("dataset")["n_train"].first()[wide.index].sort_values(kind="stable")
    half = len(rows) // 2
    if len(rows) < _FEWEST or not rows.iloc[half - 1] < rows.iloc[half]:
        return []
    parts = (rows.iloc[:half], rows.iloc[half:])
    few, many = (wide.loc[part.index, choosing["method"]].mean() for part in parts)
    return [
        f"On the {half} sets with at most {rows.iloc[half - 1]:.0f} training rows the lowest mean "
        f"rank is that of {display(few.idxmin())} ({few.min():.1f}), on the larger ones that of "
        f"{display(many.idxmin())} ({many.min():.1f})."
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(display, names)) or "none"
