"""What the report says of each paper: a line by hand, in `papers.csv`, and the counts.

This module imports no numerics, because the workflow takes the captions from it.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kcde.papers.artefact import ACROSS

_TABLE = Path(__file__).with_name("papers.csv")
_NUMBERS = {
    "reproduced": "reproduced",
    "better": "better here",
    "worse": "worse",
    "different": "on the other side of 5%",
    "undecided": "undecided",
    "failed": "with too many failed fits",
    "published-na": "printed as N/A",
    "not regenerated": "not regenerated",
    "not-run": "not run",
}
_CLAIMS = {"holds": ("holds", "hold"), "fails": ("fails", "fail")}
_BESIDE = {"undecided": "undecided", "not-run": "not run"}
_UNDER = {"every": "hold under every reading", "some": "under some", "none": "under none"}


class Paper(NamedTuple):
    """A paper: its name here, what to cite, what it proposes, and the artefact that shows most."""

    name: str
    citation: str
    proposes: str
    picture: str


@cache
def papers() -> dict[str, Paper]:
    """Return the papers by name, in the order of the report."""
    with _TABLE.open(newline="", encoding="utf-8") as lines:
        return {row["paper"]: Paper(*row.values()) for row in csv.DictReader(lines)}


def about(paper: str) -> str:
    """Return a caption: what to cite and what the paper proposes."""
    if paper == ACROSS:
        return "All methods as conditional densities on the same data, which no paper compares."
    known = papers()[paper]
    return f"{known.citation}. {known.proposes}"


def sentences(counts: Mapping[str, Counter]) -> list[str]:
    """Return what became of a paper's numbers and claims, a sentence each.

    Parameters
    ----------
    counts
        Of one paper, as `kcde.evidence.scorecard.totals` returns them.
    """
    return [_of_numbers(counts["number"], counts["compatible"]), _of_claims(counts)]


def _of_numbers(numbers: Counter, compatible: Counter) -> str:
    total = sum(numbers.values())
    if not total:
        return "It prints no numbers, only pictures, so that claims alone are judged."
    parts = [f"{numbers[word]} {said}" for word, said in _NUMBERS.items() if numbers[word]]
    text = f"Of its {total} published numbers {_joined(parts, ' are')}"
    if informative := compatible["yes"] + compatible["no"]:
        be = "is" if compatible["yes"] == 1 else "are"
        text += (
            f"; of the {informative} where the spread over splits is small enough to tell, "
            f"{compatible['yes']} {be} compatible with ours"
        )
    return f"{text}."


def _of_claims(counts: Mapping[str, Counter]) -> str:
    claims, read = counts["claim"], counts["reading"]
    parts = [f"{claims[word]} {says[claims[word] != 1]}" for word, says in _CLAIMS.items()]
    for word, said in _BESIDE.items():
        if claims[word]:
            parts.append(f"{claims[word]} {'is' if claims[word] == 1 else 'are'} {said}")
    text = f"Of its {sum(claims.values())} claims {_joined(parts)}"
    if total := sum(read.values()):
        parts = [f"{read[word]} {said}" for word, said in _UNDER.items()]
        text += f"; of the {total} tested under several readings of what it leaves open, "
        text += _joined(parts)
    return f"{text}."


def _joined(parts: Iterable[str], verb: str = "") -> str:
    """Return a list in words; the verb follows the first number."""
    first, *rest = parts
    number, _, words = first.partition(" ")
    said = [f"{number}{' is' if verb and number == '1' else verb} {words}", *rest]
    return f"{', '.join(said[:-1])} and {said[-1]}" if rest else said[0]
