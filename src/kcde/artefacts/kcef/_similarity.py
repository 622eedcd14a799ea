"""kcef table 3: p-values of the relative similarity test, and claim K10."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.tables import building
from kcde.artefacts.tables.page import HIGHEST, LOWEST

METRIC = "p_value"
KEF, NADE = "H0: KEF closer than KCEF", "H0: NADE closer than KCEF"

_CLAIMED = (
    ("parkinsons", NADE, True),
    ("red-wine", NADE, False),
    ("red-wine", KEF, True),
    ("parkinsons", KEF, False),
)
"""Data set, hypothesis, and whether the paper rejects it: KCEF's samples are then closer."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of `kcde.artefacts.tables.building.build` with the range of each p-value.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `similarity`; a split is a seed of the samples.
    files
        Unused.

    Returns
    -------
    pandas.DataFrame
        With `TABLE_COLUMNS`; the lowest and highest p-value over the seeds are metrics of
        their own.
    """
    table = building.build(artefact, scores, files)
    ok = scores[(scores["metric"] == METRIC) & (scores["status"] == "ok")]
    rows = []
    for cell in table[table["metric"] == METRIC].to_dict("records"):
        key = {name: cell[name] for name in ("dataset", "method", "variant")}
        values = ok.loc[(ok[list(key)] == pd.Series(key)).all(axis=1), "value"]
        if not len(values):
            continue
        for metric, value in ((LOWEST, values.min()), (HIGHEST, values.max())):
            shared = {"metric": metric, "unit": "", "mean": float(f"{value:.6g}")}
            rows.append({**key, **shared, "n": cell["n"], "failed": cell["failed"]})
    return building.with_rows(table, rows)


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K10 by the median p over the seeds of four relative similarity tests.

    KCEF is significantly closer than NADE on parkinsons (median p at most 5%), not
    distinguishable from it on red wine (between 5% and 95%), closer than KEF on red wine,
    not distinguishable on parkinsons.

    Parameters
    ----------
    scores
        Of the experiment `similarity`.

    Returns
    -------
    Decision
        `undecided` where a test has no p-value.
    """
    held, parts = [], []
    for dataset, hypothesis, rejected in _CLAIMED:
        values = splits(scores, dataset, hypothesis, metric=METRIC).dropna().to_numpy(float)
        if not len(values):
            return Decision("undecided", f"no p-values of {hypothesis} on {dataset}")
        median = float(np.median(values))
        low = median <= SIGNIFICANCE
        held.append(low if rejected else SIGNIFICANCE < median < 1 - SIGNIFICANCE)
        wanted = "at most .05" if rejected else "in .05-.95"
        below = int((values <= SIGNIFICANCE).sum())
        parts.append(
            f"{dataset}, {hypothesis}: {median:.3g} (wanted {wanted}; {below} of {len(values)} "
            "seeds at most .05)"
        )
    return Decision("holds" if all(held) else "fails", f"median p: {'; '.join(parts)}")
