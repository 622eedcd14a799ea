"""Curves of jdl's figures: means and quantiles over repetitions against the number n of points.

Both experiments of jdl name a data set by its dimension d and by the number n of points that train
or validate, and fit it under settings of `constrained` and `tolerance`.
"""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kcde.data.names import VARIATIONS
from kcde.evidence.cells import under
from kcde.metrics import MATCHED
from kcde.pages.words import magnitude
from kcde.papers.artefact import FIGURE_COLUMNS

MOMENTS, PORTFOLIO = "moments", "portfolio"
"""The experiments of sections 5.1 and 5.2."""

SCHEDULED, THROUGHOUT = "as published", "same tolerance"
"""Series: the tolerance that the paper takes at each n, and the tightest one at every n."""

UNCONSTRAINED, CONSTRAINED = "unconstrained", "constrained"
LIMITS = {False: UNCONSTRAINED, True: CONSTRAINED}

MEAN, MOST = "mean", "max"
"""Stats of a curve: mean and maximum over repetitions, with 5% and 95% quantiles where at least
`ENOUGH` repetitions have a value."""

FAILED = "failed"
"""Stat beside a curve: repetitions without a value."""

ENOUGH = 20
"""With fewer repetitions there are no quantiles."""

BY_TOLERANCE = "tolerance "
"""Beginning of a series that is named by its tolerance."""

BASELINE = "baseline"
"""Kind and series of the line of what ignores x; a row has the number of repetitions in `n`."""

SOLVED, WHOLE = "seconds_solved", "seconds_whole"
_SOLUTION = ("seconds_summarise", "seconds_solve", "seconds_evaluate")
_PARTS = {SOLVED: _SOLUTION, WHOLE: ("seconds_factorise", *_SOLUTION)}
"""What is timed, to the metrics that add up to it: the solution with its cross moments and
expectations, and the same with the pivoted factors that come before it."""

EXCLUDED = " without factors"
"""What stands behind the names of the panels of `SOLVED`."""


def tidy(scores: pd.DataFrame, *experiments: str) -> pd.DataFrame:
    """Return the scores of experiments, without variations, with the axes of figures as columns.

    `scheduled` is whether a fit has the tolerance under which its data set is fitted with
    constraints, or its only tolerance.
    """
    variations = tuple(f"-{variation}" for variation in VARIATIONS)
    plain = ~scores["dataset"].str.endswith(variations)
    scores = scores[scores["experiment"].isin(experiments) & plain]
    settings = scores["setting"].map({text: json.loads(text) for text in set(scores["setting"])})
    found = scores.assign(
        d=scores["dim"].astype(int),
        n=scores["dataset"].map(lambda name: int(name.rpartition("-")[2])).astype(int),
        constrained=settings.map(lambda axes: axes["constrained"]).astype(bool),
        tolerance=settings.map(lambda axes: axes["tolerance"]).astype(float),
    )
    own = [found["dataset"], found["method"]]
    # KLR has no constraints and no second tolerance.
    of_constrained = found["tolerance"].where(found["constrained"]).groupby(own).transform("first")
    return found.assign(scheduled=found["tolerance"].eq(of_constrained.fillna(found["tolerance"])))


def varied(scores: pd.DataFrame, variation: str, axis: str, value: object) -> pd.DataFrame:
    """Return the Gaussian pairs of a variation under one setting, named as the plain ones."""
    ending = f"-{variation}"
    here = scores[scores["experiment"].eq(MOMENTS) & scores["dataset"].str.endswith(ending)]
    here = under(here, **{axis: value})
    return here.assign(dataset=here["dataset"].str.removesuffix(ending))


def timed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with the sums of `_PARTS`, of the fits and of those of one bandwidth."""
    cell = ["dataset", "setting", "method", "variant", "split"]
    found = [scores]
    for prefix in ("", MATCHED):
        for name, metrics in _PARTS.items():
            parts = scores["metric"].isin([f"{prefix}{each}" for each in metrics])
            parts = scores[parts & scores["status"].eq("ok")]
            each = parts.groupby(cell, sort=False)["value"]
            sums = parts.assign(value=each.transform("sum"), metric=f"{prefix}{name}")
            whole = each.transform("count") == len(metrics)
            found.append(sums[whole].drop_duplicates(cell))
    return pd.concat(found, ignore_index=True)


def by_repetition(
    tidied: pd.DataFrame,
    metric: str,
    method: str,
    d: int,
    constrained: bool = False,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Return a metric of a method by repetition (rows, ascending) and n (columns, ascending).

    It is NaN where a fit failed or was not made. `tolerance` is None for that of the schedule. The
    attribute `tried` maps n to the repetitions that were fitted there; `name` is for messages.
    """
    here = tidied["scheduled"] if tolerance is None else tidied["tolerance"].eq(tolerance)
    here &= tidied["method"].eq(method) & tidied["d"].eq(d) & tidied["constrained"].eq(constrained)
    fits = tidied[here]
    values = fits[fits["metric"].eq(metric) & fits["status"].eq("ok")]
    table = values.pivot(index="split", columns="n", values="value")
    table = table.reindex(index=sorted(set(fits["split"])), columns=sorted(set(fits["n"])))
    at = LIMITS[constrained] if tolerance is None else f"tolerance {tolerance:g}"
    table.attrs["name"] = f"{method} at d = {d}, {at}"
    table.attrs["tried"] = {n: frozenset(own["split"]) for n, own in fits.groupby("n")}
    return table


