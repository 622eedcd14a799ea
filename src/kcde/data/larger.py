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

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import catalogue as tables
from kcde.data.loaders import Dataset, Rows, load, raw_file, read_table
from kcde.seeding import rng_of

FORWARD_SPLITS = 5  # of rows that are in the order of time
_MOST_ROWS = 10_000
_MOST_RAIN = 1000.0  # mm in an hour: the file has one row with ten times that
_WEATHER = ("hour", "temp", "rain_1h", "snow_1h", "clouds_all")
_NO_VOICE = ("subject#", "age", "sex", "test_time", "motor_UPDRS", "total_UPDRS")
_WINES = ("winequality-red", "winequality-white")
_SPEECH, _TRAFFIC = "parkinsons-telemonitoring", "metro-traffic-substitute"
_KEPT_TOGETHER = "parkinsons-people"  # by this name folds keep the rows of a person together


def open_larger(name: str, data_dir: str | Path, catalogue: str | Path | None = None) -> Dataset:
    """Return a data set, by name or alias, with the y, x and splits of this module."""
    entry = tables.find(tables.read(catalogue), name)
    if entry.name not in (*_WINES, _SPEECH, _TRAFFIC):
        return load(name, data_dir, catalogue)
    table = read_table(entry, raw_file(entry, data_dir))
    rows = groups = None
    if entry.name in _WINES:
        y, x = "alcohol", [each for each in table.columns if each not in ("alcohol", "quality")]
    elif entry.name == _SPEECH:
        y, x = "total_UPDRS", [each for each in table.columns if each not in _NO_VOICE]
        people = table["subject#"].to_numpy()
        rows, groups = by_group(people, entry.name), people if name == _KEPT_TOGETHER else None
    else:
        table = _hours(table, entry.name)
        y, x = "traffic_volume", list(_WEATHER)
        rows = forward(len(table))
    X, Y = table[x].to_numpy(np.float64), table[[y]].to_numpy(np.float64)
    return Dataset(entry.name, X, Y, tuple(x), (y,), entry.sha256, rows, groups)


def by_group(groups: np.ndarray, name: str) -> Rows:
    """Return the splits that train on half of the groups (n,), at random, and test on the others.

    The name of the data set and the number of the split determine the draw.
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


def _hours(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return drawn hours in the order of time, a row each, without impossible weather.

    A table may repeat an hour, once for each label of its weather; temperatures of 0 K are missing
    ones.
    """
    time = pd.to_datetime(table["date_time"])
    table = table.assign(hour=time.dt.hour, time=time).drop_duplicates("time")
    table = table[(table["temp"] > 0.0) & (table["rain_1h"] < _MOST_RAIN)].sort_values("time")
    if len(table) > _MOST_ROWS:
        drawn = rng_of("rows", name).choice(len(table), _MOST_ROWS, replace=False)
        table = table.iloc[np.sort(drawn)]
    return table
