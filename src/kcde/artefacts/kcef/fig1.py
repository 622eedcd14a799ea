"""kcef figure 1: log-likelihood on the grid data."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _captions, _grid, _grid_claims, _grid_convergence, _grid_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="log-likelihood on the grid data",
    shows={
        "joint": {
            "datasets": ["grid-200", "grid-400", "grid-700", "grid-1000", "grid-1400", "grid-2000"],
            "methods": ["KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE", "exact"],
        }
    },
    caption=f"(a) Log-likelihood against the number of training points, three dimensions. (b) "
    f"Log-likelihood per dimension against the dimension, 2000 training points. {_captions.GRID} "
    f"{_captions.GRID_REDUCED}",
    build=_grid.build,
    draw=_grid_figure.draw,
    deciders={
        "K1": _grid_convergence.kcef_converges_faster,
        "K2": _grid_claims.markov_beats_full,
        "K3": _grid_claims.nade_needs_data,
        "K4": _grid_claims.full_kcef_like_lscde,
        "K5": _grid_claims.nade_like_full,
        "K13": _grid_claims.full_like_markov,
    },
    trial="run",
    remarks=_grid.remarks,
)
