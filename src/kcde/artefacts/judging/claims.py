"""Decided claims, tracked in `figures/<paper>/claims.csv`."""

from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.files import atomic

COLUMNS = ["claim", "artefact", "verdict", "reason"]


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
        With `COLUMNS`, empty where nothing has been decided.
    """
    path = Path(into) / paper / "claims.csv"
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, dtype=str, keep_default_na=False)


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
        {
            "claim": claim,
            "artefact": artefact.name,
            "verdict": decision.verdict,
            "reason": decision.reason,
        }
        for claim, decision in decisions.items()
    ]
    merged = pd.concat([kept, pd.DataFrame(new, columns=COLUMNS)], ignore_index=True)
    place = {claim: k for k, claim in enumerate(published.claims()["claim"])}
    merged = merged.sort_values("claim", key=lambda names: names.map(place), kind="stable")
    path = Path(into) / artefact.paper / "claims.csv"
    with atomic(path) as temporary:
        merged.to_csv(temporary, index=False)
    return path
