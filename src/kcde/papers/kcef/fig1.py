"""kcef figure 1: log-likelihood on the grid data, and the same under other readings."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.kcef import claims_of_figures as claims
from kcde.papers.kcef import grid, grid_picture


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves against n and against d."""
    return grid.curves(artefact, scores, (grid.against_n, grid.against_d))


def build_converged(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves without the isotropic kernel, which only decides claim K6."""
    return build(artefact, scores[scores["method"] != grid.ISOTROPIC], files)


def build_rows(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 1, and against d that of the isotropic kernel of figure 5."""
    frame = build(artefact, scores, files)
    hidden = frame["panel"].str.startswith("d=") & frame["method"].eq("KCEF-F-500-rows")
    return frame[~hidden].sort_values("panel", kind="stable", ignore_index=True)


METHODS = ["KCEF-F-anisotropic", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE"]

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"joint": {"datasets": grid.DATASETS, "methods": [*METHODS, "exact"]}},
    build=build,
    draw=grid_picture.draw,
    claims={
        "K1": claims.converges_faster,
        "K2": claims.markov_beats_full,
        "K3": claims.nade_needs_data,
        "K4": claims.full_kcef_like_lscde,
        "K5": claims.nade_like_full,
        "K13": claims.full_like_markov,
    },
    trial="run",
    remarks=grid.remarks,
)


def _variant(
    name: str, methods: list[str], build=build, named: dict | None = None, only: dict | None = None
) -> Artefact:
    """Return figure 1 with other methods, some drawn with the names that those of it have."""
    shown = {"datasets": grid.DATASETS, "methods": [*methods, "exact"], "only": only or {}}
    draw = partial(grid_picture.draw, pale=METHODS, named=named or {})
    changes = {"shows": {"joint": shown}, "build": build, "draw": draw}
    return replace(ARTEFACT, name=name, stage=READINGS, claims={}, **changes)


_LSCDE = ["LSCDE-F", "LSCDE-F-anisotropic", "LSCDE-M", "LSCDE-M-anisotropic"]
_ROWS = {f"{name}-500-rows": name for name in (grid.ISOTROPIC, grid.FULL, "KCEF-M")}

ARTEFACTS = [
    ARTEFACT,
    _variant(
        "fig1-converged",
        ["KCEF-F", "KCEF-F-converged", "KCEF-M-converged", *_LSCDE[1::2], "NADE"],
        only={"KCEF-F": ["grid-2000"]},  # for claim K6
        build=build_converged,
        named={"KCEF-F-converged": grid.FULL, "KCEF-M-converged": "KCEF-M"},
    ),
    _variant("fig1-lscde", ["KCEF-F-anisotropic", "KCEF-M", *_LSCDE, "NADE"]),
    _variant("fig1-nade", [*METHODS, "NADE-unstopped"]),
    _variant(
        "fig1-rows",
        [*_ROWS, "LSCDE-F", "LSCDE-M", "NADE"],
        only={"KCEF-F-500-rows": ["grid-2000"]},  # for claim K6
        build=build_rows,
        named=_ROWS,
    ),
]
