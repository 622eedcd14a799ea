"""Pages and parts of pages made from tracked files, so that no number of a run is typed.

Written into `docs/evidence/` and `docs/reference/` before the sources are read: for each paper why
numbers deviate, and the list of the estimators, so that a new one has its page.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kcde.names import ESTIMATORS
from kcde.papers import published

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: "Sphinx") -> dict:
    """Write the parts when a build begins."""
    # Before autosummary looks for pages that list objects.
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir)), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(docs: Path) -> None:
    """Write all parts below the folder of the site; unchanged files keep their time."""
    for paper in published.PAPERS:
        save(docs / "evidence" / f"{paper}-causes.md", causes(paper))
    save(docs / "reference" / "generated" / "estimators.md", estimators())


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
    return f"{text}." if text.startswith(published.PAPERS) else f"{text[0].upper()}{text[1:]}."


def _entries(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"**{title}**\n: {text}" for title, text in pairs)


def save(path: Path, text: str) -> None:
    """Write a page unless it is as it was, so that it is not read anew."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
