"""dde table 2: negative log-likelihood on the R benchmark data, and claims D3 and D6."""

import pandas as pd

from kcde.papers.artefact import Artefact
from kcde.papers.dde import _likelihoods
from kcde.evidence import r_sets
from kcde.pages import building, dot_plot, normalisers
from kcde.metrics.names import NLL

_CAPTION = (
    "Negative log-likelihood of y given x, ours beside the published values. The paper concludes "
    "that DDE is significantly best on six data sets and comparable on the rest, which claim D3 "
    "tests, and that KCEF is unstable on cpus and crabs, which claim D6 tests. DDE is evaluated "
    "as by its authors; DDE-quadrature is the same fit with an exact normaliser, DDE-penalised "
    "(ours, on some of the sets) a fit with penalty and early stopping."
)

_DETAILS = (
    "Splits, standardisation and likelihood are those of kcef table 1, and so are the fits where "
    "both tables have a data set; the published KCEF and LSCDE values of ten sets repeat that "
    "table. Three sets are not a fair test of a density: y is binary in crabs, and a near-copy of "
    "y is among the inputs of cpus, so that their values measure the smallest bandwidth that a "
    "method may choose; the indicator of y < 2500 is among the inputs of birthwt. The authors' "
    "evaluation of DDE takes its proposal from the test half (see table2-likelihood); the "
    "normalisers of DDE-quadrature and DDE-penalised are computed by quadrature. DDE-penalised "
    "takes as long as DDE and is a showcase: it is fitted on the first five sets of the published "
    "table. "
    f"{_likelihoods.CONFLICTS}"
)


def remarks(table: pd.DataFrame) -> list[str]:
    """Say which normalisers are computed by sampling; DDE-penalised is shown by quadrature."""
    return normalisers.importance_sampling(table[table["method"] != "DDE-penalised"])


ARTEFACT = Artefact(
    __name__,
    kind="table",
    title="negative log-likelihood on the R benchmark data",
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
    caption=_CAPTION,
    details=_DETAILS,
    reduced=_likelihoods.REDUCED,
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
