"""kcef fig1-nade: figure 1 with a NADE that nothing stops or chooses (K-nade-stopping)."""

import pandas as pd

from kcde.evidence.deciding import under_each
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture, fig1

UNSTOPPED = "NADE-unstopped"
"""NADE without selection, with all updates of the reference implementation."""

DECIDED = ("K1", "K3", "K5")
"""Claims that compare NADE with other methods."""


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide `DECIDED` with either NADE."""
    whole = scores[scores["method"] != "NADE"].replace({"method": {UNSTOPPED: "NADE"}})
    deciders = {claim: fig1.ARTEFACT.deciders[claim] for claim in DECIDED}
    return under_each(deciders, {"stopped by held-out rows": scores, "all updates": whole})


ARTEFACT = Artefact(
    __name__,
    name="fig1-nade",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": fig1.ARTEFACT.shows["joint"]["datasets"],
            "methods": [
                "KCEF-F-anisotropic",
                "KCEF-M",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
                "NADE-unstopped",
                "exact",
            ],
        }
    },
    build=fig1.build,
    draw=_grid_picture.draw,
    readers={"K-nade-stopping": read},
    trial="run",
    remarks=_grid.remarks,
)
