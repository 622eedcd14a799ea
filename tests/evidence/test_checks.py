"""A claim's verdict, parts and reason follow from its checks."""

import numpy as np
import pandas as pd
import pytest

from kcde.evidence.checks import Check, Missing, completed, decide

NONE = pd.DataFrame()


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


def test_a_claim_fails_with_one_check_and_has_parts():
    def claim(scores, least=1.0):
        yield Check("first", 2.0, at_least=least, part="a")
        yield Check("second", None, part="b")
        yield Check("beside", 7.0)

    found = decide(claim, NONE)
    assert (found.verdict, found.parts) == ("undecided", {"a": "holds", "b": "undecided"})
    assert "beside 7" in found.reason
    assert decide(claim, NONE, least=3.0).verdict == "fails"


def test_missing_scores_decide_nothing():
    def claim(scores):
        yield Check("first", False)
        raise Missing("no scores of A")

    found = decide(claim, NONE)
    assert (found.verdict, found.reason) == ("undecided", "no scores of A")


def test_what_failed_too_often_is_missing():
    columns = ["method", "variant", "metric", "status", "split", "value"]
    rows = [("A", "ours", "m", "ok" if k else "failed", k, 1.0) for k in range(10)]
    scores = pd.DataFrame(rows, columns=columns)
    with pytest.raises(Missing, match="1 of 10"):
        completed(scores, ["A"], "m", "here", "ours")
    with pytest.raises(Missing, match="no m of B"):
        completed(scores, ["B"], "m", "here", "ours")
    assert completed(scores[1:], ["A"], "m", "here", "ours")["A"].tolist() == [1.0] * 9
