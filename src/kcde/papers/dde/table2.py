"""dde table 2: negative log-likelihood on the R data, and what the authors' evaluation explains."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, mean_and_stderr, splits
from kcde.evidence.verdicts import RULES
from kcde.files import atomic
from kcde.metrics.names import NLL, NLL_QUADRATURE
from kcde.pages import building, dot_plot, normalisers
from kcde.pages.markdown import count_of, details, number, pipe_table
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.dde import claims

DISTANCE, EFFECT, SHARE = "distance_to_published", "evaluation_effect", "share_explained"
"""Metrics of DDE: the mean by quadrature less the published one; the mean as published less that by
quadrature, over the splits where both are finite; the part of the distance that this closes."""

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
        if abs(distance) > RULES[NLL].floor:
            rows.append({**shared, "metric": SHARE, "unit": "", "mean": -mean / distance})
    return building.with_rows(table, rows)


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw differences from the published values, where there are any."""
    primary = table[table["metric"] == NLL]
    means = table.pivot(index="dataset", columns=["method", "metric"], values="mean")
    means = means.reindex(dict.fromkeys(table["dataset"]))
    printed = primary.set_index("dataset")["published_mean"].dropna()
    columns = {
        "data set": means.index,
        "published": map(number, printed.reindex(means.index)),
        **{
            words: map(number, means.get((name, NLL), pd.Series(np.nan, means.index)))
            for words, name in zip(
                ("test-half proposal", "quadrature", "penalised, quadrature"), _DDE, strict=True
            )
        },
        **{
            words: map(shown, means.get(("DDE", metric), pd.Series(np.nan, means.index)))
            for words, metric, shown in (
                ("quadrature − published", DISTANCE, _signed),
                ("proposal − quadrature", EFFECT, _signed),
                ("share", SHARE, lambda x: "–" if math.isnan(x) else f"{x:.0%}".replace("-", "−")),
            )
        },
    }
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} Means over {count_of(primary['n'], artefact.trial)}, in nats.",
        pipe_table(list(columns), zip(*columns.values(), strict=True)),
        *details(artefact, (), primary["method"]),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    shown = primary[primary["dataset"].isin(printed.index)]
    if not len(shown):  # made-up data: no published values
        artefact = replace(artefact, axis_label="negative log-likelihood (nats)")
        return [path, *dot_plot.picture(artefact, primary, stem, one_axis=True)]
    names = ["mean", "median", "published_mean"]
    shown = shown.assign(**shown[names].sub(shown["dataset"].map(printed).astype(float), axis=0))
    return [path, *dot_plot.picture(artefact, shown, stem, one_axis=True)]


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def remarks(table: pd.DataFrame) -> list[str]:
    """Say which normalisers are computed by sampling; DDE-penalised is shown by quadrature."""
    return normalisers.importance_sampling(table[table["method"] != "DDE-penalised"])


_RIVALS = ["KCEF", "KCEF-LL", "epsilon-KDE", "LSCDE", "LSCDE-exact"]

TABLE2 = Artefact(
    __name__,
    kind="table",
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": ["DDE", "DDE-penalised", *_RIVALS]}},
    build=building.build,
    draw=dot_plot.write,
    claims={"D3": claims.best_on_six, "D6": claims.kcef_unstable},
    metric=NLL,
    published_trials=20,
    overlap=1.0,
    columns=(*_DDE, *_RIVALS),
    spread_over_splits=True,
    shown_as=_SHOWN_AS,
    remarks=remarks,
)

LIKELIHOOD = Artefact(
    __name__,
    name="table2-likelihood",
    kind="table",
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": ["DDE", "DDE-penalised"]}},
    build=build,
    draw=draw,
    metric=NLL,
    columns=_DDE,
    spread_over_splits=True,
    shown_as=_SHOWN_AS,
    axis=(-2.0, 2.0),
    axis_label="negative log-likelihood less the published one (nats)",
)
