"""Publication: copies of the outputs of a scale in the tracked outputs."""

import shutil
from contextlib import ExitStack
from pathlib import Path

from kcde import split_scores
from kcde.artefacts.core import drawing, registry, scales
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.judging import claims, readings
from kcde.files import finished, locked, read_object, staged


def publish(results: str | Path, into: str | Path) -> list[Path]:
    """Copy every regenerated artefact of a scale, with the claims and readings that it decides.

    The scores of all splits are copied with them. `scales.csv` then names the scale of each, so
    that no run of a smaller one replaces it.

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
    scale = Path(results).name
    written = [path for record in made for path in _copy(record, Path(into), scale)]
    written += _copy_scores(Path(results) / "figures", Path(into))
    return list(dict.fromkeys(written))


def _copy(record: dict, into: Path, scale: str) -> list[Path]:
    artefact = registry.ARTEFACTS[f"{record['paper']}/{record['artefact']}"]
    sources = {_target(artefact, Path(name), into): Path(name) for name in record["files"]}
    new = {t: source for t, source in sources.items() if source.resolve() != t.resolve()}
    with ExitStack() as lock, staged(into) as stage:
        for folder in drawing.folders_to_lock(artefact, into, with_readings=True):
            lock.enter_context(locked(folder))
        known = scales.write(into, stage, {artefact.key: scale})
        for target, source in new.items():
            copy = stage / target.relative_to(into)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.name == claims.NAME:
                decisions = claims.decisions(source.parent.parent, artefact)
                claims.write(into, stage, artefact, decisions)
            elif source.name == readings.NAME:
                table = readings.read(source.parent)
                readings.write(into, stage, table[table["artefact"] == artefact.key])
            else:
                shutil.copyfile(source, copy)
    return [*new, *([into / scales.NAME] if known else [])]


def _copy_scores(drawn: Path, into: Path) -> list[Path]:
    """Copy the scores of all splits, where the scale has them in a folder of its own."""
    names = [name for name in split_scores.FILES if (drawn / name).exists()]
    with staged(into) as stage:
        for name in names:
            shutil.copyfile(drawn / name, stage / name)
    return [into / name for name in names]


def _target(artefact: Artefact, source: Path, into: Path) -> Path:
    """Return where a file of an artefact lies in the tracked outputs."""
    folder = into if source.name == readings.NAME else (into / artefact.place).parent
    return folder / source.name
