"""Publication: copies of the outputs of a scale in the tracked outputs."""

import shutil
from contextlib import ExitStack
from pathlib import Path

from kcde.artefacts.core import registry
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging import claims
from kcde.files import finished, locked, read_object, staged


def publish(results: str | Path, into: str | Path) -> list[Path]:
    """Copy every regenerated artefact of a scale, with the claims that it decides.

    The files of an artefact change together: if one cannot be written, all stay unchanged.

    Parameters
    ----------
    results
        Folder of a scale, `results/<scale>`.
    into
        Folder of the tracked outputs. Files that the scale itself drew there stay.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    ValueError
        If the scale has regenerated nothing, or a record is damaged.
    """
    paths = finished(Path(results) / "artefacts", "*/*.json")
    records = [read_object(path) for path in paths]
    if damaged := [f"{path}" for path, said in zip(paths, records, strict=True) if said is None]:
        raise ValueError(f"damaged records: {', '.join(damaged)}; run that scale again")
    made = [record for record in records if record["status"] == "regenerated"]
    if not made:
        raise ValueError(f"nothing in {results} is regenerated; run that scale first")
    written = [path for record in made for path in _copy(record, Path(into))]
    return list(dict.fromkeys(written))


def _copy(record: dict, into: Path) -> list[Path]:
    artefact = registry.ARTEFACTS[f"{record['paper']}/{record['artefact']}"]
    folder = (into / artefact.place).parent
    sources = {folder / Path(name).name: Path(name) for name in record["files"]}
    new = {t: source for t, source in sources.items() if source.resolve() != t.resolve()}
    with ExitStack() as lock, staged(into) as stage:
        lock.enter_context(locked(folder))
        for target, source in new.items():
            if source.name == "claims.csv":
                decisions = _decisions(artefact, source.parent.parent)
                claims.write(into, stage, artefact, decisions)
            else:
                copy = stage / target.relative_to(into)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
    return list(new)


def _decisions(artefact: Artefact, source: Path) -> dict[str, Decision]:
    """Return the decisions of this artefact, from the claims of its paper in a folder."""
    table = claims.read(source, artefact.paper)
    table = table[table["artefact"] == artefact.name]
    return {row.claim: Decision(row.verdict, row.reason) for row in table.itertuples()}
