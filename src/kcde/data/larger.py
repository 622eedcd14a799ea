"""Sets of 1,000 to 10,000 rows with one y, and the rows that each keeps apart to test on.

==========================  ========================================================================
winequality-red, -white     alcohol given the ten other measurements; random halves
parkinsons-telemonitoring   total_UPDRS given the sixteen voice measures; half of the people train,
                            the others test, because the rows of a person are alike; as
                            parkinsons-people folds that choose keep them together, too
metro-traffic-substitute    volume given the hour and the weather, of 10,000 hours, drawn once; six
                            blocks in the order of time, of which the first k train and the next one
                            tests, k = 1 ... 5
==========================  ========================================================================

Any other data set of the catalogue is as declared there, in random halves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kcde.data import catalogue as tables
from kcde.data.loaders import READERS, Dataset, Rows, load, raw_file
from kcde.seeding import rng_of

if TYPE_CHECKING:
    import pandas as pd

FORWARD_SPLITS = 5
"""Splits of rows that are in the order of time."""

_MOST_ROWS = 10_000
_MOST_RAIN = 1000.0  # mm in an hour: the file has one row with ten times that
_WEATHER = ("temp", "rain_1h", "snow_1h", "clouds_all")


@dataclass(frozen=True)
class _Question:
    """What is asked of a table: y, x (all other columns where empty), rows, and how they split.

    Rows with one value of `group`, which is not of x, are of one person or thing.
    """

    y: str
    x: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    group: str = ""
    prepared: Callable[["pd.DataFrame", str], "pd.DataFrame"] = lambda table, name: table
    split: Callable[["pd.DataFrame", str], Rows] = lambda table, name: None


def open_larger(name: str, data_dir: str | Path, catalogue: str | Path | None = None) -> Dataset:
    """Return a data set with the y, x and splits of this module.

    Parameters
    ----------
    name
        Name or alias in the catalogue.
    data_dir, catalogue
        As for `kcde.data.loaders.load`.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If the data set is unknown, its checksum is wrong, or it is refused by
        `kcde.data.loaders.load`.
    """
    entry = tables.find(tables.read(catalogue), name)
    if entry.name not in _QUESTIONS:
        return load(name, data_dir, catalogue)
    asked = _QUESTIONS[entry.name]
    table = READERS[entry.format](raw_file(entry, data_dir))
    table = asked.prepared(table, entry.name).reset_index(drop=True)
    left_out = (asked.y, asked.group, *asked.without)
    x = asked.x or tuple(name for name in table.columns if name not in left_out)
    return Dataset(
        entry.name,
        table[list(x)].to_numpy(np.float64),
        table[[asked.y]].to_numpy(np.float64),
        x,
        (asked.y,),
        entry.sha256,
        asked.split(table, entry.name),
        table[asked.group].to_numpy() if name in _KEPT_TOGETHER else None,
    )


def by_group(groups: np.ndarray, name: str) -> Rows:
    """Return the splits that train on half of the groups, at random, and test on the others.

    Parameters
    ----------
    groups
        Shape (n,): which group a row is of.
    name
        Of the data set: with the split's number it determines the draw.
    """
    distinct = np.unique(groups)

    def rows(split: int) -> tuple[np.ndarray, np.ndarray]:
        order = rng_of("split", name, split).permutation(distinct)
        train = np.isin(groups, order[: len(order) // 2])
        return np.flatnonzero(train), np.flatnonzero(~train)

    return rows


def forward(n: int) -> Rows:
    """Return the splits that train on the past: of n ordered rows, in six blocks.

    Split k trains on the first k + 1 blocks and tests on the next; it raises `ValueError` for k
    from 5 on.
    """
    blocks = np.array_split(np.arange(n), FORWARD_SPLITS + 1)

    def rows(split: int) -> tuple[np.ndarray, np.ndarray]:
        if split >= FORWARD_SPLITS:
            raise ValueError(f"rows in the order of time have {FORWARD_SPLITS} splits; got {split}")
        return np.concatenate(blocks[: split + 1]), blocks[split + 1]

    return rows


def _hours(table: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """Return drawn hours in the order of time, a row each, without impossible weather.

    A table may repeat an hour, once for each label of its weather; temperatures of 0 K are missing
    ones.
    """
    import pandas as pd

    time = pd.to_datetime(table["date_time"])
    table = table.assign(hour=time.dt.hour, time=time).drop_duplicates("time")
    table = table[(table["temp"] > 0.0) & (table["rain_1h"] < _MOST_RAIN)].sort_values("time")
    if len(table) > _MOST_ROWS:
        drawn = rng_of("rows", name).choice(len(table), _MOST_ROWS, replace=False)
        table = table.iloc[np.sort(drawn)]
    return table


def _voice(table: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """Return the columns of people and voices: all but age, sex, time and the other score."""
    return table.drop(columns=["age", "sex", "test_time", "motor_UPDRS"])


_KEPT_TOGETHER = ("parkinsons-people",)
"""Names under which folds keep groups together."""

_WINE = _Question("alcohol", without=("quality",))
_QUESTIONS = {
    "winequality-red": _WINE,
    "winequality-white": _WINE,
    "parkinsons-telemonitoring": _Question(
        "total_UPDRS",
        group="subject#",
        prepared=_voice,
        split=lambda table, name: by_group(table["subject#"].to_numpy(), name),
    ),
    "metro-traffic-substitute": _Question(
        "traffic_volume",
        x=("hour", *_WEATHER),
        prepared=_hours,
        split=lambda table, name: forward(len(table)),
    ),
}
