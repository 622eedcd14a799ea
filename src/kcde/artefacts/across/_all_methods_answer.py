"""The recommendation of the cross table: which method to take, in sentences from its rows."""

from collections.abc import Iterable

import pandas as pd

from kcde.artefacts.across._all_methods_rows import GIVEN, of_methods, of_pairs, of_sets
from kcde.artefacts.judging import verdicts
from kcde.artefacts.tables.markdown import number
from kcde.artefacts.tables.methods import display

_FEWEST = 4
"""With fewer sets the smaller and the larger half are not compared."""


def sentences(table: pd.DataFrame) -> list[str]:
    """Return the answer.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Which method to take, and which if it failed on some set; which others are significantly
        different from the first by the test over sets, which of those that are not is the
        quickest, and whether the size of a set matters. None of `GIVEN` is recommended.
    """
    methods = of_methods(table)
    if len(methods) < 2:
        return ["No two methods were fitted on the same sets, so that none can be compared."]
    choosing = methods[~methods["method"].isin(GIVEN)]
    if not len(choosing):
        return ["None of the methods chooses its own parameters, so that none is recommended."]
    said = _choice(choosing, of_sets(table)) + _differences(methods, of_pairs(table))
    return [*said, *_quickest(choosing), *_by_size(of_sets(table), choosing)]


def _choice(choosing: pd.DataFrame, cells: pd.DataFrame) -> list[str]:
    """Name the first by rank that chooses its parameters, and the first that never failed."""
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
        f"mean rank {row['rank']:.1f}; the best of a set or not significantly different from it "
        f"on {row['sets_best']:.0f} of {row['n']:.0f}; in the median {number(row['excess'])} nats "
        f"above the lowest; about {row['seconds']:g} s per split"
    )


def _differences(methods: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Name the methods that are significantly different from the first by the test over sets."""
    first = methods["method"].iloc[0]
    same, worse, better = [], [], []
    for name in methods["method"].iloc[1:]:
        pair = pairs.loc[(name, first)]
        differs = pair["p_value"] < verdicts.SIGNIFICANCE
        (same if not differs else worse if pair["excess"] >= 0 else better).append(name)
    said = f"Not significantly different from {display(first)}, the first by mean rank of all, by "
    said += f"the test over sets (adjusted for all pairs): {_listed(same)}. Significantly worse: "
    said += f"{_listed(worse)}."
    return [said + f" Significantly better, despite the rank: {_listed(better)}." * bool(better)]


def _quickest(choosing: pd.DataFrame) -> list[str]:
    """Name the quickest that never failed and is not significantly different from the first."""
    equals = choosing[choosing["best"] & (choosing["failed"] == 0)]
    if not len(equals) or equals["seconds"].isna().all():
        return []
    quickest = equals.loc[equals["seconds"].idxmin()]
    return [
        "Of those not significantly different from it that failed on no set, the quickest is "
        f"{display(quickest['method'])}: about {quickest['seconds']:g} s per split."
    ]


def _by_size(cells: pd.DataFrame, choosing: pd.DataFrame) -> list[str]:
    """Name the first method on the sets with few rows, and on those with many."""
    wide = cells.pivot(index="dataset", columns="method", values="rank")
    wide = wide[list(choosing["method"])].dropna()
    rows = cells.groupby("dataset")["n_train"].first()[wide.index].sort_values(kind="stable")
    half = len(rows) // 2
    if len(rows) < _FEWEST or not rows.iloc[half - 1] < rows.iloc[half]:
        return []
    parts = (rows.iloc[:half], rows.iloc[half:])
    few, many = (wide.loc[part.index].mean() for part in parts)
    return [
        f"On the {half} sets with at most {rows.iloc[half - 1]:.0f} training rows the lowest mean "
        f"rank is that of {display(few.idxmin())} ({few.min():.1f}), on the larger ones that of "
        f"{display(many.idxmin())} ({many.min():.1f})."
    ]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(display, names)) or "none"
