"""Claims follow from their checks, and numbers from the prediction interval of a published mean."""

import numpy as np
import pandas as pd
import pytest

from kcde.evidence.checks import Check, Missing, completed, decide
from kcde.evidence.verdicts import Published, Summary, half_width, judge, summarise

NONE = pd.DataFrame()
NLL = "negative_log_likelihood"


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        (Check("gain", 0.3, at_least=0.3), "holds"),
        (Check("gain", 0.3, above=0.3), "fails"),
        (Check("ratio", 4.0, at_least=2, at_most=5), "holds"),
        (Check("ratio", 6.0, at_least=2, at_most=5), "fails"),
        (Check("ratio", 1.0, below=1.0, unless="too few splits"), "undecided"),
        (Check("gain", np.nan, at_least=0), "undecided"),
        (Check("gain", None, at_least=0), "undecided"),
        (Check("all", True), "holds"),
        (Check("all", False), "fails"),
        (Check("median", 0.2), ""),
    ],
)
def test_a_check_keeps_its_bounds(check, verdict):
    assert check.verdict == verdict
    assert check.what in str(check)


def test_a_claim_fails_with_one_check_has_parts_and_is_undecided_without_scores():
    def claim(scores, least=1.0, missing=False):
        yield Check("first", 2.0, at_least=least, part="a")
        yield Check("second", None, part="b")
        yield Check("beside", 7.0)
        if missing:
            raise Missing("no scores of A")

    found = decide(claim, NONE)
    assert (found.verdict, found.parts) == ("undecided", {"a": "holds", "b": "undecided"})
    assert "beside 7" in found.reason
    assert decide(claim, NONE, least=3.0).verdict == "fails"
    found = decide(claim, NONE, least=3.0, missing=True)
    assert (found.verdict, found.reason) == ("undecided", "no scores of A")


def test_what_failed_too_often_is_missing():
    columns = ["method", "variant", "metric", "status", "split", "value"]
    rows = [("A", "ours", "m", "ok" if k else "failed", k, 1.0) for k in range(10)]
    scores = pd.DataFrame(rows, columns=columns)
    for method, match in (("A", "1 of 10"), ("B", "no m of B")):
        with pytest.raises(Missing, match=match):
            completed(scores, [method], "m", "here", "ours")
    assert completed(scores[1:], ["A"], "m", "here", "ours")["A"].tolist() == [1.0] * 9


def judged(metric, ours, published):
    return judge(metric, "A", {"A": ours}, {"A": published})


def of(mean, std=0.0, n=10, failed=0):
    return Summary(mean, mean, std, 0.0, n, failed)


@pytest.mark.parametrize(
    ("metric", "ours", "published", "expected"),
    [
        # t(.975, 19) · 0.1 · √(1/20 + 1/20) = 0.0662
        (NLL, of(1.06, 0.1, 20), Published(1.0, 20), "compatible"),
        (NLL, of(1.08, 0.1, 20), Published(1.0, 20), "worse"),
        (NLL, of(0.92, 0.1, 20), Published(1.0, 20), "better"),
        (NLL, of(1.0, 0.8, 20), Published(1.0, 20), "uninformative"),
        (NLL, of(1.0, 0.1, 20), Published(1.0, 0), "uninformative"),
        (NLL, of(1.0, 0.1), Published(np.nan), "published-na"),
        # Half of the published value, in units of its own.
        ("smae", of(0.04, 0.02), Published(0.03, 10), "uninformative"),
        ("p_value", of(0.01), Published(0.04), "compatible"),
        ("p_value", of(0.2), Published(0.04), "different"),
        ("p_value", of(0.2, failed=2), Published(0.9), "different"),
    ],
)
def test_numbers(metric, ours, published, expected):
    assert judged(metric, ours, published) == expected
    assert half_width(of(1.0, 0.1, 20), 20) == pytest.approx(0.0662, abs=1e-4)


def test_the_interval_covers_means_of_the_same_law():
    rng = np.random.default_rng(0)
    ours, theirs = rng.standard_normal((2000, 20)), rng.standard_normal((2000, 5)).mean(axis=1)
    widths = half_width(of(0.0, 1.0, 20), 5) * ours.std(axis=1, ddof=1)
    inside = np.abs(ours.mean(axis=1) - theirs) <= widths
    assert abs(inside.mean() - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(
    ("slow", "expected"),
    [(10.0, "compatible"), (6.0, "compatible"), (4.0, "different"), (90.0, "compatible")],
)
def test_times_are_judged_as_ratios(slow, expected):
    ours = {name: of(value, n=5) for name, value in (("A", 0.1), ("B", slow))}
    published = {"A": Published(1.0), "B": Published(100.0)}
    assert judge("sampling_time", "A", ours, published) == expected


def test_a_failed_split_takes_the_standard_error_and_leaves_quartiles():
    values = np.array([1.0, 2.0, 3.0, np.nan, 1.5, 25.0, 2.5, 1.2])
    found = summarise(values, "nats")
    assert (found.failed, found.n) == (2, 8)
    assert np.isnan(found.stderr)
    assert (found.q25, found.median, found.q75) == (1.2, 2.0, 3.0)
    assert summarise(values[:3], "nats").stderr == pytest.approx(1 / np.sqrt(3))
