"""dde table 2: negative log-likelihood on the R data, and what the authors' evaluation explains."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, mean_and_stderr, splits
from kcde.metrics.names import NLL, NLL_QUADRATURE
from kcde.pages import building, dot_plot, figure_page, normalisers
from kcde.pages.markdown import count_of, number, pipe_table
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.dde import claims

DISTANCE, EFFECT, SHARE = "distance_to_published", "evaluation_effect", "share_explained"
"""Metrics of DDE: the mean by quadrature less the published one; the mean as published less that by
quadrature, over the splits where both are finite; the part of the distance that this closes."""

_LEAST = 0.05  # nats, of a distance of which a share is told
_DATASETS = published.datasets("dde", "table2")
_DDE = ("DDE", "DDE-quadrature", "DDE-penalised")
_SHOWN_AS = {
    "DDE-quadrature": ("DDE", NLL_QUADRATURE),
    "DDE-penalised": ("DDE-penalised", NLL_QUADRATURE),
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the DDE rows of table 2, then `DISTANCE`, `EFFECT` and, of a distance, `SHARE`."""
    table = building.build(replace(artefact, name="table2"), scores, files)
    primary = table[table["metric"] == NLL].set_index(["dataset", "method"])
    rows = []
    for dataset in dict.fromkeys(table["dataset"]):
        theirs, exact = (splits(scores, dataset, "DDE", metric=m) for m in (NLL, NLL_QUADRATURE))
        effect = (theirs - exact).astype(float).replace([np.inf, -np.inf], np.nan).dropna()
        if not len(effect):
            continue
        mean, stderr = mean_and_stderr(effect.to_numpy())
        shared = {"dataset": dataset, "method": "DDE", "variant": AS_PUBLISHED}
        shared |= {"n": len(effect), "failed": 0}
        spread = {"median": effect.median(), "std": effect.std(), "stderr": stderr}
        rows.append({**shared, "metric": EFFECT, "unit": "nats", "mean": mean, **spread})
        exact_mean = primary["mean"].get((dataset, "DDE-quadrature"), math.nan)
        distance = exact_mean - primary["published_mean"].get((dataset, "DDE"), math.nan)
        if math.isfinite(distance):
            rows.append({**shared, "metric": DISTANCE, "unit": "nats", "mean": distance})
        if abs(distance) > _LEAST:
            rows.append({**shared, "metric": SHARE, "unit": "", "mean": -mean / distance})
    return building.with_rows(table, rows)


def page_table(table: pd.DataFrame) -> list[str]:
    """Return the means and what the evaluation explains as a table."""
    means = table.pivot(index="dataset", columns=["method", "metric"], values="mean")
    columns = {
        "test-half proposal": (("DDE", NLL), number),
        "quadrature": (("DDE-quadrature", NLL), number),
        "penalised, quadrature": (("DDE-penalised", NLL), number),
        "quadrature − published": (("DDE", DISTANCE), _signed),
        "proposal − quadrature": (("DDE", EFFECT), _signed),
        "share": (("DDE", SHARE), _share),
    }
    primary = table[table["metric"] == NLL]
    printed = primary.dropna(subset="published_mean").set_index("dataset")["published_mean"]
    rows = [
        [name, number(printed.get(name, math.nan))]
        + [say(means[cell][name] if cell in means else math.nan) for cell, say in columns.values()]
        for name in dict.fromkeys(table["dataset"])
    ]
    said = f"Means over {count_of(primary['n'], 'split')}, in nats:"
    return [said, pipe_table(["data set", "published", *columns], rows)]


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw differences from the published values, where there are any."""
    pages, primary = figure_page.write(artefact, table, stem), table[table["metric"] == NLL]
    shown, names = primary.copy(), ["mean", "median", "published_mean"]
    shift = shown.groupby("dataset")["published_mean"].transform("first").astype(float)
    shown[names] = shown[names].sub(shift, axis=0)
    shown = shown[shift.notna()]
    if not len(shown):  # made-up data: no published values
        artefact, shown = replace(artefact, axis_label="negative log-likelihood (nats)"), primary
    return [*pages, *dot_plot.picture(artefact, shown, stem, one_axis=True)]


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}".replace("-", "−")


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def remarks(table: pd.DataFrame) -> list[str]:
    """Say which normalisers are computed by sampling; DDE-penalised is shown by quadrature."""
    return normalisers.importance_sampling(table[table["method"] != "DDE-penalised"])


_RIVALS = ["KCEF", "KCEF-LL", "epsilon-KDE", "LSCDE", "LSCDE-exact"]
_FITTED = ["DDE", "DDE-penalised"]
_SHARED = {"kind": "table", "metric": NLL, "shown_as": _SHOWN_AS}

TABLE2 = Artefact(
    __name__,
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": [*_FITTED, *_RIVALS]}},
    build=building.build,
    draw=dot_plot.write,
    claims={"D3": claims.best_on_six, "D6": claims.kcef_unstable},
    published_trials=20,
    overlap=1.0,
    columns=(*_DDE, *_RIVALS),
    remarks=remarks,
    **_SHARED,
)

LIKELIHOOD = Artefact(
    __name__,
    name="table2-likelihood",
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": _FITTED}},
    build=build,
    draw=draw,
    columns=_DDE,
    axis=(-2.0, 2.0),
    axis_label="negative log-likelihood less the published one (nats)",
    below=page_table,
    **_SHARED,
)
