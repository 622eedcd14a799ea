"""Every published number and claim compared with ours, from tracked files alone.

`figures/scorecard.csv` has one row per published number (kind `number`, or `copy` where a paper
repeats a cell of another) and one per claim (kind `claim`: its id is in `metric` and its numbers
are in `reason`; `dataset`, `method` and the other numbers are empty). `artefact` is the published
name. `compatible` is of numbers; `amended`, `readings` and `parts` are of claims.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core import scales
from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.core.drawing import NOT_REGENERATED
from kcde.artefacts.core.registry import ARTEFACTS
from kcde.artefacts.judging import chains, claims, questions_page, readings, scorecard_page
from kcde.artefacts.judging.causes import explain
from kcde.artefacts.judging.verdicts import RULES, UNDECIDED, too_many_failed
from kcde.artefacts.tables import building
from kcde.files import read_object, staged

TABLE = "scorecard.csv"

COLUMNS = [
    "kind",
    "paper",
    "artefact",
    "dataset",
    "method",
    "metric",
    "published",
    "ours",
    "stderr",
    "n",
    "failed",
    "verdict",
    "reason",
    "compatible",
    "amended",
    "amended_reason",
    "readings",
    "parts",
]

_NUMBERS = ("published", "ours", "stderr", "n", "failed")

NOT_RUN = "not-run"


@dataclass(frozen=True)
class Tracked:
    """What stands in the output folder for one artefact.

    Attributes
    ----------
    declared
        Its declaration, None if there is none.
    table
        Its tracked CSV, None if there is none.
    stale
        Why this run did not regenerate it, "" if it did or if there is no record.
    """

    declared: Artefact | None
    table: pd.DataFrame | None
    stale: str


def build(into: str | Path, records: str | Path | None = None) -> pd.DataFrame:
    """Return the scorecard.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.
    records
        Folder of artefact records (`results/<scale>/artefacts`). Numbers and claims of an artefact
        whose record says `not regenerated` say so.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`: published numbers in their order, then claims.
    """
    into = Path(into)
    values, statements = published.values(), published.claims()
    names = set(zip(values["paper"], values["artefact"], strict=True))
    tracked = {name: _tracked(*name, into, records) for name in names}
    copies = _copies(values)
    rows = []
    for index, row in values.iterrows():
        kind = "copy" if index in copies else "number"
        rows.append({"kind": kind, **_number(row, tracked[row["paper"], row["artefact"]])})
    decided = {paper: claims.read(into, paper) for paper in dict.fromkeys(statements["paper"])}
    read, drawn = readings.read(into), scales.read(into)
    for _, row in statements.iterrows():
        key = (row["paper"], row["claim"], row["artefact"])
        here = _tracked(row["paper"], deciding(*key), into, records)
        entry = _claim(row, here, decided[row["paper"]], values)
        rows.append({"kind": "claim", **entry, **_read(row, entry, read, _scale(drawn, *key))})
    frame = pd.DataFrame(rows, columns=COLUMNS)
    words = ["compatible", "amended", "amended_reason", "readings", "parts"]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in words})


def write(frame: pd.DataFrame, into: str | Path) -> list[Path]:
    """Write `scorecard.csv`, `scorecard.md`, and the page of each paper with open questions.

    Parameters
    ----------
    frame
        As `build` returns it.
    into
        The folder of the outputs.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    page = "scorecard.md"
    asked = {paper: f"{paper}/{questions_page.NAME}" for paper in questions_page.papers()}
    whole = frame.astype({"n": "Int64", "failed": "Int64"})
    drawn, decided = scales.read(into), frame[frame["kind"] == "claim"]
    at = {
        row.metric: _scale(drawn, row.paper, row.metric, row.artefact)
        for row in decided.itertuples()
    }
    with staged(into) as stage:
        whole.to_csv(stage / TABLE, index=False, float_format="%.6g")
        read = readings.read(into)
        text = scorecard_page.text(frame, totals(frame, read), read)
        (stage / page).write_text(text, encoding="utf-8")
        for paper, place in asked.items():
            (stage / place).parent.mkdir(exist_ok=True)
            text = questions_page.text(paper, frame, read, at)
            (stage / place).write_text(text, encoding="utf-8")
    return [Path(into) / name for name in (TABLE, page, *asked.values())]


def read(into: str | Path) -> pd.DataFrame:
    """Return the tracked scorecard.

    Parameters
    ----------
    into
        The folder of the outputs, `figures`.

    Returns
    -------
    pandas.DataFrame
        As `build` returns it, with six digits.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    path = Path(into) / TABLE
    if not path.exists():
        raise FileNotFoundError(
            f"there is no scorecard at {path}: make it with `python -m kcde scorecard --into "
            f"{into}`"
        )
    frame = pd.read_csv(path)
    words = [name for name in COLUMNS if name not in _NUMBERS]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in words})


