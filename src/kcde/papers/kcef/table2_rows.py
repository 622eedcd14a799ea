"""kcef table2-rows: table 2 by how many rows the tuning of KCEF sees (K-rows), and claim K9."""

import pandas as pd

from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import table2
from kcde.papers.kcef._renamed import renamed

READINGS = {
    f"{rows} rows": {f"KCEF-{graph}-{rows}-rows": f"KCEF-{graph}" for graph in "FM"}
    for rows in (500, 1000)
}
"""Reading of K-rows to its methods, with their names in claim K9."""


def read(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K9 with parameters chosen on so many rows."""
    decided = {
        reading: table2.decide(renamed(scores, names)) for reading, names in READINGS.items()
    }
    return {"K9": decided}


ARTEFACT = Artefact(
    __name__,
    name="table2-rows",
    kind="table",
    stage="readings",
    shows={
        "joint": {
            "datasets": ["white-wine", "parkinsons", "red-wine"],
            "methods": [
                "KCEF-F-500-rows",
                "KCEF-F-1000-rows",
                "KCEF-M-500-rows",
                "KCEF-M-1000-rows",
                "LSCDE-F",
                "LSCDE-M",
                "NADE",
            ],
        }
    },
    build=building.build,
    draw=dot_plot.write,
    readers={"K-rows": read},
    metric=NLL,
    trial="run",
    axis=(0.0, 40.0),
    axis_label=table2.ARTEFACT.axis_label,
)
