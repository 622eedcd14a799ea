"""kcef fig1-rows: figures 1 and 5 with KCEF tuned on 500 rows (K-rows), and their claims."""

from pathlib import Path

import pandas as pd

from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture, fig1, fig5
from kcde.papers.kcef._renamed import renamed

_ISOTROPIC = f"{_grid.ISOTROPIC}-500-rows"
METHODS = {
    _ISOTROPIC: _grid.ISOTROPIC,
    f"{_grid.FULL}-500-rows": _grid.FULL,
    "KCEF-M-500-rows": "KCEF-M",
}
"""Methods of the reading, with their names in the claims."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 1, and in its second panel the isotropic kernel of figure 5."""
    frame = _grid.curves(artefact, scores, (_grid.against_n, _grid.against_d))
    other = frame["panel"].str.startswith("d=") & frame["method"].eq(_ISOTROPIC)
    return frame[~other].sort_values("panel", kind="stable", ignore_index=True)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the CSV as figure 1, with the names that methods have there: the title says the rest."""
    return _grid_picture.draw(artefact, frame.replace({"method": METHODS}), stem)


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide the claims of both figures with parameters chosen on so many rows."""
    under = renamed(scores, METHODS)
    deciders = fig1.ARTEFACT.deciders | fig5.ARTEFACT.deciders
    return {claim: {"500 rows": decide(under)} for claim, decide in deciders.items()}


ARTEFACT = Artefact(
    __name__,
    name="fig1-rows",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": fig1.ARTEFACT.shows["joint"]["datasets"],
            "methods": [
                "KCEF-F-500-rows",
                "KCEF-F-anisotropic-500-rows",
                "KCEF-M-500-rows",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
                "exact",
            ],
            "only": {"KCEF-F-500-rows": ["grid-2000"]},  # for claim K6
        }
    },
    build=build,
    draw=draw,
    readers={"K-rows": read},
    trial="run",
    remarks=_grid.remarks,
)
