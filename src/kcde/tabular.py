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
import hashlib
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kcde.names import nearest

MOST_LEVELS = 20
"""Of a column of text or categories, which has one column of 0 and 1 a level."""

FEWEST_ROWS = 20
"""Below, a held-out part has too few rows to compare anything on."""

NUMBER, LEVELS, DATE = "number", "levels", "date"
"""Kinds of columns."""

REFUSE, DROP = "refuse", "drop"
"""What happens to rows with missing values."""

_TEXT = (".csv", ".tsv", ".txt")
_DELIMITERS = ",;\t|"
_SPELT = {"\\t": "\t", "tab": "\t"}  # as a shell has it
_DECIMAL_COMMA = r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+"
_THOUSANDS_POINT = r"[+-]?[1-9]\d{0,2}(\.\d{3})+"
_THOUSANDS_COMMA = r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"
_ISO_DATE = r"\d{4}-\d{1,2}(-\d{1,2}([T ]\d{1,2}:\d{2}.*)?)?"
_ANY_DATE = rf"({_ISO_DATE}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}.*)"
_MOSTLY = 0.5  # share of numbers from which a text column is one of numbers with faults
_FEW_VALUES = 0.1  # of the rows
_FREQUENT, _FAR_MORE = 0.1, 3.0  # of the rows, and times the next, for one value of y
_BY_CHANCE = 1e-6  # probability from which a column that sorts y may do so by chance
_SHOWN = 10  # names in a message


@dataclass(frozen=True)
class Column:
    """A column of x: its name, and the levels of one of text or categories, in order."""

    name: str
    levels: tuple[str, ...] | None = None

    def encode(self, series: pd.Series) -> dict[str, np.ndarray]:
        """Return its columns of numbers by name: with two levels, the second alone has one."""
        if self.levels is None:
            return {self.name: _numbers(self.name, series)}
        _require_complete(self.name, series)
        if series.dtype.kind in "iuf":
            raise ValueError(
                f"column {self.name!r} was text or categories in training, such as "
                f"{self.levels[0]!r}, and has numbers here: make it so again, with "
                f"tabular.read(file, text=[{self.name!r}]) or frame[{self.name!r}].astype(str)"
            )
        text = series.astype(str).to_numpy()
        if unseen := sorted(set(text) - set(self.levels)):
            raise ValueError(
                f"column {self.name!r} has {_listed(unseen)}, which training did not have; it had "
                f"{_listed(self.levels)}"
            )
        shown = self.levels[1:] if len(self.levels) == 2 else self.levels
        return {f"{self.name}={level}": (text == level).astype(np.float64) for level in shown}


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
    """

    y: str
    x: tuple[Column, ...]
    ignored: tuple[str, ...] = ()

    @property
    def text(self) -> list[str]:
        """Names of the columns with levels, which `read` must leave as text."""
        return [column.name for column in self.x if column.levels is not None]

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
        _require_text_names(frame)
        if not len(frame):
            raise ValueError("the table has names of columns but no rows; give at least one row")
        names = [column.name for column in self.x]
        if missing := [name for name in names if name not in frame.columns]:
            raise ValueError(f"missing column(s) {_listed(missing)}; there are {_listed(frame)}")
        known = {*names, self.y, *self.ignored}
        if new := [name for name in frame.columns if name not in known]:
            raise ValueError(
                f"column(s) {_listed(new)} were not in the training data: leave them out"
            )
        found: dict[str, np.ndarray] = {}
        for column in self.x:
            encoded = column.encode(frame[column.name])
            if twice := found.keys() & encoded.keys():
                other = next(c.name for c in self.x if twice & c.encode(frame[c.name]).keys())
                raise ValueError(
                    f"columns {other!r} and {column.name!r} would both be encoded as "
                    f"{_listed(twice)}: rename one of them"
                )
            found |= encoded
        return pd.DataFrame(found, index=frame.index)

    def target(self, frame: pd.DataFrame) -> np.ndarray:
        """Return y as float64, shape (n,)."""
        if self.y not in frame.columns:
            raise ValueError(f"there is no column {self.y!r}; there are {_listed(frame)}")
        return _numbers(self.y, frame[self.y])

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)

    @classmethod
    def of_plain(cls, plain: dict[str, Any]) -> "Columns":
        """Return what `plain` has written."""
        x = (Column(e["name"], tuple(e["levels"]) if e["levels"] else None) for e in plain["x"])
        return cls(plain["y"], tuple(x), tuple(plain["ignored"]))


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
) -> pd.DataFrame:
    """Read a table.

    Of a CSV, empty fields are missing values, and so are words that pandas takes for one, such as
    NA, NULL and None.

    Parameters
    ----------
    path
        `.csv`, `.tsv` or `.txt` in UTF-8 with or without a byte order mark, `.parquet`, or
        `.feather` and `.arrow`.
    delimiter
        Of a CSV; by default that of comma, semicolon, tab and bar which divides the header into
        most names, of a `.tsv` the tab if it does.
    decimal
        The decimal mark of a CSV.
    text
        Columns that stay text, as those with levels of a model: `Columns.text`. Else what a column
        of a CSV is follows from its values, so that 01 beside A is text, and alone a number; of
        other files, whole numbers become text.

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
    readers = {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".arrow": pd.read_feather}
    kind = path.suffix.lower()
    if kind not in (*_TEXT, *readers):
        raise ValueError(f"{path} is not .csv, .tsv, .txt, .parquet, .feather or .arrow")
    try:
        if kind in _TEXT:
            return _read_csv(path, _SPELT.get(delimiter, delimiter), decimal, set(text))
        frame = readers[kind](path)
        _require_unique(frame.columns)
    except ImportError as error:
        raise ModuleNotFoundError(f"{path} needs pyarrow: pip install 'kcde[parquet]'") from error
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not in UTF-8: save it as UTF-8, or convert it with iconv -t UTF-8 -f "
            "WINDOWS-1252, UTF-16 or what else it is in"
        ) from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    # Parquet has no categories of numbers.
    whole = [name for name in text if name in frame and frame[name].dtype.kind in "iu"]
    return frame.astype(dict.fromkeys(whole, str))


