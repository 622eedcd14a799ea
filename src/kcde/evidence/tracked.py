"""What is tracked: the commit, the scores of all splits, and tables compared with those computed.

`scores.csv.gz` has the rows that the experiments wrote: with it a reviewer judges again without
running, and `kcde draw dde/table2 --scores figures/scores.csv.gz --into FOLDER` makes a table of
them, where it needs no arrays. Beside it stands `scores.json`, what is known of the run.

`kcde verify` compares CSVs alone, because pages and pictures are drawn from them. Rows are matched
by what they say of themselves in words, those that say the same in their order; then words must be
equal, and numbers agree to a tolerance (`kcde.evidence.verdicts`). Of methods that are trained in
float32 the comparisons with others (ranks, p-values) and the reasons are left out, and what is
measured (seconds, memory) always.
"""

import gzip
import hashlib
import io
import json
import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import kcde
from kcde import scores
from kcde.evidence import readings, scorecard, verdicts
from kcde.files import staged
from kcde.papers import registry

UNKNOWN = "unknown"
"""Stands where the package does not lie in a checkout, or git is not there."""


@cache
def commit(package: Path = Path(kcde.__file__).parent) -> str:
    """Return the commit of the checkout that a package lies in.

    Ten digits, with `+` where a tracked file other than those under `figures/` is changed;
    `unknown` where git does not track the package.
    """
    known = _git(package, "ls-files", "--error-unmatch", "__init__.py")
    head = _git(package, "rev-parse", "--short=10", "HEAD")
    if known is None or head is None:
        return UNKNOWN
    # A run writes the tracked outputs itself.
    same = _git(package, "diff", "--quiet", "HEAD", "--", ":(top)", ":(top,exclude)figures")
    return head.decode().strip() + ("+" if same is None else "")


def of_commit(folder: Path) -> dict[str, bytes]:
    """Return the CSVs of the last commit below a folder by path below it, none without git."""
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", "HEAD", ".") or b""
    names = [name for name in listed.decode("utf-8").split("\0") if name.endswith(".csv")]
    return {name: _git(folder, "show", f"HEAD:./{name}") for name in names}


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git writes in a folder, None where it fails or is not there."""
    command = ["git", "-C", f"{folder}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


TABLE, ABOUT = "scores.csv.gz", "scores.json"

# Bytes of the compressed table, since git carries every version of it.
LARGEST = 5_000_000

_COUNTS = ["dim", "split", "n_train", "n_test", "seed"]


def write(files: Iterable[str | Path], into: str | Path, scale: str) -> list[Path]:
    """Write the scores of a run as one compressed table, and what is known of it.

    Rows are sorted, numbers have six digits and seconds, which do not repeat, two; the same score
    files give the same bytes.

    Parameters
    ----------
    files
        Score CSVs of a finished run.
    into
        The folder of the outputs, `figures`.
    scale
        Of the run.

    Returns
    -------
    list of pathlib.Path
        The table and `scores.json`.

    Raises
    ------
    ValueError
        If a score file is incomplete, or the table is larger than `LARGEST`.
    """
    files = [Path(name) for name in files]
    frame = _plain(scores.read(files))
    # Without a time in its head the same rows give the same bytes.
    packed = gzip.compress(frame.to_csv(index=False, float_format="%.6g").encode(), mtime=0)
    if len(packed) > LARGEST:
        counts = frame["experiment"].value_counts().head(3)
        most = ", ".join(f"{name} ({rows} rows)" for name, rows in counts.items())
        size = f"{TABLE} would have {len(packed)} bytes, more than {LARGEST}"
        raise ValueError(f"{size}; most rows are of {most}: name fewer score files")
    known = {"scale": scale, "commit": commit(), "files": len(files), "rows": len(frame)}
    known |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
    known |= _of_files(files) | {"experiments": _by_experiment(frame)}
    with staged(into) as stage:
        (stage / TABLE).write_bytes(packed)
        (stage / ABOUT).write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return [Path(into) / name for name in (TABLE, ABOUT)]


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return scores in one order, counts as whole numbers and seconds with two digits."""
    frame = frame.assign(**{name: frame[name].astype("Int64") for name in _COUNTS})
    frame["seconds"] = frame["seconds"].map(lambda value: float(f"{value:.2g}"))
    key = ["experiment", "dataset", "method", "variant", "setting", "dim", "split", "metric"]
    rest = [name for name in scores.COLUMNS if name not in key]
    return frame.sort_values([*key, *rest], kind="stable", ignore_index=True)


