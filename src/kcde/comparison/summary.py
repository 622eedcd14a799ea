"""The table of a comparison: a row a method, over the splits that all have."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kcde.comparison import scoring
from kcde.comparison.plan import Plan
from kcde.comparison.running import Run
from kcde.methods import BASELINE
from kcde.metrics.names import COVERAGES
from kcde.metrics.paired import paired_t_test

LOG_DENSITY, CRPS = "log_density", "crps"
"""What methods are ranked by: the mean held-out log density in nats, higher is better, or, where y
has ties, the continuous ranked probability score in the units of y, lower is better."""

WORST_LOSS = "worst_loss"
"""Mean of -log p over the twentieth of the test rows with the lowest, in nats."""

COLUMNS = [
    "method",
    "rank",
    LOG_DENSITY,
    f"{LOG_DENSITY}_stderr",
    "gain",
    "gain_stderr",
    CRPS,
    f"{CRPS}_stderr",
    *COVERAGES,
    WORST_LOSS,
    "failed",
    "splits",
    "seconds",
    "p_value",
    "reason",
]


def by_split(plan: Plan, run: Run) -> pd.DataFrame:
    """Return what each method gave on each split: columns `method`, `split`, and its scores."""
    rows = [
        {"method": method, "split": split} | scoring.read(plan.folder, method, split)
        for method in run.compared
        for split in run.splits
    ]
    values = [LOG_DENSITY, CRPS, *COVERAGES, WORST_LOSS]
    columns = ["method", "split", *values, "n_train", "n_test", "seconds", "status", "detail"]
    return pd.DataFrame(rows, columns=columns)


def table(plan: Plan, run: Run, rank_by: str = LOG_DENSITY) -> pd.DataFrame:
    """Return the methods, the best first, those without scores last with the reason.

    Standard errors are over splits, with the correction of Nadeau and Bengio (2003) for rows that
    splits share, as `kcde.metrics.paired_t_test`; `gain` is the mean difference of log densities
    from `MarginalKDE` where that is among the methods, and `p_value` that of the corrected
    resampled t-test against the first, of what is ranked by.

    Parameters
    ----------
    plan, run
        What was compared, and how far.
    rank_by
        `log_density` or `crps`.
    """
    splits = by_split(plan, run)
    overlap = float(np.mean([plan.splits[i].overlap for i in run.splits])) if run.splits else 0.0
    wide = {
        metric: splits.pivot(index="split", columns="method", values=metric)
        for metric in (LOG_DENSITY, CRPS)
    }
    rows = [_row(own, wide, overlap) for _, own in splits.groupby("method", sort=False)]
    found = pd.DataFrame(rows, columns=COLUMNS)
    # A method that failed somewhere comes after all that did not.
    order = found["failed"].to_numpy() * 1e300 + found[rank_by].to_numpy() * (
        1.0 if rank_by == CRPS else -1.0
    )
    found = found.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    found["rank"] = np.arange(1, len(found) + 1)
    if len(found):
        first = wide[rank_by][found["method"][0]]
        found["p_value"] = [
            paired_t_test(wide[rank_by][name], first, overlap).p_value for name in found["method"]
        ]
        found.loc[0, "p_value"] = np.nan
    skipped = [{"method": name, "reason": reason} for name, reason in run.skipped.items()]
    if not skipped:
        return found
    return pd.concat([found, pd.DataFrame(skipped).reindex(columns=COLUMNS)], ignore_index=True)


def _row(own: pd.DataFrame, wide: dict[str, pd.DataFrame], overlap: float) -> dict:
    method = own["method"].iloc[0]
    row = {"method": method, "splits": len(own), "seconds": own["seconds"].median(), "reason": ""}
    row["failed"] = int((own["status"] != scoring.OK).sum())
    for metric in (LOG_DENSITY, CRPS):
        row[metric], row[f"{metric}_stderr"] = _mean(wide[metric][method], overlap)
    for metric in (*COVERAGES, WORST_LOSS):
        row[metric] = own[metric].mean()
    if BASELINE in wide[LOG_DENSITY]:
        gain = wide[LOG_DENSITY][method] - wide[LOG_DENSITY][BASELINE]
        row["gain"], row["gain_stderr"] = _mean(gain, overlap)
    return row


def _mean(values: Sequence[float], overlap: float) -> tuple[float, float]:
    """Return the mean over the splits that did not fail, and its corrected standard error."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if len(finite) < 2:
        return (float(finite.mean()) if len(finite) else np.nan), np.nan
    return float(finite.mean()), float(np.sqrt(1.0 / len(finite) + overlap) * finite.std(ddof=1))
