"""Scores under a setting: what the artefacts of cdo compare, by repetition, fold or split."""

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from kcde.artefacts.judging.deciding import Missing
from kcde.artefacts.judging.verdicts import too_many_failed
from kcde.artefacts.tables.building import AS_PUBLISHED
from kcde.artefacts.tables.methods import display


def variants(scores: pd.DataFrame) -> dict[str, str]:
    """Return each method of some scores with its variant."""
    pairs = scores[["method", "variant"]].drop_duplicates("method")
    return dict(pairs.itertuples(index=False, name=None))


def under(scores: pd.DataFrame, **axes: object) -> pd.DataFrame:
    """Return the scores whose setting has these axes, e.g. `protocol="folds"` or `x=1`."""
    given = scores["setting"].map(json.loads)
    fits = given.map(lambda found: all(found.get(name) == axes[name] for name in axes))
    return scores[fits.astype(bool)]


def values(
    scores: pd.DataFrame, method: str, metric: str, variant: str = AS_PUBLISHED
) -> pd.Series:
    """Return a metric of a method by split, NaN where the fit failed.

    A fit that failed has a row of any one metric.

    Parameters
    ----------
    scores
        Of one data set under one setting.
    method, metric, variant
        Of the cell.

    Returns
    -------
    pandas.Series
        Indexed by split, ascending; empty where nothing was run.
    """
    own = scores[(scores["method"] == method) & (scores["variant"] == variant)]
    own = own[own["status"] != "not-run"]
    found = own[(own["metric"] == metric) & (own["status"] == "ok")].set_index("split")["value"]
    finite = found.astype(float).replace([np.inf, -np.inf], np.nan)
    return finite.reindex(sorted(set(own["split"])))


def completed(
    scores: pd.DataFrame, methods: Sequence[str], metric: str, place: str, variant: str
) -> dict[str, pd.Series]:
    """Return `values` of several methods of one variant, all of which a decision must have.

    Parameters
    ----------
    scores
        Of one data set under one setting.
    methods, metric, variant
        Of the cells.
    place
        What to call data set and setting where something is missing.

    Returns
    -------
    dict
        Method to its values.

    Raises
    ------
    Missing
        If a method has none, or more than 5% of its fits failed.
    """
    found = {name: values(scores, name, metric, variant) for name in methods}
    absent = [display(name) for name, each in found.items() if not each.notna().any()]
    if absent:
        raise Missing(f"no {metric} of {', '.join(absent)} on {place}")
    for name, each in found.items():
        failed = int(each.isna().sum())
        if too_many_failed(failed, len(each)):
            raise Missing(
                f"too many fits of {display(name)} failed on {place}: {failed} of {len(each)}"
            )
    return found
