"""The grid data of figures 1 and 5: log-likelihoods against n and against d.

Section 4 of kcef says which kernel a figure shows: the full graph of figure 1 has "an anisotropic
RBF kernel with tuned per-dimension bandwidth" (`KCEF-F-anisotropic`), that of figure 5 an isotropic
one (`KCEF-F`, as the class of the authors' code, which tables 2 and 3 have). On the Markov graph x
has one dimension. So claims K1 to K5 and K13 are about `KCEF-F-anisotropic`, and K6 compares both.

A curve is a frame of log-likelihoods in nats, one row a run, one column an n or a d, NaN where a
fit failed. All methods of a run see the same training and test points, so runs are pairs.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from kcde.data import names
from kcde.evidence.cells import mean_and_stderr
from kcde.evidence.deciding import Missing
from kcde.metrics.names import NLL
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

FULL = "KCEF-F-anisotropic"
"""KCEF on the full graph, as the paper describes it for figure 1."""

ISOTROPIC = "KCEF-F"
"""The same with one bandwidth for all parents, as for figure 5."""

EXACT = "exact"
"""The method name of the exact properties of the synthetic density."""

BOUNDS = ("entropy", "independence")
"""Metrics of `EXACT`: the best log-likelihood of any density, and the best of a density without
dependence; both with the sign of a loss."""

DIMENSIONS = (2, 20)
"""Ends of the published range of d, both of which a decision needs."""

_SMALL_DIMENSION = 3  # of the curves against n, as published


def against_n(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods at d = 3 against the number n of training points.

    Parameters
    ----------
    scores
        Of the experiment `joint`.
    method, metric
        As in the scores.

    Returns
    -------
    pandas.DataFrame
        Index run, columns n in increasing order; empty where there are none.
    """
    rows = _rows(scores, method, metric)
    return _curve(rows[rows["dim"] == _SMALL_DIMENSION], "n")


