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
    return over_all.sort_values("rank", kind="stable").reset_index(drop=True)


def of_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of pairs, indexed by the method and the one it is compared with."""
    return table[table["against"].notna()].set_index(["method", "against"])


def shown_methods(table: pd.DataFrame) -> list[str]:
    """Return the methods in the order of their ranks, then those without a rank."""
    return list(dict.fromkeys([*of_methods(table)["method"], *of_sets(table)["method"]]))
