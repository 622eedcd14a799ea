"""jdl figure 2: second-moment loss by tolerance at d = 1; claim J3."""

from pathlib import Path

import pandas as pd

from kcde.evidence.deciding import all_of, decider
from kcde.metrics.names import INDEPENDENCE_LOSS, SECOND_MOMENT_LOSS
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _moments
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import baseline, by_repetition, frame, rows, tidy
from kcde.papers.jdl._moments import chosen_on_all, verdict
from kcde.papers.jdl._paired import complete

_TOLERANCES = (1e-3, 1e-2, 1e-1)
_SIZE, _ROBUST = 1_000_000, 1.5

draw = drawer(PlotSpec(_moments.LOSS_LABEL))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the loss (40) of JDL and CME at d = 1, one per tolerance."""
    placed = _moments.in_one_dimension(scores, "JPDL")
    return frame([*rows(placed, SECOND_MOMENT_LOSS), *baseline(placed, INDEPENDENCE_LOSS)])


@decider
def robust_to_tolerance(scores: pd.DataFrame) -> Decision:
    """Decide claim J3: at d = 1 and n = 1e6, the tolerance hardly changes JDL's loss.

    Largest over smallest of the mean losses over the tolerances, without constraints: below 1.5 for
    JDL, and larger for CME. It is undecided where parameters were chosen on fewer points.
    """
    tidied = tidy(scores)
    chosen_on_all(tidied, 1, [_SIZE])
    tables = {
        f"{method} at d = 1, tolerance {tolerance:g}": by_repetition(
            tidied, SECOND_MOMENT_LOSS, method, 1, tolerance=tolerance
        )
        for method in ("JDL", "CME")
        for tolerance in _TOLERANCES
    }
    means = [table[_SIZE].mean() for table in complete(tables, [_SIZE]).values()]
    ranges, listing = {}, []
    for method, losses in (("JDL", means[: len(_TOLERANCES)]), ("CME", means[len(_TOLERANCES) :])):
        ranges[method] = max(losses) / min(losses)
        each = ", ".join(f"{loss:.2g}" for loss in losses)
        listing.append(f"{method} {ranges[method]:.3g} (mean losses {each})")
    listed = ", ".join(f"{tolerance:g}" for tolerance in _TOLERANCES)
    reason = f"largest over smallest mean loss over the tolerances {listed} at n = 1e6, d = 1: "
    reason += f"{'; '.join(listing)}; wanted: JDL below {_ROBUST}, CME larger"
    parts = {
        "JDL is robust": verdict(ranges["JDL"] < _ROBUST),
        "CME is less so": verdict(ranges["CME"] > ranges["JDL"]),
    }
    return Decision(all_of(parts.values()), reason, parts)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "moments": {
            "datasets": [
                "gaussian-1-1000",
                "gaussian-1-10000",
                "gaussian-1-100000",
                "gaussian-1-1000000",
                "gaussian-1-10000000",
            ],
            "methods": ["JDL", "CME"],
        }
    },
    build=build,
    draw=draw,
    deciders={"J3": robust_to_tolerance},
    trial="matrix",
    remarks=_moments.remarks,
)
