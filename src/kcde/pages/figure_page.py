"""The page of a figure: picture, caption and details."""

from pathlib import Path

import pandas as pd

from kcde.files import atomic
from kcde.pages.markdown import details
from kcde.papers.artefact import Artefact


def write(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page of a figure: title, picture (`<stem>.png`), caption, what is below, details."""
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        artefact.text.caption,
        *artefact.below(frame),
        *details(artefact, artefact.remarks(frame)),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [path]
