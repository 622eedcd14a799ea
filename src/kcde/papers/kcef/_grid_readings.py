"""The scores of KCEF under one reading of table 1's grid in place of its own."""

import json
from collections.abc import Iterator

import pandas as pd

from kcde.experiments.table1_readings import Reading, Table1Readings
from kcde.metrics.names import NLL, NLL_X

_NAMES = ["dataset", "method", "variant", "metric", "status"]
_COLUMNS = [*_NAMES, "split", "value"]


def reading_of(setting: str) -> Reading:
    """Return the reading that the setting of a score says."""
    axes = json.loads(setting)
    return Reading(tuple(axes["sigma"]), tuple(axes["regularization"]), axes["folds"])


def by_reading(scores: pd.DataFrame) -> Iterator[tuple[Reading, pd.DataFrame]]:
    """Yield each reading with the scores of KCEF under it, in the order of the scores."""
    own = scores[scores["experiment"] == Table1Readings.name]
    for setting, rows in own.groupby("setting", sort=False):
        yield reading_of(setting), rows


def replaced(scores: pd.DataFrame) -> Iterator[tuple[Reading, pd.DataFrame]]:
    """Yield each reading with the scores of all methods that claims on these data sets need.

    Parameters
    ----------
    scores
        Of `r_benchmark` and `table1_readings`, as `kcde.scores.read` returns them.

    Yields
    ------
    reading : Reading
    scores : pandas.DataFrame
        Only the likelihoods that decide: KCEF's under this reading, and those of the others.
    """
    likelihoods = scores[scores["metric"].isin([NLL, NLL_X])]
    others = likelihoods[likelihoods["experiment"] != Table1Readings.name]
    for reading, own in by_reading(likelihoods):
        kept = others[~others["method"].isin(own["method"].unique())]
        yield reading, compact(pd.concat([kept, own], ignore_index=True))


def compact(scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores whose cells are found faster: claims look up thousands of them."""
    return scores[_COLUMNS].astype(dict.fromkeys(_NAMES, "category"))
