"""kcef table3-pair: table 3 with models of the shown pair alone (K-pair), and claim K10."""

from pathlib import Path

import pandas as pd

from kcde.evidence import tolerances
from kcde.metrics.names import P_VALUE
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import table3
from kcde.papers.kcef.fig4_pair import ALL, PAIR

METHODS = {
    "H0: KEF-pair closer than KCEF": table3.KEF,
    "H0: NADE-pair closer than KCEF": table3.NADE,
}
"""Hypothesis on models of the pair alone to its name in the claim."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of table 3.

    Models of the pair have no column of the pair alone, as it would repeat that of all theirs.
    """
    repeated = scores["method"].isin(list(METHODS)) & (scores["variant"] == "slice")
    return table3.build(artefact, scores[~repeated], files)


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K10 with models of all columns and with those of the pair alone."""
    own = scores[scores["method"].isin(list(METHODS))]
    own = own.assign(method=own["method"].map(METHODS))
    return {"K10": {ALL: table3.decide(scores), PAIR: table3.decide(own)}}


ARTEFACT = Artefact(
    __name__,
    name="table3-pair",
    kind="table",
    stage="readings",
    shows={"similarity": {"methods": ["KEF", "NADE", "KEF-pair", "NADE-pair"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=table3.draw,
    readers={"K-pair": read},
    metric=P_VALUE,
    columns=(table3.KEF, table3.NADE, *METHODS),
    trial="seed",
)
