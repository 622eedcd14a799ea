"""Where raw data come from: the data folder, the mirror, the original addresses."""

import os
from collections.abc import Mapping
from pathlib import Path

from kcde.datasets import catalogue
from kcde.doctor.findings import HINT, OK, Finding


def named_mirror(
    configured: str | None, environment: Mapping[str, str] = os.environ
) -> tuple[str | None, str]:
    """Return the mirror that the workflow takes, and where it is named.

    Parameters
    ----------
    configured
        `data_mirror` of the configuration, which comes before the environment.
    environment
        Where KCDE_DATA_MIRROR may stand.
    """
    if configured:
        return configured, "data_mirror in config.yaml"
    return environment.get("KCDE_DATA_MIRROR") or None, "KCDE_DATA_MIRROR"


def folder(data_dir: Path) -> Finding:
    """Return how many of the catalogue's files are in the data folder; their content is not read.

    Parameters
    ----------
    data_dir
        The raw data folder.
    """
    there, wanted = _count(data_dir)
    value = f"{data_dir}: {there} of {wanted} files of the catalogue"
    return Finding("data folder", value, facts={"files": there, "wanted": wanted})


def mirror(place: str | None, named_by: str) -> Finding:
    """Return whether the mirror can be reached and how much of the catalogue it has.

    The network is not asked, so a mirror at an address is only named.

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
        return Finding("data mirror", f"{value}: an address, not asked here", facts=facts)
    path = Path(place).expanduser()
    if not path.is_dir():
        remedy = f"name a folder that is there in {named_by}; else the original addresses serve"
        return Finding("data mirror", f"{value}: no such folder", HINT, remedy, facts)
    there, wanted = _count(path)
    facts |= {"files": there, "wanted": wanted}
    value += f": {there} of {wanted} files of the catalogue"
    remedy = f"name the folder above those of the catalogue, such as uci/, in {named_by}"
    return Finding("data mirror", value, OK if there else HINT, "" if there else remedy, facts)


def source(data_dir: Path, place: str | None) -> Finding:
    """Return in which order raw data are looked for."""
    places = [str(data_dir), *([place] if place else []), "the original addresses"]
    return Finding("data", ", then ".join(places), facts={"order": places})


def _count(root: Path) -> tuple[int, int]:
    """Return how many of the catalogue's files are there, at their size, and how many there are."""
    entries = [entry for entry in catalogue.read(None).values() if entry.sha256]
    files = {entry.file: entry.bytes for entry in entries}
    return sum(_is_there(root / file, size) for file, size in files.items()), len(files)


def _is_there(path: Path, size: int | None) -> bool:
    try:
        return path.is_file() and size in (None, path.stat().st_size)
    except OSError:
        return False
