"""The page of a table: picture, caption, table, verdicts and their causes."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from kcde.evidence import chains, columns, verdicts
from kcde.evidence.causes import explain
from kcde.files import atomic
from kcde.pages import building
from kcde.pages.markdown import (
    count_of,
    details,
    number,
    pipe_table,
    probability,
    significant,
)
from kcde.pages.methods import column_title, display
from kcde.papers import published
from kcde.papers.artefact import Artefact

MARKS = {
    "reproduced": "✓",
    "better": "▲",
    "worse": "▼",
    "different": "≠",
    verdicts.UNDECIDED: "",
    "published-na": "",
    "not-run": "",  # a time that lacks the time it is compared with
}
"""Verdict to the sign that follows the published value."""

NO_CHAINS = "‡"
"""The sign of a p-value that rests on chains that have not converged."""

COMPATIBLE = {
    verdicts.COMPATIBLE: ("≈", "compatible"),
    verdicts.INCOMPATIBLE: ("≉", "not compatible"),
    verdicts.UNINFORMATIVE: ("?", "uninformative"),
}
"""Whether a published value is compatible with ours, to the sign after its verdict and to words."""

LOWEST, HIGHEST = "p_value_lowest", "p_value_highest"
"""Metrics of a table of p-values: the ends of their range over the seeds."""

# The median is shown where it differs from the mean by more than so many nats, or, in other units,
# by more than this share of the mean.
_MEDIAN_SHOWN = 0.1


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page of a table: picture (`<stem>.png`), caption, table, legend, details, and the
    published numbers.
    """
    primary = table[table["metric"] == artefact.metric]
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} {_shown(artefact, primary)}",
        _grid(artefact, table, artefact.metric),
        " ".join([*_legend(artefact, primary), *_chains(table, primary)]),
        *details(artefact, artefact.remarks(table), primary["method"]),
        *_further(artefact, table),
        *artefact.below(table),
        *_against_published(artefact, table),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [path]


def _by_side(metric: str) -> bool:
    """Whether a metric is a p-value."""
    return _kind(metric) == "side"


def _kind(metric: str) -> str:
    """Return how a metric is judged, "" for one that is not."""
    return verdicts.RULES[metric].kind if metric in verdicts.RULES else ""


def _shown(artefact: Artefact, primary: pd.DataFrame) -> str:
    over = count_of(primary["n"], artefact.trial)
    if _by_side(artefact.metric):
        return f"Shown: the median p-value over {over}, and in parentheses the lowest and highest."
    unit = primary["unit"].iloc[0]
    ending = f", in {unit}; lower is better." if unit else "."
    return f"Shown: mean ± standard deviation over {over}{ending}"


def _further(artefact: Artefact, table: pd.DataFrame) -> list[str]:
    """Return the tables of the further metrics, each with its heading."""
    parts = []
    for metric, words in artefact.further.items():
        shown = table[table["metric"] == metric]
        if not len(shown):
            continue
        parts += [f"{words}:", _grid(artefact, table, metric)]
        if _kind(metric) == "ratio" and (shown["verdict"] != "").any():
            parts.append(
                "Published: ✓ the ratio of the methods is within a factor of two of the published "
                "one, or farther in its direction; ≠ it is not."
            )
    return parts


def _grid(artefact: Artefact, table: pd.DataFrame, metric: str) -> str:
    primary = table[table["metric"] == metric]
    columns = list(dict.fromkeys(zip(primary["method"], primary["variant"], strict=True)))
    cells = {(row["dataset"], row["method"], row["variant"]): row for _, row in primary.iterrows()}
    judged = primary[primary["verdict"] != ""]
    answered = set(zip(judged["method"], judged["variant"], strict=True))
    ends = ranges(table)
    header = ["data set"]
    for column in columns:
        header += [column_title(*column)] + (["published"] if column in answered else [])
    rows = []
    for dataset in dict.fromkeys(primary["dataset"]):
        row = [dataset]
        for column in columns:
            cell = cells.get((dataset, *column))
            mark = "" if cell is None else unconverged(table, cell)
            row.append("" if cell is None else _ours(cell, ends.get((dataset, *column))) + mark)
            if column in answered:
                row.append("" if cell is None else _theirs(artefact, cell))
        rows.append(row)
    return pipe_table(header, rows)


def unconverged(table: pd.DataFrame, cell: pd.Series) -> str:
    """Return what follows a p-value that rests on chains that have not converged, else ""."""
    bad = _by_side(cell["metric"]) and chains.obstacle_in(table, cell)
    return f" {NO_CHAINS}" if bad else ""


