"""dde table1-seeds: table 1 with as many seeds as claims D1, D4 and D5 need as amended."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from kcde.evidence import tolerances
from kcde.metrics.names import MMD
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.dde import _planar, fig1, fig2, table1

_READING = "ten seeds"


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with those that table 1 adds, DDE's shares and its convergence."""
    of_dde = [path for path in files if path.stem == _planar.METHOD]
    return fig2.measure(fig1.measure(table1.measure(scores, files), of_dde), of_dde)


def amended(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claims D1, D4 and D5 by their amended tests."""
    decisions = {
        "D1": table1.smaller_discrepancy(scores).amended,
        "D4": fig1.at_least_half(scores),
        "D5": fig2.decide(scores).amended,
    }
    return {claim: {_READING: decision} for claim, decision in decisions.items()}


ARTEFACT = Artefact(
    __name__,
    name="table1-seeds",
    kind="table",
    stage="readings",
    shows={
        "planar": {
            "scale": "paper",
            "datasets": ["two-moons", "ring", "grid"],
            "methods": ["DDE", "KEF"],
        }
    },
    tolerance=tolerances.VERDICTS,
    build=table1.build,
    draw=table1.draw,
    readers={"amended": amended},
    metric=MMD,
    measure=measure,
    further=table1.FURTHER,
    trial="seed",
    remarks=table1.remarks,
)
