"""The ranked methods, and which to take, in one sentence that weighs rank and risk.

The rule:

1. Methods are ranked by mean held-out log density; where y has ties, by CRPS. The first is the best
   of those that failed on no split.
2. If no method that failed on no split is better than the density that ignores x with p < 0.05 by
   the corrected resampled t-test, x is said to be worth nothing that these splits can show, and
   that density is advised. The 5% are of each method: of many, one may seem better by chance.
3. Else a method can be advised if it failed on no split, is worse than the density that ignores x
   on at most a quarter of the splits, and is not significantly behind the first: p ≥ 0.05 by the
   same test, or it is the first itself.
4. Of these the one with the least risk is advised: the lowest mean of -log p over the worst
   twentieth of the test rows. Risks within 0.05 nats of the lowest count as the same, and among
   these the first by rank is taken. Where y has ties, a log density measures how narrow the bumps
   of a method are, and the first by rank is taken.
5. A coverage of the 90% intervals that is off by more than 0.05 is said, with the remedy: intervals
   by split conformal prediction. So is it that no model file can hold a method.

So what is advised is never significantly behind the first of the methods without a failure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.comparison.running import FAILED, REMEDY, Run
from kcde.methods import BASELINE
from kcde.metrics import COVERAGES, paired_t_test
from kcde.table_model import savable

LOG_DENSITY, CRPS = "log_density", "crps"
"""What methods are ranked by: the mean held-out log density in nats, higher is better, or, where y
has ties, the continuous ranked probability score in the units of y, lower is better."""

WORST_LOSS = "worst_loss"
"""Mean of -log p over the twentieth of the test rows with the lowest, in nats."""

SIGNIFICANCE = 0.05
WORSE_SPLITS = 0.25
"""Share of splits up to which a method may be worse than the density that ignores x."""

SAME_RISK = 0.05
"""Nats."""

COVERAGE_OFF = 0.05

_NAMES = {LOG_DENSITY: "held-out log density", CRPS: "CRPS"}
_VALUES = [LOG_DENSITY, CRPS, *COVERAGES, WORST_LOSS]
_COLUMNS = ["method", "rank", LOG_DENSITY, f"{LOG_DENSITY}_stderr", "gain", "gain_stderr", CRPS]
_COLUMNS += [f"{CRPS}_stderr", *COVERAGES, WORST_LOSS, "failed", "splits", "seconds", "p_value"]
_COLUMNS += ["reason"]


def by_split(run: Run) -> pd.DataFrame:
    """Return what each method gave on each split: columns `method`, `split`, and its scores."""
    rows = [
        {"method": method, "split": split} | scored.said
        for method, scores in run.scores.items()
        for split, scored in zip(run.splits, scores, strict=True)
    ]
    columns = ["method", "split", *_VALUES, "n_train", "n_test", "seconds", "status", "detail"]
    return pd.DataFrame(rows, columns=columns)


def ranked(splits: pd.DataFrame, skipped: dict, overlap: float, rank_by: str) -> pd.DataFrame:
    """Return the methods, the best first, those without scores last with the reason.

    Standard errors are over splits, with the correction of Nadeau and Bengio (2003) for rows that
    splits share, as `kcde.metrics.paired_t_test`; `gain` is the mean difference of log densities
    from `MarginalKDE` where that is among the methods, and `p_value` that of the corrected
    resampled t-test against the first, of what is ranked by.
    """
    groups = splits.groupby("method", sort=False)
    found = groups[_VALUES].mean().assign(splits=groups.size(), reason="")
    found["seconds"] = groups["seconds"].median()
    found["failed"] = splits["status"].eq(FAILED).groupby(splits["method"]).sum()
    wide = {name: splits.pivot(index="split", columns="method", values=name) for name in _VALUES}
    gains = wide[LOG_DENSITY].sub(wide[LOG_DENSITY].get(BASELINE, np.nan), axis=0)
    found["gain"] = gains.mean()
    for name, each in ((LOG_DENSITY, wide[LOG_DENSITY]), (CRPS, wide[CRPS]), ("gain", gains)):
        found[f"{name}_stderr"] = np.sqrt(1.0 / each.count() + overlap) * each.std()
    # A method that failed somewhere comes after all that did not.
    found = found.sort_values(["failed", rank_by], ascending=[True, rank_by == CRPS])
    found["rank"] = np.arange(1, len(found) + 1)
    values = wide[rank_by]
    found["p_value"] = [
        paired_t_test(values[name], values[found.index[0]], overlap).p_value for name in found.index
    ]
    found.iloc[:1, found.columns.get_loc("p_value")] = np.nan
    rest = pd.DataFrame({"method": list(skipped), "reason": list(skipped.values())})
    found = found.rename_axis("method").reset_index()
    return pd.concat([found, rest], ignore_index=True)[_COLUMNS] if skipped else found[_COLUMNS]


@dataclass(frozen=True)
class Advice:
    """The method to take, None where none can be, and the sentence that says why."""

    method: str | None
    sentence: str


def advise(table: pd.DataFrame, splits: pd.DataFrame, overlap: float, rank_by: str) -> Advice:
    """Return the advice."""
    sound = table[table["failed"] == 0].set_index("method", drop=False)
    methods = sound.drop(index=BASELINE, errors="ignore")
    if not len(methods):
        too_slow = table["reason"].str.endswith(REMEDY, na=False).any()
        remedy = f": {REMEDY}, lets more be scored" if too_slow else ""
        return Advice(None, f"No method can be advised: none has scores on every split{remedy}.")
    better = 1 if rank_by == LOG_DENSITY else -1
    wide = splits.pivot(index="split", columns="method", values=rank_by)
    first, worse = sound.iloc[0], pd.Series(0.0, index=sound.index)
    baseline = sound.loc[BASELINE] if BASELINE in sound.index else None
    if baseline is not None:
        tests = [paired_t_test(wide[name], wide[BASELINE], overlap) for name in methods.index]
        if not any(test.sign == better and test.p_value < SIGNIFICANCE for test in tests):
            nearest = methods.iloc[0]
            why = (
                f"no method is significantly better than this one, which ignores x; the first of "
                f"them, {nearest['method']}, is {_difference(nearest, baseline, rank_by)}, p = "
                f"{tests[0].p_value:.2g}: x is worth nothing that {len(wide)} splits can show"
            )
            return Advice(BASELINE, f"Take {BASELINE}: {why}; {_details(baseline, sound.index)}.")
        worse = (better * wide).lt(better * wide[BASELINE], axis=0).mean()
    against = [paired_t_test(wide[name], wide[first.name], overlap) for name in methods.index]
    p_values = pd.Series([test.p_value for test in against], index=methods.index)
    equals = methods[(p_values >= SIGNIFICANCE) | (methods.index == first.name)]
    fit = equals[equals.index.map(worse) <= WORSE_SPLITS]
    if not len(fit):
        return Advice(
            None,
            f"No method can be advised: {_listed(list(equals.index))}, which no other is "
            f"significantly better than, are worse than {BASELINE}, which ignores x, on more than "
            f"{WORSE_SPLITS:.0%} of the splits.",
        )
    low = fit[WORST_LOSS] <= fit[WORST_LOSS].min() + SAME_RISK
    taken = fit[low | (rank_by == CRPS)].iloc[0]
    others = _listed([name for name in equals.index if name != taken.name])
    if taken.name == first.name:
        apart = f"not significantly different from {others}" if others else "significantly so"
        apart = apart if len(sound) > 1 else "but no other method has scores"
        why = f"it has the best {_NAMES[rank_by]}, {apart}"
    else:
        why = (
            f"by {_NAMES[rank_by]} it is number {taken['rank']:.0f} of {len(sound)}, not "
            f"significantly behind {first.name}, the first "
            f"({_difference(taken, first, rank_by)}, p = {p_values[taken.name]:.2g})"
        )
        if worse[first.name] > WORSE_SPLITS:
            why += f", which is worse than {BASELINE} on {worse[first.name]:.0%} of the splits"
    if rank_by == LOG_DENSITY:
        other = f", {first.name} {first[WORST_LOSS]:.2f}" if taken.name != first.name else ""
        why += f"; it loses {taken[WORST_LOSS]:.2f} nats on the worst twentieth of rows{other}"
    worth = f"what x is worth is not known without {BASELINE}, which ignores it"
    if baseline is not None:
        worth = f"it is {_difference(taken, baseline, rank_by)} than {BASELINE}, which ignores x"
    details = _details(taken, sound.index)
    return Advice(taken.name, f"Take {taken.name}: {why}; {worth}; {details}.")


def _difference(row, other, rank_by: str) -> str:
    """Return by how much a method is better or worse than another."""
    gain, unit = row[LOG_DENSITY] - other[LOG_DENSITY], "nats"
    if rank_by == CRPS:
        gain, unit = other[CRPS] - row[CRPS], "in CRPS"
    return f"{abs(gain):.2g} {unit} {'better' if gain >= 0 else 'worse'}"


def _details(taken, ranked_names: Sequence[str]) -> str:
    """Return the coverage of a method, and what is to be done where it or a file is missing."""
    held, saved = taken["coverage_90"], taken.name in savable()
    said = f"its 90% intervals hold {held:.0%} of held-out rows"
    if abs(held - 0.9) > COVERAGE_OFF:
        how = "kcde fit --conformal 0.25" if saved else "TableModel(..., conformal=0.25)"
        kind = "too narrow" if held < 0.9 else "too wide"
        said += f", {kind}: take intervals by conformal prediction ({how})"
    if saved:
        return said
    others = [name for name in ranked_names if name in savable()]
    first = f"; the first that can be saved is {others[0]}" if others else ""
    return f"{said}; it cannot be saved to a file: fit it in Python, as the page shows{first}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
