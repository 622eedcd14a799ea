"""The rule by which a number of ours is compared with a published one.

It was fixed before any result was seen. Tables and the scorecard use the same rule.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

LIMIT_NATS = 20.0
"""A split above this many nats counts as failed."""

SIGNIFICANCE = 0.05

UNDECIDED = "undecided"
"""Of a number that Markov chains gave which have not converged."""

LEVEL = 0.95
"""Of the prediction interval of `compatible`."""

COMPATIBLE, INCOMPATIBLE, UNINFORMATIVE = "yes", "no", "uninformative"

# Published numbers have two decimals, so that 1.04 - 0.99 must count as 0.05 exactly.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rule:
    """How a metric is judged.

    Attributes
    ----------
    kind
        `difference` (within a tolerance), `side` (of p-values: the same side of 5%) or `ratio` (of
        seconds: only ratios between methods).
    floor
        Smallest tolerance: in the metric's unit, or as a share of the published value.
    relative
        Whether `floor` and `widest` are shares.
    widest
        The largest half-width of a prediction interval that says anything: in the metric's unit,
        or as a share of the published value.
    """

    kind: str
    floor: float = 0.0
    relative: bool = False
    widest: float = 0.0


# Every metric judged by difference is a loss: lower is better.
RULES: Mapping[str, Rule] = {
    "negative_log_likelihood": Rule("difference", 0.05, widest=0.5),
    "mmd": Rule("difference", 0.10, relative=True, widest=0.5),
    "smae": Rule("difference", 0.10, relative=True, widest=0.5),
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
        min(std, 1.4826 MAD) / sqrt(number of finite splits), so that one exploding split cannot
        widen its own tolerance.
    n
        Number of splits.
    failed
        Number of splits that are not finite or above 20 nats.
    """

    mean: float
    median: float
    std: float
    stderr: float
    n: int
    failed: int

    @property
    def unreliable(self) -> bool:
        """Whether more than 5% of the splits failed."""
        return too_many_failed(self.failed, self.n)


@dataclass(frozen=True)
class Published:
    """A published number.

    Attributes
    ----------
    value
        NaN for a published N/A.
    spread
        The number printed after the ±; NaN where there is none.
    over_splits
        Whether the spread is a standard deviation over splits; only then it gives a standard error.
    trials
        How many splits, runs or folds the value is a mean of; 0 where the paper does not say.
    """

    value: float
    spread: float = math.nan
    over_splits: bool = False
    trials: int = 0

    def stderr(self, n: int) -> float:
        """Return the standard error of the published mean of `n` splits, 0 where unknown."""
        known = self.over_splits and n > 0 and not math.isnan(self.spread)
        return self.spread / math.sqrt(n) if known else 0.0


def too_many_failed(failed: int, n: int) -> bool:
    """Whether more than 5% of `n` splits failed; in whole numbers, so that 1 of 20 is not more."""
    return 20 * failed > n


def summarise(values: np.ndarray, unit: str) -> Summary:
    """Summarise one cell.

    Parameters
    ----------
    values
        Shape (n,), one value per split; NaN where the split failed.
    unit
        The limit of 20 nats applies where this is `nats`.

    Returns
    -------
    Summary
    """
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    failed = len(values) - len(finite)
    if unit == "nats":
        failed += int((finite > LIMIT_NATS).sum())
    if not len(finite):
        return Summary(math.nan, math.nan, math.nan, math.nan, len(values), failed)
    median = float(np.median(finite))
    std = float(finite.std(ddof=1)) if len(finite) > 1 else math.nan
    spread = min(std, 1.4826 * float(np.median(np.abs(finite - median))))
    stderr = spread / math.sqrt(len(finite)) if len(finite) > 1 else math.nan
    return Summary(float(finite.mean()), median, std, stderr, len(values), failed)


def representative(summary: Summary, metric: str) -> Summary:
    """Return the summary whose `mean` is the number that represents the cell.

    That is the mean over splits, or the median for p-values: a mean of p-values is no p-value, and
    claim K10 is about the median over the seeds. The median has no standard error.

    Parameters
    ----------
    summary
        Of the cell's values.
    metric
        A key of `RULES`, or any other metric.

    Returns
    -------
    Summary
    """
    if metric not in RULES or RULES[metric].kind != "side":
        return summary
    return replace(summary, mean=summary.median, stderr=math.nan)


