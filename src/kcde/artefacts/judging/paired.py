"""A method against a rival on several data sets, by paired tests over the splits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.metrics.paired import paired_wilcoxon


@dataclass(frozen=True)
class PairedComparison:
    """Significant differences between a method and a rival; lower values are better.

    Attributes
    ----------
    signs
        Data set to -1 where the method is significantly better, +1 where it is significantly worse
        and 0 where neither.
    absent
        Data sets without splits of both.
    lower_medians
        On how many data sets the method has the lower median.
    dropped
        Pairs of splits left out, over all data sets, because a value is not finite.
    """

    signs: dict[str, int]
    absent: list[str]
    lower_medians: int
    dropped: int

    @property
    def wins(self) -> list[str]:
        """Data sets on which the method is significantly better."""
        return [dataset for dataset, sign in self.signs.items() if sign < 0]

    @property
    def losses(self) -> list[str]:
        """Data sets on which the method is significantly worse."""
        return [dataset for dataset, sign in self.signs.items() if sign > 0]


def compare(
    scores: pd.DataFrame,
    datasets: Sequence[str],
    method: tuple[str, ...],
    rival: tuple[str, ...],
) -> PairedComparison:
    """Compare a method with a rival by paired Wilcoxon tests at 5% over the splits.

    A split that exploded but is finite stays in the test, whose ranks it cannot dominate.

    Parameters
    ----------
    scores
        As read from score files.
    datasets
        On each of which the two are compared.
    method, rival
        Name, and where they are not those of `kcde.artefacts.core.cells.splits` variant and
        metric.

    Returns
    -------
    PairedComparison
    """
    signs, absent, lower_medians, dropped = {}, [], 0, 0
    for dataset in datasets:
        ours, theirs = (splits(scores, dataset, *one) for one in (method, rival))
        if not len(ours) or not len(theirs):
            absent.append(dataset)
            continue
        test = paired_wilcoxon(*by_split(ours, theirs))
        signs[dataset] = test.sign if test.p_value < SIGNIFICANCE else 0
        lower_medians += int(ours.median() < theirs.median())
        dropped += test.dropped
    return PairedComparison(signs, absent, lower_medians, dropped)


def by_split(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return two cells aligned by split, shape (2, n), NaN where one has no such split."""
    return pd.concat([first, second], axis=1).to_numpy(float).T
