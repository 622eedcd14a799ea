"""kcef theorem 2, a figure of ours: errors against n, and slopes beside the theorem's bounds."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact, Decision

METRICS = {"norm_error": "norm", "kl": "KL"}
"""Metric of the scores to the name of its panel."""

BIAS = "regularization_error"

IN_REGIME = 0.8
"""Share of its limiting slope at which the error without noise must fall for a series to count.

Where it does not, λ is not yet small against C at these n, and no estimator with this λ could show
the rate. It is computed from the target alone, without samples.
"""

EXPONENTS = (0.5, 1.0)
"""γ that a decision must have."""


class Slope(NamedTuple):
    """A fitted slope of log error against log n, its 95% interval, and the theorem's bound."""

    gamma: float
    constant: float
    metric: str
    value: float
    low: float
    high: float
    bound: float
    repetitions: int
    in_regime: bool


def slopes(scores: pd.DataFrame) -> list[Slope]:
    """Fit every series: one least-squares slope a repetition, Student's interval of their mean.

    Parameters
    ----------
    scores
        Of the experiment `consistency`.

    Returns
    -------
    list of Slope
        Two metrics for every (γ, c), without those that fewer than two repetitions completed.
    """
    fitted = []
    for (gamma, constant), series in _series(scores):
        alpha = _rate(gamma)
        (without_noise,) = _fit(_table(series, BIAS))
        for metric, bound in (("norm_error", alpha - 0.5), ("kl", 2 * alpha - 1)):
            each = _fit(_table(series, metric))
            if len(each) < 2:
                continue
            half = _half_width(each)
            mean = float(each.mean())
            fitted.append(
                Slope(
                    gamma,
                    constant,
                    metric,
                    mean,
                    mean - half,
                    mean + half,
                    bound,
                    len(each),
                    bool(without_noise <= IN_REGIME * _limit(gamma)),
                )
            )
    return fitted


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return geometric means over repetitions with 95% intervals, fitted lines and slopes.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `consistency`.
    files
        Its score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. Panels `norm` (in the space of functions) and `KL` (nats) against
        x = n, stat `mean`, `fit` or `without noise`; panel `slopes` (x is the place of the series,
        stat the metric) with `… bound` for the theorem's.
    """
    rows = []
    for (gamma, constant), series in _series(scores):
        name = series_name(gamma, constant)
        for metric, panel in METRICS.items():
            rows += _means(panel, name, _table(series, metric))
        bias = _table(series, BIAS)
        rows += [
            _row("norm", name, "without noise", n, value, 1)
            for n, value in zip(bias.columns, bias.iloc[0], strict=True)
        ]
    fitted = slopes(scores)
    places = list(dict.fromkeys((slope.gamma, slope.constant) for slope in fitted))
    for slope in fitted:
        name = series_name(slope.gamma, slope.constant)
        x, stat = places.index((slope.gamma, slope.constant)), METRICS[slope.metric]
        row = _row("slopes", name, stat, x, slope.value, slope.repetitions, slope.low, slope.high)
        rows += [row, _row("slopes", name, f"{stat} bound", x, slope.bound, 1)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K12: slopes of norm error and KL not above -(1/2 - α) and -(1 - 2α).

    It holds if every interval ends at or below its bound. It fails if one lies above it of a series
    whose error without noise already falls at `IN_REGIME` of its limiting slope; the others
    can only leave it undecided, because the theorem speaks of the limit.

    Parameters
    ----------
    scores
        Of the experiment `consistency`.

    Returns
    -------
    Decision
        `undecided` where an interval holds its bound, where a series that is not yet in its limit
        lies above it, or where a γ has no series that counts.
    """
    fitted = slopes(scores)
    counted = [slope for slope in fitted if slope.in_regime]
    reason = "; ".join(
        [f"{_words(slope)}" for slope in counted]
        + [f"λ too large at these n to tell: {_words(s)}" for s in fitted if not s.in_regime]
    )
    wanted = {(gamma, metric) for gamma in EXPONENTS for metric in METRICS}
    if missing := wanted - {(slope.gamma, slope.metric) for slope in counted}:
        named = ", ".join(
            f"{METRICS[metric]} at γ = {gamma:g}" for gamma, metric in sorted(missing)
        )
        return Decision("undecided", f"no series to judge {named} by; {reason}".rstrip("; "))
    if any(slope.low > slope.bound for slope in counted):
        return Decision("fails", reason)
    holds = all(slope.high <= slope.bound for slope in fitted)
    return Decision("holds" if holds else "undecided", reason)


