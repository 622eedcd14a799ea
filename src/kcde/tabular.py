"""Tables of one's own: read from CSV, Parquet or Feather, and checked column by column.

Nothing is repaired in silence: what cannot be used is refused by the name of its column, with the
remedy, and what is left out is said in `Checked.notes`.

Examples
--------
>>> import pandas as pd
>>> from kcde import tabular
>>> frame = pd.DataFrame({"area": range(20), "town": ["A", "B"] * 10, "price": range(20, 0, -1)})
>>> checked = tabular.check(frame, "price")
>>> checked.columns.encode(frame).columns.tolist()
['area', 'town=B']
"""

import csv
import gzip
import hashlib
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kcde.estimators._shared.rows import LARGEST_VALUE
from kcde.files import require_ratio
from kcde.names import composed, nearest

MOST_LEVELS = 20
"""Of a column of text or categories, which has one column of 0 and 1 a level."""

FEWEST_ROWS = 20
"""Below, a held-out part has too few rows to compare anything on."""

NUMBER, LEVELS, DATE, CLOCK = "number", "levels", "date", "clock"
"""Kinds of columns."""

_TIMES = {
    DATE: ("it has dates", "Order the rows by it with --time-column, or turn it into numbers."),
    CLOCK: ("it has times of day or durations", "Turn it into numbers, as minutes."),
}
"""What a column has, and the remedy."""

REFUSE, DROP, INDICATE = "refuse", "drop", "indicate"
"""What happens to rows with missing values: `check` says it."""

_MISSING_LEVEL = "(missing)"

