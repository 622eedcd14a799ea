"""The ranked methods, and which to take, in one sentence that says how sure that is.

The rule:

1. Methods are ranked by their mean rank over the splits, by held-out log density; where y has ties,
   by CRPS. The first is the best of those that failed on no split.
2. The first is advised, unless another is equivalent and loses less on the worst twentieth of the
   test rows. Equivalent: with 95% confidence it is behind by less than 0.02 nats. Loses less: with
   95% confidence, at 100 test rows or more in all splits together, and where y has no ties.
   Confidence is that of the corrected resampled t-test (Nadeau and Bengio 2003). Where the first is
   the mixture `Stacked`, the best single method that is equivalent takes its place.
3. No method is advised yet where one that was asked for could not be scored for want of time, where
   fewer than 100 test rows were scored in all, where one that is better than the first on some
   split may be so in the mean by 0.02 nats or more, not to be excluded with 85% confidence, or
   where the first is not better than the density that ignores x at 5% of that test. If none is
   better than that by 0.02 nats or more, with 95% confidence, that density is advised.
4. A coverage of the 90% intervals that is off by more than 0.05 is said, with the remedy: intervals
   by split conformal prediction.

Of CRPS a fiftieth of that of the first stands for the 0.02 nats. So fewer rows or splits end in no
advice, and never in another method than the first.
"""

import shlex
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from kcde.comparison.running import CRPS, FAILED, FORWARD, GROUPS, LOG_DENSITY, REMEDY, Plan, Run
from kcde.methods import BASELINE, STACKED
from kcde.metrics import COVERAGES, paired_t_test
from kcde.seeding import rng_of
from kcde.table_model import weighted

WORST_LOSS = "worst_loss"
"""Mean of -log p over the twentieth of the test rows with the lowest, in nats."""

SIGNIFICANCE = 0.05
MARGIN = 0.02
"""Nats, or share of the CRPS of the first, below which two methods are equivalent."""

CONFIDENCE = 0.85
"""With which every other method must be less than the margin better than the advised one."""

FEWEST_TESTED = 100
"""Test rows of all splits together."""

_NAMES = {LOG_DENSITY: "held-out log density", CRPS: "CRPS"}
_VALUES = [LOG_DENSITY, CRPS, *COVERAGES, WORST_LOSS, "width_90", "error"]
_COLUMNS = ["method", "rank", "mean_rank", "first_share", LOG_DENSITY, f"{LOG_DENSITY}_stderr"]
_COLUMNS += ["gain", "gain_stderr", CRPS, f"{CRPS}_stderr", *COVERAGES, WORST_LOSS, "width_90"]
_COLUMNS += ["error", "failed", "splits", "n_train", "seconds", "p_value", "reason"]


def by_split(run: Run) -> pd.DataFrame:
    """Return what each method gave on each split: columns `method`, `split`, and its scores."""
    behind = {method: scores for method, (_, scores) in run.behind.items()}
    rows = [
        {"method": method, "split": split} | scored.said
        for method, scores in (run.scores | behind).items()
        for split, scored in zip(run.splits, scores, strict=False)  # those behind have the first
    ]
    columns = ["method", "split", *_VALUES, "n_train", "n_test", "seconds", "status", "detail"]
    return pd.DataFrame(rows, columns=columns)


def ranked(splits: pd.DataFrame, run: Run, overlap: float, rank_by: str) -> pd.DataFrame:
    """Return the methods, the best first, then those left at fewer rows, then those without scores.

    Standard errors are over splits, with the correction of Nadeau and Bengio (2003) for rows that
    splits share, as `kcde.metrics.paired_t_test`; `gain` is the mean difference of log densities
    from `MarginalKDE` where that is among the methods, `p_value` that of the corrected resampled
    t-test against the first, of what is ranked by, and `first_share` how often a method is the
    first over resamples of the splits.
    """
    groups = splits.groupby("method", sort=False)
    found = groups[_VALUES].mean().assign(splits=groups.size(), reason="")
    found = found.assign(seconds=groups["seconds"].median(), n_train=groups["n_train"].max())
    found["failed"] = splits["status"].eq(FAILED).groupby(splits["method"]).sum()
    wide = {
        name: splits.pivot(index="split", columns="method", values=name)[list(run.scores)]
        for name in (LOG_DENSITY, CRPS)
    }
    gains = wide[LOG_DENSITY].sub(wide[LOG_DENSITY].get(BASELINE, np.nan), axis=0)
    found["gain"] = gains.mean()
    for name, each in ((LOG_DENSITY, wide[LOG_DENSITY]), (CRPS, wide[CRPS]), ("gain", gains)):
        found[f"{name}_stderr"] = np.sqrt(1.0 / each.count() + overlap) * each.std()
    for method, (rows, _) in run.behind.items():
        found.loc[method, "reason"] = f"left at {rows} training rows: {REMEDY}"
    values = wide[rank_by]
    ranks = values.rank(axis=1, ascending=rank_by == CRPS, na_option="bottom")
    found["mean_rank"] = ranks.mean()
    found["behind"] = found.index.isin(list(run.behind))
    found["better"] = found[rank_by] if rank_by == CRPS else -found[rank_by]
    # A method that failed somewhere comes after all that did not.
    found = found.sort_values(["behind", "failed", "mean_rank", "better"])
    found["rank"] = np.where(found["behind"], np.nan, np.arange(1, len(found) + 1))
    found["first_share"] = _shares(ranks.loc[:, found["failed"][ranks.columns] == 0])
    for name in values.columns.difference(found.index[:1]):
        test = paired_t_test(values[name], values[found.index[0]], overlap)
        found.loc[name, "p_value"] = test.p_value
    found = found.rename_axis("method").reset_index().reindex(columns=_COLUMNS)
    rest = pd.DataFrame({"method": list(run.skipped), "reason": list(run.skipped.values())})
    return pd.concat([found, rest], ignore_index=True)[_COLUMNS] if run.skipped else found


