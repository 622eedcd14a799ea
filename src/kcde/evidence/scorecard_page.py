"""The scorecard as a page to read."""

import math
from collections import Counter

import pandas as pd

from kcde.evidence import columns
from kcde.evidence.readings import EVERY, NONE, SOME
from kcde.evidence.verdicts import COMPATIBLE, INCOMPATIBLE, RULES, UNDECIDED
from kcde.pages import table_page
from kcde.pages.markdown import number, pipe_table
from kcde.pages.methods import display
from kcde.papers import published

_NUMBER_WORDS = (
    "reproduced",
    "better",
    "worse",
    "different",
    UNDECIDED,
    "failed",
    "published-na",
    "not regenerated",
    "not-run",
)
_CLAIM_WORDS = ("holds", "fails", "undecided", "not-run")
_BESIDE = ("amended", "readings", "parts")
_ALWAYS_SAID = ("reproduced", "better", "worse", "failed", "not-run")
ON_VERDICTS = (
    "A number is *reproduced* if our mean over splits lies within max(0.05 nats, two standard "
    "errors) of it (SMAE, MMD: 10% instead of 0.05) and at most 5% of the splits failed; else "
    "*better* or *worse*. A p-value is *reproduced* if the median over our seeds lies on the same "
    "side of 5%, else *different*, and *undecided* where the Markov chains that it rests on have "
    "not converged; a time, if its ratio to that of another method is the published one within a "
    "factor of two, or farther in its direction."
)
"""What the verdicts on numbers mean, in Markdown, for every page that has them."""

ON_INTERVALS = (
    "Beside the verdict, a number is *compatible* if it lies in the 95% prediction interval of a "
    "mean over as many splits, runs or folds as the paper's. It is *uninformative* where that "
    "interval reaches farther than 0.5 nats (SMAE, MMD: half the published value), and says "
    "nothing then, whatever the verdict; p-values and times have no interval."
)
"""What is compatible, for the same pages."""

_INTERVAL = (
    "The interval: |ours − published| ≤ t(.975, n − 1) s √(1/n + 1/n_pub), with s our standard "
    "deviation over splits, not capped (Patil, Peng and Leek 2016). The tests below the tables are "
    "of whole columns: ours − published over the data sets, by Wilcoxon's signed-rank test, "
    "two-sided, since single verdicts hide a common shift."
)
_CLAIMS = (
    "Some claims have, beside the test that was fixed first, an *amended* one "
    "(`kcde/published/claims_amended.csv`, with the reason); the lines above count by it. *Parts* "
    "are the clauses of a claim in the first test. *Readings* counts under how many readings of "
    "what its paper leaves open (`kcde/published/readings.csv`) a claim holds, by the amended test "
    "where all of them have one; that under which the artefacts are drawn is among them, and those "
    "of another scale say of which."
)
_SPOKEN = {"not-run": "not run", "published-na": "published N/A"}


def text(frame: pd.DataFrame, counts: dict[str, dict[str, Counter]], read: pd.DataFrame) -> str:
    """Return the page: the summary, a line of it per paper, then tables per paper.

    Parameters
    ----------
    frame
        As `kcde.evidence.scorecard.build` returns it.
    counts
        As `kcde.evidence.scorecard.totals` returns them.
    read
        As `kcde.evidence.readings.read` returns them.

    Returns
    -------
    str
        Markdown.
    """
    copies = int((frame["kind"] == "copy").sum())
    parts = [
        "# Scorecard",
        summary(counts),
        "\n".join(f"- **{paper}**: {_line(counts[paper])}" for paper in counts),
        "Every published number and claim compared with ours; the rule was fixed before results "
        f"were seen. {ON_VERDICTS} In the lines above, *failed* counts the cells with more failed "
        f"splits than that, and {copies} dde cells that repeat kcef table 1 are counted once. The "
        "standard error has its spread capped at 1.4826 times the median absolute deviation, so "
        "that one exploding split cannot widen its own tolerance. The full table, with the reason "
        "of each verdict: [scorecard.csv](scorecard.csv).",
        f"{ON_INTERVALS} {_INTERVAL}",
        f"{_CLAIMS} {_source(read)}",
    ]
    for paper in counts:
        parts += [f"## {paper}", *_paper(frame[frame["paper"] == paper])]
    return "\n\n".join(parts) + "\n"


def summary(counts: dict[str, dict[str, Counter]]) -> str:
    """Return what holds of all papers together, in two sentences, as the README has it.

    Parameters
    ----------
    counts
        As `kcde.evidence.scorecard.totals` returns them.
    """
    kinds = ("compatible", "claim", "reading")
    compatible, claims, read = (
        sum((own[kind] for own in counts.values()), Counter()) for kind in kinds
    )
    said = (
        f"Of {compatible[COMPATIBLE] + compatible[INCOMPATIBLE]} published numbers that our runs "
        f"can decide, {compatible[COMPATIBLE]} are compatible with ours; of {claims.total()} "
        f"claims {claims['holds']} hold, {claims['fails']} fail, {claims['undecided']} are "
        f"undecided and {claims['not-run']} could not be run."
    )
    if not read:
        return said
    return (
        f"{said} Of the {read.total()} claims that depend on a choice which the paper leaves open, "
        f"{read[EVERY]} hold under every choice tried, {read[SOME]} under some and {read[NONE]} "
        "under none."
    )


