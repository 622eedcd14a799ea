"""Comparison of the tables of a run with those that are tracked: `kcde verify`.

Only CSVs are compared, because pages and pictures are drawn from them. Rows are matched by what
they say of themselves in words, those that say the same in their order; then words must be equal,
and numbers agree to a tolerance (`kcde.artefacts.core.tolerances`).
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kcde.artefacts.core import registry, scales, tolerances
from kcde.artefacts.judging import checkout, claims, readings, scorecard
from kcde.files import finished

SAME, WITHIN, BEYOND = "same", "within", "beyond"
MISSING, NEW, OTHER_SCALE = "missing", "new", "another scale"

_ABOUT = ("metric", "unit", "panel", "series", "stat")
_KEY = (
    *("kind", "paper", "artefact", "claim", "choice", "reading"),
    *("dataset", "method", "variant", "against", *_ABOUT),
)
_VERDICTS = ("verdict", "amended", "compatible", "readings")
_CLAUSES = "parts"
_P_VALUES = ("p_value", "p_value_corrected")
_COMPARISONS = ("best", *_P_VALUES, "rank", "excess", "sets_best", "wins", "losses")
"""Columns that compare a method with others, some of which may be trained in float32."""

_UNITS = (("x", "x_right"), ("y", "y_low", "y_high"), ("n", "n_train"), ("failed",), ("rank",))
"""Columns of one unit each; all others of a table are in that of its metric."""

_DIGITS = 6
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")

Row = Mapping[str, str]


@dataclass
class Drift:
    """How a table differs from the tracked one.

    Attributes
    ----------
    name
        Path below the folder of the outputs.
    verdict
        `same`: byte for byte; `within` or `beyond` the tolerances; `missing`: tracked, but not
        there; `new`: there, but not tracked; `another scale`: all rows are of other repetitions.
    compared
        Number of cells that were compared.
    beyond
        What is beyond the tolerance, in words.
    largest
        The largest difference of a number, as a share of what its tolerance is a share of.
    where
        Of it, in words.
    note
        Which rows are skipped.
    """

    name: str
    verdict: str = SAME
    compared: int = 0
    beyond: list[str] = field(default_factory=list)
    largest: float = 0.0
    where: str = ""
    note: str = ""


@dataclass(frozen=True)
class Rules:
    """What is asked of the rows of the tables.

    Attributes
    ----------
    declared
        Tolerance of each artefact, by `paper/name`.
    loosest
        The largest tolerance of its rows; infinite also where it has measured ones.
    skipped
        Artefacts of another scale.
    kept
        Scales of the artefacts that runs of the usual one leave as they are.
    """

    declared: Mapping[str, float]
    kept: Mapping[str, str] = field(default_factory=dict)
    loosest: dict[str, float] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)

    def of(self, artefact: str, row: Row) -> float:
        """Return the tolerance of a row."""
        found = max(
            self.declared.get(artefact, tolerances.EXACT),
            tolerances.of_method(row.get("method", "")),
        )
        # A mean of fits of which some exploded is what the explosions make of it.
        is_exploding = found > tolerances.EXACT and (_number(row.get("failed", "")) or 0.0) > 0.0
        return tolerances.VERDICTS if is_exploding else found


def verify(into: str | Path, against: str | Path | None = None, target: str = "all") -> list[Drift]:
    """Compare the tables of a folder with those that are tracked.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.
    against
        A folder of the same kind; the tables of the last commit (git's HEAD) when None.
    target
        `all`, a paper (`kcef`) or an artefact (`kcef/table1`). Claims, readings and scorecard are
        compared with `all`, and claims with their paper.

    Returns
    -------
    list of Drift
        One for each table, those of claims, readings and scorecard last.

    Raises
    ------
    ValueError
        If there is nothing to compare with, or nothing has the name of the target.
    """
    selected = {f"{each.place}.csv": each for each in registry.select(target)}
    tracked = checkout.tracked(Path(into), "*.csv") if against is None else _tables(Path(against))
    found = _tables(Path(into))
    if against is not None and not tracked:
        raise ValueError(f"{against} holds no CSV: give a folder such as figures to --against")
    places = {f"{each.place}.csv": each.key for each in registry.ARTEFACTS.values()}
    names = {name for name in (*tracked, *found) if name in places or _is_judged(name)}
    if target != "all":
        names &= {*selected, f"{target}/claims.csv"}
    declared = {each.key: each.tolerance for each in registry.ARTEFACTS.values()}
    rules = Rules(declared, scales.read(into) if against is None else {})
    # Artefacts before what is decided from them.
    ordered = sorted(names, key=lambda name: (name not in places, name))
    return [_drift(name, places.get(name), tracked, found, rules) for name in ordered]


def _is_judged(name: str) -> bool:
    """Return whether a table says what was decided; others, of run times, need not repeat."""
    return Path(name).name in (claims.NAME, readings.NAME, scorecard.TABLE)


def _tables(folder: Path) -> dict[str, bytes]:
    """Return the tables below a folder by their path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in finished(folder, "**/*.csv")
    }


