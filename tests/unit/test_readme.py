"""The README: its summary of the scorecard, its length, and that what it links to is there."""

import re
from pathlib import Path

from kcde.artefacts.judging import readings, scorecard, scorecard_page

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_summary_is_that_of_the_scorecard():
    figures = ROOT / "figures"
    counts = scorecard.totals(scorecard.read(figures), readings.read(figures))
    summary = scorecard_page.summary(counts)
    assert summary in " ".join(TEXT.split()), f"write in README.md: {summary}"


def test_it_is_short():
    assert len(TEXT.split()) < 1050


def test_what_it_links_to_is_there():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    local = [link for link in links if "://" not in link]
    assert len(local) > 5
    assert not [link for link in local if not (ROOT / link).exists()]
