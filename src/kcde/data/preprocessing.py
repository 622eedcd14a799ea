"""Selection of the columns on which a joint density is estimated (kcef, section 4).

"All discrete-valued variables were eliminated as well as one variable from every pair of variables
that are highly correlated (Pearson correlation greater than 0.98)." Discrete is here: no number, or
whole numbers only; of a pair the first goes, and the correlation counts in absolute value.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kcde.data import catalogue as tables
from kcde.data.loaders import READERS, Dataset

if TYPE_CHECKING:
    import pandas as pd

THRESHOLD = 0.98


def removed_columns(table: "pd.DataFrame", threshold: float = THRESHOLD) -> dict[str, str]:
    """Return the columns that the rule removes, with the reason, in the order of the table.

    Parameters
    ----------
    table
        One column per variable.
    threshold
        Limit of the absolute Pearson correlation over all rows.

    Returns
    -------
    dict
        Column to reason.
    """
    discrete = {name for name in table.columns if _is_discrete(table[name])}
    others = [name for name in table.columns if name not in discrete]
    correlation = np.atleast_2d(np.corrcoef(table[others].to_numpy().T))
    reasons = dict.fromkeys(discrete, "discrete")
    for i, name in enumerate(others):
        for j in range(i + 1, len(others)):
            if abs(correlation[i, j]) > threshold and name not in reasons:
                reasons[name] = f"|r| = {abs(correlation[i, j]):.3f} with {others[j]}"
    return {name: reasons[name] for name in table.columns if name in reasons}


def removed_from(data: Dataset, data_dir: str | Path, catalogue: str | Path | None = None) -> dict:
    """Return the columns that the rule removes from a data set, checked against the catalogue.

    Parameters
    ----------
    data
        Result of `kcde.data.loaders.load`.
    data_dir, catalogue
        As given to `load`.

    Returns
    -------
    dict
        Column to reason.

    Raises
    ------
    ValueError
        If what is left are not the columns that the catalogue declares as y.
    """
    entry = tables.find(tables.read(catalogue), data.name)
    table = READERS[entry.format](Path(data_dir) / entry.file)
    removed = removed_columns(table)
    left = tuple(name for name in table.columns if name not in removed)
    if left != data.y_columns:
        raise ValueError(
            f"data set {data.name}: without discrete columns and |r| > {THRESHOLD} there remain "
            f"{', '.join(left)}, but the catalogue's y is {', '.join(data.y_columns)}; correct y"
        )
    return removed


def _is_discrete(column: "pd.Series") -> bool:
    from pandas.api.types import is_numeric_dtype

    if not is_numeric_dtype(column):
        return True
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return bool(np.all(values == np.round(values)))
