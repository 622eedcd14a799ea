"""Traffic at one place by day of the week and time of day (cdo, figure 5).

An input is (day of the week, 0 for Monday; second of the day), in the paper's units, in which the
authors' rule for bandwidths is stated. There are few distinct ones, each with many outputs, one a
calendar day. Training and test days are different.

=====================  =============================================================================
PEMS-SF                one sensor's occupancy every ten minutes, 7 x 144 inputs; the file's own
                       folds train and test. As the paper has 32 outputs an input: those of the
                       first 32 training days of each weekday, in the order of the file, which
                       is random
a table of hours       volumes an hour, 7 x 24 inputs, as many outputs as the days that reported the
                       hour; four fifths of the days, at random, train, or 32 of each weekday among
                       them, at random
`simulated-traffic`    synthetic, of the shape of PEMS-SF, 1008 inputs with 32 outputs each, to
                       measure the cost of a fit, not the error of a method
=====================  =============================================================================
"""

import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import catalogue as tables
from kcde.data.loaders import Split, load, raw_file, read_table
from kcde.data.names import SIMULATED_TRAFFIC
from kcde.seeding import rng_of

SENSOR = 2  # of the authors' code, from 0
SENSORS, SLOTS = 963, 144  # rows and columns of the matrix of a day of PEMS-SF
DAYS_A_WEEKDAY = 32
TRAINING_SHARE = 0.8

_LONGEST = 2**24  # bytes of a line of PEMS-SF that are read; that of a day has a million
_SECONDS_A_SLOT, _SECONDS_AN_HOUR = 600, 3600
_TIME_STEP = "weekday-hour:"


@dataclass(frozen=True)
class Traffic:
    """Outputs with their inputs and calendar days.

    Attributes
    ----------
    name
        Name in the catalogue, so that an alias has the same splits.
    X
        Shape (n, 2): day of the week, 0 for Monday, and second of the day.
    Y
        Shape (n, 1).
    days
        Shape (n,): which calendar day, any numbering.
    testing
        Shape (n,): test rows as the data define them; None if they do not.
    sha256
        Checksum of the raw file; None for synthetic data.
    holidays
        Shape (n,): rows of days that the file names as holidays; None if it names none.
    """

    name: str
    X: np.ndarray
    Y: np.ndarray
    days: np.ndarray
    testing: np.ndarray | None = None
    sha256: str | None = None
    holidays: np.ndarray | None = None

    @property
    def inputs(self) -> np.ndarray:
        """The distinct inputs in ascending order, shape (q, 2)."""
        return np.unique(self.X, axis=0)

    def split(self, number: int, *, thinned: bool = False) -> Split:
        """Return the number-th split by days, from 0; it depends on (data set, number) alone.

        A thinned one leaves out holidays, and trains on 32 training days of each weekday alone, as
        on PEMS-SF. Data that define their split have that alone. `ValueError` if there are too few
        days.
        """
        testing = self._drawn(number) if self.testing is None else self.testing
        train = ~testing
        if thinned and self.holidays is not None:
            train, testing = (rows & ~self.holidays for rows in (train, testing))
        if thinned or self.testing is not None:
            train = train & self._some_of_weekday(train, number)
        return Split(self.X[train], self.Y[train], self.X[testing], self.Y[testing])

    def _drawn(self, number: int) -> np.ndarray:
        days = np.unique(self.days)
        train = round(TRAINING_SHARE * len(days))
        if train in (0, len(days)):
            raise ValueError(f"{self.name} has {len(days)} days, too few to train and to test")
        order = rng_of("split", self.name, number).permutation(len(days))
        return np.isin(self.days, days[order[train:]])

    def _some_of_weekday(self, among: np.ndarray, number: int) -> np.ndarray:
        """Return the rows of some days of each weekday among some rows.

        Random ones, unless the data define the split: days in the order of a calendar would be of
        the first year, and the same in all splits.
        """
        rng = rng_of("thinned", self.name, number)
        some = np.zeros(len(self.days), dtype=bool)
        for weekday in np.unique(self.X[:, 0]):
            days = np.unique(self.days[among & (self.X[:, 0] == weekday)])
            if self.testing is None:
                days = rng.permutation(days)
            some |= np.isin(self.days, days[:DAYS_A_WEEKDAY])
        return some


