"""The table of all data sets: where each comes from, how it is checked, what plays y and x.

`catalogue.csv` has one row per file, and a data set is one file; where a paper needs two (the
Fama-French portfolios and the risk-free rate) each is a data set with a name of its own. Inside
a cell, `|` separates the items of a list, because column names hold blanks, commas and brackets.

=============  ==================================================================================
name           unique; `aliases` are other names for the same, as in the published tables
papers         of kcef, dde, jdl, cdo, separated by blanks; empty for a substitute that none uses
file           below the data folder, and equally below a mirror
urls           tried in turn; `ARCHIVE :: MEMBER` where the file lies in an archive (a member that
               ends in .gz is decompressed when the file does not)
sha256, bytes  of the file; without a sha256 a data set is listed, but never downloaded
bundled        where a copy comes with the repository, below `resources/data/`; one that ends in .xz
               or .gz, where the file does not, is compressed, and sha256 is of what is in it
optional       `yes` where a run may do without: its scores then say `not-run`, artefacts are made
               from the other data sets, and the run does not fail
licence        a short name; what else there is to say of it after a semicolon
citation       whom to cite
y, x           the columns that play y and x, in order; a joint density has no x
preprocessing  steps in order: `drop-missing-rows`; `factor:COLUMN=A B C` (codes 0, 1, 2);
               `weekday-hour:COLUMN` (a time becomes `weekday`, Monday 0, and `hour`)
format         rda, csv, csv-semicolon, mat, zip, zip-french (a table of Kenneth French's library),
               zip-pems (PEMS-SF, which `kcde.data.pems` reads)
rows, columns  shape of what `kcde.data.loaders.load` returns, x and y together
=============  ==================================================================================
"""

import csv
import difflib
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath

BUILT_IN = Path(__file__).with_name("catalogue.csv")
FORMATS = ("rda", "csv", "csv-semicolon", "mat", "zip", "zip-french", "zip-pems")
_SEPARATOR = "|"

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
    papers: tuple[str, ...]
    file: str
    urls: tuple[Source, ...]
    sha256: str
    bytes: int | None
    bundled: str
    optional: bool
    licence: str
    citation: str
    y: tuple[str, ...]
    x: tuple[str, ...]
    preprocessing: tuple[str, ...]
    format: str
    rows: int | None
    columns: int | None
    notes: str

    @property
    def all_names(self) -> str:
        """Name and aliases as lists print them, `a = b = b-c` as `a = b[-c]`."""
        shown = [self.name]
        for before, alias in zip((self.name, *self.aliases), self.aliases, strict=False):
            if alias.startswith(f"{before}-"):
                shown[-1] += f"[{alias.removeprefix(before)}]"
            else:
                shown.append(alias)
        return " = ".join(shown)

    @property
    def has_test_rows(self) -> bool:
        """Whether the file itself says which rows are to test."""
        return self.format == "zip-pems"

    def fetch_digest(self) -> str:
        """Return a hash that changes when the raw file does; with a new address it does not."""
        return _digest(self.file, self.sha256)

    def load_digest(self) -> str:
        """Return a hash that changes when the loaded data set does."""
        parts = (_SEPARATOR.join(each) for each in (self.y, self.x, self.preprocessing))
        return _digest(self.file, self.sha256, *parts, self.format)


COLUMNS = tuple(field.name for field in fields(Entry))


def read(path: str | Path | None = None) -> dict[str, Entry]:
    """Read a catalogue.

    Parameters
    ----------
    path
        A CSV with the columns `COLUMNS`; the built-in table when None.

    Returns
    -------
    dict
        Entries by name, in the order of the table.

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
        raise FileNotFoundError(
            f"no catalogue at {path}: give a CSV file with the columns of {BUILT_IN.name}"
        )
    with path.open(newline="", encoding="utf-8") as handle:
        reader = csv.DictReader(handle)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise ValueError(
                f"{path}: missing columns {', '.join(missing)}; add them to the header"
            )
        entries, taken = {}, {}
        for row in reader:
            where = f"{path}, line {reader.line_num} ({row['name'] or 'no name'})"
            entry = _entry(row, where)
            _check(entry, where)
            for name in (entry.name, *entry.aliases):
                if name in taken:
                    raise ValueError(f"{where}: the name {name!r} stands in {taken[name]} already")
                taken[name] = f"line {reader.line_num}"
            entries[entry.name] = entry
    return entries


def by_any_name(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return entries by name and by alias."""
    return {name: entry for entry in entries.values() for name in (entry.name, *entry.aliases)}


