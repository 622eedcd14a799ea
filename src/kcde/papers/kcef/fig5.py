"""kcef figure 5: log-likelihood on the grid data with an isotropic kernel, and claim K6."""

import pandas as pd

from kcde.evidence.cells import mean_and_stderr
from kcde.evidence.deciding import as_drawn, decider
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture


def build(artefact: Artefact, scores: pd.DataFrame, files: list) -> pd.DataFrame:
    """Return the curves against d, as `kcde.papers.kcef._grid.curves` says."""
    return _grid.curves(artefact, scores, (_grid.against_d,))


@decider
def isotropic_drops(
    scores: pd.DataFrame, full: str = _grid.FULL, isotropic: str = _grid.ISOTROPIC
) -> Decision:
    """Decide claim K6: the loss due to an isotropic kernel is large and grows with d.

    It exceeds 25% of the attainable dependence at the largest d, and that at d = 2 by two
    standard errors of the paired difference of these fractions. Both kernels of another method may
    be given.
    """
    drop, reason = _grid.difference_in_dependence(scores, full, isotropic, at_least=2)
    first, last = _grid.DIMENSIONS[0], drop.columns[-1]
    growth, stderr = mean_and_stderr((drop[last] - drop[first]).to_numpy())
    reason += f"; growth from d = {first} to {last}: {growth:.3f} (standard error {stderr:.3f})"
    held = drop[last].mean() > 0.25 and growth > 2 * stderr
    return Decision("holds" if held else "fails", reason)


_DECIDERS = {"K6": isotropic_drops}

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "joint": {
            "datasets": ["grid-2000"],
            "methods": [
                "KCEF-F",
                "KCEF-F-anisotropic",
                "KCEF-M",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
                "exact",
            ],
        }
    },
    build=build,
    draw=_grid_picture.draw,
    deciders=_DECIDERS,
    # Other numbers of rows: fig1-rows; LSCDE: fig1-lscde.
    readers=dict.fromkeys(("K-rows", "K-methods"), as_drawn(_DECIDERS)),
    trial="run",
    remarks=_grid.remarks,
)
