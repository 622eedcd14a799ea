"""kcef tables 1 and 2, each also under what the paper leaves open.

Of table 1 KCEF by bandwidths, criterion and grid, and what its column NADE measures; of table 2
KCEF tuned on fewer rows, and under when its tuning stops (K-stop).
"""

from collections import ChainMap
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import scores as score_files
from kcde.evidence import readings, verdicts
from kcde.evidence.checks import AS_PUBLISHED, decide, splits, variants
from kcde.experiments.table1_readings import DRAWN, READINGS, Table1Readings
from kcde.metrics import NLL, NLL_X
from kcde.pages import building, display, dot_plot, number, page, pipe_table, style
from kcde.papers import published, registry
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.kcef import claims, figures

_CHOICES = {
    "bandwidths": ["KCEF", "KCEF-stopped", "KCEF-converged"],
    "criterion": ["KCEF", "KCEF-LL-shared", "KCEF-LL"],
}
_OF_KCEF = tuple(dict.fromkeys(name for names in _CHOICES.values() for name in names))
_KCEFS = ["KCEF", "KCEF-LL", "KCEF-LL-defensive", "LikelihoodKCEF"]
_NADES = ("NADE", "NADE-joint")
_SPLITS = 20
_R_SETS = published.datasets("kcef", "table1")


_VERDICTS = {
    verdicts.COMPATIBLE: "#0072B2",
    verdicts.WORSE: "#D55E00",
    verdicts.BETTER: "#8A5A83",
    verdicts.UNINFORMATIVE: style.GREY,
}
_FARTHEST, _CLOSE = 3.0, 2.0  # nats: of ours less published, and of two methods


