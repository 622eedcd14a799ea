"""A claim is a list of checks; its verdict, parts and reason follow from them."""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from kcde.evidence.cells import values
from kcde.evidence.verdicts import too_many_failed

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
        verdict = NOT_RUN if isinstance(missing, NotRun) else UNDECIDED
        return Decision(verdict, str(missing), {})
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
