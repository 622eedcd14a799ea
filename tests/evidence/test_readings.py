"""Readings change scores or tests, and classes follow from what all of them decide."""

import pandas as pd
import pytest

from kcde.evidence import readings
from kcde.evidence.readings import Reading
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS

SCORES = pd.DataFrame(
    [
        ("geyser", "KCEF", "as-published", '{"n": 100}', 1.0),
        ("geyser", "KCEF-wide", "ours", '{"n": 100}', 2.0),
        ("geyser-2", "KCEF", "as-published", '{"n": 200}', 3.0),
    ],
    columns=["dataset", "method", "variant", "setting", "value"],
)
CLAIMS = {claim for each in ARTEFACTS.values() for claim in each.claims}


@pytest.mark.parametrize(
    ("reading", "kept"),
    [
        ({"methods": {"KCEF-wide": "KCEF"}}, [("geyser", "KCEF", 2.0)]),
        ({"datasets": {"geyser-2": "geyser"}}, [("geyser", "KCEF", 3.0)]),
        ({"where": {"n": 100, "method": ["KCEF"]}}, [("geyser", "KCEF", 1.0)]),
    ],
)
def test_a_reading_puts_scores_in_the_place_of_others(reading, kept):
    found = Reading("C", "a", {}, **reading).scores(SCORES)
    assert list(found[["dataset", "method", "value"]].itertuples(index=False, name=None)) == kept
    assert set(found["variant"]) == {"as-published"}


def test_readings_are_crossed(monkeypatch):
    entry = {"claims": {"K7": {"a": 1}}}
    stated = {
        "A": entry | {"readings": {"wide": {"as": {"KCEF-wide": "KCEF"}}, "narrow": None}},
        "B": {"claims": ["K7", "K8"], "readings": {"small": {"where": {"n": 100}}}},
        "A × B": {"crossed": ["A", "B"]},
    }
    monkeypatch.setattr(readings, "choices", lambda paper: stated)
    found = readings.declared.__wrapped__("kcef")[-2:]
    assert [each.name for each in found] == ["wide × small", "narrow × small"]
    assert {each.choice for each in found} == {"A × B"}
    assert found[0].claims == {"K7": {"a": 1}}
    assert found[0].scores(SCORES)["value"].tolist() == [2.0]


def test_a_wrong_key_of_a_reading_is_named(monkeypatch):
    stated = {"A": {"claims": ["K7"], "readings": {"wide": {"methods": {"KCEF-wide": "KCEF"}}}}}
    monkeypatch.setattr(readings, "choices", lambda paper: stated)
    with pytest.raises(ValueError, match=r"A, wide: no key \{'methods'\}"):
        readings.declared.__wrapped__("kcef")


@pytest.mark.parametrize(
    ("drawn", "others", "expected"),
    [
        ("holds", ["holds", "undecided"], ("reproduced", [])),
        ("fails", ["fails"], ("contradicted", [])),
        ("holds", ["fails"], ("depends", ["C0"])),
        ("undecided", ["holds", "fails"], ("depends", ["C0", "C1"])),
        ("undecided", ["fails"], ("untested", [])),
        ("not-run", [], ("untested", [])),
    ],
)
def test_classes(drawn, others, expected):
    rows = [("", drawn, "laptop"), *((f"C{k}", each, "laptop") for k, each in enumerate(others))]
    table = pd.DataFrame(rows, columns=["choice", "verdict", "scale"])
    assert readings.classify(table, "laptop") == expected
    table = pd.DataFrame([("", "holds", "laptop"), ("", "fails", "paper")], columns=table.columns)
    assert readings.classify(table, "laptop") == ("depends", ["scale"])


def test_every_claim_is_decided_by_one_artefact_and_every_reading_bears_on_a_claim():
    assert set(published.claims()["claim"]) == CLAIMS
    for paper in published.PAPERS:
        for reading in readings.declared(paper):
            assert set(reading.claims) <= CLAIMS, reading
            assert not reading.artefact or reading.artefact in ARTEFACTS, reading
    every = [each for paper in published.PAPERS for each in readings.declared(paper)]
    read = {claim for each in every if each.choice == readings.FIRST for claim in each.claims}
    claims = published.claims().set_index("claim")
    assert read == set(claims.index[claims["first"] != ""])