def draw_against(artefact: Artefact, table: pd.DataFrame, stem: Path, pair: tuple) -> None:
    """Draw ours less published for each published column.

    Rows are data sets on one common axis; the last panel has the difference of a pair of methods,
    ours and published. A table without published values is drawn as by `dot_plot.draw`.
    """
    primary = table[table["metric"] == artefact.metric]
    datasets = list(dict.fromkeys(primary["dataset"]))
    known = primary[primary["published_mean"].notna()]
    judged = [name for name in artefact.methods if name in set(known["method"])]
    if not judged:
        return dot_plot.draw(artefact, table, stem)
    height = 0.75 + 0.16 * len(datasets)
    with style.figure(style.PAGE, height, len(judged) + 1, sharey=True, stem=stem) as (made, grid):
        for axes, method in zip(grid, judged, strict=False):
            _draw_differences(axes, artefact, known[known["method"] == method], datasets)
            style.panel_title(axes, "", f"{display(method)}, ours − published")
        _draw_pair(grid[-1], primary, datasets, pair)
        style.panel_title(grid[-1], "", f"{display(pair[0])} − {display(pair[1])}")
        for axes in grid:
            axes.axvline(0.0, color="black", linewidth=0.7, zorder=1)
            for row in range(len(datasets)):
                axes.axhline(row, **style.THIN)
            axes.set_ylim(len(datasets) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
        grid[0].set_yticks(range(len(datasets)), datasets)
        made.supxlabel("nats; left of 0: ours, or the first method, is better", fontsize=8)
        keys = [style.mark(word, "o", color=colour) for word, colour in _VERDICTS.items()]
        keys.append(style.key("95% prediction interval", color=style.GREY, linewidth=2.2))
        keys.append(style.mark("median, as splits failed", "D"))
        keys.append(style.mark("published", "o", markerfacecolor="white"))
        style.legend_above(made, keys, columns=4)


def _draw_differences(axes, artefact: Artefact, cells: pd.DataFrame, datasets) -> None:
    """Draw ours less published with the 95% prediction interval; the median where splits failed."""
    axes.set_xlim(-_FARTHEST, _FARTHEST)
    for _, cell in cells.iterrows():
        row, colour = datasets.index(cell["dataset"]), _VERDICTS.get(cell["verdict"], style.GREY)
        value = cell["median"] if cell["failed"] else cell["mean"]
        half = verdicts.half_width(building.summary_of(cell), artefact.published_trials)
        difference = value - cell["published_mean"]
        if not cell["failed"]:
            axes.hlines(row, difference - half, difference + half, colors=colour, alpha=0.5, lw=2.2)
        shown = float(np.clip(difference, -_FARTHEST, _FARTHEST))
        mark = "D" if cell["failed"] else "o"
        mark = mark if shown == difference else ">" if shown > 0 else "<"
        axes.plot(shown, row, mark, color=colour, markersize=3.5, clip_on=False, zorder=3)
        if shown != difference:
            dot_plot.name_edge(axes, row, shown, shown < 0, dot_plot.short(difference), colour)


def _draw_pair(axes, primary: pd.DataFrame, datasets, pair: tuple[str, str]) -> None:
    """Draw the difference of two methods, ours full and published open; medians as above."""
    axes.set_xlim(-_CLOSE, _CLOSE)
    cells = primary.set_index(["dataset", "method"])
    for row, dataset in enumerate(datasets):
        if not all((dataset, method) in cells.index for method in pair):
            continue
        one, other = (cells.loc[(dataset, method)] for method in pair)
        name = "median" if one["failed"] or other["failed"] else "mean"
        both = (one[key] - other[key] for key in (name, "published_mean"))
        ours, theirs = (float(np.clip(value, -_CLOSE, _CLOSE)) for value in both)
        axes.plot([ours, theirs], [row, row], color="black", linewidth=0.8)
        axes.plot(ours, row, "D" if name == "median" else "o", color="black", markersize=3.5)
        look = {"markersize": 4.2, "markerfacecolor": "white", "zorder": 4}
        axes.plot(theirs, row, "o", color="black", **look)


def build_columns(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of the columns alone, the first of which has the published mean."""
    own = scores[scores["method"].isin(artefact.columns)]
    # Where a configuration selects none of them, the other methods are shown.
    table = building.build(artefact, own if len(own) else scores, files)
    first = artefact.columns[0]
    values = table["dataset"].map(lambda name: published_value(name, first)).astype(float)
    shown = (table["method"] == first) & (table["metric"] == NLL)
    table = table.assign(published_mean=values.where(shown))
    return building.in_order(table, {"metric": [NLL], "dataset": _R_SETS})


def published_value(dataset: str, method: str = "KCEF") -> float | None:
    """Return the published likelihood; dde repeats kcef's, and adds sets of its own."""
    values = published.values().dropna(subset="value")
    here = (values["dataset"] == dataset) & (values["method"] == method) & (values["metric"] == NLL)
    return next(iter(values.loc[here, "value"]), None)


def nearest_readings(table: pd.DataFrame) -> Iterator[str]:
    """Say which reading of each choice is nearest to the published means."""
    own = table[table["metric"] == NLL]
    values = own.set_index("dataset")["published_mean"].dropna()
    medians = own.pivot(index="dataset", columns="method", values="median").loc[values.index]
    gaps = medians.sub(values, axis=0).abs()
    for choice, names in _CHOICES.items() if len(gaps) else ():
        nearest = gaps[[name for name in names if name in gaps]].idxmin(axis=1).value_counts()
        each = ", ".join(f"{name} on {nearest.get(name, 0)}" for name in names)
        at = f"nearest to the published value of {len(gaps)} sets, by our median"
        yield f"By {choice}, {at}: {each}."


def nearer_nade(table: pd.DataFrame) -> list[str]:
    """Return the table that says, set by set, which NADE is nearer to the published value.

    Declared before the joint was fitted: by the distance of means; that of medians decides nothing.
    """
    cells = table.dropna(subset="mean").set_index(["method", "metric", "dataset"])
    rows, joint_is_nearer, by_median, met = [], [], 0, dict.fromkeys(_NADES, 0)
    for dataset, value in cells["published_mean"].dropna().droplevel([0, 1]).items():
        wanted = [*((name, NLL, dataset) for name in _NADES), ("NADE-joint", NLL_X, dataset)]
        if not all(key in cells.index for key in wanted):
            continue
        *both, of_x = (cells.loc[key] for key in wanted)
        shown = [dataset, number(value)]
        for name, row in zip(_NADES, both, strict=True):
            target = {name: verdicts.Published(value, trials=_SPLITS)}
            found = verdicts.judge(NLL, name, {name: building.summary_of(row)}, target)
            met[name] += found == verdicts.COMPATIBLE
            shown.append(number(row["mean"]) + " ✓" * (found == verdicts.COMPATIBLE))
        distances = [abs(row["mean"] - value) for row in both]
        joint_is_nearer.append(distances[1] < distances[0])
        by_median += abs(both[1]["median"] - value) < abs(both[0]["median"] - value)
        shown += [number(of_x["mean"]), "x and y" if joint_is_nearer[-1] else "y given x"]
        rows.append(shown)
    if not rows:
        return []
    return [
        "## Which of the two is nearer",
        pipe_table(["data set", "published", "y given x", "x and y", "x alone", "nearer"], rows),
        f"Means; x and y together is nearer on {sum(joint_is_nearer)} of {len(rows)} sets, by "
        f"medians on {by_median}. ✓: compatible with the published mean; x and y together is so "
        f"on {met['NADE-joint']} sets, y given x on {met['NADE']}.",
    ]


_TABLE = {"kind": "table", "metric": NLL}
_OF_COLUMNS = {"stage": "readings", "build": build_columns, **_TABLE}
_OF_TABLE1 = [*_KCEFS, "NADE", "LSCDE", "LSCDE-exact"]

TABLE1 = [
    Artefact(
        __name__,
        name="table1",
        shows={"r_benchmark": {"datasets": _R_SETS, "methods": _OF_TABLE1}},
        build=building.build,
        draw=partial(draw_against, pair=("KCEF", "LSCDE")),
        claims={"K7": claims.kcef_beats_lscde},
        published_trials=_SPLITS,
        overlap=1.0,
        remarks=page.importance_sampling,
        **_TABLE,
    ),
    Artefact(
        __name__,
        name="table1-bandwidths",
        shows={"r_benchmark": {"methods": [*_OF_KCEF, "NADE", "LSCDE", "epsilon-KDE", "DDE"]}},
        draw=dot_plot.draw,
        columns=_OF_KCEF,
        remarks=nearest_readings,
        **_OF_COLUMNS,
    ),
    Artefact(
        __name__,
        name="table1-nade",
        shows={"r_benchmark": {"datasets": _R_SETS, "methods": [*_NADES, "KCEF", "KCEF-LL"]}},
        draw=partial(dot_plot.draw, through=True),
        claims={"K8": claims.nade_loses_to_kcef},
        columns=_NADES,
        axis=(-4.0, 80.0),
        axis_label="negative log-likelihood of standardised rows (nats); lower is better",
        below=nearer_nade,
        apart=_NADES,
        **_OF_COLUMNS,
    ),
]


_COLUMNS = 5
_RANGE = 2.5  # nats that a panel shows above its lowest value, at most
_BY_SETTING = {score_files.setting(**each._asdict()): f"{each}" for each in READINGS}
_OF_KNOWN = {"method": "KCEF", "variant": AS_PUBLISHED}
_CLAIMS = {
    "K7": ("K7", {}),
    **{f"K8, {nade} NADE": ("K8", {"nade": [nade]}) for nade in (claims.CONDITIONAL, claims.JOINT)},
    "D3": ("D3", {}),
    "D6": ("D6", {}),
}
"""Panel to a claim and how it is decided there."""


def build_grid(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return what each reading gives: likelihoods, then the verdicts of claims.

    Kind `scatter`: a panel a data set, a series a reading; x is its place by mean, y the mean or
    median over the finite splits, or how many of n failed; `published` is a series of its own.
    Kind `claim`: a panel a claim, of K8 for each NADE; a series a reading; stat is the verdict.
    """
    own = scores[scores["experiment"] == Table1Readings.name]
    here = set(own["dataset"])
    known = [*_R_SETS, *published.datasets("dde", "table2"), *sorted(here)]
    ordered = filter(here.__contains__, dict.fromkeys(known))
    rows = [row for name in ordered for row in _likelihoods(own, name)]
    tests = ChainMap(*(each.claims for each in registry.ARTEFACTS.values()))
    for reading in (each for each in readings.declared(artefact.paper) if each.choice == "K-grid"):
        under = reading.scores(scores)
        for panel, (claim, how) in _CLAIMS.items():
            verdict = decide(tests[claim], under, **how).verdict
            at = {"panel": panel, "kind": "claim", "series": reading.name, "stat": verdict}
            rows.append(_OF_KNOWN | at)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _likelihoods(own: pd.DataFrame, dataset: str) -> Iterator[dict]:
    cells = {
        _BY_SETTING[setting]: verdicts.summarise(
            splits(rows, dataset, "KCEF").to_numpy(float), "nats"
        )
        for setting, rows in own[own["dataset"] == dataset].groupby("setting", sort=False)
    }
    # A mean that is not a number comes last.
    means = pd.Series({name: cell.mean for name, cell in cells.items()}, dtype=float)
    known = _OF_KNOWN | {"panel": dataset, "kind": "scatter"}
    for place, name in enumerate(means.sort_values(kind="stable").index, 1):
        for stat in ("mean", "median", "failed"):
            at = {"series": name, "x": place, "n": cells[name].n, "stat": stat}
            yield known | at | {"y": getattr(cells[name], stat)}
    if (value := published_value(dataset)) is not None:
        yield known | {"series": "published", "stat": "published", "y": value}


def claims_of_grid(frame: pd.DataFrame) -> list[str]:
    """Return the table of under how many readings each claim holds."""
    rows = []
    for claim, own in frame[frame["kind"] == "claim"].groupby("panel", sort=False):
        counts = own["stat"].value_counts()
        drawn = own.loc[own["series"] == f"{DRAWN}", "stat"].to_list() or ["–"]
        rows.append([claim, *drawn, *(counts.get(v, 0) for v in ("holds", "undecided", "fails"))])
    header = ["claim", f"as drawn ({DRAWN})", "holds", "undecided", "fails"]
    return ["## Number of readings under which each claim holds", pipe_table(header, rows)]


def draw_grid(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the mean of each data set against the least λ: a line a range of σ and number of folds.

    Means above the range of a panel lie at its upper edge.
    """
    panels = list(frame[frame["kind"] == "scatter"].groupby("panel", sort=False))
    rows = -(-len(panels) // _COLUMNS)
    size = style.PAGE, 0.75 + 1.4 * rows, min(_COLUMNS, len(panels)), rows
    with style.figure(*size, squeeze=False, sharex=True, stem=stem) as (made, grid):
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, (name, cells) in zip(grid.flat, panels, strict=False):
            means = cells[cells["stat"] == "mean"].set_index("series")["y"]
            target = cells.loc[cells["stat"] == "published", "y"].to_list()
            finite = [*means[np.isfinite(means)], *target] or [0.0]
            high = min(max(finite), min(finite) + _RANGE)
            inside = means.clip(upper=high).fillna(high)
            for line, look in _lines().items():
                known = [each for each in line if f"{each}" in inside]
                least = [each.regularization[0] for each in known]
                values = [inside[f"{each}"] for each in known]
                axes.plot(least, values, markersize=2.5, lw=0.9, **look)
            for value in target:
                axes.axhline(value, color=style.BLACK, linewidth=1.0, linestyle=":")
            if f"{DRAWN}" in inside:
                at = DRAWN.regularization[0], inside[f"{DRAWN}"]
                axes.plot(*at, "s", mfc="none", mec=style.BLACK, markersize=7)
            axes.set_xscale("log")
            axes.margins(y=0.12)
            axes.locator_params(axis="y", nbins=4)
            style.panel_title(axes, "", name + " (cut)" * bool((means > high).any()))
        made.supxlabel("least λ of the grid", fontsize=8)
        made.supylabel("negative log-likelihood (nats); lower is better", fontsize=8)
        keys = [
            style.key(f"σ in {line[0].sigma_range}, {line[0].folds} folds", **look)
            for line, look in _lines().items()
        ]
        keys.append(style.mark("as drawn in table 1", "s", mfc="none", mec=style.BLACK))
        keys.append(style.key("published", color=style.BLACK, linestyle=":"))
        style.legend_above(made, keys, columns=5)


def _lines() -> dict[tuple, dict]:
    """Return the readings that differ in λ alone, with the look of their line."""
    colours = [style.BLUE, style.GREEN, style.ORANGE, style.PURPLE]
    looks: dict[tuple, dict] = {}
    for sigma, colour in zip(dict.fromkeys(each.sigma for each in READINGS), colours, strict=False):
        for folds, dashes, marker in ((5, "-", "o"), (10, "--", "^")):
            line = tuple(each for each in READINGS if (each.sigma, each.folds) == (sigma, folds))
            looks[line] = {"color": colour, "linestyle": dashes, "marker": marker}
    return looks


_BESIDE = {"methods": ["NADE", "NADE-joint", "LSCDE", "epsilon-KDE", "DDE"]}
_OF_GRID = {"table1_readings": {}, "r_benchmark": _BESIDE}
_READING = {"name": "table1-readings", "stage": "readings", "below": claims_of_grid}

GRID = Artefact(__name__, _OF_GRID, build_grid, draw_grid, **_READING)


_DATASETS = published.datasets("kcef", "table2")
_FEWER_ROWS = [f"KCEF-{graph}-{n}-rows" for graph in "FM" for n in (500, 1000)]
_IN_ORDER = ["KCEF-F", "KCEF-F-stored", "KCEF-M", "KCEF-M-stored"]
_OTHERS = ["LSCDE-F", "LSCDE-M", "NADE"]


def _joint(*methods: str) -> dict:
    return {"joint": {"datasets": _DATASETS, "methods": [*methods]}}


TABLE2 = Artefact(
    __name__,
    name="table2",
    shows=_joint("KCEF-F", "KCEF-M", "KCEF-LL-F", "LikelihoodKCEF-F", *_OTHERS),
    build=building.build,
    draw=dot_plot.draw,
    claims={"K9": claims.kcef_after_nade},
    published_trials=5,
    trial="run",
    axis=(-10.0, 20.0),
    axis_label="negative log-likelihood of a standardised row (nats); lower is better",
    **_TABLE,
)

_READ = {"stage": "readings", "claims": {}, "published_trials": 0, "axis": (0.0, 40.0)}
TABLE2_ROWS = replace(TABLE2, name="table2-rows", shows=_joint(*_FEWER_ROWS, *_OTHERS), **_READ)
TABLE2_ORDER = replace(TABLE2, name="table2-order", shows=_joint(*_IN_ORDER, *_OTHERS), **_READ)


# Rule to KCEF on the full graph of the UCI data, on that of the grid data, and on Markov graphs.
_CODE = ["KCEF-F", claims.FULL, "KCEF-M"]
_RULES = {
    "authors' code": _CODE,
    "without penalty": [f"{name}-unpenalised" for name in _CODE],
    "converged": ["KCEF-F-converged", "KCEF-F-converged", "KCEF-M-converged"],
}
_OF_RULES = dict.fromkeys(chain.from_iterable(_RULES.values()))
_SAMPLED = [*_CODE[:1], *(f"KCEF-F{rule}-inverse" for rule in ("", "-unpenalised", "-converged"))]

# Panel of the grid data, named by what is fixed in it, to its curves and the label of its axis.
_GAPS = {
    "d=3": (claims.against_n, figures.axis_of_counts, "training points $n$"),
    "n=2000": (claims.against_d, figures.axis_of_dimensions, "dimension $d$"),
}
_GRAPHS = {"F": "full graph", "M": "Markov graph"}


def build_rules(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return gaps to the bound and likelihoods, a series for each rule.

    Panels `d=3` and `n=2000`: x is n or d, y the mean over runs of the entropy bound minus the
    log-likelihood, in nats; panels of the UCI data: y is the mean negative log-likelihood, and
    rows of the series `published` have the published one. `y_low` and `y_high` are one standard
    error away, `n` counts the runs that did not fail.
    """
    likelihoods = scores[scores["metric"] == NLL]
    rows = []
    for rule, (table, full, markov) in _RULES.items():
        for method in (full, markov):
            for panel, (view, _, _) in _GAPS.items():
                place = {"panel": panel, "kind": "curve", "method": method, "series": rule}
                curve, bound = view(scores, method), view(scores, claims.EXACT, "entropy")
                for x in (x for x in curve if x in bound):
                    rows.append(place | {"x": x} | claims.point(bound[x] - curve[x]))
        for method, dataset in product((table, markov), _DATASETS):
            place = {"panel": dataset, "kind": "scatter", "method": method, "series": rule}
            own = (likelihoods["dataset"] == dataset) & (likelihoods["method"] == method)
            if len(here := likelihoods[own]):
                rows.append(place | claims.point(here["value"].where(here["status"] == "ok")))
    known = published.numbers("kcef", "table2")
    known = known[known["dataset"].isin(scores["dataset"]) & known["method"].isin(_CODE)]
    for row in known.itertuples():
        place = {"panel": row.dataset, "method": row.method, "y": row.value}
        rows.append(place | {"kind": "scatter", "series": "published", "stat": "mean"})
    made = pd.DataFrame(rows, columns=FIGURE_COLUMNS)
    return made.assign(variant=made["method"].map(variants(scores)))


def table_of_rules(frame: pd.DataFrame) -> list[str]:
    """Return the likelihoods of the UCI data under each rule, beside the published ones."""
    own = frame[frame["kind"] == "scatter"].assign(graph=frame["method"].str.split("-").str[1])
    wide = own.pivot(index=["panel", "series"], columns="graph", values="y")
    order = product(own["panel"].unique(), [*_RULES, "published"])
    wide = wide.reindex(index=list(order), columns=list(_GRAPHS))
    rows = [[*place, *map(number, values)] for place, *values in wide.itertuples()]
    said = "Mean negative log-likelihoods (nats); lower is better:"
    return [said, pipe_table(["data set", "rule", *_GRAPHS.values()], rows, left=2)] if rows else []


def draw_rules(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the gaps, a panel for each axis and graph, to 30 times the smallest."""
    frame = frame[frame["kind"] == "curve"]
    frame = frame.assign(graph=frame["method"].str.split("-").str[1])
    panels = list(product(frame["panel"].unique(), _GRAPHS))
    low = max(frame["y"].min(), 1e-3)
    with style.figure(style.PAGE, 2.7, columns=len(panels), sharey=True, stem=stem) as (made, axes):
        for one, letter, (panel, graph) in zip(axes, "abcd", panels, strict=False):
            own = frame[(frame["panel"] == panel) & (frame["graph"] == graph)]
            for k, rule in enumerate(_RULES):
                curve = own[own["series"] == rule].sort_values("x")
                look = {"color": style.RESERVE[k], "linestyle": ("-", "-.", "--")[k]}
                one.plot(curve["x"], curve["y"], marker="osD"[k], ms=2.8, label=rule, **look)
                ends = curve["y_low"].clip(low / 2), curve["y_high"]
                one.vlines(curve["x"], *ends, lw=1.0, **look)
            one.set(yscale="log", ylim=(0.7 * low, 30.0 * low), xlabel=_GAPS[panel][2])
            _GAPS[panel][1](one)
            style.panel_title(one, letter, f"${panel}$, {_GRAPHS[graph]}")
        axes[0].set_ylabel("gap to the entropy bound (nats)")
        style.legend_above(made, axes[0].get_legend_handles_labels()[0])


RULES = Artefact(
    __name__,
    name="table2-readings",
    stage="readings",
    shows={
        "joint": {
            "datasets": [*_DATASETS, *claims.DATASETS],
            "methods": [*_OF_RULES, "KCEF-F-converged-isotropic", *_OTHERS, "exact"],
            # One bandwidth for all parents on the grid data: claim K6; and one for each parent on
            # the smallest of the UCI data.
            "only": {
                "KCEF-F": [*_DATASETS, "grid-2000"],
                "KCEF-F-anisotropic": ["red-wine", *claims.DATASETS],
                "KCEF-F-unpenalised": [*_DATASETS, "grid-2000"],
                "KCEF-F-anisotropic-unpenalised": claims.DATASETS,
                "KCEF-F-converged-isotropic": ["grid-2000"],
                "exact": claims.DATASETS,
            },
        },
        "samples": {"datasets": ["red-wine", "parkinsons"], "methods": ["KEF", *_SAMPLED]},
    },
    build=build_rules,
    draw=draw_rules,
    below=table_of_rules,
)
