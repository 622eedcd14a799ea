"""jdl figures 1 to 9: means and quantiles over repetitions, against the number of data points.

Both experiments of jdl name a data set by its dimension d and its number n of points to train and
validate, and fit it under settings of `constrained` and `tolerance`.
"""

import json
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import FIGURE_COLUMNS

SCHEDULED, THROUGHOUT = "as published", "same tolerance"
"""Series: the tolerance that the paper takes at each n, and one tolerance at every n."""

UNCONSTRAINED, CONSTRAINED = "unconstrained", "constrained"

MEAN, MOST = "mean", "max"
"""Stats of a curve: the mean over repetitions and the largest; both with 5% and 95% quantiles where
at least `ENOUGH` repetitions have a number."""

FAILED, SECONDS, MEMORY = "failed", "seconds", "memory"
"""Stats beside a curve: repetitions without a number; mean seconds of a fit with the choice of its
parameters; MiB that its process had taken at most."""

QUANTILES = (0.05, 0.95)
ENOUGH = 20
"""Repetitions without which there are no quantiles."""

BY_TOLERANCE = "tolerance "

_CELL = ["dataset", "setting", "method", "variant", "split"]


def tidy(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores with the axes of jdl's figures as columns.

    Parameters
    ----------
    scores
        Of the experiment `moments` or `portfolio`.

    Returns
    -------
    pandas.DataFrame
        With `d`, `n`, `constrained`, `tolerance`, and `scheduled`: whether a fit has the tolerance
        that its data set is fitted with when constrained, or the only one that it is fitted with.
    """
    settings = scores["setting"].map(json.loads)
    found = scores.assign(
        d=scores["dim"].astype(int),
        n=scores["dataset"].str.rpartition("-")[2].astype(int),
        constrained=settings.map(lambda axes: axes["constrained"]).astype(bool),
        tolerance=settings.map(lambda axes: axes["tolerance"]).astype(float),
    )
    own = [found["dataset"], found["method"]]
    # KLR has no constraints and no second tolerance.
    of_constrained = found["tolerance"].where(found["constrained"]).groupby(own).transform("first")
    return found.assign(scheduled=found["tolerance"].eq(of_constrained.fillna(found["tolerance"])))


def total(scores: pd.DataFrame, metrics: Sequence[str], name: str) -> pd.DataFrame:
    """Return the scores with the sum of some metrics as one more, where all of them are numbers.

    Parameters
    ----------
    scores
        As read or as from `tidy`.
    metrics
        To add up.
    name
        Of the sum.

    Returns
    -------
    pandas.DataFrame
        With a row a fit added.
    """
    parts = scores[scores["metric"].isin(metrics) & (scores["status"] == "ok")]
    sums = parts.groupby(_CELL, sort=False)["value"].agg(["sum", "count"]).reset_index()
    sums = sums.loc[sums["count"] == len(metrics), [*_CELL, "sum"]].rename(columns={"sum": "value"})
    kept = [name for name in scores.columns if name not in ("value", "metric", "detail")]
    alike = parts[kept].drop_duplicates(_CELL)
    added = alike.merge(sums, on=_CELL).assign(metric=name, detail="")
    return pd.concat([scores, added], ignore_index=True)


def by_repetition(
    tidied: pd.DataFrame,
    metric: str,
    method: str,
    d: int,
    constrained: bool = False,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Return a metric of a method by repetition (rows, ascending) and n (columns, ascending).

    Parameters
    ----------
    tidied
        As `tidy` returns them.
    metric, method, d, constrained
        Of the cells.
    tolerance
        None: that of the schedule.

    Returns
    -------
    pandas.DataFrame
        NaN where a fit failed or was not made; without rows where there are no such fits.
    """
    here = tidied["scheduled"] if tolerance is None else tidied["tolerance"].eq(tolerance)
    here &= tidied["method"].eq(method) & tidied["d"].eq(d) & tidied["constrained"].eq(constrained)
    fits = tidied[here]
    values = fits[fits["metric"].eq(metric) & fits["status"].eq("ok")]
    table = values.pivot(index="split", columns="n", values="value")
    return table.reindex(index=sorted(set(fits["split"])), columns=sorted(set(fits["n"])))


def panels(tidied: pd.DataFrame) -> pd.DataFrame:
    """Return the fits of a figure with a panel for each d, without and with constraints.

    Parameters
    ----------
    tidied
        As `tidy` returns them.

    Returns
    -------
    pandas.DataFrame
        With `panel` (`d=1 unconstrained`) and `series`: `SCHEDULED`; and once more, as
        `THROUGHOUT`, the fits at the tightest tolerance of a method and d from the last n at which
        that is the schedule's, where it differs beyond.
    """
    limits = tidied["constrained"].map({False: UNCONSTRAINED, True: CONSTRAINED})
    named = tidied.assign(panel="d=" + tidied["d"].astype(str) + " " + limits)
    scheduled = named[named["scheduled"]].assign(series=SCHEDULED)
    of_curve = named.groupby(["panel", "method"])
    tightest = named[named["tolerance"] == of_curve["tolerance"].transform("min")]
    # Where schedule and tightest part: one line until there, two from there on.
    alike = tightest[tightest["scheduled"]].groupby(["panel", "method"])["n"].max()
    parts = tightest.join(alike.rename("alike"), on=["panel", "method"]).fillna({"alike": 0})
    others = parts[~parts["scheduled"]][["panel", "method"]].drop_duplicates()
    throughout = parts[parts["n"] >= parts["alike"]].merge(others, on=["panel", "method"])
    throughout = throughout.drop(columns="alike").assign(series=THROUGHOUT)
    both = pd.concat([scheduled, throughout], ignore_index=True)
    return both.sort_values(["constrained", "d"], kind="stable")


def by_tolerance(tidied: pd.DataFrame) -> pd.DataFrame:
    """Return the fits without constraints: a panel for each method, a series for each tolerance.

    Parameters
    ----------
    tidied
        As `tidy` returns them.

    Returns
    -------
    pandas.DataFrame
        With `panel` (`JDL`) and `series` (`tolerance 0.001`).
    """
    free = tidied[~tidied["constrained"]]
    series = BY_TOLERANCE + free["tolerance"].map("{:g}".format)
    return free.assign(panel=free["method"], series=series).sort_values("tolerance", kind="stable")


def rows(
    placed: pd.DataFrame, metric: str, stats: Sequence[str] = (MEAN,), scale: float = 1.0
) -> list[dict]:
    """Return the rows of a tracked CSV for one metric.

    Parameters
    ----------
    placed
        Tidied scores with `panel` and `series`.
    metric
        What to show.
    stats
        Of `MEAN` and `MOST`.
    scale
        Factor, as 100 for percent.

    Returns
    -------
    list of dict
        With keys among `FIGURE_COLUMNS`: for each panel, method, series and n (`x`) a row a stat,
        its `n` the repetitions that count, without quantiles if these are fewer than `ENOUGH`;
        then `FAILED` where there are such, `SECONDS`, and `MEMORY`.
    """
    found = []
    keys = ["panel", "method", "variant", "series", "n"]
    for (panel, method, variant, series, x), fits in placed.groupby(keys, sort=False):
        names = {"panel": panel, "method": method, "variant": variant, "series": series, "x": x}
        numbers = fits[fits["status"].eq("ok")]
        values = scale * numbers.loc[numbers["metric"] == metric, "value"]
        tried = fits["split"].nunique()
        for stat in stats if len(values) else ():
            found.append(names | {"kind": "curve"} | _summary(values, stat))
        beside = names | {"kind": "cost", "n": tried}
        if len(values) < tried:
            found.append(beside | {"kind": FAILED, "stat": FAILED, "y": tried - len(values)})
        per_fit = fits.drop_duplicates("split")["seconds"]
        found.append(beside | {"stat": SECONDS, "y": per_fit.mean()})
        peak = numbers.loc[numbers["metric"] == "peak_memory", "value"].max()
        found.append(beside | {"stat": MEMORY, "y": peak})
    return found


def frame(found: Sequence[dict]) -> pd.DataFrame:
    """Return rows as the frame of a tracked CSV: curves by panel, method, series and n."""
    table = pd.DataFrame(found, columns=FIGURE_COLUMNS)
    return table.dropna(subset="y").reset_index(drop=True)


def failures(drawn: pd.DataFrame) -> list[str]:
    """Say which fits gave no number.

    Parameters
    ----------
    drawn
        As tracked.

    Returns
    -------
    list of str
        A sentence of the caption, or nothing.
    """
    lost = drawn[(drawn["stat"] == FAILED) & (drawn["series"] != THROUGHOUT)]
    said = [
        f"{row.method} {row.panel} at n = {row.x:g}: {row.y:.0f} of {row.n:.0f}"
        for row in lost.itertuples()
    ]
    return [f"Fits that failed and are in no curve: {'; '.join(said)}."] if said else []


def repetitions(drawn: pd.DataFrame) -> list[str]:
    """Say how many repetitions there are, where they are fewer, and where that forbids quantiles.

    Parameters
    ----------
    drawn
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption, or nothing.
    """
    curves = drawn[(drawn["kind"] == "curve") & (drawn["series"] != THROUGHOUT)]
    if not len(curves):
        return []
    usual = curves["n"].max()
    said = [f"Here {usual:.0f} repetitions."]
    few = curves[curves["n"] < usual].groupby(["method", "panel"], sort=False)["n"].min()
    if len(few):
        each = "; ".join(f"{method} {panel} {count:.0f}" for (method, panel), count in few.items())
        said.append(f"Where fewer: {each}.")
    if (curves["n"] < ENOUGH).any():
        said.append(f"Fewer than {ENOUGH} have no quantiles, and no band.")
    return said


def placed_by(arrange: Callable[[pd.DataFrame], pd.DataFrame], scores: pd.DataFrame, *dropped):
    """Return tidied scores with panels and series, without some methods.

    Parameters
    ----------
    arrange
        `panels` or `by_tolerance`.
    scores
        As read.
    *dropped
        Methods that the figure does not show.
    """
    tidied = tidy(scores)
    return arrange(tidied[~tidied["method"].isin(dropped)])


def _summary(values: pd.Series, stat: str) -> dict:
    enough = len(values) >= ENOUGH
    low, high = np.quantile(values, QUANTILES) if enough else (np.nan, np.nan)
    y = values.mean() if stat == MEAN else values.max()
    return {"stat": stat, "y": y, "y_low": low, "y_high": high, "n": len(values)}
