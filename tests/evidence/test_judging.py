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
        (Check("ratio", 6.0, at_least=2, at_most=5), "fails"),
        (Check("ratio", 1.0, below=1.0, unless="too few splits"), "undecided"),
        (Check("gain", np.nan, at_least=0), "undecided"),
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
    assert decide(claim, NONE, least=3.0, missing=True).verdict == "undecided"


def test_what_failed_too_often_is_missing():
    same = {"method": "A", "variant": "ours", "metric": "m", "value": 1.0}
    scores = pd.DataFrame({"split": range(10), "status": ["failed", *["ok"] * 9], **same})
    for method in ("A", "B"):
        with pytest.raises(Missing, match=method):
            completed(scores, [method], "m", "here", "ours")
    assert completed(scores[1:], ["A"], "m", "here", "ours")["A"].tolist() == [1.0] * 9


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
        ("smae", of(0.04, 0.02), Published(0.03, 10), "uninformative"),
        ("p_value", of(0.2), Published(0.04), "different"),
        ("p_value", of(0.2, failed=2), Published(0.9), "different"),
    ],
)
def test_numbers(metric, ours, published, expected):
    assert judge(metric, "A", {"A": ours}, {"A": published}) == expected
    # t(.975, 19) · 0.1 · √(1/20 + 1/5)
    assert half_width(of(1.0, 0.1, 20), 5) == pytest.approx(0.1047, abs=1e-4)


@pytest.mark.parametrize(("slow", "expected"), [(6.0, "compatible"), (4.0, "different")])
def test_times_are_judged_as_ratios(slow, expected):
    ours = {"A": of(0.1), "B": of(slow)}
    published = {"A": Published(1.0), "B": Published(100.0)}
    assert judge("sampling_time", "A", ours, published) == expected


def test_a_failed_split_takes_the_standard_error_and_leaves_quartiles():
    values = np.array([1.0, 2.0, 3.0, np.nan, 1.5, 25.0, 2.5, 1.2])
    found = summarise(values, "nats")
    assert (found.failed, found.n) == (2, 8)
    assert np.isnan(found.stderr)
    assert (found.q25, found.median, found.q75) == (1.2, 2.0, 3.0)
    assert summarise(values[:3], "nats").stderr == pytest.approx(1 / np.sqrt(3))
