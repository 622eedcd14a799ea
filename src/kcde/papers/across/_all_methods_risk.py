"""What the cross table has beside ranks by likelihood: risk, the choice of the first, CRPS."""

import numpy as np
import pandas as pd

from kcde.metrics.names import COVERAGES, CRPS
from kcde.papers.across._all_methods_rows import TIED, ranked
from kcde.seeding import rng_of

MARGINAL = "MarginalKDE"
"""The density without x: a method that is worse than it has made something of nothing."""

OUTLYING = {"crabs": "whose y is binary", "cpus": "where a column of x is almost y"}
"""Sets without which ranks are shown, too, to what is special to them."""

RESAMPLES = 2000
"""How often sets are redrawn, by the stream of `rng_of("all_methods", "sets")`."""

_CELL = ["dataset", "method"]


def outlying() -> str:
    """Return `OUTLYING` in words."""
    return " and ".join(f"{name}, {special}" for name, special in OUTLYING.items())


def beyond_likelihood(scores: pd.DataFrame) -> pd.DataFrame:
    """Return CRPS and coverages of each data set and method.

    Parameters
    ----------
    scores
        Of all metrics, with methods as the table names them.

    Returns
    -------
    pandas.DataFrame
        Indexed by data set and method. `crps`: the median over splits; `crps_rank`: the mean over
        splits of the rank among the methods that are ranked and have a CRPS, the last where the
        split has none; and each of `COVERAGES`: the mean over splits.
    """
    values = scores.assign(value=scores["value"].where(scores["status"] == "ok"))
    found = {}
    for metric in COVERAGES:
        found[metric] = values[values["metric"] == metric].groupby(_CELL)["value"].mean()
    of_crps = values[values["metric"] == CRPS]
    found["crps"] = of_crps.groupby(_CELL)["value"].median()
    ranks = {}
    for dataset, here in of_crps.groupby("dataset"):
        wide = here.pivot(index="split", columns="method", values="value")
        wide = wide[ranked(wide.columns)].fillna(np.inf)
        for method, rank in wide.rank(axis=1).mean().items():
            ranks[dataset, method] = rank
    index = pd.MultiIndex.from_tuples(list(ranks), names=_CELL)
    found["crps_rank"] = pd.Series(list(ranks.values()), index=index, dtype=float)
    return pd.DataFrame(found).rename_axis(_CELL)


def of_method(own: pd.DataFrame) -> dict:
    """Return what the row of a method over all sets has beside ranks and tests.

    Parameters
    ----------
    own
        The method's rows, one a data set.

    Returns
    -------
    dict
        `capped`, the mean of its medians; `worst` and `worst_capped`, the set with the largest of
        these; `below_marginal`, on how many of `of_marginal` sets it does worse than the marginal
        density; `rank_without`, the mean rank without `OUTLYING`, where these are among the sets;
        means of `crps`, `crps_rank` and coverages.
    """
    largest = own.loc[own["capped"].idxmax()]
    over, outlying = own["over_marginal"].dropna(), own["dataset"].isin(list(OUTLYING))
    means = own[["capped", "crps", "crps_rank", *COVERAGES]].mean().to_dict()
    return means | {
        "worst": largest["dataset"],
        "worst_capped": largest["capped"],
        "below_marginal": int((over > 0.0).sum()) if len(over) else np.nan,
        "of_marginal": len(over) or np.nan,
        "rank_without": own.loc[~outlying, "rank"].mean() if outlying.any() else np.nan,
    }


def first_shares(ranks: pd.DataFrame, losses: pd.DataFrame) -> pd.Series:
    """Return in which share of resamples of sets each method is the first.

    That is the one of `in_order` over the sets of the resample; it depends on the order neither of
    the sets nor of the methods.

    Parameters
    ----------
    ranks, losses
        A row a set, a column a method.

    Returns
    -------
    pandas.Series
        By method; they sum to one. Sets are drawn with replacement, as many as there are.
    """
    rng, n = rng_of("all_methods", "sets"), len(ranks)
    sets, names = sorted(ranks.index), sorted(ranks.columns)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    mean_ranks, mean_losses = (
        np.round(drawn @ wide.loc[sets, names].to_numpy(float) / n, TIED)
        for wide in (ranks, losses)
    )
    tied = mean_ranks == mean_ranks.min(axis=1, keepdims=True)
    first = np.argmin(np.where(tied, mean_losses, np.inf), axis=1)
    counts = np.bincount(first, minlength=len(names))
    return pd.Series(counts / RESAMPLES, index=names)[list(ranks)]
