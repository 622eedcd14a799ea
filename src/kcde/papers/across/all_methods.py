"""all_methods: every conditional density on the R benchmark data, ranked and tested.

The rule of ranks and tests was fixed before any result was seen; that `GIVEN` are left out, after a
first table with part of the methods; that tests over splits are corrected for shared rows, that
tests over sets are adjusted for the rivals of the first alone, that risk stands beside rank, that
no method is recommended that failed on a set and that mean losses decide between equal mean ranks,
after the whole table. A split has failed where its negative log-likelihood is not finite or is
above 20 nats. It counts as 20 nats in all comparisons of methods (ranks, medians and tests), none
of which a single exploding split can dominate.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import pages
from kcde.evidence import verdicts
from kcde.evidence.checks import HALVES
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.metrics import COVERAGES, CRPS, NLL, NLL_QUADRATURE, holm, paired_t_test, paired_wilcoxon
from kcde.pages import building, display, number, pipe_table, plain, style
from kcde.pages.page import details
from kcde.papers.artefact import Artefact
from kcde.seeding import rng_of

_NUMBERS = ("mean", "median", "std", "stderr", "n", "failed")
COLUMNS = [
    *("dataset", "method", "variant", "against", "n_train", *_NUMBERS, "rank", "excess", "best"),
    *("sets_best", "p_value", "wins", "losses", "seconds", "p_value_corrected", "capped"),
    *("over_marginal", "worst", "worst_capped", "below_marginal", "of_marginal", "rank_without"),
    *("first_share", "crps", "crps_rank", *COVERAGES),
]
"""One row per data set and method; then, with `EVERY` as data set, one per method and per pair."""

EVERY = "all"
"""Data set of the rows that summarise the sets on which all ranked methods were fitted."""

GIVEN = ("DDE-quadrature", "DDE-penalised", "CondRealNVP", "CondMAF")
"""Methods whose parameters are given by the authors, not chosen from training rows: shown beside
the others, but neither ranked nor recommended."""

MARGINAL = "MarginalKDE"
"""The density without x: a method that is worse than it has made something of nothing."""

OUTLYING = ("crabs", "cpus")
"""Sets without which ranks are shown, too: y is binary, or almost a column of x."""

RESAMPLES = 2000
"""How often sets are redrawn, by the stream of `rng_of("all_methods", "sets")`."""

_TIED = 9  # decimals to which mean ranks and losses are compared: the rest is the order of a sum
_CELL = ["dataset", "method"]


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
    """Return methods by mean rank, then by mean loss, then by name."""
    keys = pd.DataFrame({"rank": ranks, "loss": losses.reindex(ranks.index)}).round(_TIED)
    return list(keys.sort_index().sort_values(["rank", "loss"]).index)


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
    sets it is first. Rows of a pair: `excess` the median over sets of the difference, `p_value`
    adjusted for all pairs, `wins` and `losses` the sets on which the corrected test is significant.
    """
    building.check(artefact, scores)
    renamed = {method: name for name, (method, _) in artefact.shown_as.items()}
    names = [renamed.get(method, method) for method in scores["method"].unique()]
    by_quadrature = scores.loc[scores["metric"] == NLL_QUADRATURE, "method"].unique()
    own = {name: (name, NLL_QUADRATURE) for name in by_quadrature if name not in renamed}
    shown = building.shown_as(replace(artefact, shown_as=own | dict(artefact.shown_as)), scores)
    shown = shown[(shown["metric"] == artefact.metric) & shown["method"].isin(names)]
    by_set = _losses(shown, names)
    beyond = _beyond_likelihood(scores.assign(method=scores["method"].replace(renamed)))
    rows = [row for dataset in by_set for row in _of_a_set(shown, dataset, by_set[dataset])]
    cells = pd.DataFrame(rows).join(beyond, on=_CELL).reindex(columns=COLUMNS)
    more = _of_all_sets(cells, by_set, shown)
    return pd.DataFrame([*cells.to_dict("records"), *more], columns=COLUMNS)


def _losses(scores: pd.DataFrame, order: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the losses by which methods are compared, at most 20 nats, a row a split.

    Data sets come by their training rows. Methods that lack a split are refused.
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
            said = f"{lacking} lacks splits of {dataset} that other methods have"
            raise ValueError(f"{said}: make its scores again with the same --splits")
        found[dataset] = wide[[name for name in order if name in wide]]
    return found


def _beyond_likelihood(scores: pd.DataFrame) -> pd.DataFrame:
    """Return CRPS, its rank and coverages of each data set and method.

    `crps`: the median over splits; `crps_rank`: the mean over splits of the rank among the methods
    that are ranked and have a CRPS, the last where the split has none; `COVERAGES`: means.
    """
    values = scores.assign(value=scores["value"].where(scores["status"] == "ok"))
    of_metric = {name: values[values["metric"] == name] for name in (*COVERAGES, CRPS)}
    found = {name: of_metric[name].groupby(_CELL)["value"].mean() for name in COVERAGES}
    found["crps"] = of_metric[CRPS].groupby(_CELL)["value"].median()
    ranks = {}
    for dataset, here in of_metric[CRPS].groupby("dataset"):
        wide = here.pivot(index="split", columns="method", values="value")
        ranks[dataset] = wide[ranked(wide.columns)].fillna(np.inf).rank(axis=1).mean()
    if ranks:
        found["crps_rank"] = pd.concat(ranks, names=_CELL)
    return pd.DataFrame(found, columns=[*COVERAGES, "crps", "crps_rank"]).rename_axis(_CELL)


def _of_a_set(scores: pd.DataFrame, dataset: str, values: pd.DataFrame) -> Iterator[dict]:
    """Yield the rows of one data set."""
    here = scores[scores["dataset"] == dataset]
    here = here.assign(value=here["value"].where(here["status"] == "ok"))
    compared, medians = ranked(values), values.median()
    ranks = values[compared].rank(axis=1).mean()
    owned = {name: here[here["method"] == name] for name in values}
    summaries = {name: verdicts.summarise(own["value"], "nats") for name, own in owned.items()}
    sound = [name for name in compared if not summaries[name].unreliable]
    first = in_order(ranks[sound or compared], medians)[0]
    for name, summary in summaries.items():
        own, both = owned[name], values[[name, first]].to_numpy().T
        corrected = paired_t_test(*both, HALVES).p_value
        yield {
            "dataset": dataset,
            "method": name,
            "variant": own["variant"].iloc[0],
            "n_train": own["n_train"].iloc[0],
            **{key: getattr(summary, key) for key in _NUMBERS},
            "rank": ranks.get(name, np.nan),
            "excess": medians[name] - medians[compared].min(),
            "best": name in sound and corrected >= SIGNIFICANCE,
            "p_value": paired_wilcoxon(*both).p_value,
            "seconds": pages.round_to_half_decade(own["seconds"].median()),
            "p_value_corrected": corrected,
            "capped": medians[name],
            "over_marginal": medians[name] - medians.get(MARGINAL, np.nan),
        }


def _of_all_sets(cells: pd.DataFrame, by_set: dict, scores: pd.DataFrame) -> list[dict]:
    """Return the rows of ranked methods and of pairs, over the sets on which all were fitted."""
    methods = ranked(dict.fromkeys(cells["method"]))
    common = [name for name, values in by_set.items() if set(methods) <= set(values)]
    if not common:
        return []
    cells = cells[cells["dataset"].isin(common)]
    arrays = [{name: own[name].to_numpy() for name in methods} for own in map(by_set.get, common)]
    both = cells.pivot(index="dataset", columns="method", values=["rank", "capped"]).loc[common]
    wide, medians = both["rank"][methods], both["capped"][methods]
    first = in_order(wide.mean(), medians.mean())[0]
    rivals = [(name, first) for name in methods if name != first]
    adjusted = _tested({pair: _shift(arrays, *pair) for pair in rivals})
    took = scores[scores["dataset"].isin(common)].groupby(_CELL)["seconds"].median()
    own, outlying = cells.groupby("method"), cells["dataset"].isin(OUTLYING)
    worst = cells.loc[own["capped"].idxmax()].set_index("method")
    known = own["over_marginal"].count().where(lambda sets: sets > 0)
    below = (cells["over_marginal"] > 0.0).groupby(cells["method"]).sum()
    without = cells[~outlying].groupby("method")["rank"].mean()
    table = pd.DataFrame(
        {
            "variant": own["variant"].first(),
            "failed": (cells["failed"] > 0).groupby(cells["method"]).sum(),
            "rank": wide.mean(),
            "excess": own["excess"].median(),
            "sets_best": own["best"].sum(),
            "p_value": pd.Series({name: p for (name, _), p in adjusted.items()}),
            "seconds": took.groupby("method").median().map(pages.round_to_half_decade),
            "first_share": first_shares(wide, medians),
            **own[["capped", "crps", "crps_rank", *COVERAGES]].mean(),
            "worst": worst["dataset"],
            "worst_capped": worst["capped"],
            "below_marginal": below.where(known.notna()),
            "of_marginal": known,
            "rank_without": without if outlying.any() else np.nan,
        }
    )
    table["best"] = (table.index == first) | (table["p_value"] >= SIGNIFICANCE)
    table = table.loc[methods].assign(dataset=EVERY, n=len(common)).rename_axis("method")
    rows = table.reset_index().to_dict("records")
    shifts = {pair: _shift(arrays, *pair) for pair in combinations(methods, 2)}
    adjusted = _tested(shifts)
    for one, other in permutations(methods, 2):
        tests = [paired_t_test(each[one], each[other], HALVES) for each in arrays]
        signs = [test.sign for test in tests if test.p_value < SIGNIFICANCE]
        pair, sign = ((one, other), 1.0) if (one, other) in shifts else ((other, one), -1.0)
        row = {"dataset": EVERY, "method": one, "against": other, "n": len(arrays)}
        row |= {"excess": sign * np.median(shifts[pair]), "p_value": adjusted[pair]}
        rows.append(row | {"wins": signs.count(-1), "losses": signs.count(1)})
    return rows


def _shift(arrays: list[dict[str, np.ndarray]], one: str, other: str) -> np.ndarray:
    """Return the median over splits of the difference of two methods, by set."""
    return np.array([np.median(each[one] - each[other]) for each in arrays])


def _tested(shifts: dict[tuple[str, str], np.ndarray]) -> dict[tuple[str, str], float]:
    """Return the p-values of pairs by a signed-rank test over sets, adjusted for all of them."""
    p_values = holm([paired_wilcoxon(shift, 0.0 * shift).p_value for shift in shifts.values()])
    return dict(zip(shifts, p_values, strict=True))


def first_shares(ranks: pd.DataFrame, losses: pd.DataFrame) -> pd.Series:
    """Return in which share of resamples of sets each method is the first by `in_order`.

    Ranks and losses have a row a set and a column a method. Sets are drawn with replacement, as
    many as there are; neither their order nor that of the methods matters.
    """
    rng, n = rng_of("all_methods", "sets"), len(ranks)
    sets, names = sorted(ranks.index), sorted(ranks.columns)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES)
    mean_ranks, mean_losses = (
        np.round(drawn @ wide.loc[sets, names].to_numpy(float) / n, _TIED)
        for wide in (ranks, losses)
    )
    tied = mean_ranks == mean_ranks.min(axis=1, keepdims=True)
    first = np.argmin(np.where(tied, mean_losses, np.inf), axis=1)
    return pd.Series(np.bincount(first, minlength=len(names)) / RESAMPLES, index=names)[list(ranks)]


