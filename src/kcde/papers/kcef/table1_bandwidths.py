"""kcef table1-bandwidths: table 1 by bandwidths and criterion of KCEF; K7, K8, D3 and D6."""

from functools import partial
from pathlib import Path

import pandas as pd

from kcde.evidence import r_sets
from kcde.evidence.deciding import under_each
from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import table1
from kcde.papers.kcef._renamed import renamed
from kcde.papers.kcef.table1_readings import published_value

READINGS = {
    "one σ on a grid": "KCEF",
    "one for each dimension by early stopping": "KCEF-stopped",
    "one for each dimension to convergence": "KCEF-converged",
}
"""Reading of K-bandwidths to the method that stands in KCEF's place."""

CRITERIA = {
    "score": "KCEF",
    "held-out likelihood with one σ": "KCEF-LL-shared",
    "held-out likelihood with σ_x and σ_y": "KCEF-LL",
}
"""The same for K-criterion."""

_CHOICES = {"bandwidths": READINGS, "criterion": CRITERIA}
_SHOWN = tuple(dict.fromkeys([*READINGS.values(), *CRITERIA.values()]))

_DECIDERS = {
    "K7": table1.kcef_beats_lscde,
    "K8": table1.nade_loses_to_kcef,
    "D3": r_sets.best_on_six,
    "D6": r_sets.kcef_unstable,
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of KCEF under each reading; the first has the published mean."""
    own = scores[scores["method"].isin(_SHOWN)]
    # Where a configuration selects none of them, the other methods are shown.
    table = building.build(artefact, own if len(own) else scores, files)
    first = (table["method"] == "KCEF") & (table["metric"] == NLL)
    table["published_mean"] = table["dataset"].map(published_value).where(first)
    return table


def remarks(table: pd.DataFrame) -> list[str]:
    """Say which reading of each choice is nearest to the published means."""
    own = table[table["metric"] == NLL]
    published = own.set_index("dataset")["published_mean"].dropna()
    if not len(published):
        return []
    medians = own.pivot(index="dataset", columns="method", values="median").loc[published.index]
    gaps = medians.sub(published, axis=0).abs()
    said = []
    for choice, readings in _CHOICES.items():
        of_choice = gaps[[name for name in readings.values() if name in gaps]]
        counts = of_choice.idxmin(axis=1).value_counts()
        each = ", ".join(f"{name} on {counts.get(name, 0)}" for name in of_choice)
        said.append(
            f"By {choice}, nearest to the published value of {len(gaps)} sets, by our median: "
            f"{each}."
        )
    return said


def read(scores: pd.DataFrame, choice: str) -> dict[str, dict[str, Decision]]:
    """Decide the claims with KCEF's scores under each reading of a choice, a key of `_CHOICES`."""
    named = _CHOICES[choice]
    under = {words: renamed(scores, {name: "KCEF"}) for words, name in named.items()}
    return under_each(_DECIDERS, under)


ARTEFACT = Artefact(
    __name__,
    name="table1-bandwidths",
    kind="table",
    stage="readings",
    shows={
        "r_benchmark": {
            "methods": [
                "KCEF",
                "KCEF-stopped",
                "KCEF-converged",
                "KCEF-LL-shared",
                "KCEF-LL",
                "NADE",
                "LSCDE",
                "epsilon-KDE",
                "DDE",
            ],
        }
    },
    build=build,
    draw=dot_plot.write,
    readers={f"K-{choice}": partial(read, choice=choice) for choice in _CHOICES},
    metric=NLL,
    columns=_SHOWN,
    axis=table1.ARTEFACT.axis,
    axis_label=table1.ARTEFACT.axis_label,
    spread_over_splits=True,
    remarks=remarks,
)
