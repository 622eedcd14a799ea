"""Claims C1 and C2: conditional density operators on rough terrain."""

import pandas as pd

from kcde.artefacts.cdo._terrain_tables import CENTRED, DEFINITIONS, FLOWS, FOLDS, RANDOM, SMAE
from kcde.artefacts.core.cells import AS_PUBLISHED, under, values
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.deciding import completed, decider
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.tables.methods import display
from kcde.metrics.paired import PairedTest, paired_t_test

METHOD, RIVALS = "CDO", ("GP", "CondRealNVP", "CondMAF", "LSCDE")
DATASET = "rough-terrain"

_FOLDS = 10  # of the paper, without which a test that points the right way stays open
_TIMES = 5.0


@decider
def smallest(scores: pd.DataFrame) -> Decision:
    """Decide claim C1: CDO has the smallest error on rough terrain.

    In one definition, `smae_centred`, on the same folds for all methods as published. Against each
    of the four a two-sided paired t-test over the folds must, at 5%, tell CDO's mean as the
    smaller. Folds share training rows, so that the test is the corrected one of Nadeau and Bengio
    (`kcde.metrics.paired_t_test` with the overlap of the folds).

    Parameters
    ----------
    scores
        Of the experiment `terrain`.

    Returns
    -------
    Decision
        `undecided` where a method has no scores or too many folds failed, and where fewer than ten
        folds leave a test open that does not point the other way.
    """
    here = _folds(scores)
    found = completed(here, (METHOD, *RIVALS), CENTRED, f"the folds of {DATASET}", AS_PUBLISHED)
    both = pd.DataFrame(found)
    overlap = float((here["n_test"] / here["n_train"]).mean())
    tests = {name: paired_t_test(both[METHOD], both[name], overlap) for name in RIVALS}
    each = (f"{_number(both, name)} (p = {test.p_value:.2g})" for name, test in tests.items())
    reason = (
        f"{DEFINITIONS[CENTRED]} over {len(both)} of {_FOLDS} folds: {_number(both, METHOD)}, "
        f"{', '.join(each)}, by the paired t-test with the correction for shared training rows"
        f"{_mixed(scores)}"
    )
    if all(map(_lower, tests.values())):
        return Decision("holds", reason)
    open_yet = all(_lower(test) or (test.sign < 0 and test.n < _FOLDS) for test in tests.values())
    return Decision("undecided" if open_yet else "fails", reason)


@decider
def lscde_far_worse(scores: pd.DataFrame) -> Decision:
    """Decide claim C2: the error of LSCDE on rough terrain is above five times that of CDO.

    Means of `smae_centred` over the folds, of the methods as published; the other methods are
    stated but do not decide.

    Parameters
    ----------
    scores
        Of the experiment `terrain`.

    Returns
    -------
    Decision
        `undecided` where one of the two has no scores, or too many of its folds failed.
    """
    here = _folds(scores)
    found = completed(here, (METHOD, "LSCDE"), CENTRED, f"the folds of {DATASET}", AS_PUBLISHED)
    worst = found["LSCDE"].mean()
    ratio = worst / found[METHOD].mean()
    others = {name: values(here, name, CENTRED).mean() for name in RIVALS if name != "LSCDE"}
    beside = ", ".join(
        f"{worst / mean:.3g} times {display(name)}" for name, mean in others.items() if mean > 0
    )
    reason = (
        f"{DEFINITIONS[CENTRED]} over {len(found['LSCDE'])} folds: LSCDE {worst:.3g} (1: no better "
        f"than the mean of the training rows), {ratio:.3g} times {METHOD}, wanted above {_TIMES:g}"
        + (f"; {beside}" if beside else "")
    )
    return Decision("holds" if ratio > _TIMES else "fails", reason)


def _folds(scores: pd.DataFrame) -> pd.DataFrame:
    terrain = (scores["experiment"] == "terrain") & (scores["dataset"] == DATASET)
    return under(scores[terrain], protocol=FOLDS)


def _lower(test: PairedTest) -> bool:
    return test.sign < 0 and test.p_value < SIGNIFICANCE


def _number(both: pd.DataFrame, name: str) -> str:
    return f"{display(name)} {both[name].mean():.3g}"


def _mixed(scores: pd.DataFrame) -> str:
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