_MEDIAN_SHOWN = 0.1  # nats between mean and median from which on the median is shown
_MOST = 1.0  # nats of excess from which on the colour is the same
_DARK = 0.55  # of the colour scale, from where on letters on it are white
_ROW, _HEAD, _FOOT = 0.2, 0.85, 1.1  # inches a method, of keys above, and of the names below
_LOW, _GAP = 0.75, 0.8  # rows: height of a method that is not ranked, and what sets these apart


def answer(table: pd.DataFrame) -> str:
    """Return which method to take: the first by mean rank of those that failed on no split.

    None of `GIVEN` is recommended.
    """
    methods = of_methods(table)
    sound = methods[~methods["method"].isin(GIVEN) & (methods["failed"] == 0)]
    if len(methods) < 2:
        return "No two methods were fitted on the same sets, so that none can be compared."
    if not len(sound):
        return "No method that chooses its parameters was without failures: none is recommended."
    taken, first = sound.iloc[0], methods.iloc[0]
    said = (
        f"**Take {display(taken['method'])}**: mean rank {taken['rank']:.1f}, mean loss "
        f"{number(taken['capped'])} nats, no failed split on {taken['n']:.0f} sets."
    )
    if taken["method"] != first["method"]:
        said += f" {display(first['method'])} has the lowest mean rank ({first['rank']:.1f})."
    same = methods.loc[methods["best"] & (methods.index > 0), "method"]
    said += f" Not significantly different from {display(first['method'])}, the first by rank: "
    return f"{said}{', '.join(map(display, same)) or 'none'}."