def tolerance(metric: str, published: float, stderr: float, published_stderr: float) -> float:
    """Return max(floor, 2 sqrt(se² + se_pub²)), in the metric's unit.

    Parameters
    ----------
    metric
        A metric that is judged by difference.
    published
        The published value; its tenth is the floor of a relative metric.
    stderr, published_stderr
        Standard errors of ours and of the published mean; NaN (a single split) counts as 0.

    Returns
    -------
    float
    """
    rule = RULES[metric]
    floor = rule.floor * abs(published) if rule.relative else rule.floor
    ours, theirs = (0.0 if math.isnan(se) else se for se in (stderr, published_stderr))
    return max(floor, 2 * math.hypot(ours, theirs))


def half_width(summary: Summary, trials: int) -> float:
    """Return t(.975, n - 1) s √(1/n + 1/n_pub), of the 95% prediction interval of a published mean.

    A mean over `n_pub` trials lies within it of ours, if both are of the same law (Patil, Peng and
    Leek 2016). Unlike the standard error of a verdict, s is not capped.

    Parameters
    ----------
    summary
        Ours; n is the number of its trials that did not fail.
    trials
        Those of the published mean, n_pub.

    Returns
    -------
    float
        In the unit of the summary; NaN where either mean is over too few trials.
    """
    from scipy import stats

    n = summary.n - summary.failed
    if n < 2 or trials < 1:
        return math.nan
    quantile = float(stats.t.ppf((1.0 + LEVEL) / 2.0, n - 1))
    return quantile * summary.std * math.sqrt(1.0 / n + 1.0 / trials)


def compatible(metric: str, ours: Summary, published: Published) -> str:
    """Return whether a published number is one that our trials predict.

    Parameters
    ----------
    metric
        A key of `RULES`.
    ours, published
        The two numbers.

    Returns
    -------
    str
        `uninformative` where the prediction interval is too wide to say anything, or unknown; else
        `yes` where the published value lies in it and `no` where not. Empty for p-values, for times
        and for a published N/A.
    """
    rule = RULES[metric]
    if rule.kind != "difference" or math.isnan(published.value):
        return ""
    widest = rule.widest * abs(published.value) if rule.relative else rule.widest
    half = half_width(ours, published.trials)
    if math.isnan(half) or half > widest:
        return UNINFORMATIVE
    return COMPATIBLE if abs(ours.mean - published.value) <= half else INCOMPATIBLE


def judge(
    metric: str, method: str, ours: Mapping[str, Summary], published: Mapping[str, Published]
) -> str:
    """Return the verdict on one published number.

    Parameters
    ----------
    metric
        A key of `RULES`.
    method
        The method that is judged; a key of `ours` and of `published`.
    ours, published
        The cell of every method on the same data set; only times need the other methods.

    Returns
    -------
    str
        `reproduced`, `better`, `worse`, `different`, `published-na`, or `not-run` for a time whose
        counterpart is missing. A cell with too many failed splits is never `reproduced`; one
        without any finite split is `worse`.
    """
    cell, target = ours[method], published[method]
    kind = RULES[metric].kind
    if math.isnan(target.value):
        return "published-na"
    if kind == "ratio":
        return _judge_ratio(method, ours, published)
    if math.isnan(cell.mean):
        return "different" if kind == "side" else "worse"
    if kind == "side":
        same = (cell.mean <= SIGNIFICANCE) == (target.value <= SIGNIFICANCE)
        return "reproduced" if same and not cell.unreliable else "different"
    difference = cell.mean - target.value
    within = tolerance(metric, target.value, cell.stderr, target.stderr(cell.n)) + _ROUNDING
    if abs(difference) <= within:
        return "worse" if cell.unreliable else "reproduced"
    return "better" if difference < 0 else "worse"


def _judge_ratio(
    method: str, ours: Mapping[str, Summary], published: Mapping[str, Published]
) -> str:
    """Judge a time by its ratio to that of the slowest published method (the slowest: the fastest).

    It is reproduced within a factor of two of the published ratio, or farther in its direction.
    """
    slowest = max(published, key=lambda name: published[name].value)
    fastest = min(published, key=lambda name: published[name].value)
    other = fastest if method == slowest else slowest
    if other not in ours or math.isnan(ours[other].mean):
        return "not-run"
    if math.isnan(ours[method].mean) or ours[method].unreliable:
        return "different"
    wanted = math.log(published[method].value / published[other].value)
    found = math.log(ours[method].mean / ours[other].mean)
    excess = math.copysign(1.0, wanted) * (found - wanted)
    return "reproduced" if excess >= -math.log(2) - _ROUNDING else "different"
