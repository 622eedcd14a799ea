"""jdl rise: why the loss rises from n = 1e6 to 1e7 in figure 1, one change at a time."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _moments
from kcde.artefacts.jdl._curve_plots import PlotSpec, drawer
from kcde.artefacts.jdl._curves import BY_TOLERANCE, by_tolerance, frame, rows, tidy, varied
from kcde.artefacts.tables.markdown import magnitude
from kcde.data.names import FEWER
from kcde.metrics.names import SECOND_MOMENT_LOSS

CAPTION = (
    "Not in the paper: the relative squared error of figure 1 of JDL and CME at d = 1 without "
    "constraints, against n, one line for each tolerance of the factors, with parameters chosen on "
    "all points and on at most 1e5 of them. One thing changes at a time: what makes the loss rise "
    "in figure 1 where the tolerance is loosened at n = 1e6 and 1e7."
)
DETAILS = (
    "At a given n all tolerances have the same points and candidates, and the factors of the two "
    "that are not the published one are the first columns of the same factor: a loss that does not "
    "rise at the tightest is no rounding of sums over the points. The first 5 matrices of figure "
    f"1.\n\n{_moments.COMMON}"
)

ALL, FEW = "chosen on all points", "chosen on at most 1e5"

draw = drawer(PlotSpec(_moments.LOSS_LABEL, band=False))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the loss (40): a panel for each method and choice."""
    found = []
    plain, fewer = tidy(scores), tidy(varied(scores, FEWER))
    # Where there are no more points, both choices are the same.
    shared = plain[~plain["n"].isin(fewer["n"])]
    large = plain.loc[plain["n"].eq(plain["n"].max()), "split"]
    for words, tidied in ((ALL, plain), (FEW, pd.concat([shared, fewer]))):
        first = tidied[tidied["split"].isin(large)]
        placed = by_tolerance(first)
        found += rows(placed.assign(panel=placed["panel"] + f" {words}"), SECOND_MOMENT_LOSS)
    return frame(found)


def remarks(drawn: pd.DataFrame) -> list[str]:
    """Name what the rise depends on: by how much each change divides the loss at the largest n."""
    curves = drawn[drawn["kind"] == "curve"]
    largest = curves["x"].max()
    here = curves[curves["x"] == largest]
    said = []
    for method in ("JDL", "CME"):
        table = here[here["method"] == method].set_index(["panel", "series"])["y"]
        loose, tight = (f"{BY_TOLERANCE}{value}" for value in ("0.1", "0.001"))
        wanted = [
            (f"{method} {ALL}", loose),
            (f"{method} {ALL}", tight),
            (f"{method} {FEW}", loose),
        ]
        if set(wanted) <= set(table.index):
            base, tightened, fewer = (table[place] for place in wanted)
            said.append(
                f"{method} at n = {magnitude(largest)} and tolerance 0.1: the tolerance 0.001 "
                f"divides the loss by {base / tightened:.2g}, and a choice on all points in place "
                f"of 1e5 by {fewer / base:.2g}."
            )
    return [*said, *_moments.remarks(drawn)]


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="why the loss rises at large n",
    stage="readings",
    shows={
        "moments": {
            "datasets": [
                "gaussian-1-100000",
                "gaussian-1-1000000",
                "gaussian-1-10000000",
                "gaussian-1-1000000-fewer",
                "gaussian-1-10000000-fewer",
            ],
            "methods": ["JDL", "CME"],
            "scale": "readings",
        }
    },
    caption=CAPTION,
    details=DETAILS,
    build=build,
    draw=draw,
    trial="matrix",
    remarks=remarks,
)
