"""The cross table: every method with a conditional density on every R set, ranked and tested.

The rule of ranks and tests was fixed before any result was seen; which methods the answer may name
(none of `GIVEN`, and the first by rank even where it failed) after a first table of part of them. A
split that failed, that is, whose negative log-likelihood is not finite or above 20 nats, counts as
20 nats in all that compares methods: ranks, medians and signed-rank tests, none of which one
exploding split can rule.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.judging import repeats, verdicts
from kcde.artefacts.tables import building
from kcde.artefacts.tables.rounding import round_to_half_decade
from kcde.metrics.multiplicity import holm
from kcde.metrics.paired import PairedTest, paired_wilcoxon

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
]
"""One row a data set and method; then, with `EVERY` as data set, one a method, and one a pair."""

EVERY = "all"
"""Data set of the rows that summarise those that all methods were fitted on."""

QUADRATURE = f"{repeats.NLL}_quadrature"
"""The metric of densities whose published values take log Z from draws."""

GIVEN = ("DDE-quadrature", "DDE-penalised")
"""Methods whose parameters their authors gave for most sets: ranked, but never the one to take."""

_CELL = ["dataset", "method"]


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cross table.

    Parameters
    ----------
    artefact
        Gives the primary metric, and what is shown in its place under another name; what has been
        scored by quadrature as well is shown so.
    scores
        Of the experiment `r_benchmark`, methods in the order that rows are to have.
    files
        Unused: everything is in `scores`.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`. Of a data set and method: `mean` to `failed` over `n` splits, `rank` the
        mean rank over splits, `excess` the median less the lowest of the set in nats, `p_value` of
        the test against the set's first (`best`: not told from it). Of a method: `rank` the mean
        over `n` sets, `excess` the median, `failed` the sets on which more than 5% of its splits
        did, `p_value` against the first-ranked, adjusted for all pairs. Of a pair: `excess` the
        median over sets of the difference, `wins` and `losses` the sets on which the test over
        splits tells them apart. `seconds` of a split, to half a decade.

    Raises
    ------
    ValueError
        If scores are repeated, or two methods were scored on different splits of a set.
    """
    building.check(artefact, scores)
    names = _shown_names(artefact, scores)
    shown = building.shown_as(_by_quadrature(artefact, scores), scores)
    shown = shown[(shown["metric"] == artefact.metric) & shown["method"].isin(names)]
    by_set = losses(shown, names)
    rows = [row for dataset in by_set for row in _of_a_set(shown, dataset, by_set[dataset])]
    cells = pd.DataFrame(rows, columns=COLUMNS)
    rows += _of_all_sets(cells, by_set, shown)
    return pd.DataFrame(rows, columns=COLUMNS)


def _shown_names(artefact: Artefact, scores: pd.DataFrame) -> list[str]:
    """Return the names of the methods in the order of their scores."""
    renamed = {method: name for name, (method, _) in artefact.shown_as.items()}
    return [renamed.get(method, method) for method in scores["method"].unique()]


def _by_quadrature(artefact: Artefact, scores: pd.DataFrame) -> Artefact:
    """Return the artefact with every method shown by quadrature that has been scored so."""
    scored = scores.loc[scores["metric"] == QUADRATURE, "method"].unique()
    own = {method: (method, QUADRATURE) for method in scored}
    for method, _ in artefact.shown_as.values():
        own.pop(method, None)
    return replace(artefact, shown_as=own | dict(artefact.shown_as))


