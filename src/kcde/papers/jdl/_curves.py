"""Curves of jdl's figures: means and quantiles over repetitions against the number n of points.

Both experiments of jdl name a data set by its dimension d and by the number n of points that train
or validate, and fit it under settings of `constrained` and `tolerance`.
"""

import json
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from kcde.data.names import VARIATIONS
from kcde.metrics.names import MATCHED
from kcde.pages.markdown import magnitude
from kcde.papers.artefact import FIGURE_COLUMNS

SCHEDULED, THROUGHOUT = "as published", "same tolerance"
"""Series: the tolerance that the paper takes at each n, and the tightest one at every n."""

UNCONSTRAINED, CONSTRAINED = "unconstrained", "constrained"
LIMITS = {False: UNCONSTRAINED, True: CONSTRAINED}

MEAN, MOST = "mean", "max"
"""Stats of a curve: mean and maximum over repetitions, with 5% and 95% quantiles where at least
`ENOUGH` repetitions have a value."""

FAILED, SECONDS, MEMORY = "failed", "seconds", "memory"
"""Stats beside a curve: repetitions without a value; mean seconds of a fit including the choice of
its parameters; peak memory of its process in MiB."""

QUANTILES = (0.05, 0.95)
ENOUGH = 20
"""With fewer repetitions there are no quantiles."""

BY_TOLERANCE = "tolerance "
"""Beginning of a series that is named by its tolerance."""

BASELINE = "baseline"
"""Kind and series of the line of what ignores x; a row has the number of repetitions in `n`."""

SOLVED, WHOLE = "seconds_solved", "seconds_whole"
_SOLUTION = ("seconds_summarise", "seconds_solve", "seconds_evaluate")
PARTS = {SOLVED: _SOLUTION, WHOLE: ("seconds_factorise", *_SOLUTION)}
"""What figures 6 and 9 time, to the metrics that add up to it: the solution with its cross moments
and expectations, and the same with the pivoted factors that come before it."""

EXCLUDED = " without factors"
"""What stands behind the names of the panels of `SOLVED`."""

TIMINGS = {
    "with factors at matched bandwidths": f"{MATCHED}{WHOLE}",
    "without factors at matched bandwidths": f"{MATCHED}{SOLVED}",
    "with factors at own bandwidths": WHOLE,
    "without factors at own bandwidths": SOLVED,
}
"""Readings of what is timed, the drawn one first, to the metric of `timed`."""

