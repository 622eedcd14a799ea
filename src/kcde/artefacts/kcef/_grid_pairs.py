"""Curves on the grid data, paired by run, for the claims about them."""

from collections.abc import Callable, Sequence

import pandas as pd

from kcde.artefacts.judging.deciding import Missing
from kcde.artefacts.kcef._grid import against_n

ALL = ("KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE")

SIZES = (200, 2000)
"""Ends of the published range of n, which a decision must have."""


def paired(
    scores: pd.DataFrame,
    view: Callable,
    methods: Sequence[str],
    wanted: Sequence[int],
    at_least: int = 1,
) -> dict[str, pd.DataFrame]:
    """Return the methods' curves where all have scores, on the runs that all completed.

    Parameters
    ----------
    scores
        Of the experiment `joint`.
    view
        `kcde.artefacts.kcef._grid.against_n` or `against_d`.
    methods
        As in the scores.
    wanted
        Places that every curve must have.
    at_least
        Runs needed.

    Returns
    -------
    dict
        Method to its curve, all of the same shape.

    Raises
    ------
    Missing
        If a method lacks a place, or too few runs are left.
    """
    curves = {name: view(scores, name) for name in methods}
    absent = [name for name, curve in curves.items() if not set(wanted) <= set(curve.columns)]
    if absent:
        axis = "n" if view is against_n else "d"
        ends = " and ".join(f"{end}" for end in wanted)
        raise Missing(f"no scores of {', '.join(absent)} at {axis} = {ends}")
    places = sorted(set.intersection(*(set(curve.columns) for curve in curves.values())))
    joined = pd.concat({name: curve[places] for name, curve in curves.items()}, axis=1).dropna()
    if len(joined) < at_least:
        raise Missing(
            f"{len(joined)} runs that all of {', '.join(methods)} completed; needs {at_least}"
        )
    return {name: joined[name] for name in methods}


def left_out(scores: pd.DataFrame, view: Callable, methods: Sequence[str], runs: int) -> str:
    """Say how many runs `paired` left out because a method failed in them, "" where none."""
    all_runs = set().union(*(view(scores, name).index for name in methods))
    lost = len(all_runs) - runs
    return f"; {lost} of {len(all_runs)} runs left out because a fit failed" if lost else ""