def _shares(ranks: pd.DataFrame) -> pd.Series:
    """Return how often each method has the lowest mean rank over resamples of the splits."""
    if ranks.empty:
        return pd.Series(dtype=float)
    n = len(ranks)
    taken = rng_of("own", "resamples").integers(n, size=(1000, n))
    means = ranks.to_numpy()[taken].mean(axis=1)
    lowest = np.isclose(means, means.min(axis=1, keepdims=True))
    return pd.Series((lowest / lowest.sum(axis=1, keepdims=True)).mean(axis=0), ranks.columns)


@dataclass(frozen=True)
class Advice:
    """The method to take, None where none can be, and the sentence that says why."""

    method: str | None
    sentence: str


def advise(table: pd.DataFrame, splits: pd.DataFrame, run: Run, plan: Plan, rank_by: str) -> Advice:
    """Return the advice."""
    overlap, names = plan.overlap(run.splits), list(run.scores)
    here = table[table["method"].isin(names)].set_index("method", drop=False)
    sound = here[here["failed"] == 0]
    if slow := [name for name, why in run.skipped.items() if why.endswith(REMEDY)]:
        best = f"; {sound.index[0]} is the first so far" if len(sound) else ""
        return _none(f"{_listed(slow)} could not be scored in time{best}", REMEDY)
    if {*names} <= {BASELINE}:
        return _none("no method that uses x was compared", "further --methods")
    if not len(sound.drop(index=BASELINE, errors="ignore")):
        return _none("no method has scores on every split", "other methods, or more rows")
    wide = splits.pivot(index="split", columns="method", values=rank_by)[names]
    wide = wide if rank_by == LOG_DENSITY else -wide
    first = sound.iloc[0]
    margin = MARGIN if rank_by == LOG_DENSITY else MARGIN * first[CRPS]
    tested = int(splits[splits["method"] == first.name]["n_test"].sum())
    rows = "rows of more groups" if plan.kind == GROUPS else "more rows"
    grow = f"{rows}, or {REMEDY}" if len(run.splits) < len(plan.splits) else rows
    if tested < FEWEST_TESTED:
        few = f"{tested} test rows in all are too few ({FEWEST_TESTED} are needed)"
        return _none(f"{few}; {first.name} is the first so far", f"{grow}, or more --splits")
    if BASELINE in sound.index:
        baseline = sound.loc[BASELINE]
        others = wide[sound.index].drop(columns=BASELINE)
        if (_upper(others.sub(wide[BASELINE], axis=0), overlap) < margin).all():
            why = f"no method is better than this one, which ignores x, by {margin:.2g} or more"
            return Advice(BASELINE, f"Take {BASELINE}: {why}; {_details(baseline, plan)}.")
        nearest = others.columns[0] if first.name == BASELINE else first.name
        test = paired_t_test(wide[nearest], wide[BASELINE], overlap)
        if first.name == BASELINE or test.p_value >= SIGNIFICANCE:
            by = _difference(sound.loc[nearest], baseline, rank_by)
            said = f"{nearest}, the first that uses x, is {by} than {BASELINE}, which ignores it"
            why = f"{said}, p = {test.p_value:.2g}: too little to tell the methods apart"
            return _none(why, grow)
    above = wide[sound.index[1:]].sub(wide[first.name], axis=0)
    # Where a method is always behind, a split on which it is far behind makes its mean no better.
    better = _upper(above, overlap, 1.0 - CONFIDENCE)[(above > 0.0).any()]
    rivals = better[better >= margin].index
    if len(rivals) and first.name != STACKED:
        unit = "nats" if rank_by == LOG_DENSITY else "in CRPS"
        more = f"{_listed(rivals)} may be better than it, by up to {better.max():.2g} {unit}"
        mixed = f". Meanwhile {STACKED}, the mixture of them, hedges" * (STACKED in here.index)
        return _none(f"{first.name} is the first so far, but {more}", grow + mixed)
    taken = first
    if rank_by == LOG_DENSITY:
        risk = splits.pivot(index="split", columns="method", values=WORST_LOSS)
        behind = _upper(-above, overlap)
        riskier = _upper(risk[above.columns].sub(risk[first.name], axis=0), overlap)
        equals = above.columns[behind < margin]
        safer = above.columns[(behind < margin) & (riskier < 0.0)]
        if first.name == STACKED and len(equals):
            taken = sound.loc[equals[0]]
        elif len(safer):
            taken = sound.loc[min(safer, key=sound[WORST_LOSS].get)]
    said = [_why(taken, first, sound, run, rank_by)]
    if BASELINE in sound.index:
        said.append(f"it is {_difference(taken, baseline, rank_by)} than {BASELINE}, without x")
    else:
        said.append(f"what x is worth is not known without {BASELINE}, which ignores it")
    said.append(_details(taken, plan))
    if len(run.behind):
        said.append(f"{_listed(list(run.behind))}: scored on fewer rows alone")
    name = taken.name
    if name == STACKED:
        name += f", the mixture {weighted(run.stack['estimators'], run.stack['weights'])}"
    return Advice(taken.name, f"Take {name}: {'; '.join(said)}.")


