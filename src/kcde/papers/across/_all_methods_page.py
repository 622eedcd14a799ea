"""The cross table as a page: the answer, the methods by rank, every set, and every pair."""

import math
from pathlib import Path

import pandas as pd

from kcde.evidence import verdicts
from kcde.files import atomic
from kcde.metrics.names import COVERAGES
from kcde.pages.markdown import count_of, details, number, pipe_table, probability
from kcde.pages.methods import display
from kcde.papers.across import _all_methods_answer
from kcde.papers.across._all_methods_risk import MARGINAL, OUTLYING
from kcde.papers.across._all_methods_rows import (
    GIVEN,
    of_methods,
    of_pairs,
    of_sets,
    shown_methods,
)
from kcde.papers.artefact import Artefact

_MEDIAN_SHOWN = 0.1  # nats between mean and median from which on the median is shown


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page of the cross table; the picture on it is `<stem>.png`."""
    cells, methods, names = of_sets(table), of_methods(table), shown_methods(table)
    parts = [
        f"# {artefact.name}: {artefact.text.title}",
        " ".join(_all_methods_answer.sentences(table)),
        _by_rank(methods),
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} {_over(cells, methods)}",
        *details(artefact, (), names),
        "## Every set",
        _grid(cells, names),
        _legend(cells),
        "## Every pair",
        _matrix(of_pairs(table), list(methods["method"])),
        "Number of sets on which the method of the row is significantly better – worse than that "
        "of the column, by the corrected test over splits at 5%. **Bold**: the two are "
        "significantly different by the test over sets, adjusted for all pairs.",
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return [path]


def _over(cells: pd.DataFrame, methods: pd.DataFrame) -> str:
    said = f"{count_of(cells['n'], 'split')} of each of {cells['dataset'].nunique()} sets."
    if len(methods) and methods["n"].iloc[0] < cells["dataset"].nunique():
        said += f" Ranked on the {methods['n'].iloc[0]:.0f} sets that every ranked method has."
    return said


def _by_rank(methods: pd.DataFrame) -> str:
    if not len(methods):
        return ""
    columns = {
        "method": lambda row: f"**{display(row.method)}**" if row.best else display(row.method),
        "mean rank": lambda row: f"{row.rank:.2f}",
        f"without {', '.join(OUTLYING)}": lambda row: _rounded(row.rank_without),
        "first in resamples of sets": lambda row: _percent(row.first_share),
        f"p against {display(methods['method'].iloc[0])}": lambda row: (
            "" if math.isnan(row.p_value) else probability(row.p_value)
        ),
        "mean loss (nats)": lambda row: number(row.capped),
        "worst set": lambda row: (
            "–" if pd.isna(row.worst) else f"{row.worst} {number(row.worst_capped)}"
        ),
        f"worse than {display(MARGINAL)}": lambda row: (
            "–"
            if math.isnan(row.below_marginal)
            else f"{row.below_marginal:.0f} of {row.of_marginal:.0f}"
        ),
        "sets with failed splits": lambda row: f"{row.failed:.0f}" if row.failed else "",
        "CRPS": lambda row: "–" if math.isnan(row.crps) else f"{row.crps:.3f}",
        "rank by CRPS": lambda row: _rounded(row.crps_rank),
        **{
            f"coverage of {100 * level:.0f}%": lambda row, name=name: _percent(getattr(row, name))
            for name, level in COVERAGES.items()
        },
        "seconds": lambda row: "–" if math.isnan(row.seconds) else f"{row.seconds:g}",
    }
    rows = [[text(row) for text in columns.values()] for row in methods.itertuples()]
    note = (
        "**Bold**: not significantly different from the first by the test over sets at 5%, "
        f"adjusted for its rivals. A loss is the median over splits, at most "
        f"{verdicts.LIMIT_NATS:.0f} nats."
    )
    return f"{pipe_table(list(columns), rows)}\n\n{note}"


def _rounded(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f}%"


def _title(method: str) -> str:
    return f"{display(method)} ‡" if method in GIVEN else display(method)


def _grid(cells: pd.DataFrame, names: list[str]) -> str:
    found = {(row.dataset, row.method): row for row in cells.itertuples()}
    rows = []
    for dataset, here in cells.groupby("dataset", sort=False):
        size = here["n_train"].iloc[0]
        row = [dataset, "" if math.isnan(size) else f"{size:.0f}"]
        row += [_cell(found[dataset, m]) if (dataset, m) in found else "" for m in names]
        rows.append(row)
    return pipe_table(["data set", "rows", *map(_title, names)], rows)


def _cell(row) -> str:
    text = number(row.mean)
    text = f"**{text}**" if row.best else text
    if _shows_median(row):
        text += f" ({number(row.median)})"
    return f"{text} †{row.failed:.0f}" if row.failed else text


def _shows_median(row) -> bool:
    return abs(row.mean - row.median) > _MEDIAN_SHOWN


def _legend(cells: pd.DataFrame) -> str:
    notes = [
        "Mean over splits of the negative log-likelihood of standardised y, in nats; sets by their "
        "training rows, methods by rank. **Bold**: the lowest mean rank of the set, or not "
        "significantly different from that method by the corrected test over splits at 5%, and at "
        "most 5% of the splits failed."
    ]
    if any(map(_shows_median, cells.itertuples())):
        notes.append(
            f"In parentheses: the median, where it is more than {_MEDIAN_SHOWN} from the mean."
        )
    if cells["failed"].any():
        notes.append("†k: k splits failed.")
    if set(GIVEN) & set(cells["method"]):
        notes.append("‡ Parameters given by the authors: not ranked, shown on sets that it has.")
    return " ".join(notes)


def _matrix(pairs: pd.DataFrame, names: list[str]) -> str:
    rows = []
    for one in names:
        row = [display(one)]
        for other in names:
            row.append("" if one == other else _score(pairs.loc[(one, other)]))
        rows.append(row)
    return pipe_table(["", *map(display, names)], rows)


def _score(pair: pd.Series) -> str:
    text = f"{pair['wins']:.0f} – {pair['losses']:.0f}"
    return f"**{text}**" if pair["p_value"] < verdicts.SIGNIFICANCE else text
