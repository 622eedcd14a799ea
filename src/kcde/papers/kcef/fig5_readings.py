"""kcef fig5-readings: the loss to an isotropic kernel under other frequencies of the grid data."""

from pathlib import Path

import pandas as pd

from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture, fig5

_FREQUENCIES = (1, 2, 3)
_DATASETS = ["grid-2000", "grid-2000-frequency-2", "grid-2000-frequency-3"]


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 5, a panel for each frequency that has scores."""
    frames = []
    for frequency in _FREQUENCIES:
        here = _at(scores, frequency)
        if len(here):
            frame = _grid.curves(artefact, here, (_grid.against_d,))
            frames.append(frame.assign(panel=[f"{name},a={frequency}" for name in frame["panel"]]))
    return pd.concat(frames, ignore_index=True)[FIGURE_COLUMNS]


def _at(scores: pd.DataFrame, frequency: int) -> pd.DataFrame:
    """Return the scores of a frequency, under the name of the grid data that have one wave."""
    ending = "" if frequency == 1 else f"-frequency-{frequency}"
    return scores.assign(dataset=scores["dataset"].str.extract(rf"^(grid-\d+){ending}$")[0]).dropna(
        subset="dataset"
    )


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K6 under each frequency."""
    return {"K6": {f"frequency {k}": fig5.isotropic_drops(_at(scores, k)) for k in _FREQUENCIES}}


ARTEFACT = Artefact(
    __name__,
    name="fig5-readings",
    kind="figure",
    stage="readings",
    shows={
        "joint": {
            "datasets": _DATASETS,
            "methods": ["KCEF-F", "KCEF-F-anisotropic", "exact"],
            "only": {"KCEF-F-anisotropic": _DATASETS},
        }
    },
    build=build,
    draw=_grid_picture.draw,
    readers={"K-frequency": read},
    trial="run",
    remarks=_grid.remarks,
)