_TEXT = (".csv", ".tsv", ".txt")
_DELIMITERS = ",;\t|"
_NUMBER = r"[+-]?(?:\d+(?:{0}\d*)?|{0}\d+)(?:[eE][+-]?\d+)?"  # 0: its decimal mark
_BLANK = "[ \u00a0\u2009\u202f]"
_INVISIBLE = "[\u200b\u200c\u200d\ufeff]"
_CURRENCY = "[$€£¥₹₽]|USD|EUR|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|AUD|CAD|INR|CNY|BRL|kr|Fr"
_UNIT = rf"(?:(?:{_CURRENCY})\.?|[%‰])"
_DISGUISED = (
    rf"(?=.*\d)\(?[+\-−]?{_BLANK}?(?:{_UNIT}{_BLANK}?)?[+\-−]?"
    rf"(?:\d{{1,3}}(?:[\s.,'’_]\d{{2,3}})*[\s.,'’_]\d{{3}}|\d+)?(?:[.,]\d*)?(?:[eE][+-]?\d+)?"
    rf"{_BLANK}?{_UNIT}?[-)]?"
)
"""Numbers with a thousands separator, a unit, the other decimal mark or another sign."""
_MEASURED = rf"[<>~≈≤≥]?{_BLANK}?{_NUMBER.format('[.,]')}(?:{_BLANK}?\D.{{0,7}})?"
"""Numbers with a word or mark before or behind them, such as 12 kg, <5, 10-19 or 3rd."""
_MISSING = (
    r"(?i)[?.*/_\-–—]+|#.*[a!?]|<na>|"
    r"\(?(?:n\.?/?a\.?n?|n\.?d\.?|null|none|nil|missing|unknown|undefined|no data|"
    r"not (?:available|known|measured|recorded|reported|applicable))\)?"
)
"""Words for a missing number."""
_ISO_DATE = r"\d{4}-\d{1,2}(-\d{1,2}([T ]\d{1,2}:\d{2}.*)?)?"
_MONTH = (
    "(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz?|apr(?:il)?|may|mai|june?|juni|july?|"
    "juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
_DAY = (
    rf"{_ISO_DATE}|\d{{4}}[./]\d\d?[./]\d\d?|\d\d?[-./]\d\d?[-./](?:\d{{4}}|\d\d)|"
    rf"(?:\d\d?\.?[ -]?)?{_MONTH}[ .,-]*(?:\d\d?(?:st|nd|rd|th)?,?[ -]+)?(?:\d{{4}}|\d\d)"
)
_WEEKDAY = "(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
_ANY_DATE = rf"(?i){_WEEKDAY}(?:{_DAY})(?:[T ,]+\d\d?:\d\d.*)?"
_CLOCK = r"\d+:\d\d(?:[:. ].*)?"
_CODE = r"-?(9{2,}|8{2,}|7{2,})"  # stands for missing in many tables
_MOSTLY = 0.5  # share of numbers, or dates, from which a text column is one of them with faults
_FEW_VALUES = 0.1  # of the rows
_ROWS_A_COLUMN, _LOOKED_AT = 5, 20_000
_SHOWN = 10  # names in a message
_REMEDY = "correct these rows, or leave them out"

# Of values far from the others: the gap, times the range of the others, behind which a tenth of the
# rows may lie, or one repeated value; and behind which a repeated one may that looks like a code.
_WIDE_GAP, _GAP, _GAP_OF_CODE = 5.0, 0.5, 0.1
_REPEATED, _DISTINCT = 3, 10


@dataclass(frozen=True)
class Cells:
    """A column as it is read.

    Attributes
    ----------
    kind
        `number`, `levels`, `date` or `clock`: times of day and durations.
    values
        Numbers, labels, or dates as given; NaN where missing.
    wrong
        Which cells are neither a number nor missing, where it has numbers.
    fault
        What is wrong with it, "" if nothing.
    words
        What is taken for missing among numbers, or is a level that may stand for it.
    """

    kind: str
    values: pd.Series
    wrong: np.ndarray
    fault: str = ""
    words: tuple[str, ...] = ()


def classify(series: pd.Series, decimal: str = ".", kind: str | None = None) -> Cells:
    """Return the cells of a column, of a known kind or of what most of them are."""
    dtype, nowhere = series.dtype.kind, np.zeros(len(series), dtype=bool)
    if kind is not LEVELS and dtype in "biuf":
        return Cells(NUMBER, series, nowhere)
    if kind is None and dtype in "Mm":
        return Cells(DATE if dtype == "M" else CLOCK, series, nowhere)
    given = series.astype(object)
    if dtype == "c" or not given.map(pd.api.types.is_scalar).all():
        fault = "it has complex numbers, lists or objects: take their parts as columns"
        return Cells(kind or LEVELS, pd.Series(np.nan, series.index), ~nowhere, fault)
    if isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.categories.dtype != bool:
        kind = kind or LEVELS
    given = given.where(given.notna()).map(str, na_action="ignore")
    codes, written = pd.factorize(given.astype(object))
    clean = pd.Series(written, dtype=object).str.normalize("NFC")
    clean = clean.str.replace(_INVISIBLE, "", regex=True)
    clean = clean.str.replace(r"\s+", " ", regex=True).str.strip()
    alike, found = pd.factorize(clean.mask(clean == ""))
    codes = np.append(alike, -1)[codes]
    found, counts = pd.Series(found, dtype=object), np.bincount(codes[codes >= 0])

    def cells(of: pd.Series, dtype: type = object) -> pd.Series:
        return pd.Series(np.append(of, np.nan)[codes], series.index, dtype=dtype)

    def rows(which: pd.Series) -> np.ndarray:
        return np.append(which, False)[codes]

    plain = found.where(found.str.fullmatch(_NUMBER.format(re.escape(decimal))))
    numbers = pd.to_numeric(plain.str.replace(decimal, ".", regex=False), errors="coerce")
    words = found.str.fullmatch(_MISSING) & numbers.isna()
    words &= len(found) == 1 or not found.str.fullmatch(r"\*+").all()  # ratings
    told = ~words
    flags = found.str.lower().map({"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0})
    if kind is NUMBER or flags[told].notna().all():
        numbers = numbers.fillna(flags)
    hidden = found.str.fullmatch(_DISGUISED) & numbers.isna() & told

    def mostly(which: pd.Series) -> bool:
        shares = which[told].mean(), np.average(which[told], weights=counts[told])
        return max(shares) >= _MOSTLY

    if kind is NUMBER or (kind is None and (words.all() or mostly(numbers.notna() | hidden))):
        wrong, fault = rows(numbers.isna() & told), ""
        if hidden.any():
            fault = _disguise(cells(found)[rows(hidden)], found[numbers.notna()], decimal)
        elif wrong.any():
            place = wrong.argmax()
            first, row = found[codes[place]], row_number(series.index[place])
            fault = f"{wrong.sum()} values are not numbers, such as {first!r} in row {row}: "
            fault += f"correct them, or leave them empty; --na {first!r} if it stands for missing"
        return Cells(NUMBER, cells(numbers, float), wrong, fault, tuple(found[words]))
    for known, pattern in ((DATE, _ANY_DATE), (CLOCK, _CLOCK)):
        if kind is None and mostly(found.str.fullmatch(pattern)):
            return Cells(known, cells(found.mask(words)), nowhere)
    # 7 and 7.0 are one label: whole numbers beside missing values have a point.
    labels = found.str.replace(r"^([+-]?\d+)\.0$", r"\1", regex=True)
    return Cells(LEVELS, cells(labels), nowhere, words=tuple(found[words]))


def _disguise(hidden: pd.Series, plain: pd.Series, decimal: str) -> str:
    """Say what keeps text from being a number: the first value, the cause, and the remedy."""
    value, remedy = hidden.iloc[0], f"write plain numbers, as 1234{decimal}5"
    marks = {",": "commas", ".": "points"}
    other = next(mark for mark in marks if mark != decimal)
    if other not in value or re.search(rf"{_UNIT}|\d(?:{_BLANK}|['’_])\d", value):
        cause = "units, signs or thousands separators"
    elif decimal in value:
        cause = "commas and points"
        remedy = "write numbers without thousands separators"
        if decimal == "." and value.rfind(",") > value.rfind("."):
            remedy += ", and give --decimal ,"
    else:
        cause, remedy = marks[other], "without thousands separators"
        if beside := int(plain.str.contains(decimal, regex=False).sum()):
            remedy = f"{beside} others have {marks[decimal]}; make them alike, {remedy}"
        elif decimal == ".":
            remedy = f"give --decimal , if they are decimal marks, or write numbers {remedy}"
        else:
            remedy = f"the decimal mark is a comma (--decimal ,); write numbers so, {remedy}"
    row = row_number(hidden.index[0])
    return f"{len(hidden)} values have {cause}, such as {value!r} in row {row}: {remedy}"


@dataclass(frozen=True)
class Column:
    """A column of x: its name; the levels of one of text or categories, in order, or its range."""

    name: str
    levels: tuple[str, ...] | None = None
    range: tuple[float, float] | None = None
    """The smallest and the largest number in training."""
    fill: float | None = None
    """What stands for a missing number, beside a column of 0 and 1 that says so; None: nothing."""

    def encode(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return its columns of numbers by name: with two levels, the second alone has one."""
        if self.levels is None and self.fill is None:
            return {self.name: values}
        if self.levels is not None:
            shown = self.levels[1:] if len(self.levels) == 2 else self.levels
            return {f"{self.name}={level}": (values == level).astype(float) for level in shown}
        filled = np.where(np.isnan(values), self.fill, values)
        return {self.name: filled, f"{self.name}={_MISSING_LEVEL}": np.isnan(values).astype(float)}

    def beyond(self, values: np.ndarray) -> list[str]:
        """Say how many numbers lie outside the range of the training rows."""
        low, high = self.range or (-np.inf, np.inf)
        counted = (
            ((values > high).sum(), f"above {high:.10g}, the largest"),
            ((values < low).sum(), f"below {low:.10g}, the smallest"),
        )
        return [f"{n} row(s): {self.name!r} {where} in training." for n, where in counted if n]


@dataclass(frozen=True)
class Columns:
    """The columns of a table that a model has seen.

    Attributes
    ----------
    y
        Name of the column that is predicted.
    x
        The columns that it is predicted from.
    ignored
        Names of columns that may be there and are not used.
    constant
        Those of them that have one value in all rows, or none, to a list of its label.
    """

    y: str
    x: tuple[Column, ...]
    ignored: tuple[str, ...] = ()
    constant: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def text(self) -> list[str]:
        """Names of the columns with levels, which `read` must leave as text."""
        return [column.name for column in self.x if column.levels is not None]

    @property
    def known(self) -> set[str]:
        """Names of the columns that a table may have."""
        return {*(column.name for column in self.x), self.y, *self.ignored}

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return x as float64, text and categories as one column of 0 and 1 for each level.

        Parameters
        ----------
        frame
            With all columns of `x`; others are refused unless they are y or among `ignored`.

        Raises
        ------
        ValueError
            Naming columns that are missing or new, values that are missing or no numbers, levels
            that were not seen, and columns whose encoded names are the same; if there are no rows.
        """
        return _require_right(*self._encoded(frame))

    def usable(self, frame: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
        """Return which rows can be encoded; and what is to be said of the others and of their x.

        Parameters
        ----------
        frame
            As of `encode`.

        Raises
        ------
        ValueError
            If no row can be; besides as `encode` for names.
        """
        encoded, faults = self._encoded(frame)
        rows, said = ~np.any([wrong for wrong, _ in faults] or [[False] * len(frame)], axis=0), []
        if not rows.all():
            causes = "; ".join(sentence for _, sentence in faults)
            if not rows.any():
                raise ValueError(f"no row can be predicted: {causes}")
            said.append(f"{(~rows).sum()} of {len(rows)} rows have no predictions: {causes}.")
        for column in self.x:
            if column.levels is None:
                values = encoded[column.name].to_numpy()[rows]
                said += [*column.beyond(values), *_far(column.name, values)]
        for name in [name for name in self.constant if name in frame]:
            _, faults = _read(name, frame, self.constant[name], filled=True)
            said += [f"{sentence}." for _, sentence in faults]
        return rows, said

    def _encoded(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[np.ndarray, str]]]:
        """Return x, and of what is wrong in some rows, these and a sentence."""
        _require_text_names(frame)
        if not len(frame):
            raise ValueError("the table has names of columns but no rows; give at least one row")
        names, known = [column.name for column in self.x], self.known
        if missing := [name for name in names if name not in frame.columns]:
            raise ValueError(f"missing column(s) {_listed(missing)}; there are {_listed(frame)}")
        if new := [name for name in frame.columns if name not in known]:
            remedy = "leave them out, or carry them to the predictions with --keep"
            raise ValueError(f"column(s) {_listed(new)} were not in the training data: {remedy}")
        found: dict[str, np.ndarray] = {}
        faults = []
        for column in self.x:
            values, wrong = _read(column.name, frame, column.levels, filled=column.fill is not None)
            encoded = column.encode(values)
            if twice := found.keys() & encoded.keys():
                said = f"column {column.name!r} would be encoded as another is, {_listed(twice)}"
                raise ValueError(f"{said}: rename one of them")
            found |= encoded
            faults += wrong
        return pd.DataFrame(found, index=frame.index), faults

    def target(self, frame: pd.DataFrame) -> np.ndarray:
        """Return y as float64, shape (n,)."""
        if self.y not in frame.columns:
            raise ValueError(f"there is no column {self.y!r}; there are {_listed(frame)}")
        return _numbers(self.y, frame)

    def observed(self, frame: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
        """Return which rows have a y that is a number, shape (n,), and what is wrong in others."""
        if self.y not in frame.columns:
            return np.zeros(len(frame), dtype=bool), []
        values, faults = _read(self.y, frame, filled=True)
        rows = np.abs(values) <= LARGEST_VALUE
        return rows, [f"{said}: there is no log density." for _, said in faults]

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> "Columns":
        """Return what `dataclasses.asdict` and JSON made of it."""

        def frozen(part: Any) -> Any:
            return tuple(part) if isinstance(part, list) else part

        x = (Column(**{key: frozen(part) for key, part in each.items()}) for each in plain["x"])
        return cls(plain["y"], tuple(x), tuple(plain["ignored"]), plain.get("constant", {}))


def _read(
    name: str, frame: pd.DataFrame, levels: Sequence[str] | None = None, *, filled: bool = False
) -> tuple:
    """Return a column as numbers, or as labels of known levels, and what is wrong in some rows."""
    kind = NUMBER if levels is None else LEVELS
    cells = classify(frame[name], frame.attrs.get("decimal", "."), kind)
    values, faults = cells.values, []

    def note(rows: np.ndarray, what: str) -> None:
        if rows.any():
            row = row_number(frame.index[rows.argmax()])
            said = f"column {name!r} has {rows.sum()} {what}, the first in row {row}"
            faults.append((rows, said))

    if _MISSING_LEVEL in (levels or ()):
        values = values.fillna(_MISSING_LEVEL)
    if not filled:
        note(values.isna().to_numpy() & ~cells.wrong, "missing value(s)")
    if cells.wrong.any():
        faults.append((cells.wrong, f"column {name!r}: {cells.fault}"))
    if levels is None:
        values = values.to_numpy(dtype=np.float64, na_value=np.nan)
        note(np.abs(values) > LARGEST_VALUE, f"value(s) beyond {LARGEST_VALUE:g} or infinite")
        return values, faults
    new = (values.notna() & ~values.isin(levels)).to_numpy()
    example = next(iter(values[new]), "")
    note(new, f"value(s) unseen in training, as {example!r} beside {_listed(levels)}")
    return values.to_numpy(), faults


def _numbers(name: str, frame: pd.DataFrame) -> np.ndarray:
    """Return a column of numbers as float64, shape (n,), or raise `ValueError`."""
    return _require_right(*_read(name, frame))


def _require_right(values, faults: list[tuple[np.ndarray, str]]):
    """Return values in which nothing is wrong, or raise `ValueError`."""
    if faults:
        said = "; ".join(sentence for _, sentence in faults)
        raise ValueError(f"{said}: {_REMEDY}")
    return values


@dataclass(frozen=True)
class Checked:
    """A table that can be modelled.

    Attributes
    ----------
    frame
        The rows that are used, with their index as given.
    columns
        Those that are used.
    notes
        What was left out, a sentence each.
    warnings
        What is to be known of the data before a result is believed, a sentence each.
    """

    frame: pd.DataFrame
    columns: Columns
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the values of x and y, as they are modelled, and their names."""
        X, y = self.columns.encode(self.frame), self.columns.target(self.frame)
        names = "\0".join([*X.columns, self.columns.y]).encode()
        return hashlib.sha256(names + X.to_numpy().tobytes() + y.tobytes()).hexdigest()


def read(
    path: str | Path,
    delimiter: str | None = None,
    decimal: str = ".",
    *,
    text: Iterable[str] = (),
    na: Iterable[str] = (),
    verbatim: Iterable[str] = (),
) -> pd.DataFrame:
    """Read a table.

    Of a CSV, empty fields are missing values, and so are words that pandas takes for one, such as
    NA, NULL and None. A first line `sep=;` names the delimiter.

    Parameters
    ----------
    path
        `.csv`, `.tsv` or `.txt` in UTF-8 with or without a byte order mark, also with `.gz`,
        `.parquet`, or `.feather` and `.arrow`.
    delimiter
        Of a CSV; by default that of comma, semicolon, tab and bar which divides the header into
        most names, of a `.tsv` the tab if it does.
    decimal
        The decimal mark of a CSV.
    text
        Columns of a CSV that stay text, as those with levels of a model: `Columns.text`. Else what
        a column is follows from its values, so that 01 beside A is text, and alone a number.
    na
        Words, and numbers such as -999, that stand for missing values.
    verbatim
        Columns of a CSV that are carried as they are, also what looks like a missing value.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the kind of file is unknown, it cannot be read, or names are missing or not unique.
    ModuleNotFoundError
        For Parquet and Feather without pyarrow.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or ,; got {decimal!r}")
    readers = {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".arrow": pd.read_feather}
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind not in (*_TEXT, *readers):
        known = ".csv, .tsv or .txt (also .gz), .parquet, .feather or .arrow"
        raise ValueError(f"{path} is not {known}: save a sheet as CSV UTF-8, unpack an archive")
    try:
        if path.suffix.lower() == ".gz":
            with gzip.open(path) as packed:
                while packed.read(2**20):
                    require_ratio(packed.tell(), path.stat().st_size)
        if kind in _TEXT:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)  # as a shell has it
            frame = _read_csv(path, delimiter, decimal, set(text), set(verbatim))
        else:
            frame = readers[kind](path)
            frame = frame.reset_index(drop=frame.index.names == [None])
            frame.columns = [composed(n) if isinstance(n, str) else n for n in frame.columns]
            _require_unique(frame.columns)
    except ImportError as error:
        raise ModuleNotFoundError(f"{path} needs pyarrow: pip install 'kcde[parquet]'") from error
    except UnicodeDecodeError:
        other = "WINDOWS-1252, UTF-16 or what else it is in"
        remedy = f"save it as UTF-8, or convert it with iconv -t UTF-8 -f {other}"
        raise ValueError(f"{path} is not in UTF-8: {remedy}") from None
    except Exception as error:  # the libraries raise whatever a file leads them to
        raise ValueError(f"{path} cannot be read: {error}") from None
    if words := [word.strip() for word in na]:
        written = pd.Series(words).str.replace(decimal, ".", regex=False)
        codes = pd.to_numeric(written, errors="coerce").dropna()
        for name, dtype in frame.dtypes.items():
            if dtype.kind not in "bMm" and name not in verbatim:
                text = frame[name] if dtype.kind in "iuf" else frame[name].astype(str).str.strip()
                plain = text.str.replace(decimal, ".", regex=False) if dtype.kind == "O" else text
                numbers = pd.to_numeric(plain, errors="coerce")
                alike = codes.astype(dtype) if dtype.kind == "f" else codes
                stand = text.isin(words) | numbers.isin(alike)
                frame[name] = frame[name].mask(stand)
    return frame


def _read_csv(path: Path, delimiter, decimal: str, text: set, verbatim: set) -> pd.DataFrame:
    names, delimiter, skipped = _header(path, delimiter)
    form = {"sep": delimiter, "encoding": "utf-8-sig", "index_col": False, "names": names}
    form |= {"header": 0, "skiprows": skipped, "skipinitialspace": True}
    try:
        with warnings.catch_warnings():
            # Rows longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            dtype = dict.fromkeys(text & set(names), str)
            frame = pd.read_csv(path, **form, decimal=decimal, low_memory=False, dtype=dtype)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _require_whole_rows(path, names, delimiter, skipped)
        raise ValueError(str(error).splitlines()[0]) from None
    if len(names) == 1 or frame[names[-1]].isna().any():
        _require_whole_rows(path, names, delimiter, skipped)
    _require_closed_quotes(frame, delimiter)
    if carried := [name for name in names if name in verbatim]:
        raw = pd.read_csv(path, **form, usecols=carried, dtype=str, na_filter=False)
        frame[carried] = raw[carried]
    plain = frame.drop(columns=[name for name in names if name in text | verbatim])
    if grouped := [name for name in plain if _thousands(plain[name], decimal)]:
        raw = pd.read_csv(path, **form, usecols=grouped, dtype=str)
        whole = rf"-?(\d{{1,3}}|[1-9]\d{{0,2}}{re.escape(decimal)}\d{{3}})"
        for name in grouped:
            cells = raw[name].dropna()
            cells = cells[cells.str.fullmatch(_NUMBER.format(re.escape(decimal)))]
            # "850" beside "1.234".
            if cells.str.fullmatch(whole).all() and cells.str.lstrip("-").str.isdigit().any():
                said = f"column {name!r}: each {decimal!r} is before three last digits"
                remedy = "write thousands without it, or all numbers with as many decimals"
                raise ValueError(f"{said}, as in {max(cells, key=len)}: {remedy}")
    frame.attrs["decimal"] = decimal
    first = pd.read_csv(path, **form, dtype=str, nrows=1000)
    padded = {name: first[name][first[name].str.fullmatch(r"0\d+", na=False)] for name in names}
    # pandas copies attrs with each column that is taken from the frame.
    frame.attrs["padded"] = {name: cells.iloc[0] for name, cells in padded.items() if len(cells)}
    return frame


def _thousands(column: pd.Series, decimal: str) -> bool:
    """Return whether numbers may be whole ones with a point before the last three digits."""
    if column.dtype.kind == "O":
        found = column.dropna().head(_LOOKED_AT).astype(str)
        column = pd.to_numeric(found.str.replace(decimal, ".", regex=False), errors="coerce")
        if column.isna().mean() > _MOSTLY:
            return False
    known = column.dropna().abs()
    parts = known[known % 1.0 != 0.0]
    mixed = _DISTINCT <= len(parts) < len(known) and parts.min() > 1.0 and known.max() < 1000.0
    return bool(mixed and np.allclose(1000.0 * parts, np.round(1000.0 * parts), atol=1e-6))


def _require_closed_quotes(frame: pd.DataFrame, delimiter: str) -> None:
    """Refuse a field that has swallowed rows, from a stray quote to the next one."""
    for name in frame.columns[frame.dtypes.eq(object) | frame.dtypes.eq("str")]:
        long = frame[name][frame[name].astype(str).str.contains("\n", regex=False)]
        for row, text in long.items():
            fields = [len(each) for each in csv.reader(text.splitlines(), delimiter=delimiter)]
            if {*(fields[1:-1] or fields)} == {frame.shape[1]} != {1}:
                said = f"a quote in row {row_number(row)}, column {name!r}, holds whole rows"
                raise ValueError(f"{said}: close it, or leave it out")


def _require_whole_rows(path: Path, names: list[str], delimiter: str, skipped: int) -> None:
    """Refuse the first row with more or fewer fields than the header; pandas fills short ones."""
    blank = 0
    for line, record in _records(path, delimiter, skipped):
        if len(names) == 1 and not record:
            blank = line
        elif blank > 1 + skipped and len(record) == 1:
            said = f"line {blank} is blank, and in a table of one column may be a missing value"
            raise ValueError(f'{said}: write "" there, or leave it out')
        if len(record) != len(names) and any(field.strip() for field in record):
            said = f"line {line} has {len(record)} fields and the header {len(names)}"
            remedy = "add or remove some, or what stands above the names of the columns"
            raise ValueError(f"{said}, divided by {delimiter!r}: {remedy}")


def _records(path: Path, delimiter: str, skipped: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of a CSV after some lines, and the line where they end.

    It ends at a quote that nothing closes.
    """
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines, suppress(csv.Error):
        for _ in range(skipped):
            lines.readline()
        records = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        for record in records:
            yield records.line_num + skipped, record


def _header(path: Path, delimiter: str | None) -> tuple[list[str], str, int]:
    """Return the names of the columns of a CSV, its delimiter, and the lines before the names."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    _, first = next(_records(path, ",", 0), (0, []))
    named = re.fullmatch("sep=(.)", ",".join(first), re.IGNORECASE)
    delimiter, skipped = delimiter or (named and named[1]), int(named is not None)
    heads = {each: _head(path, each, skipped) for each in {*_DELIMITERS, delimiter or ","}}
    if not any(heads.values()):
        raise ValueError("it is empty")
    tabs = Path(path.name.lower().removesuffix(".gz")).suffix == ".tsv" and len(heads["\t"]) > 1
    likely = "\t" if tabs else max(_DELIMITERS, key=lambda each: len(heads[each]))
    delimiter = delimiter or likely
    if len(heads[delimiter]) == 1 < len(heads[likely]):
        said = f"it has one column where the delimiter is {delimiter!r}"
        raise ValueError(f"{said}; its header looks divided by another: --delimiter {likely!r}")
    names = list(map(composed, heads[delimiter]))
    if "\0" in "".join(names):
        raise ValueError("it has zero bytes, as UTF-16 has: save it as UTF-8")
    if names[0].startswith("#"):
        said = f"its first line is no header, since it begins with '#' ({names[0][:40]!r})"
        remedy = "delete the lines above the names of the columns, or the '#' before these"
        raise ValueError(f"{said}: {remedy}")
    numbers = [name for name in names if re.fullmatch(_NUMBER.format("[.,]"), name)]
    if len(numbers) == len(names) or (
        len(numbers) >= _MOSTLY * len(names) and not all(map(str.isdigit, numbers))
    ):
        example = delimiter.join(f"c{place + 1}" for place in range(min(3, len(names))))
        said = f"its first line has numbers where names are expected ({_listed(numbers[:3])})"
        remedy = f"Put a line with names above it, as {example}, or a letter before each name"
        raise ValueError(f"{said}: is there a header? {remedy}")
    if "" in names:
        said = f"column {names.index('') + 1} of the header has no name"
        remedy = "name it, or leave it out (pandas writes such an index unless index=False)"
        raise ValueError(f"{said}: {remedy}")
    _require_unique(names)
    return names, delimiter, skipped


def _head(path: Path, delimiter: str, skipped: int) -> list[str]:
    """Return the fields of the first line that is not blank; a quoted field may have several."""
    records = (each for _, each in _records(path, delimiter, skipped))
    return next((each for each in records if len(each) > 1 or (each and each[0].strip())), [])


def _require_unique(names: Iterable) -> None:
    names = pd.Series(list(names), dtype=object)
    if twice := names[names.duplicated()].tolist():
        raise ValueError(f"column name(s) {_listed(twice)} stand twice: rename one of them")


def _require_text_names(frame: pd.DataFrame) -> None:
    if other := [name for name in frame.columns if not isinstance(name, str)]:
        remedy = "use frame.columns = frame.columns.astype(str)"
        raise ValueError(f"column names must be text; got {_listed(other)}: {remedy}")
    _require_unique(frame.columns)


def check(
    frame: pd.DataFrame,
    y: str,
    x: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    groups: str | None = None,
    time_column: str | None = None,
    weight: str | None = None,
    levels: Sequence[str] = (),
    missing: str = REFUSE,
    lower: float | None = None,
) -> Checked:
    """Check a table and say which of its columns are used.

    Parameters
    ----------
    frame
        A row an observation.
    y
        The column that is predicted.
    x
        Those that it is predicted from; by default all others.
    drop
        Columns that are not used.
    groups
        A column of labels, that is no part of x but must be complete.
    time_column
        One that orders rows in time, in place of `groups`.
    weight
        One of how often a row counts: rows that repeat another add theirs to it.
    levels
        Columns of x that are categories, also where they have numbers.
    missing
        `refuse`; `drop`: rows with a missing value in a column that is used are left out; or
        `indicate`: of x, the median stands for a missing number beside a column that says so, and
        missing is a level of its own, while rows without y, group or time are left out.
    lower
        A bound below all y: log(y - lower) is modelled.

    Raises
    ------
    ValueError
        Naming every column that cannot be used, what is wrong with it, and the remedy.
    """
    _require_text_names(frame)
    for role, given in {"x": x, "drop": drop, "levels": levels}.items():
        if isinstance(given, str):
            raise ValueError(f'{role} is a list of columns, as ["{given}"]; got {given!r}')
    if missing not in (REFUSE, DROP, INDICATE):
        raise ValueError(f"missing must be {REFUSE}, {DROP} or {INDICATE}; got {missing!r}")
    if groups is not None and time_column is not None:
        raise ValueError("give groups (--groups) or a time column (--time-column), not both")
    apart = [name for name in (groups, time_column, weight) if name is not None]
    wanted = _wanted(frame, y, x, drop, apart, levels)
    kinds = dict.fromkeys([*levels, groups], LEVELS)
    meant = [*kinds, *frame.select_dtypes("category")]
    decimal, names = frame.attrs.get("decimal", "."), [*wanted, y, *apart]
    cells = {name: classify(frame[name], decimal, kinds.get(name)) for name in names}
    if (of_y := cells[y]).kind is not NUMBER or of_y.fault:
        what, _ = _TIMES.get(of_y.kind, ("it has text or categories, and no numbers", ""))
        such = [f"{what}, such as {each!r}" for each in of_y.values.dropna()[:1]]
        fault = of_y.fault or (such or ["it is empty"])[0]
        raise ValueError(f"column {y!r} cannot be y: {fault}")
    dates = {name: _TIMES[cells[name].kind] for name in wanted if cells[name].kind in _TIMES}
    left_out, faults = [], []
    for name, each in cells.items():
        if each.fault:
            category = each.kind is NUMBER and name in wanted
            more = f"; --levels {name!r} if it is a category" if category else ""
            faults.append(f"column {name!r}: {each.fault}{more}")
        elif name == weight and (each.kind is not NUMBER or (each.values < 0).any()):
            faults.append(f"column {name!r}: a weight is a number that is not negative")
    if x is not None:
        faults += [f"column {n!r}: {has}; turn them into numbers" for n, (has, _) in dates.items()]
    else:
        wanted = [name for name in wanted if name not in dates]
        left_out = [f"Column {n!r} left out: {has}. {how}" for n, (has, how) in dates.items()]
    _require_faultless(faults)
    frame = frame.copy(deep=False)
    for name, each in cells.items():
        frame[name] = each.values
    alike = []
    if groups is not None:
        frame[groups], alike = _merged(groups, frame[groups])
    whole = [y, *apart] if missing == INDICATE else [*wanted, y, *apart]
    frame, notes = _complete(frame, whole, missing, cells)
    notes += alike
    empty = frame[wanted].isna().sum()[lambda found: (found > 0) & (found < len(frame))]
    if len(empty):
        shown = _first(f"{name} ({n})" for name, n in empty.items())
        notes.append(f"Missing values of {len(empty)} column(s) of x are indicated: {shown}.")
        text = [name for name in empty.index if cells[name].kind is LEVELS]
        frame = frame.fillna(dict.fromkeys(text, _MISSING_LEVEL))
    if len(frame) < FEWEST_ROWS:
        after = f" ({' '.join(notes)})" if notes else ""
        raise ValueError(f"{len(frame)} rows are too few{after}: at least {FEWEST_ROWS} are needed")
    target = _target(frame, y, lower)
    used, more, constant = _used(frame, wanted, cells, levels)
    left_out += more
    if not used:
        why = " ".join(left_out) or "the table has no other, or they are dropped, groups or times"
        raise ValueError(f"no column is left to predict {y!r} from: {why}")
    if len(left_out) > _SHOWN:
        left_out[_SHOWN:] = [f"{len(left_out) - _SHOWN} more columns left out."]
    names = {column.name for column in used}
    ignored = tuple(name for name in frame.columns if name not in names and name != y)
    columns = Columns(y, tuple(used), ignored, constant)
    if (again := _copies(frame, sorted(names), y)).any():
        why = "each counts once, or it would be on both sides of folds, splits and calibration"
        notes.append(f"{again.sum()} of {len(frame)} rows repeat the x and y of another: {why}.")
        if weight is not None:
            same = frame.groupby([*sorted(names), y], dropna=False, sort=False, observed=True)
            frame = frame.assign(**{weight: same[weight].transform("sum")})
            notes.append(f"Their {weight!r} is added to that of the other.")
        frame, target = frame[~again], target[~again]
    said = _warnings(columns, frame, target, lower)
    for name in columns.text if groups is None else [*columns.text, groups]:
        said += _of_labels(name, frame[name], cells[name].words, meant=name in meant)
    return Checked(frame, columns, (*notes, *left_out), tuple(said))


def _warnings(columns: Columns, frame: pd.DataFrame, target, lower) -> list[str]:
    """Say what may mislead: ties and skew of y, leaks, row numbers, dates, codes, far values."""
    y, encoded = columns.y, columns.encode(frame)
    said, width = _of_target(y, target), encoded.shape[1]
    skewed = [] if said or lower is not None else _skewed(y, target)
    said += skewed
    if leaks := [name for name in encoded if _sorts(encoded, name, target)]:
        remedy = f"If it is not known before {y!r} is, leave it out with --drop"
        why = "every result below is worth nothing otherwise"
        said.append(f"Suspiciously perfect: {_listed(leaks)} says {y!r} exactly. {remedy}; {why}.")
    elif near := _nearly_says(encoded, target):
        remedy = f"Leave out with --drop what is not known before {y!r} is"
        said.append(f"Suspiciously good: {near} {y!r} almost exactly. {remedy}.")
    if width > len(frame):
        remedy = "most methods will learn little; name the ones that matter with --x"
        said.append(f"There are more columns of x ({width}) than rows ({len(frame)}): {remedy}.")
    amounts = [each.name for each in columns.x if each.levels is None]
    numbers = {name: encoded[name].to_numpy() for name in amounts}
    said += [
        f"Column {name!r} numbers the rows, each once: leave it out with --drop, or name it with "
        "--time-column if new rows will be later ones."
        for name, values in numbers.items()
        if width > 1 and name not in leaks and _numbers_rows(values)
    ]
    for name, values in numbers.items():
        if len(np.unique(values)) >= FEWEST_ROWS and (form := _dates(values)):
            remedy = "--time-column if new rows will be later ones, else days since one of them"
            said.append(f"Column {name!r} has dates as {form}, which are no amounts: {remedy}.")
    said += [
        f"Column {name!r} has numbers with leading zeros, such as {code}: if they are codes, name "
        "it with --levels or --groups, or leave it out with --drop."
        for name, code in frame.attrs.get("padded", {}).items()
        if name in numbers
    ]
    said += [
        f"Column {name!r} loses its last digits (steps of {step:.2g}): subtract a number near its "
        "values, or leave it out with --drop if they are codes."
        for name, values in (*numbers.items(), (y, target))
        if (step := np.spacing(np.abs(values).max())) > 1e-6 * np.ptp(values)
    ]
    far = [line for name, values in numbers.items() for line in _far(name, values)]
    far += [] if skewed or lower is not None else _far(y, target, of_y=True)
    return said + far[:_SHOWN]


def _copies(frame: pd.DataFrame, x: list[str], y: str) -> np.ndarray:
    """Return which rows are another one recorded again, none where chance repeats as many.

    By chance as many pairs are alike as if the columns of x were independent, and y followed from
    them. Ten times as many are copies. Where less than a quarter of the rows of x are distinct, as
    in tables of a few categories, they repeat by nature.
    """
    rows = frame[[*x, y]]
    again = rows.duplicated().to_numpy()
    if not again.any() or (~frame.duplicated(x)).mean() < 0.25:
        return np.zeros_like(again)
    sizes = rows.groupby(list(rows), sort=False, observed=True, dropna=False).size()
    chance = len(rows) ** 2 / 2 * np.prod([_alike(rows[name]) for name in x])
    return again & ((sizes * (sizes - 1) / 2).sum() > 10.0 * chance)


def _alike(column: pd.Series) -> float:
    """Return how likely two values are the same by chance.

    Of numbers on more places than there are rows one in that many: their copies do not count.
    """
    if column.dtype.kind in "iuf":
        values = np.unique(column.astype(float))
        places = 1.0 + np.ptp(values) / np.diff(values).min(initial=np.inf)
        if places > len(column):
            return 1.0 / places
    return float(((column.value_counts() / len(column)) ** 2).sum())


def _merged(name: str, labels: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return labels of groups, each as it is written first, and say which are written otherwise.

    Two people taken for one cost little, one taken for two is on both sides of a split. So case,
    forms of letters and dashes, leading zeros, and what divides words or numbers say nothing.
    """
    written = pd.Series(labels.dropna().unique(), dtype=object)
    plain = written.str.normalize("NFKC").str.casefold()
    letter, mark = r"[^\W\d_]", r"[\s_\-\u2010-\u2015]+"
    for pattern, put in (
        (rf"(?<=\w){mark}(?={letter})|(?<={letter}){mark}(?=\w)", ""),
        (rf"(?<=\d){mark}(?=\d)", " "),
        (r"(?<![\d.,])0+(?=\d)", ""),
    ):
        plain = plain.str.replace(pattern, put, regex=True)
    first = written.groupby(plain).transform("first")
    if not (other := first != written).any():
        return labels, []
    example = f"such as {first[other].iloc[0]!r} and {written[other].iloc[0]!r}"
    said = f"Column {name!r} has {other.sum()} labels that are others written otherwise, {example}"
    return labels.map(dict(zip(written, first, strict=True))), [f"{said}: they are one group."]


def _require_faultless(faults: list[str]) -> None:
    if faults:
        raise ValueError(_first(faults, "; "))


def _wanted(frame, y, x, drop, aside, levels) -> list[str]:
    """Return the names of the columns of x, or raise `ValueError` for names that are not there."""
    known = list(frame.columns)
    for name in [y, *(x or ()), *drop, *aside, *levels]:
        if name not in known:
            unknown = f"there is no column {name!r}{nearest(name, frame.columns)}"
            blanks = "; --delimiter ' ' if blanks divide them" * (frame.shape[1] == 1)
            raise ValueError(f"{unknown}; there are {_listed(frame.columns)}{blanks}")
    others = [name for name in (x or frame.columns) if name not in (y, *drop, *aside)]
    clash = [name for name in (*(x or ()), *levels) if name not in others]
    if clash := clash + [y] * (y in (*drop, *aside)):
        parts = "y, x (with levels or not), dropped, group, time or weight"
        raise ValueError(f"{_listed(clash)}: a column can have one part: {parts}")
    return others


def _complete(frame, names, missing, cells) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows without missing values."""
    empty = frame[names].isna()
    counts = empty.sum()[lambda found: found > 0]
    if counts.empty:
        return frame, []
    words = {name: cells[name].words if cells[name].kind is NUMBER else () for name in counts.index}
    shown = _first(
        f"{name} ({n}{f', also written {_listed(words[name])}' if words[name] else ''})"
        for name, n in counts.items()
    )
    level = "where NA, NULL or None is a level, rename it"
    if missing == REFUSE:
        raise ValueError(
            f"missing values in column(s) {shown}: fill them, leave out those of x with --drop, "
            f"or these rows with --missing drop ({int(empty.any(axis=1).sum())} of {len(frame)}), "
            f"or say where x is missing with --missing indicate; {level}"
        )
    kept = frame[~empty.any(axis=1)]
    text = "" if all(cells[name].kind is NUMBER for name in counts.index) else f"; {level}"
    return kept, [f"{len(frame) - len(kept)} rows with missing values left out: {shown}{text}."]


def _target(frame: pd.DataFrame, y: str, lower: float | None) -> np.ndarray:
    target = _numbers(y, frame)
    if not np.isfinite(lower or 0.0):
        raise ValueError(f"the lower bound of {y!r} must be a finite number; got {lower}")
    if np.ptp(target) == 0:
        raise ValueError(f"column {y!r} is constant ({target[0]:g}): there is nothing to predict")
    if lower is not None and (low := target <= lower).any():
        first = f"such as {target[low][0]:g} in row {row_number(frame.index[low.argmax()])}"
        said = f"column {y!r}: {low.sum()} values are not above {lower:g}, {first}, and have no"
        remedy = "give a --lower that is smaller, or leave it or --log-y out"
        raise ValueError(f"{said} logarithm of what they are above it: {remedy}")
    return target


def _used(frame, wanted, cells, asked) -> tuple[list[Column], list[str], dict]:
    """Return the columns that are used, what is said of those that are not, and the constant."""
    used, notes, faults, seen, constant = [], [], [], {}, {}
    for name in wanted:
        distinct, indicated = frame[name].nunique(), frame[name].isna().any()
        if distinct < 2 - (indicated and cells[name].kind is NUMBER):
            notes.append(f"Column {name!r} left out: it is {'constant' if distinct else 'empty'}.")
            constant[name] = classify(frame[name], kind=LEVELS).values.dropna().unique().tolist()
            continue
        levels = ends = fill = None
        if cells[name].kind is LEVELS:
            values, levels = frame[name], tuple(sorted(frame[name].unique()))
            most = len(frame) // _ROWS_A_COLUMN if name in asked else MOST_LEVELS
            if (count := len(levels)) > most:
                more = f"--levels {name!r} takes one for {_ROWS_A_COLUMN} rows; "
                if count <= len(frame) / 2:
                    more = f"--groups {name!r} if rows of one value belong together; {more}"
                said = f"{count} different values, such as {levels[0]!r}; at most {most}: {more}"
                remedy = "leave it out with --drop, or turn it into numbers or fewer levels"
                faults.append(f"column {name!r}: it is text with {said}{remedy}")
        else:
            values, wrong = _read(name, frame, filled=True)
            faults += [f"{said}: {_REMEDY}" for _, said in wrong]
            known = values[~np.isnan(values)]
            ends = (float(known.min()), float(known.max()))
            fill = float(np.median(known)) if len(known) < len(values) else None
        # Categories of numbers are no copy of these numbers.
        mark = hashlib.blake2b(pd.util.hash_array(np.asarray(values)).tobytes()).digest()
        if mark in seen:
            notes.append(f"Column {name!r} left out: it is a copy of {seen[mark]!r}.")
            continue
        seen[mark] = name
        used.append(Column(name, levels, ends, fill))
    _require_faultless(faults)
    return used, notes, constant


def row_number(label: Any) -> str:
    """Return how a row with a label of the index is named: from 1, as in the file.

    The index still counts the rows of the file where some of them were left out.
    """
    return str(label + 1 if isinstance(label, int | np.integer) else label)


def has_ties(checked: Checked) -> bool:
    """Return whether y has so many equal values that log densities cannot be compared."""
    return bool(_of_target(checked.columns.y, checked.columns.target(checked.frame)))


def _of_target(y: str, target: np.ndarray) -> list[str]:
    """Say what ties of y do to its densities."""
    values, counts = np.unique(target, return_counts=True)
    n, most = len(target), np.argsort(-counts, kind="stable")
    sizes = np.append(counts[most], 0)
    # One value, or both ends of a scale: in a tenth of the rows, and in thrice those of the next.
    few = [k for k in (1, 2) if sizes[k - 1] >= max(0.1 * n, 3.0 * sizes[k])]
    if len(values) == 2:
        said = f"{y!r} is binary"
    elif few:
        shown = " or ".join(f"{value:g}" for value in np.sort(values[most[: few[0]]]))
        said = f"{sizes[: few[0]].sum() / n:.0%} of {y!r} are {shown}"
    elif len(values) < _FEW_VALUES * n or _on_grid(values, counts, target):
        said = f"{y!r} has {len(values)} different values in {n} rows"
    else:
        return []
    return [
        f"{said}: densities have no upper bound at such values, and log densities compare how "
        "narrow the bumps of a method are. Go by CRPS and coverage, or model first which it has."
    ]


def _on_grid(values: np.ndarray, counts: np.ndarray, target: np.ndarray) -> bool:
    """Return whether most y are repeated, at steps wider than the bumps of a density may be."""
    tied = counts[counts > 1].sum() >= _MOSTLY * len(target)
    return bool(tied and np.median(np.diff(values)) >= 0.02 * target.std())


def _skewed(y: str, target: np.ndarray) -> list[str]:
    """Say that a density of the logarithm of y is likely to be easier."""
    low, middle, high = np.quantile(target, [0.1, 0.5, 0.9])
    if target.min() <= 0.0 or high - middle < 2.0 * (middle - low):  # a tail in few rows alone
        return []
    before, after = pd.Series(target).skew(), pd.Series(np.log(target)).skew()
    if before < 2.5 or abs(after) > 0.2 * before:
        return []
    said = f"{y!r} is positive and strongly skewed (skewness {before:.1f}), its logarithm is not"
    remedy = f"model that with --log-y; answers stay in the units of {y!r}, and are never negative"
    return [f"{said} ({after:.1f}): {remedy}."]


def _numbers_rows(values: np.ndarray) -> bool:
    """Return whether values are whole, all different, and 90% of those from first to last."""
    n, whole = len(values), (values % 1.0 == 0.0).all()
    return bool(whole and len(np.unique(values)) == n >= 0.9 * (np.ptp(values) + 1.0))


def _far(name: str, values: np.ndarray, *, of_y: bool = False) -> list[str]:
    """Say which values lie so far from the others that they may be codes or mistakes.

    At most a tenth of the rows behind a gap of five times the range of the others; or one value at
    an end, three times or more, behind a smaller gap; of x no 0, which is often an amount.
    """
    unique, counts = np.unique(values, return_counts=True)
    if len(values) < FEWEST_ROWS or len(unique) < 3:
        return []
    for sign in (1.0, -1.0):
        # From the far end on.
        ends, many = (unique, counts) if sign > 0 else (-unique[::-1], counts[::-1])
        gaps, ranges = np.diff(ends), ends[-1] - ends[1:]
        wide = (gaps >= _WIDE_GAP * ranges) & (ranges > 0)
        few = np.cumsum(many)[:-1] <= _FEW_VALUES * len(values)
        value, others = sign * ends[0], sign * ends[1:]
        zero = value == 0.0 and not of_y
        below = value <= 0.0 < others.min() or value < 0.0 == others.min()
        coded = (below and value % 1.0 == 0.0) or re.fullmatch(_CODE, f"{value:.15g}")
        enough = not zero and gaps[0] >= (_GAP_OF_CODE if coded else _GAP) * ranges[0]
        if (behind := np.flatnonzero(wide & few)).size:
            far = sign * ends[: behind[-1] + 1]
        elif many[0] >= _REPEATED and (wide[0] or (enough and len(others) >= _DISTINCT)):
            far = sign * ends[:1]
        else:
            continue
        rest = values[~np.isin(values, far)]
        low, middle, high = np.quantile(rest, [0.25, 0.5, 0.75])
        away = np.abs(far - middle).min() / (high - low if high > low else np.ptp(rest))
        shown = [f"{float(each)!r}".removesuffix(".0") for each in far]
        several = len(far) > _REPEATED
        where = f"lie from {shown[0]} to {shown[-1]}" if several else f"are {' or '.join(shown)}"
        asked = "" if several else f"missing? --na {','.join(shown)}; or "
        said = f"{len(values) - len(rest)} value(s) of {name!r} {where}, {np.round(away):.6g} "
        said += f"spreads of the others away: {asked}correct them if they are mistakes."
        return [said, *_far(name, rest, of_y=of_y)]
    return []


def _of_labels(name: str, labels: pd.Series, words: Sequence[str], *, meant: bool) -> list[str]:
    """Say which labels differ in case alone, may stand for missing, or hold numbers."""
    counts = labels.value_counts()
    said = [
        f"Column {name!r} has {word!r} in {counts[word]} rows, a level like any other: --na "
        f"{word!r} if it stands for missing."
        for word in words
        if word in counts
    ]
    if not meant and len(counts) > 2 and counts.index.str.fullmatch(_MEASURED).all():
        such = f"{len(counts)} levels with numbers in them, such as {counts.index[0]!r}"
        remedy = "which count as categories without order: write plain numbers if they are amounts"
        said.append(f"Column {name!r} has {such}, {remedy}.")
    same = counts[counts.index.str.casefold().duplicated(keep=False)]
    if len(same):
        shown = _first(f"{label!r} ({n} rows)" for label, n in same.items())
        remedy = "make them alike if they mean the same"
        said.append(f"Column {name!r} has labels that differ in case alone, {shown}: {remedy}.")
    return said


def _sorts(encoded: pd.DataFrame, name: str, target: np.ndarray) -> bool:
    """Return whether y is a function of a column that never falls or never rises.

    By chance one of the columns is one with a probability below a millionth.

    The row number is one in a file that is sorted by y. Of rows without a value nothing is asked.
    """
    known = np.flatnonzero(encoded.get(f"{name}={_MISSING_LEVEL}", 0.0 * target) == 0.0)
    values, target, columns = encoded[name].to_numpy()[known], target[known], encoded.shape[1]
    # Some rows are quickly sorted, and show it of most columns that do not.
    few = len(values) < FEWEST_ROWS or not _is_monotone(values[:1000], target[:1000])
    if few or not _is_monotone(values, target):
        return False
    if len(np.unique(values)) == len(np.unique(target)):
        return True  # a copy, also of few values
    # Of n! orders of the rows, as many as leave equal y in their places, forwards and backwards.
    counts = np.unique(target, return_counts=True)[1]
    log_orders = math.lgamma(len(target) + 1) - sum(math.lgamma(count + 1) for count in counts)
    return log_orders > math.log(2 * columns / 1e-6)


def _nearly_says(encoded: pd.DataFrame, target: np.ndarray) -> str:
    """Return what leaves next to nothing of y open: the order of a column, or all columns.

    A rank correlation of 0.995, or a fit that leaves 0.005 of the variance.
    """
    some = slice(None, None, 1 + len(target) // _LOOKED_AT)
    y, encoded = pd.Series(target, encoded.index)[some], encoded[some]
    encoded = encoded.loc[:, encoded.std() > 0.0]
    ranks = encoded.corrwith(y, method="spearman").abs()
    if len(close := ranks.index[ranks >= 0.995]):
        return f"by its order {_listed(close)} says"
    n, width = encoded.shape
    if n < _ROWS_A_COLUMN * width:
        return ""
    forms = {"a straight line of x": (encoded, y)}
    if y.min() > 0.0:
        logs = encoded.apply(lambda column: np.log(column) if column.min() > 0.0 else column)
        forms["a product of powers of x"] = logs, np.log(y)
    for form, (X, aim) in forms.items():
        X = np.c_[(X - X.mean()) / X.std(), np.ones(n)]
        left = aim - X @ np.linalg.lstsq(X, aim, rcond=None)[0]
        if left.var() <= 0.005 * aim.var():
            return f"{form} says"
    return ""


def _is_monotone(values: np.ndarray, target: np.ndarray) -> bool:
    order = np.lexsort((target, values))
    rises, steps = np.diff(values[order]) > 0.0, np.diff(target[order])
    return not steps[~rises].any() and bool((steps >= 0.0).all() or (steps <= 0.0).all())


def times(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column that orders rows in time as numbers, shape (n,); dates in microseconds."""
    series, said = frame[name], f"column {name!r} orders no rows"
    if series.dtype.kind in "biuf":
        values = _numbers(name, frame)
        if (form := _dates(values)) and not form.startswith("Y"):
            why = f"its whole numbers, such as {values[0]:.0f}, are dates as {form}"
            raise ValueError(f"{said}: {why}: write them as YYYYMMDD or 2024-12-31")
        if np.ptp(values) == 0:
            raise ValueError(f"{said}: it is constant ({values[0]:g})")
        return values
    if series.dtype.kind not in "Mm":
        text = series.astype(str)
        series = pd.to_datetime(text, format="ISO8601", utc=True, errors="coerce")
        wrong = text[series.isna() | ~text.str.fullmatch(_ISO_DATE)]
        if len(wrong):
            raise ValueError(
                f"{said}: {wrong.iloc[0]!r} is no number, nor a date as 2024-12-31 23:59"
            )
    # Nanoseconds end in 2262, and later dates would come before all others.
    moments = series.to_numpy(dtype="datetime64[us]")
    if (none := moments >= np.datetime64("2200")).any():
        day = moments[none][0].astype("datetime64[D]")
        why = f"{none.sum()} rows have {day}, which is no date"
        raise ValueError(f"{said}: {why}: --na {day} --missing drop leaves them out")
    return moments.astype(np.int64).astype(np.float64)


_FORMS = {
    6: ("%Y%m", "%y%m%d", "%d%m%y", "%m%d%y", "%m%Y"),
    8: ("%Y%m%d", "%d%m%Y", "%m%d%Y"),
    12: ("%Y%m%d%H%M", "%d%m%Y%H%M", "%m%d%Y%H%M"),
    14: ("%Y%m%d%H%M%S", "%d%m%Y%H%M%S", "%m%d%Y%H%M%S"),
}
"""Number of digits to how they may be dates; an order in time has the year first."""


def _dates(values: np.ndarray) -> str:
    """Return how whole numbers are dates, such as DDMMYYYY, "" if they are none."""
    if np.any(values != np.round(values)) or values.min() < 0.0 or values.max() >= 1e14:
        return ""
    numbers = pd.Series(np.unique(values).astype(np.int64).astype(str))
    # The first zero of 01012021 is lost.
    digits = 2 * ((numbers.str.len().max() + 1) // 2)
    found = {}
    for form in _FORMS.get(digits, ()):
        dates = pd.to_datetime(numbers.str.zfill(digits), format=form, errors="coerce")
        if dates.dt.year.between(1900, 2100).all():
            found[form] = dates.max() - dates.min()
    # 010120 is one in several forms: that in which the dates are nearest.
    form = min(found, key=found.get, default="")
    return re.sub("%(.)", lambda part: part[1].upper() * (4 if part[1] == "Y" else 2), form)


def _listed(names: Iterable) -> str:
    return _first(map(repr, names))


def _first(parts: Iterable[str], between: str = ", ") -> str:
    """Return the first ten parts and the number of the rest."""
    parts = list(parts)
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return between.join(parts[:_SHOWN]) + more
