"""The pages of figures and tables: picture, caption, tables, and ours against the published."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator

import pandas as pd

from kcde.evidence import verdicts
from kcde.evidence.checks import obstacle_in
from kcde.metrics import paired_wilcoxon
from kcde.pages import column_title, count_of, display, number, pipe_table, probability, significant
from kcde.papers.artefact import Artefact


def details(artefact: Artefact, remarks: Iterable[str]) -> list[str]:
    """Return the folded paragraphs of a page: remarks, and what is reduced."""
    said = " ".join(filter(None, [artefact.text.details, *remarks]))
    parts = list(filter(None, [said, artefact.text.reduced]))
    return ["<details>\n<summary>Details</summary>", *parts, "</details>"] if parts else []


def of_figure(artefact: Artefact, frame: pd.DataFrame, middle: Iterable[str] = ()) -> list[str]:
    """Return the page of a figure: title, picture, caption, what is below, details.

    The paragraphs in the middle stand between caption and what is below.
    """
    return [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({artefact.name}.png)",
        artefact.text.caption,
        *middle,
        *artefact.below(frame),
        *details(artefact, artefact.remarks(frame)),
    ]


MARKS = {
    verdicts.COMPATIBLE: "✓",
    verdicts.BETTER: "▲",
    verdicts.WORSE: "▼",
    verdicts.DIFFERENT: "≠",
    verdicts.UNINFORMATIVE: "?",
}
"""Verdict to the sign that follows the published value."""

NO_CHAINS = "‡"
"""The sign of a p-value that rests on chains that have not converged."""

LOWEST, HIGHEST = "p_value_lowest", "p_value_highest"
"""Metrics of a table of p-values: the ends of their range over the seeds."""

_PLACE = ["dataset", "method", "variant"]


def of_table(artefact: Artefact, table: pd.DataFrame) -> list[str]:
    """Return the page of a table."""
    over = count_of(table[table["metric"] == artefact.metric]["n"], artefact.trial)
    by_side = verdicts.by_side(artefact.metric)
    shown = "median p-value and its range" if by_side else "mean ± deviation"
    marks = "[What the marks mean](../README.md#marks)"
    middle = [_grid(table, artefact.metric), f"Shown: {shown} over {over}. {marks}."]
    for metric, heading in artefact.further.items():
        if (table["metric"] == metric).any():
            middle += [f"{heading}:", _grid(table, metric)]
    return of_figure(artefact, table, [*middle, *_against_published(table)])


def _grid(table: pd.DataFrame, metric: str) -> str:
    own = table[table["metric"] == metric]
    cells = {tuple(row[_PLACE]): row for _, row in own.iterrows()}
    ends = ranges(table)
    answered = {place[1:] for place, cell in cells.items() if cell["verdict"] != ""}
    header, rows = ["data set"], {dataset: [dataset] for dataset in own["dataset"]}
    for column in dict.fromkeys(place[1:] for place in cells):
        header += [column_title(*column)] + ["published"] * (column in answered)
        for dataset, row in rows.items():
            shown = ["", ""]
            if (cell := cells.get(place := (dataset, *column))) is not None:
                shown = [_ours(cell, ends.get(place)) + unconverged(table, cell), _theirs(cell)]
            row += shown if column in answered else shown[:1]
    return pipe_table(header, rows.values())


def unconverged(table: pd.DataFrame, cell: pd.Series) -> str:
    """Return what follows a p-value that rests on chains that have not converged, else ""."""
    bad = verdicts.by_side(cell["metric"]) and obstacle_in(table, cell)
    return f" {NO_CHAINS}" if bad else ""


def ranges(table: pd.DataFrame) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the lowest and highest p-value of each (data set, method, variant) that has them."""
    table = table.set_index(_PLACE)
    low, high = (table.loc[table["metric"] == name, "mean"] for name in (LOWEST, HIGHEST))
    return {key: (low[key], high[key]) for key in low.index.intersection(high.index)}


def _ours(row: pd.Series, ends: tuple[float, float] | None) -> str:
    """Return a cell: p-values with their range, where trials failed the median and quartiles."""
    if verdicts.by_side(row["metric"]):
        text = probability(row["mean"])
        text += f" ({probability(ends[0])} … {probability(ends[1])})" if ends else ""
    elif row["failed"] and not math.isnan(row["q25"]):
        q25, q75 = (_value(row, name) for name in ("q25", "q75"))
        text = f"{_value(row, 'median')} ({q25} … {q75})"
    else:
        deviation = "" if math.isnan(row["std"]) else f" ± {_value(row, 'std')}"
        text = f"{_value(row, 'mean')}{deviation}"
        text = f"**{text}**" if row["best"] else text
    return f"{text} †{row['failed']}" if row["failed"] else text


def _theirs(row: pd.Series) -> str:
    if row["verdict"] == "":
        return ""
    if math.isnan(row["published_mean"]):
        return "N/A"
    return f"{_value(row, 'published_mean')} {MARKS.get(row['verdict'], '')}".strip()


def _value(row: pd.Series, column: str) -> str:
    """Return a number of a row in the format of its metric."""
    if math.isinf(row[column]):
        return "∞"
    if verdicts.by_side(row["metric"]):
        return probability(row[column])
    return (number if row["unit"] == "nats" else significant)(row[column])


def _against_published(table: pd.DataFrame) -> list[str]:
    """Return for each published column its verdicts, and whether it is shifted as a whole."""
    answered = table[table["verdict"] != ""]
    if not len(answered):
        return []
    kinds = [kind for kind in MARKS if (answered["verdict"] == kind).any()]
    several = answered["metric"].nunique() > 1
    rows = []
    for (metric, method), cells in answered.groupby(["metric", "method"], sort=False):
        title = display(method) + (f", {metric.replace('_', ' ')}" if several else "")
        counts = Counter(cells["verdict"])
        rows.append([title, *(str(counts[each]) for each in kinds), *_shift(metric, cells)])
    header = ["method", *kinds, "ours above", "median of ours − published", "p"]
    return ["Each published column against ours:", pipe_table(header, rows)]


def _shift(metric: str, cells: pd.DataFrame) -> list[str]:
    """Return on how many data sets ours is larger, by how much, and a signed-rank test of it."""
    both = cells[["mean", "published_mean"]].dropna()
    if verdicts.RULES[metric].kind != "difference" or len(both) < 2:
        return ["", "", ""]
    difference = both["mean"] - both["published_mean"]
    p_value = paired_wilcoxon(*both.to_numpy().T).p_value
    above = f"{(difference > 0).sum()} of {len(both)}"
    return [above, significant(difference.median()), probability(p_value)]


def importance_sampling(table: pd.DataFrame) -> Iterator[str]:
    """Say which normalisers are computed by sampling, and how far quadrature differs."""
    draws = table[table["metric"] == "importance_samples"]
    errors = table[table["metric"] == "importance_error"].dropna(subset="mean")
    # A variation (`KCEF-LL`) is counted with its method.
    families = [each["method"].map(lambda name: name.split("-")[0]) for each in (draws, errors)]
    for method, own in draws.groupby(families[0], sort=False):
        drawn = " or ".join(sorted({f"{value:.0f}" for value in own["mean"]}, key=int))
        yield f"{method}'s normaliser is computed by importance sampling with {drawn} draws."
        if len(here := errors[families[1] == method]):
            worst = here.loc[here["mean"].abs().idxmax()]
            place = f"{worst['dataset']}, {display(worst['method'])}"
            most = f"{abs(worst['mean']):.2g} nats ({place})"
            yield f"Against quadrature the mean over splits differs by at most {most}."
