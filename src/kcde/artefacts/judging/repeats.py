"""Scores of one cell by split, run or seed: what the tests behind claims compare."""

import math

import numpy as np
import pandas as pd

from kcde import published
from kcde.artefacts.tables.building import AS_PUBLISHED

NLL = "negative_log_likelihood"
"""The metric of all likelihood tables and figures, in nats."""


def splits(
    scores: pd.DataFrame,
    dataset: str,
    method: str,
    variant: str = AS_PUBLISHED,
    metric: str = NLL,
) -> pd.Series:
    """Return a cell's values by split, NaN where the fit failed.

    Parameters
    ----------
    scores
        As `kcde.scores.read` returns them.
    dataset, method, variant, metric
        Of the cell.

    Returns
    -------
    pandas.Series
        Indexed by split, empty where there are no such scores.
    """
    rows = scores[
        (scores["dataset"] == dataset)
        & (scores["method"] == method)
        & (scores["variant"] == variant)
        & (scores["metric"] == metric)
    ]
    return rows.set_index("split")["value"].where(rows.set_index("split")["status"] == "ok")


def published_datasets(paper: str, artefact: str) -> list[str]:
    """Return the data sets of a published table, in its order."""
    values = published.values()
    here = values[(values["paper"] == paper) & (values["artefact"] == artefact)]
    return list(dict.fromkeys(here["dataset"]))


def mean_and_stderr(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of some values and its standard error, NaN for fewer than two.

    Parameters
    ----------
    values
        Shape (n,), finite.

    Returns
    -------
    tuple of float
        In the unit of the values.
    """
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    return mean, float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
