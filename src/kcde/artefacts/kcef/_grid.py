"""The grid data of kcef figures 1 and 5: log-likelihoods against n and against d.

A curve is a frame of log-likelihoods in nats, one row a run, one column an n or a d, NaN where a
fit failed. All methods of a run see the same training and test points, so runs are pairs.
"""

import re

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import NLL, mean_and_stderr
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact

EXACT = "exact"
"""The method under which what is known of the made-up density stands."""

BOUNDS = ("entropy", "independence")
"""Metrics of `EXACT`: the best log-likelihood that any density reaches, and the best that one
without dependence reaches; both with the sign of a loss."""

SMALL_DIMENSION = 3
"""Dimensions of the panel over n, as published."""


def against_n(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods at d = 3 against the number of training points.

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
    return _curve(rows[rows["dim"] == SMALL_DIMENSION], "n")


def against_d(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods at the largest n against the dimension, from d = 2.

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
    largest = _size(scores["dataset"]).max()
    return _curve(rows[(rows["n"] == largest) & (rows["dim"] >= 2)], "dim")


def build(artefact: Artefact, scores: pd.DataFrame, files: list) -> pd.DataFrame:
    """Return the curves of figure 1, and of figure 5, which has the second panel only.

    Parameters
    ----------
    artefact
        Gives the order of the methods.
    scores
        Of the experiment `joint`.
    files
        Unused.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel is named by what is fixed in it. `d=3`: x is the number of
        training points, y the mean log-likelihood over runs in nats; `n=2000`: x is the
        dimension, y the same per dimension. `y_low` and `y_high` are one standard error away, `n`
        counts the runs that did not fail, and rows of stat `failed` count those that did. Series of
        the method `exact`: its bounds.

    Raises
    ------
    ValueError
        If no score belongs to grid data.
    """
    here = set(scores["method"]) - {EXACT}
    listed = [name for name in artefact.methods if name in here]
    views, rows = _views(artefact, scores), []
    for method in dict.fromkeys([*listed, *sorted(here)]):
        variant = scores.loc[scores["method"] == method, "variant"]
        for panel, view in views:
            curve = view(scores, method)
            rows += _points(panel, method, variant.iloc[0], "log-likelihood", curve)
    for bound in BOUNDS:
        for panel, view in views:
            rows += _points(panel, EXACT, EXACT, bound, view(scores, EXACT, bound))
    if not rows:
        raise ValueError(
            f"{artefact.key} needs scores of data sets named grid-<n> with the metric {NLL}: give "
            f"--scores of the experiment {artefact.experiments[0]}"
        )
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how many runs there are, which failed, and how much dependence there is to be found.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    failed = frame[frame["stat"] == "failed"]
    shown = frame[(frame["stat"] == "mean") & (frame["method"] != EXACT)]
    runs = int(shown["n"].max()) if len(shown) else 0
    sentences = [f"Shown: mean ± standard error over {runs} run{'' if runs == 1 else 's'}."]
    bounds = frame[frame["method"] == EXACT].set_index(["panel", "x", "series"])["y"].unstack()
    if set(BOUNDS) <= set(bounds):
        last = bounds.iloc[-1]
        panel, x = last.name
        d, per = (SMALL_DIMENSION, 1) if panel.startswith("d=") else (x, x)
        gain = per * (last["entropy"] - last["independence"]) / (d - 1)
        sentences.append(
            f"The whole dependence is {gain:.3f} nats a conditional, so methods are compared as "
            "fractions of it."
        )
    if len(failed):
        cells = [
            f"{row.method} at {'n' if row.panel.startswith('d=') else 'd'} = {row.x:g}: {row.y:g}"
            for row in failed.itertuples()
        ]
        sentences.append(f"Failed runs, left out: {', '.join(cells)}.")
    return sentences


def _views(artefact: Artefact, scores: pd.DataFrame) -> list[tuple]:
    largest = _size(scores["dataset"]).max()
    both = [(f"d={SMALL_DIMENSION}", against_n), (f"n={largest:g}", against_d)]
    return both if artefact.name == "fig1" else both[1:]


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
