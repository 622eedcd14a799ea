"""Why a number deviates, as far as known: `causes.csv` of each paper."""

from kcde.papers import published

UNKNOWN = "could not determine"
"""Stands where no cause is known."""

_FIELDS = ("paper", "artefact", "dataset", "method")


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
