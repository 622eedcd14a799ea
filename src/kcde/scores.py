"""The tidy table that every experiment writes and every artefact reads."""

import gzip
import hashlib
import io
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import __version__
from kcde.files import atomic, read_arrays, read_object, refused

_OF_FIT = ["experiment", "dataset", "dim", "setting", "method", "variant", "split"]
_OF_CELL = ["n_train", "n_test", "metric", "value", "stderr", "unit", "seconds", "status", "detail"]
COLUMNS = [*_OF_FIT, *_OF_CELL, "backend", "dtype", "seed"]

_NUMBERS = ["dim", "split", "n_train", "n_test", "value", "stderr", "seconds", "seed"]

STATUSES = ("ok", "failed", "not-run")

_MEASURED = ("s", "samples/s", "MiB")  # units of what is another number each time

_LARGEST = 2**28  # bytes of a table that are read; one that is larger is incomplete then
_AGAIN = "delete it and run its job again (files of older versions as well)"


def setting(**axes: object) -> str:
    """Return the canonical JSON of an experiment's axes (sorted keys, no blanks)."""
    return json.dumps(axes, sort_keys=True, separators=(",", ":"))


def cell(metric: str, value: float, unit: str = "", stderr=np.nan, detail: str = "") -> dict:
    """Return the columns of a score row that a number fills; failed where it is not finite."""
    row = {"metric": metric, "unit": unit, "stderr": float(stderr)}
    if np.isfinite(value):
        return row | {"value": float(value), "status": "ok", "detail": detail}
    return row | {"value": np.nan, "status": "failed", "detail": detail or f"{metric} is {value}"}


def failed(metric: str, error: Exception, unit: str = "") -> dict:
    """Return the columns of a score row that an error fills in place of a number."""
    row = {"metric": metric, "unit": unit, "value": np.nan, "status": "failed"}
    return row | {"detail": f"{type(error).__name__}: {error}"}


def cells(units: Mapping[str, str], found: Iterable[float] | Exception) -> list[dict]:
    """Return the cells of metrics with their units: from values in this order, or of an error."""
    if isinstance(found, Exception):
        return [failed(metric, found, unit) for metric, unit in units.items()]
    return [cell(name, value, units[name]) for name, value in zip(units, found, strict=True)]


