"""Markov chains that have not converged decide nothing."""

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, splits
from kcde.metrics.names import DIVERGENCE_RATE, R_HAT

LARGEST_R_HAT = 1.05
LARGEST_DIVERGENCE_RATE = 0.01
"""Above these, over all seeds, chains have not converged: fixed before any result was seen."""

_CELL = ["dataset", "method", "variant"]


def worst(
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED
) -> dict[str, float]:
    """Return the largest R-hat and rate of divergences over the seeds; {} of exact draws.

    Chains that never move have no finite R-hat: it counts as infinite.
    """
    found = {}
    for metric in (R_HAT, DIVERGENCE_RATE):
        values = splits(scores, dataset, method, variant, metric)
        if len(values):
            found[metric] = float(values.fillna(np.inf).max())
    return found


def obstacle(found: dict[str, float]) -> str:
    """Return why chains have not converged, "" where they have or there are none.

    Parameters
    ----------
    found
        As `worst` returns it.
    """
    r_hat, rate = found.get(R_HAT, 1.0), found.get(DIVERGENCE_RATE, 0.0)
    said = [f"R-hat {r_hat:.3g}"] if r_hat > LARGEST_R_HAT else []
    if rate > LARGEST_DIVERGENCE_RATE:
        said.append(f"{rate:.1%} of transitions diverge")
    return ", ".join(said)


def obstacle_in(table: pd.DataFrame, row: pd.Series) -> str:
    """Return why the chains behind a row of a table have not converged, "" where they have.

    Parameters
    ----------
    table
        With the worst of each cell in `mean`, in rows of the metrics of chains.
    row
        One of its rows.
    """
    same = (table[_CELL] == row[_CELL]).all(axis=1) & table["metric"].isin([R_HAT, DIVERGENCE_RATE])
    return obstacle(dict(table.loc[same, ["metric", "mean"]].itertuples(index=False)))


def unconverged(
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED
) -> str:
    """Return why the chains behind a cell have not converged, "" where they have."""
    return obstacle(worst(scores, dataset, method, variant))
