"""The rows of the cross table all_methods: its columns, and which rows summarise what."""

from collections.abc import Iterable

import pandas as pd

from kcde.metrics.names import COVERAGES

COLUMNS = [
    "dataset",
    "method",
    "variant",
    "against",
    "n_train",
    "mean",
    "median",
    "std",
    "stderr",
    "n",
    "failed",
    "rank",
    "excess",
    "best",
    "sets_best",
    "p_value",
    "wins",
    "losses",
    "seconds",
    "p_value_corrected",
    "capped",
    "over_marginal",
    "worst",
    "worst_capped",
    "below_marginal",
    "of_marginal",
    "rank_without",
    "first_share",
    "crps",
    "crps_rank",
    *COVERAGES,
]
"""One row per data set and method; then, with `EVERY` as data set, one per method and per pair."""

EVERY = "all"
"""Data set of the rows that summarise the sets on which all ranked methods were fitted."""

GIVEN = ("DDE-quadrature", "DDE-penalised", "CondRealNVP", "CondMAF")
"""Methods whose parameters are given by the authors, not chosen from training rows: shown beside
the others, but neither ranked nor recommended."""

TIED = 9
"""Decimals to which mean ranks and losses are compared: the rest is the order of a sum."""


def ranked(methods: Iterable[str]) -> list[str]:
    """Return the methods that are ranked: those that choose their parameters, or else all."""
    methods = list(methods)
    return [name for name in methods if name not in GIVEN] or methods


def of_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of data sets and methods, the set with the fewest training rows first."""
    return table[table["dataset"] != EVERY]


def of_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods over all sets, in the order of their ranks."""
    over_all = table[(table["dataset"] == EVERY) & table["against"].isna()]
    by_name = over_all.set_index("method", drop=False)
    return by_name.loc[in_order(by_name["rank"], by_name["capped"])].reset_index(drop=True)


def in_order(ranks: pd.Series, losses: pd.Series) -> list[str]:
    """Return methods by mean rank, of those with exactly the same one the lower mean loss first.

    What is left is by name, so that the order of a configuration decides nothing.

    Parameters
    ----------
    ranks, losses
        By method.
    """
    keys = pd.DataFrame({"rank": ranks, "loss": losses.reindex(ranks.index)}).round(TIED)
    return list(keys.sort_index().sort_values(["rank", "loss"]).index)


def of_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of pairs, indexed by the method and the one it is compared with."""
    return table[table["against"].notna()].set_index(["method", "against"])


def shown_methods(table: pd.DataFrame) -> list[str]:
    """Return the methods in the order of their ranks, then those without a rank."""
    return list(dict.fromkeys([*of_methods(table)["method"], *of_sets(table)["method"]]))
