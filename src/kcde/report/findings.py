"""Numbers and claims of the papers, each with what was found."""

from collections.abc import Iterable
from functools import cache

import pandas as pd
from markupsafe import Markup

from kcde.evidence import readings, scorecard_page
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import ACROSS
from kcde.report import markdown
from kcde.report.content import Tracked

# Columns of the scorecard by which its rows are filtered.
FILTERS = ("kind", "paper", "method", "verdict", "compatible", "readings")

_CLAIM = "claim"
_KEY = (
    "In the sentences above, *failed* counts the numbers of which more of the splits failed than "
    "that. A claim *holds* or *fails* by its test, the amended one where there is one. *Readings* "
    "are the ways to read what a paper leaves open."
)
_METRICS = {
    "negative_log_likelihood": "NLL",
    "mmd": "MMD² × 1000",
    "smae": "SMAE",
    "p_value": "p-value",
    "sampling_time": "seconds",
}
_UNDER = {readings.EVERY: "every reading", readings.SOME: "some readings"}
_UNDER |= {readings.NONE: "no reading", readings.NOT_RUN: "not run"}


def key() -> Markup:
    """Return what the words of the summary and the scorecard mean."""
    return markdown.html(f"{scorecard_page.ON_VERDICTS} {scorecard_page.ON_INTERVALS} {_KEY}")


def scorecard_rows(tracked: Tracked) -> list[dict]:
    """Return the rows of the scorecard as words, in its order."""
    card = tracked.card[tracked.card["paper"].isin(tracked.papers)]
    return [_row(row, tracked) for row in card.to_dict("records")]


def _row(row: dict, tracked: Tracked) -> dict:
    is_claim = row["kind"] == _CLAIM
    shown = ["", "", "", ""] if is_claim else scorecard_page.numbers(row)
    published_value, ours, stderr, failed = shown
    return {
        "kind": row["kind"],
        "paper": row["paper"],
        "artefact": row["artefact"],
        "about": row["metric"] if is_claim else row["dataset"],
        "claim": row["metric"] if is_claim else "",
        "method": display(row["method"]),
        "metric": "" if is_claim else _METRICS.get(row["metric"], row["metric"].replace("_", " ")),
        "published": published_value,
        "ours": f"{ours} ± {stderr}" if stderr else ours,
        "failed": failed,
        "order": {name: _sortable(row[name]) for name in ("published", "ours", "failed")},
        "verdict": row["amended"] or row["verdict"],
        "compatible": row["compatible"],
        "readings": under(tracked.read, row["metric"]) if is_claim and row["readings"] else "",
        "statement": _statements()[row["metric"]] if is_claim else "",
        "reason": _why(row),
    }


def _why(row: dict) -> str:
    """Return why a row has its verdict; the amended test, which decides, comes first."""
    if not row["amended"]:
        return row["reason"]
    return f"Amended test: {row['amended_reason']} First test ({row['verdict']}): {row['reason']}"


@cache
def _statements() -> dict[str, str]:
    return published.claims().set_index("claim")["statement"].to_dict()


def _sortable(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.6g}"


def under(read: pd.DataFrame, claim: str) -> str:
    """Return under which of its readings a claim holds, "" where it has none."""
    own = readings.of_claim(read, claim)
    return _UNDER[readings.share(own)] if len(own) else ""


def options(rows: list[dict]) -> dict[str, list[str]]:
    """Return what each filter can be set to, in the order of the scorecard."""
    return {name: list(dict.fromkeys(row[name] for row in rows if row[name])) for name in FILTERS}


def claims(tracked: Tracked, paper: str) -> list[dict]:
    """Return the claims of a paper with tests, numbers, readings and causes."""
    if paper == ACROSS:
        return []
    stated = published.claims().set_index(["paper", "claim"])
    amended = published.amended().set_index(["paper", "claim"]).to_dict("index")
    own = tracked.card[(tracked.card["kind"] == _CLAIM) & (tracked.card["paper"] == paper)]
    found = []
    for row in own.to_dict("records"):
        name = row["metric"]
        found.append(
            {
                "name": name,
                "artefact": row["artefact"],
                **stated.loc[(paper, name), ["statement", "test"]],
                "verdict": row["amended"] or row["verdict"],
                "first": row["verdict"],
                "reason": row["reason"],
                "parts": [part for part in row["parts"].split("; ") if part],
                "amended": amended.get((paper, name)),
                "amended_verdict": row["amended"],
                "amended_reason": row["amended_reason"],
                "under": under(tracked.read, name),
                "readings": _readings(tracked.read, name),
            }
        )
    return found


def _readings(read: pd.DataFrame, claim: str) -> list[dict]:
    """Return a claim's readings, a group for each choice."""
    words = published.readings().set_index("id")
    own = readings.of_claim(read, claim)
    found = []
    for choice, rows in own.groupby("choice", sort=False):
        first = rows["first"] | (rows["amended"] == "")
        reason = rows["reason"].where(first, rows["amended_reason"])
        shown = rows.assign(reason=reason)[["reading", "verdict", "reason", "scale"]]
        found.append(
            {
                "choice": choice,
                "words": words["choice"].get(choice, ""),
                "drawn": words["drawn"].get(choice, ""),
                "counted": readings.counted(rows).removeprefix(choice).lstrip(": "),
                "rows": shown.to_numpy().tolist(),
            }
        )
    return found


def choices(paper: str) -> list[dict]:
    """Return what a paper leaves open, with the readings that were tried."""
    table = published.readings()
    own = table[table["paper"] == paper].rename(columns={"why open": "why"})
    return own.to_dict("records")


def questions(paper: str) -> list[dict]:
    """Return what would settle what a paper leaves open."""
    table = published.questions()
    return table[table["paper"] == paper].to_dict("records")


def of_artefact(tracked: Tracked, paper: str, name: str, decides: Iterable[str]) -> list[str]:
    """Return the claims that an artefact bears on, in their order.

    Parameters
    ----------
    tracked
        The tracked outputs.
    paper, name
        Of the artefact.
    decides
        Claims that it decides.
    """
    stated = published.claims()
    own = stated[stated["paper"] == paper]
    return [
        row.claim
        for row in own.itertuples()
        if row.claim in decides or name in _named(row.artefact)
    ]


def _named(artefacts: str) -> set[str]:
    """Return the figures and tables in words such as `fig1-left` or `fig2, fig4`."""
    return {each.strip().partition("-")[0] for each in artefacts.split(",")}
