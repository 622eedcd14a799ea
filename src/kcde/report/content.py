"""What stands on the page, as the template takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kcde.evidence import readings, scorecard
from kcde.names import nearest
from kcde.papers.artefact import ACROSS
from kcde.report import papers


@dataclass(frozen=True)
class Tracked:
    """The tracked outputs.

    Attributes
    ----------
    figures
        Their folder.
    card
        The scorecard.
    read
        What every reading gave.
    counts
        Of the scorecard, by paper.
    papers
        Those that the page shows, `across` last.
    """

    figures: Path
    card: pd.DataFrame
    read: pd.DataFrame
    counts: Mapping[str, Mapping]
    papers: list[str]

    def path(self, key: str, suffix: str) -> Path:
        """Return where a file of the artefact `paper/name` lies."""
        return self.figures / f"{key}.{suffix}"


def content(figures: Path, paper: str | None = None) -> dict:
    """Return the values of the template.

    Parameters
    ----------
    figures, paper
        As of `kcde.report.write`.
    """
    # Heavy imports wait until it is known that the paper and the scorecard exist.
    tracked = read(figures, paper)
    from kcde.report import cards, drawn, findings, provenance

    sections = [
        {
            "name": name,
            "about": papers.papers().get(name),
            "sentences": papers.sentences(tracked.counts[name]) if name in tracked.counts else [],
            "picture": drawn.lead(tracked, name),
            "claims": findings.claims(tracked, name),
            "choices": findings.choices(name),
            "questions": findings.questions(name),
            "artefacts": drawn.artefacts(tracked, name),
        }
        for name in tracked.papers
    ]
    rows = findings.scorecard_rows(tracked)
    return {
        "only": paper,
        "sections": sections,
        "key": findings.key(),
        "scorecard": rows,
        "options": findings.options(rows),
        "anchors": {each["anchor"] for section in sections for each in section["artefacts"]},
        "absent": drawn.absent(tracked),
        "cards": cards.cards(tracked) if paper is None else [],
        "provenance": provenance.provenance(tracked),
    }


def read(figures: Path, paper: str | None = None) -> Tracked:
    """Return the tracked outputs, of one paper or of all.

    Parameters
    ----------
    figures, paper
        As of `kcde.report.write`.
    """
    known = [*papers.papers(), ACROSS]
    if paper is not None and paper not in known:
        hint = f"{nearest(paper, known)}; known: {', '.join(known)}"
        raise ValueError(f"there is no paper {paper!r}{hint}")
    card, read = scorecard.read(figures), readings.read(figures)
    counts = scorecard.totals(card, read)
    return Tracked(figures, card, read, counts, known if paper is None else [paper])
