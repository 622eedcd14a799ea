"""kcef figure 5: log-likelihood on the grid data with an isotropic kernel."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _captions, _grid, _grid_claims, _grid_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="log-likelihood on the grid data with an isotropic kernel",
    shows={
        "joint": {
            "datasets": ["grid-2000"],
            "methods": [
                "KCEF-F",
                "KCEF-M",
                "KCEF-F-isotropic",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
                "exact",
            ],
        }
    },
    caption="Log-likelihood per dimension against the dimension, 2000 training points, with a "
    f"KCEF-F whose parents share one bandwidth beside the methods of figure 1. {_captions.GRID} "
    f"{_captions.GRID_REDUCED}",
    build=_grid.build,
    draw=_grid_figure.draw,
    deciders={"K6": _grid_claims.isotropic_drops},
    trial="run",
    remarks=_grid.remarks,
)
