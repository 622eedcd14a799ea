"""Convergence of KCEF where the model is well specified (theorem 2 of kcef), and claim K12."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.experiments.consistency import CONSTANTS, Constant
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.pages import style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision

_METRICS = {"norm_error": "norm", "kl": "KL"}
"""Metric of the scores to the name of its panel."""


_IN_REGIME = 0.8
"""Fraction of its limiting slope that the error without noise must reach for a series to count.

Where it does not, λ is not yet small against C at these n, and no estimator with this λ could show
the rate. It is computed from the target alone, without samples.
"""

_EXPONENTS = (0.5, 1.0)  # γ that a decision needs

# c that a decision needs.
_ORIGINAL = (Constant(False, 0.1), Constant(False, 1.0))
_AMENDED = (Constant(False, 0.03), Constant(False, 0.1))
_PRINTED = (Constant(True, 1.0),)

_COLOURS = {0.5: style.BLUE, 1.0: style.VERMILLION}  # by γ
_DASHES = dict(zip(CONSTANTS, ("-.", "-", "--", (0, (5, 1, 1, 1, 1, 1))), strict=True))  # by c

_THIN = 0.7  # width of lines


class Slope(NamedTuple):
    """A fitted slope of log error against log n, its 95% interval, and the theorem's bound."""

    gamma: float
    constant: Constant
    metric: str
    value: float
    low: float
    high: float
    bound: float
    repetitions: int
    in_regime: bool


def slopes(scores: pd.DataFrame) -> list[Slope]:
    """Fit one least-squares slope to each repetition; return Student's interval of their mean.

    Series that fewer than two repetitions completed are left out.
    """
    fitted = []
    for (gamma, constant), series in _series(scores):
        alpha = _rate(gamma)
        (without_noise,) = _fit(_table(series, REGULARIZATION_ERROR))
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
                    bool(without_noise <= _IN_REGIME * _limit(gamma)),
                )
            )
    return fitted


def _series(scores: pd.DataFrame) -> Iterator[tuple[tuple[float, Constant], pd.DataFrame]]:
    """Yield γ and c with the scores of their series, in increasing order."""
    known = {setting: _key(**json.loads(setting)) for setting in scores["setting"].unique()}
    for setting in sorted(known, key=known.get):
        yield known[setting], scores[scores["setting"] == setting]


def _key(gamma: float, constant: float, absolute: bool = False) -> tuple[float, Constant]:
    return gamma, Constant(absolute, constant)


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


def _rate(gamma: float) -> float:
    """Return α of theorem 2."""
    return max(0.25, 1 / (2 * (gamma + 1)))


def _limit(gamma: float) -> float:
    """Return the slope in n that the error without noise, of order λ^min(1, γ), tends to."""
    return -_rate(gamma) * min(1.0, gamma)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return geometric means over repetitions with 95% intervals, fitted lines and slopes.

    Panels `norm` (in the space of functions) and `KL` (nats) against x = n, stat `mean`, `fit` or
    `without noise`; panel `slopes` (x is the place of the series, stat the metric) with `… bound`
    for the theorem's.
    """
    rows = []
    for (gamma, constant), series in _series(scores):
        name = _series_name(gamma, constant)
        for metric, panel in _METRICS.items():
            rows += _means(panel, name, _table(series, metric))
        bias = _table(series, REGULARIZATION_ERROR)
        rows += [
            _row("norm", name, "without noise", n, value, 1)
            for n, value in zip(bias.columns, bias.iloc[0], strict=True)
        ]
    fitted = slopes(scores)
    places = list(dict.fromkeys((slope.gamma, slope.constant) for slope in fitted))
    for slope in fitted:
        name = _series_name(slope.gamma, slope.constant)
        x, stat = places.index((slope.gamma, slope.constant)), _METRICS[slope.metric]
        row = _row("slopes", name, stat, x, slope.value, slope.repetitions, slope.low, slope.high)
        rows += [row, _row("slopes", name, f"{stat} bound", x, slope.bound, 1)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


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


def _series_name(gamma: float, constant: Constant) -> str:
    """Return the name of a series in the CSV; c is a multiple of ‖C‖ where it is not absolute."""
    return f"gamma={gamma:g} c={constant.value:g}" + " absolute" * constant.absolute


def _parts(name: str) -> tuple[float, Constant]:
    """Return γ and c from the name of a series."""
    gamma, constant, *absolute = name.split()
    value = float(constant.removeprefix("c="))
    return float(gamma.removeprefix("gamma=")), Constant(bool(absolute), value)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how much was run, and which series are not yet in the limit that the theorem is about."""
    means = frame[frame["stat"] == "mean"]
    said = [
        f"Here {means['n'].max():.0f} repetitions of n from {means['x'].min():.0f} to "
        f"{means['x'].max():.0f}."
    ]
    quiet = frame[frame["stat"] == "without noise"].pivot(index="series", columns="x", values="y")
    for name, slope in zip(quiet.index, _fit(quiet), strict=True):
        gamma, constant = _parts(name)
        limit = _limit(gamma)
        if slope > _IN_REGIME * limit:
            said.append(
                f"At γ = {gamma:g}, c = {_times(constant)} the error without noise itself falls "
                f"only as n^{slope:.2f} at these n, not yet as its limit n^{limit:.2f}: λ is not "
                "small against C, and that series is no evidence for or against the theorem."
            )
    return said


