"""Small notes in the raw data folder: JSON objects that several processes add to.

Nothing depends on them but the time that something takes and what a listing says. So a note that is
damaged counts as empty, and a folder that cannot be written is no error.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kcde.files import atomic, locked, read_object


def read(path: str | Path) -> dict:
    """Return the notes; an empty object if the file is missing or damaged."""
    return read_object(path) or {}


def add(path: str | Path, entries: Mapping) -> None:
    """Add to what is noted; the folder is locked meanwhile."""
    path = Path(path)
    with suppress(OSError), locked(path.parent):
        noted = read(path) | dict(entries)
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
