"""Raw files to arrays: X and Y as the catalogue declares them, in original units."""

import io
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from kcde.data import catalogue as tables
from kcde.data.fetch import UNPACKED, check_sha256, unpacked

# From the number of a split to its training rows and its test rows.
Rows = Callable[[int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Split:
    """Rows to train, X (n, d_x) and Y (n, d_y), and others to test."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """The numbers of one data set, unstandardised, in the order of the file.

    Attributes
    ----------
    name : str
        Name in the catalogue.
    X : numpy.ndarray
        Shape (n, d_x), float64; d_x = 0 for a joint density.
    Y : numpy.ndarray
        Shape (n, d_y), float64.
    x_columns, y_columns : tuple of str
        Names of the columns of X and Y.
    sha256 : str
        Checksum of the raw file.
    rows : callable or None
        From the number of a split to its training and test rows; None: random halves.
    groups : numpy.ndarray or None
        Shape (n,): labels of rows that folds keep together, where folds choose; None: none.
    """

    name: str
    X: np.ndarray
    Y: np.ndarray
    x_columns: tuple[str, ...]
    y_columns: tuple[str, ...]
    sha256: str
    rows: Rows | None = None
    groups: np.ndarray | None = None


def load(name: str, data_dir: str | Path, catalogue: str | Path | None = None) -> Dataset:
    """Read one data set from the raw data folder.

    Parameters
    ----------
    name
        Name or alias in the catalogue.
    data_dir
        Where `kcde.data.fetch.fetch` put the files.
    catalogue
        A catalogue CSV; the built-in one when None.

    Returns
    -------
    Dataset
        X (n, d_x) and Y (n, d_y), finite float64.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If the data set is unknown, its format has no loader, the checksum is wrong, a column is
        missing, not numeric or not finite, a factor has an undeclared level, or the shape is not
        the catalogue's.
    """
    entry = tables.find(tables.read(catalogue), name)
    try:
        return _dataset(entry, _prepared(read_table(entry, raw_file(entry, data_dir)), entry))
    except ValueError as error:
        raise ValueError(f"data set {entry.name}: {error}") from error


def raw_file(entry: tables.Entry, data_dir: str | Path) -> Path:
    """Return where the file of a data set lies, once its checksum was found right."""
    path, again = Path(data_dir) / entry.file, f"run python -m kcde fetch {entry.name}"
    if not entry.sha256:
        raise ValueError(f"the catalogue has no checksum; {entry.notes}")
    if not path.is_file():
        raise FileNotFoundError(f"data set {entry.name}: no file {path}; {again}")
    try:
        check_sha256(path, entry.sha256)
    except ValueError as error:
        raise ValueError(f"{path} has the {error}; delete it and {again}") from None
    return path


def read_table(entry: tables.Entry, path: Path) -> pd.DataFrame:
    """Return the table that the file of a data set holds."""
    if entry.format not in _READERS:
        raise ValueError(f"no loader for the format {entry.format}; known: {', '.join(_READERS)}")
    try:
        return _READERS[entry.format](path)
    except OSError:
        raise
    except Exception as error:  # the libraries raise whatever a file leads them to
        raise ValueError(f"{path} cannot be read as {entry.format}: {error}") from error


def _dataset(entry: tables.Entry, table: pd.DataFrame) -> Dataset:
    """Take X and Y out of the prepared table and check them."""
    rows, both = len(table), (entry.x, entry.y)
    of_each = [np.array([_numbers(table, column) for column in names]) for names in both]
    if entry.rows is not None and rows != entry.rows:
        raise ValueError(f"{rows} rows after preprocessing; the catalogue says {entry.rows}")
    X, Y = (found.reshape(len(found), rows).T.copy() for found in of_each)
    return Dataset(entry.name, X, Y, *both, entry.sha256)


def _numbers(table: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column as finite float64, shape (n,)."""
    if not is_numeric_dtype(_column(table, column)):
        raise ValueError(f"column {column!r} is not numeric; declare `factor:{column}=A B C`")
    values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    if bad := np.flatnonzero(~np.isfinite(values)).tolist():
        where = f"missing or infinite in {len(bad)} rows (first: row {bad[0]})"
        raise ValueError(f"column {column!r} is {where}; `drop-missing-rows` omits them")
    return values


def _column(table: pd.DataFrame, column: str) -> pd.Series:
    if column not in table.columns:
        raise ValueError(f"no column {column!r}; there are {', '.join(map(str, table.columns))}")
    return table[column]


# ---- preprocessing -------------------------------------------------------------------------------


def _prepared(table: pd.DataFrame, entry: tables.Entry) -> pd.DataFrame:
    """Apply the catalogue's steps in order."""
    for step in entry.preprocessing:
        kind, _, rest = step.partition(":")
        column, _, levels = rest.partition("=")
        if kind == "drop-missing-rows":
            # A row counts by the columns in use: gaps elsewhere in the file do no harm.
            used = [name for name in table.columns if name in {*entry.x, *entry.y}]
            table = table.dropna(subset=used)
        elif kind == "factor":
            table = table.assign(**{column: _coded(_column(table, column), levels.split())})
        else:
            time = pd.to_datetime(_column(table, column))
            table = table.assign(weekday=time.dt.day_of_week, hour=time.dt.hour)
    return table


def _coded(column: pd.Series, levels: list[str]) -> pd.Series:
    """Replace each level by its place in `levels`; missing values stay missing."""
    text = column.astype("object").map(str, na_action="ignore")
    if more := ", ".join(sorted(set(text.dropna()) - set(levels))):
        raise ValueError(f"column {column.name!r} has the levels {more} beside the declared")
    return text.map({level: float(code) for code, level in enumerate(levels)}).astype(np.float64)


# ---- formats -------------------------------------------------------------------------------------


def _read_rda(path: Path) -> pd.DataFrame:
    """Read an R workspace that holds one data frame."""
    import rdata

    with warnings.catch_warnings():
        # Both are harmless: old files mark neither the encoding of their ASCII names nor use the
        # pairlist tags of single values. Anything else rdata warns about is shown.
        for message in ("Unknown encoding. Assumed ASCII.", "Tag not implemented for type"):
            warnings.filterwarnings("ignore", message=re.escape(message), category=UserWarning)
        objects = rdata.read_rda(io.BytesIO(unpacked(path)))
    frames = {key: value for key, value in objects.items() if isinstance(value, pd.DataFrame)}
    if len(frames) != 1:
        raise ValueError(f"it holds {len(frames)} data frames, {sorted(objects)}; expected one")
    (table,) = frames.values()
    return table.rename(columns=str).reset_index(drop=True)


def _read_mat(path: Path) -> pd.DataFrame:
    """Read the longest matrices of a MATLAB file; several columns are called `name[0]`, ..."""
    from scipy.io import loadmat

    # SciPy's reader trusts the sizes that a file states: its checksum was asked before.
    arrays = {key: value for key, value in loadmat(path).items() if isinstance(value, np.ndarray)}
    rows = max(map(len, arrays.values()))
    columns = {}
    for key, value in arrays.items():
        if len(value) == rows:
            names = [key] if value.shape[1] == 1 else [f"{key}[{i}]" for i in range(value.shape[1])]
            columns |= dict(zip(names, value.T, strict=True))
    return pd.DataFrame(columns)


def _read_zip_french(path: Path) -> pd.DataFrame:
    """Read the first table of a file of Kenneth French's data library, its dates as `date`.

    An archive of one text: some lines of prose, a header that begins with a comma because the
    column of dates has no name, rows, an empty line, and then further tables or a notice.
    """
    with zipfile.ZipFile(path) as archive:
        (member,) = archive.infolist()
        if member.file_size > UNPACKED:
            raise ValueError(f"it unpacks to more than {UNPACKED} bytes")
        lines = archive.read(member).decode("latin-1").splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith(","))
    stop = next((i for i in range(header, len(lines)) if not lines[i].strip()), len(lines))
    table = pd.read_csv(io.StringIO("\n".join(["date" + lines[header], *lines[header + 1 : stop]])))
    return table.rename(columns=str.strip)


_READERS = {"rda": _read_rda, "mat": _read_mat, "zip-french": _read_zip_french}
_READERS |= {"csv": pd.read_csv, "csv-semicolon": partial(pd.read_csv, sep=";")}
