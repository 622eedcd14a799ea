"""kcef table 1, its KCEF by bandwidths and criterion, and what its column NADE measures."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.metrics.names import NLL, NLL_X
from kcde.pages import building, dot_plot, normalisers, table_page
from kcde.pages.markdown import number, pipe_table
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import claims_of_tables as claims

_AXIS = (-3.0, 4.5)
_AXIS_LABEL = "negative log-likelihood of standardised y (nats); lower is better"
_CHOICES = {
    "bandwidths": ["KCEF", "KCEF-stopped", "KCEF-converged"],
    "criterion": ["KCEF", "KCEF-LL-shared", "KCEF-LL"],
}
_OF_KCEF = tuple(dict.fromkeys(name for names in _CHOICES.values() for name in names))
_NADES = ("NADE", "NADE-joint")
_SPLITS = 20
_DATASETS = published.datasets("kcef", "table1")


def build_of_kcef(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of KCEF under each reading; the first has the published mean."""
    own = scores[scores["method"].isin(_OF_KCEF)]
    # Where a configuration selects none of them, the other methods are shown.
    table = building.build(artefact, own if len(own) else scores, files)
    return _with_published(table, "KCEF")


def build_of_nade(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of the two NADE alone; that of y given x has the published mean."""
    table = building.build(artefact, scores[scores["method"].isin(_NADES)], files)
    table = _with_published(table, "NADE")
    places = table["dataset"].map({name: place for place, name in enumerate(_DATASETS)})
    rows = np.lexsort((places.fillna(len(_DATASETS)), table["metric"] != NLL))
    return table.iloc[rows].reset_index(drop=True)


def _with_published(table: pd.DataFrame, method: str) -> pd.DataFrame:
    values = table["dataset"].map(lambda name: published_value(name, method))
    shown = (table["method"] == method) & (table["metric"] == NLL)
    return table.assign(published_mean=values.astype(float).where(shown))


def published_value(dataset: str, method: str = "KCEF") -> float | None:
    """Return the published likelihood; dde repeats kcef's, and adds sets of its own."""
    values = published.values().dropna(subset="value")
    here = (values["dataset"] == dataset) & (values["method"] == method) & (values["metric"] == NLL)
    return next(iter(values.loc[here, "value"]), None)


def nearest_readings(table: pd.DataFrame) -> list[str]:
    """Say which reading of each choice is nearest to the published means."""
    own = table[table["metric"] == NLL]
    values = own.set_index("dataset")["published_mean"].dropna()
    medians = own.pivot(index="dataset", columns="method", values="median").loc[values.index]
    gaps = medians.sub(values, axis=0).abs()
    said = []
    for choice, names in _CHOICES.items():
        nearest = gaps[[name for name in names if name in gaps]].idxmin(axis=1).value_counts()
        each = ", ".join(f"{name} on {nearest.get(name, 0)}" for name in names)
        said.append(
            f"By {choice}, nearest to the published value of {len(gaps)} sets, by our median: "
            f"{each}."
        )
    return said if len(gaps) else []


def draw_nades(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and a picture in which both rows show how far they are from the published."""
    pages = table_page.write(artefact, table, stem)
    return [*pages, *dot_plot.picture(artefact, table, stem, through=True)]


def nearer_nade(table: pd.DataFrame) -> list[str]:
    """Return the table that says, set by set, which NADE is nearer to the published value.

    Declared before the joint was fitted: by the distance of means; that of medians decides nothing.
    """
    cells = table.dropna(subset="mean").set_index(["method", "metric", "dataset"])
    rows, joint_is_nearer, by_median, met = [], [], 0, dict.fromkeys(_NADES, 0)
    for dataset, value in cells["published_mean"].dropna().droplevel([0, 1]).items():
        wanted = [*((name, NLL, dataset) for name in _NADES), ("NADE-joint", NLL_X, dataset)]
        if not all(key in cells.index for key in wanted):
            continue
        *both, of_x = (cells.loc[key] for key in wanted)
        shown = [dataset, number(value)]
        for name, row in zip(_NADES, both, strict=True):
            target = {name: verdicts.Published(value, trials=_SPLITS)}
            found = verdicts.judge(NLL, name, {name: building.summary_of(row)}, target)
            met[name] += found == verdicts.COMPATIBLE
            shown.append(number(row["mean"]) + " ✓" * (found == verdicts.COMPATIBLE))
        distances = [abs(row["mean"] - value) for row in both]
        joint_is_nearer.append(distances[1] < distances[0])
        by_median += abs(both[1]["median"] - value) < abs(both[0]["median"] - value)
        shown += [number(of_x["mean"]), "x and y" if joint_is_nearer[-1] else "y given x"]
        rows.append(shown)
    if not rows:
        return []
    return [
        "## Which of the two is nearer",
        pipe_table(["data set", "published", "y given x", "x and y", "x alone", "nearer"], rows),
        f"Means; x and y together is nearer on {sum(joint_is_nearer)} of {len(rows)} sets, by "
        f"medians on {by_median}. ✓: compatible with the published mean; x and y together is so "
        f"on {met['NADE-joint']} sets, y given x on {met['NADE']}.",
    ]


ARTEFACTS = [
    Artefact(
        __name__,
        kind="table",
        shows={
            "r_benchmark": {
                "datasets": _DATASETS,
                "methods": [
                    "KCEF",
                    "KCEF-LL",
                    "KCEF-LL-defensive",
                    "LikelihoodKCEF",
                    "NADE",
                    "LSCDE",
                    "LSCDE-exact",
                ],
            }
        },
        build=building.build,
        draw=partial(dot_plot.write_against, pair=("KCEF", "LSCDE")),
        claims={"K7": claims.kcef_beats_lscde},
        metric=NLL,
        published_trials=_SPLITS,
        overlap=1.0,
        remarks=normalisers.importance_sampling,
    ),
    Artefact(
        __name__,
        name="table1-bandwidths",
        kind="table",
        stage="readings",
        shows={"r_benchmark": {"methods": [*_OF_KCEF, "NADE", "LSCDE", "epsilon-KDE", "DDE"]}},
        build=build_of_kcef,
        draw=dot_plot.write,
        metric=NLL,
        columns=_OF_KCEF,
        axis=_AXIS,
        axis_label=_AXIS_LABEL,
        remarks=nearest_readings,
    ),
    Artefact(
        __name__,
        name="table1-nade",
        kind="table",
        stage="readings",
        shows={
            "r_benchmark": {"datasets": _DATASETS, "methods": [*_NADES, "KCEF", "KCEF-LL"]},
        },
        build=build_of_nade,
        draw=draw_nades,
        claims={"K8": claims.nade_loses_to_kcef},
        metric=NLL,
        columns=_NADES,
        axis=(-4.0, 80.0),
        axis_label="negative log-likelihood of standardised rows (nats); lower is better",
        below=nearer_nade,
        apart=_NADES,
    ),
]