def _none(why: str, remedy: str) -> Advice:
    return Advice(None, f"No advice yet: {why}. What would settle it: {remedy}.")


def _upper(differences: pd.DataFrame, overlap: float, level: float = SIGNIFICANCE) -> pd.Series:
    """Return the one-sided upper confidence limits of means over splits; infinite for one split."""
    n = len(differences)
    error = np.sqrt(1.0 / n + overlap) * differences.std()
    return (differences.mean() + special.stdtrit(n - 1, 1.0 - level) * error).fillna(np.inf)


def _why(taken, first, sound: pd.DataFrame, run: Run, rank_by: str) -> str:
    if len(sound) == 1:
        return "no other method has scores"
    if taken.name != first.name:
        why = "is one method in place of a mixture"
        if first.name != STACKED:
            losses = f"{taken[WORST_LOSS]:.2f} against {first[WORST_LOSS]:.2f} nats"
            why = f"loses less on the worst twentieth of rows ({losses})"
        apart = _difference(taken, first, rank_by)
        said = f"it is equivalent to {first.name}, the first by {_NAMES[rank_by]}"
        return f"{said} ({apart}), and {why}"
    second, share = sound.iloc[1], first["first_share"]
    return (
        f"it is the first of {len(sound)} by mean rank of {_NAMES[rank_by]} over "
        f"{len(run.splits)} splits, and in {share:.0%} of resamples of these; {second.name}, the "
        f"next, is {_difference(second, first, rank_by)} (p = {second['p_value']:.2g})"
    )


def _difference(row, other, rank_by: str) -> str:
    """Return by how much a method is better or worse than another."""
    gain, unit = row[LOG_DENSITY] - other[LOG_DENSITY], "nats"
    if rank_by == CRPS:
        gain, unit = other[CRPS] - row[CRPS], "in CRPS"
    return f"{abs(gain):.2g} {unit} {'better' if gain >= 0 else 'worse'}"


def _details(taken, plan: Plan) -> str:
    """Return widths and coverage of a method, and what is to be done about them."""
    held, width, error = taken["coverage_90"], in_units(taken["width_90"]), in_units(taken["error"])
    said = f"its 90% intervals are typically {width} wide and hold {held:.0%} of held-out rows"
    said += f", its typical error is {error}"
    if abs(held - 0.9) <= 0.05:
        return said
    kind = "too narrow" if held < 0.9 else "too wide"
    option = {FORWARD: "--time-column", GROUPS: "--groups"}.get(plan.kind)
    how = f"kcde fit {option} {shlex.quote(plan.column)}" if option else "kcde fit"
    later = ", which holds as far as new rows are like the latest" * (plan.kind == FORWARD)
    return f"{said}; {kind}: take intervals by conformal prediction ({how} --conformal 0.25){later}"


def in_units(value: float) -> str:
    """Return a number in units of y to three digits, without an exponent if it can be read so."""
    if not 1e-4 <= abs(value) < 1e12:
        return f"{value:.3g}"
    return np.format_float_positional(float(f"{value:.3g}"), trim="-")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