def _times(constant: Constant) -> str:
    if constant.absolute:
        return f"{constant.value:g}"
    return "‖C‖" if constant.value == 1 else f"{constant.value:g}‖C‖"


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw both errors against n, and the fitted slopes beside their bounds."""
    with style.figure(style.PAGE, 3.6, columns=3, width_ratios=[1, 1, 1.1]) as (made, axes):
        _draw_errors(axes[0], frame[frame["panel"] == "norm"])
        axes[0].set_ylabel("norm of the error, $\\|T-T_0\\|$")
        style.panel_title(axes[0], "a", "error in norm")
        _draw_errors(axes[1], frame[frame["panel"] == "KL"])
        axes[1].set_ylabel("Kullback–Leibler divergence (nats)")
        style.panel_title(axes[1], "b", "divergence")
        _draw_slopes(axes[2], frame[frame["panel"] == "slopes"])
        style.panel_title(axes[2], "c", "fitted slopes")
        style.legend_above(made, _keys(frame), columns=4)
        return style.save(made, stem)


def _keys(frame: pd.DataFrame) -> list:
    """Return what colours, dashes and bars stand for, for the legend of all panels."""
    shown = {_parts(name)[1] for name in frame["series"].unique()}
    constants = [
        style.key(_constant(constant), color=style.GREY, linestyle=dashes)
        for constant, dashes in _DASHES.items()
        if constant in shown
    ]
    exponents = [style.key(_exponent(gamma), color=colour) for gamma, colour in _COLOURS.items()]
    quiet = style.key("(a) thin: without noise", color=style.GREY, linewidth=_THIN)
    bound = style.key(
        "(c) bound of theorem 2", color=style.BLACK, marker="|", linestyle="none", mew=1.5
    )
    return [*exponents, quiet, bound, *constants]


def _line_style(name: str) -> dict[str, str]:
    gamma, constant = _parts(name)
    return {"color": _COLOURS[gamma], "linestyle": _DASHES[constant]}


def _draw_errors(axes, frame: pd.DataFrame) -> None:
    for name, series in frame.groupby("series", sort=False):
        line = _line_style(name)
        fit = series[series["stat"] == "fit"].sort_values("x")
        axes.plot(fit["x"], fit["y"], linewidth=1, **line)
        mean = series[series["stat"] == "mean"].sort_values("x")
        spread = [mean["y"] - mean["y_low"], mean["y_high"] - mean["y"]]
        axes.errorbar(
            mean["x"],
            mean["y"],
            spread,
            fmt="o",
            markersize=2.5,
            linewidth=0.8,
            color=line["color"],
        )
        quiet = series[series["stat"] == "without noise"].sort_values("x")
        axes.plot(quiet["x"], quiet["y"], linewidth=_THIN, **line)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training pairs $n$")


def _constant(constant: Constant) -> str:
    return f"$c={_times(constant).replace('‖C‖', chr(92) + '|C' + chr(92) + '|')}$"


def _draw_slopes(axes, frame: pd.DataFrame) -> None:
    names = list(dict.fromkeys(frame["series"]))
    for shift, stat, marker in ((-0.15, "norm", "o"), (0.15, "KL", "s")):
        for place, name in enumerate(names):
            rows = frame[frame["series"] == name].set_index("stat")
            fitted, bound = rows.loc[stat], rows.loc[f"{stat} bound"]
            spread = [[fitted["y"] - fitted["y_low"]], [fitted["y_high"] - fitted["y"]]]
            axes.errorbar(
                fitted["y"],
                place + shift,
                xerr=spread,
                fmt=marker,
                markersize=3,
                linewidth=0.8,
                color=_line_style(name)["color"],
            )
            axes.plot([bound["y"]] * 2, place + shift + np.array([-0.13, 0.13]), color=style.BLACK)
            if place == 0:
                axes.annotate(
                    stat,
                    (fitted["y"], shift),
                    xytext=(0, 4),
                    textcoords="offset points",
                    color=style.BLACK,
                    ha="center",
                )
    axes.set_yticks(range(len(names)), [_label(name) for name in names])
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_color(_line_style(name)["color"])
    axes.set_ylim(len(names) - 0.5, -0.9)
    axes.set_xlabel("slope of log error in log $n$")


def _label(name: str) -> str:
    gamma, constant = _parts(name)
    return f"{_exponent(gamma)}\n{_constant(constant)}"


def _exponent(gamma: float) -> str:
    shown = {0.5: "1/2"}.get(gamma, f"{gamma:g}")
    return f"$\\gamma={shown}$"


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K12: slopes of norm error and KL not above -(1/2 - α) and -(1 - 2α).

    It holds if every interval ends at or below its bound. It fails if one lies above it in a series
    whose error without noise already falls at `_IN_REGIME` of its limiting slope, since the theorem
    is about the limit. It is undecided otherwise, and where a γ has no such series. The series have
    c = ‖C‖ and c = 0.1‖C‖; in the amended test 0.03‖C‖ stands in place of ‖C‖.
    """
    fitted = slopes(scores)
    original, amended = (_judged(fitted, constants) for constants in (_ORIGINAL, _AMENDED))
    return replace(original, amended=amended)


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K12 with the declared constants, and with c = 1, where both tests are one."""
    printed = _judged(slopes(scores), _PRINTED)
    return {"K12": {"multiples of ‖C‖": decide(scores), "c = 1": replace(printed, amended=printed)}}


def _judged(every: Sequence[Slope], constants: Sequence[Constant]) -> Decision:
    """Decide by the series with these c alone, all of which are needed."""
    fitted = [slope for slope in every if slope.constant in constants]
    pairs = {(gamma, constant) for gamma in _EXPONENTS for constant in constants}
    if absent := sorted(pairs - {(slope.gamma, slope.constant) for slope in fitted}):
        named = ", ".join(f"γ = {gamma:g}, c = {_times(constant)}" for gamma, constant in absent)
        return Decision("undecided", f"fewer than two complete repetitions of {named}")
    counted = [slope for slope in fitted if slope.in_regime]
    reason = "; ".join(
        [f"{_words(slope)}" for slope in counted]
        + [f"λ too large at these n to tell: {_words(s)}" for s in fitted if not s.in_regime]
    )
    wanted = {(gamma, metric) for gamma in _EXPONENTS for metric in _METRICS}
    if missing := wanted - {(slope.gamma, slope.metric) for slope in counted}:
        named = ", ".join(
            f"{_METRICS[metric]} at γ = {gamma:g}" for gamma, metric in sorted(missing)
        )
        return Decision("undecided", f"no series to judge {named} by; {reason}".rstrip("; "))
    if any(slope.low > slope.bound for slope in counted):
        return Decision("fails", reason)
    holds = all(slope.high <= slope.bound for slope in fitted)
    return Decision("holds" if holds else "undecided", reason)


def _words(slope: Slope) -> str:
    return (
        f"{_METRICS[slope.metric]} slope {slope.value:.3f} [{slope.low:.3f}, {slope.high:.3f}] "
        f"against {slope.bound:.3f} at γ = {slope.gamma:g}, c = {_times(slope.constant)}"
    )


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"consistency": {}},
    build=build,
    draw=draw,
    deciders={"K12": decide},
    readers={"K-constant": read},
    trial="repetition",
    remarks=remarks,
)
