"""dde optimum: how far DDE's training stays from the optimum of its own objective."""

from pathlib import Path
from typing import TYPE_CHECKING

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
from kcde.papers.artefact import Artefact
from kcde.papers.dde import _planar, table2

if TYPE_CHECKING:
    from matplotlib.axes import Axes


GAP, GAIN, CHOSEN_GAIN = "objective_gap", "held_out_gain", "held_out_gain_stopped"
"""Loss of the trained f less the smallest; test -log p of the trained f less that of the optimum,
and less that of the optimum with the chosen η. All in nats."""

_DIFFERENCES = {
    GAP: (PENALISED_LOSS, OPTIMUM),
    GAIN: (TRAINED_NLL, OPTIMUM),
    CHOSEN_GAIN: (TRAINED_NLL, STOPPED),
}
_SHOWN = [
    *((name, metric) for metric in (PENALISED_LOSS, TRAINING_NLL) for name in (TRAINED, OPTIMUM)),
    *((name, TRAINED_NLL) for name in (TRAINED, OPTIMUM, PRIOR, STOPPED)),
]
_PUBLISHED_ORDER = table2.ARTEFACT.shows["r_benchmark"]["datasets"]
_HEADER = [
    "data set",
    "method",
    "loss: trained",
    "optimum",
    "gap",
    "training −log p: trained",
    "optimum",
    "test −log p: trained",
    "optimum",
    "η = 1/n",
    "η chosen",
]
_KEY = ["experiment", "dataset", "method", "variant"]

_ROW, _HEAD = 0.15, 1.1  # inches
_LINEAR = 0.1  # nats, within which the axes are linear
_FURTHEST = 30.0
_PLACES = (0.1, 0.3, 1.0, 3.0, 10.0)


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with `GAP`, `GAIN` and `CHOSEN_GAIN` of each split.

    A split without one of the two numbers, as where the training diverged, has failed.
    """
    added = []
    for key, cell in scores.groupby(_KEY, sort=False):
        wide = cell[cell["status"] == "ok"].pivot(index="split", columns="metric", values="value")
        wide = wide.reindex(sorted(set(cell["split"])))
        for name, (metric, other) in _DIFFERENCES.items():
            pair = [of_optimum(each, metric) for each in (TRAINED, other)]
            if pair[1] not in wide:
                continue
            ours = wide.reindex(columns=pair)
            rows = pd.DataFrame({"value": ours[pair[0]] - ours[pair[1]]}).reset_index()
            rows = rows.assign(**dict(zip(_KEY, key, strict=True)), metric=name, unit="nats")
            status = np.where(rows["value"].isna(), "failed", "ok")
            added.append(rows.assign(status=status, setting="{}"))
    return pd.concat([scores, *added], ignore_index=True)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the gaps, and the numbers that they are differences of."""
    wanted = [*_DIFFERENCES, *(of_optimum(*each) for each in _SHOWN)]
    table = building.build(artefact, scores[scores["metric"].isin(wanted)], files)
    order = {name: k for k, name in enumerate([*_PUBLISHED_ORDER, *_planar.DATASETS])}
    places = table["dataset"].map(lambda name: order.get(name, len(order)))
    table = table.assign(_place=places, _metric=table["metric"].map(wanted.index))
    return table.sort_values(["_metric", "_place"], kind="stable", ignore_index=True).drop(
        columns=["_place", "_metric"]
    )


