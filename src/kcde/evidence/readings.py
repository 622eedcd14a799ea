"""Claims under each reading of what their paper leaves open, tracked in `figures/readings.csv`."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pandas as pd

from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.evidence import checkout, claims
from kcde.files import read_object

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

HOLDS, FAILS = "holds", "fails"

NOT_RUN = "not-run"
"""Verdict under a reading that was not run, and the share of a claim under none that was."""

EVERY, SOME, NONE = "every", "some", "none"
"""Under which of the readings that were run a claim holds."""

_NAMED = 4
"""How many readings of a choice are named, where a claim holds under none of these."""

_PACKED = ".csv.gz"

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


def decide(artefact: Artefact, scores: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Return what an artefact decides on these scores, with `COLUMNS`.

    The rows without a choice are its claims as drawn; the others are claims under readings.

    Raises
    ------
    ValueError
        If a reader decides a claim that no paper makes.
    """
    papers = published.claims().set_index("claim")["paper"]
    commit = checkout.commit()
    drawn = {claim: {"": decider(scores)} for claim, decider in artefact.deciders.items()}
    each = {"": drawn} | {choice: reader(scores) for choice, reader in artefact.readers.items()}
    rows = []
    for choice, found in each.items():
        for claim, decisions in found.items():
            if claim not in papers:
                raise ValueError(f"{artefact.key} reads the claim {claim!r}, which no paper makes")
            known = {"paper": papers[claim], "claim": claim, "choice": choice}
            known |= {"artefact": artefact.key, "scale": scale, "commit": commit}
            rows += [
                known | {"reading": name, **claims.cells(decision)}
                for name, decision in decisions.items()
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


def collect(files: Iterable[str | Path], tracked: str | Path | None = None) -> pd.DataFrame:
    """Return what artefacts decided, in the order of claims and choices.

    Parameters
    ----------
    files
        A CSV an artefact, as `decide` has it.
    tracked
        A folder of outputs, whose readings of other artefacts, and of another scale, stay.
    """
    found = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in files]
    table = pd.concat([pd.DataFrame(columns=COLUMNS), *found], ignore_index=True)
    if tracked is not None:
        kept, source = read(tracked), ["artefact", "scale"]
        made = pd.MultiIndex.from_frame(table[source])
        kept = kept[~pd.MultiIndex.from_frame(kept[source]).isin(made)]
        table = pd.concat([kept, table], ignore_index=True)
    order = table.assign(
        claim=_places(table["claim"], published.claims()["claim"]),
        choice=_places(table["choice"], published.readings()["id"]),
    ).sort_values(["claim", "choice", "artefact"], kind="stable")
    return table.loc[order.index].reset_index(drop=True)


def _places(names: pd.Series, order: Iterable[str]) -> pd.Series:
    """Return the place of each name in an order, those that are not in it last."""
    place = {name: k for k, name in enumerate(order)}
    return names.map(lambda name: place.get(name, len(place)))


def of_claim(table: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Return the readings of a claim, with the verdict that counts as `verdict`.

    That is the amended one where all readings of the choice have one, so that the same test decides
    each; the column `first` says where the first test counts of a claim that has an amended one.
    The rows of `AMENDED` are no readings.
    """
    own = table[(table["claim"] == claim) & (table["choice"] != AMENDED)]
    amended = (own["amended"] != "").groupby(own["choice"]).transform("all")
    first = ~amended & (claim in set(published.amended()["claim"]))
    return own.assign(verdict=own["amended"].where(amended, own["verdict"]), first=first)


def counted(rows: pd.DataFrame, drawn: str = "", *, named: int = _NAMED) -> str:
    """Return under how many readings a claim holds, fails or is undecided.

    Parameters
    ----------
    rows
        As `of_claim` returns them.
    drawn
        Scale of the artefact that decides the claim: readings of another known scale are counted
        apart and say so. "": scales are left out.
    named
        Up to so many readings of a choice under which it does not hold are named.

    Returns
    -------
    str
        `K-grid: holds 30, fails 2 (a, b); K-nade: holds 2`, and the first test where it counts
        and not the amended one: `K-stop (at laptop): holds 1`. Empty where there are none.
    """
    parts = []
    elsewhere = rows["scale"].map(lambda scale: _other_than(drawn, scale))
    for (choice, scale), own in rows.groupby(["choice", elsewhere], sort=False):
        few = int((own["verdict"] != HOLDS).sum()) <= named
        said = []
        for word in (HOLDS, *sorted(set(own["verdict"]) - {HOLDS})):
            names = own.loc[own["verdict"] == word, "reading"]
            listed = f" ({', '.join(names)})" if few and word != HOLDS else ""
            said += [f"{word} {len(names)}{listed}"] if len(names) else []
        how = ["by the first test"] if own["first"].any() else []
        how += [f"at {scale}"] if scale else []
        place = f" ({', '.join(how)})" if how else ""
        parts.append(f"{choice}{place}: {', '.join(said)}")
    return "; ".join(parts)


def _other_than(drawn: str, scale: str) -> str:
    """Return a scale where it is known, and another than that of what is drawn, else ""."""
    return scale if drawn and scale not in (drawn, UNKNOWN_SCALE) else ""


def first_clause(rows: pd.DataFrame) -> str:
    """Return on which choices the verdict of a claim depends, as the beginning of its reason.

    Parameters
    ----------
    rows
        As `of_claim` returns them.

    Returns
    -------
    str
        Empty where no choice has a reading under which the claim holds and one under which it
        fails.
    """
    words = published.readings().set_index("id")["choice"]
    named = [
        f"{words.get(choice, choice)} ({choice})"
        for choice, own in rows.groupby("choice", sort=False)["verdict"]
        if {HOLDS, FAILS} <= set(own)
    ]
    if not named:
        return ""
    return f"depends on what the paper leaves open, {' and '.join(named)}; "


def share(rows: pd.DataFrame) -> str:
    """Return under which of the readings that were run a claim holds: `every`, `some` or `none`.

    It is `not-run` where none of them was.

    Parameters
    ----------
    rows
        As `of_claim` returns them, not empty.
    """
    run = rows[rows["verdict"] != NOT_RUN]
    if not len(run):
        return NOT_RUN
    holds = run["verdict"] == HOLDS
    return EVERY if holds.all() else SOME if holds.any() else NONE


def scale_of(files: Iterable[str | Path]) -> str:
    """Return the scale of score files, several joined by `+`.

    That is the folder below `results` of a score CSV, and stands in the `.json` beside the packed
    table of all scores.
    """
    found = set()
    for path in map(Path, files):
        if path.name.endswith(_PACKED):
            known = read_object(path.with_name(path.name.removesuffix(_PACKED) + ".json")) or {}
            found.add(known.get("scale", UNKNOWN_SCALE))
            continue
        above = [each for each, below in pairwise(path.parts) if below == "scores"]
        found.add(above[-1] if above else UNKNOWN_SCALE)
    return "+".join(sorted(found)) or UNKNOWN_SCALE
