"""Of which scale tracked artefacts are, in `figures/scales.csv`: those of another than laptop."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import SCALES
from kcde.files import atomic

NAME = "scales.csv"
USUAL = "laptop"
"""Of artefacts that the file does not name."""

_COLUMNS = ["artefact", "scale"]


def read(into: str | Path) -> dict[str, str]:
    """Return the scales of the artefacts in a folder, by `paper/name`, that are not of laptop.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.
    """
    path = Path(into) / NAME
    if not path.exists():
        return {}
    table = pd.read_csv(path)
    return dict(zip(table["artefact"], table["scale"], strict=True))


def tracked(into: str | Path, artefact: str) -> str:
    """Return the scale of an artefact in a folder, "" where the folder does not say.

    Parameters
    ----------
    into
        The folder of the outputs.
    artefact
        As `paper/name`.
    """
    known = read(into)
    return known.get(artefact, USUAL if known else "")


def write(tracked: str | Path, into: str | Path, drawn: Mapping[str, str]) -> Path | None:
    """Write the scales so far with those of artefacts drawn now.

    Two jobs may draw at once, so that the caller must hold the lock of the folder.

    Parameters
    ----------
    tracked
        The folder with the scales so far.
    into
        The folder to write to.
    drawn
        Scales by `paper/name`.

    Returns
    -------
    pathlib.Path or None
        The file, None where nothing changes.
    """
    before = read(tracked)
    merged = {key: scale for key, scale in (before | drawn).items() if scale != USUAL}
    if merged == before:
        return None
    path = Path(into) / NAME
    with atomic(path) as temporary:
        pd.DataFrame(sorted(merged.items()), columns=_COLUMNS).to_csv(temporary, index=False)
    return path


def is_kept(into: str | Path, artefact: str, scale: str) -> bool:
    """Return whether a folder has an artefact of a larger scale than one that is drawn now.

    Parameters
    ----------
    into
        The folder of the outputs.
    artefact
        As `paper/name`.
    scale
        Of the scores; one that is unknown replaces nothing.
    """
    kept, here = read(into).get(artefact), largest(scale)
    return kept is not None and (not here or SCALES.index(here) < SCALES.index(kept))


def largest(scale: str) -> str:
    """Return the largest of scales joined by `+`, "" where none is known."""
    parts = scale.split("+")
    return next((known for known in reversed(SCALES) if known in parts), "")


def beside(files: Sequence[Path], scale: str) -> Path:
    """Return where artefacts of scores of a scale are drawn that go into no other folder.

    Parameters
    ----------
    files
        Score CSVs, `results/<scale>/<experiment>/…`.
    scale
        As `kcde.artefacts.judging.readings.scale_of` returns it.

    Raises
    ------
    ValueError
        If the files are not in the folder of one scale.
    """
    parts = scale.split("+")
    folders = [path for path in files[0].parents if path.name in parts]
    if not folders:
        raise ValueError(
            f"{files[0]} is of no known scale, and the tracked artefact is of a larger one: give "
            "another folder to --into"
        )
    return folders[0] / "figures"


def sign(page: Path, scale: str) -> None:
    """Say below the title of a page of which scale it is, unless that is unknown."""
    if known := largest(scale):
        title, rest = page.read_text(encoding="utf-8").split("\n", 1)
        page.write_text(f"{title}\n\n*At the scale `{known}`.*\n{rest}", encoding="utf-8")
