"""Pages and parts of pages made from tracked files, so that no number of a run is typed.

Written into `docs/evidence/` and `docs/reference/` before the sources are read: for each paper its
line of the scorecard, its claims, what it leaves open and why numbers deviate; and the list of the
estimators, so that a new file in `estimators/` has its page.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.papers import published
from kcde.pages.markdown import pipe_table
from kcde.names import ESTIMATORS

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAPERS = ("kcef", "dde", "jdl", "cdo")


def setup(app: "Sphinx") -> dict:
    """Write the parts when a build begins."""
    # Before autosummary looks for pages that list objects.
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir)), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(docs: Path) -> None:
    """Write all parts below the folder of the site; unchanged files keep their time."""
    for paper in PAPERS:
        for name, make in PARTS.items():
            _save(docs / "evidence" / f"{paper}-{name}.md", make(paper))
    _save(docs / "reference" / "generated" / "estimators.md", estimators())


def summary(paper: str) -> str:
    """Return the line of a paper in the scorecard."""
    scorecard = (ROOT / "figures" / "scorecard.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^- \*\*{paper}\*\*: (.*)$", scorecard, re.MULTILINE)
    return f"{line[0].upper()}{line[1:]}."


def claims(paper: str) -> str:
    """Return a table of the claims, by the amended test where there is one."""
    stated = published.claims().set_index(["paper", "claim"])["statement"]
    rows = pd.read_csv(ROOT / "figures" / "scorecard.csv", dtype=str, keep_default_na=False)
    rows = rows[rows["kind"].eq("claim") & rows["paper"].eq(paper)]
    cells = [
        [
            row.metric,
            stated[paper, row.metric],
            row.amended or row.verdict,
            row.readings or "one reading",
        ]
        for row in rows.itertuples()
    ]
    return pipe_table(["claim", "the paper says", "here", "under the readings"], cells, left=4)


def left_open(paper: str) -> str:
    """Return what a paper leaves open, with the readings of it."""
    rows = published.readings()
    rows = rows[rows["paper"] == paper]
    if rows.empty:
        return "No choice of this paper is varied."
    return _entries(
        (
            f"{row['id']}: {row['choice']}",
            f"{_sentence(row['why open'])} Readings: {row['readings']}. "
            f"Drawn: {row['drawn']}. It bears on {row['affects']}.",
        )
        for row in rows.to_dict("records")
    )


def causes(paper: str) -> str:
    """Return why numbers deviate, with the evidence."""
    rows = published.causes()
    every = {"dataset": "all data sets", "method": "all methods", "verdict": "either way"}
    entries = []
    for row in rows[rows["paper"] == paper].to_dict("records"):
        said = [every[key] if row[key] == "*" else row[key] for key in every]
        title = f"{row['artefact']}, {said[0]}, {said[1]}: {said[2]}"
        entries.append((title, f"{_sentence(row['cause'])} *Evidence:* {row['evidence']}."))
    return _entries(entries)


def amended(paper: str) -> str:
    """Return which tests of claims were amended, and why."""
    rows = published.amended()
    rows = rows[rows["paper"] == paper]
    return _entries(
        (row["claim"], f"{_sentence(row['test'])} {_sentence(row['why'])}".strip())
        for row in rows.to_dict("records")
    )


def questions(paper: str) -> str:
    """Return the questions to the authors whose answers would settle what is open."""
    rows = published.questions()
    rows = rows[rows["paper"] == paper]
    if rows.empty:
        return ""
    return "\n".join(
        f"- {row.question} It would settle {row.settles}." for row in rows.itertuples()
    )


PARTS: dict[str, Callable[[str], str]] = {
    "summary": summary,
    "claims": claims,
    "open": left_open,
    "causes": causes,
    "amended": amended,
    "questions": questions,
}


def estimators() -> str:
    """Return the page that lists every estimator."""
    names = "\n".join(f"   {name}" for name in sorted(ESTIMATORS))
    return (
        "# Every estimator\n\n"
        "```{eval-rst}\n"
        ".. currentmodule:: kcde\n\n"
        ".. autosummary::\n   :toctree: classes\n   :template: estimator.rst\n\n"
        f"{names}\n```\n"
    )


def _sentence(text: str) -> str:
    if not text or text.endswith((".", "?")):
        return text
    return f"{text}." if text.startswith(PAPERS) else f"{text[0].upper()}{text[1:]}."


def _entries(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"**{title}**\n: {text}" for title, text in pairs)


def _save(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
