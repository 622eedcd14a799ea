"""Raw files to arrays: X and Y as the catalogue declares them, in original units."""

import io
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kcde.data import catalogue as tables
from kcde.data import limits, matlab
from kcde.data.catalogue import Entry
from kcde.data.fetch import check_sha256

if TYPE_CHECKING:
    import pandas as pd


Rows = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""From the number of a split to its training rows and its test rows."""


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
    if entry.format not in READERS:
        raise ValueError(
            f"data set {entry.name}: no loader for the format {entry.format}; "
            f"load reads {', '.join(READERS)}"
        )
    return read(entry, raw_file(entry, data_dir))


def read(entry: Entry, path: Path) -> Dataset:
    """Read the file of a data set, whose checksum is not asked.

    Parameters
    ----------
    entry
        A row of the catalogue whose format is one of `READERS`.
    path
        The file.

    Returns
    -------
    Dataset
        As `load` returns it.

    Raises
    ------
    ValueError
        If the file is damaged, or is not as the catalogue says; the message names it.
    """
    remedy = f"delete it and run python -m kcde fetch {entry.name}"
    named = limits.named(path, f"{entry.format} file", remedy)
    with named, warnings.catch_warnings(record=True) as said:
        data = _dataset(entry, _prepared(READERS[entry.format](path), entry))
    # Only where the file is read: of one that is refused the error says enough.
    for each in said:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return data


def raw_file(entry: Entry, data_dir: str | Path) -> Path:
    """Return where the file of a data set lies, once its checksum was found right.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If the checksum is wrong, or the catalogue has none.
    """
    if not entry.sha256:
        raise ValueError(f"data set {entry.name}: the catalogue has no checksum; {entry.notes}")
    path = Path(data_dir) / entry.file
    if not path.is_file():
        raise FileNotFoundError(
            f"data set {entry.name}: no file {path}; run python -m kcde fetch {entry.name}"
        )
    try:
        check_sha256(path, entry.sha256)
    except ValueError as error:
        raise ValueError(
            f"data set {entry.name}: {path} has the {error}; delete it and run "
            f"python -m kcde fetch {entry.name}"
        ) from None
    return path


def _dataset(entry: Entry, table: "pd.DataFrame") -> Dataset:
    """Take X and Y out of the prepared table and check them."""
    values = {column: _numbers(table, column, entry) for column in (*entry.x, *entry.y)}
    rows = len(table)
    if entry.rows is not None and rows != entry.rows:
        raise ValueError(
            f"data set {entry.name}: {rows} rows after preprocessing, where the catalogue says "
            f"{entry.rows}; correct `rows` or `preprocessing` there"
        )

    def columns(names: tuple[str, ...]) -> np.ndarray:
        return np.array([values[name] for name in names]).reshape(len(names), rows).T.copy()

    return Dataset(entry.name, columns(entry.x), columns(entry.y), entry.x, entry.y, entry.sha256)


def _numbers(table: "pd.DataFrame", column: str, entry: Entry) -> np.ndarray:
    """Return a column as finite float64, shape (n,)."""
    from pandas.api.types import is_numeric_dtype

    _require(table, column, entry)
    if not is_numeric_dtype(table[column]):
        raise ValueError(
            f"data set {entry.name}: column {column!r} is not numeric; declare a coding, "
            f"`factor:{column}=A B C`, in the catalogue's preprocessing"
        )
    values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    if bad := np.flatnonzero(~np.isfinite(values)).tolist():
        raise ValueError(
            f"data set {entry.name}: column {column!r} is missing or infinite in {len(bad)} of "
            f"{len(values)} rows (first: row {bad[0]}); `drop-missing-rows` in the catalogue's "
            "preprocessing leaves such rows out"
        )
    return values


def _require(table: "pd.DataFrame", column: str, entry: Entry) -> None:
    if column not in table.columns:
        raise ValueError(
            f"data set {entry.name}: no column {column!r} in {entry.file}; "
            f"it has {', '.join(map(str, table.columns))}"
        )


# ---- preprocessing -------------------------------------------------------------------------------


def _prepared(table: "pd.DataFrame", entry: Entry) -> "pd.DataFrame":
    """Apply the catalogue's steps in order."""
    for step in entry.preprocessing:
        kind, _, rest = step.partition(":")
        column, _, levels = rest.partition("=")
        if kind == "drop-missing-rows":
            # A row counts by the columns in use: gaps elsewhere in the file do no harm.
            used = [name for name in table.columns if name in {*entry.x, *entry.y}]
            table = table.dropna(subset=used)
            continue
        _require(table, column, entry)
        if kind == "factor":
            table = table.assign(**{column: _coded(table[column], levels.split(), entry)})
        else:
            table = _weekday_hour(table, column)
    return table


