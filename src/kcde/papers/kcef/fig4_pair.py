"""kcef fig4-pair: figure 4 with models of the shown pair alone (K-pair), and claim K14."""

from pathlib import Path

import pandas as pd

from kcde.evidence import tolerances
from kcde.evidence.deciding import under_each
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _slices, fig4
from kcde.papers.kcef._renamed import renamed

ALL, PAIR = "all columns", "the shown pair alone"
"""The readings of K-pair, the drawn one first."""

METHODS = {
    "KEF-pair": "KEF",
    "KCEF-F-pair": "KCEF-F",
    "NADE-pair": "NADE",
    "KEF-pair-adapted": "KEF-adapted",
    "KCEF-F-pair-inverse": "KCEF-F-inverse",
}
"""Method of the pair alone to its name in the claim."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of figure 4 for the models of the pair alone."""
    return _slices.build(artefact, scores, [path for path in files if path.stem in METHODS])


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K14 with models of all columns and with those of the pair alone."""
    own = renamed(scores[scores["method"].isin(list(METHODS))], METHODS)
    return under_each(fig4.ARTEFACT.deciders, {ALL: scores, PAIR: own})


ARTEFACT = Artefact(
    __name__,
    name="fig4-pair",
    kind="figure",
    stage="readings",
    shows={
        "samples": {
            "methods": [
                "KEF-pair",
                "KCEF-F-pair",
                "NADE-pair",
                "KEF-pair-adapted",
                "KCEF-F-pair-inverse",
                "KEF",
                "KCEF-F",
                "KEF-adapted",
                "KCEF-F-inverse",
            ],
        }
    },
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=_slices.draw,
    readers={"K-pair": read},
    trial="seed",
    remarks=_slices.remarks,
)
