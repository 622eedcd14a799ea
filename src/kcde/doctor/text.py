"""A report as text for people and as JSON for programs."""

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict

from kcde.doctor.findings import HINT, OK, PROBLEM, Finding, Report

_MARKS = {OK: " ", HINT: "~", PROBLEM: "!"}
_WIDTH = 100


def render(report: Report) -> str:
    """Return a report in lines: a mark (~ hint, ! problem), a name, what was found, the remedy."""
    width = max(len(each.name) for each in [*report.found, *report.used])
    lines = ["Found"]
    lines += _lines(report.found, width)
    lines += ["", "Will be used"]
    lines += _lines(report.used, width)
    count = len(report.problems)
    verdict = "The workflow can run."
    if count:
        verdict = (
            f"The workflow cannot run with these settings: see the line{'s' * (count > 1)} marked !"
        )
    return "\n".join([*lines, "", verdict])


def as_json(report: Report) -> str:
    """Return a report as JSON: `works`, and the findings under `found` and `used`."""
    content = {
        "works": not report.problems,
        "found": [asdict(each) for each in report.found],
        "used": [asdict(each) for each in report.used],
    }
    return json.dumps(content, indent=1, default=str)


def _lines(findings: Iterable[Finding], width: int) -> list[str]:
    lines = []
    for each in findings:
        lines += _wrapped(f"{_MARKS[each.status]} {each.name:<{width}}  ", each.value)
        if each.remedy:
            lines += _wrapped(f"  {'':<{width}}  -> ", each.remedy)
    return lines


def _wrapped(start: str, text: str) -> list[str]:
    """Return lines of at most `_WIDTH` where words allow; paths and versions stay whole."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )
