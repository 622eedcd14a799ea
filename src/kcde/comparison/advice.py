"""Which method to take, in one sentence that weighs rank and risk.

The rule, declared before any result was seen:

1. Methods are ranked by mean held-out log density; where y has ties, by CRPS. A method that failed
   on a split is not advised, nor is the density that ignores x unless step 4 says so.
2. The equals of the first are those whose corrected resampled t-test against it has p ≥ 0.05.
3. Of these the one with the least risk is advised: the lowest mean of -log p over the worst
   twentieth of the test rows. Risks within 0.05 nats of the lowest count as the same, and among
   these the first by rank is taken.
4. If its gain over the density that ignores x has a p ≥ 0.05 by the same test, or is negative, x is
   said to be worth nothing that these rows can show, and that density is advised.
5. A coverage of the 90% intervals that is off by more than 0.05 is said, with the remedy: intervals
   by split conformal prediction.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.comparison.summary import CRPS, LOG_DENSITY, WORST_LOSS
from kcde.methods import BASELINE
from kcde.metrics.paired import paired_t_test

SIGNIFICANCE = 0.05
SAME_RISK = 0.05
"""Nats."""

COVERAGE_OFF = 0.05


@dataclass(frozen=True)
class Advice:
    """The method to take, None where none can be, and the sentence that says why."""

    method: str | None
    sentence: str


def advise(table: pd.DataFrame, splits: pd.DataFrame, overlap: float, rank_by: str) -> Advice:
    """Return the advice.

    Parameters
    ----------
    table
        Of `kcde.comparison.summary.table`.
    splits
        Of `kcde.comparison.summary.by_split`.
    overlap
        Test rows over training rows.
    rank_by
        `log_density` or `crps`.
    """
    scored = table[table["splits"].notna()]
    sound = scored[(scored["failed"] == 0) & (scored["method"] != BASELINE)]
    if not len(sound):
        return Advice(None, "No method can be advised: none has scores on every split.")
    first = sound.iloc[0]
    wide = splits.pivot(index="split", columns="method", values=rank_by)
    tests = [
        paired_t_test(wide[name], wide[first["method"]], overlap).p_value
        for name in sound["method"]
    ]
    equals = sound[(np.array(tests) >= SIGNIFICANCE) | (sound["method"] == first["method"])]
    taken = equals[equals[WORST_LOSS] <= equals[WORST_LOSS].min() + SAME_RISK].iloc[0]
    if (nothing := _worthless(taken, table, wide, overlap, rank_by)) is not None:
        return nothing
    return Advice(taken["method"], _sentence(taken, first, equals, scored, rank_by))


def _worthless(taken, table, wide, overlap, rank_by) -> Advice | None:
    """Return the advice where x is worth nothing that can be shown."""
    baseline = table[(table["method"] == BASELINE) & (table["failed"] == 0)]
    if not len(baseline):
        return None
    test = paired_t_test(wide[taken["method"]], wide[BASELINE], overlap)
    better = test.sign == (-1 if rank_by == CRPS else 1)
    if better and test.p_value < SIGNIFICANCE:
        return None
    return Advice(
        BASELINE,
        f"Take {BASELINE}, which ignores x: no method that did not fail is significantly better "
        f"(the nearest, {taken['method']}, by {_difference(taken, baseline.iloc[0], rank_by)}, "
        f"p = {test.p_value:.2g}), so that x is worth nothing that these rows can show.",
    )


def _difference(taken, other, rank_by) -> str:
    if rank_by == CRPS:
        return f"{other[CRPS] - taken[CRPS]:.3g} in CRPS"
    return f"{taken[LOG_DENSITY] - other[LOG_DENSITY]:.2f} nats"


def _sentence(taken, first, equals, scored, rank_by) -> str:
    name = {LOG_DENSITY: "held-out log density", CRPS: "CRPS"}[rank_by]
    parts = []
    if taken["method"] == first["method"]:
        parts.append(_first(taken, equals, scored, name))
    else:
        parts.append(
            f"its {name} does not differ significantly from that of {first['method']}, the first, "
            f"and it risks less: {taken[WORST_LOSS]:.2f} against {first[WORST_LOSS]:.2f} nats lost "
            "on the worst twentieth of the rows"
        )
    if np.isfinite(taken["gain"]):
        parts.append(
            f"x is worth {taken['gain']:.2f} ± {taken['gain_stderr']:.2f} nats over the density "
            "that ignores it"
        )
    parts.append(_coverage(taken))
    return f"Take {taken['method']}: {'; '.join(parts)}."


def _first(taken, equals, scored, name) -> str:
    """Say of what the first by rank is the best, and from what it does not differ significantly."""
    if len(scored) == 1:
        return "no other method has scores"
    sound = "" if (scored["failed"] == 0).all() else " that failed on no split"
    others = [each for each in equals["method"] if each != taken["method"]]
    apart = f"not significantly different from {_listed(others)}" if others else "significantly so"
    return f"it has the best {name} of the methods{sound}, {apart}"


def _coverage(taken) -> str:
    held = taken["coverage_90"]
    if abs(held - 0.9) <= COVERAGE_OFF:
        return f"its 90% intervals hold {held:.0%} of held-out rows"
    kind = "too narrow" if held < 0.9 else "too wide"
    return (
        f"but its 90% intervals hold {held:.0%} of held-out rows, {kind}: take intervals by "
        "conformal prediction (kcde fit --conformal 0.25)"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
