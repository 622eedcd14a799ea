"""Copying what a scale drew into the tracked outputs, when somebody asks for it."""

import json
import shutil
from pathlib import Path

from kcde.artefacts import claims, registry
from kcde.artefacts.declaration import Artefact, Decision
from kcde.files import atomic


def publish(results: str | Path, into: str | Path) -> list[Path]:
    """Copy every regenerated artefact of a scale with the claims that it decides.

    Parameters
    ----------
    results
        Folder of a scale, `results/<scale>`.
    into
        The tracked outputs. What lies there already because the scale drew into it stays.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    ValueError
        If the scale has regenerated nothing.
    """
    paths = sorted((Path(results) / "artefacts").glob("*/*.json"))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    made = [record for record in records if record["status"] == "regenerated"]
    if not made:
        raise ValueError(f"nothing in {results} is regenerated; run that scale first")
    written = [path for record in made for path in _copy(record, Path(into))]
    return list(dict.fromkeys(written))


def _copy(record: dict, into: Path) -> list[Path]:
    artefact = registry.ARTEFACTS[f"{record['paper']}/{record['artefact']}"]
    folder = (into / artefact.place).parent
    written = []
    for source in map(Path, record["files"]):
        target = folder / source.name
        if source.resolve() == target.resolve():
            continue
        if source.name == "claims.csv":
            _copy_claims(artefact, source.parent.parent, into)
        else:
            with atomic(target) as temporary:
                shutil.copyfile(source, temporary)
        written.append(target)
    return written


def _copy_claims(artefact: Artefact, source: Path, into: Path) -> None:
    """Copy the claims that this artefact decides; those of the paper's others stay."""
    table = claims.read(source, artefact.paper)
    table = table[table["artefact"] == artefact.name]
    decisions = {row.claim: Decision(row.verdict, row.reason) for row in table.itertuples()}
    claims.update(into, artefact, decisions)
