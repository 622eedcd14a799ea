"""Decided claims, tracked in `figures/<paper>/claims.csv`."""

from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.files import atomic

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


def decisions(into: Path, artefact: Artefact) -> dict[str, Decision]:
    """Return the tracked decisions of an artefact's claims.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.
    artefact
        That made the decisions.

    Returns
    -------
    dict
        Claim to decision.
    """
    table = read(into, artefact.paper)
    return {
        row.claim: _decision(row) for row in table[table["artefact"] == artefact.name].itertuples()
    }


def _decision(row) -> Decision:
    amended = Decision(row.amended, row.amended_reason) if row.amended else None
    pairs = (part.rpartition(": ") for part in row.parts.split("; ") if part)
    return Decision(row.verdict, row.reason, {name: word for name, _, word in pairs}, amended)


def decide(artefact: Artefact, scores: pd.DataFrame) -> dict[str, Decision]:
    """Return the decisions of an artefact's claims on these scores."""
    return {claim: decider(scores) for claim, decider in artefact.deciders.items()}


def write(
    tracked: Path, into: Path, artefact: Artefact, decisions: dict[str, Decision]
) -> Path | None:
    """Write the tracked decisions of a paper with new ones; those of other artefacts are kept.

    Two jobs may draw artefacts of one paper at once, so that the caller must hold the lock of its
    folder.

    Parameters
    ----------
    tracked
        The folder with the decisions so far.
    into
        The folder to write to.
    artefact
        That made the decisions.
    decisions
        Claim to decision.

    Returns
    -------
    pathlib.Path or None
        The file, None where the artefact decides nothing.
    """
    if not decisions:
        return None
    kept = read(tracked, artefact.paper)
    kept = kept[(kept["artefact"] != artefact.name) & ~kept["claim"].isin(decisions)]
    new = [
        {"claim": claim, "artefact": artefact.name, **cells(decision)}
        for claim, decision in decisions.items()
    ]
    merged = pd.concat([kept, pd.DataFrame(new, columns=COLUMNS)], ignore_index=True)
    place = {claim: k for k, claim in enumerate(published.claims()["claim"])}
    merged = merged.sort_values("claim", key=lambda names: names.map(place), kind="stable")
    path = Path(into) / artefact.paper / NAME
    with atomic(path) as temporary:
        merged.to_csv(temporary, index=False)
    return path


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
