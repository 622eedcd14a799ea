"""Scaled absolute errors on rough terrain in one definition, comparable; claim C1 of cdo."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.evidence.deciding import Missing, all_of, completed, decider
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics.names import SMAE
from kcde.metrics.paired import PairedTest, paired_t_test
from kcde.names import OURS
from kcde.pages import building
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact, Decider, Decision
from kcde.papers.cdo import _terrain
from kcde.papers.cdo._terrain import (
    CENTRED,
    DATASET,
    DEFINITIONS,
    FLOWS,
    FOLDS,
    METHOD,
    OWN,
    POINTWISE,
    PREDICTED,
    RANDOM,
    RIVALS,
    TOTAL,
    TUNED,
)

METHODS = (
    "CDO",
    "CDO-chosen",
    "GP",
    "GP-ML",
    "GP-Matern",
    "CondRealNVP",
    "CondMAF",
    "LSCDE",
    "LSCDE-exact",
    "linear-interpolation",
    "Clough-Tocher",
    "four-neighbours",
    "Nadaraya-Watson",
    "Nadaraya-Watson-CDO",
)
"""In the order of the columns."""

FURTHER = {
    PREDICTED: "Σ|e| / Σ|ŷ − ȳ|, as GP is published",
    POINTWISE: "Mean |ŷ/y − 1|, as the flows are published",
    TOTAL: "Σ|e| / Σ|y|",
}
"""Metrics below the primary one, each with its heading."""

_RIVALS_AMENDED = (*TUNED, "linear-interpolation", "Nadaraya-Watson")
"""What CDO must beat as well in the amended claim: tuned Gaussian processes, and the simplest."""

_FOLDS = 10  # of the paper; with fewer, a test that points the right way leaves the claim open


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return all methods on the same folds, in `smae_centred` and in the other definitions."""
    found = _terrain.complete(under(scores, protocol=FOLDS), DEFINITIONS)
    table = building.build(artefact, found, files)
    return building.with_rows(table, _terrain.deviations(scores))


@decider
def smallest(scores: pd.DataFrame) -> Decision:
    """Decide claim C1: CDO has the smallest error on rough terrain.

    `smae_centred` on the same folds, of the methods as published. CDO's mean must be significantly
    smaller than that of each of the four others, by a two-sided paired t-test at 5% over the folds
    that both have. Folds share training rows, so that the test is the corrected one of Nadeau and
    Bengio (`kcde.metrics.paired_t_test` with the overlap of the folds). It is undecided, too, where
    fewer than ten folds give a smaller mean that is not significant.

    As amended it must also be smaller than those of `_RIVALS_AMENDED`, over all ten folds.
    """
    decided = _smallest(scores, RIVALS)
    return replace(decided, amended=_amended(scores, decided))


def smallest_against(gp: str) -> Decider:
    """Return the test of claim C1 with another Gaussian process in place of the published."""
    rivals = [gp if name == "GP" else name for name in RIVALS]
    return decider(lambda scores: _smallest(scores, rivals))


@decider
def smallest_in_own_definitions(scores: pd.DataFrame) -> Decision:
    """Decide claim C1 with each method in its own definition, as table 3 prints it, on the folds.

    The test is that of `smallest`, of errors that are divided differently.
    """
    return _smallest(scores, RIVALS, OWN)


def _amended(scores: pd.DataFrame, decided: Decision) -> Decision | None:
    """Return the amended decision, None where methods that it needs have no scores."""
    try:
        further = _smallest(scores, _RIVALS_AMENDED)
    except Missing:
        return None
    known = _terrain.folds(scores)
    folds = min(values(known, name, CENTRED, OURS).notna().sum() for name in _RIVALS_AMENDED)
    verdict = all_of([decided.verdict, further.verdict])
    if verdict == "holds" and folds < _FOLDS:
        verdict = "undecided"
    return Decision(verdict, further.reason)


def _smallest(
    scores: pd.DataFrame, rivals: Sequence[str], definitions: Mapping[str, str] | None = None
) -> Decision:
    """Decide the claim by `CENTRED`, or by the metric that `definitions` has for a method."""
    metrics = dict.fromkeys(rivals, CENTRED) | (definitions or {})
    here, place = _terrain.folds(scores), f"the folds of {DATASET}"
    known = variants(here)
    found = completed(here, [METHOD], CENTRED, place, AS_PUBLISHED)
    for name in rivals:
        found |= completed(here, [name], metrics[name], place, known.get(name, AS_PUBLISHED))
    both = pd.DataFrame(found)
    overlap = float((here["n_test"] / here["n_train"]).mean())
    tests = {name: paired_t_test(both[METHOD], both[name], overlap) for name in rivals}
    each = (
        f"{_number(both, name)} (p = {test.p_value:.2g}{_of(test, both)})"
        for name, test in tests.items()
    )
    definition = "the definition of each in table 3" if definitions else DEFINITIONS[CENTRED]
    reason = (
        f"{definition} over {len(both)} of {_FOLDS} folds: {_number(both, METHOD)}, "
        f"{', '.join(each)}, by the paired t-test with the correction for shared training rows"
        f"{_as_in_table3(scores)}"
    )
    if all(map(_lower, tests.values())):
        return Decision("holds", reason)
    open_yet = all(_lower(test) or (test.sign < 0 and test.n < _FOLDS) for test in tests.values())
    return Decision("undecided" if open_yet else "fails", reason)


def _lower(test: PairedTest) -> bool:
    return test.sign < 0 and test.p_value < SIGNIFICANCE


def _of(test: PairedTest, both: pd.DataFrame) -> str:
    """State the number of folds where it is not that of all."""
    return "" if test.n == len(both) else f", {test.n} folds"


def _number(both: pd.DataFrame, name: str) -> str:
    return f"{display(name)} {both[name].mean():.3g}"


def _as_in_table3(scores: pd.DataFrame) -> str:
    """State the numbers that answer the published ones."""
    terrain = scores[scores["dataset"] == DATASET]
    parts = []
    for name in (METHOD, *RIVALS):
        protocol = RANDOM if name in FLOWS else FOLDS
        found = values(under(terrain, protocol=protocol), name, SMAE).dropna()
        if len(found):
            parts.append(f"{display(name)} {found.mean():.3g}")
    words = "; each in the definition and on the splits of table 3: "
    return words + ", ".join(parts) if parts else ""
