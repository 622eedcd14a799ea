"""The results as a CSV that is whole after every point, so that a run can be taken up again."""

import csv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from kcde.files import atomic

MEASURED, NOT_RUN = "measured", "not run"


class Row(NamedTuple):
    """One point; the columns of the CSV.

    Attributes
    ----------
    operation, implementation
        Of a `Contender`, or a ceiling and its backend.
    n
        Rows; for ceilings rows of the matrices, and numbers copied.
    seconds, runs
        The shortest of so many runs; empty where nothing was measured.
    clock
        "processor" or "wall".
    threads
        Of the BLAS.
    gflop_per_s, gb_per_s
        What the operation needs on paper, over the seconds.
    status, detail
        "measured", or "not run" and why.
    device, versions
        What it ran on.
    """

    operation: str
    implementation: str
    n: int
    seconds: float | None = None
    runs: int | None = None
    clock: str = ""
    threads: int = 1
    gflop_per_s: float | None = None
    gb_per_s: float | None = None
    status: str = MEASURED
    detail: str = ""
    device: str = ""
    versions: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What names a point."""
        return self.operation, self.implementation, self.n


class Table:
    """Rows that are written whenever one is added.

    Parameters
    ----------
    path
        Of the CSV.
    device
        What is measured on; rows of another one are not continued.
    resume
        Whether to keep the points measured before. What could not be run is tried again.

    Raises
    ------
    ValueError
        If the points measured before are another device's.
    """

    def __init__(self, path: Path, device: str, resume: bool):
        self.path, self.device = path, device
        before = [row for row in read(path) if row.status == MEASURED] if resume else []
        others = sorted({row.device for row in before} - {device})
        if others:
            raise ValueError(
                f"{path.name} holds times of {', '.join(others)}, and this is {device}: run "
                "without --resume to begin anew, or with --out and another folder"
            )
        self._rows = {row.key: row for row in before}

    def add(self, row: Row) -> Row:
        """Add or replace a row and write the file; return the row with its device."""
        row = row._replace(device=self.device)
        self._rows[row.key] = row
        write(self.path, Row, self.rows)
        return row

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order in which they were added first."""
        return list(self._rows.values())

    def get(self, operation: str, implementation: str, n: int) -> Row | None:
        """Return a point if it was measured."""
        row = self._rows.get((operation, implementation, n))
        return row if row and row.status == MEASURED else None

    def curve(self, operation: str, implementation: str) -> list[tuple[int, float]]:
        """Return n and seconds of a contender's points."""
        return curve(self._rows.values(), operation, implementation)


def curve(rows: Iterable[Row], operation: str, implementation: str) -> list[tuple[int, float]]:
    """Return n, ascending, and seconds of the points measured."""
    return sorted(
        (row.n, row.seconds)
        for row in rows
        if row.key[:2] == (operation, implementation) and row.status == MEASURED
    )


def read(path: Path) -> list[Row]:
    """Return the rows of a CSV; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [_parsed(texts) for texts in csv.DictReader(file)]


def write(path: Path, kind: type[NamedTuple], rows: Iterable[NamedTuple]) -> None:
    """Write rows of one kind to a CSV, whole or not at all."""
    with atomic(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kind._fields)
        writer.writerows([_text(value) for value in row] for row in rows)


def versions(packages: Iterable[str]) -> str:
    """Return packages with their versions; a wheel may have another name than its module."""
    names = metadata.packages_distributions()
    found = []
    for package in packages:
        distribution = names.get(package, [package])[0]
        found.append(f"{package} {metadata.version(distribution)}")
    return ", ".join(found)


def _text(value) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _parsed(texts: dict[str, str]) -> Row:
    numbers = {"n": int, "seconds": float, "runs": int, "threads": int}
    numbers |= {"gflop_per_s": float, "gb_per_s": float}
    values = {
        name: numbers.get(name, str)(text) if text or name not in numbers else None
        for name, text in texts.items()
    }
    return Row(**values)
