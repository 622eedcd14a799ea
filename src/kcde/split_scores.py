"""The scores of all splits of a run as one tracked table, `scores.csv.gz`.

With it a reviewer judges again without running: `read` gives the rows that the experiments wrote,
and `kcde draw dde/table2 --scores figures/scores.csv.gz --into FOLDER` makes a table of them,
where it needs no arrays. Beside it stands `scores.json`, what is known of the run.
"""

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from kcde import scores
from kcde.evidence import checkout
from kcde.files import read_object, staged

TABLE, ABOUT = FILES = "scores.csv.gz", "scores.json"

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
    known = {"scale": scale, "commit": checkout.commit(), "files": len(files), "rows": len(frame)}
    known |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest()}
    known |= _of_files(files) | {"experiments": _by_experiment(frame)}
    with staged(into) as stage:
        (stage / TABLE).write_bytes(packed)
        (stage / ABOUT).write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return [Path(into) / name for name in (TABLE, ABOUT)]


def about(into: str | Path) -> dict | None:
    """Return what is known of the run whose scores are tracked, None where none are."""
    return read_object(Path(into) / ABOUT)


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
        said = read_object(path.with_suffix(".json")) or {}
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
