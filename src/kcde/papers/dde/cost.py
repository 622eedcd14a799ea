"""Memory and seconds of one estimation (dde section 4), a figure of ours, and claim D7."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.estimators import DDE
from kcde.experiments.estimation_cost import ITERATIONS
from kcde.metrics.names import SYSTEM_MEMORY
from kcde.pages import labels, style
from kcde.pages.rounding import round_to_half_decade
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision

_METHODS = {
    "DDE": "DDE",
    "DDE-penalised": "DDE, penalised",
    "DDE-features": "DDE, features",
    "KEF": "KEF, exact",
    "KEF-nystrom": "KEF, Nyström",
}
"""Method of the scores to its displayed name."""

_DECIDING, _RIVALS = "DDE", ("KEF", "KEF-nystrom")
_AXES = {"n": "number of points $n$ (at $d=2$)", "d": "number of dimensions $d$ (at $n=500$)"}
_QUANTITIES = {"memory": "peak_memory", "seconds": "fit_seconds"}
"""Quantity of a panel to its metric in the scores."""

_ITERATION_SECONDS, _COMPILE_SECONDS = "seconds_per_iteration", "compile_seconds"

_COST = "cost"
_NO_NUMBER = "no number"
"""Stat of a size at which a fit failed."""

_NEEDS = "needs"
"""Stat of a size at which the exact KEF was not run, with the memory that its system needs."""

_RANGE = {"n": 10_000, "d": 20}
"""Sizes that a decision must reach."""

_TOLERANCE = 1.25
"""Costs within this factor of each other count as equal."""

_HEIGHT, _LEGEND = 4.4, 0.2  # inches
_DASHES = {
    "DDE": "-",
    "DDE-penalised": "--",
    "DDE-features": ":",
    "KEF": "-",
    "KEF-nystrom": "--",
}
_LABELS = {"memory": "peak memory (MiB)", "seconds": "processor time of one fit (s)"}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cost of every method at every size.

    Panels `n memory`, `n seconds`, `d memory`, `d seconds`: x is the size, y MiB or seconds, stat
    `cost`; or `needs`, the memory that a fit of the exact KEF that was not run needs, or
    `no number` for another fit that failed.
    """
    rows = []
    for axis in _AXES:
        for quantity, metric in _QUANTITIES.items():
            for method in _METHODS:
                panel, variant = f"{axis} {quantity}", _variant(scores, method)
                cost = _along(scores, axis, method, metric)
                rows += [_row(panel, method, variant, _COST, x, y) for x, y in cost.items()]
                if quantity == "memory":
                    needed = _along(scores, axis, method, SYSTEM_MEMORY)
                    for x in _sizes(scores, axis).difference(cost.index):
                        stat, y = (_NEEDS, needed[x]) if x in needed.index else (_NO_NUMBER, np.nan)
                        rows.append(_row(panel, method, variant, stat, x, y))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _along(scores: pd.DataFrame, axis: str, method: str, metric: str) -> pd.Series:
    """Return a metric by ascending n at the smallest d, or by ascending d at the smallest n."""
    cells, column = _sweep(scores, axis)
    cells = cells[(cells["method"] == method) & (cells["metric"] == metric)]
    return cells.dropna(subset="value").set_index(column)["value"].sort_index()


def _sizes(scores: pd.DataFrame, axis: str) -> pd.Index:
    cells, column = _sweep(scores, axis)
    return pd.Index(sorted(set(cells[column])))


def _sweep(scores: pd.DataFrame, axis: str) -> tuple[pd.DataFrame, str]:
    column, other = ("n_train", "dim") if axis == "n" else ("dim", "n_train")
    return scores[scores[other] == scores[other].min()], column


def _variant(scores: pd.DataFrame, method: str) -> str:
    return next(iter(scores.loc[scores["method"] == method, "variant"]), "")


def _row(panel: str, method: str, variant: str, stat: str, x: float, y: float) -> dict:
    return {
        "panel": panel,
        "kind": "curve" if stat == _COST else "scatter",
        "method": method,
        "variant": variant,
        "series": _METHODS[method],
        "x": x,
        "y": y,
        "stat": stat,
        "n": 1,
    }