def panels(tidied: pd.DataFrame) -> pd.DataFrame:
    """Return the fits with a panel (`d=1 unconstrained`) for each d, without and with constraints.

    The series is `SCHEDULED`; and again, as `THROUGHOUT`, are the fits at the tightest tolerance of
    a method and d, from the last n at which the schedule has it, where it has a looser one beyond.
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
    """Return the fits at d = 1 without constraints: panels are methods, series tolerances."""
    free = tidied[~tidied["constrained"] & tidied["d"].eq(1)]
    series = BY_TOLERANCE + free["tolerance"].map("{:g}".format)
    return free.assign(panel=free["method"], series=series).sort_values("tolerance", kind="stable")


def rows(
    placed: pd.DataFrame, metric: str, scale: float = 1.0, stats: tuple = (MEAN,), failed=True
) -> list[dict]:
    """Return the rows of a tracked CSV for one metric of fits with `panel` and `series`.

    For each panel, method, series and n (`x`) a row per stat, with the number of repetitions in
    `n`; then, if wanted, `FAILED` where there are such.
    """
    found = []
    keys = ["panel", "method", "variant", "series", "n"]
    for cell, fits in placed.groupby(keys, sort=False):
        names = dict(zip([*keys[:-1], "x"], cell, strict=True))
        numbers = fits[fits["status"].eq("ok")]
        values = scale * numbers.loc[numbers["metric"] == metric, "value"]
        tried, enough = fits["split"].nunique(), len(values) >= ENOUGH
        low, high = np.quantile(values, (0.05, 0.95)) if enough else (np.nan, np.nan)
        for stat in stats if len(values) else ():
            y = values.mean() if stat == MEAN else values.max()
            curve = {"kind": "curve", "stat": stat, "y": y, "y_low": low, "y_high": high}
            found.append(names | curve | {"n": len(values)})
        if failed and len(values) < tried:
            lost = {"kind": FAILED, "stat": FAILED, "y": tried - len(values), "n": tried}
            found.append(names | lost)
    return found


def timing_rows(placed: pd.DataFrame) -> list[dict]:
    """Return the rows of seconds at matched bandwidths, with the factors and then without.

    Only the repetitions that were timed so count.
    """
    whole, solved = f"{MATCHED}{WHOLE}", f"{MATCHED}{SOLVED}"
    timed_ones = placed.loc[placed["metric"].isin([whole, solved]), "split"]
    if not len(timed_ones):
        raise ValueError("no fit was timed: `matched_repetitions` must be at least 1")
    placed = placed[placed["split"].isin(timed_ones)]
    without = placed.assign(panel=placed["panel"] + EXCLUDED)
    return [*rows(placed, whole), *rows(without, solved, failed=False)]


def baseline(placed: pd.DataFrame, metric: str) -> list[dict]:
    """Return the rows of the line of what ignores x, a metric that every fit has."""
    values = placed[placed["metric"].eq(metric) & placed["status"].eq("ok")]
    each = values.groupby(["panel", "n", "split"], sort=False)["value"].first().reset_index()
    common = {"kind": BASELINE, "method": BASELINE, "series": BASELINE, "stat": MEAN}
    return [
        common | {"panel": panel, "x": n, "y": own["value"].mean(), "n": len(own)}
        for (panel, n), own in each.groupby(["panel", "n"], sort=False)
    ]


def frame(found: Sequence[dict]) -> pd.DataFrame:
    """Return rows as the frame of a tracked CSV: curves by panel, method, series and n."""
    table = pd.DataFrame(found, columns=FIGURE_COLUMNS)
    return table.dropna(subset="y").reset_index(drop=True)


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State how many repetitions there are, and which fits gave no value."""
    own = drawn[drawn["series"] != THROUGHOUT]
    counts = own[own["kind"] == "curve"].groupby("x")["n"].max()
    each = [f"{count:.0f} at n = {magnitude(n)}" for n, count in counts.items()]
    if counts.nunique() == 1:
        each = [f"{counts.iloc[0]:.0f}"]
    said = [f"Repetitions: {', '.join(each)}."] if each else []
    lost = [
        f"{row.method} {row.panel} at n = {row.x:g}: {row.y:.0f} of {row.n:.0f}"
        for row in own[own["stat"] == FAILED].itertuples()
    ]
    return said + ([f"Fits that failed and are in no curve: {'; '.join(lost)}."] if lost else [])
