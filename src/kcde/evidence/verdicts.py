"""The rule by which a number of ours is compared with a published one; tables and scorecard use it.

A published mean is `compatible` with ours if it lies in the 95% prediction interval of a mean over
as many trials as the paper had (Patil, Peng and Leek 2016), `uninformative` where that interval is
too wide to say anything, else `better` or `worse`. A p-value is `compatible` on the same side of
5%, else `different`. Of times the ratio of two methods is compared, within a factor of two or
farther in the published direction.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from kcde import methods, provenance

LIMIT_NATS = 20.0
"""A split above this many nats counts as failed."""

SIGNIFICANCE = 0.05

COMPATIBLE, UNINFORMATIVE, BETTER, WORSE = "compatible", "uninformative", "better", "worse"
DIFFERENT = "different"

UNDECIDED = "undecided"
"""Of a number that Markov chains gave which have not converged."""

NOT_AVAILABLE = "published-na"

LEVEL = 0.95
"""Of the prediction interval of `compatible`."""


# Published numbers have two decimals, so that 1.04 - 0.99 must count as 0.05 exactly.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rule:
    """How a metric is judged.

    Attributes
    ----------
    kind
        `difference`, `side` (of p-values) or `ratio` (of seconds).
    widest
        The largest half-width of a prediction interval that says anything: in the metric's unit,
        or as a share of the published value.
    relative
        Whether `widest` is a share.
    """

    kind: str
    widest: float = 0.0
    relative: bool = False


# Every metric judged by difference is a loss: lower is better.
RULES: Mapping[str, Rule] = {
    "negative_log_likelihood": Rule("difference", 0.5),
    "mmd": Rule("difference", 0.5, relative=True),
    "smae": Rule("difference", 0.5, relative=True),
    "p_value": Rule("side"),
    "sampling_time": Rule("ratio"),
}


@dataclass(frozen=True)
class Summary:
    """A method's values over the splits of one data set.

    Attributes
    ----------
    mean, median, std
        Over the finite splits; NaN if there are too few. `representative` puts the median of
        p-values into `mean`.
    stderr
        std / sqrt(number of finite splits); NaN where a split failed, whose spread says nothing.
    n
        Number of splits.
    failed
        Number of splits that are not finite or above 20 nats.
    q25, q75
        Quartiles, in which splits that are not finite count as the largest.
    """

    mean: float
    median: float
    std: float
    stderr: float
    n: int
    failed: int
    q25: float = math.nan
    q75: float = math.nan

    @property
    def unreliable(self) -> bool:
        """Whether more than 5% of the splits failed."""
        return too_many_failed(self.failed, self.n)


class Published(NamedTuple):
    """A published number: NaN for an N/A; of how many trials it is a mean, 0 where not said."""

    value: float
    trials: int = 0


def too_many_failed(failed: int, n: int) -> bool:
    """Whether more than 5% of `n` splits failed; in whole numbers, so that 1 of 20 is not more."""
    return 20 * failed > n


def summarise(values: np.ndarray, unit: str) -> Summary:
    """Summarise one cell."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    failed = len(values) - len(finite)
    if unit == "nats":
        failed += int((finite > LIMIT_NATS).sum())
    if not len(finite):
        return Summary(math.nan, math.nan, math.nan, math.nan, len(values), failed)
    std = float(finite.std(ddof=1)) if len(finite) > 1 else math.nan
    stderr = math.nan if failed else std / math.sqrt(len(finite))
    whole = np.where(np.isfinite(values), values, np.inf)
    q25, q75 = np.quantile(whole, [0.25, 0.75], method="inverted_cdf")
    median = float(np.median(finite))
    return Summary(float(finite.mean()), median, std, stderr, len(values), failed, q25, q75)


def by_side(metric: str) -> bool:
    """Return whether a metric is a p-value."""
    return metric in RULES and RULES[metric].kind == "side"


def representative(summary: Summary, metric: str) -> Summary:
    """Return the summary whose `mean` is the number that represents the cell.

    That is the mean over splits, or the median for p-values: a mean of p-values is no p-value, and
    claim K10 is about the median over the seeds. The median has no standard error.
    """
    return replace(summary, mean=summary.median, stderr=math.nan) if by_side(metric) else summary