def losses(scores: pd.DataFrame, order: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the negative log-likelihoods that methods are compared by.

    Parameters
    ----------
    scores
        Of the primary metric, in nats.
    order
        Of the methods.

    Returns
    -------
    dict
        Data set, the one with the fewest training rows first, to one row a split and one column a
        method; at most `verdicts.LIMIT_NATS`, and that where the split failed.

    Raises
    ------
    ValueError
        If a method lacks a split that another one has.
    """
    values = scores["value"].where(scores["status"] == "ok", np.inf).fillna(np.inf)
    capped = scores.assign(value=values.clip(upper=verdicts.LIMIT_NATS))
    sizes = scores.groupby("dataset")["n_train"].max().sort_index(key=lambda s: s.str.lower())
    found = {}
    for dataset in sizes.sort_values(kind="stable").index:
        here = capped[capped["dataset"] == dataset]
        wide = here.pivot(index="split", columns="method", values="value")
        if wide.isna().to_numpy().any():
            lacking = wide.columns[wide.isna().any()][0]
            raise ValueError(
                f"{lacking} lacks splits of {dataset} that other methods have: make its scores "
                "anew with the same --splits"
            )
        found[dataset] = wide[[name for name in order if name in wide]]
    return found


def of_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of data sets and methods, those with fewer training rows first."""
    return table[table["dataset"] != EVERY]


def of_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods over all sets, in the order of their ranks."""
    over_all = table[(table["dataset"] == EVERY) & table["against"].isna()]
    return over_all.sort_values("rank", kind="stable").reset_index(drop=True)


def of_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of pairs, by method and the one that it is held against."""
    return table[table["against"].notna()].set_index(["method", "against"])


def shown_methods(table: pd.DataFrame) -> list[str]:
    """Return the methods in the order of their ranks, behind them those that have none."""
    return list(dict.fromkeys([*of_methods(table)["method"], *of_sets(table)["method"]]))


def compare(first: pd.Series, second: pd.Series) -> PairedTest:
    """Test two methods over the same splits, or over the same sets, by signed ranks."""
    return paired_wilcoxon(first.to_numpy(float), second.to_numpy(float))


def _of_a_set(scores: pd.DataFrame, dataset: str, values: pd.DataFrame) -> list[dict]:
    """Return the rows of one data set."""
    here = scores[scores["dataset"] == dataset]
    ranks, medians = values.rank(axis=1).mean(), values.median()
    summaries = {name: _summary(here, name) for name in values}
    sound = [name for name in values if not summaries[name].unreliable]
    first = ranks[sound or list(values)].idxmin()
    rows = []
    for name, summary in summaries.items():
        own = here[here["method"] == name]
        p_value = compare(values[name], values[first]).p_value
        rows.append(
            {
                "dataset": dataset,
                "method": name,
                "variant": own["variant"].iloc[0],
                "n_train": own["n_train"].iloc[0],
                **{key: getattr(summary, key) for key in ("mean", "median", "std", "stderr")},
                "n": summary.n,
                "failed": summary.failed,
                "rank": ranks[name],
                "excess": medians[name] - medians.min(),
                "best": name in sound and p_value >= verdicts.SIGNIFICANCE,
                "p_value": p_value,
                "seconds": round_to_half_decade(own["seconds"].median()),
            }
        )
    return rows


def _summary(here: pd.DataFrame, method: str) -> verdicts.Summary:
    own = here[here["method"] == method]
    values = own["value"].where(own["status"] == "ok").to_numpy(float)
    return verdicts.summarise(values, "nats")


def _of_all_sets(
    cells: pd.DataFrame, by_set: dict[str, pd.DataFrame], scores: pd.DataFrame
) -> list[dict]:
    """Return the rows of methods, and of pairs of them, over the sets that all were fitted on."""
    methods = list(dict.fromkeys(cells["method"]))
    common = [name for name, values in by_set.items() if len(values.columns) == len(methods)]
    if not common:
        return []
    cells = cells[cells["dataset"].isin(common)]
    pairs = _pairs({name: by_set[name] for name in common}, methods)
    ranks = cells.groupby("method")["rank"].mean()[methods]
    first, adjusted = ranks.idxmin(), {}
    for row in pairs:
        adjusted[row["method"], row["against"]] = row["p_value"]
    took = scores[scores["dataset"].isin(common)].groupby(_CELL)["seconds"].median()
    rows = []
    for name in methods:
        own = cells[cells["method"] == name]
        p_value = adjusted.get((name, first), np.nan)
        rows.append(
            {
                "dataset": EVERY,
                "method": name,
                "variant": own["variant"].iloc[0],
                "n": len(common),
                "failed": sum(map(verdicts.too_many_failed, own["failed"], own["n"])),
                "rank": ranks[name],
                "excess": own["excess"].median(),
                "best": name == first or p_value >= verdicts.SIGNIFICANCE,
                "sets_best": int(own["best"].sum()),
                "p_value": p_value,
                "seconds": round_to_half_decade(took.xs(name, level="method").median()),
            }
        )
    return [*rows, *pairs]


def _pairs(by_set: dict[str, pd.DataFrame], methods: list[str]) -> list[dict]:
    """Return a row for each ordered pair: the test over sets, and the sets won and lost.

    A set's one value is the median over its splits of the difference.
    """
    pairs = list(combinations(methods, 2))
    shifts = {
        pair: pd.Series({name: (v[pair[0]] - v[pair[1]]).median() for name, v in by_set.items()})
        for pair in pairs
    }
    p_values = holm([compare(shift, 0.0 * shift).p_value for shift in shifts.values()])
    adjusted = {frozenset(pair): p for pair, p in zip(pairs, p_values, strict=True)}
    rows = []
    for one, other in permutations(methods, 2):
        tests = [compare(values[one], values[other]) for values in by_set.values()]
        signs = [test.sign for test in tests if test.p_value < verdicts.SIGNIFICANCE]
        shift = shifts.get((one, other))
        median = -shifts[other, one].median() if shift is None else shift.median()
        rows.append(
            {
                "dataset": EVERY,
                "method": one,
                "against": other,
                "n": len(by_set),
                "excess": median,
                "p_value": adjusted[frozenset((one, other))],
                "wins": signs.count(-1),
                "losses": signs.count(1),
            }
        )
    return rows