_VARIATIONS = tuple(f"-{variation}" for variation in VARIATIONS)
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
        Of data sets without a variation, see `varied`; with `d`, `n`, `constrained`, `tolerance`,
        and `scheduled`: whether a fit has the tolerance under which its data set is fitted with
        constraints, or its only tolerance.
    """
    scores = scores[~scores["dataset"].str.endswith(_VARIATIONS)]
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


def varied(scores: pd.DataFrame, variation: str, **setting: object) -> pd.DataFrame:
    """Return the scores with those of a variation of Gaussian pairs in place of the plain ones.

    Parameters
    ----------
    scores
        As read.
    variation
        One of `kcde.data.names.VARIATIONS`.
    **setting
        Axes of the settings that count, e.g. `law`; a setting that lacks one has None there.

    Returns
    -------
    pandas.DataFrame
        Those under the names of the plain data sets; other experiments are as they were.
    """
    ending = f"-{variation}"
    others = scores[scores["experiment"] != "moments"]
    here = scores[scores["experiment"].eq("moments") & scores["dataset"].str.endswith(ending)]
    axes = here["setting"].map(json.loads)
    wanted = axes.map(lambda each: all(each.get(name) == value for name, value in setting.items()))
    here = here[wanted.astype(bool)]
    return pd.concat([others, here.assign(dataset=here["dataset"].str.removesuffix(ending))])


def total(scores: pd.DataFrame, metrics: Sequence[str], name: str) -> pd.DataFrame:
    """Return the scores with the sum of some metrics as a further metric, where all are present.

    Parameters
    ----------
    scores
        As read, or as `tidy` returns them.
    metrics
        To add up.
    name
        Of the sum.

    Returns
    -------
    pandas.DataFrame
        With one row per fit added.
    """
    parts = scores[scores["metric"].isin(metrics) & (scores["status"] == "ok")]
    sums = parts.groupby(_CELL, sort=False)["value"].agg(["sum", "count"]).reset_index()
    sums = sums.loc[sums["count"] == len(metrics), [*_CELL, "sum"]].rename(columns={"sum": "value"})
    kept = [name for name in scores.columns if name not in ("value", "metric", "detail")]
    cells = parts[kept].drop_duplicates(_CELL)
    added = cells.merge(sums, on=_CELL).assign(metric=name, detail="")
    return pd.concat([scores, added], ignore_index=True)


def timed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with the sums of `PARTS`, of the fits and of those of one bandwidth."""
    for prefix in ("", MATCHED):
        for name, metrics in PARTS.items():
            scores = total(scores, [f"{prefix}{metric}" for metric in metrics], f"{prefix}{name}")
    return scores


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
        None for that of the schedule.

    Returns
    -------
    pandas.DataFrame
        NaN where a fit failed or was not made; without rows where there are no such fits. Its
        attribute `tried` maps n to the repetitions that were fitted there.
    """
    here = tidied["scheduled"] if tolerance is None else tidied["tolerance"].eq(tolerance)
    here &= tidied["method"].eq(method) & tidied["d"].eq(d) & tidied["constrained"].eq(constrained)
    fits = tidied[here]
    values = fits[fits["metric"].eq(metric) & fits["status"].eq("ok")]
    table = values.pivot(index="split", columns="n", values="value")
    table = table.reindex(index=sorted(set(fits["split"])), columns=sorted(set(fits["n"])))
    table.attrs["tried"] = {n: frozenset(own["split"]) for n, own in fits.groupby("n")}
    return table


def panels(tidied: pd.DataFrame) -> pd.DataFrame:
    """Return the fits with a panel for each d, without and with constraints.

    Parameters
    ----------
    tidied
        As `tidy` returns them.

    Returns
    -------
    pandas.DataFrame
        With `panel` (`d=1 unconstrained`) and `series`: `SCHEDULED`; and again, as `THROUGHOUT`,
        the fits at the tightest tolerance of a method and d, from the last n at which the schedule
        has it, where the schedule has a looser one beyond.
    """
    limits = tidied["constrained"].map(LIMITS)
    named = tidied.assign(panel="d=" + tidied["d"].astype(str) + " " + limits)
    scheduled = named[named["scheduled"]].assign(series=SCHEDULED)
    of_curve = named.groupby(["panel", "method"])
    tightest = named[named["tolerance"] == of_curve["tolerance"].transform("min")]
    # The two are one line up to the n where the schedule loosens, and separate from there on.
    last = tightest[tightest["scheduled"]].groupby(["panel", "method"])["n"].max()
    parts = tightest.join(last.rename("last"), on=["panel", "method"]).fillna({"last": 0})
    others = parts[~parts["scheduled"]][["panel", "method"]].drop_duplicates()
    throughout = parts[parts["n"] >= parts["last"]].merge(others, on=["panel", "method"])
    throughout = throughout.drop(columns="last").assign(series=THROUGHOUT)
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
        To show.
    stats
        Of `MEAN` and `MOST`.
    scale
        Factor of the values, e.g. 100 for percent.

    Returns
    -------
    list of dict
        With keys among `FIGURE_COLUMNS`: for each panel, method, series and n (`x`) a row per stat,
        with the number of repetitions in `n`, and without quantiles if it is below `ENOUGH`; then
        `FAILED` where there are such, `SECONDS` and `MEMORY`.
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


def timing_rows(placed: pd.DataFrame) -> list[dict]:
    """Return the rows of seconds at matched bandwidths, with the factors and then without.

    Parameters
    ----------
    placed
        Scores of `timed` with `panel` and `series`. The repetitions that were timed so count.

    Raises
    ------
    ValueError
        If there are none.
    """
    metrics = [f"{MATCHED}{name}" for name in (WHOLE, SOLVED)]
    timed_ones = placed.loc[placed["metric"].isin(metrics), "split"]
    if not len(timed_ones):
        raise ValueError(
            "no fit was timed at matched bandwidths: `matched_repetitions` must be at least 1"
        )
    placed = placed[placed["split"].isin(timed_ones)]
    without = placed.assign(panel=placed["panel"] + EXCLUDED)
    return [*rows(placed, metrics[0]), *only_curves(rows(without, metrics[1]))]


def baseline(placed: pd.DataFrame, metric: str) -> list[dict]:
    """Return the rows of the line of what ignores x, a metric that every fit has.

    Parameters
    ----------
    placed
        As for `rows`.
    metric
        Whose mean over repetitions is shown.
    """
    values = placed[placed["metric"].eq(metric) & placed["status"].eq("ok")]
    each = values.groupby(["panel", "n", "split"], sort=False)["value"].first().reset_index()
    common = {"kind": BASELINE, "method": BASELINE, "series": BASELINE, "stat": MEAN}
    return [
        common | {"panel": panel, "x": n, "y": own["value"].mean(), "n": len(own)}
        for (panel, n), own in each.groupby(["panel", "n"], sort=False)
    ]


def only_curves(found: Sequence[dict]) -> list[dict]:
    """Return the rows of kind `curve`."""
    return [row for row in found if row["kind"] == "curve"]


def failures(drawn: pd.DataFrame) -> list[str]:
    """State which fits gave no value, for the details of a page."""
    lost = drawn[(drawn["stat"] == FAILED) & (drawn["series"] != THROUGHOUT)]
    said = [
        f"{_named(row.method, row.panel)} at n = {row.x:g}: {row.y:.0f} of {row.n:.0f}"
        for row in lost.itertuples()
    ]
    return [f"Fits that failed and are in no curve: {'; '.join(said)}."] if said else []


def repetitions(drawn: pd.DataFrame) -> list[str]:
    """State how many repetitions there are, and where fewer, for the details of a page."""
    curves = drawn[(drawn["kind"] == "curve") & (drawn["series"] != THROUGHOUT)]
    if not len(curves):
        return []
    usual = curves["n"].max()
    few = curves[curves["n"] < usual]
    fewer, start = few["n"].min(), few["x"].min()
    if len(few) and (curves.loc[curves["x"] >= start, "n"] == fewer).all():
        said = [f"Here {usual:.0f} repetitions, {fewer:.0f} from n = {magnitude(start)} on."]
    else:
        said = [f"Here {usual:.0f} repetitions."]
        least = few.groupby(["method", "panel"], sort=False)["n"].min()
        each = [f"{_named(*curve)} {count:.0f}" for curve, count in least.items()]
        said += [f"Where fewer: {'; '.join(each)}."] if each else []
    if (curves["n"] < ENOUGH).any():
        said.append(f"Fewer than {ENOUGH} have no quantiles and no band.")
    return said


def _named(method: str, panel: str) -> str:
    """Return a curve in words: some panels are named by their method, some have formulas."""
    return method if panel == method else f"{method} {panel.replace('$', '')}"


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