def _drift(
    name: str, artefact: str | None, tracked: Mapping, found: Mapping, rules: Rules
) -> Drift:
    """Compare a table with the tracked one."""
    if name not in found:
        return Drift(name, MISSING)
    if name not in tracked:
        return Drift(name, NEW)
    one, other = _read(tracked[name], name), _read(found[name], name)
    if artefact is not None:
        rules.loosest[artefact] = max(
            (_looseness(rules, artefact, row) for row in one), default=tolerances.EXACT
        )
    if tracked[name] == found[name]:
        scale = rules.kept.get(artefact or "")
        if scale is None:
            return Drift(name)
        note = f"of the scale {scale}, which no run of another replaces: give its own to --against"
        return Drift(name, OTHER_SCALE, note=note)
    drift = Drift(name, WITHIN)
    _compare(drift, artefact, one, other, rules)
    if drift.note and not drift.compared:
        drift.verdict = OTHER_SCALE
    drift.verdict = BEYOND if drift.beyond else drift.verdict
    return drift


def _read(content: bytes, name: str) -> list[Row]:
    try:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8")), restval="", strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is no table: {error}; draw it again") from None
    if any(None in row for row in rows):
        raise ValueError(f"{name} is no table: a row has more cells than the header; draw it again")
    return rows


def _looseness(rules: Rules, artefact: str, row: Row) -> float:
    return tolerances.VERDICTS if _is_measured(row) else rules.of(artefact, row)


def _is_measured(row: Row) -> bool:
    return any(tolerances.is_measured(row.get(name, "") or "") for name in _ABOUT)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row.get(name) or "" for name in _KEY)


