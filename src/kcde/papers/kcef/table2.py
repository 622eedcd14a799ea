"""kcef table 2, also with KCEF tuned on fewer rows, and under when its tuning stops (K-stop)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import variants
from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot, style
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.kcef import claims, grid, grid_figures

REMOVED = "removed_column"
"""Metric of the rows that name a column left out (in `method`) and why (in `variant`)."""

_DATASETS = published.datasets("kcef", "table2")
_FEWER_ROWS = [f"KCEF-{graph}-{n}-rows" for graph in "FM" for n in (500, 1000)]
_OTHERS = ["LSCDE-F", "LSCDE-M", "NADE"]
_AXIS_LABEL = "negative log-likelihood of a standardised row (nats); lower is better"


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table with a row for each column left out, which the `.json` of scores name."""
    found = {}
    for path in files:
        beside = path.with_suffix(".json")
        info = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
        for entry in info.get("removed", ()):
            found[path.parent.name, entry["column"]] = entry["reason"]
    empty = {"metric": REMOVED, "unit": "", "n": 0, "failed": 0}
    rows = [
        {"dataset": dataset, "method": column, "variant": reason, **empty}
        for (dataset, column), reason in found.items()
    ]
    return building.with_rows(building.build(artefact, scores, files), rows)


def remarks(table: pd.DataFrame) -> list[str]:
    """Name the columns left out of each data set, with the reason."""
    removed = table[table["metric"] == REMOVED]
    names = removed["method"] + " (" + removed["variant"] + ")"
    return [
        f"Left out of {dataset}: {', '.join(each)}."
        for dataset, each in names.groupby(removed["dataset"], sort=False)
    ]


_METHODS = ["KCEF-F", "KCEF-M", "KCEF-LL-F", "LikelihoodKCEF-F", *_OTHERS]
_SHARED = {"kind": "table", "metric": NLL, "trial": "run", "axis_label": _AXIS_LABEL}
_SHARED |= {"draw": dot_plot.write}

ARTEFACTS = [
    Artefact(
        __name__,
        shows={"joint": {"datasets": _DATASETS, "methods": _METHODS}},
        build=build,
        claims={"K9": claims.kcef_after_nade},
        published_trials=5,
        axis=(-10.0, 20.0),
        remarks=remarks,
        **_SHARED,
    ),
    Artefact(
        __name__,
        name="table2-rows",
        stage=READINGS,
        shows={"joint": {"datasets": _DATASETS, "methods": [*_FEWER_ROWS, *_OTHERS]}},
        build=building.build,
        axis=(0.0, 40.0),
        **_SHARED,
    ),
]


# Rule to KCEF on the full graph of the UCI data, on that of the grid data, and on Markov graphs.
_CODE = ["KCEF-F", grid.FULL, "KCEF-M"]
_RULES = {
    "authors' code": _CODE,
    "without penalty": [f"{name}-unpenalised" for name in _CODE],
    "converged": ["KCEF-F-converged", "KCEF-F-converged", "KCEF-M-converged"],
}
_SAMPLED = [*_CODE[:1], *(f"KCEF-F{rule}-inverse" for rule in ("", "-unpenalised", "-converged"))]
_PUBLISHED = "published"

