"""jdl figure 8: negative probabilities that portfolios lose much; claim J11."""

from pathlib import Path

import pandas as pd

from kcde.evidence.deciding import Missing, all_of, decider
from kcde.metrics.names import NEGATIVE_PROBABILITY_RATE
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _portfolio
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import frame, rows, tidy
from kcde.papers.jdl._moments import verdict
from kcde.papers.jdl._portfolio import (
    CME,
    CME_HELD,
    JDL_HELD,
    Size,
    by_dimension,
    compared,
    lost,
    named,
)

_FEWER = (2.0, 5.0)

draw = drawer(PlotSpec("negative probabilities (%)", linear_below=0.01, along=_portfolio.ALONG))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the share of negative probabilities, in percent."""
    placed = _portfolio.placed(scores)
    return frame(
        [*rows(placed, NEGATIVE_PROBABILITY_RATE, scale=100.0), *_portfolio.traces(placed)]
    )


@decider
def fewer_negative(scores: pd.DataFrame) -> Decision:
    """Decide claim J11: constraints leave JDL no negative probability, and CME 2 to 5 times fewer.

    At every d and n the mean share of CME without constraints is divided by that with them; sizes
    at which neither is positive are left out. That 2 to 5 must hold at every size is our reading.
    It is undecided, too, where CME has no negative
    probability at any size.
    """
    tidied = tidy(scores)
    largest, where = max(
        (values[JDL_HELD].mean(), size)
        for size, values in compared(tidied, NEGATIVE_PROBABILITY_RATE, (JDL_HELD,)).items()
    )
    jdl = f"{100 * largest:.2g}%, at {named(where)}" if largest else "0 at every d and n"
    fewer, words = _fewer(compared(tidied, NEGATIVE_PROBABILITY_RATE, (CME, CME_HELD)))
    reason = f"largest mean share of constrained JDL: {jdl}; {words}" + lost(scores)
    parts = {"JDL has none": verdict(not largest), "CME two- to five-fold": verdict(fewer)}
    return Decision(all_of(parts.values()), reason, parts)


def _fewer(compared: dict[Size, pd.DataFrame]) -> tuple[bool, str]:
    means = {size: values.mean() for size, values in compared.items()}
    some = {size: mean for size, mean in means.items() if mean.max() > 0}
    if not some:
        raise Missing("no probability of CME is negative")
    ratios = {
        size: mean[CME] / mean[CME_HELD] if mean[CME_HELD] > 0 else float("inf")
        for size, mean in some.items()
    }
    held = [_FEWER[0] <= ratio <= _FEWER[1] for ratio in ratios.values()]
    words = (
        "share of CME without constraints over that with them: in 2 to 5, by our reading at every "
        "size, at "
        f"{sum(held)} of {len(ratios)} sizes ({by_dimension(ratios)})"
    )
    if none := len(means) - len(some):
        words += f"; no negative probability of CME at {none} sizes"
    return all(held), words


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    build=build,
    draw=draw,
    deciders={"J11": fewer_negative},
    trial="subsample",
    remarks=_portfolio.remarks,
)
