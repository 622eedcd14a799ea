"""dde figure 3: the sampler over the iterations on grid and two moons."""

from pathlib import Path

import pandas as pd

from kcde.evidence import tolerances
from kcde.papers.artefact import Artefact
from kcde.papers.dde import _planar_iterations

_SHOWN, _ITERATIONS = ("grid", "two-moons"), (0, 500, 1000, 2000)  # as published


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return snapshots on grid and two moons and MMD², as `_planar_iterations.frame_of` says."""
    return _planar_iterations.frame_of(scores, files, _SHOWN, _ITERATIONS)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=_planar_iterations.draw,
    trial="seed",
    remarks=_planar_iterations.remarks,
)
