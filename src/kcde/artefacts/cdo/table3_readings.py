"""cdo table3-readings: table 3 with all folds and splits of the flows; cdo's claims by reading."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kcde.artefacts.cdo import _terrain, clipping, fig4, fig5, table3, table3_one_definition
from kcde.artefacts.cdo._terrain import CENTRED
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.tables import building
from kcde.metrics.names import SMAE
from kcde.names import AS_PUBLISHED

_CAPTION = (
    "Table 3 in one definition, Σ|e| / Σ|y − ȳ|, with all ten folds of the flows, and below it in "
    "the definitions and on the splits of the published column, ten random ones for the flows. By "
    "these scores, those of the donut and of traffic, every claim of cdo that depends on a choice "
    "which the paper leaves open is decided under each reading of it."
)
_DETAILS = (
    f"{_terrain.SETTING}\n\nC-lscde: LSCDE of the Python package that the authors call, or "
    "Sugiyama's with parameters by held-out likelihood. C-gp: the Gaussian process at the values "
    "where the authors' search begins, or with parameters by the marginal likelihood of contiguous "
    "blocks. C-target: errors on the donut against the joint or the conditional density. C-split: "
    "test days apart from the training days, or with these among them."
)

PACKAGE, SUGIYAMA = "the package and choice of the authors' notebook", "Sugiyama's, by likelihood"
START, TUNED = "the authors' start values", "tuned on contiguous rows"
JOINT, CONDITIONAL = "the joint density", "the conditional density"
HONEST, NOTEBOOK = "honest", "as in the notebook"

_SUGIYAMA_S = "LSCDE-exact"


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the rows of table 3 in one definition, and those in the published mix."""
    shown = scores["method"].isin(artefact.methods)
    terrain = scores[(scores["experiment"] == "terrain") & shown]
    one = table3_one_definition.build(artefact, terrain, files)
    mixed = table3.of_protocol(terrain)
    # The cells of the published mix cannot be ranked.
    plain = building.build(replace(artefact, metric=SMAE), mixed[mixed["metric"] == SMAE], files)
    rows = plain.assign(best=None, p_value=float("nan")).to_dict("records")
    return building.with_rows(one, rows)


def read_lscde(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claims C2, C3 and C6 under both implementations of LSCDE."""
    other = as_published(scores, _SUGIYAMA_S, "LSCDE")
    deciders = {"C2": table3.lscde_far_worse, "C3": fig4.competitive}
    found = {
        claim: {PACKAGE: decide(scores), SUGIYAMA: decide(other)}
        for claim, decide in deciders.items()
    }
    return found | {
        "C6": {
            PACKAGE: clipping.clipping_is_the_cause(scores),
            SUGIYAMA: clipping.clipping_is_the_cause_of_sugiyama_s(scores),
        }
    }


def as_published(scores: pd.DataFrame, method: str, name: str) -> pd.DataFrame:
    """Return the scores with those of one method in place of another, as published.

    Parameters
    ----------
    scores
        Of any experiments.
    method
        Whose scores they are.
    name
        Of the method in whose place they stand.
    """
    own = scores[scores["method"] == method].assign(method=name, variant=AS_PUBLISHED)
    others = scores[~scores["method"].isin([method, name])]
    return pd.concat([others, own], ignore_index=True)


def read_gp(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C1 against either Gaussian process."""
    against = table3_one_definition.smallest_against
    return {"C1": {START: against("GP")(scores), TUNED: against(_terrain.TUNED[0])(scores)}}


def read_target(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C3 by the errors against either density."""
    conditional = fig4.competitive_against_conditional(scores)
    return {"C3": {JOINT: fig4.competitive(scores), CONDITIONAL: conditional}}


def read_split(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C5 with either test days."""
    honest = fig5.tracks_the_test_data(scores)
    return {"C5": {HONEST: honest, NOTEBOOK: fig5.tracks_days_that_overlap(scores)}}


ARTEFACT = Artefact(
    __name__,
    kind="table",
    name="table3-readings",
    title="scaled absolute errors on rough terrain, all folds and splits",
    stage="readings",
    shows={
        "terrain": {
            "methods": [
                "CDO",
                "CDO-chosen",
                "GP",
                "GP-ML",
                "GP-Matern",
                "CondRealNVP",
                "CondMAF",
                "LSCDE",
                "LSCDE-package-signed",
                "LSCDE-package-constrained",
                "LSCDE-package-projected",
                "LSCDE-exact",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
                "linear-interpolation",
                "Clough-Tocher",
                "four-neighbours",
                "Nadaraya-Watson",
                "Nadaraya-Watson-CDO",
            ],
            "scale": "readings",
        },
        "donut": {"methods": "cdo/fig4"},
        "traffic": {"methods": "cdo/fig5"},
    },
    caption=_CAPTION,
    details=_DETAILS,
    build=build,
    draw=_terrain.write,
    readers={
        "C-lscde": read_lscde,
        "C-gp": read_gp,
        "C-target": read_target,
        "C-split": read_split,
    },
    metric=CENTRED,
    columns=table3_one_definition.ARTEFACT.methods,
    further={**table3_one_definition.FURTHER, SMAE: "Each as published, on its splits"},
    trial="fold",
    remarks=_terrain.remarks,
)
