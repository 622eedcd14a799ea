"""PEMS-SF: occupancy of car lanes of San Francisco, as the UCI repository has it.

A zip archive with, for each of the folds `train` and `test`, a file of days and one of labels:

``PEMS_train``, ``PEMS_test``
    A day a line, in random order: a matrix in Matlab's syntax, `[a b ...; c d ...; ...]`, with a
    row a sensor and a column every ten minutes; occupancies from 0 to 1.
``PEMS_trainlabels``, ``PEMS_testlabels``
    One line `[1 3 2 ...]` with the day of the week of each, 1 (Monday) to 7 (Sunday).

Public holidays and two days with anomalies are not in it. The archive's other members, the
permutation of the days and the names of the sensors, are not needed.
"""

import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde.data import limits

SENSORS, SLOTS = 963, 144
FOLDS = ("train", "test")
MEMBERS = tuple(f"PEMS_{fold}{kind}" for fold in FOLDS for kind in ("", "labels"))

_LONGEST = 2**24
"""Bytes of a line that are read at most; that of a day has a million."""

_NUMBERS = b"0123456789.eE+- \t;"


@dataclass(frozen=True)
class Fold:
    """One sensor on the days of a fold, in the order of the file.

    Attributes
    ----------
    weekdays
        Shape (n,), 0 (Monday) to 6.
    occupancy
        Shape (n, slots).
    """

    weekdays: np.ndarray
    occupancy: np.ndarray


class _Shape(NamedTuple):
    """Shape of the matrix of a day, and the sensor to read."""

    sensors: int
    slots: int
    sensor: int


def read(
    path: str | Path, sensor: int, *, sensors: int = SENSORS, slots: int = SLOTS
) -> dict[str, Fold]:
    """Read one sensor's row of every day.

    The file of days is read line by line, so that never more than one day is held: of the archive's
    420 MB of text some 1 MB. Of the other sensors' rows only the number of values and their
    characters are checked.

    Parameters
    ----------
    path
        The archive.
    sensor
        Number of the sensor, from 0.
    sensors, slots
        Rows and columns of the matrix of a day.

    Returns
    -------
    dict
        The folds `train` and `test`.

    Raises
    ------
    ValueError
        If the sensor is none of those there are, the file is no archive, is damaged, or lacks a
        member, or a line is not as described; the message names file, line and what was expected.
    """
    if not 0 <= sensor < sensors:
        raise ValueError(f"sensor must be from 0 to {sensors - 1}; got {sensor}")
    shape = _Shape(sensors, slots, sensor)
    remedy = "delete it and download it again"
    with limits.named(path, "zip archive", remedy), zipfile.ZipFile(path) as archive:
        if missing := [name for name in MEMBERS if name not in archive.namelist()]:
            raise ValueError(
                f"{path} has no {', '.join(missing)}: it holds "
                f"{', '.join(archive.namelist()) or 'nothing'}; this is not PEMS-SF as the UCI "
                "repository has it"
            )
        return {fold: _fold(archive, f"PEMS_{fold}", shape) for fold in FOLDS}


def _fold(archive: zipfile.ZipFile, name: str, shape: _Shape) -> Fold:
    days = [_row(text, where, shape) for where, text in _lines(archive, name)]
    weekdays = _labels(archive, f"{name}labels")
    if len(weekdays) != len(days):
        raise ValueError(
            f"{archive.filename}, {name}labels: {len(weekdays)} labels for the {len(days)} days of "
            f"{name}; expected one a day"
        )
    return Fold(weekdays, np.array(days).reshape(-1, shape.slots))


def _lines(archive: zipfile.ZipFile, member: str) -> Iterator[tuple[str, bytes]]:
    """Yield the location of each line, and the text between its brackets."""
    with archive.open(member) as lines:
        for number, line in enumerate(iter(partial(lines.readline, _LONGEST), b""), start=1):
            where, text = f"{archive.filename}, {member}, line {number}", line.strip()
            if not (text.startswith(b"[") and text.endswith(b"]")):
                raise ValueError(
                    f"{where}: it begins {_shown(text[:20])} and ends {_shown(text[-20:])}; "
                    "expected a matrix in brackets, [a b ...; c d ...]"
                )
            yield where, text[1:-1]


def _row(text: bytes, where: str, shape: _Shape) -> np.ndarray:
    """Return the values of the sensor on a day, shape (slots,)."""
    if text.translate(None, _NUMBERS):
        wrong = next(v for v in text.replace(b";", b" ").split() if v.translate(None, _NUMBERS))
        raise ValueError(f"{where}: {_shown(wrong[:40])}; expected numbers alone")
    rows = text.split(b";")
    if len(rows) != shape.sensors:
        raise ValueError(
            f"{where}: {len(rows)} rows; expected {shape.sensors}, one a sensor, separated by ;"
        )
    for number, row in enumerate(rows):
        if (count := len(row.split())) != shape.slots:
            raise ValueError(
                f"{where}: sensor {number} (from 0) has {count} values; expected {shape.slots}, "
                "one every ten minutes"
            )
    return np.array([_number(value, where) for value in rows[shape.sensor].split()])


def _number(value: bytes, where: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError(f"{where}: {_shown(value)}; expected a number")
    return found


def _labels(archive: zipfile.ZipFile, member: str) -> np.ndarray:
    """Return the days of the week from 0, shape (n,)."""
    found = list(islice(_lines(archive, member), 2))
    if len(found) != 1:
        count = "several lines" if found else "no line"
        raise ValueError(f"{archive.filename}, {member}: {count}; expected one, [1 3 2 ...]")
    where, text = found[0]
    for label in text.split():
        if label not in (b"1", b"2", b"3", b"4", b"5", b"6", b"7"):
            raise ValueError(
                f"{where}: the label {_shown(label)}; expected a day of the week, 1 to 7"
            )
    return np.array([int(label) - 1 for label in text.split()], dtype=np.int64)


def _shown(text: bytes) -> str:
    return repr(text.decode("latin-1"))
