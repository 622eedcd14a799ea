"""dde optimum: how far DDE's training stays from the optimum of its own objective."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.files import atomic
from kcde.metrics.names import (
    OPTIMUM,
    PENALISED_LOSS,
    PRIOR,
    STOPPED,
    TRAINED,
    TRAINED_NLL,
    TRAINING_NLL,
    of_optimum,
)
from kcde.pages import building, style
from kcde.pages.markdown import count_of, details, number, pipe_table
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.dde import plane

GAP, GAIN, CHOSEN_GAIN = "objective_gap", "held_out_gain", "held_out_gain_stopped"
"""Loss of the trained f less the smallest; test -log p of the trained f less that of the optimum,
and less that of the optimum with the chosen η. All in nats."""

_DIFFERENCES = {
    GAP: (PENALISED_LOSS, OPTIMUM),
    GAIN: (TRAINED_NLL, OPTIMUM),
    CHOSEN_GAIN: (TRAINED_NLL, STOPPED),
}
_SHOWN = {
    "loss: trained": of_optimum(TRAINED, PENALISED_LOSS),
    "optimum": of_optimum(OPTIMUM, PENALISED_LOSS),
    "gap": GAP,
    "training −log p: trained": of_optimum(TRAINED, TRAINING_NLL),
    "of the optimum": of_optimum(OPTIMUM, TRAINING_NLL),
    "test −log p: trained": of_optimum(TRAINED, TRAINED_NLL),
    "at the optimum": of_optimum(OPTIMUM, TRAINED_NLL),
    "η = 1/n": of_optimum(PRIOR, TRAINED_NLL),
    "η chosen": of_optimum(STOPPED, TRAINED_NLL),
}
"""Columns of the page and their metrics."""

_DATASETS = published.datasets("dde", "table2")
_KEY = ["experiment", "dataset", "method", "variant"]
_LINEAR = 0.1  # nats, within which the axes are linear
_FURTHEST = 30.0


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with `GAP`, `GAIN` and `CHOSEN_GAIN` of each split.

    A split without one of the two numbers, as where the training diverged, has failed.
    """
    added = []
    for key, cell in scores.groupby(_KEY, sort=False):
        wide = cell[cell["status"] == "ok"].pivot(index="split", columns="metric", values="value")
        wide = wide.reindex(sorted(set(cell["split"])))
        for name, (metric, other) in _DIFFERENCES.items():
            if of_optimum(other, metric) not in wide:
                continue
            trained = wide.reindex(columns=[of_optimum(TRAINED, metric)]).iloc[:, 0]
            rows = (trained - wide[of_optimum(other, metric)]).rename("value").reset_index()
            rows = rows.assign(**dict(zip(_KEY, key, strict=True)), metric=name, unit="nats")
            status = np.where(rows["value"].isna(), "failed", "ok")
            added.append(rows.assign(status=status, setting="{}"))
    return pd.concat([scores, *added], ignore_index=True)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the gaps, and the numbers that they are differences of."""
    wanted = [*_DIFFERENCES, *(metric for metric in _SHOWN.values() if metric != GAP)]
    table = building.build(artefact, scores[scores["metric"].isin(wanted)], files)
    order = {name: k for k, name in enumerate([*_DATASETS, *plane.DATASETS])}
    places = table["dataset"].map(lambda name: order.get(name, len(order)))
    table = table.assign(_place=places, _metric=table["metric"].map(wanted.index))
    return table.sort_values(["_metric", "_place"], kind="stable", ignore_index=True).drop(
        columns=["_place", "_metric"]
    )


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw the gap of the loss beside the gain on test rows."""
    primary = table[table["metric"] == GAP]
    lines = list(zip(primary["dataset"], primary["method"], strict=True))
    medians = table.set_index(["metric", "dataset", "method"])["median"]
    rows = [
        [line[0], display(line[1])]
        + [number(float(medians.get((metric, *line), np.nan))) for metric in _SHOWN.values()]
        for line in lines
    ]
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} Medians over {count_of(primary['n'], artefact.trial)}, in nats.",
        pipe_table(["data set", "method", *_SHOWN], rows, left=2),
        *details(artefact, (), ()),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    height = 1.1 + 0.15 * max(len(lines), 4)
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        _draw_panel(axes[0], table, lines, [GAP])
        _draw_panel(axes[1], table, lines, [GAIN, CHOSEN_GAIN])
        look = {"linestyle": "none", "color": style.GREY, "markersize": 4.5}
        full = {
            "DDE": "DDE; optimum with the same norm of f",
            "DDE-penalised": "DDE-penalised; optimum under its penalty",
        }
        chosen = "optimum under a held-out penalty"
        keys = [
            *(
                style.key(words, marker=style.marker(name), **look)
                for name, words in full.items()
                if name in set(table["method"])
            ),
            style.key(chosen, marker="o", markerfacecolor="white", **look),
            style.key("± 2 standard errors", color=style.GREY, alpha=0.6),
        ]
        style.legend_above(made, keys, columns=2)
        style.panel_title(axes[0], "a", "Training loss above the optimum")
        style.panel_title(axes[1], "b", "Test NLL: DDE minus optimum")
        made.supxlabel(f"nats (linear to ±{_LINEAR:g}, then log)", fontsize=8)
        axes[0].set_ylim(len(lines) - 0.4, -0.6)
        axes[0].set_yticks(
            range(len(lines)), [d if m == "DDE" else f"{d} (penalised)" for d, m in lines]
        )
        return [path, *style.save(made, stem)]


def _draw_panel(
    axes, table: pd.DataFrame, lines: list[tuple[str, str]], metrics: list[str]
) -> None:
    axes.axvline(0.0, color=style.GREY, linewidth=0.8)
    axes.set_xscale("symlog", linthresh=_LINEAR)
    extent = [0.0]
    for metric in metrics:
        cells = table[table["metric"] == metric].set_index(["dataset", "method"])
        for place, line in enumerate(lines):
            axes.axhline(place, color="#EEEEEE", linewidth=0.6, zorder=0)
            if line not in cells.index or not np.isfinite(cells.loc[line, "median"]):
                continue
            row = cells.loc[line]
            middle, reach = float(row["median"]), 2.0 * float(np.nan_to_num(row["stderr"]))
            colour, mark = style.line(line[1])["color"], style.marker(line[1])
            ends = np.clip([middle - reach, middle, middle + reach], -_FURTHEST, _FURTHEST)
            face = "white" if metric == CHOSEN_GAIN else colour
            axes.plot(ends[[0, 2]], [place] * 2, color=colour, linewidth=1.2, alpha=0.6)
            axes.plot(ends[1], place, mark, color=colour, markersize=4.5, markerfacecolor=face)
            extent += [float(each) for each in ends]
    low, high = min(extent) * 1.3 - 0.03, max(extent) * 1.3 + 0.03
    axes.set_xlim(low, high)
    ticks = [tick for tick in (-3, -1, -0.3, -0.1, 0, 0.1, 0.3, 1, 3, 10) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0)


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
    trial="split",
)