def _of_files(files: Sequence[Path]) -> dict:
    """Return versions and checksums of raw data that stand beside the score files."""
    versions, data = defaultdict(set), {}
    for path in files:
        said = scores.information(path)
        for name, version in said.get("versions", {}).items():
            versions[name].add(version)
        dataset = said.get("job", {}).get("dataset")
        if dataset and (checksums := said.get("data_sha256")):
            data[dataset] = [checksums] if isinstance(checksums, str) else checksums
    return {"versions": {name: sorted(each) for name, each in versions.items()}, "data": data}


def _by_experiment(frame: pd.DataFrame) -> dict[str, dict]:
    """Return rows, methods, splits, libraries and seconds of each experiment."""
    found = {}
    for experiment, rows in frame.groupby("experiment"):
        fit = ["dataset", "dim", "setting", "method", "variant", "split"]
        seconds = rows.groupby(fit, dropna=False)["seconds"].max().sum()
        known: dict = {"rows": len(rows), "failed": int((rows["status"] == "failed").sum())}
        for name in ("dataset", "method", "split", "seed"):
            known[f"{name}s"] = rows[name].nunique()
        for name in ("backend", "dtype"):
            known[f"{name}s"] = sorted(set(rows[name].dropna()))
        found[experiment] = known | {"seconds": round(float(f"{seconds:.2g}"))}
    return found


SAME, WITHIN, BEYOND, NEW = "same", "within", "beyond", "not tracked"

_ABOUT = ["metric", "unit", "panel", "series", "stat"]
_KEY = ["kind", "paper", "artefact", "claim", "choice", "reading"]
_KEY += ["dataset", "method", "variant", "against", *_ABOUT]
_VERDICTS = ("verdict", "class", "choices")
# Columns that compare a method with others, some of which may be trained in float32.
_LOOSE = ("best", "p_value", "p_value_corrected", "rank", "excess", "sets_best", "wins", "losses")
# Columns of a unit of their own; all others of a row are in that of its metric.
_OTHER_UNITS = {"x": "x", "x_right": "x", "n": "n", "n_train": "n"}
_OTHER_UNITS |= {"failed": "failed", "rank": "rank"}

_DIGITS = 6  # as a table prints

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


@dataclass
class Drift:
    """How a table differs from the tracked one: the cells beyond the tolerance, in words."""

    name: str
    verdict: str = SAME
    compared: int = 0
    beyond: list[str] = field(default_factory=list)
    largest: float = 0.0

    def __str__(self) -> str:
        if self.verdict in (SAME, NEW):
            return f"{self.name}: {self.verdict}"
        first = f"{self.name}: {len(self.beyond)} of {self.compared} cells beyond their tolerance"
        return "\n  ".join([first + f"; largest difference {self.largest:.2g}", *self.beyond[:3]])


def verify(computed: Path, tracked: Path = Path("figures"), target: str = "all") -> list[Drift]:
    """Compare the tables that were computed with those of the last commit, or of another folder."""
    declared = {f"{each.key}.csv": each.tolerance for each in registry.select(target)}
    there = (path.relative_to(computed) for path in sorted(computed.rglob("*.csv")))
    decided = (readings.NAME, scorecard.TABLE) if target == "all" else ()
    found = [f"{path}" for path in there if f"{path}" in {*declared, *decided}]
    if not found:
        raise FileNotFoundError(f"nothing was run here: no table in {computed}; run `snakemake`")
    if not (known := of_commit(tracked)):
        known = {p.relative_to(tracked).as_posix(): p.read_bytes() for p in tracked.rglob("*.csv")}
    if not known.keys() & {*found}:
        here = f"of the tables in {computed}, such as {found[0]}"
        raise ValueError(f"{tracked} has none {here}: give a folder such as figures to --tracked")
    # What is decided has verdicts alone to compare.
    of = {name: declared.get(name, verdicts.VERDICTS) for name in found}
    return [_drift(name, computed / name, known.get(name), each) for name, each in of.items()]


