"""cdo figure 4: errors on the Gaussian donut against the joint density, as published; claim C3."""

from pathlib import Path

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values
from kcde.evidence.deciding import Missing, all_of, completed, decider
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.cdo import _donut
from kcde.papers.cdo._donut import CONDITIONAL, JOINT, PLACES, REFERENCES, reference

_RIVALS, _FLOWS = ("GP", "LSCDE"), ("CondRealNVP", "CondMAF")
_TARGETS = {JOINT: "joint", CONDITIONAL: "conditional"}
_METHODS = ("CDO", "GP", "CondRealNVP", "CondMAF", "LSCDE")

_FACTOR = 1.1
"""Times the better flow's mean error up to which CDO is competitive, in the amended claim."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the boxes of the error against the joint density."""
    return _donut.build(artefact, scores, JOINT)


@decider
def competitive(scores: pd.DataFrame) -> Decision:
    """Decide claim C3: CDO's error is below those of GP and LSCDE at both x.

    The mean over the repetitions of the error against the joint density, as in the paper. The
    reason also gives CDO's rank among the flows, the errors against the conditional density, and
    those of predicting zero and of the exact conditional, none of which decides.

    As amended CDO's error, the mean over both x, must also be at most `_FACTOR` times that of the
    better flow.
    """
    return _competitive(scores, JOINT)


@decider
def competitive_against_conditional(scores: pd.DataFrame) -> Decision:
    """Decide claim C3 by the errors against the conditional density."""
    return _competitive(scores, CONDITIONAL)


def _competitive(scores: pd.DataFrame, error: str) -> Decision:
    other = CONDITIONAL if error == JOINT else JOINT
    held, parts = [], []
    for panel, x in PLACES.items():
        here = under(scores[scores["experiment"] == "donut"], x=x)
        found = completed(here, ("CDO", *_RIVALS), error, panel, AS_PUBLISHED)
        means = {name: each.mean() for name, each in found.items()}
        held += [means["CDO"] < means[rival] for rival in _RIVALS]
        parts.append(
            f"{panel}: {_listed(means)} ({_rank(here, error)}; {_lines(here, error)}); against the "
            f"{_TARGETS[other]} {_listed(_means(here, other))} ({_lines(here, other)})"
        )
    count = f"{len(found['CDO'])} repetitions"
    reason = f"mean error against the {_TARGETS[error]} density over {count}: {'. '.join(parts)}"
    verdict = "holds" if all(held) else "fails"
    return Decision(verdict, reason, amended=_amended(scores, error, verdict))


def _amended(scores: pd.DataFrame, error: str, verdict: str) -> Decision | None:
    """Return the amended decision, None where a flow has no scores or too many fits failed."""
    names, means = ("CDO", *_FLOWS), []
    for panel, x in PLACES.items():
        here = under(scores[scores["experiment"] == "donut"], x=x)
        try:
            found = completed(here, names, error, panel, AS_PUBLISHED)
        except Missing:
            return None
        means.append({name: each.mean() for name, each in found.items()})
    over_both = {name: sum(each[name] for each in means) / len(means) for name in names}
    flow = min(_FLOWS, key=over_both.__getitem__)
    ratio = over_both["CDO"] / over_both[flow]
    reason = (
        f"mean error against the {_TARGETS[error]} density over both x: {_listed(over_both)}; CDO "
        f"has {ratio:.3g} times that of {display(flow)}, the better flow, wanted at most "
        f"{_FACTOR:g}; below GP and LSCDE at each x: {verdict}"
    )
    return Decision(all_of([verdict, "holds" if ratio <= _FACTOR else "fails"]), reason)


def _means(here: pd.DataFrame, metric: str) -> dict[str, float]:
    """Return the mean of each method that has the metric."""
    found = {name: values(here, name, metric).dropna() for name in _METHODS}
    return {name: each.mean() for name, each in found.items() if len(each)}


def _rank(here: pd.DataFrame, error: str) -> str:
    """State the rank of CDO among the flows that were run."""
    means = _means(here, error)
    rivals = {name: means[name] for name in _FLOWS if name in means}
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


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "donut": {
            "methods": [
                "CDO",
                "CDO-clipped",
                "CDO-projected",
                "CDO-narrow",
                "CDO-chosen",
                "GP",
                "GP-spread",
                "GP-ML",
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
            ]
        }
    },
    build=build,
    draw=_donut.draw,
    deciders={"C3": competitive},
    trial="repetition",
    remarks=_donut.remarks,
)
