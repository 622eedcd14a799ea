"""Claim C3: conditional density operators on the Gaussian donut."""

import pandas as pd

from kcde.artefacts.cdo._donut_errors import CONDITIONAL, JOINT, PLACES, REFERENCES, reference
from kcde.artefacts.core.cells import AS_PUBLISHED, under, values
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.deciding import Missing, completed, decider
from kcde.artefacts.tables.methods import display

RIVALS, FLOWS = ("GP", "LSCDE"), ("CondRealNVP", "CondMAF")
_METHODS = ("CDO", "GP", "CondRealNVP", "CondMAF", "LSCDE")


@decider
def competitive(scores: pd.DataFrame) -> Decision:
    """Decide claim C3: CDO's error is below those of GP and LSCDE at both x.

    As the paper measures it: against the joint density, in the mean over the repetitions. Its rank
    among the flows is stated, and so are the errors against the conditional density, of predicting
    zero and of the exact conditional, but do not decide.

    Parameters
    ----------
    scores
        Of the experiment `donut`.

    Returns
    -------
    Decision
        `undecided` where a method has no errors at an x or too many of its repetitions failed.
    """
    held, parts = [], []
    for panel, x in PLACES.items():
        here = under(scores[scores["experiment"] == "donut"], x=x)
        found = completed(here, ("CDO", *RIVALS), JOINT, panel, AS_PUBLISHED)
        means = {name: each.mean() for name, each in found.items()}
        held += [means["CDO"] < means[rival] for rival in RIVALS]
        parts.append(
            f"{panel}: {_listed(means)} ({_rank(here)}; {_lines(here, JOINT)}); against the "
            f"conditional {_listed(_means(here, CONDITIONAL))} ({_lines(here, CONDITIONAL)})"
        )
    count = f"{len(found['CDO'])} repetitions"
    reason = f"mean error against the joint density over {count}: {'. '.join(parts)}"
    return Decision("holds" if all(held) else "fails", reason)


def _means(here: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return the mean of each method that has the metric."""
    found = {name: values(here, name, metric).dropna() for name in _METHODS}
    return {name: each.mean() for name, each in found.items() if len(each)}


def _rank(here: pd.DataFrame) -> str:
    """Say which place CDO has among the flows that there are."""
    means = _means(here, JOINT)
    rivals = {name: means[name] for name in FLOWS if name in means}
    if not rivals:
        return "no flows"
    place = 1 + sum(error < means["CDO"] for error in rivals.values())
    return f"with {_listed(rivals)} CDO is at place {place} of {len(rivals) + 1}"


def _lines(here: pd.DataFrame, error: str) -> str:
    found = {series: reference(here, metric) for series, metric in REFERENCES[error].items()}
    if absent := [series for series, each in found.items() if not len(each)]:
        raise Missing(f"no scores of {' and '.join(absent)}")
    return ", ".join(f"{series} {each.mean():.3g}" for series, each in found.items())


def _listed(means: dict[str, float]) -> str:
    return ", ".join(f"{display(name)} {mean:.3g}" for name, mean in means.items())