def _drift(name: str, path: Path, tracked: bytes | None, declared: float) -> Drift:
    if tracked is None:
        return Drift(name, NEW)
    if tracked == path.read_bytes():
        return Drift(name)
    found = Drift(name, WITHIN)
    one, other = (_table(name, content) for content in (tracked, path.read_bytes()))
    if list(one.columns) != list(other.columns):
        found.beyond.append(f"columns: {', '.join(sorted(set(one.columns) ^ set(other.columns)))}")
    else:
        _compare(found, one, other, declared)
    found.verdict = BEYOND if found.beyond else WITHIN
    return found


def _table(name: str, content: bytes) -> pd.DataFrame:
    try:
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise ValueError(f"{name} is no table: {error}; draw it again") from None
    key = table[[column for column in _KEY if column in table]].apply("|".join, axis=1)
    return table.assign(_key=key, _place=key.groupby(key).cumcount()).set_index(["_key", "_place"])


def _compare(drift: Drift, one: pd.DataFrame, other: pd.DataFrame, declared: float) -> None:
    """Note in `drift` how the rows of a table differ from the tracked ones."""
    measured = [" ".join(row) for row in one[[c for c in _ABOUT if c in one]].to_numpy()]
    kept = one[[not verdicts.is_measured(said) for said in measured]]
    if declared < verdicts.VERDICTS:
        lacking = kept.index.difference(other.index)
        drift.beyond += [f"{key}: tracked, not computed" for key, _ in lacking]
    kept = kept.loc[kept.index.isin(other.index)]
    scales = None if kept.empty else _scales(kept)
    for place, row in kept.iterrows():
        against = other.loc[place]
        tolerance = max(declared, verdicts.of_method(row.get("method", "")))
        if tolerance > verdicts.EXACT and _number(row.get("failed", "")):
            tolerance = verdicts.VERDICTS  # a mean of fits of which some exploded
        for column in row.index:
            if column in _KEY or verdicts.is_measured(column) or column == "commit":
                continue
            a, b = row[column], against[column]
            scale = scales[place[0]].get(_OTHER_UNITS.get(column, "metric"), 0.0)
            share, allowed = _difference(column, a, b, scale, tolerance)
            drift.compared += 1
            drift.largest = max(drift.largest, share if math.isfinite(share) else 0.0)
            if share > allowed:
                where = f"{place[0].strip('|').replace('|', ' ')}, {column}"
                drift.beyond.append(f"{where}: {b or 'empty'}, tracked {a or 'empty'}")


def _scales(table: pd.DataFrame) -> pd.DataFrame:
    """Return the largest number of each unit (rows) where rows say the same of themselves."""
    numbers = table.apply(pd.to_numeric, errors="coerce").abs().replace(np.inf, np.nan)
    units = numbers.columns.map(lambda column: _OTHER_UNITS.get(column, "metric"))
    return numbers.groupby(level=0).max().T.groupby(units).max()


def _difference(column: str, a: str, b: str, scale: float, tolerance: float) -> tuple[float, float]:
    """Return the difference of two cells as a share of their scale, and how large it may be."""
    if a == b:
        return 0.0, 0.0
    if column in _VERDICTS:
        return math.inf, 0.0
    if tolerance == verdicts.VERDICTS or (tolerance > verdicts.EXACT and column in _LOOSE):
        return 0.0, 0.0
    one, other = _number(a), _number(b)
    if one is None or other is None:
        alike = _NUMBER.split(a) == _NUMBER.split(b) or tolerance > verdicts.EXACT
        return (0.0 if alike and a and b else math.inf), 0.0
    if one == other:
        return 0.0, 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf, 0.0
    # p-values are on a scale of one.
    scale = 1.0 if column.startswith("p_value") else max(abs(one), abs(other), scale)
    difference = max(0.0, abs(one - other) - verdicts.ROUNDING)
    last_digit = 10.0 ** (math.floor(math.log10(max(abs(one), abs(other)))) + 1 - _DIGITS)
    return difference / scale, tolerance + 1.001 * last_digit / scale


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