def half_width(summary: Summary, trials: int) -> float:
    """Return t(.975, n - 1) s √(1/n + 1/n_pub), of the 95% prediction interval of a published mean.

    A mean over `n_pub` trials lies within it of ours, if both are of the same law (Patil, Peng and
    Leek 2016).
    """
    from scipy import stats

    n = summary.n - summary.failed
    if n < 2 or trials < 1:
        return math.nan
    quantile = float(stats.t.ppf((1.0 + LEVEL) / 2.0, n - 1))
    return quantile * summary.std * math.sqrt(1.0 / n + 1.0 / trials)


Summaries, Targets = Mapping[str, Summary], Mapping[str, Published]
"""Of methods, by their names."""


def judge(metric: str, method: str, ours: Summaries, published: Targets) -> str:
    """Return the verdict on the published number of a method; only times need the other methods.

    `published-na` where the paper prints none, `not-run` for a time whose counterpart is missing.
    """
    cell, target, rule = ours[method], published[method], RULES[metric]
    if math.isnan(target.value):
        return NOT_AVAILABLE
    if rule.kind == "ratio":
        return _judge_ratio(method, ours, published)
    if rule.kind == "side":
        same = (cell.mean <= SIGNIFICANCE) == (target.value <= SIGNIFICANCE)
        return COMPATIBLE if same and not cell.unreliable else DIFFERENT
    if math.isnan(cell.mean):
        return WORSE
    half = half_width(cell, target.trials)
    widest = rule.widest * abs(target.value) if rule.relative else rule.widest
    if math.isnan(half) or half > widest:
        return UNINFORMATIVE
    difference = cell.mean - target.value
    return COMPATIBLE if abs(difference) <= half else BETTER if difference < 0 else WORSE


def _judge_ratio(method: str, ours: Summaries, published: Targets) -> str:
    """Judge a time by its ratio to that of the slowest published method (the slowest: the fastest).

    It is compatible within a factor of two of the published ratio, or farther in its direction.
    """
    slowest = max(published, key=lambda name: published[name].value)
    fastest = min(published, key=lambda name: published[name].value)
    other = fastest if method == slowest else slowest
    if other not in ours or math.isnan(ours[other].mean):
        return "not-run"
    if math.isnan(ours[method].mean) or ours[method].unreliable:
        return DIFFERENT
    wanted = math.log(published[method].value / published[other].value)
    found = math.log(ours[method].mean / ours[other].mean)
    excess = math.copysign(1.0, wanted) * (found - wanted)
    return COMPATIBLE if excess >= -math.log(2) - _ROUNDING else DIFFERENT


EXACT = 1e-6
"""Of what is computed in float64 alone, in the order that its code says."""

SINGLE = 0.05
"""Of what is computed in float32: its digits repeat on one kind of machine (NADE on parkinsons has
4.60463 nats on one, 4.56227 on another, again and again). What compares methods, such as ranks and
p-values, is not compared, nor are fits of which some failed; their verdicts are."""

ROUNDING = 1e-10
"""What differs by less is rounding error, whatever its scale: of an exact normaliser, say."""

VERDICTS = math.inf
"""Of what Markov chains draw: verdicts alone are compared."""

_FLOAT32 = re.compile(r"\b(?:np|xp)\.float32\b")
_MEASURED = re.compile(r"seconds|per_second|memory|MiB|(?<![a-z])time(?![a-z])", re.IGNORECASE)


def is_measured(name: str) -> bool:
    """Return whether the name of a metric, unit, panel or column says that it is measured.

    Seconds and memory differ from run to run, and are never compared.
    """
    return _MEASURED.search(name) is not None


def of_method(name: str) -> float:
    """Return the tolerance of a method, named as in scores and artefacts.

    One that is not defined (`DDE-features`) is taken for the method before its first dash; a
    baseline that is none has `EXACT`.
    """
    method = methods.METHODS.get(name) or methods.METHODS.get(name.partition("-")[0])
    return SINGLE if method is not None and is_single(method.estimator) else EXACT


@cache
def is_single(estimator: str) -> bool:
    """Return whether a class of `estimators/` computes in float32, as its modules say.

    Those are the networks, and LikelihoodKCEF where rows are many: rounding chooses among its
    candidates, which it compares before they have converged. All others are in float64.
    """
    modules = provenance.closure(provenance.estimator_module(estimator))
    sources = (provenance.source(module) for module in modules)
    return any(_FLOAT32.search(path.read_text("utf-8")) for path in sources if path is not None)