def _read_csv(path: Path, delimiter: str | None, decimal: str, text: set[str]) -> pd.DataFrame:
    names, delimiter = _header(path, delimiter)
    try:
        with warnings.catch_warnings():
            # Rows longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=delimiter,
                decimal=decimal,
                encoding="utf-8-sig",
                index_col=False,
                low_memory=False,
                skipinitialspace=True,
                names=names,
                header=0,
                dtype=dict.fromkeys(text & set(names), str),
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(
            f"{str(error).splitlines()[0]}; rows must have as many fields as the header, divided "
            f"by {delimiter!r}"
        ) from None
    if decimal != ".":
        _require_no_points(frame)
    return frame


def _header(path: Path, delimiter: str | None) -> tuple[list[str], str]:
    """Return the names of the columns of a CSV and its delimiter, from its first record alone."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    heads = {each: _head(path, each) for each in {*_DELIMITERS, delimiter or ","}}
    if not any(heads.values()):
        raise ValueError("it is empty")
    tabs = path.suffix.lower() == ".tsv" and len(heads["\t"]) > 1
    likely = "\t" if tabs else max(_DELIMITERS, key=lambda each: len(heads[each]))
    delimiter = delimiter or likely
    if len(heads[delimiter]) == 1 < len(heads[likely]):
        raise ValueError(
            f"it has one column where the delimiter is {delimiter!r}; its header looks divided by "
            f"another: --delimiter {likely!r}"
        )
    names = [name.strip() for name in heads[delimiter]]
    if "" in names:
        raise ValueError(
            f"column {names.index('') + 1} of the header has no name: name it, or leave it out "
            "(pandas writes such an index unless index=False)"
        )
    _require_unique(names)
    return names, delimiter


def _head(path: Path, delimiter: str) -> list[str]:
    """Return the fields of the first line that is not blank; a quoted field may have several."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        records = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        named = (each for each in records if len(each) > 1 or (each and each[0].strip()))
        try:
            return next(named, [])
        except csv.Error:  # a quote that nothing closes
            return []


