"""Which method to take, in one sentence that weighs rank and risk.

The rule:

1. Methods are ranked by mean held-out log density; where y has ties, by CRPS. The first is the best
   of those that failed on no split.
2. If no method that failed on no split is better than the density that ignores x with p < 0.05 by
   the corrected resampled t-test, x is said to be worth nothing that these rows can show, or,
   with fewer than five splits, that so few can show, and that density is advised. The 5% are of
   each method: of many, one may seem better by chance.
3. Else a method can be advised if it failed on no split, is worse than the density that ignores x
   on at most a quarter of the splits, and is not significantly behind the first: p ≥ 0.05 by the
   same test, or it is the first itself.
4. Of these the one with the least risk is advised: the lowest mean of -log p over the worst
   twentieth of the test rows. Risks within 0.05 nats of the lowest count as the same, and among
   these the first by rank is taken. The sentence says its rank and its risk. Where y has ties, a
   log density measures how narrow the bumps of a method are, and the first by rank is taken.
5. A coverage of the 90% intervals that is off by more than 0.05 is said, with the remedy: intervals
   by split conformal prediction.
6. Of a method that no model file can hold this is said, with the first by rank that one can.

So what is advised is never significantly behind the first of the methods without a failure.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from kcde.comparison.running import REMEDY
from kcde.comparison.summary import CRPS, LOG_DENSITY, WORST_LOSS
from kcde.methods import BASELINE
from kcde.metrics.paired import PairedTest, paired_t_test
from kcde.table_model import savable

_NAMES = {LOG_DENSITY: "held-out log density", CRPS: "CRPS"}

SIGNIFICANCE = 0.05
WORSE_SPLITS = 0.25
"""Share of splits up to which a method may be worse than the density that ignores x."""

SAME_RISK = 0.05
"""Nats."""

COVERAGE_OFF = 0.05

FEW_SPLITS = 5
"""Below so many, a t-test has too few degrees of freedom to show but large differences."""


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
    sound = scored[scored["failed"] == 0]
    methods = sound[sound["method"] != BASELINE]
    if not len(methods):
        too_slow = table["reason"].str.endswith(REMEDY, na=False).any()
        remedy = f": {REMEDY}, lets more be scored" if too_slow else ""
        return Advice(None, f"No method can be advised: none has scores on every split{remedy}.")
    wide = splits.pivot(index="split", columns="method", values=rank_by)
    better = 1 if rank_by == LOG_DENSITY else -1
    against = partial(_tests, wide, overlap)
    worse = pd.Series(0.0, index=sound["method"])
    if BASELINE in worse.index:
        tests = against(methods["method"], BASELINE)
        if not any(t.sign == better and t.p_value < SIGNIFICANCE for t in tests):
            return _worthless(methods.iloc[0], tests[0], scored, rank_by, len(wide))
        worse = (better * wide).lt(better * wide[BASELINE], axis=0).mean()
    first = sound.iloc[0]
    p_values = [test.p_value for test in against(methods["method"], first["method"])]
    equals = methods[(np.array(p_values) >= SIGNIFICANCE) | methods["method"].eq(first["method"])]
    fit = equals[equals["method"].map(worse) <= WORSE_SPLITS]
    if not len(fit):
        return Advice(
            None,
            f"No method can be advised: {_listed(list(equals['method']))}, which no other is "
            f"significantly better than, are worse than {BASELINE}, which ignores x, on more than "
            f"{WORSE_SPLITS:.0%} of the splits.",
        )
    low = fit[WORST_LOSS] <= fit[WORST_LOSS].min() + SAME_RISK
    taken = fit[low | (rank_by == CRPS)].iloc[0]
    p_value = dict(zip(methods["method"], p_values, strict=True))[taken["method"]]
    if taken["method"] == first["method"]:
        why = _first(taken, equals, scored, rank_by)
    else:
        why = _other(taken, first, scored, rank_by, p_value, worse[first["method"]])
    ignoring = sound[sound["method"] == BASELINE]
    return Advice(taken["method"], _sentence(taken, why, ignoring, sound, rank_by))


def _tests(wide: pd.DataFrame, overlap: float, names, other: str) -> list[PairedTest]:
    """Return the tests of methods against another."""
    return [paired_t_test(wide[name], wide[other], overlap) for name in names]


def _worthless(nearest, test, scored, rank_by, splits: int) -> Advice:
    """Return the advice where x is worth nothing that can be shown."""
    baseline = scored[scored["method"] == BASELINE].iloc[0]
    shown = "these rows can show"
    if splits < FEW_SPLITS:
        shown = f"{splits} splits can show: more of them, or a larger budget, may decide it"
    risk = (
        f"on the worst twentieth of the rows it loses {baseline[WORST_LOSS]:.2f} nats, "
        f"{nearest['method']} {nearest[WORST_LOSS]:.2f}; "
    )
    return Advice(
        BASELINE,
        f"Take {BASELINE}, which ignores x: no method that did not fail is significantly better "
        f"(the first of them, {nearest['method']}, is {_better(nearest, baseline, rank_by)}, "
        f"p = {test.p_value:.2g}), so that x is worth nothing that {shown}. By "
        f"{_NAMES[rank_by]} it is number {baseline['rank']:.0f} of {len(scored)}; "
        f"{'' if rank_by == CRPS else risk}{_coverage(baseline, BASELINE in savable())}.",
    )


def _better(taken, other, rank_by) -> str:
    """Say by how much one method is better than another, or worse."""
    ahead = taken[LOG_DENSITY] >= other[LOG_DENSITY]
    if rank_by == CRPS:
        ahead = taken[CRPS] <= other[CRPS]
    pair = (taken, other) if ahead else (other, taken)
    return f"{'better' if ahead else 'worse'} by {_difference(*pair, rank_by)}"


def _difference(taken, other, rank_by) -> str:
    if rank_by == CRPS:
        return f"{other[CRPS] - taken[CRPS]:.3g} in CRPS"
    return f"{taken[LOG_DENSITY] - other[LOG_DENSITY]:.2f} nats"


def _sentence(taken, why: str, ignoring, sound, rank_by) -> str:
    parts = [why]
    if rank_by == CRPS and len(ignoring):
        parts.append(
            f"x lowers the CRPS from {ignoring[CRPS].iloc[0]:.3g}, of the density that ignores it, "
            f"to {taken[CRPS]:.3g}"
        )
    elif np.isfinite(taken["gain"]):
        parts.append(
            f"x is worth {taken['gain']:.2f} ± {taken['gain_stderr']:.2f} nats over the density "
            "that ignores it"
        )
    else:
        parts.append(
            f"what x is worth is not known, as {BASELINE}, which ignores it, has no scores"
        )
    saved = sound["method"].isin(savable())
    parts.append(_coverage(taken, saved[taken.name]))
    if not saved[taken.name]:
        parts.append(_unsaved(sound["method"][saved]))
    return f"Take {taken['method']}: {'; '.join(parts)}."


def _first(taken, equals, scored, rank_by) -> str:
    """Say of what the first by rank is the best, and from what it does not differ significantly."""
    risk = f"loses {taken[WORST_LOSS]:.2f} nats on the worst twentieth of the rows"
    if len(scored) == 1:
        return "no other method has scores" + (f"; it {risk}" if rank_by != CRPS else "")
    sound = "" if (scored["failed"] == 0).all() else " that failed on no split"
    others = [each for each in equals["method"] if each != taken["method"]]
    apart = f"not significantly different from {_listed(others)}" if others else "significantly so"
    best = f"it has the best {_NAMES[rank_by]} of the methods{sound}, {apart}"
    return best if rank_by == CRPS else f"{best}, and {risk}"


def _other(taken, first, scored, rank_by, p_value, worse) -> str:
    """Say the rank and the risk of another than the first."""
    risk = (
        f"{taken[WORST_LOSS]:.2f} against {first[WORST_LOSS]:.2f} nats lost on the worst twentieth "
        "of the rows"
    )
    if worse > WORSE_SPLITS:
        why = f"which is worse than {BASELINE} on {worse:.0%} of the splits"
        why += "" if rank_by == CRPS else f"; the risks are {risk}"
    else:
        why = f"and it risks less: {risk}"
    behind = f"{_difference(first, taken, rank_by)}, p = {p_value:.2g}"
    return (
        f"by {_NAMES[rank_by]} it is number {taken['rank']:.0f} of {len(scored)}, not "
        f"significantly ({behind}) behind {first['method']}, the first, {why}"
    )


def _unsaved(others) -> str:
    """Say of a method that no model file can hold how it is fitted, and which other is saved."""
    first = f"; the first that can be saved is {others.iloc[0]}" if len(others) else ""
    return f"it cannot be saved to a file: fit it in Python, as the page shows{first}"


def _coverage(taken, saved: bool) -> str:
    held = taken["coverage_90"]
    if abs(held - 0.9) <= COVERAGE_OFF:
        return f"its 90% intervals hold {held:.0%} of held-out rows"
    kind = "too narrow" if held < 0.9 else "too wide"
    how = "kcde fit --conformal 0.25" if saved else "TableModel(..., conformal=0.25)"
    return (
        f"but its 90% intervals hold {held:.0%} of held-out rows, {kind}: take intervals by "
        f"conformal prediction ({how})"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
