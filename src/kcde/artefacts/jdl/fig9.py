"""jdl figure 9: seconds of solution and probabilities; claim J12."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.jdl import _portfolio
from kcde.artefacts.jdl._curve_plots import PlotSpec, drawer
from kcde.artefacts.jdl._curves import (
    PARTS,
    PREPARATION,
    PREPARED,
    SOLVED,
    frame,
    only_curves,
    rows,
    tidy,
    timed,
    total,
)
from kcde.artefacts.jdl._portfolio import (
    CME_HELD,
    JDL_HELD,
    KLR,
    Size,
    by_dimension,
    compared,
    lost,
)
from kcde.artefacts.judging.deciding import decider

CAPTION = (
    "Seconds of the solution and of the probabilities of the test days (solid) against the number "
    "n of days, for each number d of portfolios, without and with constraints, and of the factors "
    "that come before (dotted). Compare ratios between methods only. In the paper constrained CME "
    "and JDL take about the same time, and kernel logistic regression (KLR) slightly more (claim "
    "J12)."
)
DETAILS = (
    "Wall-clock seconds on one thread, with as many jobs at once as the machine was given cores. "
    "Solid: the solution, that is cross moments and coefficients, and the probabilities of the "
    "5000 test days, as in figure 6. Dotted: the pivoted factors. KLR has a factor of x only and "
    "no cross moments. Fits with the same bandwidths share factors and cross moments, and thus "
    f"their seconds.\n\n{_portfolio.COMMON}\n\n{_portfolio.REDUCED}"
)

_COMPARABLE = (0.5, 2.0)

draw = drawer(PlotSpec("seconds", dashes={PREPARATION: ":"}, names={PREPARATION: None}))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the seconds of the solution and of the expectations at the test days.

    Besides them, as the series `PREPARATION`, the seconds of the pivoted factors.
    """
    placed = _portfolio.placed(timed(scores))
    prepared = only_curves(rows(placed.assign(series=PREPARATION), PREPARED))
    return frame([*rows(placed, SOLVED), *prepared, *_portfolio.traces(placed)])


@decider
def comparable_seconds(scores: pd.DataFrame) -> Decision:
    """Decide claim J12: constrained CME takes half to twice the time of JDL, KLR more than JDL.

    Medians over subsamples, at every d and n, of the seconds of cross moments (which KLR does not
    need), coefficients and expectations. The reason also gives the ratios including the factors, of
    which KLR needs that of x only.
    """
    cme, klr = _time_ratios(scores, PARTS[SOLVED])
    whole_cme, whole_klr = _time_ratios(scores, sum(PARTS.values(), ()))
    close = [_COMPARABLE[0] <= ratio <= _COMPARABLE[1] for ratio in cme.values()]
    slower = [ratio > 1.0 for ratio in klr.values()]
    reason = (
        "median seconds of solution (cross moments and coefficients) and probabilities: "
        f"constrained CME over constrained JDL in 0.5 to 2 at {sum(close)} of {len(close)} sizes "
        f"({by_dimension(cme)}); KLR over constrained JDL above 1 at {sum(slower)} of "
        f"{len(slower)} ({by_dimension(klr)}); with factors {_range(whole_cme)} and "
        f"{_range(whole_klr)}"
    )
    held = all(close) and all(slower)
    return Decision("holds" if held else "fails", reason + lost(scores))


def _time_ratios(
    scores: pd.DataFrame, parts: Sequence[str]
) -> tuple[dict[Size, float], dict[Size, float]]:
    """Return the seconds of CME and of KLR relative to those of JDL, by size."""
    tidied = tidy(total(scores, parts, "seconds"))
    medians = {
        size: values.median()
        for size, values in compared(tidied, "seconds", (JDL_HELD, CME_HELD, KLR)).items()
    }
    cme, klr = (
        {size: float(median[fit] / median[JDL_HELD]) for size, median in medians.items()}
        for fit in (CME_HELD, KLR)
    )
    return cme, klr


def _range(ratios: dict[Size, float]) -> str:
    return f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}"


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="seconds of solution and probabilities",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    caption=CAPTION,
    details=DETAILS,
    build=build,
    draw=draw,
    deciders={"J12": comparable_seconds},
    trial="subsample",
    remarks=_portfolio.remarks,
)
