"""The page of a figure: picture, caption and details."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.tables.markdown import details
from kcde.files import atomic


def write(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write `<stem>.md`: title, picture, caption, and the details below.

    Parameters
    ----------
    artefact
        Gives title, caption, details and remarks.
    frame
        As tracked.
    stem
        Path without suffix; the picture is `<stem>.png`.

    Returns
    -------
    list of pathlib.Path
        The file written.
    """
    parts = [
        f"# {artefact.key}: {artefact.title}",
        f"![{artefact.title}]({stem.name}.png)",
        artefact.caption,
        *details(artefact, artefact.remarks(frame), frame["method"].dropna()),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [path]