def page(artefact: Artefact, frame: pd.DataFrame) -> list[str]:
    """Return the page."""
    cells, methods = of_sets(frame), of_methods(frame)
    pairs = frame[frame["against"].notna()].set_index(["method", "against"])
    # Those without a rank come last.
    names = list(dict.fromkeys([*methods["method"], *cells["method"]]))
    over = f"{pages.count_of(cells['n'], 'split')} of each of {cells['dataset'].nunique()} sets"
    if len(methods):
        over += f"; ranks are over {methods['n'].iloc[0]:.0f} of them"
    own = list(methods["method"])
    won = {pair: f"{row.wins:.0f} – {row.losses:.0f}" for pair, row in pairs.iterrows()}
    won |= {pair: f"**{won[pair]}**" for pair in pairs.index[pairs["p_value"] < SIGNIFICANCE]}
    matrix = [[display(one), *(won.get((one, other), "") for other in own)] for one in own]
    return [
        f"# {artefact.name}: {artefact.text.title}",
        answer(frame),
        *([_by_rank(methods)] if len(methods) else []),
        f"![{artefact.text.title}]({artefact.name}.png)",
        f"{artefact.text.caption} {over}.",
        *details(artefact, ()),
        "## Every set",
        _grid(cells, names),
        "Mean over splits, **bold** where a method is the first of a set by rank, or not "
        "significantly different from it; in parentheses the median, where it is more than "
        f"{_MEDIAN_SHOWN} from the mean. †k: k splits failed. ‡: not ranked.",
        "## Every pair",
        pipe_table(["", *map(display, own)], matrix),
        "Number of sets on which the method of the row is significantly better – worse than that "
        "of the column, by the corrected test over splits. **Bold**: different by the test over "
        "sets, adjusted for all pairs.",
    ]


def _by_rank(methods: pd.DataFrame) -> str:
    rounded, percent, whole = (partial(plain, form=form) for form in (".2f", ".0%", ".0f"))
    columns = [
        *("method", "mean rank", f"without {', '.join(OUTLYING)}", "first in resamples of sets"),
        *(f"p against {display(methods['method'].iloc[0])}", "mean loss (nats)", "worst set"),
        *(f"worse than {display(MARGINAL)}", "sets with failed splits", "CRPS", "rank by CRPS"),
        *(f"coverage of {level:.0%}" for level in COVERAGES.values()),
        "seconds",
    ]
    rows = []
    for row in methods.itertuples():
        name = display(row.method)
        cells = [f"**{name}**" if row.best else name, rounded(row.rank), rounded(row.rank_without)]
        p_value = "" if math.isnan(row.p_value) else pages.probability(row.p_value)
        cells += [percent(row.first_share), p_value, number(row.capped)]
        cells.append(f"{row.worst} {number(row.worst_capped)}")
        cells.append(f"{whole(row.below_marginal)} of {whole(row.of_marginal)}")
        cells += [whole(row.failed) if row.failed else "", plain(row.crps, ".3f")]
        cells += [rounded(row.crps_rank), *(percent(getattr(row, name)) for name in COVERAGES)]
        rows.append([*cells, plain(row.seconds, "g")])
    return (
        f"{pipe_table(columns, rows)}\n\n**Bold**: not significantly different from the "
        "first by the test over sets at 5%, adjusted for its rivals. A loss is the median over "
        f"splits, at most {verdicts.LIMIT_NATS:.0f} nats."
    )


def _grid(cells: pd.DataFrame, names: list[str]) -> str:
    found = {(row.dataset, row.method): _cell(row) for row in cells.itertuples()}
    rows = [
        [dataset, plain(n, ".0f"), *(found.get((dataset, name), "") for name in names)]
        for dataset, n in cells.groupby("dataset", sort=False)["n_train"].first().items()
    ]
    titles = [f"{display(name)} ‡" if name in GIVEN else display(name) for name in names]
    return pipe_table(["data set", "rows", *titles], rows)