def remarks(table: pd.DataFrame) -> list[str]:
    """Say on how many sets the optimum is better on test rows, and where the gap is largest."""
    said = []
    for method in dict.fromkeys(table["method"]):
        own = table[table["method"] == method].set_index(["metric", "dataset"])["median"]
        if GAP not in own or GAIN not in own or not len(gap := own[GAP].dropna()):
            continue
        gains = [own[name].dropna() for name in (GAIN, CHOSEN_GAIN) if name in own]
        words = " and ".join(
            f"{(gain > 0).sum()} of {len(gain)} sets with the {how} penalty"
            for gain, how in zip(gains, ("same", "chosen"), strict=False)
        )
        said.append(
            f"{display(method)}: the median gap of the loss is from {number(gap.min())} "
            f"({gap.idxmin()}) to {number(gap.max())} nats ({gap.idxmax()}); on test rows the "
            f"optimum is better in the median on {words}."
        )
    return said


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw the gap of the loss beside the gain on test rows."""
    primary = table[table["metric"] == GAP]
    parts = [
        f"# {artefact.key}: {artefact.text.title}",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} Medians over {count_of(primary['n'], artefact.trial)}, in nats.",
        _grid(table),
        "Gaps are medians of the differences over splits, not differences of the medians.",
        *details(artefact, artefact.remarks(table), ()),
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return [path, *_picture(table, stem)]


def _grid(table: pd.DataFrame) -> str:
    medians = table.set_index(["metric", "dataset", "method"])["median"]
    rows = []
    for dataset, method in _lines(table):

        def of(metric: str, dataset=dataset, method=method) -> str:
            return number(float(medians.get((metric, dataset, method), np.nan)))

        cells = [of(of_optimum(*each)) for each in _SHOWN]
        rows.append([dataset, display(method), *cells[:2], of(GAP), *cells[2:]])
    return pipe_table(_HEADER, rows, left=2)


def _lines(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the (data set, method) pairs from the top down."""
    primary = table[table["metric"] == GAP]
    return list(zip(primary["dataset"], primary["method"], strict=True))


def _picture(table: pd.DataFrame, stem: Path) -> list[Path]:
    lines = _lines(table)
    height = _HEAD + _ROW * max(len(lines), 4)
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        _draw_panel(axes[0], table, lines, [GAP])
        _draw_panel(axes[1], table, lines, [GAIN, CHOSEN_GAIN])
        style.legend_above(made, _keys(table), columns=2)
        style.panel_title(axes[0], "a", "Training loss above the optimum")
        style.panel_title(axes[1], "b", "Test NLL: DDE minus optimum")
        made.supxlabel(f"nats (linear to ±{_LINEAR:g}, then log)", fontsize=8)
        axes[0].set_ylim(len(lines) - 0.4, -0.6)
        names = [d if m == "DDE" else f"{d} (penalised)" for d, m in lines]
        axes[0].set_yticks(range(len(lines)), names)
        for panel in axes:
            panel.tick_params(axis="y", length=0)
        return style.save(made, stem)


def _keys(table: pd.DataFrame) -> list:
    """Return what marks and bars are; a mark's shape is that of the method."""
    look = {"linestyle": "none", "color": style.GREY, "markersize": 4.5}
    full = {"DDE": "DDE; optimum with the same norm of f"}
    full["DDE-penalised"] = "DDE-penalised; optimum under its penalty"
    drawn = {name: words for name, words in full.items() if name in set(table["method"])}
    return [
        *(style.key(words, marker=style.marker(name), **look) for name, words in drawn.items()),
        style.key("optimum under a held-out penalty", marker="o", markerfacecolor="white", **look),
        style.key("± 2 standard errors", color=style.GREY, alpha=0.6),
    ]


def _draw_panel(
    axes: "Axes", table: pd.DataFrame, lines: list[tuple[str, str]], metrics: list[str]
) -> None:
    axes.axvline(0.0, color=style.GREY, linewidth=0.8)
    axes.set_xscale("symlog", linthresh=_LINEAR)
    for place in range(len(lines)):
        axes.axhline(place, color="#EEEEEE", linewidth=0.6, zorder=0)
    extent = [0.0]
    for metric in metrics:
        cells = table[table["metric"] == metric].set_index(["dataset", "method"])
        for place, line in enumerate(lines):
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
    axes.set_xlim(min(extent) * 1.3 - 0.03, max(extent) * 1.3 + 0.03)
    _label(axes)


def _label(axes: "Axes") -> None:
    """Write plain numbers at some places within the axis."""
    low, high = axes.get_xlim()
    ticks = [*(-place for place in reversed(_PLACES)), 0.0, *_PLACES]
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick:g}".replace("-", "−") for tick in shown])
    axes.minorticks_off()


ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={
        "r_benchmark": {"datasets": _PUBLISHED_ORDER, "methods": ["DDE", "DDE-penalised"]},
        "planar": {"datasets": ["two-moons", "ring", "grid"], "methods": ["DDE"]},
    },
    build=build,
    draw=draw,
    metric=GAP,
    measure=measure,
    columns=("DDE", "DDE-penalised"),
    apart=("DDE", "DDE-penalised"),
    trial="split",
    remarks=remarks,
)
