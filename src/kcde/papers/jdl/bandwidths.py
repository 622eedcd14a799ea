"""jdl bandwidths: what the grid's largest bandwidth decides (J-bandwidth), and its claims."""

from pathlib import Path

import pandas as pd

from kcde.data.names import FACTORS
from kcde.experiments._embedding import BANDWIDTH_FACTORS
from kcde.metrics.names import SECOND_MOMENT_LOSS
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _moments, fig1
from kcde.papers.jdl._curve_plots import LIMIT_KEYS, PlotSpec, drawer
from kcde.papers.jdl._curves import (
    CONSTRAINED,
    SCHEDULED,
    UNCONSTRAINED,
    frame,
    rows,
    tidy,
    varied,
)

SIZES = (1000, 10_000)

draw = drawer(
    PlotSpec(
        _moments.LOSS_LABEL,
        band=False,
        dashes={CONSTRAINED: "--"},
        names={CONSTRAINED: None},
        keys=LIMIT_KEYS,
        along="largest factor of a bandwidth",
    )
)


def named(factor: float) -> str:
    """Return a reading in words."""
    return f"up to {factor:g}"


def by_factor(scores: pd.DataFrame) -> dict[float, pd.DataFrame]:
    """Return the scores under each largest factor, the drawn one first, as a decider takes them.

    Parameters
    ----------
    scores
        Of `moments`, with smaller grids in data sets of that variation.
    """
    drawn, *smaller = sorted(BANDWIDTH_FACTORS, reverse=True)
    found = {drawn: scores}
    polynomials = scores[scores["method"] == "JPDL"]
    for factor in smaller:
        under = varied(scores, FACTORS, largest_factor=factor)
        # Polynomials have no bandwidth.
        found[factor] = pd.concat([under[under["method"] != "JPDL"], polynomials])
    return found


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the loss (40) of JDL and CME against the largest factor, a panel for each d and n."""
    parts = []
    for factor, under in by_factor(scores).items():
        tidied = tidy(under)
        shown = tidied[tidied["scheduled"] & tidied["method"].isin(["JDL", "CME"])]
        panel = "d=" + shown["d"].astype(str) + " n = " + shown["n"].astype(str)
        series = shown["constrained"].map({False: SCHEDULED, True: CONSTRAINED})
        order = shown["n"]
        parts.append(shown.assign(panel=panel, series=series, order=order, n=factor))
    placed = pd.concat(parts).sort_values(["order", "d", "n"], kind="stable")
    return frame(rows(placed, SECOND_MOMENT_LOSS))


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State by how much the widest kernels lower the mean loss of each method."""
    curves = drawn[drawn["kind"] == "curve"]
    series = {SCHEDULED: UNCONSTRAINED, CONSTRAINED: CONSTRAINED}
    each = []
    for (method, limits), own in curves.groupby(["method", "series"], sort=False):
        losses = own.pivot(index="panel", columns="x", values="y")
        losses = losses.reindex(dict.fromkeys(own["panel"]))
        falls = losses[losses.columns.min()] / losses[losses.columns.max()]
        listed = ", ".join(f"{fall:.2g} ({panel})" for panel, fall in falls.items())
        each.append(f"{method} {series[limits]} {listed}")
    narrow, wide = curves["x"].min(), curves["x"].max()
    return [f"Mean loss with factors up to {narrow:g} over that up to {wide:g}: {'; '.join(each)}."]


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J1 and J4 under each largest factor, at n = 1000 and 1e4."""
    found: dict[str, dict[str, Decision]] = {"J1": {}, "J4": {}}
    for factor, under in by_factor(scores).items():
        found["J1"][named(factor)] = fig1.ordered(under, SIZES)
        found["J4"][named(factor)] = fig1.worse_in_higher_dimensions(under, SIZES[-1])
    return found


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    stage="readings",
    shows={
        "moments": {
            "datasets": [
                "gaussian-1-1000",
                "gaussian-1-10000",
                "gaussian-2-1000",
                "gaussian-2-10000",
                "gaussian-3-1000",
                "gaussian-3-10000",
                "gaussian-1-1000-factors",
                "gaussian-1-10000-factors",
                "gaussian-2-1000-factors",
                "gaussian-2-10000-factors",
                "gaussian-3-1000-factors",
                "gaussian-3-10000-factors",
            ],
            "methods": ["JDL", "CME", "JPDL"],
            "only": {
                "JPDL": [
                    "gaussian-1-1000",
                    "gaussian-1-10000",
                    "gaussian-2-1000",
                    "gaussian-2-10000",
                    "gaussian-3-1000",
                    "gaussian-3-10000",
                ]
            },
        }
    },
    build=build,
    draw=draw,
    readers={"J-bandwidth": read},
    trial="matrix",
    remarks=remarks,
)