def _coded(column: "pd.Series", levels: list[str], entry: Entry) -> "pd.Series":
    """Replace each level by its place in `levels`; missing values stay missing."""
    found = column.astype("object")
    text = found.where(found.isna(), found.astype(str))
    if unexpected := sorted(set(text.dropna()) - set(levels)):
        raise ValueError(
            f"data set {entry.name}: column {column.name!r} has the levels {', '.join(unexpected)}"
            f" beside the declared {', '.join(levels)}; declare all of them in the catalogue"
        )
    codes = {level: float(code) for code, level in enumerate(levels)}
    return text.map(codes).astype(np.float64)


def _weekday_hour(table: "pd.DataFrame", column: str) -> "pd.DataFrame":
    """Add the columns `weekday` (Monday 0) and `hour` of a time."""
    import pandas as pd

    time = pd.to_datetime(table[column])
    return table.assign(weekday=time.dt.day_of_week, hour=time.dt.hour)


# ---- formats -------------------------------------------------------------------------------------


def _read_rda(path: Path) -> "pd.DataFrame":
    """Read an R workspace that holds one data frame."""
    import pandas as pd
    import rdata

    with warnings.catch_warnings():
        # Both are harmless: old files mark neither the encoding of their ASCII names nor use the
        # pairlist tags of single values. Anything else rdata warns about is shown.
        for message in ("Unknown encoding. Assumed ASCII.", "Tag not implemented for type"):
            warnings.filterwarnings("ignore", message=re.escape(message), category=UserWarning)
        content = io.BytesIO(limits.unpacked(path))
        objects = rdata.read_rda(content, altrep_constructor_dict=_compact_vectors())
    frames = {key: value for key, value in objects.items() if isinstance(value, pd.DataFrame)}
    if len(frames) != 1:
        raise ValueError(f"{path} holds {len(frames)} data frames, {sorted(objects)}; expected one")
    (table,) = frames.values()
    return table.rename(columns=str).reset_index(drop=True)


def _compact_vectors() -> dict[bytes, Callable]:
    """Return how rdata reads R's compact vectors, with a limit on sequences.

    They stand in a file as length, start and step, so that a few bytes may declare any length.
    """
    from rdata.parser import DEFAULT_ALTREP_MAP

    lengths = []

    def limited(read: Callable) -> Callable:
        def sequence(state):
            lengths.append(int(state.value[0]))
            if 8 * sum(lengths) > limits.UNPACKED or lengths[-1] < 0:
                raise limits.too_large(limits.UNPACKED)
            return read(state)

        return sequence

    names = (b"compact_intseq", b"compact_realseq")
    return {**DEFAULT_ALTREP_MAP, **{name: limited(DEFAULT_ALTREP_MAP[name]) for name in names}}


def _read_csv(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(io.BytesIO(limits.unpacked(path)))


def _read_csv_semicolon(path: Path) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(io.BytesIO(limits.unpacked(path)), sep=";")


def _read_mat(path: Path) -> "pd.DataFrame":
    """Read the longest matrices of a MATLAB file; several columns are called `name[0]`, ..."""
    import pandas as pd

    arrays = matlab.read(path)
    if not arrays:
        raise ValueError(f"{path} holds no matrix of real numbers")
    rows = max(len(value) for value in arrays.values())
    columns = {}
    for key, value in arrays.items():
        if len(value) == rows:
            for i in range(value.shape[1]):
                columns[key if value.shape[1] == 1 else f"{key}[{i}]"] = value[:, i]
    return pd.DataFrame(columns)


def _read_zip_french(path: Path) -> "pd.DataFrame":
    """Read the first table of a file of Kenneth French's data library, its dates as `date`.

    An archive of one text: some lines of prose, a header that begins with a comma because the
    column of dates has no name, rows, an empty line, and then further tables or a notice.
    """
    import pandas as pd

    with zipfile.ZipFile(path) as archive:
        if len(archive.namelist()) != 1:
            raise ValueError(f"{path} holds {archive.namelist()}; expected one file")
        with archive.open(archive.namelist()[0]) as content:
            lines = limits.read(content).decode("latin-1").splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith(",")), None)
    if header is None:
        raise ValueError(
            f"{path}: no header that begins with a comma, as those of Kenneth French's tables do"
        )
    stop = next((i for i in range(header, len(lines)) if not lines[i].strip()), len(lines))
    table = pd.read_csv(io.StringIO("\n".join(["date" + lines[header], *lines[header + 1 : stop]])))
    return table.rename(columns=str.strip)


READERS: dict[str, Callable[[Path], "pd.DataFrame"]] = {
    "rda": _read_rda,
    "csv": _read_csv,
    "csv-semicolon": _read_csv_semicolon,
    "mat": _read_mat,
    "zip-french": _read_zip_french,
}
