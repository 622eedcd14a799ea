"""The sources of raw data: the data folder, the mirror, the web, the bundled copies."""

import os
from collections.abc import Mapping
from pathlib import Path

from kcde.data import bundled as copies
from kcde.data import catalogue
from kcde.data.catalogue import Entry
from kcde.doctor.findings import HINT, OK, Finding

_NAMED = 3
"""Up to so many missing data sets are named."""


def named_mirror(
    configured: str | None, environment: Mapping[str, str] = os.environ
) -> tuple[str | None, str]:
    """Return the mirror that the workflow uses, and where it is named.

    Parameters
    ----------
    configured
        `data_mirror` of the configuration, which takes precedence over the environment.
    environment
        Environment variables, among which KCDE_DATA_MIRROR may be.
    """
    if configured:
        return configured, "data_mirror in config.yaml"
    return environment.get("KCDE_DATA_MIRROR") or None, "KCDE_DATA_MIRROR"


def folder(data_dir: Path) -> Finding:
    """Return how many files of the catalogue are in the data folder; their content is not read.

    Parameters
    ----------
    data_dir
        The raw data folder.
    """
    there, wanted = _count(data_dir)
    value = f"{data_dir}: {there} of {wanted} files of the catalogue"
    return Finding("data folder", value, facts={"files": there, "wanted": wanted})


def mirror(place: str | None, named_by: str) -> Finding:
    """Return whether the mirror exists and how many files of the catalogue it has.

    The network is not used, so a mirror at an address is only named.

    Parameters
    ----------
    place, named_by
        As `named_mirror` returns them.
    """
    facts = {"mirror": place}
    if place is None:
        return Finding("data mirror", "none named", facts=facts)
    value = f"{place} ({named_by})"
    if place.startswith(("https://", "http://")):
        return Finding("data mirror", f"{value}: an address, not checked here", facts=facts)
    path = Path(place).expanduser()
    if not path.is_dir():
        remedy = (
            f"name an existing folder in {named_by}; without one the original addresses are used"
        )
        return Finding("data mirror", f"{value}: no such folder", HINT, remedy, facts)
    there, wanted = _count(path)
    facts |= {"files": there, "wanted": wanted}
    value += f": {there} of {wanted} files of the catalogue"
    remedy = f"name the folder above those of the catalogue, such as uci/, in {named_by}"
    return Finding("data mirror", value, OK if there else HINT, "" if there else remedy, facts)


def bundled(data_dir: Path, root: Path | None) -> Finding:
    """Return how many of the files missing in the data folder are bundled, and which are not.

    Parameters
    ----------
    data_dir
        The raw data folder.
    root
        The folder of the bundled copies; None where kcde is installed without its repository.
    """
    absent = [each for each in _wanted() if not _is_there(data_dir / each.file, each.bytes)]
    lacking = [each.name for each in absent if not copies.is_there(each, root)]
    count = len(absent) - len(lacking)
    facts = {"bundled": count, "to_download": lacking}
    named = f" ({', '.join(lacking)})" if 0 < len(lacking) <= _NAMED else ""
    value = f"{count} of the {len(absent)} others, {len(lacking)} to be downloaded{named}"
    if root is None:
        remedy = f"{copies.REMEDY}, or set KCDE_DATA_MIRROR; with a network neither is needed"
        return Finding("bundled data", f"{copies.NO_REPOSITORY}; {value}", HINT, remedy, facts)
    return Finding("bundled data", value, facts=facts)


def source(data_dir: Path, place: str | None, root: Path | None) -> Finding:
    """Return the order in which raw data are looked for."""
    places = [str(data_dir), *([place] if place else []), "the original addresses"]
    places += ["the bundled copies"] * (root is not None)
    return Finding("data", ", then ".join(places), facts={"order": places})


def _wanted() -> list[Entry]:
    """Return the entries of files with a checksum: only those are used."""
    return [entry for entry in catalogue.read(None).values() if entry.sha256]


def _count(root: Path) -> tuple[int, int]:
    """Return how many files of the catalogue are in a folder, with their size, and of how many."""
    entries = _wanted()
    return sum(_is_there(root / each.file, each.bytes) for each in entries), len(entries)


def _is_there(path: Path, size: int | None) -> bool:
    try:
        return path.is_file() and size in (None, path.stat().st_size)
    except OSError:
        return False