def write(
    path: str | Path, rows: Sequence[Mapping], info: Mapping, arrays: Mapping | None = None
) -> None:
    """Write one job's scores: `path` (CSV), and next to it `.json` and `.npz`.

    The CSV is written last: where it stands, the other two stand as well. The `.json` says how many
    rows it has, the sha256 of what is not measured time or memory, of the arrays, and of itself, by
    which `read`, `arrays_beside` and `information` see whether they are whole and as they were
    written; so the same job writes the same `.json` again.

    Parameters
    ----------
    path
        The CSV, `results/<scale>/<experiment>/<dataset>/<method>.csv`.
    rows
        One mapping a (split, metric), with keys among `COLUMNS`; missing keys become empty cells.
    info
        Chosen hyper-parameters, data sha256, code digest; versions are added.
    arrays
        Samples, curves and per-point log densities.

    Raises
    ------
    ValueError
        If a row has a key that is not a column.
    """
    path = Path(path)
    for row in rows:
        if unknown := set(row) - set(COLUMNS):
            raise ValueError(f"a score row has unknown columns {sorted(unknown)}; known: {COLUMNS}")
    with atomic(path.with_suffix(".npz")) as temporary:
        np.savez_compressed(temporary, **(arrays or {}))
    content = pd.DataFrame(rows, columns=COLUMNS).to_csv(index=False, float_format="%.10g").encode()
    whole = {"rows": len(rows), "sha256_unmeasured": _digest(content), "versions": _versions()}
    whole["sha256_arrays"] = digest_of_arrays(arrays or {})
    about = {**info, **whole}
    about["sha256_information"] = _digest_of_information(about)
    with atomic(path.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps(about, indent=1, sort_keys=True) + "\n")
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def read(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Read score files into one frame.

    Parameters
    ----------
    paths
        Files written by `write`, or one that `kcde.evidence.tracked` made of them.

    Returns
    -------
    pandas.DataFrame
        With the columns `COLUMNS`; `detail` is "" where nothing was said.

    Raises
    ------
    ValueError
        If a file is damaged, does not have the columns of a score table, has an unknown status, a
        value that is no number with the status ok, no rows, or no `.json` next to it that states
        their number and their checksum.
    """
    frames = [_read(Path(path)) for path in paths]
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(frames, ignore_index=True).fillna({"detail": "", "setting": "{}"})


def _read(path: Path) -> pd.DataFrame:
    """Return one score table, or raise `ValueError` naming it and what is wrong."""
    with refused(path, "is not a score table as its job wrote it", _AGAIN):
        return _checked(path)


def _checked(path: Path) -> pd.DataFrame:
    packed = path.suffix == ".gz"
    about = read_object(path.with_suffix("").with_suffix(".json") if packed else _beside(path))
    about = about or {}
    if packed and about.get("sha256") != hashlib.sha256(path.read_bytes()).hexdigest():
        raise ValueError("it was changed, or no .json beside it has its checksum")
    with (gzip.open if packed else open)(path, "rb") as file:
        content = file.read(_LARGEST)
    frame = pd.read_csv(io.BytesIO(content), dtype={"setting": str, "detail": str})
    if list(frame.columns) != COLUMNS:
        raise ValueError(f"its columns are no {COLUMNS}")
    if unknown := ", ".join(sorted(set(map(str, frame["status"])) - set(STATUSES))):
        raise ValueError(f"it has status {unknown}; known: {', '.join(STATUSES)}")
    wanted = about.get("rows")
    if len(frame) != wanted or not len(frame) or content[-1:] != b"\n":
        of_all = f" of {wanted}" if wanted else " and nothing says how many belong to it"
        raise ValueError(f"it is incomplete: it has {len(frame)} rows{of_all}")
    if not packed and about.get("sha256_unmeasured") != _digest(content):
        raise ValueError("it was changed after its job had written it")
    # The checksum leaves out what is measured.
    if words := [name for name in _NUMBERS if frame[name].dtype.kind not in "iuf"]:
        raise ValueError(f"it has words in the columns {', '.join(words)}")
    if not np.isfinite(frame.loc[frame["status"] == "ok", "value"]).all():
        raise ValueError("it has values that are no numbers with the status ok")
    return frame


def arrays_beside(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays beside a score table; `ValueError` if they are not as they were written."""
    beside = Path(path).with_suffix(".npz")
    with refused(beside, "cannot be read", _AGAIN):
        found = read_arrays(beside)
    if information(path)["sha256_arrays"] != digest_of_arrays(found):
        raise ValueError(f"{beside} is not what its job has written; {_AGAIN}")
    return found


def information(path: str | Path) -> dict:
    """Return what the `.json` beside a score table says; `ValueError` if it was changed."""
    with refused(_beside(path), "is not what its job has written", _AGAIN):
        found = json.loads(_beside(path).read_text())
        if found.pop("sha256_information", None) != _digest_of_information(found):
            raise ValueError("its checksum is that of something else")
    return found


def _digest_of_information(about: Mapping) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _beside(path: str | Path) -> Path:
    return Path(path).with_suffix(".json")


def digest_of_arrays(found: Mapping[str, np.ndarray]) -> str:
    """Return the sha256 of arrays and their names."""
    digest = hashlib.sha256()
    for name in sorted(found):
        array = np.ascontiguousarray(found[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


def _digest(content: bytes) -> str:
    """Return the sha256 of a table but for the seconds and memory in it, which do not repeat."""
    cells = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    kept = cells[~cells["unit"].isin(_MEASURED)].drop(columns="seconds")
    return hashlib.sha256(kept.to_csv(index=False).encode()).hexdigest()


def _versions() -> dict[str, str]:
    own = {"python": platform.python_version(), "kcde": __version__}
    own |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    if (jax := sys.modules.get("jax")) and (trained_on := jax.default_backend()) != "cpu":
        own["jax_platform"] = trained_on
    return own
