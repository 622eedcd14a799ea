"""A method against a rival on several data sets, by paired tests over the splits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.evidence.cells import splits
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon

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
    scores: pd.DataFrame,
    datasets: Sequence[str],
    method: tuple[str, ...],
    rival: tuple[str, ...],
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
