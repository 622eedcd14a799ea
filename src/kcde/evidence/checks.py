"""A claim is a list of checks on cells of scores; its verdict, parts and reason follow from them.

A cell is the values of a method on a data set by split. Markov chains that have not converged
decide nothing.
"""

import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.evidence.verdicts import SIGNIFICANCE, too_many_failed
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


def values(scores: pd.DataFrame, method: str, metric: str, variant: str) -> pd.Series:
    """Return the values of a method by split, NaN where the fit failed or a value is not finite.

    Unlike in `splits`, a failed fit counts whichever metric its row has.
    """
    own = scores[(scores["method"] == method) & (scores["variant"] == variant)]
    own = own[own["status"] != "not-run"]
    found = own[(own["metric"] == metric) & (own["status"] == "ok")].set_index("split")["value"]
    return found.astype(float).replace([np.inf, -np.inf], np.nan).reindex(sorted(set(own["split"])))


def mean_and_stderr(values: np.ndarray) -> tuple[float, float]:
    """Return the mean of some values and its standard error, NaN for fewer than two."""
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    return mean, float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan


LARGEST_R_HAT = 1.05
LARGEST_DIVERGENCE_RATE = 0.01
"""Above these, over all seeds, chains have not converged: fixed before any result was seen."""

_PLACE = ["dataset", "method", "variant"]


def worst_chains(scores: pd.DataFrame, *cell: str) -> dict[str, float]:
    """Return the largest R-hat and rate of divergences over the seeds; {} of exact draws.

    A cell is a data set, method and variant. Chains that never move have no finite R-hat: it counts
    as infinite.
    """
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


def unconverged(scores: pd.DataFrame, *cell: str) -> str:
    """Return why the chains behind a cell have not converged, "" where they have."""
    return obstacle(worst_chains(scores, *cell))


HALVES, TENTHS = 1.0, 1 / 9
"""Test rows over training rows of random splits of the same rows: of halves, as of the R benchmark
data, and of nine tenths for training, as of the joint densities."""


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


def compare(scores: pd.DataFrame, datasets: list[str], method: str, rival: str) -> PairedComparison:
    """Compare a method with a rival by paired tests at 5% over splits, which are random halves.

    A split that exploded but is finite stays in the tests: it cannot dominate the ranks of the
    signed-rank test, and makes the corrected t-test find nothing.
    """
    found = PairedComparison({}, {}, [])
    # Narrowed first: claims are decided under many readings.
    scores = scores[scores["method"].isin([method, rival])]
    cells = dict(iter(scores.groupby("dataset", observed=True)))
    for dataset in datasets:
        both = [splits(cells.get(dataset, scores[:0]), dataset, one) for one in (method, rival)]
        if not all(map(len, both)):
            found.absent.append(dataset)
            continue
        values = by_split(*both)
        found.signs[dataset] = significant(paired_wilcoxon(*values))
        found.corrected[dataset] = significant(paired_t_test(*values, HALVES))
    return found


def significant(test: PairedTest) -> int:
    """Return the sign of a difference that is significant at 5%, else 0."""
    return test.sign if test.p_value < SIGNIFICANCE else 0


def by_split(first: pd.Series, second: pd.Series) -> np.ndarray:
    """Return two cells aligned by split, shape (2, n), NaN where one has no such split."""
    return pd.concat([first, second], axis=1).to_numpy(float).T


HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "fails", "undecided", "not-run"


_KEEPS = {"at least": operator.ge, "at most": operator.le}
_KEEPS |= {"above": operator.gt, "below": operator.lt}


class Missing(ValueError):
    """Scores without which a claim cannot be decided."""


class NotRun(Missing):
    """Scores of data that were left out of a run."""


@dataclass(frozen=True)
class Check:
    """A condition of a claim, with the number that decides it.

    Attributes
    ----------
    what
        What the number is, in a few words.
    value
        The number, or whether the condition holds; None or NaN where that is unknown.
    at_least, at_most, above, below
        Bounds that it must keep; without one it only informs.
    unless
        Why a failed condition decides nothing, e.g. that a test has too little power; "" where it
        does.
    part
        The clause of the claim, where it has several.
    said
        Further numbers.
    """

    what: str
    value: float | bool | None = None
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    unless: str = ""
    part: str = ""
    said: str = ""

    @property
    def verdict(self) -> str:
        """`holds`, `fails` or `undecided`; "" where it only informs."""
        value, bounds, said = self.value, self._bounds(), isinstance(self.value, bool)
        if value is not None and not said and not bounds:
            return ""
        if value is None or math.isnan(value):
            return UNDECIDED
        kept = value if said else all(_KEEPS[word](value, bound) for word, bound in bounds.items())
        return HOLDS if kept else UNDECIDED if self.unless else FAILS

    def _bounds(self) -> dict[str, float]:
        known = {word: getattr(self, word.replace(" ", "_")) for word in _KEEPS}
        return {word: bound for word, bound in known.items() if bound is not None}

    def __str__(self) -> str:
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        shown = f" {self.value:.4g}" if number and not math.isnan(self.value) else ""
        wanted = " and ".join(f"{word} {bound:.4g}" for word, bound in self._bounds().items())
        beside = [f"wanted {wanted}" if wanted else "", self.said]
        if isinstance(self.value, bool):
            beside.insert(0, "yes" if self.value else "no")
        if self.verdict == UNDECIDED:
            beside.append(f"undecided: {self.unless or 'unknown'}")
        inside = "; ".join(filter(None, beside))
        return f"{self.what}{shown}" + (f" ({inside})" if inside else "")


@dataclass(frozen=True)
class Decision:
    """A decided claim: its verdict, the verdict of each part, and the numbers in words."""

    verdict: str
    reason: str
    parts: dict[str, str]


Claim = Callable[..., Iterator[Check]]
"""Yields the checks of a claim on scores, as `Artefact.measure` returns them; further arguments
are what a reading changes. It raises `Missing` where scores are missing."""


def decide(claim: Claim, scores: pd.DataFrame, **how: object) -> Decision:
    """Return what the checks of a claim decide; undecided, or not run, where scores are missing."""
    checks: list[Check] = []
    try:
        checks.extend(claim(scores, **how))
    except Missing as missing:
        return Decision(NOT_RUN if isinstance(missing, NotRun) else UNDECIDED, str(missing), {})
    judged = [check for check in checks if check.verdict]
    parts = dict.fromkeys(check.part for check in judged if check.part)
    return Decision(
        all_of(check.verdict for check in judged) if judged else UNDECIDED,
        "; ".join(map(str, checks)),
        {part: all_of(each.verdict for each in judged if each.part == part) for part in parts},
    )


def all_of(verdicts: Iterable[str]) -> str:
    """Return the verdict on conditions of which each must hold.

    It fails where one fails, and is else undecided where one is.
    """
    found = set(verdicts)
    return next((verdict for verdict in (FAILS, UNDECIDED) if verdict in found), HOLDS)


def completed(
    scores: pd.DataFrame, methods: Sequence[str], metric: str, place: str, variant: str
) -> dict[str, pd.Series]:
    """Return `cells.values` of several methods of one variant, all of which a claim needs."""
    found = {name: values(scores, name, metric, variant) for name in methods}
    if absent := [name for name, each in found.items() if not each.notna().any()]:
        raise Missing(f"no {metric} of {', '.join(absent)} on {place}")
    for name, each in found.items():
        failed = int(each.isna().sum())
        if too_many_failed(failed, len(each)):
            raise Missing(f"too many fits of {name} failed on {place}: {failed} of {len(each)}")
    return found
