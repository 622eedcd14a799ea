"""kcef fig1-lscde: figure 1 with a bandwidth for each column in LSCDE, K-lscde and K-methods."""

import pandas as pd

from kcde.evidence.deciding import under_each
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture, fig1, fig5

METHODS = {"LSCDE-F-anisotropic": "LSCDE-F", "LSCDE-M-anisotropic": "LSCDE-M"}
"""LSCDE with a bandwidth for each column, with its names in the claims."""

DECIDED = ("K1", "K2", "K3", "K4")
"""Claims that compare LSCDE with other methods."""


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide `DECIDED` with either kernel."""
    each = scores[~scores["method"].isin(list(METHODS.values()))]
    each = each.assign(method=each["method"].replace(METHODS))
    deciders = {claim: fig1.ARTEFACT.deciders[claim] for claim in DECIDED}
    return under_each(deciders, {"one σ": scores, "one for each column": each})


def read_methods(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide what the paper says of the methods on the full graph for KCEF and for LSCDE.

    KCEF with an isotropic kernel is that of figure 5, which decides claim K6 for it.
    """
    graphs = {
        "KCEF": (_grid.FULL, "KCEF-M"),
        "LSCDE with one σ": ("LSCDE-F", "LSCDE-M"),
        "LSCDE with one for each column": ("LSCDE-F-anisotropic", "LSCDE-M-anisotropic"),
    }
    return {
        "K5": {words: fig1.nade_like_full(scores, full) for words, (full, _) in graphs.items()},
        "K6": {"LSCDE": fig5.isotropic_drops(scores, "LSCDE-F-anisotropic", "LSCDE-F")},
        "K13": {words: fig1.full_like_markov(scores, *both) for words, both in graphs.items()},
    }


ARTEFACT = Artefact(
    __name__,
    name="fig1-lscde",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": fig1.ARTEFACT.shows["joint"]["datasets"],
            "methods": [
                "KCEF-F-anisotropic",
                "KCEF-M",
                "LSCDE-F",
                "LSCDE-F-anisotropic",
                "LSCDE-M",
                "LSCDE-M-anisotropic",
                "NADE",
                "exact",
            ],
        }
    },
    build=fig1.build,
    draw=_grid_picture.draw,
    readers={"K-lscde": read, "K-methods": read_methods},
    trial="run",
    remarks=_grid.remarks,
)
