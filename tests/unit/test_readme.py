"""The README: its counts are those of the scorecard, and what it links to is there."""

import re
from pathlib import Path

from kcde.evidence import readings, scorecard, scorecard_page

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def numbers(text):
    return re.findall(r"\d+", text)


def test_its_counts_are_those_of_the_scorecard():
    figures = ROOT / "figures"
    counts = scorecard.totals(scorecard.read(figures), readings.read(figures))
    (paragraph,) = (each for each in TEXT.split("\n\n") if each.startswith("Of "))
    counted = numbers(scorecard_page.summary(counts))
    assert numbers(paragraph)[: len(counted)] == counted


def test_it_is_short():
    assert len(TEXT.split()) < 1050


def test_what_it_links_to_is_there():
    local = [link for link in re.findall(r"\]\(([^)#]+)", TEXT) if "://" not in link]
    assert local
    assert not [link for link in local if not (ROOT / link).exists()]