def open_traffic(name: str, data_dir: str | Path, catalogue: str | Path | None = None) -> Traffic:
    """Return traffic by the name of its data set.

    That is `simulated-traffic`, or a data set of the catalogue: PEMS-SF, or a table whose
    preprocessing has the step `weekday-hour`. `ValueError` if it is neither, its file is not as its
    catalogue or format says, or two rows of the same hour have different volumes.
    """
    if name == SIMULATED_TRAFFIC:
        return simulated()
    entry = tables.find(tables.read(catalogue), name)
    if entry.format == "zip-pems":
        folds = read_pems(raw_file(entry, data_dir))
        both = _of_matrix(entry.name, *(np.concatenate(each) for each in zip(*folds, strict=True)))
        return replace(both, testing=both.days >= len(folds[0][0]), sha256=entry.sha256)
    steps = [step for step in entry.preprocessing if step.startswith(_TIME_STEP)]
    if not steps:
        raise ValueError(f"data set {entry.name} has no times: preprocessing has no {_TIME_STEP}")
    return _hourly(entry, steps[0].removeprefix(_TIME_STEP), data_dir, catalogue)


def moments(X: np.ndarray, Y: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return count, mean and standard deviation (divisor: the count) of the outputs of each input.

    X is (n, 2), Y (n, 1); the inputs are distinct and ascending, shape (q, 2), at least all rows of
    X. Mean and standard deviation are NaN where an input has no output.
    """
    place = _places(X, inputs)
    count = np.bincount(place, minlength=len(inputs)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, Y[:, 0], minlength=len(inputs)) / count
        spread = (Y[:, 0] - mean[place]) ** 2
        std = np.sqrt(np.bincount(place, spread, minlength=len(inputs)) / count)
    return count, mean, std


def counts_in_bins(X: np.ndarray, Y: np.ndarray, inputs: np.ndarray, edges) -> np.ndarray:
    """Return how many outputs of each input lie in each bin, shape (q, b).

    X, Y and inputs are as for `moments`; the edges (b + 1,) ascend, and all y lie within them.
    """
    of_inputs = np.arange(len(inputs) + 1) - 0.5
    counts, *_ = np.histogram2d(_places(X, inputs), Y[:, 0], [of_inputs, edges])
    return counts.astype(np.int64)


def simulated(weeks: int = DAYS_A_WEEKDAY, slots: int = SLOTS) -> Traffic:
    """Return synthetic occupancies in [0, 1] of the shape of PEMS-SF, the same at every call.

    A smooth profile of the day, with two rush hours from Monday to Friday and one hump at weekends,
    times a factor of the day, with noise that grows with the level.
    """
    rng = rng_of("simulated-traffic", weeks, slots)
    hours = 24.0 * np.arange(slots) / slots
    rush = 0.02 + 0.10 * _bump(hours, 7.8, 1.2) + 0.08 * _bump(hours, 17.2, 1.8)
    rest = 0.02 + 0.06 * _bump(hours, 14.0, 3.5)
    profile = np.array([rush] * 5 + [rest] * 2)
    factor = np.exp(0.1 * rng.standard_normal((weeks, 7, 1)))
    noise = (0.003 + 0.15 * profile) * rng.standard_normal((weeks, 7, slots))
    occupancy = np.clip(profile * factor + noise, 0.0, 1.0)
    return _of_matrix(SIMULATED_TRAFFIC, np.tile(np.arange(7), weeks), occupancy.reshape(-1, slots))


def read_pems(path: Path, sensor: int = SENSOR, sensors: int = SENSORS, slots: int = SLOTS) -> list:
    """Return weekdays (n,) and occupancies (n, slots) of one sensor, to train and to test.

    The archive has, for each of the folds `train` and `test`, a file of days and one of labels. A
    day is a line, a matrix in Matlab's syntax, `[a b ...; c d ...; ...]`, with a row a sensor and a
    column every ten minutes; occupancies are from 0 to 1. The labels are one line `[1 3 2 ...]`
    with the day of the week of each, 1 (Monday) to 7. Days are in random order; public holidays and
    two days with anomalies are not there. Of the 420 MB of text one day is held at a time.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            folds = []
            for fold in ("PEMS_train", "PEMS_test"):
                with archive.open(fold) as lines:
                    each = iter(lambda lines=lines: lines.readline(_LONGEST), b"")
                    days = [_day(line, sensor, sensors, slots) for line in each]
                with archive.open(f"{fold}labels") as lines:
                    (row,) = _matrix(lines.readline(_LONGEST))
                labels = np.array([int(label) for label in row.split()], dtype=np.int64)
                if len(labels) != len(days) or not np.isin(labels, np.arange(1, 8)).all():
                    raise ValueError(f"{fold}labels: not a day of the week, 1 to 7, for each day")
                folds.append((labels - 1, np.array(days).reshape(-1, slots)))
            return folds
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is not PEMS-SF as the UCI repository has it: {error}") from error


def _matrix(line: bytes) -> list[bytes]:
    """Return the rows of a matrix in brackets."""
    text = line.strip()
    if not (text.startswith(b"[") and text.endswith(b"]")):
        raise ValueError(f"a line begins {text[:20]!r} and ends {text[-20:]!r}, without brackets")
    return text[1:-1].split(b";")


def _day(line: bytes, sensor: int, sensors: int, slots: int) -> np.ndarray:
    """Return the values of the sensor on a day, shape (slots,)."""
    rows = _matrix(line)
    values = np.array([float(v) for each in rows[sensor : sensor + 1] for v in each.split()])
    if len(rows) != sensors or len(values) != slots or not np.isfinite(values).all():
        raise ValueError(f"a day is not {sensors} sensors with {slots} numbers each")
    return values


def _of_matrix(name: str, weekdays: np.ndarray, occupancy: np.ndarray) -> Traffic:
    """Return occupancies (days, slots) of ten minutes as rows."""
    days, slots = occupancy.shape
    seconds = np.tile(_SECONDS_A_SLOT * np.arange(slots), days)
    X = np.column_stack([np.repeat(weekdays, slots), seconds]).astype(np.float64)
    return Traffic(name, X, occupancy.reshape(-1, 1), np.repeat(np.arange(days), slots))


def _hourly(entry: tables.Entry, column: str, data_dir: str | Path, catalogue) -> Traffic:
    """Return a table of hours, of rows that repeat an hour the first alone."""
    data = load(entry.name, data_dir, catalogue)
    table = read_table(entry, Path(data_dir) / entry.file)
    time = pd.to_datetime(table[column])
    if len(time) != len(data.Y):
        raise ValueError(f"data set {entry.name}: preprocessing may not remove rows of hours")
    hour = time.dt.floor("h")
    volumes = pd.Series(data.Y[:, 0]).groupby(hour.to_numpy()).nunique()
    if (volumes > 1).any():
        first = volumes.index[volumes > 1][0]
        raise ValueError(f"data set {entry.name}: {first} has several volumes; give each hour one")
    days = hour.to_numpy().astype("datetime64[D]").astype(np.int64)
    kept = ~hour.duplicated().to_numpy()
    X, Y = data.X[kept] * [1.0, _SECONDS_AN_HOUR], data.Y[kept]
    # A file names a holiday in any row of its day.
    named = table.get("holiday", pd.Series("None", table.index)).fillna("None") != "None"
    holidays = np.isin(days, days[named.to_numpy()])[kept]
    return Traffic(entry.name, X, Y, days[kept], sha256=entry.sha256, holidays=holidays)


def _places(X: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return which of the inputs each row of X is, shape (n,)."""
    _, places = np.unique(np.vstack([inputs, X]), axis=0, return_inverse=True)
    return places.reshape(-1)[len(inputs) :]


def _bump(hours: np.ndarray, centre: float, width: float) -> np.ndarray:
    return np.exp(-0.5 * ((hours - centre) / width) ** 2)
