"""The data sets as a table: `python -m kcde fetch --list`."""

from collections.abc import Sequence
from pathlib import Path

from kcde.data import bundled as copies
from kcde.data import catalogue as tables
from kcde.data import notes
from kcde.data.catalogue import Entry
from kcde.data.fetch import SOURCES, check_sha256


def overview(data_dir: str | Path, catalogue: str | Path | None = None) -> str:
    """Return a table of the data sets.

    Parameters
    ----------
    data_dir
        The raw data folder; checksums of what is in it are checked.
    catalogue
        A catalogue CSV; the built-in one when None.

    Returns
    -------
    str
        Name and aliases, papers, rows, columns, short licence, whether a copy comes with the
        repository, and what is on disk, with its origin if that was recorded. Below it a
        pointer to the full licences, or why there are no bundled copies.
    """
    root = copies.folder()
    origins = notes.read(Path(data_dir) / SOURCES)
    entries = tables.read(catalogue).values()
    body = [
        (
            entry.all_names,
            " ".join(entry.papers) or "-",
            "-" if entry.rows is None else str(entry.rows),
            "-" if entry.columns is None else str(entry.columns),
            entry.licence.partition(";")[0].strip() or "-",
            "yes" if copies.is_there(entry, root) else "no",
            _state(entry, Path(data_dir) / entry.file, origins.get(entry.file)),
        )
        for entry in entries
    ]
    head = ("name", "papers", "rows", "columns", "licence", "bundled", "on disk")
    lines = [aligned([head, *body])]
    if any(entry.bundled for entry in entries):
        lines += ["", _about(root)]
    return "\n".join(lines)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as lines in which columns begin at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _about(root: Path | None) -> str:
    """Return where the full licences are, or why there are no bundled copies."""
    if root is None:
        return f"{copies.NO_REPOSITORY}; {copies.REMEDY}, or set KCDE_DATA_MIRROR"
    return f"bundled copies, licences, sources, whom to cite: {root / 'README.md'}"


def _state(entry: Entry, path: Path, origin: str | None) -> str:
    if not entry.sha256:
        return "no lasting checksum"
    if not path.is_file():
        return "missing"
    try:
        check_sha256(path, entry.sha256)
    except ValueError:
        return "wrong checksum"
    return f"present ({origin})" if origin else "present"
