"""kcef figure 5: log-likelihood on the grid data with an isotropic kernel, at each frequency."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.kcef import claims_of_figures as claims
from kcde.papers.kcef import fig1, grid, grid_picture


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves against d."""
    return grid.curves(artefact, scores, (grid.against_d,))


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 5, a panel for each frequency that has scores."""
    frames = []
    for a in (1, 2, 3):
        ending = "" if a == 1 else f"-frequency-{a}"
        plain = scores["dataset"].str.extract(rf"^(grid-\d+){ending}$")[0]
        if plain.notna().any():
            frame = build(artefact, scores.assign(dataset=plain).dropna(subset="dataset"), files)
            frames.append(frame.assign(panel=frame["panel"] + f",a={a}"))
    return pd.concat(frames, ignore_index=True)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"joint": {"datasets": ["grid-2000"], "methods": ["KCEF-F", *fig1.METHODS, "exact"]}},
    build=build,
    draw=grid_picture.draw,
    claims={"K6": claims.isotropic_drops},
    trial="run",
    remarks=grid.remarks,
)

_WAVES = {
    "datasets": ["grid-2000", "grid-2000-frequency-2", "grid-2000-frequency-3"],
    "methods": ["KCEF-F", "KCEF-F-anisotropic", "exact"],
}
_WAVES["only"] = {"KCEF-F-anisotropic": _WAVES["datasets"]}

ARTEFACTS = [
    ARTEFACT,
    replace(
        ARTEFACT,
        name="fig5-readings",
        stage=READINGS,
        shows={"joint": _WAVES},
        build=build_readings,
        claims={},
    ),
]
