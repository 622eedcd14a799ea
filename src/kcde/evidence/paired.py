"""A method against a rival on several data sets, by paired tests over the splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.evidence.cells import splits
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon

HALVES = 1.0
"""Test rows over training rows of random halves of the same rows, as of the R benchmark data."""


@dataclass(frozen=True)
class PairedComparison:
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
    lower_medians
        On how many data sets the method has the lower median.
    dropped
        Pairs of splits left out, over all data sets, because a value is not finite.
    """

    signs: dict[str, int]
    corrected: dict[str, int]
    absent: list[str]
    lower_medians: int
    dropped: int

    @property
    def wins(self) -> list[str]:
        """Data sets on which the method is significantly better by the signed-rank test."""
        return better(self.signs)

    @property
    def losses(self) -> list[str]:
        """Data sets on which the method is significantly worse by the signed-rank test."""
        return worse(self.signs)


def better(signs: Mapping[str, int]) -> list[str]:
    """Return the data sets on which a method is significantly better."""
    return [dataset for dataset, sign in signs.items() if sign < 0]


def worse(signs: Mapping[str, int]) -> list[str]:
    """Return the data sets on which a method is significantly worse."""
    return [dataset for dataset, sign in signs.items() if sign > 0]


def amended_verdict(*, corrected: bool, uncorrected: bool) -> str:
    """Return the verdict of a test that is amended by the corrected resampled t-test.

    Parameters
    ----------
    corrected, uncorrected
        Whether the claim holds by the corrected test, and by that which takes splits for
        independent.

    Returns
    -------
    str
        `undecided` where only the uncorrected test supports the claim.
    """
    return "holds" if corrected else "undecided" if uncorrected else "fails"


def compare(
    scores: pd.DataFrame,
    datasets: Sequence[str],
    method: tuple[str, ...],
    rival: tuple[str, ...],
) -> PairedComparison:
    """Compare a method with a rival by paired tests at 5% over splits, which are random halves.

    A split that exploded but is finite stays in the tests: it cannot dominate the ranks of the
    signed-rank test, and makes the corrected t-test find nothing.

    Parameters
    ----------
    scores
        As read from score files.
    datasets
        On each of which the two are compared.
    method, rival
        Name, and where they are not those of `kcde.evidence.cells.splits` variant and
        metric.

    Returns
    -------
    PairedComparison
    """
    signs, corrected, absent, lower_medians, dropped = {}, {}, [], 0, 0
    # Once, not for every data set: readers compare under many readings.
    scores = scores[scores["method"].isin([method[0], rival[0]])]
    for dataset in datasets:
        ours, theirs = (splits(scores, dataset, *one) for one in (method, rival))
        if not len(ours) or not len(theirs):
            absent.append(dataset)
            continue
        both = by_split(ours, theirs)
        test = paired_wilcoxon(*both)
        signs[dataset] = _sign(test)
        corrected[dataset] = _sign(paired_t_test(*both, HALVES))
        lower_medians += int(ours.median() < theirs.median())
        dropped += test.dropped
    return PairedComparison(signs, corrected, absent, lower_medians, dropped)


def _sign(test: PairedTest) -> int:
    return test.sign if test.p_value < SIGNIFICANCE else 0


def by_split(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return two cells aligned by split, shape (2, n), NaN where one has no such split."""
    return pd.concat([first, second], axis=1).to_numpy(float).T
