"""kcef fig1-nade: figure 1 with a NADE that nothing stops or chooses (K-nade-stopping)."""

import pandas as pd

from kcde.papers.artefact import Artefact, Decision
from kcde.evidence.deciding import under_each
from kcde.papers.kcef import _grid, _grid_picture, fig1

_CAPTION = (
    "Mean log-likelihood of test points under densities fitted to made-up data, as in figure 1, "
    "with NADE as it is after all 2500 updates on all training rows (NADE-unstopped) beside that "
    "of figure 1, whose updates a held-out tenth of the rows chooses. The paper names early "
    "stopping for the R sets alone, as a remedy, and says that NADE drops at small n. Claims K1, "
    "K3 and K5, which compare with it, are decided with either."
)

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
    title="log-likelihood on the grid data, NADE with and without early stopping",
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
    caption=_CAPTION,
    details=_grid.DETAILS,
    reduced=_grid.REDUCED,
    build=fig1.build,
    draw=_grid_picture.draw,
    readers={"K-nade-stopping": read},
    trial="run",
    remarks=_grid.remarks,
)