def remarks(frame: pd.DataFrame) -> list[str]:
    """Give the order of the methods by seconds, and say what was not run."""
    said = []
    for axis in _AXES:
        panel = frame[(frame["panel"] == f"{axis} seconds") & (frame["stat"] == _COST)]
        table = panel.pivot(index="x", columns="method", values="y").dropna(axis=1, how="all")
        if len(table):
            order = " < ".join(
                _METHODS[name] for name in table.iloc[-1].dropna().sort_values().index
            )
            said.append(f"Seconds at {axis} = {table.index[-1]:.0f}: {order}.")
    for row in frame[frame["stat"] == _NEEDS].itertuples():
        said.append(
            f"Hollow: {_METHODS[row.method]} at {row.panel.split()[0]} = {row.x:.0f} was not run; "
            f"its system alone would take {row.y / 1024:.1f} GiB."
        )
    for row in frame[frame["stat"] == _NO_NUMBER].itertuples():
        said.append(
            f"{_METHODS[row.method]} at {row.panel.split()[0]} = {row.x:.0f} failed; the reason "
            "stands beside claim D7 in the scorecard."
        )
    return said


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw memory above seconds, against n and against d."""
    with style.figure(style.PAGE, _HEIGHT + _LEGEND, columns=2, rows=2, sharey="row") as (
        made,
        axes,
    ):
        panels = [(row, column) for row in range(2) for column in range(2)]
        for (row, column), letter in zip(panels, "abcd", strict=True):
            quantity, axis = list(_LABELS)[row], list(_AXES)[column]
            panel = frame[frame["panel"] == f"{axis} {quantity}"]
            _draw_panel(axes[row, column], panel)
            axes[row, column].set_xlabel(_AXES[axis])
            style.panel_title(
                axes[row, column], letter, f"{quantity.capitalize()} against ${axis}$"
            )
        for row, label in enumerate(_LABELS.values()):
            axes[row, 0].set_ylabel(label)
        for row in range(2):
            _name_curves(axes[row, 1], frame[frame["panel"] == f"d {list(_LABELS)[row]}"])
        style.legend_above(made, _keys())
        return style.save(made, stem)


def _keys() -> list:
    """Return what the marks are, which stand for the same method in all panels."""
    mark = {"color": style.GREY, "linestyle": "none", "marker": "o"}
    return [
        style.key("one fit, measured", markersize=2.5, **mark),
        style.key("not run: what the system of exact KEF needs", fillstyle="none", **mark),
    ]


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for method in _METHODS:
        rows = panel[panel["method"] == method].sort_values("x")
        cost, colour = rows[rows["stat"] == _COST], _colour(method)
        if not len(cost):
            continue
        axes.plot(
            cost["x"],
            cost["y"],
            color=colour,
            linestyle=_DASHES[method],
            marker="o",
            markersize=2.5,
            clip_on=False,
        )
        # An empty line without clipping has no extent on a logarithmic axis, and breaks the layout.
        if len(needs := rows[rows["stat"] == _NEEDS]):
            open_mark = {"markersize": 4, "fillstyle": "none", "clip_on": False}
            axes.plot(needs["x"], needs["y"], "o", color=colour, **open_mark)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted(set(panel["x"]))
    axes.set_xlim(sizes[0] / 1.1, sizes[-1])
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _name_curves(axes, panel: pd.DataFrame) -> None:
    """Write the methods' names beside the right ends of their curves."""
    ends = panel[panel["stat"] == _COST].sort_values("x").groupby("method", sort=False).last()
    bottom, top = axes.get_ylim()
    named = []
    for method, row in ends.iterrows():
        # Names are placed on a linear axis: the height at which the logarithmic one shows y.
        height = math.log(row["y"] / bottom) / math.log(top / bottom)
        place = bottom + height * (top - bottom)
        named.append(labels.Label(place, _METHODS[method], _colour(method), _DASHES[method]))
    labels.beside(axes, named, _HEIGHT / 2.6)


def _colour(method: str) -> str:
    return style.COLOURS[method.partition("-")[0]]


