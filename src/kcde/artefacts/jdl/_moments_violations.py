"""Claim J8 of jdl, decided from the share of second moments that are not positive semi-definite."""

import pandas as pd

from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.jdl._embedding_curves import CONSTRAINED, UNCONSTRAINED, by_repetition, tidy
from kcde.artefacts.jdl._moments_losses import DIMENSIONS, SIZES
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.judging.verdicts import too_many_failed
from kcde.artefacts.tables.markdown import magnitude
from kcde.experiments.moments import VIOLATIONS

_METHODS = ("JDL", "JPDL", "CME")
_LIMIT = 1e-3
_EXEMPT = ("CME", 3)


@decider
def semidefinite(scores: pd.DataFrame) -> Decision:
    """Decide claim J8: second moments are positive semi-definite but for CME in three dimensions.

    With the tolerances of the paper, without and with constraints, the share that is not is below
    0.1%, in the mean over repetitions, at every n from 1000 on, of every method but CME at d = 3.

    Parameters
    ----------
    scores
        Of the experiment `moments`.

    Returns
    -------
    Decision
        `fails` where a share is not below; else `undecided` where scores are missing or more than
        5% of the fits of a cell failed.
    """
    tidied = tidy(scores)
    above, parts, absent = False, [], []
    for constrained in (False, True):
        for d in DIMENSIONS:
            for method in _METHODS:
                table = by_repetition(tidied, VIOLATIONS, method, d, constrained)
                table = table.loc[:, table.columns >= SIZES[0]]
                shares, exempt = table.mean().dropna(), (method, d) == _EXEMPT
                name = f"{method} at d = {d} {CONSTRAINED if constrained else UNCONSTRAINED}"
                if (shares >= _LIMIT).any():
                    above |= not exempt
                    parts.append(f"{name}{' (exempt)' if exempt else ''} {_above(shares)}")
                if not exempt and not _sound(table):
                    absent.append(name)
    said = "; ".join(parts) or "none"
    reason = f"mean share of {100 * _LIMIT:g}% or more: {said}"
    if above:
        return Decision("fails", reason)
    if absent:
        raise Missing(f"missing or failed: {', '.join(absent)}; {reason}")
    return Decision("holds", reason)


def _sound(table: pd.DataFrame) -> bool:
    if not set(SIZES) <= set(table.columns):
        return False
    return not any(too_many_failed(table[n].isna().sum(), len(table)) for n in table.columns)


def _above(shares: pd.Series) -> str:
    found = shares[shares >= _LIMIT]
    return ", ".join(f"{100 * share:.2g}% at {magnitude(n)}" for n, share in found.items())
