"""kcef table 1 under every reading of the grid that the paper leaves open; K7, K8, D3, D6."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from kcde.evidence import r_sets
from kcde.evidence.cells import splits
from kcde.evidence.verdicts import summarise
from kcde.experiments.table1_readings import Reading, Table1Readings
from kcde.metrics.names import NLL
from kcde.names import AS_PUBLISHED
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.kcef import _nade_target, table1
from kcde.papers.kcef import _table1_readings_page as page
from kcde.papers.kcef import _table1_readings_picture as picture
from kcde.papers.kcef._grid_readings import by_reading, replaced


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return what each reading gives: likelihoods, then the verdicts of claims.

    Kind `scatter`: a panel a data set, a series a reading; x is its place by mean, y the mean or
    median over the finite splits, or how many of n failed; `published` is a series of its own.
    Kind `claim`: a panel a claim, a series a reading; stat is the verdict, amended where it is.
    """
    rows = [row for name in _datasets(scores) for row in _likelihoods(scores, name)]
    rows += _verdicts(scores)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _datasets(scores: pd.DataFrame) -> list[str]:
    """Return the data sets that have readings, in the order of the published tables."""
    own = scores.loc[scores["experiment"] == Table1Readings.name, "dataset"]
    known = [*published.datasets("kcef", "table1"), *published.datasets("dde", "table2")]
    ordered = dict.fromkeys([*known, *sorted(own.unique())])
    return [name for name in ordered if name in set(own)]


def _likelihoods(scores: pd.DataFrame, dataset: str) -> Iterator[dict]:
    known = {"panel": dataset, "kind": "scatter", "method": "KCEF", "variant": AS_PUBLISHED}
    cells = {
        f"{reading}": summarise(splits(rows, dataset, "KCEF").to_numpy(float), "nats")
        for reading, rows in by_reading(scores[scores["dataset"] == dataset])
    }
    # A mean that is not a number comes last.
    ordered = pd.Series({name: cell.mean for name, cell in cells.items()}, dtype=float)
    for place, name in enumerate(ordered.sort_values(kind="stable").index, 1):
        cell = cells[name]
        at = known | {"series": name, "x": place, "n": cell.n}
        for stat, value in (("mean", cell.mean), ("median", cell.median), ("failed", cell.failed)):
            yield at | {"stat": stat, "y": value}
    if (value := published_value(dataset)) is not None:
        yield known | {"series": "published", "stat": "published", "y": value}


def published_value(dataset: str) -> float | None:
    """Return the published value of KCEF; dde repeats kcef's, and adds sets of its own."""
    values = published.values().dropna(subset="value")
    here = (values["dataset"] == dataset) & (values["method"] == "KCEF") & (values["metric"] == NLL)
    return next(iter(values.loc[here, "value"]), None)


def _verdicts(scores: pd.DataFrame) -> Iterator[dict]:
    known = {"kind": "claim", "method": "KCEF", "variant": AS_PUBLISHED}
    for claim, reading, target, decision in _decisions(scores):
        panel = f"{claim}, {target} NADE" if target else claim
        verdict = (decision.amended or decision).verdict
        yield known | {"panel": panel, "series": f"{reading}", "stat": verdict}


def _decisions(scores: pd.DataFrame) -> Iterator[tuple[str, Reading, str, Decision]]:
    """Yield claim, reading of the grid, of NADE or "", and decision."""
    for reading, under in replaced(scores):
        yield "K7", reading, "", table1.kcef_beats_lscde(under)
        for target, decision in _nade_target.by_target(under, table1.nade_loses_to_kcef).items():
            yield "K8", reading, target, decision
        yield "D3", reading, "", r_sets.best_on_six(under)
        yield "D6", reading, "", r_sets.kcef_unstable(under)


def read_grid(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Return the claims under each reading of the grid; K8 with either reading of NADE, too."""
    found: dict[str, dict[str, Decision]] = {}
    for claim, reading, target, decision in _decisions(scores):
        name = f"{reading}; {target}" if target else f"{reading}"
        found.setdefault(claim, {})[name] = decision
    return found


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    name="table1-readings",
    stage="readings",
    shows={
        "table1_readings": {},
        "r_benchmark": {"methods": ["NADE", "NADE-joint", "LSCDE", "epsilon-KDE", "DDE"]},
    },
    build=build,
    draw=picture.draw,
    readers={"K-grid": read_grid},
    below=page.section,
)