class Comparison(NamedTuple):
    """DDE against a rival along an axis, at the sizes where both were run.

    Attributes
    ----------
    axis, quantity, rival
        Keys of `_RANGE`, `_QUANTITIES` and `_METHODS`.
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


def comparisons(scores: pd.DataFrame, *, scan: bool = False) -> list[Comparison]:
    """Compare DDE without penalty with both rivals, in memory and seconds, along n and d.

    There are eight comparisons, without those that have no common size.

    Parameters
    ----------
    scores
        Of the experiment `estimation_cost`.
    scan
        Whether DDE's seconds are those of a single scan of the data, n/B iterations for batches of
        B points, without compilation.
    """
    found = []
    for axis in _AXES:
        each = _along(scores, axis, _DECIDING, _ITERATION_SECONDS)
        iterations_of_all = _scan(scores, axis) if scan else pd.Series(ITERATIONS, each.index)
        for quantity, metric in _QUANTITIES.items():
            ours = _along(scores, axis, _DECIDING, metric)
            if scan and quantity == "seconds":
                compiling = _along(scores, axis, _DECIDING, _COMPILE_SECONDS)
                ours = ours - compiling - (ITERATIONS - iterations_of_all) * each
            for rival in _RIVALS:
                theirs = _along(scores, axis, rival, metric)
                ratios = (ours / theirs).dropna()
                if not len(ratios):
                    continue
                last, iterations = ratios.index[-1], np.nan
                if quantity == "seconds":
                    spare = (theirs[last] - ours[last]) / each[last]
                    iterations = iterations_of_all[last] + spare
                outcome = float(ratios.iloc[-1]), _crossing(ratios), float(iterations)
                found.append(Comparison(axis, quantity, rival, int(last), *outcome))
    return found


def _scan(scores: pd.DataFrame, axis: str) -> pd.Series:
    """Return how many iterations take every point once, by size."""
    cells, column = _sweep(scores, axis)
    n = cells.groupby(column)["n_train"].first()
    return n / DDE().batch_size


def _crossing(ratios: pd.Series) -> tuple[int | None, int] | None:
    sizes, costlier = ratios.index.to_list(), (ratios >= 1.0).to_list()
    if costlier[-1]:
        return None
    first = len(costlier) - costlier[::-1].index(True) if any(costlier) else 0
    return (int(sizes[first - 1]) if first else None), int(sizes[first])


def read_scan(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim D7 by the seconds of either number of iterations."""
    readings = {f"{ITERATIONS} iterations": decide(scores), "one scan": decide(scores, scan=True)}
    return {"D7": readings}


def decide(scores: pd.DataFrame, *, scan: bool = False) -> Decision:
    """Decide claim D7: DDE costs less memory and less time than score matching.

    DDE is the one of the authors' code, without penalty. It is compared with the exact and the
    Nyström estimate, in memory and in seconds, along n and along d, at the largest size that both
    were run at. The claim holds if DDE is cheaper in all eight comparisons, and fails if it is more
    expensive in any, each by more than the factor `_TOLERANCE`. It is undecided otherwise, where a
    comparison is missing, or where DDE was not run up to the sizes of `_RANGE`. Its reason has
    orders of magnitude: seconds do not repeat. For `scan` see `comparisons`.
    """
    found = comparisons(scores, scan=scan)
    reason = "; ".join([*map(_words, found), *_refused(scores)])
    short = [
        f"{axis} = {largest}"
        for axis, largest in _RANGE.items()
        if largest not in _along(scores, axis, _DECIDING, _QUANTITIES["seconds"]).index
    ]
    if short:
        return Decision("undecided", f"DDE was not run at {', '.join(short)}; {reason}")
    if len(found) < len(_AXES) * len(_QUANTITIES) * len(_RIVALS):
        return Decision("undecided", f"some have no size in common; {reason}")
    if any(one.ratio > _TOLERANCE for one in found):
        return Decision("fails", reason)
    holds = all(one.ratio < 1 / _TOLERANCE for one in found)
    return Decision("holds" if holds else "undecided", reason)


def _words(one: Comparison) -> str:
    what = f"{one.quantity} against {_METHODS[one.rival]}"
    if one.crossing is None:
        end = f"{one.axis} = {one.largest}"
        return f"{what}: not less up to {end}, there {_factor(one.ratio)}{_affordable(one)}"
    below, above = one.crossing
    start = f"at every {one.axis} from {above}"
    if below is not None:
        start = f"from {one.axis} between {below} and {above} on"
    return f"{what}: less {start}, {_factor(1 / one.ratio)} less at {one.axis} = {one.largest}"


def _factor(ratio: float) -> str:
    """Return a ratio rounded to 1, 3, 10, 30 …, so that a second run gives about the same."""
    return f"about {round_to_half_decade(ratio):.15g} times"


def _affordable(one: Comparison) -> str:
    """Say how many iterations take as long as the rival, since their number is a choice."""
    if math.isnan(one.iterations):
        return ""
    if one.iterations < 1:
        return " (what DDE does once takes longer)"
    return f" (as long as {_factor(one.iterations).removesuffix(' times')} iterations)"


def _refused(scores: pd.DataFrame) -> list[str]:
    """Name the fits without a number, with the reason."""
    rows = scores[(scores["status"] == "failed") & (scores["metric"] == _QUANTITIES["memory"])]
    return [
        f"{_METHODS[row.method]} at n = {row.n_train}, d = {row.dim}: {row.detail}"
        for row in rows.itertuples()
    ]


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"estimation_cost": {}},
    build=build,
    draw=draw,
    deciders={"D7": decide},
    readers={"D-scan": read_scan},
    trial="fit",
    remarks=remarks,
)
