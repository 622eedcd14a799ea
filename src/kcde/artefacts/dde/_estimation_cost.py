"""dde section 4, a figure of ours: memory and seconds of estimation against n and d."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact, Decision
from kcde.artefacts.tables.rounding import round_to_half_decade
from kcde.experiments.estimation_cost import ITERATIONS

METHODS = {
    "DDE": "DDE",
    "DDE-penalised": "DDE, penalised",
    "DDE-features": "DDE, features",
    "KEF": "KEF, exact",
    "KEF-nystrom": "KEF, Nyström",
}
"""Method of the scores to the name that readers see."""

DECIDING, RIVALS = "DDE", ("KEF", "KEF-nystrom")
AXES = ("n", "d")
QUANTITIES = {"memory": "peak_memory", "seconds": "fit_seconds"}
"""Quantity of a panel to its metric in the scores."""

NEEDED, EACH = "system_memory", "seconds_per_iteration"
NO_NUMBER = "no number"
"""Stat of a size at which a fit failed."""

NEEDS = "needs"
"""Stat of a size at which the exact family was not run, with the memory that its system takes."""

RANGE = {"n": 10_000, "d": 20}
"""How far a decision must reach."""

ALIKE = 1.25
"""Within this factor two costs count as alike."""


class Comparison(NamedTuple):
    """DDE against a rival along an axis, at the sizes where both were run.

    Attributes
    ----------
    axis, quantity, rival
        Keys of `RANGE`, `QUANTITIES` and `METHODS`.
    largest
        Of those sizes.
    ratio
        Cost of DDE over that of the rival at the largest.
    crossing
        The sizes between which DDE becomes, and from then on stays, the cheaper one; the first is
        None where it always was. None where it is not cheaper at the largest.
    iterations
        Of DDE that take as long as the rival does at the largest; NaN for memory.
    """

    axis: str
    quantity: str
    rival: str
    largest: int
    ratio: float
    crossing: tuple[int | None, int] | None
    iterations: float


def comparisons(scores: pd.DataFrame, method: str = DECIDING) -> list[Comparison]:
    """Compare a method with both rivals, in memory and seconds, along n and d.

    Parameters
    ----------
    scores
        Of the experiment `estimation_cost`.
    method
        One of `METHODS`.

    Returns
    -------
    list of Comparison
        Eight, without those that have no common size.
    """
    found = []
    for axis in AXES:
        each = _along(scores, axis, method, EACH)
        for quantity, metric in QUANTITIES.items():
            ours = _along(scores, axis, method, metric)
            for rival in RIVALS:
                theirs = _along(scores, axis, rival, metric)
                ratios = (ours / theirs).dropna()
                if not len(ratios):
                    continue
                last, alike = ratios.index[-1], np.nan
                if quantity == "seconds":
                    alike = ITERATIONS - (ours[last] - theirs[last]) / each[last]
                outcome = float(ratios.iloc[-1]), _crossing(ratios), float(alike)
                found.append(Comparison(axis, quantity, rival, int(last), *outcome))
    return found


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D7: DDE costs less memory and less time than score matching.

    DDE is the one of the authors' code, without penalty. It is compared with the exact and the
    Nyström estimate, in memory and in seconds, along n and along d, at the largest size that both
    were run at. The claim holds if DDE is the cheaper one in all eight, and fails if it is the
    dearer one in any, each by more than the factor `ALIKE`.

    Parameters
    ----------
    scores
        Of the experiment `estimation_cost`.

    Returns
    -------
    Decision
        `undecided` where neither is so, where a comparison is missing, or where DDE was not run up
        to the sizes of `RANGE`. Its reason has orders of magnitude: seconds do not repeat.
    """
    found = comparisons(scores)
    reason = "; ".join([*map(_words, found), *_refused(scores)])
    short = [
        f"{axis} = {largest}"
        for axis, largest in RANGE.items()
        if largest not in _along(scores, axis, DECIDING, QUANTITIES["seconds"]).index
    ]
    if short:
        return Decision("undecided", f"DDE was not run at {', '.join(short)}; {reason}")
    if len(found) < len(AXES) * len(QUANTITIES) * len(RIVALS):
        return Decision("undecided", f"some have no size in common; {reason}")
    if any(one.ratio > ALIKE for one in found):
        return Decision("fails", reason)
    holds = all(one.ratio < 1 / ALIKE for one in found)
    return Decision("holds" if holds else "undecided", reason)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cost of every method at every size.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `estimation_cost`.
    files
        Its score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. Panels `n memory`, `n seconds`, `d memory`, `d seconds`: x is the
        size, y MiB or seconds, stat `cost`; or `needs`, the memory of the exact system that was
        not run, or `no number` for another fit that failed.
    """
    rows = []
    for axis in AXES:
        for quantity, metric in QUANTITIES.items():
            for method in METHODS:
                panel, variant = f"{axis} {quantity}", _variant(scores, method)
                cost = _along(scores, axis, method, metric)
                rows += [_row(panel, method, variant, "cost", x, y) for x, y in cost.items()]
                if quantity == "memory":
                    needed = _along(scores, axis, method, NEEDED)
                    for x in _sizes(scores, axis).difference(cost.index):
                        stat, y = (NEEDS, needed[x]) if x in needed.index else (NO_NUMBER, np.nan)
                        rows.append(_row(panel, method, variant, stat, x, y))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say where DDE with a penalty and with random features lie, and what was not run.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    said = []
    for axis in AXES:
        panel = frame[(frame["panel"] == f"{axis} seconds") & (frame["stat"] == "cost")]
        table = panel.pivot(index="x", columns="method", values="y").dropna(axis=1, how="all")
        if len(table):
            order = " < ".join(
                METHODS[name] for name in table.iloc[-1].dropna().sort_values().index
            )
            said.append(f"Seconds at {axis} = {table.index[-1]:.0f}: {order}.")
    for row in frame[frame["stat"] == NEEDS].itertuples():
        said.append(
            f"Hollow: {METHODS[row.method]} at {row.panel.split()[0]} = {row.x:.0f} was not run; "
            f"its system alone would take {row.y / 1024:.1f} GiB."
        )
    for row in frame[frame["stat"] == NO_NUMBER].itertuples():
        said.append(
            f"{METHODS[row.method]} at {row.panel.split()[0]} = {row.x:.0f} failed; the reason "
            "stands beside claim D7 in the scorecard."
        )
    return said


def _along(scores: pd.DataFrame, axis: str, method: str, metric: str) -> pd.Series:
    """Return what was measured by size, ascending: n in the fewest dimensions, d at fewest rows."""
    cells, column = _sweep(scores, axis)
    cells = cells[(cells["method"] == method) & (cells["metric"] == metric)]
    return cells.dropna(subset="value").set_index(column)["value"].sort_index()


def _sizes(scores: pd.DataFrame, axis: str) -> pd.Index:
    cells, column = _sweep(scores, axis)
    return pd.Index(sorted(set(cells[column])))


def _sweep(scores: pd.DataFrame, axis: str) -> tuple[pd.DataFrame, str]:
    column, other = ("n_train", "dim") if axis == "n" else ("dim", "n_train")
    return scores[scores[other] == scores[other].min()], column


def _crossing(ratios: pd.Series) -> tuple[int | None, int] | None:
    sizes, dearer = ratios.index.to_list(), (ratios >= 1.0).to_list()
    if dearer[-1]:
        return None
    first = len(dearer) - dearer[::-1].index(True) if any(dearer) else 0
    return (int(sizes[first - 1]) if first else None), int(sizes[first])


def _variant(scores: pd.DataFrame, method: str) -> str:
    return next(iter(scores.loc[scores["method"] == method, "variant"]), "")


def _row(panel: str, method: str, variant: str, stat: str, x: float, y: float) -> dict:
    return {
        "panel": panel,
        "kind": "curve" if stat == "cost" else "scatter",
        "method": method,
        "variant": variant,
        "series": METHODS[method],
        "x": x,
        "y": y,
        "stat": stat,
        "n": 1,
    }


def _words(one: Comparison) -> str:
    what = f"{one.quantity} against {METHODS[one.rival]}"
    if one.crossing is None:
        end = f"{one.axis} = {one.largest}"
        return f"{what}: not less up to {end}, there {_factor(one.ratio)}{_affordable(one)}"
    below, above = one.crossing
    start = f"at every {one.axis} from {above}"
    if below is not None:
        start = f"from {one.axis} between {below} and {above} on"
    return f"{what}: less {start}, {_factor(1 / one.ratio)} less at {one.axis} = {one.largest}"


def _factor(ratio: float) -> str:
    """Return a ratio to the nearest of 1, 3, 10, 30 …, which a second run would give as well."""
    return f"about {round_to_half_decade(ratio):.15g} times"


def _affordable(one: Comparison) -> str:
    """Say how many iterations would take as long, because 5000 are a choice."""
    if math.isnan(one.iterations):
        return ""
    if one.iterations < 1:
        return " (compiling DDE alone takes longer)"
    return f" (as long as {_factor(one.iterations).removesuffix(' times')} iterations)"


def _refused(scores: pd.DataFrame) -> list[str]:
    """Say which fits gave no number."""
    rows = scores[(scores["status"] == "failed") & (scores["metric"] == QUANTITIES["memory"])]
    return [
        f"{METHODS[row.method]} at n = {row.n_train}, d = {row.dim}: {row.detail}"
        for row in rows.itertuples()
    ]
