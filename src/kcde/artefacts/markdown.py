"""A tracked table CSV as a page to read: caption, table, verdicts and their causes."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts import verdicts
from kcde.artefacts.causes import explain
from kcde.artefacts.declaration import Artefact
from kcde.artefacts.methods import SELECTION, display
from kcde.files import atomic

MARKS = {"reproduced": "✓", "better": "▲", "worse": "▼", "different": "≠", "published-na": ""}
"""Verdict to the sign behind the published value."""

_MEDIAN_SHOWN = 0.1  # nats between mean and median from which the median is worth its place


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a table to `<stem>.md`.

    Parameters
    ----------
    artefact
        Gives title and caption.
    table
        As `kcde.artefacts.tables.read` returns it.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The file written.
    """
    primary = table[table["metric"] == artefact.metric]
    parts = [
        f"# {artefact.key}: {artefact.title}",
        *_caption(artefact, table, primary),
        _grid(primary),
        *_legend(primary),
        *_against_published(artefact, primary),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [path]


def number(value: float) -> str:
    """Return a value in nats with two decimals, large ones shorter, `–` for NaN."""
    if math.isnan(value):
        return "–"
    if abs(value) < 100:
        return f"{value:.2f}".replace("-", "−")
    return (f"{value:.0f}" if abs(value) < 1e5 else f"{value:.1e}").replace("-", "−")


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a markdown table whose first `left` columns are left-aligned, the others right.

    Parameters
    ----------
    header
        Column titles.
    rows
        As many cells each.
    left
        Number of text columns in front.

    Returns
    -------
    str
        Every row on a line of its own.
    """
    rule = [":---" if k < left else "---:" for k in range(len(header))]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _caption(artefact: Artefact, table: pd.DataFrame, primary: pd.DataFrame) -> list[str]:
    n = sorted(set(primary["n"]))
    splits = f"{n[0]}" if len(n) == 1 else f"{n[0]} to {n[-1]}"
    unit = primary["unit"].iloc[0]
    sentences = [
        artefact.caption,
        f"Shown: mean ± standard deviation over {splits} splits"
        + (f", in {unit}; lower is better." if unit else "."),
        *_normaliser(table),
    ]
    rules = [
        f"- **{display(name)}**: {SELECTION[name]}."
        for name in dict.fromkeys(primary["method"])
        if name in SELECTION
    ]
    return [" ".join(sentences), *(["Selection:\n\n" + "\n".join(rules)] if rules else [])]


def _normaliser(table: pd.DataFrame) -> list[str]:
    """Say how the KCEF normaliser was computed and how far quadrature disagrees."""
    sentences = []
    draws = table[table["metric"] == "importance_samples"]
    if len(draws):
        counts = sorted({f"{value:.0f}" for value in draws["mean"]}, key=int)
        sentences.append(
            "KCEF's normaliser is computed by importance sampling with "
            f"{' or '.join(counts)} draws."
        )
    errors = table[table["metric"] == "importance_error"].dropna(subset="mean")
    if len(errors):
        worst = errors.loc[errors["mean"].abs().idxmax()]
        sentences.append(
            "Against quadrature the mean over splits differs by at most "
            f"{abs(worst['mean']):.2g} nats ({worst['dataset']}, {display(worst['method'])})."
        )
    return sentences


def _grid(primary: pd.DataFrame) -> str:
    columns = list(dict.fromkeys(zip(primary["method"], primary["variant"], strict=True)))
    cells = {(row["dataset"], row["method"], row["variant"]): row for _, row in primary.iterrows()}
    judged = primary[primary["verdict"] != ""]
    answered = set(zip(judged["method"], judged["variant"], strict=True))
    header = ["data set"]
    for column in columns:
        header += [display(column[0])] + (["published"] if column in answered else [])
    rows = []
    for dataset in dict.fromkeys(primary["dataset"]):
        row = [dataset]
        for column in columns:
            cell = cells.get((dataset, *column))
            row.append("" if cell is None else _ours(cell))
            if column in answered:
                row.append("" if cell is None else _theirs(cell))
        rows.append(row)
    return pipe_table(header, rows)


def _ours(row: pd.Series) -> str:
    text = number(row["mean"])
    if not math.isnan(row["std"]):
        text += f" ± {number(row['std'])}"
    if row["best"]:
        text = f"**{text}**"
    if abs(row["mean"] - row["median"]) > _MEDIAN_SHOWN:
        text += f" ({number(row['median'])})"
    if row["failed"]:
        text += f" †{row['failed']}"
    return text


def _theirs(row: pd.Series) -> str:
    if row["verdict"] == "":
        return ""
    if math.isnan(row["published_mean"]):
        return "N/A"
    text = number(row["published_mean"])
    if not math.isnan(row["published_std"]):
        text += f" ± {number(row['published_std'])}"
    return f"{text} {MARKS[row['verdict']]}".strip()


def _legend(primary: pd.DataFrame) -> list[str]:
    notes = [
        "**Bold**: no failed split, and the lowest mean of the row or not told from it by a "
        "two-sided paired t-test over the splits at 5%."
    ]
    if ((primary["mean"] - primary["median"]).abs() > _MEDIAN_SHOWN).any():
        notes.append(
            f"In parentheses: the median over splits, where it is more than {_MEDIAN_SHOWN} from "
            "the mean."
        )
    if primary["failed"].any():
        notes.append(
            f"†k: k splits failed, that is, were not finite (left out of mean and deviation) or "
            f"above {verdicts.LIMIT_NATS:.0f} nats (kept in them)."
        )
    if (primary["verdict"] != "").any():
        notes.append(
            "Published: ✓ reproduced, that is, our mean within max(0.05 nats, two standard errors) "
            "and at most 5% of the splits failed; ▲ ours better; ▼ ours worse."
        )
    return [" ".join(notes)]


def _against_published(artefact: Artefact, primary: pd.DataFrame) -> list[str]:
    answered = primary[primary["verdict"] != ""]
    if not len(answered):
        return []
    parts = ["## Against the published numbers", _counts(answered)]
    if missing := _missing(artefact, answered):
        parts.append(missing)
    deviations = answered[answered["verdict"].isin(["better", "worse", "different"])]
    if len(deviations):
        parts += ["Each deviation and its cause, as far as found:", _causes(artefact, deviations)]
    return parts


def _counts(answered: pd.DataFrame) -> str:
    kinds = [kind for kind in MARKS if (answered["verdict"] == kind).any()]
    rows = []
    for method in dict.fromkeys(answered["method"]):
        counts = Counter(answered.loc[answered["method"] == method, "verdict"])
        rows.append([display(method), *(str(counts[kind]) for kind in kinds)])
    return pipe_table(["method", *(kind.replace("-na", " N/A") for kind in kinds)], rows)


def _missing(artefact: Artefact, answered: pd.DataFrame) -> str:
    values = published.values()
    here = values[(values["paper"] == artefact.paper) & (values["artefact"] == artefact.name)]
    done = set(zip(answered["dataset"], answered["method"], strict=True))
    rest = Counter(row.method for row in here.itertuples() if (row.dataset, row.method) not in done)
    if not rest:
        return ""
    listed = ", ".join(f"{display(name)} ({count})" for name, count in rest.items())
    return f"Published numbers not run here: {listed}."


def _causes(artefact: Artefact, deviations: pd.DataFrame) -> str:
    """Return a table with one row a cause, its data sets together."""
    together: dict[tuple[str, str, str], list[str]] = {}
    order = {name: k for k, name in enumerate(artefact.methods)}
    ordered = deviations.sort_values(
        "method", key=lambda names: names.map(lambda name: order.get(name, 99)), kind="stable"
    )
    for row in ordered.to_dict("records"):
        cause = explain(artefact.paper, artefact.name, row)
        values = f"{number(row['mean'])} ({number(row['published_mean'])})"
        together.setdefault((row["method"], row["verdict"], cause), []).append(
            f"{row['dataset']} {values}"
        )
    rows = [
        [display(method), f"{MARKS[verdict]} {verdict}", ", ".join(listed), cause]
        for (method, verdict, cause), listed in together.items()
    ]
    header = ["method", "verdict", "data sets: ours (published)", "cause"]
    return pipe_table(header, rows, left=4)