def series_name(gamma: float, constant: float) -> str:
    """Return how a series is called in the CSV."""
    return f"gamma={gamma:g} c={constant:g}"


def parts(name: str) -> tuple[float, float]:
    """Return γ and c/‖C‖ of a series by its name."""
    gamma, constant = (float(part.split("=")[1]) for part in name.split())
    return gamma, constant


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how much was run, and which series cannot speak for or against the theorem.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    means = frame[frame["stat"] == "mean"]
    said = [
        f"Here {means['n'].max():.0f} repetitions of n from {means['x'].min():.0f} to "
        f"{means['x'].max():.0f}."
    ]
    quiet = frame[frame["stat"] == "without noise"].pivot(index="series", columns="x", values="y")
    for name, slope in zip(quiet.index, _fit(quiet), strict=True):
        gamma, constant = parts(name)
        limit = _limit(gamma)
        if slope > IN_REGIME * limit:
            said.append(
                f"At γ = {gamma:g}, c = {_times(constant)} the error without noise itself falls "
                f"only as n^{slope:.2f} at these n, not yet as its limit n^{limit:.2f}: λ is not "
                "small against C, and that series says nothing for or against the theorem."
            )
    return said


def _series(scores: pd.DataFrame):
    axes = scores["setting"].map(json.loads)
    keys = [axes.map(lambda one: one["gamma"]), axes.map(lambda one: one["constant"])]
    return scores.groupby(keys, sort=True)


def _table(series: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return repetitions in rows and n in columns, without incomplete repetitions."""
    cells = series[series["metric"] == metric]
    return cells.pivot(index="split", columns="n_train", values="value").dropna()


def _fit(table: pd.DataFrame) -> np.ndarray:
    """Return one slope of log value against log n for each row."""
    if table.empty:
        return np.empty(0)
    log_n = np.log(table.columns.to_numpy(float))
    return np.polyfit(log_n, np.log(table.to_numpy().T), 1)[0]


def _half_width(values: np.ndarray):
    """Return half the width of Student's 95% interval of the mean over the first axis."""
    from scipy import stats

    n = len(values)
    return stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)


def _means(panel: str, name: str, table: pd.DataFrame) -> list[dict]:
    log_values = np.log(table.to_numpy())
    if len(log_values) < 2:
        return []
    mean, half = log_values.mean(axis=0), _half_width(log_values)
    log_n = np.log(table.columns.to_numpy(float))
    line = np.polyval(np.polyfit(log_n, mean, 1), log_n)
    rows = []
    for k, n in enumerate(table.columns):
        low, middle, high = np.exp([mean[k] - half[k], mean[k], mean[k] + half[k]])
        rows.append(_row(panel, name, "mean", n, middle, len(table), low, high))
    return rows + [
        _row(panel, name, "fit", n, np.exp(y), len(table))
        for n, y in zip(table.columns, line, strict=True)
    ]


def _row(panel, series, stat, x, y, n, low=np.nan, high=np.nan) -> dict:
    return {
        "panel": panel,
        "kind": "scatter" if panel == "slopes" or stat == "mean" else "curve",
        "method": "KCEF",
        "variant": "as-published",
        "series": series,
        "x": x,
        "y": y,
        "y_low": low,
        "y_high": high,
        "stat": stat,
        "n": n,
    }


def _rate(gamma: float) -> float:
    """Return α of theorem 2."""
    return max(0.25, 1 / (2 * (gamma + 1)))


def _limit(gamma: float) -> float:
    """Return the slope in n that the error without noise, of order λ^min(1, γ), tends to."""
    return -_rate(gamma) * min(1.0, gamma)


def _times(constant: float) -> str:
    return "‖C‖" if constant == 1 else f"{constant:g}‖C‖"


def _words(slope: Slope) -> str:
    return (
        f"{METRICS[slope.metric]} slope {slope.value:.3f} [{slope.low:.3f}, {slope.high:.3f}] "
        f"against {slope.bound:.3f} at γ = {slope.gamma:g}, c = {_times(slope.constant)}"
    )
