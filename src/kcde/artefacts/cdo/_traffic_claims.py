"""Claims C4 and C5: traffic on distinct inputs."""

import math

import pandas as pd

from kcde.artefacts.cdo._traffic_estimates import METHOD, METRO, OF_TRAINING, PEMS, SIMULATED
from kcde.artefacts.core.cells import AS_PUBLISHED, values
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.deciding import Missing, completed, decider
from kcde.artefacts.tables.methods import display

RIVALS = {
    "GP-ML": "ours",  # the authors show no Gaussian process on traffic
    "CondRealNVP": AS_PUBLISHED,
    "CondMAF": AS_PUBLISHED,
    "LSCDE": AS_PUBLISHED,
}
"""Competitor to the variant that stands for it."""

ERRORS = {"mean_error": "mean", "std_error": "sd"}

PAIRS = 32_256
SECONDS, DIFFERENCE = 300.0, 1e-8


@decider
def fast_through_distinct_inputs(scores: pd.DataFrame) -> Decision:
    """Decide claim C4: a fit of 32256 pairs takes less than 300 s and equals the ungrouped one.

    On pairs simulated in PEMS-SF's shape; the largest relative difference to the ungrouped solve,
    on a subset of the inputs, is wanted below 1e-8. Measured seconds do not repeat and only their
    order of magnitude is stated.

    Parameters
    ----------
    scores
        Of the experiment `traffic`.

    Returns
    -------
    Decision
        `undecided` where that was not measured, or not on so many pairs.
    """
    here = scores[scores["dataset"] == SIMULATED]
    pairs = here.loc[here["status"] == "ok", "n_train"].min()
    if pairs < PAIRS:
        raise Missing(f"{SIMULATED} was fitted on {pairs:.0f} pairs; the claim is of {PAIRS}")
    most = {
        name: completed(here, [METHOD], name, SIMULATED, AS_PUBLISHED)[METHOD].max()
        for name in ("fit_seconds", "grouping_difference")
    }
    seconds, difference = most["fit_seconds"], most["grouping_difference"]
    reason = (
        f"a fit of {pairs:.0f} pairs through their distinct inputs, wanted below {SECONDS:g} s: "
        f"{_order(seconds)} s; largest relative difference to the ungrouped solve on a subset, "
        f"wanted below {DIFFERENCE:g}: {_order(difference)}; both to the order of magnitude"
    )
    held = seconds < SECONDS and difference < DIFFERENCE
    return Decision("holds" if held else "fails", reason)


@decider
def tracks_the_test_data(scores: pd.DataFrame) -> Decision:
    """Decide claim C5: CDO's mean and standard deviation are as close to the test data's as any.

    On PEMS-SF the median over the inputs of |estimate/test - 1|, in the mean over the splits, must
    not be larger for CDO than for any of `RIVALS`, for the mean and for the standard deviation. The
    Metro Interstate Traffic volume is stated as evidence, and decides nothing.

    Parameters
    ----------
    scores
        Of the experiment `traffic`.

    Returns
    -------
    Decision
        `not-run` where PEMS-SF could not be had, `undecided` where a method has no errors on it or
        too many of its fits failed.
    """
    here = scores[scores["dataset"] == PEMS]
    beside = _evidence(scores[scores["dataset"] == METRO])
    if len(here) and here["status"].eq("not-run").all():
        why = here["detail"].iloc[0] or "its data could not be had"
        return Decision("not-run", f"{PEMS}: {why}{beside}")
    held, words = _compared(here, PEMS)
    return Decision("holds" if held else "fails", f"on {PEMS}, {words}{beside}")


def _compared(here: pd.DataFrame, place: str) -> tuple[bool, str]:
    held, parts = [], []
    for metric, quantity in ERRORS.items():
        means = {}
        for name, variant in {METHOD: AS_PUBLISHED, **RIVALS}.items():
            found = completed(here, [name], metric, place, variant)
            means[name] = found[name].mean()
        held += [means[METHOD] <= means[rival] for rival in RIVALS]
        each = ", ".join(f"{display(name)} {mean:.3g}" for name, mean in means.items())
        parts.append(f"of the {quantity} {each}{_training(here, OF_TRAINING[quantity])}")
    splits = len(values(here, METHOD, metric))
    return all(held), (
        f"median scaled absolute error over the inputs (mean over {splits} "
        f"split{'s' * (splits > 1)}) {'; '.join(parts)}"
    )


def _training(here: pd.DataFrame, metric: str) -> str:
    """State what the moments of the training days alone would give, where that is known."""
    found = here[(here["metric"] == metric) & (here["status"] == "ok")]
    medians = found.groupby("split")["value"].first()
    return f", of the training days themselves {medians.mean():.3g}" if len(medians) else ""


def _evidence(metro: pd.DataFrame) -> str:
    """State the errors on Metro, "" where they are not complete."""
    try:
        held, words = _compared(metro, METRO)
    except Missing:
        return ""
    verb = "is" if held else "is not"
    return f"; evidence from {METRO}, where CDO {verb} the closest throughout: {words}"


def _order(value: float) -> str:
    """Return a power of ten, "0" for zero."""
    return f"1e{math.floor(math.log10(value))}" if value > 0 else "0"
