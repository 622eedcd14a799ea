"""Scores of a reading's methods under the names that the claims of kcef know."""

from collections.abc import Mapping

import pandas as pd

from kcde.methods import METHODS


def renamed(scores: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return the scores of other methods than KCEF, and a reading's under the published names.

    Parameters
    ----------
    scores
        Of the experiments `joint` and `samples`.
    names
        Method of the reading to the name that the claims know.

    Returns
    -------
    pandas.DataFrame
        With the same columns; no other variant of KCEF is left.
    """
    of_reading = scores[scores["method"].isin(list(names))]
    of_reading = of_reading.assign(method=of_reading["method"].map(names))
    of_reading = of_reading.assign(variant=[METHODS[name].variant for name in of_reading["method"]])
    others = scores[~scores["method"].str.startswith("KCEF")]
    return pd.concat([others, of_reading], ignore_index=True)
