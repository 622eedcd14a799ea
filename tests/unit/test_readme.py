"""The README: its counts are those of the scorecard, and what it links to is there."""

import re
from pathlib import Path

from kcde.evidence import scorecard

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_counts_are_those_of_the_scorecard():
    frame = scorecard.read(ROOT / "figures")
    classes = frame.loc[frame["kind"] == "claim", "class"].value_counts()
    numbers = frame.loc[frame["kind"] == "number", "verdict"].value_counts()
    informative = numbers[numbers.index.isin(scorecard.INFORMATIVE)]
    counted = [classes.sum(), *(classes.get(name, 0) for name in scorecard.CLASSES)]
    counted += [informative.sum(), informative["compatible"]]
    (paragraph,) = (each for each in TEXT.split("\n\n") if each.startswith("**Scorecard.**"))
    assert [int(each) for each in re.findall(r"\b\d+\b", paragraph)] == counted


def test_it_is_short():
    assert len(TEXT.split()) < 1050


def test_what_it_links_to_is_there():
    local = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]
    assert local
    assert not [link for link in local if not (ROOT / link).exists()]
