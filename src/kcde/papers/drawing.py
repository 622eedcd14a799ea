"""From scores to drawn files, and from drawn CSVs to pictures and pages."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed

from kcde import scores as score_files
from kcde.evidence import readings
from kcde.experiments.base import LAPTOP, PAPER, SCALES
from kcde.files import atomic, staged
from kcde.pages import page
from kcde.papers.artefact import Artefact

AT_PAPER_SCALE = "at-paper-scale"
"""The folder in the tracked outputs that has those of the scale paper, without pages."""


def make(
    artefact: Artefact,
    files: Iterable[str | Path],
    into: str | Path,
    scale: str | None = None,
    judged: str | Path | None = None,
) -> list[Path]:
    """Make an artefact from scores: its CSV, picture and page, and what it decides.

    `files` are score CSVs, or the table of all of them (`kcde.evidence.tracked`), of which the rows
    are taken that the artefact shows. The page says the `scale`, by default that of the scores;
    what it decides is written where `judged` says. Failed fits are results and are counted.
    All files change together, or none if drawing is interrupted.
    """
    files = [Path(name) for name in files]
    if lacking := next((path for path in files if not path.exists()), None):
        raise FileNotFoundError(f"no scores at {lacking}: make them with `snakemake {lacking}`")
    scores = score_files.read(files)
    if packed := [path for path in files if path.suffix == ".gz"]:
        scores = shown(artefact, scores, packed[0])
    try:
        scores = artefact.measure(scores, files)
        frame = artefact.build(artefact, scores, files)
    except FileNotFoundError:
        if not packed:
            raise
        lacking = f"{artefact.key} needs the arrays of its run, which are not in {packed[0]}"
        raise ValueError(f"{lacking}: make it with `snakemake {artefact.target}`") from None
    scale = scale or readings.scale_of(files)
    rows = readings.judge(artefact, scores, scale) if judged else None
    with staged(into) as stage:
        path = (stage / artefact.key).with_suffix(".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(path, index=False, float_format="%.6g")
        drawn = [path, *_draw(artefact, path, stage, scale)]
        written = [Path(into) / name.relative_to(stage) for name in drawn]
    if judged:
        with atomic(judged) as temporary:
            rows.to_csv(temporary, index=False)
        written.append(Path(judged))
    return written


def shown(artefact: Artefact, scores: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the scores that an artefact shows, of those of a whole run in a file."""
    own = pd.Series(False, index=scores.index)
    # Rows of `similarity` have the hypothesis in place of the method.
    methods = scores["method"].str.replace(r"^H0: (\S+) closer than .*", r"\1", regex=True)
    for shown, wanted in artefact.shows.items():
        rows = scores["experiment"].eq(shown) & ~methods.isin(wanted.get("but", ()))
        rows &= scores["dataset"].isin(wanted.get("datasets", scores["dataset"]))
        own |= rows & methods.isin(wanted.get("methods", methods))
    if not own.any():
        raise ValueError(f"{path} has no scores that {artefact.key} shows")
    return scores[own].reset_index(drop=True)


def redraw(artefact: Artefact, into: str | Path) -> list[Path]:
    """Draw an artefact from its CSV alone, and return the files drawn."""
    path = (Path(into) / artefact.key).with_suffix(".csv")
    if not path.exists():
        lacking = f"{artefact.key} has no data at {path}"
        raise FileNotFoundError(f"{lacking}: make it with `snakemake {artefact.target}`")
    with staged(into) as stage:
        (stage / artefact.paper).mkdir()
        try:
            drawn = _draw(artefact, path, stage, _scale_of(Path(into)))
        except Exception as error:  # whatever a CSV that anyone may have edited leads to
            if str(path) in str(error):
                raise
            said = f"{path} cannot be drawn ({error!r}): {artefact.remedy(path)}"
            raise ValueError(said) from error
        if Path(into).name == AT_PAPER_SCALE:
            (stage / f"{artefact.key}.md").unlink()
        return [Path(into) / name.relative_to(stage) for name in drawn if name.exists()]


def redraw_all(artefacts: Iterable[Artefact], into: str | Path) -> Iterator[Path]:
    """Draw every artefact whose CSV is in a folder of outputs, and yield each file in order."""
    there = [each for each in artefacts if (Path(into) / f"{each.key}.csv").exists()]
    if not there:
        raise FileNotFoundError(f"{into} has no CSV of an artefact that was asked for")
    # Threads cannot draw: matplotlib's styles are global.
    workers = Parallel(n_jobs=-1 if len(there) > 1 else 1, return_as="generator")
    for drawn in workers(delayed(redraw)(artefact, into) for artefact in there):
        yield from drawn


def _scale_of(into: Path) -> str:
    """Return the scale of a folder of outputs, by its place."""
    if into.name == AT_PAPER_SCALE:
        return PAPER
    above = into.resolve().parent.name
    return above if above in SCALES else LAPTOP


def _draw(artefact: Artefact, path: Path, into: Path, scale: str) -> list[Path]:
    """Draw a CSV of a scale into a folder; return the files."""
    stem = into / artefact.key
    frame = artefact.read(path)
    artefact.draw(artefact, frame, stem)
    of_kind = page.of_table if artefact.kind == "table" else page.of_figure
    title, *parts = (artefact.page or of_kind)(artefact, frame)
    parts = [title, f"*At the scale `{scale}`.*", *parts, _command(artefact, scale)]
    stem.with_suffix(".md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [stem.with_suffix(suffix) for suffix in (".png", ".pdf", ".md")]


def _command(artefact: Artefact, scale: str) -> str:
    """Return how to draw the artefact again, also with other sizes."""
    there, name = f"results/{scale}/{artefact.target}", next(iter(artefact.shows))
    again = artefact.target if scale == LAPTOP else there
    said = f"Drawn by `snakemake {again}`. Other sizes: `kcde run {name}` lists them for "
    return f"{said}`snakemake {there} --config 'set={{{name}: {{SIZE: NUMBER}}}}'`."
