"""kcef table 2, also with KCEF tuned on fewer rows, and under when its tuning stops (K-stop)."""

from itertools import product
from pathlib import Path

import pandas as pd

from kcde.evidence.cells import variants
from kcde.metrics import NLL
from kcde.pages import building, dot_plot, style
from kcde.pages.words import number, pipe_table
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.kcef import claims, figures, grid

_DATASETS = published.datasets("kcef", "table2")
_FEWER_ROWS = [f"KCEF-{graph}-{n}-rows" for graph in "FM" for n in (500, 1000)]
_OTHERS = ["LSCDE-F", "LSCDE-M", "NADE"]

_METHODS = ["KCEF-F", "KCEF-M", "KCEF-LL-F", "LikelihoodKCEF-F", *_OTHERS]
_SHARED = {"kind": "table", "metric": NLL, "trial": "run", "draw": dot_plot.write}
_SHARED["axis_label"] = "negative log-likelihood of a standardised row (nats); lower is better"

ARTEFACTS = [
    Artefact(
        __name__,
        shows={"joint": {"datasets": _DATASETS, "methods": _METHODS}},
        build=building.build,
        claims={"K9": claims.kcef_after_nade},
        published_trials=5,
        axis=(-10.0, 20.0),
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

# Panel of the grid data, named by what is fixed in it, to its curves and the label of its axis.
_GAPS = {
    "d=3": (grid.against_n, figures.axis_of_counts, "training points $n$"),
    "n=2000": (grid.against_d, figures.axis_of_dimensions, "dimension $d$"),
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


def draw_rules(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the gaps, a panel for each axis and graph, to 30 times the smallest."""
    frame = frame[frame["kind"] == "curve"]
    frame = frame.assign(graph=frame["method"].str.split("-").str[1])
    panels = list(product(frame["panel"].unique(), _GRAPHS))
    low = max(frame["y"].min(), 1e-3)
    with style.figure(style.PAGE, 2.7, columns=len(panels), sharey=True) as (made, axes):
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
        return style.save(made, stem)


RULES = Artefact(
    __name__,
    name="table2-readings",
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
    below=table_of_rules,
    trial="run",
)
