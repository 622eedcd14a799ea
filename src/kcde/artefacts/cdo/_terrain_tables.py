"""cdo table 3: absolute errors on rough terrain, in the published mix and in one definition."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import under, values, variants
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.tables import building
from kcde.artefacts.tables.markdown import significant
from kcde.artefacts.tables.methods import display

SMAE = "smae"
"""Of each method as the authors' code has it, under their protocol."""

CENTRED, PREDICTED = "smae_centred", "smae_predicted"
POINTWISE, TOTAL = "smae_pointwise", "smae_total"
POINTWISE_STD = "smae_pointwise_std"

DEFINITIONS = {
    CENTRED: "Σ|e| / Σ|y − ȳ|",
    PREDICTED: "Σ|e| / Σ|ŷ − ȳ|",
    POINTWISE: "mean |ŷ/y − 1|",
    TOTAL: "Σ|e| / Σ|y|",
}
"""Metric to its formula: e = ŷ − y on the test rows, ȳ the mean of the training rows."""

FOLDS, RANDOM = "folds", "random"
FLOWS = ("CondRealNVP", "CondMAF")
"""The methods that the authors fit to random splits; all others to folds."""

DEVIATION, DATA = "deviation_over_total", "data"
"""Metric and method of the row that says Σ|y − ȳ| / Σ|y| of our test folds."""


def mixed(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return table 3 as published: each method in its authors' definition and protocol.

    Its cells have different splits and definitions, so that none is marked as the best.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `terrain`.
    files
        Their score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `TABLE_COLUMNS`; of the flows also `smae_pointwise_std`, and a row of the metric
        `deviation_over_total`.
    """
    own = scores["metric"].isin([SMAE, POINTWISE_STD]) | scores["status"].eq("failed")
    found = _of_protocol(scores[own])
    found = found[found["metric"].isin([SMAE, POINTWISE_STD])]
    table = building.build(artefact, found, files)
    table["best"] = None
    table["p_value"] = np.nan
    return building.with_rows(table, _deviations(scores))


def one_definition(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return all methods on the same folds, in `smae_centred` and beside it the others.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `terrain`.
    files
        Their score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `TABLE_COLUMNS`.
    """
    table = building.build(artefact, _complete(under(scores, protocol=FOLDS), DEFINITIONS), files)
    return building.with_rows(table, _deviations(scores))


def remarks(table: pd.DataFrame) -> list[str]:
    """Say what the definitions differ by on these data, and how the points of a split spread.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    said = []
    for row in table[table["metric"] == DEVIATION].itertuples():
        said.append(
            f"Σ|y − ȳ| / Σ|y| of our test folds is {significant(row.mean)} ({row.dataset}): so "
            "much smaller Σ|e| / Σ|y| is than Σ|e| / Σ|y − ȳ| for the same predictions."
        )
    spreads = table[table["metric"] == POINTWISE_STD]
    if len(spreads):
        each = (f"{display(row.method)} {significant(row.mean)}" for row in spreads.itertuples())
        said.append(
            "Within a split the standard deviation of |ŷ/y − 1| over the test points, which the "
            f"paper prints after ± for the flows, is in the mean over the splits: "
            f"{', '.join(each)}."
        )
    return said


def _of_protocol(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of each method under the protocol of its published number."""
    parts = [under(scores, protocol=FOLDS), under(scores, protocol=RANDOM)]
    of_flows = [each["method"].isin(FLOWS) for each in parts]
    return _complete(pd.concat([parts[0][~of_flows[0]], parts[1][of_flows[1]]]), [SMAE])


def _complete(scores: pd.DataFrame, metrics) -> pd.DataFrame:
    """Return scores of these metrics alone, with a failed row of each for a fit that failed."""
    fit = ["dataset", "method", "variant", "setting", "split"]
    kept = scores[scores["metric"].isin(metrics) | scores["metric"].eq(POINTWISE_STD)]
    failed = scores[scores["status"] == "failed"].drop_duplicates(fit)
    lost = pd.concat([failed.assign(metric=metric, unit="") for metric in metrics])
    key = [*fit, "metric"]
    lost = lost[~pd.MultiIndex.from_frame(lost[key]).isin(pd.MultiIndex.from_frame(kept[key]))]
    return pd.concat([kept, lost], ignore_index=True)


def _deviations(scores: pd.DataFrame) -> list[dict]:
    """Return Σ|y − ȳ| / Σ|y| in the mean over the folds: of any method, its two errors' ratio."""
    rows = []
    for dataset, here in under(scores, protocol=FOLDS).groupby("dataset", sort=False):
        for method, variant in variants(here).items():
            total, centred = (values(here, method, name, variant) for name in (TOTAL, CENTRED))
            ratios = (total / centred).dropna()
            if len(ratios):
                row = {"dataset": dataset, "method": DATA, "variant": "", "metric": DEVIATION}
                rows.append({**row, "unit": "", "mean": ratios.mean(), "n": len(ratios)})
                rows[-1]["failed"] = 0
                break
    return rows
