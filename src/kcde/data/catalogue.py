"""The table of all data sets: where each comes from, how it is checked, what plays y and x.

`catalogue.csv` has one row per file, and a data set is one file; where a paper needs two (the
Fama-French portfolios and the risk-free rate) each is a data set with a name of its own. Inside
a cell, `|` separates the items of a list, because column names hold blanks, commas and brackets.

=============  ==================================================================================
name           unique; `aliases` are other names for the same, as in the published tables
file           below the data folder, and equally below a mirror
urls           tried in turn; `ARCHIVE :: MEMBER` where the file lies in an archive (a member that
               ends in .gz is decompressed when the file does not)
sha256, bytes  of the file; without a sha256 a data set is listed, but never downloaded
bundled        where a copy comes with the repository, below `resources/data/`; one that ends in
               .xz, where the file does not, is compressed, and sha256 is of what is in it
licence        a short name; what else there is to say of it after a semicolon
citation       whom to cite
y, x           the columns that play y and x, in order; a joint density has no x
preprocessing  steps in order: `drop-missing-rows`; `factor:COLUMN=A B C` (codes 0, 1, 2);
               `weekday-hour:COLUMN` (a time becomes `weekday`, Monday 0, and `hour`)
format         rda, csv, csv-semicolon, mat, zip, zip-french (a table of Kenneth French's library),
               zip-pems (PEMS-SF, which `kcde.data.traffic` reads)
rows, columns  shape of what `kcde.data.loaders.load` returns, x and y together
=============  ==================================================================================
"""

import csv
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

from kcde.files import refused
from kcde.names import nearest

BUILT_IN = Path(__file__).with_name("catalogue.csv")
STEP = re.compile(r"drop-missing-rows|factor:[^=]+=\S.*|weekday-hour:.+")


@dataclass(frozen=True)
class Source:
    """A place to download from: a file, or the `member` of an archive at `url`."""

    url: str
    member: str | None = None

    def __str__(self) -> str:
        return self.url if self.member is None else f"{self.url} :: {self.member}"


@dataclass(frozen=True)
class Entry:
    """One row of the catalogue; the module's docstring says what each field holds."""

    name: str
    aliases: tuple[str, ...]
    file: str
    urls: tuple[Source, ...]
    sha256: str
    bytes: int | None
    bundled: str
    licence: str
    citation: str
    y: tuple[str, ...]
    x: tuple[str, ...]
    preprocessing: tuple[str, ...]
    format: str
    rows: int | None
    columns: int | None
    notes: str

    def load_digest(self) -> str:
        """Return a hash that changes when the loaded data set does."""
        lists = ("|".join(each) for each in (self.y, self.x, self.preprocessing))
        parts = (self.file, self.sha256, *lists, self.format)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


COLUMNS = tuple(field.name for field in fields(Entry))


def read(path: str | Path | None = None) -> dict[str, Entry]:
    """Return the entries of a catalogue by name, in its order; the built-in one when None.

    Raises
    ------
    ValueError
        If a column is missing or a row is wrong; the message names the file, the row and the
        remedy.
    FileNotFoundError
        If there is no such file.
    """
    path = BUILT_IN if path is None else Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no catalogue at {path}: give a CSV file as {BUILT_IN.name}")
    entries: dict[str, Entry] = {}
    with refused(path, "is no catalogue"), path.open(newline="", encoding="utf-8") as handle:
        reader = csv.DictReader(handle)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise ValueError(f"no columns {', '.join(missing)}; add them to the header")
        for row in reader:
            try:
                entry = _entry(row)
                if twice := by_any_name(entries).keys() & {entry.name, *entry.aliases}:
                    raise ValueError(f"the name {min(twice)!r} stands in another row already")
            except ValueError as error:
                where = f"line {reader.line_num} ({row['name'] or 'no name'})"
                raise ValueError(f"{where}: {error}") from None
            entries[entry.name] = entry
    return entries


def by_any_name(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return entries by name and by alias."""
    return {name: entry for entry in entries.values() for name in (entry.name, *entry.aliases)}


def find(entries: Mapping[str, Entry], name: str) -> Entry:
    """Return the entry with this name or alias, or raise `ValueError` with those that are known."""
    named = by_any_name(entries)
    if name in named:
        return named[name]
    unknown = f"no data set named {name!r}{nearest(name, named)}; known: {', '.join(entries)}"
    raise ValueError(f"{unknown} (python -m kcde fetch --list)")


def _entry(row: Mapping[str, str | None]) -> Entry:
    """Turn a row of text into an entry; raise `ValueError` for what later steps cannot use."""
    text = {name: (row[name] or "").strip() for name in COLUMNS}
    lists = {name: _items(text[name]) for name in ("aliases", "y", "x", "preprocessing")}
    counts: dict[str, int | None] = {}
    for name in ("bytes", "rows", "columns"):
        if text[name] and not text[name].isdecimal():
            raise ValueError(f"{name} is {text[name]!r}; give a whole number or nothing")
        counts[name] = int(text[name]) if text[name] else None
    urls = tuple(map(_source, _items(text["urls"])))
    entry = Entry(**{**text, **lists, **counts, "urls": urls})
    if not entry.name or entry.name == "all":
        raise ValueError("`name` must be a name, and not `all`")
    if not re.fullmatch(r"[0-9a-f]{64}|", entry.sha256):
        raise ValueError(f"sha256 is {entry.sha256!r}; give what sha256sum FILE says, or nothing")
    for file in (entry.file, entry.bundled or "none"):
        if not file or file.startswith("/") or ".." in PurePosixPath(file).parts:
            raise ValueError(f"{file!r} is no path below the data folder or resources/data/")
    if entry.bundled and not entry.sha256:
        raise ValueError("a bundled copy needs a sha256")
    if wrong := [step for step in entry.preprocessing if not STEP.fullmatch(step)]:
        known = "drop-missing-rows, factor:COLUMN=A B C, weekday-hour:COLUMN"
        raise ValueError(f"preprocessing step {wrong[0]!r} is none of {known}")
    return entry


def _items(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split("|") if item.strip())


def _source(item: str) -> Source:
    """Read `URL` or `ARCHIVE :: MEMBER`."""
    url, _, member = (part.strip() for part in item.partition(" :: "))
    if not url.startswith(("https://", "http://")) or " " in url:
        raise ValueError(f"{url!r} is no URL; give https://..., separated by ` | `")
    return Source(url, member or None)
