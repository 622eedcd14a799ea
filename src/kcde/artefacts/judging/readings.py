"""Claims under each reading of what their paper leaves open, tracked in `figures/readings.csv`."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging import claims
from kcde.files import atomic

NAME = "readings.csv"

COLUMNS = [
    "paper",
    "claim",
    "choice",
    "reading",
    "artefact",
    "verdict",
    "reason",
    "scale",
    "commit",
    "amended",
    "amended_reason",
    "parts",
]
"""A row a claim and reading; `artefact` is that which decides it, as `paper/name`."""

AMENDED = "amended"
"""The choice of amended tests that need more scores than the claim's own artefact shows."""

UNKNOWN_SCALE = "unknown"
"""Stands for the scale of scores that do not lie in the folder of a scale."""


def read(into: str | Path) -> pd.DataFrame:
    """Return the tracked readings.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`, empty where there are none.
    """
    path = Path(into) / NAME
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return table.reindex(columns=COLUMNS, fill_value="")


def decide(artefact: Artefact, scores: pd.DataFrame, scale: str, commit: str) -> pd.DataFrame:
    """Return what the readers of an artefact decide on these scores.

    Parameters
    ----------
    artefact
        Whose `readers` decide.
    scores
        As a `Reader` gets them.
    scale, commit
        Of the scores and of the code; `scale_of` and `kcde.artefacts.judging.checkout.commit`.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.

    Raises
    ------
    ValueError
        If a reader decides a claim that no paper makes.
    """
    papers = published.claims().set_index("claim")["paper"]
    rows = []
    for choice, reader in artefact.readers.items():
        for claim, found in reader(scores).items():
            if claim not in papers:
                raise ValueError(f"{artefact.key} reads the claim {claim!r}, which no paper makes")
            known = {"paper": papers[claim], "claim": claim, "choice": choice}
            known |= {"artefact": artefact.key, "scale": scale, "commit": commit}
            rows += [known | row for row in _rows(found)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(found: Mapping[str, Decision]) -> list[dict]:
    return [{"reading": name, **claims.cells(decision)} for name, decision in found.items()]


def write(tracked: str | Path, into: str | Path, rows: pd.DataFrame) -> Path | None:
    """Write the tracked readings with new ones, in the place of the same artefact's of a choice.

    Two jobs may draw at once, so that the caller must hold the lock of the folder.

    Parameters
    ----------
    tracked
        The folder with the readings so far.
    into
        The folder to write to.
    rows
        As `decide` returns them.

    Returns
    -------
    pathlib.Path or None
        The file, None where there are no rows.
    """
    if not len(rows):
        return None
    source, kept = ["artefact", "choice"], read(tracked)
    new = pd.MultiIndex.from_frame(rows[source])
    kept = kept[~pd.MultiIndex.from_frame(kept[source]).isin(new)]
    merged = pd.concat([kept, rows], ignore_index=True)
    order = merged.assign(
        claim=_places(merged["claim"], published.claims()["claim"]),
        choice=_places(merged["choice"], published.readings()["id"]),
    ).sort_values(["claim", "choice", "artefact"], kind="stable")
    path = Path(into) / NAME
    with atomic(path) as temporary:
        merged.loc[order.index].to_csv(temporary, index=False)
    return path


def _places(names: pd.Series, order: Iterable[str]) -> pd.Series:
    """Return the place of each name in an order, those that are not in it last."""
    place = {name: k for k, name in enumerate(order)}
    return names.map(lambda name: place.get(name, len(place)))


def scale_of(artefact: Artefact, files: Iterable[str | Path]) -> str:
    """Return the scale of score files, several joined by `+`.

    Parameters
    ----------
    artefact
        Gives the experiments.
    files
        Score CSVs, `results/<scale>/<experiment>/…`.
    """
    found = set()
    for path in map(Path, files):
        places = [k for k, part in enumerate(path.parts) if part in artefact.experiments]
        found.add(path.parts[places[-1] - 1] if places and places[-1] else UNKNOWN_SCALE)
    return "+".join(sorted(found)) or UNKNOWN_SCALE
