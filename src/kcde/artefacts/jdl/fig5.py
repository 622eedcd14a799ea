"""jdl figure 5: second moments that are not positive semi-definite; claim J8."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.jdl import _moments
from kcde.artefacts.jdl._curve_plots import PlotSpec, drawer
from kcde.artefacts.jdl._curves import by_repetition, frame, panels, placed_by, rows, tidy
from kcde.artefacts.jdl._moments import DIMENSIONS, SIZES, named
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.judging.verdicts import too_many_failed
from kcde.artefacts.tables.markdown import magnitude
from kcde.metrics.names import PSD_VIOLATION_RATE

CAPTION = (
    "Share of test points at which the estimated second moment E[y yᵀ|x] is not positive "
    "semi-definite, against n, for each dimension d, without and with constraints; the true moment "
    "always is. In the paper the share is negligible for every method, except for CME in three "
    "dimensions (claim J8)."
)
DETAILS = (
    "A moment counts if it has an eigenvalue below −1e-12 times the largest absolute one. The "
    f"vertical axis is linear below 0.01%.\n\n{_moments.COMMON} {_moments.SCHEDULE} "
    f"{_moments.THROUGHOUT} {_moments.CONSTRAINTS} {_moments.BAND}\n\n{_moments.REDUCED}"
)

_METHODS = ("JDL", "JPDL", "CME")
_LIMIT = 1e-3
_EXEMPT = ("CME", 3)

draw = drawer(PlotSpec("share not p.s.d. (%)", linear_below=0.01))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the share of moments not positive semi-definite, in percent."""
    return frame(
        rows(placed_by(panels, scores, _moments.UNREDUCED), PSD_VIOLATION_RATE, scale=100.0)
    )


@decider
def semidefinite(scores: pd.DataFrame) -> Decision:
    """Decide claim J8: second moments are positive semi-definite, except for CME at d = 3.

    With the tolerances of the paper, without and with constraints, the share that is not is below
    0.1%, in the mean over repetitions, at every n from 1000 on, of every method but CME at d = 3.
    A share that is not below fails the claim, even where other scores are missing.
    """
    tidied = tidy(scores)
    above, parts, absent = False, [], []
    for constrained in (False, True):
        for d in DIMENSIONS:
            for method in _METHODS:
                table = by_repetition(tidied, PSD_VIOLATION_RATE, method, d, constrained)
                table = table.loc[:, table.columns >= SIZES[0]]
                shares, exempt = table.mean().dropna(), (method, d) == _EXEMPT
                name = named(method, d, constrained)
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
    """Whether all of `SIZES` are there, and few enough fits failed."""
    if not set(SIZES) <= set(table.columns):
        return False
    return not any(too_many_failed(table[n].isna().sum(), len(table)) for n in table.columns)


def _above(shares: pd.Series) -> str:
    found = shares[shares >= _LIMIT]
    return ", ".join(f"{100 * share:.2g}% at {magnitude(n)}" for n, share in found.items())


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="second moments that are not positive semi-definite",
    shows={"moments": {"methods": ["JDL", "JPDL", "CME"]}},
    caption=CAPTION,
    details=DETAILS,
    build=build,
    draw=draw,
    deciders={"J8": semidefinite},
    trial="matrix",
    remarks=_moments.remarks,
)