def _require_no_points(frame: pd.DataFrame) -> None:
    """Refuse columns of numbers with points in thousands, which would be taken for decimal ones."""
    for name in frame.columns[frame.dtypes.map(lambda dtype: dtype.kind not in "biuf")]:
        values = frame[name].dropna().astype(str).drop_duplicates()
        points = values[values.str.contains(".", regex=False)]
        numbers = pd.to_numeric(values, errors="coerce").notna().all()
        if len(points) and numbers and points.str.fullmatch(_THOUSANDS_POINT).all():
            raise ValueError(
                f"column {name!r} has points in numbers, such as {points.iloc[0]!r}, beside the "
                "decimal mark: write them without thousands separators"
            )


def _require_unique(names: Iterable) -> None:
    names = pd.Series(list(names), dtype=object)
    if twice := names[names.duplicated()].tolist():
        raise ValueError(f"column name(s) {_listed(twice)} stand twice: rename one of them")


def _require_text_names(frame: pd.DataFrame) -> None:
    if other := [name for name in frame.columns if not isinstance(name, str)]:
        raise ValueError(
            f"column names must be text; got {_listed(other)}: use "
            "frame.columns = frame.columns.astype(str)"
        )
    _require_unique(frame.columns)


def check(
    frame: pd.DataFrame,
    y: str,
    x: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    aside: Sequence[str] = (),
    missing: str = REFUSE,
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
    aside
        Columns that are no part of x but must be complete: groups, a time.
    missing
        `refuse`, or `drop`: rows with a missing value in a column that is used are left out.

    Raises
    ------
    ValueError
        Naming every column that cannot be used, what is wrong with it, and the remedy.
    """
    _require_text_names(frame)
    if missing not in (REFUSE, DROP):
        raise ValueError(f"missing must be {REFUSE} or {DROP}; got {missing!r}")
    wanted = _wanted(frame, y, x, drop, aside)
    frame, notes = _complete(frame, [*wanted, y, *aside], missing)
    if len(frame) < FEWEST_ROWS:
        after = f" ({' '.join(notes)})" if notes else ""
        raise ValueError(f"{len(frame)} rows are too few{after}: at least {FEWEST_ROWS} are needed")
    target = _target(frame, y)
    used, left_out = _used(frame, wanted, named=x is not None)
    if not used:
        why = " ".join(left_out) or "the table has no other, or they are dropped, groups or times"
        raise ValueError(f"no column is left to predict {y!r} from: {why}")
    names = {column.name for column in used}
    ignored = tuple(name for name in frame.columns if name not in names and name != y)
    columns = Columns(y, tuple(used), ignored)
    encoded = columns.encode(frame[[*names, y]])
    said, width = _of_target(y, target), encoded.shape[1]
    if leaks := [name for name in encoded if _sorts(encoded[name].to_numpy(), target, width)]:
        said.append(
            f"Suspiciously perfect: {_listed(leaks)} says {y!r} exactly. If it is not known before "
            f"{y!r} is, leave it out with --drop; every result below is worth nothing otherwise."
        )
    if width > len(frame):
        said.append(
            f"There are more columns of x ({width}) than rows ({len(frame)}): most "
            "methods will learn little; name the ones that matter with --x."
        )
    return Checked(frame, columns, (*notes, *left_out), tuple(said))


def _wanted(frame, y, x, drop, aside) -> list[str]:
    """Return the names of the columns of x, or raise `ValueError` for names that are not there."""
    for name in [y, *(x or ()), *drop, *aside]:
        if name not in frame.columns:
            raise ValueError(
                f"there is no column {name!r}{nearest(name, frame.columns)}; there are "
                f"{_listed(frame.columns)}"
            )
    others = [name for name in (x or frame.columns) if name not in (y, *drop, *aside)]
    clash = [name for name in (x or ()) if name not in others]
    if clash := clash + [y] * (y in (*drop, *aside)):
        raise ValueError(
            f"{_listed(clash)}: a column can have one part: y, x, dropped, group or time"
        )
    return others


def _complete(frame, names, missing) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows without missing values."""
    empty = frame[names].isna()
    counts = empty.sum()
    if not counts.any():
        return frame, []
    counts = counts[counts > 0]
    shown = ", ".join(f"{name} ({n})" for name, n in counts[:_SHOWN].items())
    shown += f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
    level = "where NA, NULL or None is a level, rename it"
    if missing == REFUSE:
        raise ValueError(
            f"missing values in column(s) {shown}: fill them, leave out these columns with --drop, "
            f"or these rows with --missing drop ({int(empty.any(axis=1).sum())} of {len(frame)}); "
            f"{level}"
        )
    # What is left of true, false and missing values is of one type.
    kept = frame[~empty.any(axis=1)].infer_objects()
    text = "" if all(frame[name].dtype.kind in "biufMm" for name in counts.index) else f"; {level}"
    return kept, [f"{len(frame) - len(kept)} rows with missing values left out: {shown}{text}."]


def _target(frame: pd.DataFrame, y: str) -> np.ndarray:
    kind, fault = _kind(frame[y])
    if kind is not NUMBER:
        what = {DATE: "it has dates", LEVELS: fault or "it has text or categories, and no numbers"}
        raise ValueError(f"column {y!r} cannot be y: {what[kind]}")
    target = _numbers(y, frame[y])
    if np.ptp(target) == 0:
        raise ValueError(f"column {y!r} is constant ({target[0]:g}): there is nothing to predict")
    return target


def _used(frame, wanted, *, named) -> tuple[list[Column], list[str]]:
    """Return the columns that are used, and what is said of those that are not."""
    used, notes, faults, seen = [], [], [], {}
    for name in wanted:
        kind, fault = _kind(frame[name])
        if kind is DATE and not named:
            notes.append(
                f"Column {name!r} left out: it has dates. Order the rows by it with --time-column, "
                "or turn it into numbers."
            )
        elif fault or kind is DATE:
            faults.append(f"column {name!r}: {fault or 'it has dates; turn them into numbers'}")
        elif frame[name].nunique() == 1:
            notes.append(f"Column {name!r} left out: it is constant.")
        else:
            # Categories of numbers are no copy of these numbers.
            text = kind is LEVELS
            try:
                values = frame[name].astype(str) if text else _numbers(name, frame[name])
            except ValueError as error:
                faults.append(str(error))
                continue
            mark = hashlib.blake2b(pd.util.hash_array(np.asarray(values)).tobytes()).digest()
            if mark in seen:
                notes.append(f"Column {name!r} left out: it is a copy of {seen[mark]!r}.")
                continue
            seen[mark] = name
            levels = tuple(sorted(values.unique())) if text else None
            used.append(Column(name, levels))
    if faults:
        more = [f"{len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise ValueError("; ".join([*faults[:_SHOWN], *more]))
    rest = [f"{len(notes) - _SHOWN} more columns left out."] if len(notes) > _SHOWN else []
    return used, [*notes[:_SHOWN], *rest]


def _kind(series: pd.Series) -> tuple[str, str]:
    """Return the kind of a complete column, and what is wrong with it, "" if nothing."""
    if series.dtype.kind in "biuf":
        return NUMBER, ""
    if series.dtype.kind in "Mm":
        return DATE, ""
    if series.dtype.kind == "c" or not series.astype(object).map(pd.api.types.is_scalar).all():
        return LEVELS, "it has complex numbers, lists or objects: take their parts as columns"
    text = series.astype(str)
    distinct = text.drop_duplicates()
    if not isinstance(series.dtype, pd.CategoricalDtype):
        with_comma = distinct.str.fullmatch(f"{_DECIMAL_COMMA}|{_THOUSANDS_COMMA}")
        numbers = with_comma | pd.to_numeric(distinct, errors="coerce").notna()
        if with_comma.any() and numbers.mean() >= _MOSTLY:
            return LEVELS, (
                f"it has commas as in {distinct[with_comma].iloc[0]!r}: give --decimal , if they "
                "are decimal marks, or write numbers without thousands separators"
            )
        if pd.to_numeric(text, errors="coerce").notna().mean() >= _MOSTLY:
            return NUMBER, ""
    if distinct.str.fullmatch(_ANY_DATE).all():
        return DATE, ""
    if len(distinct) > MOST_LEVELS:
        return LEVELS, (
            f"it is text with {len(distinct)} different values, more than {MOST_LEVELS}: leave it "
            "out with --drop, or turn it into numbers or fewer levels"
        )
    return LEVELS, ""


def row_number(label: Any) -> str:
    """Return how a row with a label of the index is named: from 1, as in the file.

    The index still counts the rows of the file where some of them were left out.
    """
    return str(label + 1 if isinstance(label, int | np.integer) else label)


def _require_complete(name: str, series: pd.Series) -> None:
    missing = series.index[series.isna()]
    if len(missing):
        raise ValueError(
            f"column {name!r} has a missing value in row {row_number(missing[0])}: fill it in, or "
            "leave the row out"
        )


def _numbers(name: str, series: pd.Series) -> np.ndarray:
    """Return a column of numbers as float64, shape (n,), or raise `ValueError`."""
    _require_complete(name, series)
    if series.dtype.kind not in "biuf":
        text = series.astype(str)
        series = pd.to_numeric(text, errors="coerce")
        if len(wrong := text[series.isna()]):
            raise ValueError(
                f"column {name!r}: {len(wrong)} values are not numbers, such as {wrong.iloc[0]!r} "
                f"in row {row_number(wrong.index[0])}: correct them, or leave them empty"
            )
    values = series.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} has infinite values: fill or drop them")
    return values


def has_ties(checked: Checked) -> bool:
    """Return whether y has so many equal values that log densities cannot be compared."""
    return bool(_of_target(checked.columns.y, checked.columns.target(checked.frame)))


def _of_target(y: str, target: np.ndarray) -> list[str]:
    """Say what ties of y do to its densities."""
    values, counts = np.unique(target, return_counts=True)
    n, most = len(target), counts.argmax()
    second = np.sort(counts)[-2]
    if len(values) == 2:
        said = f"{y!r} is binary"
    elif counts[most] >= max(_FREQUENT * n, _FAR_MORE * second):
        said = f"{counts[most] / n:.0%} of {y!r} are {values[most]:g}"
    elif len(values) < _FEW_VALUES * n:
        said = f"{y!r} has {len(values)} different values in {n} rows"
    else:
        return []
    return [
        f"{said}: as a density it has no upper bound at repeated values, so that log densities "
        "compare how narrow the bumps of a method are. Go by CRPS and coverage, or model first "
        "which of these values it has."
    ]


def _sorts(values: np.ndarray, target: np.ndarray, columns: int) -> bool:
    """Return whether y is a function of a column that never falls or never rises, not by chance.

    The row number is one in a file that is sorted by y.
    """
    # Some rows are quickly sorted, and show it of most columns that do not.
    if not (_is_monotone(values[:1000], target[:1000]) and _is_monotone(values, target)):
        return False
    if len(np.unique(values)) == len(np.unique(target)):
        return True  # a copy, also of few values
    # Of n! orders of the rows, as many as leave equal y in their places, forwards and backwards.
    counts = np.unique(target, return_counts=True)[1]
    log_orders = math.lgamma(len(target) + 1) - sum(math.lgamma(count + 1) for count in counts)
    return log_orders > math.log(2 * columns / _BY_CHANCE)


def _is_monotone(values: np.ndarray, target: np.ndarray) -> bool:
    order = np.lexsort((target, values))
    rises, steps = np.diff(values[order]) > 0.0, np.diff(target[order])
    return not steps[~rises].any() and bool((steps >= 0.0).all() or (steps <= 0.0).all())


def times(frame: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column that orders rows in time as numbers, shape (n,); dates in nanoseconds."""
    series = frame[name]
    if series.dtype.kind in "biuf":
        return _numbers(name, series)
    if series.dtype.kind not in "Mm":
        text = series.astype(str)
        series = pd.to_datetime(text, format="ISO8601", utc=True, errors="coerce")
        wrong = text[series.isna() | ~text.str.fullmatch(_ISO_DATE)]
        if len(wrong):
            raise ValueError(
                f"column {name!r} orders no rows: {wrong.iloc[0]!r} is neither a number nor a date "
                "as 2024-12-31 or 2024-12-31 23:59"
            )
    elif getattr(series.dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC")
    return series.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(np.float64)


def looks_like_date(series: pd.Series) -> bool:
    """Return whether a column has dates."""
    return bool(series.notna().any()) and _kind(series.dropna())[0] is DATE


def _listed(names: Iterable) -> str:
    """Return the first names and the number of the rest."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more