def against_published_n(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return what `against_n` does for the n of the paper, up to 2000."""
    curve = against_n(scores, method, metric)
    return curve[[n for n in curve if n <= names.GRID_ROWS]]


def against_d(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods against the dimension, from d = 2, at n = 2000.

    Parameters
    ----------
    scores
        Of the experiment `joint`.
    method, metric
        As in the scores.

    Returns
    -------
    pandas.DataFrame
        Index run, columns d in increasing order; in nats, not per dimension.
    """
    rows = _rows(scores, method, metric)
    return _curve(rows[(rows["n"] == _fixed(scores)) & (rows["dim"] >= 2)], "dim")


def _fixed(scores: pd.DataFrame) -> float:
    """Return the n at which d varies, or at the scale `smoke` the only one."""
    sizes = _size(scores["dataset"])
    return sizes[scores["dim"] == scores.loc[sizes.notna(), "dim"].max()].max()


def _size(datasets: pd.Series) -> pd.Series:
    """Return n of data sets named grid-<n>, NaN for others."""
    return pd.to_numeric(datasets.str.extract(r"^grid-(\d+)$", flags=re.ASCII)[0])


def _rows(scores: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
    here = scores[(scores["method"] == method) & (scores["metric"] == metric)]
    here = here.assign(n=_size(here["dataset"])).dropna(subset="n")
    return here.assign(value=-here["value"].where(here["status"] == "ok"))


def _curve(rows: pd.DataFrame, axis: str) -> pd.DataFrame:
    curve = rows.pivot(index="split", columns=axis, values="value")
    curve.columns = curve.columns.astype(int)
    return curve.astype(float).replace([np.inf, -np.inf], np.nan).sort_index(axis=1)


def curves(artefact: Artefact, scores: pd.DataFrame, views: Sequence[Callable]) -> pd.DataFrame:
    """Return the frame of a figure with one panel for each view.

    A panel is named by what is fixed in it. `d=3`: x is the number of training points, y the mean
    log-likelihood over runs in nats; `n=2000`: x is the dimension, y the same per dimension.
    `y_low` and `y_high` are one standard error away, `n` counts the runs that did not fail, and
    rows of stat `failed` count those that did. Series of the method `exact`: its bounds.

    Parameters
    ----------
    artefact, scores
        As `build` gets them.
    views
        Among `against_n` and `against_d`.

    Raises
    ------
    ValueError
        If no score belongs to grid data.
    """
    here = set(scores["method"]) - {EXACT}
    listed = [name for name in artefact.methods if name in here]
    panels = [(_panel(scores, view), view) for view in views]
    rows = []
    for method in dict.fromkeys([*listed, *sorted(here)]):
        variant = scores.loc[scores["method"] == method, "variant"]
        for panel, view in panels:
            curve = view(scores, method)
            rows += _points(panel, method, variant.iloc[0], "log-likelihood", curve)
    for bound in BOUNDS:
        for panel, view in panels:
            rows += _points(panel, EXACT, EXACT, bound, view(scores, EXACT, bound))
    if not rows:
        raise ValueError(
            f"{artefact.key} needs scores of data sets named grid-<n> with the metric {NLL}: give "
            f"--scores of the experiment {artefact.experiments[0]}"
        )
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _panel(scores: pd.DataFrame, view: Callable) -> str:
    """Return the name of the panel of a view: what is fixed in it."""
    return f"d={_SMALL_DIMENSION}" if view is against_n else f"n={_fixed(scores):g}"


def _points(panel: str, method: str, variant: str, series: str, curve: pd.DataFrame) -> list[dict]:
    rows = []
    for x, values in curve.items():
        per = x if panel.startswith("n=") else 1
        mean, stderr = mean_and_stderr(values.dropna().to_numpy() / per)
        row = {
            "panel": panel,
            "kind": "curve",
            "method": method,
            "variant": variant,
            "series": series,
            "x": x,
        }
        ends = {"y": mean, "y_low": mean - stderr, "y_high": mean + stderr}
        rows.append({**row, **ends, "stat": "mean", "n": int(values.notna().sum())})
        if failed := int(values.isna().sum()):
            rows.append({**row, "y": failed, "stat": "failed", "n": len(values)})
    return rows


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how many runs there are, which failed, and how strong the dependence is."""
    failed = frame[frame["stat"] == "failed"]
    shown = frame[(frame["stat"] == "mean") & (frame["method"] != EXACT)]
    runs = int(shown["n"].max()) if len(shown) else 0
    sentences = [f"Shown: mean ± standard error over {runs} run{'' if runs == 1 else 's'}."]
    bounds = frame[frame["method"] == EXACT].set_index(["panel", "x", "series"])["y"].unstack()
    if set(BOUNDS) <= set(bounds):
        last = bounds.iloc[-1]
        panel, x = last.name
        d, per = (_SMALL_DIMENSION, 1) if panel.startswith("d=") else (x, x)
        gain = per * (last["entropy"] - last["independence"]) / (d - 1)
        sentences.append(
            f"The attainable dependence is {gain:.3f} nats a conditional; the claims state "
            "differences between methods as fractions of it."
        )
    if len(failed):
        cells = [
            f"{row.method} at {'n' if row.panel.startswith('d=') else 'd'} = {row.x:g}: {row.y:g}"
            for row in failed.itertuples()
        ]
        sentences.append(f"Failed runs, left out: {', '.join(cells)}.")
    return sentences


def completed(
    scores: pd.DataFrame,
    view: Callable,
    methods: Sequence[str],
    wanted: Sequence[int],
    at_least: int = 1,
) -> dict[str, pd.DataFrame]:
    """Return the methods' curves where all have scores, on the runs that all completed.

    Parameters
    ----------
    scores, methods
        Of the experiment `joint`.
    view
        `against_n`, `against_published_n` or `against_d`.
    wanted, at_least
        The n or d that every curve must have, and the runs needed.

    Returns
    -------
    dict
        Method to its curve, all of the same shape.

    Raises
    ------
    Missing
        If a method lacks a wanted n or d, or too few runs are left.
    """
    found = {name: view(scores, name) for name in methods}
    absent = [name for name, curve in found.items() if not set(wanted) <= set(curve.columns)]
    if absent:
        axis = "d" if view is against_d else "n"
        ends = " and ".join(f"{end}" for end in wanted)
        raise Missing(f"no scores of {', '.join(absent)} at {axis} = {ends}")
    shared = sorted(set.intersection(*(set(curve.columns) for curve in found.values())))
    joined = pd.concat({name: curve[shared] for name, curve in found.items()}, axis=1).dropna()
    if len(joined) < at_least:
        raise Missing(
            f"{len(joined)} runs that all of {', '.join(methods)} completed; needs {at_least}"
        )
    return {name: joined[name] for name in methods}


def left_out(scores: pd.DataFrame, view: Callable, methods: Sequence[str], runs: int) -> str:
    """Say how many runs `completed` left out because a method failed in them, "" where none."""
    all_runs = set().union(*(view(scores, name).index for name in methods))
    lost = len(all_runs) - runs
    return f"; {lost} of {len(all_runs)} runs left out because a fit failed" if lost else ""


def difference_in_dependence(
    scores: pd.DataFrame, first: str, second: str, at_least: int = 1
) -> tuple[pd.DataFrame, str]:
    """Return first minus second as a fraction of the attainable dependence.

    Attainable is the entropy bound minus the best log-likelihood without dependence.

    Parameters
    ----------
    scores
        Of the experiment `joint`.
    first, second
        Methods.
    at_least
        Runs needed.

    Returns
    -------
    fraction : pandas.DataFrame
        Index run, columns d.
    reason : str
        The means over the runs at every d.

    Raises
    ------
    Missing
        As `completed`, or if the exact bounds are missing.
    """
    found = completed(scores, against_d, (first, second), DIMENSIONS, at_least)
    bounds = [against_d(scores, EXACT, name).mean() for name in BOUNDS]
    attainable = (bounds[0] - bounds[1]).reindex(found[first].columns)
    if attainable.isna().any():
        raise Missing("no exact entropy of the grid data at every d")
    fraction = (found[first] - found[second]) / attainable
    # Every d is stated, so that a reader sees where a limit is crossed.
    each = ", ".join(f"{d}: {round(100 * value):+d}%" for d, value in fraction.mean().items())
    said = f"({first} - {second}) / attainable, mean of {len(fraction)} runs: d = {each}"
    return fraction, said + left_out(scores, against_d, (first, second), len(fraction))
