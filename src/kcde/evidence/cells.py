"""The values of one cell of scores, a method on a data set by split, and tests of two of them.

Markov chains that have not converged decide nothing.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics import DIVERGENCE_RATE, NLL, R_HAT, PairedTest, paired_t_test, paired_wilcoxon
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
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED, metric: str = NLL
) -> pd.Series:
    """Return the values of a method on one data set by split, NaN where the fit failed."""
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
    """
    own = scores[(scores["method"] == method) & (scores["variant"] == variant)]
    own = own[own["status"] != "not-run"]
    found = own[(own["metric"] == metric) & (own["status"] == "ok")].set_index("split")["value"]
    finite = found.astype(float).replace([np.inf, -np.inf], np.nan)
    return finite.reindex(sorted(set(own["split"])))


def mean_and_stderr(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of some values and its standard error, NaN for fewer than two."""
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    return mean, float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan


LARGEST_R_HAT = 1.05
LARGEST_DIVERGENCE_RATE = 0.01
"""Above these, over all seeds, chains have not converged: fixed before any result was seen."""

_PLACE = ["dataset", "method", "variant"]


def worst_chains(
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED
) -> dict[str, float]:
    """Return the largest R-hat and rate of divergences over the seeds; {} of exact draws.

    Chains that never move have no finite R-hat: it counts as infinite.
    """
    cell = dataset, method, variant
    found = {metric: splits(scores, *cell, metric) for metric in (R_HAT, DIVERGENCE_RATE)}
    return {name: float(each.fillna(np.inf).max()) for name, each in found.items() if len(each)}


def obstacle(found: dict[str, float]) -> str:
    """Return why chains have not converged, "" where they have or there are none."""
    r_hat, rate = found.get(R_HAT, 1.0), found.get(DIVERGENCE_RATE, 0.0)
    said = [f"R-hat {r_hat:.3g}"] if r_hat > LARGEST_R_HAT else []
    if rate > LARGEST_DIVERGENCE_RATE:
        said.append(f"{rate:.1%} of transitions diverge")
    return ", ".join(said)


def obstacle_in(table: pd.DataFrame, row: pd.Series) -> str:
    """Return why the chains behind a row of a table have not converged, "" where they have."""
    same = (table[_PLACE] == row[_PLACE]).all(axis=1)
    return obstacle(dict(table.loc[same, ["metric", "mean"]].itertuples(index=False)))


def unconverged(
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED
) -> str:
    """Return why the chains behind a cell have not converged, "" where they have."""
    return obstacle(worst_chains(scores, dataset, method, variant))


HALVES = 1.0
"""Test rows over training rows of random halves of the same rows, as of the R benchmark data."""


class PairedComparison(NamedTuple):
    """Significant differences between a method and a rival; lower values are better.

    Attributes
    ----------
    signs
        Data set to -1 where the method is significantly better, +1 where it is significantly worse
        and 0 where neither, by the signed-rank test, which takes splits for independent.
    corrected
        The same by the t-test that is corrected for the rows that halves share (Nadeau and Bengio
        2003).
    absent
        Data sets without splits of both.
    """

    signs: dict[str, int]
    corrected: dict[str, int]
    absent: list[str]


def better(signs: Mapping[str, int]) -> list[str]:
    """Return the data sets on which a method is significantly better."""
    return [dataset for dataset, sign in signs.items() if sign < 0]


def worse(signs: Mapping[str, int]) -> list[str]:
    """Return the data sets on which a method is significantly worse."""
    return [dataset for dataset, sign in signs.items() if sign > 0]


def compare(
    scores: pd.DataFrame, datasets: Sequence[str], method: tuple[str, ...], rival: tuple[str, ...]
) -> PairedComparison:
    """Compare a method with a rival by paired tests at 5% over splits, which are random halves.

    `method` and `rival` have a name, and where they are not those of `kcde.evidence.cells.splits`
    variant and metric. A split that exploded but is finite stays in the tests: it cannot dominate
    the ranks of the signed-rank test, and makes the corrected t-test find nothing.
    """
    found = PairedComparison({}, {}, [])
    # Narrowed first: claims are decided under many readings.
    scores = scores[scores["method"].isin([method[0], rival[0]])]
    cells = dict(iter(scores.groupby("dataset", observed=True)))
    for dataset in datasets:
        both = [splits(cells.get(dataset, scores[:0]), dataset, *one) for one in (method, rival)]
        if not all(map(len, both)):
            found.absent.append(dataset)
            continue
        values = by_split(*both)
        found.signs[dataset] = _sign(paired_wilcoxon(*values))
        found.corrected[dataset] = _sign(paired_t_test(*values, HALVES))
    return found


def _sign(test: PairedTest) -> int:
    return test.sign if test.p_value < SIGNIFICANCE else 0


def by_split(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return two cells aligned by split, shape (2, n), NaN where one has no such split."""
    return pd.concat([first, second], axis=1).to_numpy(float).T
