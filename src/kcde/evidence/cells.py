"""The values of one cell of scores: a method on a data set under a setting, by split."""

import json
import math

import numpy as np
import pandas as pd

from kcde.metrics.names import NLL
from kcde.names import AS_PUBLISHED


def variants(scores: pd.DataFrame) -> dict[str, str]:
    """Return each method of some scores with its variant."""
    pairs = scores[["method", "variant"]].drop_duplicates("method")
    return dict(pairs.itertuples(index=False, name=None))


def under(scores: pd.DataFrame, **axes: object) -> pd.DataFrame:
    """Return the scores whose setting has these values, e.g. `protocol="folds"` or `x=1`."""
    given = scores["setting"].map(json.loads)
    fits = given.map(lambda found: all(found.get(name) == axes[name] for name in axes))
    return scores[fits.astype(bool)]


def splits(
    scores: pd.DataFrame,
    dataset: str,
    method: str,
    variant: str = AS_PUBLISHED,
    metric: str = NLL,
) -> pd.Series:
    """Return the values of a method on one data set by split, NaN where the fit failed.

    Parameters
    ----------
    scores
        As `kcde.scores.read` returns them.
    dataset, method, variant, metric
        Of the cell.

    Returns
    -------
    pandas.Series
        Indexed by split in the order of the scores; empty where there are no such scores.
    """
    # Claims look up thousands of cells; arrays are several times as fast as frames.
    cell = np.ones(len(scores), dtype=bool)
    wanted = {"dataset": dataset, "method": method, "variant": variant, "metric": metric}
    for column, name in wanted.items():
        cell &= (scores[column] == name).to_numpy()
    ok = (scores["status"] == "ok").to_numpy()[cell]
    values = np.where(ok, scores["value"].to_numpy(float)[cell], np.nan)
    return pd.Series(values, pd.Index(scores["split"].to_numpy()[cell], name="split"), name="value")


def values(
    scores: pd.DataFrame, method: str, metric: str, variant: str = AS_PUBLISHED
) -> pd.Series:
    """Return the values of a method by split, NaN where the fit failed or a value is not finite.

    Unlike in `splits`, a failed fit counts whichever metric its row has.

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
