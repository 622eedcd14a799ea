"""Numbers are judged by the prediction interval of a published mean."""

import numpy as np
import pytest
from scipy import stats

from kcde.evidence.verdicts import Published, Summary, half_width, judge, summarise

NLL = "negative_log_likelihood"


def judged(metric, ours, published):
    return judge(metric, "A", {"A": ours}, {"A": published})


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(1.0, "compatible"), (1.06, "compatible"), (1.08, "worse"), (0.92, "better")],
)
def test_the_published_mean_lies_in_the_interval_or_not(mean, expected):
    # t(.975, 19) · 0.1 · √(1/20 + 1/20) = 0.0662
    ours = Summary(mean, mean, 0.1, 0.0, 20, 0)
    assert half_width(ours, 20) == pytest.approx(0.0662, abs=1e-4)
    assert judged(NLL, ours, Published(1.0, 20)) == expected


def test_a_wide_interval_says_nothing():
    assert judged(NLL, Summary(1.0, 1.0, 0.8, 0.1, 20, 0), Published(1.0, 20)) == "uninformative"
    assert judged(NLL, Summary(1.0, 1.0, 0.1, 0.1, 20, 0), Published(1.0, 0)) == "uninformative"
    # Half of the published value, in units of its own.
    assert judged("smae", Summary(0.04, 0.04, 0.02, 0.0, 10, 0), Published(0.03, 10)) == (
        "uninformative"
    )


def test_the_interval_covers_means_of_the_same_law():
    rng = np.random.default_rng(0)
    ours, theirs = rng.standard_normal((2000, 20)), rng.standard_normal((2000, 5)).mean(axis=1)
    inside = [
        judged(NLL, summarise(row, "units"), Published(mean, 5)) in ("compatible", "uninformative")
        for row, mean in zip(ours, theirs, strict=True)
    ]
    assert stats.binomtest(sum(inside), 2000, 0.95).pvalue > 0.001 or np.mean(inside) > 0.95


@pytest.mark.parametrize(
    ("ours", "published", "failed", "expected"),
    [
        (0.01, 0.04, 0, "compatible"),
        (0.2, 0.04, 0, "different"),
        (0.2, 0.9, 0, "compatible"),
        (0.2, 0.9, 2, "different"),
    ],
)
def test_p_values_are_judged_by_their_side(ours, published, failed, expected):
    assert (
        judged("p_value", Summary(ours, ours, 0, 0, 10, failed), Published(published)) == expected
    )


@pytest.mark.parametrize(
    ("fast", "slow", "expected"),
    [
        (0.1, 10.0, "compatible"),
        (0.1, 6.0, "compatible"),
        (0.1, 4.0, "different"),
        (0.1, 90, "compatible"),
    ],
)
def test_times_are_judged_as_ratios(fast, slow, expected):
    ours = {name: Summary(v, v, 0, 0, 5, 0) for name, v in (("A", fast), ("B", slow))}
    published = {"A": Published(1.0), "B": Published(100.0)}
    assert judge("sampling_time", "A", ours, published) == expected


def test_an_na_is_no_number():
    assert judged(NLL, Summary(1.0, 1.0, 0.1, 0.1, 20, 0), Published(np.nan)) == "published-na"


def test_a_failed_split_takes_the_standard_error_and_leaves_quartiles():
    values = np.array([1.0, 2.0, 3.0, np.nan, 1.5, 25.0, 2.5, 1.2])
    found = summarise(values, "nats")
    assert (found.failed, found.n) == (2, 8)
    assert np.isnan(found.stderr)
    assert (found.q25, found.median, found.q75) == (1.2, 2.0, 3.0)
    assert summarise(values[:3], "nats").stderr == pytest.approx(1 / np.sqrt(3))
