"""What Snakemake remembers of the jobs of a folder, in its files below `.snakemake`.

Without these records it would not notice on another machine that code or parameters have changed,
nor that an input which looks newer is the same. They are read and written here as files, so that
carrying results needs no Snakemake; a test compares their names with Snakemake's own.
"""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path

STATE = Path(".snakemake")


def require_stopped(project: Path) -> None:
    """Refuse a folder in which Snakemake runs, or was killed.

    Parameters
    ----------
    project
        Where Snakemake is started.

    Raises
    ------
    ValueError
        If there is a lock.
    """
    if any((project / STATE / "locks").glob("*.lock")):
        raise ValueError(
            f"{project.resolve()} is locked: Snakemake runs there; end it first. If none runs any "
            "more, one was killed: `snakemake --unlock` removes the lock"
        )


def unfinished(project: Path) -> set[str]:
    """Return the outputs of jobs that were begun and not finished, as paths from the project."""
    return set(_named(project / STATE / "incomplete"))


def finished(project: Path) -> dict[str, dict]:
    """Return the records of finished outputs by path; damaged ones count as none."""
    found = {}
    for name, path in _named(project / STATE / "metadata").items():
        try:
            found[name] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return found


def place(output: str, longest: int = 255) -> Path:
    """Return where the record of an output lies, from the project.

    Snakemake names it by the output in base 64, cut into folders where a name would be too long.

    Parameters
    ----------
    output
        Its path from the project.
    longest
        The most characters that the file system takes in a name.
    """
    name = urlsafe_b64encode(output.encode()).decode()
    parts = [name[i : i + longest - 1] for i in range(0, len(name), longest - 1)]
    return STATE.joinpath("metadata", *(f"@{part}" for part in parts[:-1]), parts[-1])


def _named(folder: Path) -> dict[str, Path]:
    """Return the files of Snakemake's below a folder, by the output that each is about."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = "".join(path.relative_to(folder).parts).replace("@", "")
        try:
            found[urlsafe_b64decode(name).decode()] = path
        except ValueError:  # another program's
            continue
    return found


def longest_name(project: Path) -> int:
    """Return the most characters that the file system of a folder takes in a name."""
    return os.pathconf(project, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
