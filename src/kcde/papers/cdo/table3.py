"""cdo table 3: scaled absolute errors on rough terrain, as published; claims C1 and C2."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values
from kcde.evidence.deciding import completed, decider
from kcde.metrics.names import SMAE
from kcde.pages import building
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.cdo import _one_definition, _terrain
from kcde.papers.cdo._terrain import (
    CENTRED,
    DATASET,
    DEFINITIONS,
    FLOWS,
    FOLDS,
    METHOD,
    POINTWISE_STD,
    RANDOM,
    RIVALS,
)

_WORST = "LSCDE"
_OTHERS = tuple(name for name in RIVALS if name != _WORST)
_FACTOR = 5.0


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return each method in its authors' definition and protocol.

    The cells differ in splits and definitions, so that none is marked as the best.
    """
    own = scores["metric"].isin([SMAE, POINTWISE_STD]) | scores["status"].eq("failed")
    found = of_protocol(scores[own])
    found = found[found["metric"].isin([SMAE, POINTWISE_STD])]
    table = building.build(artefact, found, files)
    table["best"] = None
    table["p_value"] = np.nan
    return building.with_rows(table, _terrain.deviations(scores))


def of_protocol(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of each method under the protocol of its published number."""
    parts = [under(scores, protocol=FOLDS), under(scores, protocol=RANDOM)]
    of_flows = [each["method"].isin(FLOWS) for each in parts]
    both = pd.concat([parts[0][~of_flows[0]], parts[1][of_flows[1]]])
    return _terrain.complete(both, [SMAE])


@decider
def lscde_far_worse(scores: pd.DataFrame) -> Decision:
    """Decide claim C2: the error of LSCDE on rough terrain is above five times that of CDO.

    Means of `smae_centred` over the folds, of the methods as published. As amended it is above
    five times that of every other method, over the folds that both have. The reason also gives the
    other methods, which do not decide the claim as it was.
    """
    place, here = f"the folds of {DATASET}", _terrain.folds(scores)
    found = completed(here, (METHOD, _WORST), CENTRED, place, AS_PUBLISHED)
    ratio = _times(found[_WORST], found[METHOD])
    others = {name: values(here, name, CENTRED) for name in _OTHERS}
    known = {name: _times(found[_WORST], each) for name, each in others.items() if each.any()}
    beside = ", ".join(f"{times:.3g} times {display(name)}" for name, times in known.items())
    reason = (
        f"{DEFINITIONS[CENTRED]} over {len(found[_WORST])} folds: LSCDE {found[_WORST].mean():.3g} "
        f"(1: no better than the mean of the training rows), {ratio:.3g} times {METHOD}, wanted "
        f"above {_FACTOR:g}" + (f"; {beside}" if beside else "")
    )
    every = (
        Decision(_verdict(min(ratio, *known.values())), reason)
        if len(known) == len(_OTHERS)
        else None
    )
    return Decision(_verdict(ratio), reason, amended=every)


def _times(worst: pd.Series, other: pd.Series) -> float:
    """Return the ratio of the means over the folds that both have."""
    both = pd.concat([worst, other], axis=1).dropna()
    return float(both.iloc[:, 0].mean() / both.iloc[:, 1].mean())


def _verdict(ratio: float) -> str:
    return "holds" if ratio > _FACTOR else "fails"


ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={
        "terrain": {
            "methods": [
                "CDO",
                "GP",
                "CondRealNVP",
                "CondMAF",
                "LSCDE",
                "CDO-chosen",
                "GP-ML",
                "GP-Matern",
                "LSCDE-exact",
                "linear-interpolation",
                "Clough-Tocher",
                "four-neighbours",
                "Nadaraya-Watson",
                "Nadaraya-Watson-CDO",
            ]
        }
    },
    build=build,
    draw=_terrain.write,
    deciders={"C1": _one_definition.smallest, "C2": lscde_far_worse},
    metric=SMAE,
    published_trials=10,
    remarks=_terrain.remarks,
)
