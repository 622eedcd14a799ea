"""jdl figure 9: seconds of a fit and of probabilities; claim J12."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.evidence.deciding import all_of, decider
from kcde.metrics.names import MATCHED
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _portfolio
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import SOLVED, TIMINGS, frame, tidy, timed, timing_rows
from kcde.papers.jdl._moments import verdict
from kcde.papers.jdl._paired import each_or_missing
from kcde.papers.jdl._portfolio import CME_HELD, JDL_HELD, KLR, by_dimension, compared, lost

_COMPARABLE = (0.5, 2.0)

READ = TIMINGS | {
    "expectations alone at matched bandwidths": f"{MATCHED}seconds_evaluate",
    "expectations alone at own bandwidths": "seconds_evaluate",
}
"""Readings of what figure 9 times, the drawn one first: its caption names the expectations alone,
unlike that of figure 6."""

draw = drawer(PlotSpec("wall-clock seconds", along=_portfolio.ALONG))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the seconds at matched bandwidths, with the factors and without."""
    placed = _portfolio.placed(timed(scores))
    return frame([*timing_rows(placed), *_portfolio.traces(placed)])


@decider
def comparable_seconds(scores: pd.DataFrame) -> Decision:
    """Decide claim J12: constrained CME takes half to twice the time of JDL, KLR more than JDL.

    Medians over subsamples, at every d and n, of the seconds of cross moments (which KLR does not
    need), coefficients and expectations. As amended, with the factors (of which KLR needs that of x
    only), at matched bandwidths, and KLR in the geometric mean over sizes. The bounds are ours.
    """
    tidied = tidy(timed(scores))
    drawn = next(iter(TIMINGS.values()))
    amended, _ = each_or_missing(lambda metric: _compared(tidied, metric)[1], [drawn])
    return replace(_compared(tidied, SOLVED, lost(scores))[0], amended=next(iter(amended), None))


def by_timing(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J12 under each reading of what is timed; the amended test stands beside each."""
    tidied = tidy(timed(scores))

    @decider
    def read(metric: str) -> Decision:
        found, amended = _compared(tidied, metric)
        return replace(found, amended=amended)

    return {"J12": {name: read(metric) for name, metric in READ.items()}}


def _compared(tidied: pd.DataFrame, metric: str, behind: str = "") -> tuple[Decision, Decision]:
    """Decide J12 by the seconds of a metric of `timed`: as stated, and with the mean of KLR."""
    medians = {
        size: values.median()
        for size, values in compared(tidied, metric, (JDL_HELD, CME_HELD, KLR), timed=True).items()
    }
    cme, klr = (
        {size: float(median[fit] / median[JDL_HELD]) for size, median in medians.items()}
        for fit in (CME_HELD, KLR)
    )
    close = [_COMPARABLE[0] <= ratio <= _COMPARABLE[1] for ratio in cme.values()]
    slower = [ratio > 1.0 for ratio in klr.values()]
    mean = float(np.exp(np.mean(np.log(list(klr.values())))))
    named = next(name for name, each in READ.items() if each == metric)
    reason = (
        f"median seconds ({named}): "
        f"constrained CME over constrained JDL in 0.5 to 2, bounds of ours, at {sum(close)} of "
        f"{len(close)} sizes ({by_dimension(cme)}); KLR over constrained JDL above 1 at "
        f"{sum(slower)} of {len(slower)} ({by_dimension(klr)}), geometric mean {mean:.2f}{behind}"
    )
    each = [
        {"CME and JDL are comparable": verdict(all(close)), "KLR is slower": verdict(held)}
        for held in (all(slower), mean > 1.0)
    ]
    stated, amended = (Decision(all_of(parts.values()), reason, parts) for parts in each)
    return stated, amended


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    build=build,
    draw=draw,
    deciders={"J12": comparable_seconds},
    readers={"J-time": by_timing},
    trial="subsample",
    remarks=_portfolio.remarks,
    tolerance=tolerances.VERDICTS,  # its curves are of seconds
)
