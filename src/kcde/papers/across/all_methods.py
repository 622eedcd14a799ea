"""all_methods: every conditional density on every set of the R benchmark data, ranked and tested.

The rule of ranks and tests was fixed before any result was seen; that `GIVEN` are left out, after a
first table with part of the methods; that tests over splits are corrected for shared rows, that
tests over sets are adjusted for the rivals of the first alone, that risk stands beside rank, that
no method is recommended that failed on a set and that mean losses decide between equal mean ranks,
after the whole table. A split has failed where its negative log-likelihood is not finite or is
above 20 nats. It counts as 20 nats in all comparisons of methods (ranks, medians and tests), none
of which a single exploding split can dominate.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.evidence.paired import HALVES
from kcde.metrics.multiplicity import holm
from kcde.metrics.names import NLL
from kcde.metrics.paired import PairedTest, paired_t_test, paired_wilcoxon
from kcde.pages import building
from kcde.pages.rounding import round_to_half_decade
from kcde.papers.across import _all_methods_page, _all_methods_picture, _all_methods_risk
from kcde.papers.across._all_methods_rows import COLUMNS, EVERY, in_order, ranked
from kcde.papers.artefact import Artefact

QUADRATURE = f"{NLL}_quadrature"
"""The metric of densities whose published values take log Z from draws."""

_CELL = ["dataset", "method"]


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cross table, with the columns `COLUMNS`.

    `scores` have the methods in the order that rows are to have; a method that has been scored by
    quadrature, too, is shown by it. Rows of a data set and method: `mean` to `failed` over `n`
    splits, `rank` the mean rank over splits, `excess` the median minus the lowest of the set in
    nats, `p_value` of the signed-rank test against the first of the set, `p_value_corrected` of the
    t-test corrected for shared rows, and `best` where that finds no significant difference; of
    `GIVEN` no rank, and never best; `capped` the median with failed splits as 20 nats,
    `over_marginal` that minus the one of the marginal density. Rows of a ranked method: `rank` the
    mean over `n` sets, `excess` the median, `failed` the sets on which a split did, `p_value`
    against the first by rank, adjusted for its rivals; `first_share` in which share of resamples of
    sets it is first; the others as `_all_methods_risk.of_method` has them. Rows of a pair: `excess`
    the median over sets of the difference, `p_value` adjusted for all pairs, `wins` and `losses`
    the sets on which the corrected test is significant. `seconds` of a split are rounded to half a
    decade. Repeated scores are refused, and so are methods that were scored on different splits of
    a set.
    """
    building.check(artefact, scores)
    names = _shown_names(artefact, scores)
    shown = building.shown_as(_by_quadrature(artefact, scores), scores)
    shown = shown[(shown["metric"] == artefact.metric) & shown["method"].isin(names)]
    by_set = losses(shown, names)
    renamed = {method: name for name, (method, _) in artefact.shown_as.items()}
    beyond = _all_methods_risk.beyond_likelihood(
        scores.assign(method=scores["method"].replace(renamed))
    )
    rows = [row for dataset in by_set for row in _of_a_set(shown, dataset, by_set[dataset])]
    for row in rows:
        if (cell := (row["dataset"], row["method"])) in beyond.index:
            row |= beyond.loc[cell].to_dict()
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
    """Return the negative log-likelihoods by which methods are compared.

    Parameters
    ----------
    scores
        Of the primary metric, in nats.
    order
        Of the methods.

    Returns
    -------
    dict
        Data set, the one with the fewest training rows first, to one row per split and one column
        per method; at most `verdicts.LIMIT_NATS`, which also stands where the split failed.

    Raises
    ------
    ValueError
        If a method lacks a split that another method has.
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
                "again with the same --splits"
            )
        found[dataset] = wide[[name for name in order if name in wide]]
    return found


def compare(first: pd.Series, second: pd.Series) -> PairedTest:
    """Compare two methods over the same splits, or over the same sets, by a signed-rank test."""
    return paired_wilcoxon(first.to_numpy(float), second.to_numpy(float))


def compare_halves(first: pd.Series, second: pd.Series) -> PairedTest:
    """Compare two methods over random halves by the t-test corrected for the rows they share."""
    return paired_t_test(first.to_numpy(float), second.to_numpy(float), HALVES)


def _of_a_set(scores: pd.DataFrame, dataset: str, values: pd.DataFrame) -> list[dict]:
    """Return the rows of one data set."""
    here = scores[scores["dataset"] == dataset]
    compared = ranked(values)
    ranks, lowest = values[compared].rank(axis=1).mean(), values[compared].median().min()
    summaries = {name: _summary(here, name) for name in values}
    sound = [name for name in compared if not summaries[name].unreliable]
    marginal = values.get(_all_methods_risk.MARGINAL, pd.Series(dtype=float)).median()
    first = in_order(ranks[sound or compared], values.median())[0]
    rows = []
    for name, summary in summaries.items():
        own = here[here["method"] == name]
        both = values[name], values[first]
        corrected = compare_halves(*both).p_value
        rows.append(
            {
                "dataset": dataset,
                "method": name,
                "variant": own["variant"].iloc[0],
                "n_train": own["n_train"].iloc[0],
                **{key: getattr(summary, key) for key in ("mean", "median", "std", "stderr")},
                "n": summary.n,
                "failed": summary.failed,
                "rank": ranks.get(name, np.nan),
                "excess": values[name].median() - lowest,
                "best": name in sound and corrected >= verdicts.SIGNIFICANCE,
                "p_value": compare(*both).p_value,
                "seconds": round_to_half_decade(own["seconds"].median()),
                "p_value_corrected": corrected,
                "capped": values[name].median(),
                "over_marginal": values[name].median() - marginal,
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
    """Return the rows of ranked methods and of pairs, over the sets on which all were fitted."""
    methods = ranked(dict.fromkeys(cells["method"]))
    common = [name for name, values in by_set.items() if set(methods) <= set(values)]
    if not common:
        return []
    cells = cells[cells["dataset"].isin(common)]
    by_set = {name: by_set[name] for name in common}
    wide, medians = (
        cells.pivot(index="dataset", columns="method", values=value).loc[common, methods]
        for value in ("rank", "capped")
    )
    ranks = wide.mean()
    first = in_order(ranks, medians.mean())[0]
    shares = _all_methods_risk.first_shares(wide, medians)
    adjusted = _against(first, by_set, methods)
    took = scores[scores["dataset"].isin(common)].groupby(_CELL)["seconds"].median()
    rows = []
    for name in methods:
        own = cells[cells["method"] == name]
        p_value = adjusted.get(name, np.nan)
        rows.append(
            {
                "dataset": EVERY,
                "method": name,
                "variant": own["variant"].iloc[0],
                "n": len(common),
                "failed": int((own["failed"] > 0).sum()),
                "rank": ranks[name],
                "excess": own["excess"].median(),
                "best": name == first or p_value >= verdicts.SIGNIFICANCE,
                "sets_best": int(own["best"].sum()),
                "p_value": p_value,
                "seconds": round_to_half_decade(took.xs(name, level="method").median()),
                "first_share": shares[name],
                **_all_methods_risk.of_method(own),
            }
        )
    return [*rows, *_pairs(by_set, methods)]


def _against(first: str, by_set: dict[str, pd.DataFrame], methods: list[str]) -> dict[str, float]:
    """Return the p-value of each rival of the first by the test over sets, adjusted for these."""
    rivals = [name for name in methods if name != first]
    shifts = [_shift(by_set, name, first) for name in rivals]
    p_values = holm([compare(shift, 0.0 * shift).p_value for shift in shifts])
    return dict(zip(rivals, p_values, strict=True))


def _shift(by_set: dict[str, pd.DataFrame], one: str, other: str) -> pd.Series:
    """Return the median over splits of the difference of two methods, by set."""
    return pd.Series({name: (v[one] - v[other]).median() for name, v in by_set.items()})


def _pairs(by_set: dict[str, pd.DataFrame], methods: list[str]) -> list[dict]:
    """Return a row for each ordered pair: the test over sets, and the sets won and lost.

    The value of a set is the median over its splits of the difference.
    """
    pairs = list(combinations(methods, 2))
    shifts = {pair: _shift(by_set, *pair) for pair in pairs}
    p_values = holm([compare(shift, 0.0 * shift).p_value for shift in shifts.values()])
    adjusted = {frozenset(pair): p for pair, p in zip(pairs, p_values, strict=True)}
    rows = []
    for one, other in permutations(methods, 2):
        tests = [compare_halves(values[one], values[other]) for values in by_set.values()]
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


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and the picture of excess."""
    # A table that was tracked before a column came has no such numbers, and is drawn without them.
    frame = frame.reindex(columns=COLUMNS)
    return [
        *_all_methods_page.write(artefact, frame, stem),
        *_all_methods_picture.draw(frame, stem),
    ]


ARTEFACT = Artefact(
    __name__,
    kind="table",
    # Every conditional density that r_benchmark fits: LSCDE with its floor is no density, and
    # NADE-joint is one of x and y together; those of KCEF are readings of table 1 of kcef.
    shows={
        "r_benchmark": {
            "but": ["LSCDE", "NADE-joint", "KCEF-stopped", "KCEF-converged", "KCEF-LL-shared"]
        }
    },
    build=build,
    draw=draw,
    metric=NLL,
    shown_as={"DDE-quadrature": ("DDE", QUADRATURE)},
)
