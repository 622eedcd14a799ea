"""dde table2-likelihood: the share of each distance to a published number due to evaluation."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, mean_and_stderr, splits
from kcde.evidence.verdicts import RULES
from kcde.files import atomic
from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot
from kcde.pages.markdown import count_of, details, number, pipe_table
from kcde.papers.artefact import Artefact
from kcde.papers.dde import _likelihoods, table2

DISTANCE, EFFECT, SHARE = "distance_to_published", "evaluation_effect", "share_explained"

_PUBLISHED, _QUADRATURE, _PENALISED = "DDE", "DDE-quadrature", "DDE-penalised"

_HEADER = [
    "data set",
    "published",
    "test-half proposal",
    "quadrature",
    "penalised, quadrature",
    "quadrature − published",
    "proposal − quadrature",
    "share",
]


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the DDE rows of table 2 with what the evaluation explains.

    Added for the method `DDE`: `DISTANCE`, the mean by quadrature less the published value;
    `EFFECT`, the mean as published less that by quadrature, over the splits where both are finite;
    `SHARE`, the part of the distance that the effect closes, where the distance exceeds the floor
    of the verdict rule.
    """
    table = building.build(replace(artefact, name="table2"), scores, files)
    means = _means(table)
    rows = []
    for dataset in dict.fromkeys(table["dataset"]):
        key = {"dataset": dataset, "method": _PUBLISHED, "variant": AS_PUBLISHED}
        effect = _effect(scores, dataset)
        if not len(effect):
            continue
        mean, stderr = mean_and_stderr(effect.to_numpy())
        shared = {**key, "n": len(effect), "failed": 0}
        spread = {"median": effect.median(), "std": effect.std(), "stderr": stderr}
        rows.append({**shared, "metric": EFFECT, "unit": "nats", "mean": mean, **spread})
        distance = means.get((dataset, _QUADRATURE), math.nan) - _published(table, dataset)
        if math.isfinite(distance):
            rows.append({**shared, "metric": DISTANCE, "unit": "nats", "mean": distance})
        if abs(distance) > RULES[NLL].floor:
            rows.append({**shared, "metric": SHARE, "unit": "", "mean": -mean / distance})
    return building.with_rows(table, rows)


def _effect(scores: pd.DataFrame, dataset: str) -> pd.Series:
    """Return the likelihood as published less that by quadrature, by split."""
    theirs, exact = (
        splits(scores, dataset, _PUBLISHED, metric=name) for name in (NLL, _likelihoods.QUADRATURE)
    )
    return (theirs - exact).astype(float).replace([np.inf, -np.inf], np.nan).dropna()


def _means(table: pd.DataFrame) -> pd.Series:
    primary = table[table["metric"] == NLL]
    return primary.set_index(["dataset", "method"])["mean"]


def _published(table: pd.DataFrame, dataset: str) -> float:
    here = table[(table["dataset"] == dataset) & (table["metric"] == NLL)]
    found = here["published_mean"].dropna()
    return float(found.iloc[0]) if len(found) else math.nan


def remarks(table: pd.DataFrame) -> list[str]:
    """Say on how many sets the evaluation explains the distance, and how large its effect is."""
    effects, shares = (
        table[table["metric"] == name].set_index("dataset")["mean"] for name in (EFFECT, SHARE)
    )
    if not len(effects):
        return []
    largest = effects.abs().idxmax()
    sentences = [
        f"The authors' evaluation gives the lower value on {(effects < 0).sum()} of {len(effects)} "
        f"sets and differs by at most {abs(effects[largest]):.2f} nats ({largest})."
    ]
    if len(shares):
        sentences.append(
            f"On {len(shares)} sets the value by quadrature is more than {RULES[NLL].floor} nats "
            "from the published one; of that distance the evaluation explains "
            f"{shares.median():.0%} in the median, and more than half on {(shares > 0.5).sum()}."
        )
    return sentences


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw differences from the published values, where there are any."""
    primary = table[table["metric"] == artefact.metric]
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} Means over {count_of(primary['n'], artefact.trial)}, in nats.",
        _grid(table),
        *details(artefact, artefact.remarks(table), primary["method"]),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    shown = _relative(primary)
    if not len(shown):  # made-up data: no published values
        artefact, shown = replace(artefact, axis_label="negative log-likelihood (nats)"), primary
    return [path, *dot_plot.picture(artefact, shown, stem, one_axis=True)]


def _grid(table: pd.DataFrame) -> str:
    means = _means(table)
    added = table[table["metric"].isin([EFFECT, DISTANCE, SHARE])]
    added = added.set_index(["dataset", "metric"])
    rows = []
    for dataset in dict.fromkeys(table["dataset"]):
        effect, distance, share = (
            added["mean"].get((dataset, name), math.nan) for name in (EFFECT, DISTANCE, SHARE)
        )
        stderr = added["stderr"].get((dataset, EFFECT), math.nan)
        ours = [
            means.get((dataset, name), math.nan) for name in (_PUBLISHED, _QUADRATURE, _PENALISED)
        ]
        rows.append(
            [
                dataset,
                number(_published(table, dataset)),
                *map(number, ours),
                _signed(distance),
                f"{_signed(effect)} ± {number(stderr)}",
                "–" if math.isnan(share) else f"{share:.0%}".replace("-", "−"),
            ]
        )
    return pipe_table(_HEADER, rows)


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def _relative(primary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of data sets with a published value, as differences from it."""
    published = primary.set_index("dataset")["published_mean"].dropna()
    own = primary[primary["dataset"].isin(published.index)]
    shift = own["dataset"].map(published).astype(float)
    names = ["mean", "median", "published_mean"]
    return own.assign(**{name: own[name] - shift for name in names})


ARTEFACT = Artefact(
    __name__,
    name="table2-likelihood",
    kind="table",
    shows={
        "r_benchmark": {
            "datasets": table2.ARTEFACT.shows["r_benchmark"]["datasets"],
            "methods": ["DDE", "DDE-penalised"],
        }
    },
    build=build,
    draw=draw,
    metric=NLL,
    columns=(_PUBLISHED, _QUADRATURE, _PENALISED),
    spread_over_splits=True,
    shown_as=_likelihoods.SHOWN_AS,
    axis=(-2.0, 2.0),
    axis_label="negative log-likelihood less the published one (nats)",
    remarks=remarks,
)
