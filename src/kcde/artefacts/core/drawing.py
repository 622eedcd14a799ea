"""From scores to tracked files, and from tracked CSVs to pictures and pages."""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kcde import scores as score_files
from kcde.artefacts.core import scales
from kcde.artefacts.core.declaration import SCALES, Artefact
from kcde.artefacts.judging import checkout, claims, readings
from kcde.artefacts.plots import page
from kcde.artefacts.tables import building
from kcde.data import catalogue
from kcde.files import atomic, locked, staged

REGENERATED, NOT_REGENERATED = "regenerated", "not regenerated"

log = logging.getLogger(__name__)


def make(artefact: Artefact, files: Iterable[str | Path], into: str | Path) -> dict:
    """Make an artefact from scores: CSV, drawing, decided claims and readings.

    Where a score says `not-run` (its data could not be had), nothing is written and the tracked
    files stay as they are, except for data sets that the catalogue marks as optional: the artefact
    is made of the others. Failed fits are results and are counted. All files change together, or
    none if drawing is interrupted. Where the folder has the artefact of a larger scale, that stays,
    and this one is drawn beside its scores.

    Parameters
    ----------
    artefact
        What to make.
    files
        Score CSVs, or the table of all of them that `kcde.split_scores` writes, of which the rows
        are taken that the artefact shows.
    into
        The folder of the outputs, `figures`.

    Returns
    -------
    dict
        The record: `paper, artefact, status, reason, remedy, missing, files`. Of an artefact that
        was made, `missing` names the optional data sets that it lacks.

    Raises
    ------
    ValueError
        If the scores are not what the artefact needs.
    FileNotFoundError
        If a score file does not exist.
    """
    files = [Path(name) for name in files]
    for path in files:
        if not path.exists():
            raise FileNotFoundError(_remedy(artefact, path))
    scores = score_files.read(files)
    if packed := [path for path in files if path.suffix == ".gz"]:
        scores = _shown(artefact, scores, packed[0])
    optional = catalogue.optional(catalogue.read())
    absent = scores[(scores["status"] == "not-run") & ~scores["dataset"].isin(optional)]
    if len(absent):
        return _not_regenerated(artefact, absent)
    lacking = sorted(set(scores.loc[scores["status"] == "not-run", "dataset"]))
    try:
        scores = artefact.measure(scores, files)
        frame = artefact.build(artefact, scores, files)
    except FileNotFoundError:
        if not packed:
            raise
        raise ValueError(
            f"{artefact.key} needs the arrays of its run, which are not in {packed[0]}: make it "
            f"with `snakemake {artefact.target}`"
        ) from None
    decisions = claims.decide(artefact, scores)
    scale = readings.scale_of(artefact, files)
    if scales.is_kept(into, artefact.key, scale):
        folder = scales.beside(files, scale)
        log.info("%s has %s of a larger scale: drawn in %s", into, artefact.key, folder)
        into = folder
    read = readings.decide(artefact, scores, scale, checkout.commit())
    # The lock is taken late, so that other drawings do not wait, and kept until all is written.
    with ExitStack() as lock, staged(into) as stage:
        path = _stem(artefact, stage).with_suffix(".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(path, index=False, float_format="%.6g")
        written = [path, *_draw(artefact, path, stage, scale)]
        for folder in folders_to_lock(artefact, into, with_readings=len(read) > 0):
            lock.enter_context(locked(folder))
        written += filter(None, [claims.write(Path(into), stage, artefact, decisions)])
        written += filter(None, [readings.write(into, stage, read)])
        names = [str(Path(into) / name.relative_to(stage)) for name in written]
    return _record(artefact, REGENERATED, files=names, missing=lacking)


def _shown(artefact: Artefact, scores: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the scores that an artefact shows, of those of a whole run in a file."""
    own = pd.Series(False, index=scores.index)
    for experiment, wanted in artefact.shows.items():
        rows = scores["experiment"] == experiment
        for name, column in (("datasets", "dataset"), ("methods", "method")):
            if name in wanted:
                rows &= scores[column].isin(wanted[name])
        own |= rows & ~scores["method"].isin(wanted.get("but", ()))
    if not own.any():
        raise ValueError(f"{path} has no scores that {artefact.key} shows")
    return scores[own].reset_index(drop=True)


def folders_to_lock(artefact: Artefact, into: str | Path, *, with_readings: bool) -> list[Path]:
    """Return the folders whose files change with an artefact, each once, in the order of locking.

    Parameters
    ----------
    artefact
        What is drawn.
    into
        The folder of the outputs.
    with_readings
        Whether `readings.csv` changes, too, which all papers share.
    """
    folders = [_stem(artefact, into).parent, *([Path(into)] if with_readings else [])]
    return list(dict.fromkeys(folders))


def redraw(artefact: Artefact, into: str | Path) -> list[Path]:
    """Draw an artefact from its tracked CSV alone.

    Parameters
    ----------
    artefact
        What to draw.
    into
        The folder of the outputs, `figures`.

    Returns
    -------
    list of pathlib.Path
        The files drawn.

    Raises
    ------
    FileNotFoundError
        If the CSV is not there.
    """
    path = _stem(artefact, into).with_suffix(".csv")
    if not path.exists():
        made = scales.tracked(into, artefact.key)
        remedy = (
            f"make it with `snakemake {artefact.target}`"
            if scales.largest(made) in ("", scales.USUAL)
            else f"it is of the scale {made}, which a run at another one does not replace; take it "
            f"from the history (`git checkout {path}`), or make it with "
            f"`snakemake publish --config scale={made}`"
        )
        raise FileNotFoundError(
            f"{artefact.key} has no data at {path}: {remedy}, or with `python -m kcde draw "
            f"{artefact.key} --scores FILE...`"
        )
    with staged(into) as stage:
        drawn = _draw(artefact, path, stage, scales.tracked(into, artefact.key))
        return [Path(into) / name.relative_to(stage) for name in drawn]


def _draw(artefact: Artefact, path: Path, into: Path, scale: str) -> list[Path]:
    """Draw a CSV of a scale into a folder; return the files."""
    stem = _stem(artefact, into)
    if scales.largest(scale) == SCALES[-1]:
        artefact = replace(artefact, reduced="")
    if artefact.kind == "table":
        drawn = artefact.draw(artefact, building.read(path), stem)
    else:
        frame = pd.read_csv(path)
        drawn = [*artefact.draw(artefact, frame, stem), *page.write(artefact, frame, stem)]
    for each in drawn:
        if each.suffix == ".md":
            scales.sign(each, scale)
    return drawn


def redraw_all(artefacts: Iterable[Artefact], into: str | Path) -> Iterator[Path]:
    """Draw every artefact whose tracked CSV is there, then name those whose CSV is not.

    Parameters
    ----------
    artefacts
        What to draw.
    into
        The folder of the outputs.

    Yields
    ------
    pathlib.Path
        Each file as soon as it is drawn.

    Raises
    ------
    FileNotFoundError
        If a CSV is not there, after all others have been drawn.
    """
    missing = []
    for artefact in artefacts:
        try:
            yield from redraw(artefact, into)
        except FileNotFoundError as error:
            missing.append(str(error))
    if missing:
        raise FileNotFoundError("; ".join(missing))


def write_record(record: dict, path: str | Path) -> None:
    """Write the record of `make`, `results/<scale>/artefacts/<paper>/<artefact>.json`."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _remedy(artefact: Artefact, path: Path) -> str:
    # Scores lie in a folder named as their experiment.
    named = [name for name in artefact.experiments if name in path.parts]
    experiment = [*named, *artefact.experiments][0].replace("_", "-")
    return f"no scores at {path}: make them with `python -m kcde run {experiment} --out {path}`"


def _not_regenerated(artefact: Artefact, absent: pd.DataFrame) -> dict:
    missing = sorted(set(absent["dataset"]), key=str.lower)
    first = absent.loc[absent["dataset"] == missing[0], "detail"].iloc[0]
    others = f" (the other {len(missing) - 1} likewise)" if len(missing) > 1 else ""
    return _record(
        artefact,
        NOT_REGENERATED,
        reason=f"no scores for {', '.join(missing)}: {first or 'not run'}{others}",
        remedy=(
            "name a folder or URL that holds the raw files in KCDE_DATA_MIRROR, or connect to the "
            "network, and run again; `python -m kcde fetch NAME` says which addresses were tried"
        ),
        missing=missing,
    )


def _record(artefact: Artefact, status: str, **rest) -> dict:
    empty = {"reason": "", "remedy": "", "missing": [], "files": []}
    return {
        "paper": artefact.paper,
        "artefact": artefact.name,
        "status": status,
        **empty,
        **rest,
    }


def _stem(artefact: Artefact, into: str | Path) -> Path:
    return Path(into) / artefact.place
