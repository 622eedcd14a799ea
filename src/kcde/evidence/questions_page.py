"""A page for each paper that has open questions: what it says, what holds, what would settle it."""

from collections.abc import Collection, Mapping

import pandas as pd

from kcde.evidence import readings
from kcde.pages.markdown import pipe_table
from kcde.papers import published

NAME = "README.md"

_ABOUT = (
    "Each claim with its verdict here, by the amended test where there is one, and under how many "
    "readings of what the paper leaves open it holds; those that were not run do not count, and "
    "those of another scale than the verdict, or by the first test, say so. Numbers and parts are "
    "in [claims.csv](claims.csv), single readings in [readings.csv](../readings.csv), there also "
    "(choice `amended`) amended tests that need more scores than the claim's table or figure has. "
    "Written by `python -m kcde scorecard`."
)
_OPEN = "What the codes of the readings stand for (readings in `kcde/published/readings.csv`):"
_UNDER = {
    readings.EVERY: "under every reading",
    readings.SOME: "under some readings",
    readings.NONE: "under no reading",
    readings.NOT_RUN: "not run",
}


def papers() -> list[str]:
    """Return the papers that have questions."""
    return list(dict.fromkeys(published.questions()["paper"]))


def text(paper: str, frame: pd.DataFrame, read: pd.DataFrame, at: Mapping[str, str]) -> str:
    """Return the page of a paper.

    Parameters
    ----------
    paper
        One of `papers`.
    frame
        As `kcde.evidence.scorecard.build` returns it.
    read
        As `kcde.evidence.readings.read` returns them.
    at
        Claim to the scale of the artefact that decides it.

    Returns
    -------
    str
        Markdown.
    """
    claims = frame[frame["kind"].eq("claim") & frame["paper"].eq(paper)]
    stated = published.claims().set_index(["paper", "claim"])["statement"]
    asked = published.questions()
    asked = asked[asked["paper"] == paper]
    numbered = [
        f"{k}. {row.question} It would settle {row.settles}{_of(row.choice)}."
        for k, row in enumerate(asked.itertuples(), start=1)
    ]
    table = pipe_table(
        ["claim", "the paper says", "here", "holds", "readings"],
        [_cells(row, stated[paper, row["metric"]], read, at) for row in claims.to_dict("records")],
        left=5,
    )
    title = f"# {paper}: what the paper says, what holds, and what would settle the rest"
    own = read.loc[read["claim"].isin(claims["metric"]), "choice"]
    codes = _codes({*own, *asked["choice"]})
    parts = [title, _ABOUT, table, *codes, "## Questions to the authors", "\n".join(numbered)]
    return "\n\n".join(parts) + "\n"


def _codes(choices: Collection[str]) -> list[str]:
    """Return what choices are about, a line each; nothing where there are none."""
    open_ones = published.readings()
    lines = [
        f"- **{row.id}**: {row.choice}. It bears on {row.affects}."
        for row in open_ones[open_ones["id"].isin(choices)].itertuples()
    ]
    return [_OPEN, "\n".join(lines)] if lines else []


def _of(choice: str) -> str:
    return f" ({choice})" if choice else ""


def _cells(row: dict, statement: str, read: pd.DataFrame, at: Mapping[str, str]) -> list[str]:
    own = readings.of_claim(read, row["metric"])
    under = _UNDER[readings.share(own)] if len(own) else "not read"
    verdict = row["amended"] or row["verdict"]
    # Names of readings would make the cells long.
    counted = readings.counted(own, at[row["metric"]], named=0) if row["readings"] else ""
    return [row["metric"], statement, verdict, under, counted]
