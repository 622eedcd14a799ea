"""Claims follow from checks, numbers from prediction intervals, classes from all readings."""

import numpy as np
import pandas as pd
import pytest

from kcde.evidence import readings
from kcde.evidence.checks import Check, Missing, completed, decide
from kcde.evidence.readings import Reading
from kcde.evidence.verdicts import Published, Summary, half_width, judge
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS

NLL = "negative_log_likelihood"
SCORES = pd.DataFrame(
    {
        "experiment": "r_benchmark",
        "dataset": ["geyser", "geyser", "geyser-2", "a-laws", "a-laws"],
        "method": ["KCEF", "KCEF-wide", "KCEF", "KCEF", "KCEF"],
        "variant": ["as-published", "ours", *["as-published"] * 3],
        "setting": ['{"n": 100}'] * 2 + ['{"n": 200}', '{"law": "uniform-1"}', '{"law": "normal"}'],
        "value": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)


@pytest.mark.parametrize(
    ("reading", "kept"),
    [
        ({"methods": {"KCEF-wide": "KCEF"}}, "geyser KCEF 2.0"),
        ({"datasets": {"geyser-2": "geyser"}, "where": {"value": [2.0, 3.0]}}, "geyser KCEF 3.0"),
        ({"where": {"value": [1.0, 2.0], "method": ["KCEF"]}}, "geyser KCEF 1.0"),
        # KCEF-wide has no such data.
        ({"variation": {"laws": {"law": "uniform-1"}}}, "geyser KCEF-wide 2.0, a KCEF 4.0"),
    ],
)
def test_a_reading_puts_scores_in_the_place_of_others(reading, kept):
    found = Reading("C", "a", {}, **reading).scores(SCORES)
    rows = found[["dataset", "method", "value"]].astype(str).agg(" ".join, axis=1)
    assert ", ".join(rows) == kept
    assert set(found.loc[found["method"] == "KCEF", "variant"]) == {"as-published"}


def test_a_key_that_no_reading_has_is_refused(monkeypatch):
    stated = {"A": {"claims": ["K7"], "methods": {}, "readings": {"narrow": None}}}
    monkeypatch.setattr(readings, "choices", lambda paper: stated)
    with pytest.raises(ValueError, match="methods"):
        readings.declared.__wrapped__("kcef")


@pytest.mark.parametrize(
    ("drawn", "others", "expected"),
    [
        ("holds", ["holds", "undecided"], ("reproduced", [])),
        ("fails", ["fails"], ("contradicted", [])),
        ("holds", ["fails"], ("depends", ["C0"])),
        ("undecided", ["holds", "fails"], ("depends", ["C0", "C1"])),
        ("undecided", ["fails"], ("untested", [])),
    ],
)
def test_classes(drawn, others, expected):
    choices = ["", *(f"C{k}" for k in range(len(others)))]
    rows = pd.DataFrame({"choice": choices, "verdict": [drawn, *others], "scale": "laptop"})
    assert readings.classify(rows, "laptop") == expected
    rows = pd.DataFrame({"choice": "", "verdict": ["holds", "fails"], "scale": ["laptop", "paper"]})
    assert readings.classify(rows, "laptop") == ("depends", ["scale"])


def test_every_claim_is_decided_by_an_artefact_and_read_as_first_stated():
    claims = published.claims()
    assert set(claims["claim"]) == {claim for each in ARTEFACTS.values() for claim in each.claims}
    every = [each for paper in published.PAPERS for each in readings.declared(paper)]
    read = {claim for each in every if each.choice == "first" for claim in each.claims}
    assert read == set(claims.loc[claims["first"] != "", "claim"])


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

    none = pd.DataFrame()
    found = decide(claim, none)
    assert (found.verdict, found.parts) == ("undecided", {"a": "holds", "b": "undecided"})
    assert "beside 7" in found.reason
    assert decide(claim, none, least=3.0).verdict == "fails"
    assert decide(claim, none, least=3.0, missing=True).verdict == "undecided"


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
        (NLL, of(1.0, 0.1, 20), Published(1.0, 0), "uninformative"),
        (NLL, of(1.0, 0.1, 20), Published(1.0, 20), "compatible"),
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