def _chains(table: pd.DataFrame, primary: pd.DataFrame) -> list[str]:
    """Return the legend of that mark, with what is wrong in each cell."""
    wrong = [
        f"{column_title(row['method'], row['variant'])} on {row['dataset']} ({said})"
        for _, row in primary.iterrows()
        if unconverged(table, row) and (said := chains.obstacle_in(table, row))
    ]
    if not wrong:
        return []
    return [
        f"{NO_CHAINS}: samples of Markov chains that have not converged, that is, {chains.RULE}; "
        f"such a p-value decides nothing: {'; '.join(wrong)}."
    ]


def ranges(table: pd.DataFrame) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the lowest and highest p-value of each (data set, method, variant) that has them."""
    cell = ["dataset", "method", "variant"]
    low, high = (
        table[table["metric"] == name].set_index(cell)["mean"] for name in (LOWEST, HIGHEST)
    )
    return {key: (low[key], high[key]) for key in low.index.intersection(high.index)}


def _ours(row: pd.Series, ends: tuple[float, float] | None) -> str:
    if _by_side(row["metric"]):
        text = probability(row["mean"])
        text += f" ({probability(ends[0])} … {probability(ends[1])})" if ends else ""
    else:
        text = _mean(row)
    if row["failed"]:
        text += f" †{row['failed']}"
    return text


def _mean(row: pd.Series) -> str:
    text = _value(row, "mean")
    if not math.isnan(row["std"]):
        text += f" ± {_value(row, 'std')}"
    if row["best"]:
        text = f"**{text}**"
    if _shows_median(row):
        text += f" ({_value(row, 'median')})"
    return text


def _shows_median(row: pd.Series) -> bool:
    """Whether the median is so far from the mean that it is shown."""
    least = _MEDIAN_SHOWN * (1.0 if row["unit"] == "nats" else abs(row["mean"]))
    return abs(row["mean"] - row["median"]) > least


def _theirs(artefact: Artefact, row: pd.Series) -> str:
    if row["verdict"] == "":
        return ""
    if math.isnan(row["published_mean"]):
        return "N/A"
    text = _value(row, "published_mean")
    if not math.isnan(row["published_std"]):
        text += f" ± {_value(row, 'published_std')}"
    compatible, _ = COMPATIBLE.get(building.compatible(artefact, row), ("", ""))
    return " ".join(filter(None, [text, MARKS[row["verdict"]], compatible]))


def _value(row: pd.Series | dict, column: str) -> str:
    """Return a number of a row in the format of its metric."""
    if _by_side(row["metric"]):
        return probability(row[column])
    return (number if row["unit"] == "nats" else significant)(row[column])


def _legend(artefact: Artefact, primary: pd.DataFrame) -> list[str]:
    trial, notes = artefact.trial, []
    answered = (primary["verdict"] != "").any()
    if _by_side(artefact.metric):
        if primary["failed"].any():
            notes.append(f"†k: k {trial}s failed and are omitted.")
        sides = {"reproduced": "same", "different": "other"}
        said = [
            f"{MARKS[verdict]} our median is on the {side} side of 5%"
            for verdict, side in sides.items()
            if (primary["verdict"] == verdict).any()
        ]
        return notes + ([f"Published: {'; '.join(said)}."] if said else [])
    if primary["best"].any():
        notes += _bold_legend(artefact)
    nats = set(primary["unit"]) == {"nats"}
    if primary.apply(_shows_median, axis=1).any():
        far = f"{_MEDIAN_SHOWN}" if nats else f"{_MEDIAN_SHOWN:.0%} of it"
        notes.append(
            f"In parentheses: the median over {trial}s, where it is more than {far} from the mean."
        )
    if primary["failed"].any():
        beyond = f" or above {verdicts.LIMIT_NATS:.0f} nats (included)" if nats else ""
        notes.append(
            f"†k: k {trial}s failed, that is, are not finite (omitted from mean and deviation)"
            f"{beyond}."
        )
    if answered:
        floor = "0.05 nats" if nats else "10% of it"
        notes.append(
            f"Published: ✓ reproduced, that is, our mean is within max({floor}, two standard "
            f"errors) and at most 5% of the {trial}s failed; ▲ ours is better; ▼ ours is worse. "
            f"{_compatible_legend(artefact, nats)}"
        )
    return notes


def _bold_legend(artefact: Artefact) -> list[str]:
    trial = artefact.trial
    notes = [
        f"**Bold**: no failed {trial}, and the lowest mean of the row or not significantly "
        f"different from it (two-sided paired t-test over the {trial}s at 5%){_apart(artefact)}."
    ]
    if artefact.overlap:
        notes.append(
            f"That is the papers' own rule, which takes the {trial}s for independent. They share "
            "rows, so that it finds too many differences; the p-value corrected for this (Nadeau "
            "and Bengio 2003) stands in the CSV and decides in the claims as amended."
        )
    return notes


def _compatible_legend(artefact: Artefact, nats: bool) -> str:
    inside, outside, wide = (sign for sign, _ in COMPATIBLE.values())
    widest = "0.5 nats" if nats else "half of the published value"
    trials = count_of([artefact.published_trials], artefact.trial)
    return (
        f"{inside} compatible: the published value lies in the 95% prediction interval of a mean "
        f"over {trials}, from the spread of ours; {outside} it does not; {wide} the interval says "
        f"nothing, since it reaches farther than {widest}."
    )


def _apart(artefact: Artefact) -> str:
    """Return which methods take no part in the search for the best."""
    names = " and ".join(map(display, artefact.apart))
    return f"; {names} answers another question and takes no part" if names else ""


def _against_published(artefact: Artefact, table: pd.DataFrame) -> list[str]:
    answered = table[table["verdict"] != ""]
    if not len(answered):
        return []
    parts = ["## Against the published numbers", _counts(artefact, answered)]
    pairs = answered.rename(columns={"mean": "ours", "published_mean": "published"})
    parts += shifts(columns.shifts(pairs))
    if missing := _missing(artefact, answered):
        parts.append(missing)
    explained = ["better", "worse", "different", verdicts.UNDECIDED]
    deviations = answered[answered["verdict"].isin(explained)]
    if len(deviations):
        parts += ["Each deviation and its cause, as far as known:", _causes(artefact, deviations)]
    return parts


def _counts(artefact: Artefact, answered: pd.DataFrame) -> str:
    kinds = [kind for kind in MARKS if (answered["verdict"] == kind).any()]
    said = answered.apply(lambda row: building.compatible(artefact, row), axis=1)
    words = [word for word in COMPATIBLE if (said != "").any()]
    rows = []
    several = answered["metric"].nunique() > 1
    for (metric, method), cells in answered.groupby(["metric", "method"], sort=False):
        counts = Counter(cells["verdict"]) + Counter(said[cells.index])
        title = display(method) + (f", {metric.replace('_', ' ')}" if several else "")
        rows.append([title, *(str(counts[each]) for each in (*kinds, *words))])
    header = [kind.replace("-na", " N/A") for kind in kinds]
    return pipe_table(["method", *header, *(COMPATIBLE[word][1] for word in words)], rows)


def shifts(found: Sequence[columns.Shift]) -> list[str]:
    """Return the tests of whole columns as a table with its explanation.

    Parameters
    ----------
    found
        As `kcde.evidence.columns.shifts` returns them.

    Returns
    -------
    list of str
        Nothing where there are none.
    """
    if not found:
        return []
    several = len({shift.metric for shift in found}) > 1
    rows = [
        [
            display(shift.method) + (f", {shift.metric.replace('_', ' ')}" if several else ""),
            f"{shift.above} of {shift.n}",
            significant(shift.mean),
            significant(shift.median),
            probability(shift.p_value),
        ]
        for shift in found
    ]
    said = (
        "Ours − published of a whole column, so that a common shift is seen: how many of its data "
        "sets lie above zero (ours is worse), and a two-sided signed-rank test over the data sets:"
    )
    return [said, pipe_table(["method", "above", "mean", "median", "p"], rows)]


def _missing(artefact: Artefact, answered: pd.DataFrame) -> str:
    values = published.values()
    here = values[(values["paper"] == artefact.paper) & (values["artefact"] == artefact.name)]
    cell = ["dataset", "method", "metric"]
    done = set(answered[cell].itertuples(index=False, name=None))
    wanted = here[cell].itertuples(index=False, name=None)
    rest = Counter(each[1] for each in wanted if each not in done)
    if not rest:
        return ""
    listed = ", ".join(f"{display(name)} ({count})" for name, count in rest.items())
    return f"Published numbers that were not run here: {listed}."


def _causes(artefact: Artefact, deviations: pd.DataFrame) -> str:
    """Return a table with one row per cause, which lists its data sets."""
    together: dict[tuple[str, str, str], list[str]] = {}
    order = {name: k for k, name in enumerate(artefact.methods)}
    ordered = deviations.sort_values(
        "method", key=lambda names: names.map(lambda name: order.get(name, 99)), kind="stable"
    )
    for row in ordered.to_dict("records"):
        cause = explain(artefact.paper, artefact.name, row)
        values = f"{_value(row, 'mean')} ({_value(row, 'published_mean')})"
        together.setdefault((row["method"], row["verdict"], cause), []).append(
            f"{row['dataset']} {values}"
        )
    rows = [
        [display(method), f"{MARKS[verdict]} {verdict}", ", ".join(listed), cause]
        for (method, verdict, cause), listed in together.items()
    ]
    header = ["method", "verdict", "data sets: ours (published)", "cause"]
    return pipe_table(header, rows, left=4)
