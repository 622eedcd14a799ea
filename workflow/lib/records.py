"""Records of files that are no outputs of Snakemake's: raw data, drawn tables and figures."""

import csv
import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from kcde.files import read_object

_ATTEMPT = f"{time.time_ns()}"
"""A word that identifies this run."""


def attempt(record: str, is_there: Callable[[Mapping], bool]) -> str:
    """Return a word that changes with each run until the files of a record exist.

    Snakemake compares params with those of the last run, so a changed word makes the job run again.
    The word of the run that succeeded is kept beside the record. A damaged record names no files.

    Parameters
    ----------
    record
        A JSON file.
    is_there
        Returns whether the files of a record exist: `is_available` or `is_drawn`.
    """
    said, kept = read_object(record), Path(record).with_suffix(".attempt")
    if said is None or not kept.is_file() or not is_there(said):
        return _ATTEMPT
    return kept.read_text(encoding="utf-8").strip()


def is_available(said: Mapping) -> bool:
    """Return whether raw data are where their record says."""
    return said["status"] == "available" and Path(said["path"]).exists()


def is_drawn(said: Mapping) -> bool:
    """Return whether no file of an artefact has been deleted since its record was written."""
    return all(Path(name).exists() for name in said["files"])


def readings(path: str, artefacts: Collection[str]) -> str:
    """Return a digest of the tracked readings that some artefacts decide, "" where there are none.

    Parameters
    ----------
    path
        `figures/readings.csv`.
    artefacts
        As `paper/name`.
    """
    if not Path(path).is_file():
        return ""
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["artefact"] in artefacts]
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:12] if rows else ""
