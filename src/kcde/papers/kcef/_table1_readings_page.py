"""Under how many readings of table 1's grid each claim holds, and what separates them."""

from collections.abc import Callable, Iterable

import pandas as pd

from kcde.experiments.table1_readings import DRAWN, READINGS, Reading
from kcde.pages.markdown import pipe_table

_TITLE = "## Claims under each reading"

_AXES: dict[str, Callable[[Reading], str]] = {
    "range of σ": lambda reading: f"σ {reading.sigma_range}",
    "range of λ": lambda reading: f"λ {reading.regularization_range}",
    "number of folds": lambda reading: f"{reading.folds} folds",
}
"""What readings differ in, to the words for a reading's own."""

_NOTHING = "–"  # separates a claim's readings

_BY_NAME = {f"{reading}": reading for reading in READINGS}


def section(frame: pd.DataFrame) -> list[str]:
    """Return the paragraphs that say under how many readings each claim holds.

    Parameters
    ----------
    frame
        As tracked: rows of the kind `claim`.

    Returns
    -------
    list of str
        Heading, explanation, a table of all readings, and one of each range and number of folds
        where these differ.
    """
    verdicts = frame[frame["kind"] == "claim"]
    claims = {
        name: rows.set_index("series")["stat"]
        for name, rows in verdicts.groupby("panel", sort=False)
    }
    header = ["claim", "as drawn", "holds under", "undecided", "depends most on"]
    return [
        _TITLE,
        f"As drawn: {DRAWN}. A claim depends most on what its share of readings differs most by; "
        "the levels with the largest and the smallest share follow.",
        pipe_table(header, [_whole(name, each) for name, each in claims.items()]),
        *_by_level(claims),
    ]


def _by_level(claims: dict[str, pd.Series]) -> list[str]:
    """Return the table of each range and number of folds, or that all have the same shares."""
    if all(_separating(verdicts) == _NOTHING for verdicts in claims.values()):
        return ["The share is the same with every range and number of folds."]
    names = dict.fromkeys(name for verdicts in claims.values() for name in verdicts.index)
    levels = [level for axis in _AXES for level in _levels(axis, names)]
    return [
        "The same, of the readings with one range or number of folds:",
        pipe_table(
            ["claim", *levels],
            [
                [name, *(_share(_with(each, level)) for level in levels)]
                for name, each in claims.items()
            ],
        ),
    ]


def _levels(axis: str, names: Iterable[str]) -> list[str]:
    """Return the words for what some readings have on an axis, each once."""
    return list(dict.fromkeys(_AXES[axis](_BY_NAME[name]) for name in names))


def _with(verdicts: pd.Series, level: str) -> pd.Series:
    """Return the verdicts of the readings with one range, or number of folds."""
    return verdicts[[level in _words(_BY_NAME[name]) for name in verdicts.index]]


def _words(reading: Reading) -> list[str]:
    return [words(reading) for words in _AXES.values()]


def _whole(name: str, verdicts: pd.Series) -> list[str]:
    undecided = int((verdicts == "undecided").sum())
    drawn = verdicts.get(f"{DRAWN}", "–")
    return [name, drawn, _share(verdicts), f"{undecided}", _separating(verdicts)]


def _share(verdicts: pd.Series) -> str:
    return f"{(verdicts == 'holds').sum()} of {len(verdicts)}"


def _separating(verdicts: pd.Series) -> str:
    """Return the axis whose levels differ most in their share, with the largest and smallest."""
    widest, words = 0.0, _NOTHING
    for axis in _AXES:
        levels = _levels(axis, verdicts.index)
        shares = {level: (_with(verdicts, level) == "holds").mean() for level in levels}
        least, most = min(levels, key=shares.get), max(levels, key=shares.get)
        if shares[most] - shares[least] > widest:
            widest = shares[most] - shares[least]
            ends = (f"{each}: {_share(_with(verdicts, each))}" for each in (most, least))
            words = f"{axis} ({', '.join(ends)})"
    return words
