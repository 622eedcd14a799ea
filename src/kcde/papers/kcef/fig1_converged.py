"""kcef fig1-converged: figure 1 with every full graph tuned as its text has it, and claims."""

from pathlib import Path

import pandas as pd

from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture, fig1, fig1_lscde, fig5
from kcde.papers.kcef._renamed import renamed

METHODS = {"KCEF-F-converged": _grid.FULL, "KCEF-M-converged": "KCEF-M"}
"""KCEF to convergence, with its names in the claims."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 1; the isotropic kernel of figure 5 only decides claim K6."""
    return fig1.build(artefact, scores[scores["method"] != _grid.ISOTROPIC], files)


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide the claims of fig1-lscde for both methods as the text has them."""
    under = renamed(scores, METHODS)
    under = under.assign(method=under["method"].replace(fig1_lscde.METHODS))
    reading = "one for each column with KCEF to convergence"
    return {claim: {reading: fig1.ARTEFACT.deciders[claim](under)} for claim in fig1_lscde.DECIDED}


def read_both_rules(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K6 where figure 1 is to convergence, as the text, and figure 5 as the code."""
    reading = "converged against authors' code"
    return {"K6": {reading: fig5.isotropic_drops(scores, "KCEF-F-converged")}}


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the CSV with the names of figure 1: the title says the rest."""
    return _grid_picture.draw(artefact, frame.replace({"method": METHODS}), stem)


ARTEFACT = Artefact(
    __name__,
    name="fig1-converged",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": fig1.ARTEFACT.shows["joint"]["datasets"],
            "methods": [
                "KCEF-F",
                "KCEF-F-converged",
                "KCEF-M-converged",
                "LSCDE-F-anisotropic",
                "LSCDE-M-anisotropic",
                "NADE",
                "exact",
            ],
            "only": {"KCEF-F": ["grid-2000"]},  # for claim K6
        }
    },
    build=build,
    draw=draw,
    readers={"K-lscde": read, "K-stop": read_both_rules},
    trial="run",
    remarks=_grid.remarks,
)
