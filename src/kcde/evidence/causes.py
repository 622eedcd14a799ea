"""Why a number deviates, as far as known: `kcde/published/causes.csv`."""

import math
from collections.abc import Mapping

from kcde.evidence.verdicts import UNDECIDED, too_many_failed
from kcde.papers import published

UNKNOWN = "could not determine"
"""Stands where no cause is known."""

_FIELDS = ("paper", "artefact", "dataset", "method")


OTHER_SPLITS = (
    "other random splits suffice for a cell taken alone: the difference is within two standard "
    "errors of that between two means over as many splits each, with our spread for both (the rule "
    "grants the paper only a spread that is printed and over splits); a shift of the whole column "
    "is tested in figures/scorecard.md, below its table"
)
"""Stands where no cause is known and none is needed."""


def explain(paper: str, artefact: str, cell: Mapping) -> str:
    """Return why a cell of a table deviates.

    Parameters
    ----------
    paper, artefact
        Whose table it is.
    cell
        A row of the tracked table: dataset, method, verdict, mean, std, n, failed, difference.

    Returns
    -------
    str
        The known cause, or where there is none, whether other splits suffice as an explanation.
    """
    cause = cause_of(paper, artefact, cell["dataset"], cell["method"], cell["verdict"])
    if not cause.startswith(UNKNOWN) or cause.startswith(f"{UNKNOWN};"):  # what is known stays
        return cause
    if _other_splits_suffice(cell):
        return OTHER_SPLITS
    return cause


def _other_splits_suffice(cell: Mapping) -> bool:
    if cell["verdict"] in ("different", UNDECIDED):  # p-values, ratios of times: not of means
        return False
    if too_many_failed(int(cell["failed"]), int(cell["n"])):  # their spread would excuse anything
        return False
    return abs(cell["difference"]) <= 2.0 * cell["std"] * math.sqrt(2.0 / cell["n"])


def cause_of(paper: str, artefact: str, dataset: str, method: str, verdict: str) -> str:
    """Return the most specific known cause of a verdict, with its evidence.

    A cause is used only where the actual verdict is the one for which it was written (or `*`), so
    that a stale cause is never shown.

    Parameters
    ----------
    paper, artefact, dataset, method
        The cell, named as in `published_values.csv`.
    verdict
        The actual verdict.

    Returns
    -------
    str
        `could not determine` where none is known.
    """
    cell = (paper, artefact, dataset, method)
    best, text = -1, UNKNOWN
    for row in published.causes().to_dict("records"):
        named = [row[name] != "*" for name in _FIELDS]
        fits = all(row[name] in ("*", value) for name, value in zip(_FIELDS, cell, strict=True))
        if fits and row["verdict"] in ("*", verdict) and sum(named) > best:
            best, text = sum(named), _sentence(row["cause"], row["evidence"])
    return text


def _sentence(cause: str, evidence: str) -> str:
    return f"{cause} ({evidence})" if evidence else cause