# Panel of the grid data, named by what is fixed in it, to its curves and the label of its axis.
_GAPS = {
    "d=3": (grid.against_n, grid_figures.axis_of_counts, "training points $n$"),
    "n=2000": (grid.against_d, grid_figures.axis_of_dimensions, "dimension $d$"),
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
                curve, bound = view(scores, method), view(scores, grid.EXACT, "entropy")
                for x in (x for x in curve if x in bound):
                    rows.append(place | {"x": x} | grid.point(bound[x] - curve[x]))
        for method in (table, markov):
            for dataset in _DATASETS:
                place = {"panel": dataset, "kind": "scatter", "method": method, "series": rule}
                own = (likelihoods["dataset"] == dataset) & (likelihoods["method"] == method)
                if len(here := likelihoods[own]):
                    rows.append(place | grid.point(here["value"].where(here["status"] == "ok")))
    known = published.numbers("kcef", "table2")
    known = known[known["dataset"].isin(scores["dataset"]) & known["method"].isin(_CODE)]
    for row in known.itertuples():
        place = {"panel": row.dataset, "method": row.method, "y": row.value}
        rows.append(place | {"kind": "scatter", "series": _PUBLISHED, "stat": "mean"})
    made = pd.DataFrame(rows, columns=FIGURE_COLUMNS)
    return made.assign(variant=made["method"].map(variants(scores)))


def draw_rules(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw four panels of gaps, graph by axis, and below one panel for each UCI data set."""
    frame = frame.assign(graph=frame["method"].str.split("-").str[1])
    rules = {name: k for k, name in enumerate(_RULES) if name in set(frame["series"])}
    gaps = [(name, graph) for name in _GAPS if name in set(frame["panel"]) for graph in _GRAPHS]
    tables = [name for name in frame["panel"].unique() if name not in _GAPS]
    letters = iter("abcdefg")
    with style.page(style.PAGE, 4.6) as made:
        above, below = made.subfigures(2, 1, height_ratios=[1.2, 1.0])
        if gaps:
            axes = above.subplots(1, len(gaps), sharey=True, squeeze=False)[0]
            for one, (panel, graph) in zip(axes, gaps, strict=True):
                _draw_gaps(one, frame[frame["panel"] == panel], rules, panel, graph)
                style.panel_title(one, next(letters), f"${panel}$, {_GRAPHS[graph]}")
            axes[0].set_ylabel("gap to the entropy bound (nats)")
            axes[0].legend(frameon=False, fontsize=6)
        if tables:
            axes = below.subplots(1, len(tables), sharey=True, squeeze=False)[0]
            for one, panel in zip(axes, tables, strict=True):
                _draw_likelihoods(one, frame[frame["panel"] == panel], rules)
                style.panel_title(one, next(letters), panel)
            axes[0].set_yticks(range(len(rules)), rules)
            axes[0].invert_yaxis()
            below.supxlabel("negative log-likelihood (nats); lower is better", fontsize=8)
            keys = []
            for graph, fill, dashes in (("F", "full", "-"), ("M", "none", "--")):
                look = {"color": style.EXACT, "fillstyle": fill}
                keys.append(style.key(_GRAPHS[graph], marker="o", linestyle="none", **look))
                known = f"{_GRAPHS[graph]}, published"
                keys.append(style.key(known, linestyle=dashes, lw=0.8, **look))
            style.legend_above(below, keys)
        return style.save(made, stem)


def _draw_gaps(axes, frame: pd.DataFrame, rules: dict, panel: str, graph: str) -> None:
    """Draw the gaps of each rule to 30 times the smallest, but none below 0.001 nats."""
    low = 1e-3
    top = 30.0 * max(frame["y"].min(), low)
    for rule, k in rules.items():
        curve = frame[(frame["graph"] == graph) & (frame["series"] == rule)].sort_values("x")
        out = (curve["y"] > top).to_numpy()
        # A curve ends where it leaves the axis: arrow heads of all further points would merge.
        left = out & ~np.append(False, out[:-1])
        y = np.where(out & ~left, np.nan, np.clip(curve["y"], low, top))
        look = {"color": style.RESERVE[k], "linestyle": ("-", "-.", "--")[k], "markersize": 2.8}
        axes.plot(curve["x"], y, **look, marker="osD"[k], markevery=list(~out), label=rule)
        ends = (np.clip(curve.loc[~out, name], low, top) for name in ("y_low", "y_high"))
        axes.vlines(curve["x"][~out], *ends, color=look["color"], linewidth=1.0)
        if left.any():  # an empty line without clipping breaks the layout of a logarithmic axis
            edge = {"color": look["color"], "markersize": 5, "clip_on": False}
            axes.plot(curve["x"][left], y[left], "^", **edge)
    axes.set_yscale("log")
    _, axis, label = _GAPS[panel]
    axis(axes, frame["x"])
    axes.set_xlabel(label)


def _draw_likelihoods(axes, frame: pd.DataFrame, rules: dict) -> None:
    known = frame["series"] == _PUBLISHED
    for row in frame[known].itertuples():
        dashes = "-" if row.graph == "F" else "--"
        axes.axvline(row.y, color=style.EXACT, linestyle=dashes, linewidth=0.8, zorder=1)
    axes.set_xlim(*_limits(frame[~known], frame[known]))
    right = axes.get_xlim()[1]
    for row in frame[~known].itertuples():
        k, full = rules[row.series], row.graph == "F"
        y = k + (-0.15 if full else 0.15)
        look = {"color": style.RESERVE[k], "fillstyle": "full" if full else "none"}
        if row.y > right:
            axes.plot(right, y, ">", markersize=4, clip_on=False, **look)
            dot_plot.name_edge(axes, y, right, True, dot_plot.short(row.y), look["color"])
        else:
            axes.plot(row.y, y, "o", markersize=4, **look)
            axes.hlines(y, row.y_low, row.y_high, color=look["color"], lw=1)


def _limits(found: pd.DataFrame, known: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold the published values and every mean with its bar but those far out.

    A mean is far out where it exceeds the largest published value by more than twice the distance
    from there to the lowest value; without published values none is.
    """
    values = found["y"][np.isfinite(found["y"])]
    largest = (known["y"] if len(known) else values).max()
    lowest = min([*values, *known["y"]])
    near = found[found["y"] <= largest + 2.0 * (largest - lowest)]
    ends = [*near["y_low"], *near["y_high"], lowest, largest]  # a single run has no bar
    low, high = np.nanmin(ends), np.nanmax(ends)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


RULES = Artefact(
    __name__,
    name="table2-readings",
    kind="figure",
    stage=READINGS,
    shows={
        "joint": {
            "datasets": [*_DATASETS, *grid.DATASETS],
            "methods": [
                *_CODE,
                *_RULES["without penalty"],
                *(f"KCEF-{name}" for name in ("F-converged", "F-converged-isotropic")),
                *("KCEF-M-converged", *_OTHERS, "exact"),
            ],
            # One bandwidth for all parents on the grid data: claim K6; and one for each parent on
            # the smallest of the UCI data.
            "only": {
                "KCEF-F": [*_DATASETS, "grid-2000"],
                "KCEF-F-anisotropic": ["red-wine", *grid.DATASETS],
                "KCEF-F-unpenalised": [*_DATASETS, "grid-2000"],
                "KCEF-F-anisotropic-unpenalised": grid.DATASETS,
                "KCEF-F-converged-isotropic": ["grid-2000"],
                "exact": grid.DATASETS,
            },
        },
        "samples": {"datasets": ["red-wine", "parkinsons"], "methods": ["KEF", *_SAMPLED]},
    },
    build=build_rules,
    draw=draw_rules,
    trial="run",
)