def _cell(row) -> str:
    text = f"**{number(row.mean)}**" if row.best else number(row.mean)
    if abs(row.mean - row.median) > _MEDIAN_SHOWN:
        text += f" ({number(row.median)})"
    return f"{text} †{row.failed:.0f}" if row.failed else text


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the excess over the best of each set, with methods by rank, and below them the rest."""
    from matplotlib import colormaps

    cells, ranks = of_sets(frame), of_methods(frame).set_index("method")["rank"]
    ranks = ranks.reindex(list(dict.fromkeys([*ranks.index, *cells["method"]])))
    sizes = cells.groupby("dataset", sort=False)["n_train"].first()
    datasets = list(sizes.index)
    wide = cells.pivot(index="method", columns="dataset", values="excess")
    values = wide.reindex(index=ranks.index, columns=datasets).to_numpy(float)
    low = ranks.isna().to_numpy()
    heights = np.where(low, _LOW, 1.0)
    ends = np.cumsum(heights) + _GAP * low
    places = dict(zip(ranks.index, ends - heights / 2.0, strict=True))
    height = _HEAD + _FOOT + _ROW * max(ends[-1], 4)
    with style.figure(style.PAGE, height, stem=stem) as (made, axes):
        look = {"cmap": colormaps["Oranges"], "vmin": 0.0, "vmax": _MOST, "edgecolors": "white"}
        for part, said in ((low, "not ranked"), (~low, "mean rank")):
            if part.any():
                edges = np.array([(ends - heights)[part][0], *ends[part]])
                image = axes.pcolormesh(np.arange(-0.5, len(datasets)), edges, values[part], **look)
                above = {"xytext": (-3.5, 1), "va": "bottom", "fontsize": 7}
                style.beside(axes, said, (-0.5, edges[0]), -3.5, style.GREY, **above)
        for cell in cells.itertuples():
            _number(axes, cell, datasets.index(cell.dataset), places[cell.method])
        rows = [name if np.isnan(n) else f"{name}  {n:.0f}" for name, n in sizes.items()]
        axes.set_xticks(range(len(datasets)), rows, rotation=90)
        own = [f"{display(name)}  {rank:.1f}".removesuffix("  nan") for name, rank in ranks.items()]
        axes.set_yticks(list(places.values()), own)
        axes.set_ylim(ends[-1], 0.0)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("data sets, by training rows →")
        best = style.mark("not significantly above the best", "s", color=style.BLUE)
        failed = style.mark("> 5% of splits failed", "x", color=style.BLACK)
        style.legend_above(made, [best, failed])
        scale = made.colorbar(image, location="top", shrink=0.55, aspect=45, pad=0.015)
        scale.set_label("median over splits above the lowest of the set (nats)", fontsize=8)
        scale.set_ticks([0.0, 0.25, 0.5, 0.75, _MOST], labels=["0", ".25", ".5", ".75", "≥ 1"])
        scale.outline.set_visible(False)


def _number(axes, cell, column: int, row: float) -> None:
    """Write the excess into its cell; mark where the method is best, and where splits failed."""
    options = {"ha": "center", "va": "center", "weight": "bold" if cell.best else "normal"}
    options["color"] = "white" if cell.excess > _DARK * _MOST else "black"
    axes.text(column, row, _short(cell.excess), fontsize=7, **options)
    if cell.best:
        axes.plot(column - 0.38, row - 0.3, "s", color=style.BLUE, markersize=2.5)
    if verdicts.too_many_failed(cell.failed, cell.n):
        above = 0.12 if np.isnan(cell.rank) else 0.26
        axes.text(column + 0.38, row - above, "✕", fontsize=5, **options)


def _short(value: float) -> str:
    """Return nats in at most three letters, and a sign."""
    if value <= -0.005:
        return f"−{_short(-value)}"
    if value >= 0.995:
        return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"
    return f"{value:.2f}".removeprefix("0") if value >= 0.005 else "0"


# Every other density that r_benchmark fits is conditional: LSCDE with its floor is no density, and
# NADE-joint is one of x and y together; those of KCEF are readings of table 1 of kcef.
_BUT = ["LSCDE", "NADE-joint", "KCEF-stopped", "KCEF-converged", "KCEF-LL-shared"]

ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={"r_benchmark": {"but": _BUT}},
    build=build,
    draw=draw,
    page=page,
    metric=NLL,
    header=COLUMNS,
    shown_as={"DDE-quadrature": ("DDE", NLL_QUADRATURE)},
)
