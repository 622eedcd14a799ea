"""dde optimum: how far DDE's training stays from the optimum of its own objective."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.metrics import names
from kcde.metrics.names import OPTIMUM, PRIOR, STOPPED, TRAINED, of_optimum
from kcde.pages import building, figure_page, style
from kcde.pages.markdown import count_of, number, pipe_table
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.dde import plane

GAP, GAIN, CHOSEN_GAIN = "objective_gap", "held_out_gain", "held_out_gain_stopped"
"""Loss of the trained f less the smallest; test -log p of the trained f less that of the optimum,
and less that of the optimum with the chosen η. All in nats."""

_DIFFERENCES = {
    GAP: (names.PENALISED_LOSS, OPTIMUM),
    GAIN: (names.TRAINED_NLL, OPTIMUM),
    CHOSEN_GAIN: (names.TRAINED_NLL, STOPPED),
}
_SHOWN = {
    of_optimum(TRAINED, names.PENALISED_LOSS): "loss: trained",
    of_optimum(OPTIMUM, names.PENALISED_LOSS): "optimum",
    GAP: "gap",
    of_optimum(TRAINED, names.TRAINING_NLL): "training −log p: trained",
    of_optimum(OPTIMUM, names.TRAINING_NLL): "optimum",
    of_optimum(TRAINED, names.TRAINED_NLL): "test −log p: trained",
    of_optimum(OPTIMUM, names.TRAINED_NLL): "optimum",
    of_optimum(PRIOR, names.TRAINED_NLL): "η = 1/n",
    of_optimum(STOPPED, names.TRAINED_NLL): "η chosen",
}
"""Metrics and headings of the page's columns."""

_DATASETS = published.datasets("dde", "table2")
_MARKS = {
    "DDE": "DDE; optimum with the same norm of f",
    "DDE-penalised": "DDE-penalised; optimum under its penalty",
}


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with `GAP`, `GAIN` and `CHOSEN_GAIN` of each split.

    A split without one of the two numbers, as where the training diverged, has failed.
    """
    key, added = ["experiment", "dataset", "method", "variant", "split"], []
    wide = scores[scores["status"] == "ok"].pivot(index=key, columns="metric", values="value")
    wide = wide.reindex(pd.MultiIndex.from_frame(scores[key].drop_duplicates()))
    for name, (metric, other) in _DIFFERENCES.items():
        pair = wide.reindex(columns=[of_optimum(TRAINED, metric), of_optimum(other, metric)])
        fitted = pair.iloc[:, 1].groupby(level=key[:4]).transform("count") > 0
        rows = (pair.iloc[:, 0] - pair.iloc[:, 1])[fitted].rename("value").reset_index()
        status = np.where(rows["value"].isna(), "failed", "ok")
        added.append(rows.assign(metric=name, unit="nats", setting="{}", status=status))
    return pd.concat([scores, *added], ignore_index=True)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the gaps, and the numbers that they are differences of."""
    wanted = list(dict.fromkeys([*_DIFFERENCES, *_SHOWN]))
    table = building.build(artefact, scores[scores["metric"].isin(wanted)], files)
    order = {name: k for k, name in enumerate([*_DATASETS, *plane.DATASETS])}
    ranks = {"metric": wanted.index, "dataset": lambda name: order.get(name, len(order))}
    return table.sort_values(
        list(ranks), kind="stable", ignore_index=True, key=lambda each: each.map(ranks[each.name])
    )


def page_table(table: pd.DataFrame) -> list[str]:
    """Return the medians as a table."""
    medians = table.pivot(index=["dataset", "method"], columns="metric", values="median")
    primary = table[table["metric"] == GAP]
    lines = pd.MultiIndex.from_frame(primary[["dataset", "method"]])
    medians = medians.reindex(index=lines, columns=list(_SHOWN))
    rows = [[key[0], display(key[1]), *map(number, row)] for key, *row in medians.itertuples()]
    said = f"Medians over {count_of(primary['n'], 'split')}, in nats:"
    return [said, pipe_table(["data set", "method", *_SHOWN.values()], rows, left=2)]


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw the gap of the loss beside the gain on test rows."""
    primary = table[table["metric"] == GAP]
    lines = pd.MultiIndex.from_frame(primary[["dataset", "method"]])
    height = 1.1 + 0.15 * max(len(lines), 4)
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        for one, metrics in zip(axes, ([GAP], [GAIN, CHOSEN_GAIN]), strict=True):
            for metric in metrics:
                cells = table[table["metric"] == metric].set_index(["dataset", "method"])
                _draw(one, cells.reindex(lines), "white" if metric == CHOSEN_GAIN else None)
            one.axvline(0.0, color=style.GREY, linewidth=0.8)
            one.grid(axis="y", color="#EEEEEE", linewidth=0.6)
            one.set_axisbelow(True)
            one.tick_params(axis="y", length=0)
        look = {"linestyle": "none", "color": style.GREY, "markersize": 4.5, "marker": "o"}
        own = [name for name in _MARKS if name in set(table["method"])]
        keys = [style.key(_MARKS[m], **look | {"marker": style.marker(m)}) for m in own]
        keys.append(style.key("optimum under a held-out penalty", markerfacecolor="white", **look))
        keys.append(style.key("± 2 standard errors", color=style.GREY, alpha=0.6))
        style.legend_above(made, keys, columns=2)
        style.panel_title(axes[0], "a", "Training loss above the optimum")
        style.panel_title(axes[1], "b", "Test NLL: DDE minus optimum")
        axes[0].set_xlabel("nats")
        axes[1].set_xlabel("nats (linear to ±0.1, then logarithmic)")
        axes[1].set_xscale("symlog", linthresh=0.1)
        axes[0].set_ylim(len(lines) - 0.4, -0.6)
        axes[0].set_yticks(
            range(len(lines)), [f"{d}{' (penalised)' * (m != 'DDE')}" for d, m in lines]
        )
        return [*figure_page.write(artefact, table, stem), *style.save(made, stem)]


def _draw(axes, cells: pd.DataFrame, face: str | None) -> None:
    """Draw medians with two standard errors, a row each."""
    places = np.arange(len(cells))
    for method in dict.fromkeys(cells.index.get_level_values("method")):
        own = cells.index.get_level_values("method") == method
        middle, reach = cells["median"][own], 2.0 * cells["stderr"][own].fillna(0.0)
        colour, mark = style.line(method)["color"], style.marker(method)
        look = {"color": colour, "markersize": 4.5, "markerfacecolor": face or colour}
        axes.errorbar(middle, places[own], xerr=reach, fmt=mark, elinewidth=1.0, **look)


ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={
        "r_benchmark": {"datasets": _DATASETS, "methods": ["DDE", "DDE-penalised"]},
        "planar": {"datasets": ["two-moons", "ring", "grid"], "methods": ["DDE"]},
    },
    build=build,
    draw=draw,
    metric=GAP,
    measure=measure,
    columns=("DDE", "DDE-penalised"),
    apart=("DDE", "DDE-penalised"),
    below=page_table,
)
