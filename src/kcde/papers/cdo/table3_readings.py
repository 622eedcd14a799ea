"""cdo table3-readings: table 3 with all folds and splits of the flows; cdo's claims by reading."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kcde.evidence.deciding import under_each
from kcde.methods import METHODS
from kcde.metrics.names import SMAE
from kcde.pages import building
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.cdo import _one_definition, _terrain, clipping, fig4, fig5, table3
from kcde.papers.cdo._terrain import CENTRED

PACKAGE, SUGIYAMA = "the package and choice of the authors' notebook", "Sugiyama's, by likelihood"
FIRST, SECOND = "bandwidth 1 and λ = 1", "bandwidth 0.7 and λ = 8"
OF_TRAFFIC = "1000 centres, 0.1 and 0.1, as for traffic"
HALF, QUARTER = "√m/2", "√m/4"
ONE, OWN = "one definition", "each its own"
PRINTED, CORRECTED = "the printed formula", "the corrected formula"
AGAINST_SPREAD = ", GP with its own spread"
START, TUNED = "the authors' start values", "tuned on contiguous rows"
FOUND = "where the authors' search ends"
JOINT, CONDITIONAL = "the joint density", "the conditional density"
HONEST, NOTEBOOK = "honest", "as in the notebook"

_BESIDE = {"CDO": ["CDO-quarter"], "LSCDE": ["LSCDE-package-second", "LSCDE-package-traffic"]}
"""Method to those that stand beside it here alone."""

_EVERYWHERE = ("donut", "terrain", "traffic")
_SEARCH = Decision(
    "not-run",
    "the authors' code searches for the lengths alone, with noise of variance 0.1, by the marginal "
    "likelihood of all training rows of a fold, which factors a matrix of these at every step",
)


_COLUMNS = tuple(
    column for name in _one_definition.METHODS for column in (name, *_BESIDE.get(name, ()))
)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the rows of table 3 in one definition, and those in the published mix."""
    shown = scores["method"].isin(artefact.methods)
    terrain = scores[(scores["experiment"] == "terrain") & shown]
    one = _one_definition.build(artefact, terrain, files)
    mixed = table3.of_protocol(terrain)
    # The cells of the published mix cannot be ranked.
    plain = building.build(replace(artefact, metric=SMAE), mixed[mixed["metric"] == SMAE], files)
    rows = plain.assign(best=None, p_value=float("nan")).to_dict("records")
    return building.with_rows(one, rows)


def read_lscde(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claims C2, C3 and C6 under both implementations of LSCDE."""
    other = in_place_of(scores, {"LSCDE-exact": "LSCDE"})
    deciders = {"C2": table3.lscde_far_worse, "C3": fig4.competitive}
    found = under_each(deciders, {PACKAGE: scores, SUGIYAMA: other})
    return found | {
        "C6": {
            PACKAGE: clipping.clipping_is_the_cause(scores),
            SUGIYAMA: clipping.clipping_is_the_cause_of_sugiyama_s(scores),
        }
    }


def in_place_of(
    scores: pd.DataFrame, names: Mapping[str, str], experiments: Collection[str] = _EVERYWHERE
) -> pd.DataFrame:
    """Return the scores with those of some methods in place of others.

    Parameters
    ----------
    scores
        Of any experiments.
    names
        Method to that in whose place its scores stand, as its variant. Without scores of the first
        there are none of the second either.
    experiments
        In which they do.
    """
    here = scores["experiment"].isin(experiments)
    own = scores[here & scores["method"].isin(list(names))]
    known = own["method"].map(names)
    own = own.assign(method=known, variant=known.map(lambda name: METHODS[name].variant))
    others = scores[~(here & scores["method"].isin([*names, *names.values()]))]
    return pd.concat([others, own], ignore_index=True)


def read_lscde_terrain(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claims C2 and C6 with other parameters of the package's LSCDE on the terrain."""
    under = {FIRST: scores}
    for reading, choice in ((SECOND, "second"), (OF_TRAFFIC, "traffic")):
        name, package = f"LSCDE-package-{choice}", clipping.FAMILIES["LSCDE"]
        other = {f"{name}-{weights}": package + weights for weights in clipping.OTHER_WEIGHTS}
        under[reading] = in_place_of(scores, {name: "LSCDE", **other}, ["terrain"])
    deciders = {"C2": table3.lscde_far_worse, "C6": clipping.clipping_is_the_cause}
    return under_each(deciders, under)


def read_terrain(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claims C1 and C2 with either bandwidth of CDO on the terrain."""
    other = in_place_of(scores, {"CDO-quarter": "CDO"}, ["terrain"])
    deciders = {"C1": _one_definition.smallest, "C2": table3.lscde_far_worse}
    return under_each(deciders, {HALF: scores, QUARTER: other})


def read_smae(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C1 by one definition of the error, and by that of each method.

    The amended test has rivals without a published number, which have no definition of their own.
    """
    one = _one_definition.smallest_against("GP")(scores)
    return {"C1": {ONE: one, OWN: _one_definition.smallest_in_own_definitions(scores)}}


def read_formula(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C3 by either formula of CDO, against GP as it is scored and with its spread."""
    found = {}
    for formula, cdo in ((PRINTED, {}), (CORRECTED, {"CDO-corrected": "CDO"})):
        for against, gp in (("", {}), (AGAINST_SPREAD, {"GP-spread": "GP"})):
            here = in_place_of(scores, {**cdo, **gp}, ["donut"])
            found[formula + against] = fig4.competitive(here)
    return {"C3": found}


def read_gp(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim C1 against either Gaussian process; that of the authors' search is not run."""
    against = _one_definition.smallest_against
    run = {START: against("GP")(scores), TUNED: against(_terrain.TUNED[0])(scores)}
    return {"C1": {**run, FOUND: _SEARCH}}


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
    stage="readings",
    shows={
        "terrain": {
            "methods": [
                "CDO",
                "CDO-quarter",
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
                "LSCDE-package-second",
                "LSCDE-package-second-signed",
                "LSCDE-package-second-constrained",
                "LSCDE-package-second-projected",
                "LSCDE-package-traffic",
                "LSCDE-package-traffic-signed",
                "LSCDE-package-traffic-constrained",
                "LSCDE-package-traffic-projected",
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
            "scale": "paper",
        },
        "donut": {
            "methods": [
                "CDO",
                "CDO-corrected",
                "GP",
                "GP-spread",
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
            ],
        },
        "traffic": fig5.ARTEFACT.shows["traffic"],
    },
    build=build,
    draw=_terrain.write,
    readers={
        "C-lscde": read_lscde,
        "C-lscde-terrain": read_lscde_terrain,
        "C-gp": read_gp,
        "C-terrain": read_terrain,
        "C-smae": read_smae,
        "C-formula": read_formula,
        "C-target": read_target,
        "C-split": read_split,
    },
    metric=CENTRED,
    columns=_COLUMNS,
    further={**_one_definition.FURTHER, SMAE: "Each as published, on its splits"},
    trial="fold",
    remarks=_terrain.remarks,
)