def _line(counts: dict[str, Counter]) -> str:
    numbers, claims, compatible = (counts[kind] for kind in ("number", "claim", "compatible"))
    said = [
        f"{numbers[word]} {_SPOKEN.get(word, word)}"
        for word in _NUMBER_WORDS
        if numbers[word] or word in _ALWAYS_SAID
    ]
    head = f"{sum(numbers.values())} numbers: {', '.join(said)}" if numbers else "no numbers"
    if informative := compatible[COMPATIBLE] + compatible[INCOMPATIBLE]:
        verb = "is" if compatible[COMPATIBLE] == 1 else "are"
        informed = f"of {_some(informative, 'informative ')} {compatible[COMPATIBLE]} {verb}"
        head = f"{informed} compatible; {head}"
    decided = [f"{claims[word]} {_SPOKEN.get(word, word)}" for word in _CLAIM_WORDS if claims[word]]
    return (
        f"{head}; {sum(claims.values())} claims: {', '.join(decided)}{_stable(counts['reading'])}"
    )


def _stable(read: Counter) -> str:
    """Say how many claims hold under every reading, under some, under none."""
    if not read:
        return ""
    each = ", ".join(f"{read[word]} under {word}" for word in (EVERY, SOME, NONE))
    return f"; of {sum(read.values())} with several readings hold {each}"


def _source(read: pd.DataFrame) -> str:
    """Say where the tracked readings are, and how they are made."""
    if not len(read):
        return "No readings are tracked: `snakemake readings` makes them."
    return (
        "The tracked readings stand in [readings.csv](readings.csv), each with its scale and the "
        "commit that made it (`+`: with changes beside the commit; a commit that was rebased "
        "before it landed is not in the history); `snakemake readings` makes them."
    )


def _paper(rows: pd.DataFrame) -> list[str]:
    parts = []
    numbers = rows[rows["kind"] != "claim"]
    for artefact in dict.fromkeys(numbers["artefact"]):
        parts += [f"### {artefact}", *_artefact(numbers[numbers["artefact"] == artefact])]
    return [*parts, "### Claims", _claims(rows[rows["kind"] == "claim"])]


def _artefact(rows: pd.DataFrame) -> list[str]:
    shown = rows[rows["ours"].notna() | ~rows["verdict"].isin(["not-run", "not regenerated"])]
    parts = []
    if len(shown):
        header = ["data set", "method", "verdict", "compatible", "published", "ours"]
        header += ["standard error", "failed"]
        if shown["metric"].nunique() > 1:
            header.insert(2, "metric")
        cells = [_cells(row, "metric" in header) for row in shown.to_dict("records")]
        parts.append(pipe_table(header, cells, left=header.index("published")))
        parts += table_page.shifts(columns.shifts(shown))
    for verdict in ("not regenerated", "not-run"):
        for reason, group in rows[rows["verdict"] == verdict].groupby("reason", sort=False):
            spoken = _SPOKEN.get(verdict, verdict).capitalize()
            parts.append(f"{spoken}, {_some(len(group))}: {reason}.")
    return parts


def _cells(row: dict, with_metric: bool) -> list[str]:
    verdict = _SPOKEN.get(row["verdict"], row["verdict"])
    verdict += " (copy)" if row["kind"] == "copy" else ""
    return [
        row["dataset"],
        display(row["method"]),
        *([row["metric"].replace("_", " ")] if with_metric else []),
        verdict,
        row["compatible"],
        *numbers(row),
    ]


def numbers(row: dict) -> list[str]:
    """Return the numbers of a published number's row in words: published, ours, standard error, and
    how many trials failed, "" where none did.

    Parameters
    ----------
    row
        Of the scorecard.
    """
    nats = row["metric"] == "negative_log_likelihood"
    shown = number if nats else _short
    timed = RULES[row["metric"]].kind == "ratio" and not math.isnan(row["ours"])
    return [
        "N/A" if math.isnan(row["published"]) else shown(row["published"]),
        f"order {row['ours']:.0e}" if timed else shown(row["ours"]),
        "" if math.isnan(row["stderr"]) else shown(row["stderr"]),
        f"{row['failed']:.0f} of {row['n']:.0f}" if row["failed"] > 0 else "",
    ]


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}"


def _some(count: int, which: str = "") -> str:
    return f"{count} {which}number{'' if count == 1 else 's'}"


def _reason(row: dict) -> str:
    if not row["amended"]:
        return row["reason"]
    return f"Amended test: {row['amended_reason']}. First test: {row['reason']}"


def _claims(rows: pd.DataFrame) -> str:
    statements = published.claims().set_index(["paper", "claim"])["statement"]
    told = [each for each in _BESIDE if (rows[each] != "").any()]
    header = ["claim", "artefact", "statement", "verdict", *told, "reason"]
    cells = [
        [
            row["metric"],
            row["artefact"],
            statements[row["paper"], row["metric"]],
            _SPOKEN.get(row["verdict"], row["verdict"]),
            *(row[each] for each in told),
            _reason(row),
        ]
        for row in rows.to_dict("records")
    ]
    return pipe_table(header, cells, left=len(header))
