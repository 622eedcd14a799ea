"""The report and the scores of all splits as Snakemake plans them."""

import pytest
from plans import LISTING, Plan

from kcde.report import papers
from lib import paths

pytestmark = pytest.mark.workflow

LONGEST = 2**17
"""Bytes of one argument on Linux: a whole command is one argument of the shell."""


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_all_scores_fit_into_one_command(config, scale):
    shown = paths.all_scores(config, scale)
    assert len(shown) > 500
    assert len(" ".join(shown)) < 0.8 * LONGEST


@pytest.mark.slow
def test_the_report_needs_no_fit_and_is_made_again_when_a_picture_is_new(project, snakemake):
    plan = Plan.of(snakemake("report", *LISTING))
    names = ["report", *(f"report/{name}" for name in (*papers.papers(), "across"))]
    assert plan.outputs == sorted(f"results/laptop/{name}.html" for name in names)
    page = plan.making("results/laptop/report.html")
    assert "figures/kcef/table1.md" in page.inputs
    assert "src/kcde/report/page.html.j2" in page.inputs
    assert "src/kcde/published/claims.csv" in page.inputs
