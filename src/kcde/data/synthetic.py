"""Synthetic data: small sets in the real file formats, for the smoke tour without downloads."""

import csv
import gzip
import hashlib
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kcde.data import catalogue as tables
from kcde.data import smoke_terrain, smoke_traffic
from kcde.data.fama_french import MISSING
from kcde.data.names import MADE_UP_COLUMNS, MADE_UP_JOINT, MADE_UP_RETURNS
from kcde.files import atomic
from kcde.seeding import rng_of

if TYPE_CHECKING:
    import pandas as pd


_DAYS = 400
_NEWLINE = "\r\n"


def write_smoke_data(folder: str | Path) -> Path:
    """Write `smoke-linear`, `smoke-mixed`, `smoke-joint` and more, and a catalogue of them.

    The files are in the formats of the real ones: two `.rda` files, the second with a factor column
    and missing values; a table with semicolons for joint densities, with a discrete column and two
    that nearly repeat each other; `smoke-portfolios` with a missing return, and the archive
    `smoke-risk-free` that belongs to it; the MATLAB file `smoke-terrain`; hours of `smoke-traffic`,
    some missing and some repeated. So the tour goes through the same readers and the same
    preprocessing as the real data. Same bytes on every run.

    Parameters
    ----------
    folder
        Becomes a mirror: `smoke/*` and `catalogue.csv` below it.

    Returns
    -------
    pathlib.Path
        The catalogue.
    """
    folder = Path(folder)
    returns, risk_free = MADE_UP_RETURNS.values()
    rows = [
        _write_rda(folder, "smoke-linear", _linear(80), y="y", x="x", rows=80),
        _write_rda(
            folder,
            "smoke-mixed",
            _mixed(96, missing=6),
            y="growth",
            x="size|kind",
            preprocessing="drop-missing-rows|factor:kind=dry moist wet",
            rows=90,
        ),
        _write_csv(folder, MADE_UP_JOINT, _joint(150), y="|".join(MADE_UP_COLUMNS), rows=150),
        _write_rda(folder, returns, _portfolios(), y="small|middle|big", x="X", rows=_DAYS),
        _write_french(folder, risk_free, _rates(), y="RF", x="date", rows=_DAYS),
        _write_terrain(folder, "smoke-terrain"),
        _write_traffic(folder, "smoke-traffic"),
    ]
    path = folder / "catalogue.csv"
    with atomic(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, tables.COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def _linear(n: int) -> "pd.DataFrame":
    """Return y linear in x, with noise that grows with x: numeric columns only."""
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-linear")
    x = rng.uniform(0, 10, n)
    y = 1 + 0.5 * x + (0.3 + 0.1 * x) * rng.standard_normal(n)
    return pd.DataFrame({"x": x.round(4), "y": y.round(4)})


def _mixed(n: int, missing: int) -> "pd.DataFrame":
    """Return integers, a factor and a bimodal y; half of the gaps in x, half in y."""
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-mixed")
    size = rng.integers(10, 60, n)
    kind = rng.choice(["dry", "moist", "wet"], n)
    mode = np.where(rng.random(n) < 0.5, -1.0, 1.0) * (kind == "wet")
    growth = np.sqrt(size) + mode + 0.4 * rng.standard_normal(n)
    gaps = rng.choice(n, missing, replace=False)
    size_column = pd.array(size, dtype="Int32")
    size_column[gaps[: missing // 2]] = pd.NA
    growth[gaps[missing // 2 :]] = np.nan
    factor = pd.Categorical(kind, categories=["dry", "moist", "wet"])
    return pd.DataFrame({"size": size_column, "kind": factor, "growth": growth.round(4)})


def _joint(n: int) -> "pd.DataFrame":
    """Return three dependent columns, a near-copy of the first before it, and a discrete one."""
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-joint")
    warmth = rng.gamma(4.0, 1.0, n)
    damp = np.sin(warmth) + (0.2 + 0.1 * warmth) * rng.standard_normal(n)
    wind = np.where(rng.random(n) < 0.5, -1.0, 1.0) * damp + 0.3 * rng.standard_normal(n)
    echo = warmth + 0.05 * rng.standard_normal(n)
    grade = rng.integers(1, 6, n)
    columns = {"echo": echo, "warmth": warmth, "damp": damp, "wind": wind}
    return pd.DataFrame(columns).round(4).assign(grade=grade)


def _dates() -> np.ndarray:
    """Return working days as numbers YYYYMMDD."""
    days = np.busday_offset("2019-01-01", np.arange(_DAYS), roll="forward")
    return np.array([int(str(day).replace("-", "")) for day in days])


def _portfolios() -> "pd.DataFrame":
    """Return returns with a common factor whose spread depends on the day before; one is missing.

    Columns as in the file of the 25 portfolios, in percent.
    """
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-portfolios")
    market = np.zeros(_DAYS + 1)
    for day in range(_DAYS):
        market[day + 1] = (0.5 + 0.6 * abs(market[day])) * rng.standard_normal()
    returns = 0.05 + market[1:, None] * [1.2, 1.0, 0.8] + 0.3 * rng.standard_normal((_DAYS, 3))
    returns = returns.round(2)
    returns[_DAYS // 2, 0] = MISSING[0]
    columns = dict(zip(("small", "middle", "big"), returns.T, strict=True))
    return pd.DataFrame({"X.1": np.arange(1, _DAYS + 1), "X": _dates(), **columns})


def _rates() -> "pd.DataFrame":
    """Return a market factor and a slowly rising risk-free return."""
    import pandas as pd

    rng = rng_of("smoke-data", "smoke-risk-free")
    rate = np.linspace(0.005, 0.015, _DAYS).round(3)
    market = rng.standard_normal(_DAYS).round(2)
    return pd.DataFrame({"Mkt-RF": market, "RF": rate}, index=_dates())


def _write_rda(
    folder: Path, name: str, table: "pd.DataFrame", *, y: str, x: str, rows: int, **more: str
) -> dict[str, object]:
    """Write one `.rda` file; return its row of the catalogue."""
    content = _rda(name.replace("-", "_"), table)
    return _write(folder, name, content, suffix="rda", format="rda", y=y, x=x, rows=rows, **more)


def _write_csv(
    folder: Path, name: str, table: "pd.DataFrame", *, y: str, rows: int
) -> dict[str, object]:
    """Write one table with semicolons, for a joint density; return its row of the catalogue."""
    content = table.to_csv(index=False, sep=";", lineterminator="\n").encode()
    return _write(folder, name, content, suffix="csv", format="csv-semicolon", y=y, x="", rows=rows)


def _write_traffic(folder: Path, name: str) -> dict[str, object]:
    """Write one table of hours as that of the Metro Interstate; return its catalogue row."""
    table = smoke_traffic.hours()
    return _write(
        folder,
        name,
        table.to_csv(index=False, lineterminator="\n").encode(),
        suffix="csv",
        format="csv",
        y="traffic_volume",
        x="weekday|hour",
        rows=len(table),
        preprocessing="weekday-hour:date_time",
    )


def _write_french(
    folder: Path, name: str, table: "pd.DataFrame", *, y: str, x: str, rows: int
) -> dict[str, object]:
    """Write one archive as Kenneth French's data library has them; return its catalogue row."""
    parts = ("Made up, as its name says.", "", table.to_csv(lineterminator=_NEWLINE), "The end")
    text = _NEWLINE.join(parts)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        # A member without a date of its own has that of the clock.
        archive.writestr(zipfile.ZipInfo(f"{name}.CSV"), text)
    return _write(
        folder,
        name,
        content.getvalue(),
        suffix="zip",
        format="zip-french",
        y=y,
        x=x,
        rows=rows,
    )


def _write_terrain(folder: Path, name: str) -> dict[str, object]:
    """Write the heights over a small grid; return its row of the catalogue."""
    return _write(
        folder,
        name,
        smoke_terrain.content(),
        suffix="mat",
        format="mat",
        y="mth_verts",
        x="mth_points[0]|mth_points[1]",
        rows=smoke_terrain.COLUMNS * smoke_terrain.ROWS,
    )


def _write(
    folder: Path, name: str, content: bytes, *, suffix: str, y: str, x: str, **more: object
) -> dict[str, object]:
    file = f"smoke/{name}.{suffix}"
    with atomic(folder / file) as temporary:
        temporary.write_bytes(content)
    return {
        "name": name,
        "file": file,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "licence": "MIT",
        "citation": "generated by python -m kcde smoke-data",
        "y": y,
        "x": x,
        "columns": len([*filter(None, f"{x}|{y}".split("|"))]),
        "notes": "made up; says nothing about any method",
        **more,
    }


def _rda(name: str, table: "pd.DataFrame") -> bytes:
    """Return the table as an R workspace, compressed without the time of day."""
    from rdata.conversion import convert_python_to_r_data
    from rdata.unparser import unparse_data

    numbered = table.set_index(np.arange(1, len(table) + 1))
    workspace = convert_python_to_r_data({name: numbered}, file_type="rda", encoding="utf-8")
    return gzip.compress(unparse_data(workspace, file_type="rda"), mtime=0)
