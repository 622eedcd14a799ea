"""What changed between two scorecards, with the commits that changed the numbers behind it."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.judging import checkout
from kcde.artefacts.judging.scorecard import deciding
from kcde.artefacts.tables.markdown import number, pipe_table
from kcde.artefacts.tables.methods import display

NAME = "scorecard_changes.md"

_KEY = ["kind", "paper", "artefact", "dataset", "method", "metric"]
_JUDGED = ["verdict", "compatible", "amended", "readings"]
_VALUE = "ours"
_SEEN = 0.005  # smaller differences do not show in tables of two decimals
_NOTHING = "–"

Commits = Callable[[str, str], list[str]]


def write(after: pd.DataFrame, since: str, into: str | Path, table: str) -> Path:
    """Write the page of changes since the scorecard of a commit.

    Parameters
    ----------
    after
        The scorecard now, as `kcde.artefacts.judging.scorecard.build` returns it.
    since
        A commit, as git names it.
    into
        The folder of the outputs, in a checkout.
    table
        Name of the tracked scorecard in it.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    ValueError
        If git has no scorecard of that commit.
    """
    into = Path(into)
    before = pd.read_csv(BytesIO(checkout.tracked(into, table, since)[table]))

    def commits(paper: str, artefact: str) -> list[str]:
        own = [f"{paper}/{artefact}.csv", f"{artefact}.csv"]
        return checkout.commits(into, [name for name in own if (into / name).exists()], since)

    path = into / NAME
    path.write_text(text(before, after, since, commits), encoding="utf-8")
    return path


def text(before: pd.DataFrame, after: pd.DataFrame, since: str, commits: Commits) -> str:
    """Return the page: what is judged otherwise than before, and how many numbers moved.

    Parameters
    ----------
    before, after
        As `kcde.artefacts.judging.scorecard.build` returns them, or read from their CSV.
    since
        What the first is called.
    commits
        Maps paper and artefact to the commits since then that changed its numbers, newest first.
    """
    old, new = _words(before), _words(after)
    every = new.index.union(old.index, sort=False)
    both = new.reindex(every).join(old.reindex(every).add_suffix(" before")).reset_index()
    both = both.fillna(dict.fromkeys([*_JUDGED, *(f"{name} before" for name in _JUDGED)], ""))
    judged = [_judgement(row) for row in both.to_dict("records")]
    rows = [
        [_what(row), old or _NOTHING, new or _NOTHING, _by(row, commits)]
        for row, (old, new) in zip(both.to_dict("records"), judged, strict=True)
        if old != new
    ]
    moved = (both[_VALUE] - both[f"{_VALUE} before"]).abs()
    parts = [
        f"# What changed in the scorecard since {since}",
        f"Of {len(both)} numbers and claims {len(rows)} are judged otherwise than in the scorecard "
        f"of {since}; of {both[_VALUE].notna().sum()} values {int((moved > _SEEN).sum())} moved by "
        f"more than {_SEEN}{_largest(both, moved)}. A judgement is the verdict, then whether the "
        "number is compatible, the amended verdict and the readings of a claim. "
        "The commits are those that changed the table of the artefact. Written by "
        "`python -m kcde scorecard --since`.",
    ]
    if rows:
        parts.append(pipe_table(["what", "before", "now", "commits"], rows, left=4))
    return "\n\n".join(parts) + "\n"


def _words(frame: pd.DataFrame) -> pd.DataFrame:
    """Return judgements as text, and the values, by keys."""
    words = frame.reindex(columns=[*_KEY, *_JUDGED]).astype(object)
    words = words.where(words.notna(), "").astype(str)
    return words.assign(**{_VALUE: pd.to_numeric(frame[_VALUE])}).set_index(_KEY)


def _largest(rows: pd.DataFrame, moved: pd.Series) -> str:
    """Return by how much a value moved at most, in its unit, and which; "" where none has two."""
    if moved.isna().all():
        return ""
    row, cell = rows.loc[moved.idxmax()].to_dict(), _KEY[1:]
    units = published.values().drop_duplicates(cell).set_index(cell)["unit"]
    unit = units.get(tuple(row[name] for name in cell), "")
    amount = f"{number(moved.max())} {unit}".strip()
    return f", the largest by {amount} ({_what(row)})"


def _judgement(row: dict) -> tuple[str, str]:
    """Return what was said of a row before and what is said now."""
    old, new = (
        "; ".join(filter(None, (row[f"{name}{end}"] for name in _JUDGED)))
        for end in (" before", "")
    )
    return old, new


def _what(row: dict) -> str:
    if row["kind"] == "claim":
        return f"claim {row['metric']} ({row['paper']})"
    named = " ".join(filter(None, (row["dataset"], display(row["method"]))))
    return f"{row['paper']} {row['artefact']}, {named}, {row['metric'].replace('_', ' ')}"


def _by(row: dict, commits: Commits) -> str:
    artefact = row["artefact"]
    if row["kind"] == "claim":
        artefact = deciding(row["paper"], row["metric"], artefact)
    return ", ".join(commits(row["paper"], artefact)) or "of the rule alone"
