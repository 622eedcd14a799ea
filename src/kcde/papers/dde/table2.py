"""dde table 2: negative log-likelihood on the R benchmark data, and claims D3 and D6."""

import pandas as pd

from kcde.evidence import r_sets
from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot, normalisers
from kcde.papers.artefact import Artefact
from kcde.papers.dde import _likelihoods


def remarks(table: pd.DataFrame) -> list[str]:
    """Say which normalisers are computed by sampling; DDE-penalised is shown by quadrature."""
    return normalisers.importance_sampling(table[table["method"] != "DDE-penalised"])


ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={
        "r_benchmark": {
            "datasets": [
                "geyser",
                "caution",
                "ftcollinssnow",
                "highway",
                "snowgeese",
                "GAGurine",
                "topo",
                "CobarOre",
                "mcycle",
                "BigMac2003",
                "cpus",
                "crabs",
                "birthwt",
                "gilgais",
                "UN3",
                "ufc",
            ],
            "methods": [
                "DDE",
                "DDE-penalised",
                "KCEF",
                "KCEF-LL",
                "epsilon-KDE",
                "LSCDE",
                "LSCDE-exact",
            ],
        }
    },
    build=building.build,
    draw=dot_plot.write,
    deciders={"D3": r_sets.best_on_six, "D6": r_sets.kcef_unstable},
    metric=NLL,
    published_trials=20,
    overlap=1.0,
    columns=(
        "DDE",
        "DDE-quadrature",
        "DDE-penalised",
        "KCEF",
        "KCEF-LL",
        "epsilon-KDE",
        "LSCDE",
        "LSCDE-exact",
    ),
    spread_over_splits=True,
    shown_as=_likelihoods.SHOWN_AS,
    remarks=remarks,
)
