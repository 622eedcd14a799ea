"""Readings change scores or tests, and classes follow from what all of them decide."""

import pandas as pd
import pytest

from kcde.evidence import readings
from kcde.evidence.readings import Reading
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS

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
        ({"methods": {"KCEF-wide": "KCEF"}}, [("geyser", "KCEF", 2.0)]),
        (
            {"datasets": {"geyser-2": "geyser"}, "where": {"n": [100, 200]}},
            [("geyser", "KCEF", 3.0)],
        ),
        ({"where": {"n": 100, "method": ["KCEF"]}}, [("geyser", "KCEF", 1.0)]),
        (  # KCEF-wide has no such data
            {"variation": {"laws": {"law": "uniform-1"}}},
            [("geyser", "KCEF-wide", 2.0), ("a", "KCEF", 4.0)],
        ),
    ],
)
def test_a_reading_puts_scores_in_the_place_of_others(reading, kept):
    found = Reading("C", "a", {}, **reading).scores(SCORES)
    assert list(found[["dataset", "method", "value"]].itertuples(index=False, name=None)) == kept
    assert set(found.loc[found["method"] == "KCEF", "variant"]) == {"as-published"}


def test_readings_are_crossed(monkeypatch):
    wide = {"as": {"KCEF-wide": "KCEF"}}
    stated = {
        "A": {"claims": {"K7": {"a": 1}}, "readings": {"wide": wide, "narrow": None}},
        "B": {"claims": ["K7", "K8"], "readings": {"small": {"where": {"n": 100}}}},
        "A × B": {"crossed": ["A", "B"]},
    }
    monkeypatch.setattr(readings, "choices", lambda paper: stated)
    found = readings.declared.__wrapped__("kcef")[-2:]
    assert [each.name for each in found] == ["wide × small", "narrow × small"]
    assert found[0].claims == {"K7": {"a": 1}}
    assert found[0].scores(SCORES)["value"].tolist() == [2.0]
    stated["A"]["methods"] = {"KCEF-wide": "KCEF"}
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
    read = {claim for each in every if each.choice == readings.FIRST for claim in each.claims}
    assert read == set(claims.loc[claims["first"] != "", "claim"])
