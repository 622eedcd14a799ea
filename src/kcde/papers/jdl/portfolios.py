"""Figures 7 to 9 of jdl: how likely portfolios lose much on the next day."""

from pathlib import Path

import pandas as pd

from kcde.evidence import tolerances
from kcde.experiments.portfolio import TOLERANCE
from kcde.metrics.names import BASE_RATE_LOSS, LOGISTIC_LOSS, NEGATIVE_PROBABILITY_RATE
from kcde.papers.artefact import Artefact, Build
from kcde.papers.jdl import claims_of_portfolios as claims
from kcde.papers.jdl import curves
from kcde.papers.jdl.curves import PORTFOLIO, frame, only_curves, panels, rows, tidy, timed
from kcde.papers.jdl.plots import PlotSpec, drawer

TRACE = "trace"
"""Stat: percent of the trace of the kernel matrix of x that its factor leaves."""


def _placed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the fits with panels; KLR needs no constraints and stands in both rows."""
    tidied = tidy(scores, PORTFOLIO)
    twice = tidied[tidied["method"].eq("KLR")].assign(constrained=True)
    return panels(pd.concat([tidied, twice], ignore_index=True))


def _traces(placed: pd.DataFrame) -> list[dict]:
    """Return what the factors of x leave of the trace: more than the tolerance where capped."""
    found = only_curves(rows(placed, "trace_error_x", scale=100.0))
    return [row | {"kind": "cost", "stat": TRACE} for row in found]


def _losses(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    placed = _placed(scores)
    ignoring = curves.baseline(placed, BASE_RATE_LOSS)
    return frame([*rows(placed, LOGISTIC_LOSS), *ignoring, *_traces(placed)])


def _negative(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    placed = _placed(scores)
    return frame([*rows(placed, NEGATIVE_PROBABILITY_RATE, scale=100.0), *_traces(placed)])


def _seconds(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    placed = _placed(timed(scores))
    return frame([*curves.timing_rows(placed), *_traces(placed)])


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State the number of repetitions, what capped factors leave, and which fits failed."""
    left = drawn[(drawn["stat"] == TRACE) & (drawn["y"] > 100.0 * TOLERANCE)]
    most = left.groupby(left["panel"].str.partition(" ")[0], sort=False)["y"].max()
    each = ", ".join(f"{share:.2g}% ({d.replace('=', ' = ')})" for d, share in most.items())
    capped = [f"Capped factors of x leave on average up to {each} of the trace."] if each else []
    return [*curves.remarks(drawn), *capped]


def _figure(name: str, build: Build, plot: PlotSpec, claim: dict, **more) -> Artefact:
    return Artefact(
        __name__,
        kind="figure",
        shows={PORTFOLIO: {"methods": ["JDL", "CME", "KLR"]}},
        build=build,
        draw=drawer(plot),
        name=name,
        trial="subsample",
        remarks=remarks,
        claims=claim,
        **more,
    )


_ALONG = "days $n$"

ARTEFACTS = [
    _figure(
        "fig7",
        _losses,
        PlotSpec("logistic loss, nats", baseline="base rate", along=_ALONG),
        {"J10": claims.jdl_like_klr},
    ),
    _figure(
        "fig8",
        _negative,
        PlotSpec("negative probabilities (%)", linear_below=0.01, along=_ALONG),
        {"J11": claims.fewer_negative},
    ),
    _figure(
        "fig9",
        _seconds,
        PlotSpec("wall-clock seconds", along=_ALONG),
        {"J12": claims.comparable_seconds},
        tolerance=tolerances.VERDICTS,  # its curves are of seconds
    ),
]
