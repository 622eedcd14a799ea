"""kcef table 2: negative log-likelihood of joint densities of UCI data, and claim K9."""

import json
from collections import defaultdict
from pathlib import Path

import pandas as pd

from kcde.evidence.cells import splits
from kcde.evidence.deciding import as_drawn
from kcde.evidence.paired import by_split
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.names import NLL
from kcde.metrics.paired import paired_t_test
from kcde.pages import building, dot_plot
from kcde.papers import published
from kcde.papers.artefact import Artefact, Decision

REMOVED = "removed_column"
"""Metric of the rows that name a column left out (in `method`) and why (in `variant`)."""

_GRAPHS = {
    "KCEF": ("KCEF-F", "KCEF-M"),
    "LSCDE": ("LSCDE-F", "LSCDE-M"),
    "NADE": ("NADE",),
}
_WINES = ("white-wine", "red-wine")


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of `tables.building.build` with a row for each column left out.

    The metric of the added rows is `REMOVED`; the `.json` beside each score file names the columns.
    """
    table = building.build(artefact, scores, files)
    empty = {"metric": REMOVED, "unit": "", "n": 0, "failed": 0}
    return building.with_rows(
        table,
        [
            {"dataset": dataset, "method": column, "variant": reason, **empty}
            for dataset, column, reason in _removed(files)
        ],
    )


def _removed(files: list[Path]) -> list[tuple[str, str, str]]:
    """Return (data set, column, reason) from the information beside the scores, each once."""
    found = {}
    for path in files:
        beside = path.with_suffix(".json")
        info = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        for entry in info.get("removed", ()):
            found[path.parent.name, entry["column"]] = entry["reason"]
    return [(dataset, column, reason) for (dataset, column), reason in found.items()]


def remarks(table: pd.DataFrame) -> list[str]:
    """Name the columns left out of each data set, with the reason."""
    columns = defaultdict(list)
    for row in table[table["metric"] == REMOVED].to_dict("records"):
        columns[row["dataset"]].append(f"{row['method']} ({row['variant']})")
    return [f"Left out of {dataset}: {', '.join(names)}." for dataset, names in columns.items()]


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K9: KCEF is in the best group on parkinsons, second after NADE on both wines.

    Each method is represented by its better graph. On parkinsons KCEF must have the lowest mean or
    not be significantly different from the method that has, by a two-sided paired t-test at 5%.
    On a wine the means must be in the order NADE, KCEF, LSCDE, and NADE and KCEF significantly
    different, since otherwise KCEF would be in the best group.
    """
    held, parts = [], []
    for dataset in published.datasets("kcef", "table2"):
        runs = {name: _better_graph(scores, dataset, graphs) for name, graphs in _GRAPHS.items()}
        if absent := [name for name, (_, values) in runs.items() if not values.notna().any()]:
            return Decision("undecided", f"no runs of {', '.join(absent)} on {dataset}")
        order = sorted(runs, key=lambda name: runs[name][1].mean())
        rival = order[0] if order[0] != "KCEF" else order[1]
        p_value = paired_t_test(*by_split(runs["KCEF"][1], runs[rival][1])).p_value
        means = " < ".join(f"{runs[name][0]} {runs[name][1].mean():.2f}" for name in order)
        parts.append(f"{dataset}: {means} (KCEF against {rival}: p = {p_value:.2g})")
        if dataset in _WINES:
            held.append(order == ["NADE", "KCEF", "LSCDE"] and p_value < SIGNIFICANCE)
        else:
            held.append(order[0] == "KCEF" or p_value >= SIGNIFICANCE)
    reason = f"mean negative log-likelihoods, best of F and M: {'; '.join(parts)}"
    return Decision("holds" if all(held) else "fails", reason)


def _better_graph(
    scores: pd.DataFrame, dataset: str, graphs: tuple[str, ...]
) -> tuple[str, pd.Series]:
    """Return the method with the lower mean over its runs, and its values."""
    found = {name: splits(scores, dataset, name) for name in graphs}
    known = {name: values for name, values in found.items() if values.notna().any()} or found
    best = min(known, key=lambda name: known[name].mean())
    return best, known[best]


_DECIDERS = {"K9": decide}

ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={
        "joint": {
            "datasets": ["white-wine", "parkinsons", "red-wine"],
            "methods": [
                "KCEF-F",
                "KCEF-M",
                "KCEF-LL-F",
                "LikelihoodKCEF-F",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
            ],
        }
    },
    build=build,
    draw=dot_plot.write,
    deciders=_DECIDERS,
    readers={"K-rows": as_drawn(_DECIDERS)},  # other numbers of rows: table2-rows
    metric=NLL,
    published_trials=5,
    trial="run",
    axis=(-10.0, 20.0),
    axis_label="negative log-likelihood of a standardised row (nats); lower is better",
    remarks=remarks,
)