def _keyed(rows: Iterable[Row]) -> dict[tuple, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[_key(row)].append(row)
    return found


def _compare(
    drift: Drift, artefact: str | None, one: list[Row], other: list[Row], rules: Rules
) -> None:
    """Note in `drift` how the rows of a table differ from the tracked ones."""
    columns = [list(rows[0]) if rows else [] for rows in (one, other)]
    if columns[0] != columns[1]:
        changed = sorted(set(columns[0]) ^ set(columns[1])) or ["in another order"]
        drift.beyond.append(f"columns: {', '.join(changed)}")
        return
    keyed, others = _keyed(one), _keyed(other)
    pairs = {key: (keyed.get(key, []), others.get(key, [])) for key in (*keyed, *others)}
    skipped = {key: words for key, pair in pairs.items() if (words := _other_scale(*pair))}
    if skipped and artefact is not None:
        rules.skipped.add(artefact)
        rules.loosest[artefact] = tolerances.VERDICTS
    for key, pair in pairs.items():
        first = (pair[0] or pair[1])[0]
        shown = artefact or _artefact_of(first, drift.name)
        if artefact is None and shown in rules.skipped:
            skipped[key] = "what is decided from such rows"
        if key not in skipped:
            _compare_pair(drift, pair, rules.of(shown, first), rules.loosest.get(shown, 0.0))
    if skipped:
        reasons = ", ".join(dict.fromkeys(skipped.values()))
        count = sum(len(pairs[key][0]) for key in skipped)
        drift.note = f"skipped rows of another scale ({reasons}): {count}"


def _other_scale(one: list[Row], other: list[Row]) -> str:
    """Say so where rows are of more or fewer repetitions, their column n, or name another scale."""
    for column in ("n", "scale"):
        a, b = ({row.get(column) or "" for row in rows} for rows in (one, other))
        if a and b and a != b:
            words = (" or ".join(sorted(values)) or "none" for values in (b, a))
            return f"{column} = {next(words)} for {next(words)}"
    return ""


def _compare_pair(
    drift: Drift, pair: tuple[list[Row], list[Row]], tolerance: float, loosest: float
) -> None:
    """Compare the rows of two tables that say the same of themselves."""
    first = (pair[0] or pair[1])[0]
    if len(pair[0]) == len(pair[1]):
        if not _is_measured(first):
            _compare_rows(drift, pair, tolerance, max(tolerance, loosest))
    # How many points chains draw, or stand out, is what their digits make of it.
    elif not (tolerance == tolerances.VERDICTS or _stands_out(first, tolerance)):
        drift.beyond.append(f"{_label(first)}: {len(pair[1])} rows, tracked {len(pair[0])}")


def _stands_out(row: Row, tolerance: float) -> bool:
    return tolerance > tolerances.EXACT and row.get("stat") == "outlier"


def _compare_rows(
    drift: Drift, pair: tuple[list[Row], list[Row]], tolerance: float, loosest: float
) -> None:
    """Compare rows that say the same of themselves, one by one."""
    scales = _scales(pair[0])
    for row, found in zip(*pair, strict=True):
        for column, a in row.items():
            b = found[column]
            if column in _KEY or _is_free(column, a, b, tolerance, loosest):
                continue
            drift.compared += 1
            share, allowed = _difference(a, b, scales.get(column, 0.0), tolerance)
            where = f"{_label(row)}, {column}: {b or 'empty'}, tracked {a or 'empty'}"
            if share > allowed:
                drift.beyond.append(where)
            if math.isfinite(share) and share > drift.largest:
                drift.largest, drift.where = share, where


def _is_free(column: str, a: str, b: str, tolerance: float, loosest: float) -> bool:
    """Return whether a cell is not compared."""
    if column in _VERDICTS:
        return False
    if column == _CLAUSES:
        # One clause may be a ratio of seconds just below its bound, while the verdict stands.
        return loosest == tolerances.VERDICTS
    if column == "commit" or tolerances.is_measured(column):
        return True
    if column in _COMPARISONS:
        return loosest > tolerances.EXACT
    if _number(a) is None or _number(b) is None:
        # Words, which may hold numbers of every method.
        return bool(a and b) and loosest > tolerances.EXACT
    return tolerance == tolerances.VERDICTS or (column == "failed" and tolerance > tolerances.EXACT)


def _difference(a: str, b: str, scale: float, tolerance: float) -> tuple[float, float]:
    """Return the difference of two cells as a share of their scale, and how large it may be."""
    if a == b:
        return 0.0, 0.0
    one, other = _number(a), _number(b)
    if one is None or other is None:
        is_near = tolerance < tolerances.VERDICTS and _agree_in_words(a, b)
        return (0.0 if is_near else math.inf), 0.0
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf, 0.0
    scale = max(abs(one), abs(other), scale)
    if scale == 0.0:  # 0 and -0
        return 0.0, 0.0
    last_digit = max(_last_digit(one), _last_digit(other))
    difference = max(0.0, abs(one - other) - tolerances.ROUNDING)
    return difference / scale, tolerance + 1.001 * last_digit / scale


def _scales(rows: list[Row]) -> dict[str, float]:
    """Return the largest number of each column and those in the same unit."""
    columns = [name for name in rows[0] if name not in _KEY]
    unit_of = {name: unit for unit in _UNITS for name in unit}
    largest: dict[tuple, float] = defaultdict(float)
    for row in rows:
        for name in columns:
            value = _number(row[name] or "")
            if value is not None and math.isfinite(value) and name not in _P_VALUES:
                unit = unit_of.get(name, ())
                largest[unit] = max(largest[unit], abs(value))
    found = {name: largest[unit_of.get(name, ())] for name in columns}
    return found | dict.fromkeys(_P_VALUES, 1.0)


def _agree_in_words(a: str, b: str) -> bool:
    """Return whether two sentences differ in the last digits of their numbers alone."""
    if _NUMBER.split(a) != _NUMBER.split(b):
        return False
    for one, other in zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True):
        decimals = min(len(each.partition(".")[2]) for each in (one, other))
        unit = 10.0**-decimals if decimals else 0.0
        if abs(float(one) - float(other)) > 1.001 * unit:
            return False
    return True


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _last_digit(value: float) -> float:
    """Return the unit of the last of the digits that a table prints."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1) if value else 0.0


def _artefact_of(row: Row, name: str) -> str:
    """Return the artefact of a row of claims, readings or the scorecard."""
    artefact = row.get("artefact") or ""
    paper = row.get("paper") or name.partition("/")[0]
    return artefact if "/" in artefact else f"{paper}/{artefact}"


def _label(row: Row) -> str:
    """Return what a row is of, in the words of its table."""
    shown = [row.get(name) or "" for name in _KEY]
    return " ".join(dict.fromkeys(filter(None, shown))) or "its only row"


def report(drifts: Iterable[Drift]) -> str:
    """Return the differences in words: a line a table, the worst of each, and the sum.

    Parameters
    ----------
    drifts
        As `verify` returns them.
    """
    drifts = list(drifts)
    lines = [line for each in drifts if each.verdict != SAME for line in _lines(each)]
    counts = {
        "byte for byte the same": SAME,
        "within tolerances": WITHIN,
        "beyond": BEYOND,
        "missing": MISSING,
        "not tracked": NEW,
        "of another scale, skipped": OTHER_SCALE,
    }
    said = [
        f"{number} {words}"
        for words, verdict in counts.items()
        if (number := sum(each.verdict == verdict for each in drifts))
    ]
    tables = "1 table" if len(drifts) == 1 else f"{len(drifts)} tables"
    return "\n".join([*lines, f"{tables}: {', '.join(said)}"])


_SHOWN = 3
"""Cells beyond their tolerance that are named."""


def _lines(drift: Drift) -> list[str]:
    """Return what there is to say of a table that differs."""
    words = {
        MISSING: "missing: it is tracked; make it again, or `git checkout` it",
        NEW: "not tracked: there is nothing to compare it with",
        OTHER_SCALE: drift.note,
    }
    if drift.verdict in words:
        return [f"{drift.name}: {words[drift.verdict]}"]
    count = f"{len(drift.beyond)} beyond" if drift.beyond else "within tolerances"
    first = f"{drift.name}: {count}, of {drift.compared} cells"
    if drift.where:
        first += f"; largest difference {drift.largest:.2g} ({drift.where})"
    named = [f"  {words}" for words in drift.beyond[:_SHOWN]]
    if len(drift.beyond) > _SHOWN:
        named.append(f"  and {len(drift.beyond) - _SHOWN} more")
    return [first, *named, *([f"  {drift.note}"] if drift.note else [])]