def totals(frame: pd.DataFrame, read: pd.DataFrame | None = None) -> dict[str, dict[str, Counter]]:
    """Count verdicts, without copies.

    A number with more than 5% failed splits counts as `failed`, whatever its verdict. A claim
    counts by its amended test where there is one.

    Parameters
    ----------
    frame
        As `build` returns it.
    read
        The tracked readings, where there are any.

    Returns
    -------
    dict
        Paper to `{"number": Counter, "claim": Counter, "compatible": Counter, "reading": Counter}`:
        verdicts of numbers and of claims, what is compatible, and how many claims hold under
        `every`, `some` or `none` of their readings that were run.
    """
    kinds = ("number", "claim", "compatible", "reading")
    counts = {paper: {kind: Counter() for kind in kinds} for paper in _papers(frame)}
    for row in frame[frame["kind"] != "copy"].itertuples():
        verdict = row.amended or row.verdict
        judged = verdict in ("better", "worse", "different")
        if judged and row.kind == "number" and too_many_failed(row.failed, row.n):
            verdict = "failed"
        counts[row.paper][row.kind][verdict] += 1
        if row.compatible:
            counts[row.paper]["compatible"][row.compatible] += 1
        if row.readings and read is not None:
            under = readings.share(readings.of_claim(read, row.metric))
            if under != readings.NOT_RUN:
                counts[row.paper]["reading"][under] += 1
    return counts


def _papers(frame: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(frame["paper"]))


def _copies(values: pd.DataFrame) -> set[int]:
    """Return the rows that repeat a cell of an earlier paper: same number, same spread."""
    cell = ["dataset", "method", "metric", "value", "spread"]
    known = values.dropna(subset="value")
    earlier = known.duplicated(cell, keep="first")
    first_paper = known.groupby(cell, dropna=False)["paper"].transform("first")
    return set(known.index[earlier & (first_paper != known["paper"])])


def deciding(paper: str, claim: str, stated: str) -> str:
    """Return the name of the artefact that decides a claim.

    Parameters
    ----------
    paper, claim
        Of the claim.
    stated
        Where the paper makes it; panels and lists count (`fig1-left`).
    """
    for artefact in ARTEFACTS.values():
        if artefact.paper == paper and claim in artefact.deciders:
            return artefact.name
    named = re.match(r"(fig|table)\d+", stated)
    return named.group() if named else stated


def _scale(drawn: Mapping[str, str], paper: str, claim: str, stated: str) -> str:
    """Return the scale of the artefact that decides a claim, of the scales of a folder."""
    return drawn.get(f"{paper}/{deciding(paper, claim, stated)}", scales.USUAL)


def _tracked(paper: str, name: str, into: Path, records: str | Path | None) -> Tracked:
    declared = ARTEFACTS.get(f"{paper}/{name}")
    path = into / paper / f"{name}.csv"
    table = None
    if declared is not None and declared.kind == "table" and path.exists():
        table = building.read(path)
    stale = ""
    record = Path(records) / paper / f"{name}.json" if records is not None else None
    if record is not None and record.exists():
        said = read_object(record)
        if said is None:
            stale = f"its record {record} is damaged"
        elif said["status"] == NOT_REGENERATED:
            stale = said["reason"]
    return Tracked(declared, table, stale)


def _number(row: pd.Series, here: Tracked) -> dict:
    """Return the scorecard row of a published number."""
    entry = {name: row[name] for name in ("paper", "artefact", "dataset", "method", "metric")}
    entry |= {"published": row["value"], "ours": math.nan, "stderr": math.nan}
    ours = _ours(row, here.table)
    if ours is None:
        verdict, reason = NOT_RUN, _why_absent(row, here)
        return {**entry, "verdict": NOT_REGENERATED if here.stale else verdict, "reason": reason}
    entry |= {"ours": ours["mean"], "stderr": ours["stderr"]}
    entry |= {"n": int(ours["n"]), "failed": int(ours["failed"])}
    targets = building.published_cells(here.declared)[row["dataset"], row["metric"]]
    verdict = building.verdict(here.table, targets, ours)
    reason = _why(row, ours, verdict, here)
    if RULES[row["metric"]].kind == "ratio" and ours["mean"] > 0:
        # Measured seconds do not repeat; their order of magnitude does.
        entry |= {"ours": 10.0 ** round(math.log10(ours["mean"])), "stderr": math.nan}
    if here.stale:
        return {**entry, "verdict": NOT_REGENERATED, "reason": here.stale}
    compatible = building.compatible(here.declared, ours)
    return {**entry, "verdict": verdict, "reason": reason, "compatible": compatible}


