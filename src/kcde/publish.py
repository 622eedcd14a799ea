"""Publication: copies of the outputs of a scale in the tracked outputs."""

import shutil
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from kcde import split_scores
from kcde.artefacts.core import drawing, registry, scales
from kcde.artefacts.core.declaration import SCALES, Artefact
from kcde.artefacts.judging import claims, readings
from kcde.files import finished, locked, read_object, staged

MADE_UP = "smoke"
"""The scale whose outputs say nothing of the papers."""


def publish(
    results: str | Path, into: str | Path, papers: Collection[str] | None = None
) -> list[Path]:
    """Copy every regenerated artefact of a scale, with the claims and readings that it decides.

    The scores of all splits are copied with those of all papers, unless the tracked ones are of
    experiments that these lack. `scales.csv` then names the scale of each, so that no run of a
    smaller one replaces it; `laptop` in place of a larger one is published as any other.

    The files of an artefact change together: if one cannot be written, all stay unchanged.

    Parameters
    ----------
    results
        Folder of a scale, `results/<scale>`.
    into
        Folder of the tracked outputs. Files that the scale itself drew there stay.
    papers
        Whose artefacts are copied, `across` for those of all methods; None: all.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    ValueError
        If the folder is of no scale or of made-up data, it has regenerated nothing, or a record is
        damaged or of an artefact that does not exist.
    """
    scale = Path(results).name
    if scale not in SCALES or scale == MADE_UP:
        known = " or ".join(f"results/{name}" for name in SCALES if name != MADE_UP)
        raise ValueError(f"{results} cannot be published: give the folder of a scale, {known}")
    paths = finished(Path(results) / "artefacts", "*/*.json")
    records = [read_object(path) for path in paths]
    if damaged := [f"{path}" for path, said in zip(paths, records, strict=True) if said is None]:
        raise ValueError(f"damaged records: {', '.join(damaged)}; run that scale again")
    made = {
        f"{record['paper']}/{record['artefact']}": record
        for record in records
        if record["status"] == "regenerated" and (papers is None or record["paper"] in papers)
    }
    if gone := sorted(set(made) - set(registry.ARTEFACTS)):
        raise ValueError(
            f"{results}/artefacts has {', '.join(gone)}, which no longer exist: delete them there"
        )
    if not made:
        raise ValueError(f"nothing in {results} is regenerated; run that scale first")
    written = [path for record in made.values() for path in _copy(record, Path(into), scale)]
    if papers is None or {each.paper for each in registry.ARTEFACTS.values()} <= set(papers):
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
    """Copy the scores of all splits, where the scale has them in a folder of its own.

    Those of fewer experiments, as of one paper, are no replacement.
    """
    new, tracked = (split_scores.about(folder) or {} for folder in (drawn, into))
    if not set(tracked.get("experiments", ())) <= set(new.get("experiments", ())):
        return []
    names = [name for name in split_scores.FILES if (drawn / name).exists()]
    with staged(into) as stage:
        for name in names:
            shutil.copyfile(drawn / name, stage / name)
    return [into / name for name in names]


def _target(artefact: Artefact, source: Path, into: Path) -> Path:
    """Return where a file of an artefact lies in the tracked outputs."""
    folder = into if source.name == readings.NAME else (into / artefact.place).parent
    return folder / source.name
