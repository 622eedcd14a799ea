"""Decided claims, tracked in `figures/<paper>/claims.csv`."""

from pathlib import Path

import pandas as pd

from kcde.papers.artefact import Decision

NAME = "claims.csv"
COLUMNS = ["claim", "artefact", "verdict", "reason", "amended", "amended_reason", "parts"]


def read(into: Path, paper: str) -> pd.DataFrame:
    """Return the tracked decisions of a paper.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.
    paper
        Its name, e.g. `kcef`.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`, empty where nothing has been decided. Columns that an older file lacks are
        empty.
    """
    path = Path(into) / paper / NAME
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return table.reindex(columns=COLUMNS, fill_value="")


def cells(decision: Decision) -> dict[str, str]:
    """Return a decision as cells: verdict, reason, amended, amended_reason, parts.

    Parameters
    ----------
    decision
        Of a claim. The names of its parts must be without `; `, which separates them.

    Returns
    -------
    dict
        `amended` and `amended_reason` are empty where there is no amended decision.

    Raises
    ------
    ValueError
        If the name of a part contains `; `.
    """
    if wrong := [name for name in decision.parts if "; " in name]:
        raise ValueError(f"the part {wrong[0]!r} of a claim contains '; ': name it without")
    amended = decision.amended
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "amended": amended.verdict if amended else "",
        "amended_reason": amended.reason if amended else "",
        "parts": "; ".join(f"{name}: {word}" for name, word in decision.parts.items()),
    }
