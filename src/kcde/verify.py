"""Comparison of the tables that a checkout computed with those that are tracked: `kcde verify`.

Only CSVs are compared, because pages and pictures are drawn from them. Rows are matched by what
they say of themselves in words, those that say the same in their order; then words must be equal,
and numbers agree to a tolerance (`kcde.evidence.tolerances`). Of methods that are trained in
float32 the comparisons with others (ranks, p-values) and the reasons are left out, and what is
measured (seconds, memory) always.
"""

import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import checkout, readings, scorecard, tolerances
from kcde.papers import registry

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
        shown = [first + f"; largest difference {self.largest:.2g}", *self.beyond[:3]]
        return "\n  ".join(shown)


def verify(computed: Path, tracked: Path = Path("figures"), target: str = "all") -> list[Drift]:
    """Compare the tables that were computed with those of the last commit, or of another folder."""
    declared = {f"{each.key}.csv": each for each in registry.select(target)}
    judged = (readings.NAME, scorecard.TABLE)
    there = (path.relative_to(computed) for path in sorted(computed.rglob("*.csv")))
    decided = judged if target == "all" else ()
    found = [f"{path}" for path in there if f"{path}" in declared or path.name in decided]
    if not found:
        raise FileNotFoundError(f"nothing was run here: no table in {computed}; run `snakemake`")
    try:
        known: Mapping[str, bytes] = checkout.tracked(tracked, "*.csv")
    except ValueError:
        known = {p.relative_to(tracked).as_posix(): p.read_bytes() for p in tracked.rglob("*.csv")}
    if not known:
        raise ValueError(f"{tracked} holds no CSV: give a folder such as figures to --tracked")
    # What is decided has verdicts alone to compare.
    of = dict.fromkeys(found, tolerances.VERDICTS)
    of |= {name: each.tolerance for name, each in declared.items()}
    return [_drift(name, computed / name, known.get(name), of[name]) for name in found]


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
    kept = one[[not tolerances.is_measured(said) for said in measured]]
    if declared < tolerances.VERDICTS:
        lacking = kept.index.difference(other.index)
        drift.beyond += [f"{key}: tracked, not computed" for key, _ in lacking]
    kept = kept.loc[kept.index.isin(other.index)]
    scales = _scales(kept)
    for place, row in kept.iterrows():
        against = other.loc[place]
        tolerance = max(declared, tolerances.of_method(row.get("method", "")))
        if tolerance > tolerances.EXACT and _number(row.get("failed", "")):
            tolerance = tolerances.VERDICTS  # a mean of fits of which some exploded
        for column in row.index:
            if column in _KEY or tolerances.is_measured(column) or column == "commit":
                continue
            a, b = row[column], against[column]
            scale = scales[place].get(_unit(column), 0.0)
            share, allowed = _difference(column, a, b, scale, tolerance)
            drift.compared += 1
            drift.largest = max(drift.largest, share if math.isfinite(share) else 0.0)
            if share > allowed:
                where = f"{place[0].strip('|').replace('|', ' ')}, {column}"
                drift.beyond.append(f"{where}: {b or 'empty'}, tracked {a or 'empty'}")


def _unit(column: str) -> str:
    return _OTHER_UNITS.get(column, "metric")


def _scales(table: pd.DataFrame) -> dict[tuple, dict[str, float]]:
    """Return the largest number of each unit among the rows that say the same of themselves."""
    if table.empty:
        return {}
    numbers = table.apply(pd.to_numeric, errors="coerce").abs().replace(np.inf, np.nan)
    largest = numbers.groupby(level=0).max()
    units = largest.columns.map(_unit)
    found = {key: row.groupby(units).max().to_dict() for key, row in largest.iterrows()}
    return {place: found[place[0]] for place in table.index}


def _difference(column: str, a: str, b: str, scale: float, tolerance: float) -> tuple[float, float]:
    """Return the difference of two cells as a share of their scale, and how large it may be."""
    if a == b:
        return 0.0, 0.0
    if column in _VERDICTS:
        return math.inf, 0.0
    if tolerance == tolerances.VERDICTS or (tolerance > tolerances.EXACT and column in _LOOSE):
        return 0.0, 0.0
    one, other = _number(a), _number(b)
    if one is None or other is None:
        alike = _NUMBER.split(a) == _NUMBER.split(b) or tolerance > tolerances.EXACT
        return (0.0 if alike and a and b else math.inf), 0.0
    if one == other:
        return 0.0, 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf, 0.0
    # p-values are on a scale of one.
    scale = 1.0 if column.startswith("p_value") else max(abs(one), abs(other), scale)
    difference = max(0.0, abs(one - other) - tolerances.ROUNDING)
    last_digit = 10.0 ** (math.floor(math.log10(max(abs(one), abs(other)))) + 1 - _DIGITS)
    return difference / scale, tolerance + 1.001 * last_digit / scale


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None
