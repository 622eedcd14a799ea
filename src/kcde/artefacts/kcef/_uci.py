"""kcef table 2: joint densities of UCI data, the columns left out of them, and claim K9."""

import json
from collections import defaultdict
from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.tables import building
from kcde.metrics.paired import paired_t_test

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

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `joint`.
    files
        Their files; the `.json` beside each says which columns of the data were left out.

    Returns
    -------
    pandas.DataFrame
        With `TABLE_COLUMNS`; the metric of the added rows is `REMOVED`.
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


def remarks(table: pd.DataFrame) -> list[str]:
    """Name the columns left out of each data set, with the reason.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        A sentence a data set.
    """
    columns = defaultdict(list)
    for row in table[table["metric"] == REMOVED].to_dict("records"):
        columns[row["dataset"]].append(f"{row['method']} ({row['variant']})")
    return [f"Left out of {dataset}: {', '.join(names)}." for dataset, names in columns.items()]


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K9: KCEF is in the best group on parkinsons, second after NADE on both wines.

    Each method stands by its better graph. On parkinsons a two-sided paired t-test at 5% must
    not tell KCEF from the lowest mean; on a wine the means must be in the order NADE, KCEF, LSCDE,
    and the test must tell NADE from KCEF, which else would be in the best group.

    Parameters
    ----------
    scores
        Of the experiment `joint`.

    Returns
    -------
    Decision
        `undecided` where a method has no runs on a data set.
    """
    held, parts = [], []
    for dataset in published.datasets("kcef", "table2"):
        runs = {name: _better_graph(scores, dataset, graphs) for name, graphs in _GRAPHS.items()}
        if absent := [name for name, (_, values) in runs.items() if not values.notna().any()]:
            return Decision("undecided", f"no runs of {', '.join(absent)} on {dataset}")
        order = sorted(runs, key=lambda name: runs[name][1].mean())
        rival = order[0] if order[0] != "KCEF" else order[1]
        test = _test(runs["KCEF"][1], runs[rival][1])
        means = " < ".join(f"{runs[name][0]} {runs[name][1].mean():.2f}" for name in order)
        parts.append(f"{dataset}: {means} (KCEF against {rival}: p = {test:.2g})")
        if dataset in _WINES:
            held.append(order == ["NADE", "KCEF", "LSCDE"] and test < SIGNIFICANCE)
        else:
            held.append(order[0] == "KCEF" or test >= SIGNIFICANCE)
    reason = f"mean negative log-likelihoods, best of F and M: {'; '.join(parts)}"
    return Decision("holds" if all(held) else "fails", reason)


def _better_graph(
    scores: pd.DataFrame, dataset: str, graphs: tuple[str, ...]
) -> tuple[str, pd.Series]:
    """Return the variation with the lower mean over its runs, and these."""
    found = {name: splits(scores, dataset, name) for name in graphs}
    known = {name: values for name, values in found.items() if values.notna().any()} or found
    best = min(known, key=lambda name: known[name].mean())
    return best, known[best]


def _test(first: pd.Series, second: pd.Series) -> float:
    both = pd.concat([first, second], axis=1)
    return paired_t_test(*both.to_numpy(float).T).p_value


def _removed(files: list[Path]) -> list[tuple[str, str, str]]:
    """Return (data set, column, reason) from the information beside the scores, each once."""
    found = {}
    for path in files:
        beside = path.with_suffix(".json")
        info = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        for entry in info.get("removed", ()):
            found[path.parent.name, entry["column"]] = entry["reason"]
    return [(dataset, column, reason) for (dataset, column), reason in found.items()]
