"""A claim that lacks the scores it needs is undecided, not failed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps

import pandas as pd

from kcde.evidence.cells import values
from kcde.evidence.verdicts import too_many_failed
from kcde.pages.methods import display
from kcde.papers.artefact import Decider, Decision, Reader


class Missing(ValueError):
    """Scores without which a claim cannot be decided."""


def decider(test: Callable[..., Decision]) -> Callable[..., Decision]:
    """Let a test of a claim return `undecided` where it raises `Missing`.

    Parameters
    ----------
    test
        A `kcde.papers.artefact.Decider` that may raise `Missing`; it may take more
        arguments, which readers give.

    Returns
    -------
    callable
        The same test; the message of `Missing` becomes the reason.
    """

    @wraps(test)
    def decide(scores: pd.DataFrame, *more: object, **named: object) -> Decision:
        try:
            return test(scores, *more, **named)
        except Missing as missing:
            return Decision("undecided", f"{missing}")

    return decide


def all_of(verdicts: Iterable[str]) -> str:
    """Return the verdict on a claim of several parts, of which each must hold.

    It fails where a part fails, and is else undecided where a part is.
    """
    found = set(verdicts)
    return next((verdict for verdict in ("fails", "undecided") if verdict in found), "holds")


def completed(
    scores: pd.DataFrame, methods: Sequence[str], metric: str, place: str, variant: str
) -> dict[str, pd.Series]:
    """Return `cells.values` of several methods of one variant, all of which a decision needs.

    Parameters
    ----------
    scores
        Of one data set under one setting.
    methods, metric, variant
        Of the cells.
    place
        Name of data set and setting for the message where something is missing.

    Returns
    -------
    dict
        Method to its values.

    Raises
    ------
    Missing
        If a method has no values, or more than 5% of its fits failed.
    """
    found = {name: values(scores, name, metric, variant) for name in methods}
    absent = [display(name) for name, each in found.items() if not each.notna().any()]
    if absent:
        raise Missing(f"no {metric} of {', '.join(absent)} on {place}")
    for name, each in found.items():
        failed = int(each.isna().sum())
        if too_many_failed(failed, len(each)):
            raise Missing(
                f"too many fits of {display(name)} failed on {place}: {failed} of {len(each)}"
            )
    return found


def as_drawn(deciders: Mapping[str, Decider]) -> Reader:
    """Return the reader that decides claims on what is drawn, as one reading of a choice.

    Parameters
    ----------
    deciders
        Claim to its decider.
    """
    return lambda scores: under_each(deciders, {"as drawn": scores})


def under_each(
    deciders: Mapping[str, Decider], readings: Mapping[str, pd.DataFrame]
) -> dict[str, dict[str, Decision]]:
    """Return the decisions of claims under each reading of a choice.

    Parameters
    ----------
    deciders
        Claim to its decider.
    readings
        Reading to the scores that hold under it.
    """
    return {
        claim: {reading: decide(scores) for reading, scores in readings.items()}
        for claim, decide in deciders.items()
    }
