"""Every published number and claim compared with ours, from tracked files alone.

`figures/scorecard.csv` has one row per published number (kind `number`, or `copy` where a paper
repeats a cell of another) and one per claim (kind `claim`: its id is in `metric` and its numbers
are in `reason`; `dataset`, `method` and the other numbers are empty). `artefact` is the published
name. `compatible` is of numbers; `amended`, `readings` and `parts` are of claims.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from kcde.evidence import chains, claims, questions_page, readings, scorecard_page
from kcde.evidence.causes import explain
from kcde.evidence.cells import AS_PUBLISHED
from kcde.evidence.verdicts import RULES, UNDECIDED, too_many_failed
from kcde.files import staged
from kcde.pages import building
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.registry import ARTEFACTS

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


def collect(
    judged: Iterable[str | Path], into: str | Path, tracked: str | Path | None = None
) -> list[Path]:
    """Write what artefacts decided: `readings.csv`, and `claims.csv` in the folder of each paper.

    Parameters
    ----------
    judged
        A CSV an artefact, as `kcde.papers.drawing.make` writes them.
    into
        The folder of the outputs.
    tracked
        A folder of outputs, whose readings stand for those that were not decided here.
    """
    table = readings.collect(judged, tracked)
    decided = table[table["choice"] == ""]
    with staged(into) as stage:
        table[table["choice"] != ""].to_csv(stage / readings.NAME, index=False)
        for paper in dict.fromkeys(published.claims()["paper"]):
            own = decided[decided["paper"] == paper]
            own = own.assign(artefact=own["artefact"].str.split("/").str[-1])
            (stage / paper).mkdir()
            own[claims.COLUMNS].to_csv(stage / paper / claims.NAME, index=False)
        names = sorted(path.relative_to(stage) for path in stage.rglob("*.csv"))
    return [Path(into) / name for name in names]


def build(into: str | Path, scale: str) -> pd.DataFrame:
    """Return the scorecard.

    Parameters
    ----------
    into
        The folder of the outputs, with what `collect` writes.
    scale
        Of the outputs.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`: published numbers in their order, then claims.
    """
    into = Path(into)
    values, statements = published.values(), published.claims()
    names = set(zip(values["paper"], values["artefact"], strict=True))
    tables = {name: _table(*name, into) for name in names}
    copies = _copies(values)
    rows = []
    for index, row in values.iterrows():
        kind = "copy" if index in copies else "number"
        rows.append({"kind": kind, **_number(row, tables[row["paper"], row["artefact"]])})
    decided = {paper: claims.read(into, paper) for paper in dict.fromkeys(statements["paper"])}
    read = readings.read(into)
    for _, row in statements.iterrows():
        key = (row["paper"], row["claim"], row["artefact"])
        table = _table(row["paper"], deciding(*key), into)
        entry = _claim(row, deciding(*key), table, decided[row["paper"]], values)
        rows.append({"kind": "claim", **entry, **_read(row, entry, read, scale)})
    frame = pd.DataFrame(rows, columns=COLUMNS)
    words = ["compatible", "amended", "amended_reason", "readings", "parts"]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in words})


def write(frame: pd.DataFrame, into: str | Path, scale: str) -> list[Path]:
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
    at = dict.fromkeys(published.claims()["claim"], scale)
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


def _table(paper: str, name: str, into: Path) -> pd.DataFrame | None:
    """Return the CSV of a table in the folder of the outputs, None where there is none."""
    declared, path = ARTEFACTS.get(f"{paper}/{name}"), into / paper / f"{name}.csv"
    drawn = declared is not None and declared.kind == "table" and path.exists()
    return building.read(path) if drawn else None


def _number(row: pd.Series, table: pd.DataFrame | None) -> dict:
    """Return the scorecard row of a published number."""
    entry = {name: row[name] for name in ("paper", "artefact", "dataset", "method", "metric")}
    entry |= {"published": row["value"], "ours": math.nan, "stderr": math.nan}
    ours = _ours(row, table)
    if ours is None:
        return {**entry, "verdict": NOT_RUN, "reason": _why_absent(row, table)}
    declared = ARTEFACTS[f"{row['paper']}/{row['artefact']}"]
    entry |= {"ours": ours["mean"], "stderr": ours["stderr"]}
    entry |= {"n": int(ours["n"]), "failed": int(ours["failed"])}
    targets = building.published_cells(declared)[row["dataset"], row["metric"]]
    verdict = building.verdict(table, targets, ours)
    reason = _why(row, ours, verdict, declared, table)
    if RULES[row["metric"]].kind == "ratio" and ours["mean"] > 0:
        # Measured seconds do not repeat; their order of magnitude does.
        entry |= {"ours": 10.0 ** round(math.log10(ours["mean"])), "stderr": math.nan}
    compatible = building.compatible(declared, ours)
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


def _why_absent(row: pd.Series, table: pd.DataFrame | None) -> str:
    key = f"{row['paper']}/{row['artefact']}"
    if key not in ARTEFACTS:
        return f"{key} is not built yet"
    if table is None:
        return f"{key} has not been drawn: snakemake {ARTEFACTS[key].target}"
    if row["method"] not in set(table["method"]):
        return f"no scores of {row['method']} in {key}: not built yet, or not selected"
    return f"no scores of {row['method']} on {row['dataset']} in {key}"


def _why(
    row: pd.Series, ours: pd.Series, verdict: str, declared: Artefact, table: pd.DataFrame
) -> str:
    """Return the reason beside a verdict: failed trials, then the cause as far as found."""
    parts = []
    if ours["failed"]:
        trials = f"{declared.trial}s"
        parts.append(f"{int(ours['failed'])} of {int(ours['n'])} {trials} failed")
    if verdict == UNDECIDED:
        parts.append(f"chains have not converged: {chains.obstacle_in(table, ours)}")
    if verdict in ("better", "worse", "different", UNDECIDED):
        parts.append(explain(row["paper"], row["artefact"], {**ours, "verdict": verdict}))
    if verdict == "published-na" and row["note"]:
        parts.append(row["note"])
    return "; ".join(parts)


def _claim(
    row: pd.Series,
    name: str,
    table: pd.DataFrame | None,
    decided: pd.DataFrame,
    values: pd.DataFrame,
) -> dict:
    entry = {"paper": row["paper"], "artefact": row["artefact"], "metric": row["claim"]}
    found = decided[decided["claim"] == row["claim"]]
    if len(found):
        said = ["verdict", "reason", "amended", "amended_reason", "parts"]
        return entry | found.iloc[0][said].to_dict()
    why = _why_undecided(row, f"{row['paper']}/{name}", table, values)
    return {**entry, "verdict": NOT_RUN, "reason": why}


def _read(row: pd.Series, entry: dict, read: pd.DataFrame, scale: str) -> dict:
    """Return what the tracked readings say of a claim: `readings`, the `reason` that begins with
    what it depends on, and `amended` with its reason where they decide it: they have more scores.

    A claim that was not decided is not judged by them either.
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


def _why_undecided(
    row: pd.Series, key: str, table: pd.DataFrame | None, values: pd.DataFrame
) -> str:
    if key not in ARTEFACTS:
        return f"{row['artefact']} is not built yet"
    if row["claim"] in ARTEFACTS[key].deciders:
        return f"{key} has not been drawn: snakemake {ARTEFACTS[key].target}"
    if table is None:
        return f"{key} does not decide it yet"
    cells = values[(values["paper"] == row["paper"]) & (values["artefact"] == row["artefact"])]
    absent = sorted(set(cells["method"]) - set(table["method"]))
    return f"{key} does not decide it yet" + (
        f": no scores of {', '.join(absent)}" if absent else ""
    )
