"""kcef table 2, also with KCEF tuned on fewer rows: negative log-likelihood of joint densities."""

import json
from pathlib import Path

import pandas as pd

from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import claims_of_tables as claims

REMOVED = "removed_column"
"""Metric of the rows that name a column left out (in `method`) and why (in `variant`)."""

_DATASETS = published.datasets("kcef", "table2")
_OTHERS = ["LSCDE-F", "LSCDE-M", "NADE"]
_AXIS_LABEL = "negative log-likelihood of a standardised row (nats); lower is better"


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table with a row for each column left out, which the `.json` of scores name."""
    found = {}
    for path in files:
        beside = path.with_suffix(".json")
        info = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        for entry in info.get("removed", ()):
            found[path.parent.name, entry["column"]] = entry["reason"]
    empty = {"metric": REMOVED, "unit": "", "n": 0, "failed": 0}
    rows = [
        {"dataset": dataset, "method": column, "variant": reason, **empty}
        for (dataset, column), reason in found.items()
    ]
    return building.with_rows(building.build(artefact, scores, files), rows)


def remarks(table: pd.DataFrame) -> list[str]:
    """Name the columns left out of each data set, with the reason."""
    removed = table[table["metric"] == REMOVED]
    names = removed["method"] + " (" + removed["variant"] + ")"
    return [
        f"Left out of {dataset}: {', '.join(each)}."
        for dataset, each in names.groupby(removed["dataset"], sort=False)
    ]


ARTEFACTS = [
    Artefact(
        __name__,
        kind="table",
        shows={
            "joint": {
                "datasets": _DATASETS,
                "methods": ["KCEF-F", "KCEF-M", "KCEF-LL-F", "LikelihoodKCEF-F", *_OTHERS],
            }
        },
        build=build,
        draw=dot_plot.write,
        claims={"K9": claims.kcef_after_nade},
        metric=NLL,
        published_trials=5,
        trial="run",
        axis=(-10.0, 20.0),
        axis_label=_AXIS_LABEL,
        remarks=remarks,
    ),
    Artefact(
        __name__,
        name="table2-rows",
        kind="table",
        stage="readings",
        shows={
            "joint": {
                "datasets": _DATASETS,
                "methods": [
                    "KCEF-F-500-rows",
                    "KCEF-F-1000-rows",
                    "KCEF-M-500-rows",
                    "KCEF-M-1000-rows",
                    *_OTHERS,
                ],
            }
        },
        build=building.build,
        draw=dot_plot.write,
        metric=NLL,
        trial="run",
        axis=(0.0, 40.0),
        axis_label=_AXIS_LABEL,
    ),
]