def _ours(row: pd.Series, table: pd.DataFrame | None) -> pd.Series | None:
    """Return the table row that answers a published number: variant as-published only."""
    if table is None:
        return None
    answers = table[
        (table["variant"] == AS_PUBLISHED)
        & (table["dataset"] == row["dataset"])
        & (table["method"] == row["method"])
        & (table["metric"] == row["metric"])
    ]
    return answers.iloc[0] if len(answers) else None


def _why_absent(row: pd.Series, here: Tracked) -> str:
    key = f"{row['paper']}/{row['artefact']}"
    if here.stale:
        return here.stale
    if here.declared is None:
        return f"{key} is not built yet"
    if here.table is None:
        return f"{key} has not been drawn: snakemake {here.declared.target}"
    if row["method"] not in set(here.table["method"]):
        return f"no scores of {row['method']} in {key}: not built yet, or not selected"
    return f"no scores of {row['method']} on {row['dataset']} in {key}"


def _why(row: pd.Series, ours: pd.Series, verdict: str, here: Tracked) -> str:
    """Return the reason beside a verdict: failed trials, then the cause as far as found."""
    parts = []
    if ours["failed"]:
        trials = f"{here.declared.trial}s"
        parts.append(f"{int(ours['failed'])} of {int(ours['n'])} {trials} failed")
    if verdict == UNDECIDED:
        parts.append(f"chains have not converged: {chains.obstacle_in(here.table, ours)}")
    if verdict in ("better", "worse", "different", UNDECIDED):
        parts.append(explain(row["paper"], row["artefact"], {**ours, "verdict": verdict}))
    if verdict == "published-na" and row["note"]:
        parts.append(row["note"])
    return "; ".join(parts)


def _claim(row: pd.Series, here: Tracked, decided: pd.DataFrame, values: pd.DataFrame) -> dict:
    entry = {"paper": row["paper"], "artefact": row["artefact"], "metric": row["claim"]}
    found = decided[decided["claim"] == row["claim"]]
    if here.stale:
        # The words for claims are fixed and have no "not regenerated".
        return {**entry, "verdict": NOT_RUN, "reason": f"not regenerated: {here.stale}"}
    if len(found):
        said = ["verdict", "reason", "amended", "amended_reason", "parts"]
        return entry | found.iloc[0][said].to_dict()
    return {**entry, "verdict": NOT_RUN, "reason": _why_undecided(row, here, values)}


def _read(row: pd.Series, entry: dict, read: pd.DataFrame, scale: str) -> dict:
    """Return what the tracked readings say of a claim: `readings`, the `reason` that begins with
    what it depends on, and `amended` with its reason where they decide it: they have more scores.

    A claim that was not regenerated is not judged by them either. `scale` is that of the artefact
    that decides it.
    """
    if entry["verdict"] == NOT_RUN:
        return {}
    own = read[(read["claim"] == row["claim"]) & (read["choice"] == readings.AMENDED)]
    under = readings.of_claim(read, row["claim"])
    reason = readings.first_clause(under) + entry["reason"]
    said = {"readings": readings.counted(under, scale), "reason": reason}
    if len(own):
        said |= {"amended": own["verdict"].iloc[0], "amended_reason": own["reason"].iloc[0]}
    return said


def _why_undecided(row: pd.Series, here: Tracked, values: pd.DataFrame) -> str:
    if here.declared is None:
        return f"{row['artefact']} is not built yet"
    key = here.declared.key
    if row["claim"] in here.declared.deciders:
        return f"{key} has not been drawn: snakemake {here.declared.target}"
    if here.table is None:
        return f"{key} does not decide it yet"
    cells = values[(values["paper"] == row["paper"]) & (values["artefact"] == row["artefact"])]
    absent = sorted(set(cells["method"]) - set(here.table["method"]))
    return f"{key} does not decide it yet" + (
        f": no scores of {', '.join(absent)}" if absent else ""
    )
