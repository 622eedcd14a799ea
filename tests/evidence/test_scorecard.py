"""The scorecard: every number and claim once, as tables and as one offline page."""

import re
from pathlib import Path

import pandas as pd
import pytest

from kcde.evidence import readings, scorecard
from kcde.papers import published

FIGURES = Path(__file__).parents[2] / "figures"


def test_every_number_and_claim_stands_in_it_once_and_pages_are_short_and_need_nothing_else():
    frame, built = scorecard.read(FIGURES), scorecard.build(FIGURES, "laptop")
    pd.testing.assert_frame_equal(built, frame, check_dtype=False, rtol=1e-5)
    context = scorecard.context(frame, readings.read(FIGURES), "laptop")
    assert len(frame) == len(published.values()) + len(published.claims())
    assert len(context["claims"]) == len(published.claims())
    assert {claim["class"] for claim in context["claims"]} <= set(scorecard.CLASSES)
    assert (frame["kind"] == "copy").sum() == 20
    pages = scorecard.pages_of(context)
    assert len(pages["scorecard.md"].split()) <= 1500
    html = pages["scorecard.html"]
    assert len(html.encode()) < 1_000_000
    assert not re.findall(r'(?:src|href)="https?:', html)
    assert all(f'id="{claim["claim"]}"' in html for claim in context["claims"])


def test_the_report_is_of_one_paper_or_of_all(tmp_path):
    page = scorecard.report(FIGURES, tmp_path / "cdo.html", "laptop", "cdo")
    assert 'id="cdo-fig4"' in page.read_text()
    assert 'id="kcef-fig1"' not in page.read_text()
    with pytest.raises(ValueError, match="kcf"):
        scorecard.report(FIGURES, tmp_path / "no.html", "laptop", "kcf")