def optional(entries: Mapping[str, Entry]) -> set[str]:
    """Return the names and aliases of the data sets that a run may do without."""
    return {name for name, entry in by_any_name(entries).items() if entry.optional}


def find(entries: Mapping[str, Entry], name: str) -> Entry:
    """Return the entry with this name or alias.

    Raises
    ------
    ValueError
        If there is none; the message suggests the nearest names.
    """
    named = by_any_name(entries)
    if name in named:
        return named[name]
    known = {known.lower(): known for known in named}
    near = [known[match] for match in difflib.get_close_matches(name.lower(), known, n=3)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(entries)}"
    raise ValueError(f"no data set named {name!r}; {hint} (python -m kcde fetch --list)")


def _entry(row: Mapping[str, str | None], where: str) -> Entry:
    """Turn a row of text into an entry."""
    text = {name: (row[name] or "").strip() for name in COLUMNS}
    return Entry(
        name=text["name"],
        aliases=_items(text["aliases"]),
        papers=tuple(text["papers"].split()),
        file=text["file"],
        urls=tuple(_source(item, where) for item in _items(text["urls"])),
        sha256=text["sha256"],
        bytes=_count(text["bytes"], "bytes", where),
        bundled=text["bundled"],
        optional=_flag(text["optional"], where),
        licence=text["licence"],
        citation=text["citation"],
        y=_items(text["y"]),
        x=_items(text["x"]),
        preprocessing=_items(text["preprocessing"]),
        format=text["format"],
        rows=_count(text["rows"], "rows", where),
        columns=_count(text["columns"], "columns", where),
        notes=text["notes"],
    )


def _check(entry: Entry, where: str) -> None:
    """Raise `ValueError` for values that later steps cannot use."""
    if not entry.name or entry.name == "all":
        raise ValueError(f"{where}: `name` must be a name, and not `all`")
    if not re.fullmatch(r"[0-9a-f]{64}|", entry.sha256):
        raise ValueError(
            f"{where}: sha256 is {entry.sha256!r}; give 64 lower-case hexadecimal digits "
            "(sha256sum FILE), or nothing where no lasting checksum exists"
        )
    if not _is_below(entry.file):
        raise ValueError(f"{where}: file is {entry.file!r}; give a path below the data folder")
    if entry.bundled and not (_is_below(entry.bundled) and entry.sha256):
        raise ValueError(
            f"{where}: bundled is {entry.bundled!r}; give a path below resources/data/ and the "
            "sha256 of the file, or nothing"
        )
    if entry.format not in FORMATS:
        raise ValueError(f"{where}: format is {entry.format!r}; one of {', '.join(FORMATS)}")
    for step in entry.preprocessing:
        if not STEP.fullmatch(step):
            raise ValueError(
                f"{where}: preprocessing step {step!r} is none of drop-missing-rows, "
                "factor:COLUMN=A B C, weekday-hour:COLUMN"
            )


def _digest(*fields: str) -> str:
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()[:12]


def _is_below(file: str) -> bool:
    """Return whether a path stays below the folder that it starts from."""
    place = PurePosixPath(file)
    return bool(file) and not place.is_absolute() and ".." not in place.parts


def _flag(cell: str, where: str) -> bool:
    """Read `yes` or nothing."""
    if cell not in ("", "yes"):
        raise ValueError(f"{where}: optional is {cell!r}; give `yes`, or nothing")
    return bool(cell)


def _items(cell: str) -> tuple[str, ...]:
    """Split a list cell at `|`."""
    return tuple(item.strip() for item in cell.split(_SEPARATOR) if item.strip())


def _source(item: str, where: str) -> Source:
    """Read `URL` or `ARCHIVE :: MEMBER`."""
    url, _, member = (part.strip() for part in item.partition(" :: "))
    if not url.startswith(("https://", "http://")) or " " in url:
        raise ValueError(f"{where}: {url!r} is no URL; give https://..., separated by ` | `")
    return Source(url, member or None)


def _count(cell: str, column: str, where: str) -> int | None:
    """Read a whole number, or None from an empty cell."""
    if cell and not cell.isdecimal():
        raise ValueError(f"{where}: {column} is {cell!r}; give a whole number or nothing")
    return int(cell) if cell else None
