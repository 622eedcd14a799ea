"""dde tables 1 and 2, and how far DDE stays from the optimum of its own objective."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import metrics as names
from kcde.evidence import tolerances
from kcde.evidence.cells import AS_PUBLISHED, mean_and_stderr, splits
from kcde.metrics import (
    MMD,
    NLL,
    NLL_QUADRATURE,
    OPTIMUM,
    PRIOR,
    R_HAT,
    STOPPED,
    TRAINED,
    of_optimum,
)
from kcde.pages import building, dot_plot, page, style
from kcde.pages.words import count_of, display, number, pipe_table
from kcde.papers import published
from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.dde import claims

_FURTHER = {
    claims.TIME: "Seconds to draw as many samples as there are test points",
    claims.RATE: "Effective samples a second; those of DDE are independent",
    claims.MMD_TRAIN: "MMD² × 1000 to the training points, as the text of the paper says",
    claims.EXCESS: "Negative log-likelihood of the test points less that under their own law "
    "(nats)",
    R_HAT: "Largest R-hat of KEF's chains",
    "acceptance_rate": "Share of their transitions that are accepted",
    "points_without_density": "Test points outside DDE's bounding box, which have no density",
}
_BETWEEN = 0.5  # rows between data sets
_PANELS = {
    MMD: "MMD² to the test set × 1000; lower is better",
    claims.TIME: "seconds for as many samples as test points",
}


def draw_table1(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw MMD² and time on logarithmic axes, a row a method."""
    pages = page.write_table(artefact, table, stem)
    datasets = published.datasets("dde", "table1")
    shown = table[table["metric"].isin(_PANELS) & table["method"].isin(artefact.methods)]
    known = set(zip(shown["dataset"], shown["method"], strict=True))
    rows = [cell for cell in product(datasets, artefact.methods) if cell in known]
    places = {row: k + _BETWEEN * datasets.index(row[0]) for k, row in enumerate(rows)}
    last = max(places.values())
    with style.figure(style.PAGE, 1.0 + 0.18 * last, columns=2, sharey=True) as (made, axes):
        for one, letter, metric in zip(axes, "ab", _PANELS, strict=True):
            cells = shown[shown["metric"] == metric]
            ends = cells[["mean", "published_mean"]].where(lambda each: each > 0)
            one.set_xscale("log")
            one.set_xlim(np.nanmin(ends, initial=1e3) / 1.6, np.nanmax(ends, initial=1e-3) * 1.6)
            for cell in cells.itertuples():
                _draw_cell(one, places[cell.dataset, cell.method], cell)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, _PANELS[metric])
        names = [f"{dataset}: {display(method)}" for dataset, method in rows]
        axes[0].set_yticks(list(places.values()), names)
        axes[0].set_ylim(last + 0.6, -0.6)
        mark = {"color": style.GREY, "linestyle": "none"}
        bar = "± standard error (of two seeds: their range)"
        keys = [
            style.key("our mean", marker="o", **mark),
            style.key(bar, color=style.GREY, linewidth=2.4),
            style.key("published", marker="o", markerfacecolor="white", **mark),
            style.key("mean below 0", marker="<", **mark),
        ]
        style.legend_above(made, keys[: 4 if (shown["mean"] <= 0.0).any() else 3])
        return [*pages, *style.save(made, stem)]


def _draw_cell(axes, place: float, cell) -> None:
    """Draw our mean, joined by a line to the published number where there is one."""
    low, look = axes.get_xlim()[0], {"color": style.line(cell.method)["color"]}
    if cell.mean > 0:
        reach = np.nan_to_num(cell.stderr)
        axes.hlines(place, max(cell.mean - reach, low), cell.mean + reach, linewidth=2.4, **look)
        axes.plot(cell.mean, place, "o", markersize=4, **look)
        axes.plot([cell.mean, cell.published_mean], [place] * 2, linewidth=0.8, **look)
    elif cell.mean <= 0:  # an unbiased MMD² can be negative
        axes.plot(low, place, "<", markersize=4, clip_on=False, **look)
    axes.plot(cell.published_mean, place, "o", markerfacecolor="white", markersize=5, **look)


def build_table1(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table beside what is published of table 1, of whatever name it is."""
    return building.build(replace(artefact, name="table1"), scores, files)


_TABLE1 = {"kind": "table", "tolerance": tolerances.VERDICTS, "metric": MMD, "trial": "seed"}
_TABLE1 |= {"build": build_table1, "draw": draw_table1, "further": _FURTHER, "published_trials": 1}

TABLE1 = Artefact(
    __name__,
    name="table1",
    shows={"planar": {"methods": ["DDE", "DDE-narrow", "KEF", "KEF-100-steps"]}},
    claims={"D2": claims.faster_sampling},
    measure=claims.with_excess,
    **_TABLE1,
)

_SEEDS = {"scale": "paper", "datasets": ["two-moons", "ring", "grid"], "methods": ["DDE", "KEF"]}

SEEDS = Artefact(
    __name__,
    name="table1-seeds",
    stage=READINGS,
    shows={"planar": _SEEDS},
    claims={"D1": claims.smaller_discrepancy, "D4": claims.modes_covered},
    measure=lambda scores, files: claims.with_samples(claims.with_excess(scores, files), files),
    **_TABLE1,
)


DISTANCE, EFFECT, EXPLAINED = "distance_to_published", "evaluation_effect", "share_explained"
"""Metrics of DDE: the mean by quadrature less the published one; the mean as published less that by
quadrature, over the splits where both are finite; the part of the distance that this closes."""

_LEAST = 0.05  # nats, of a distance of which a share is told
_DATASETS = published.datasets("dde", "table2")
_DDE = ("DDE", "DDE-quadrature", "DDE-penalised")
_SHOWN_AS = {
    "DDE-quadrature": ("DDE", NLL_QUADRATURE),
    "DDE-penalised": ("DDE-penalised", NLL_QUADRATURE),
}


def build_likelihood(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the DDE rows of table 2, then `DISTANCE`, `EFFECT` and, of a distance, `EXPLAINED`."""
    table = building.build(replace(artefact, name="table2"), scores, files)
    primary = table[table["metric"] == NLL].set_index(["dataset", "method"])
    rows = []
    for dataset in dict.fromkeys(table["dataset"]):
        theirs, exact = (splits(scores, dataset, "DDE", metric=m) for m in (NLL, NLL_QUADRATURE))
        effect = (theirs - exact).astype(float).replace([np.inf, -np.inf], np.nan).dropna()
        if not len(effect):
            continue
        mean, stderr = mean_and_stderr(effect.to_numpy())
        shared = {"dataset": dataset, "method": "DDE", "variant": AS_PUBLISHED}
        shared |= {"n": len(effect), "failed": 0}
        spread = {"median": effect.median(), "std": effect.std(), "stderr": stderr}
        rows.append({**shared, "metric": EFFECT, "unit": "nats", "mean": mean, **spread})
        exact_mean = primary["mean"].get((dataset, "DDE-quadrature"), math.nan)
        distance = exact_mean - primary["published_mean"].get((dataset, "DDE"), math.nan)
        if math.isfinite(distance):
            rows.append({**shared, "metric": DISTANCE, "unit": "nats", "mean": distance})
        if abs(distance) > _LEAST:
            rows.append({**shared, "metric": EXPLAINED, "unit": "", "mean": -mean / distance})
    return building.with_rows(table, rows)


def page_of_likelihood(table: pd.DataFrame) -> list[str]:
    """Return the means and what the evaluation explains as a table."""
    means = table.pivot(index="dataset", columns=["method", "metric"], values="mean")
    columns = {
        "test-half proposal": (("DDE", NLL), number),
        "quadrature": (("DDE-quadrature", NLL), number),
        "penalised, quadrature": (("DDE-penalised", NLL), number),
        "quadrature − published": (("DDE", DISTANCE), _signed),
        "proposal − quadrature": (("DDE", EFFECT), _signed),
        "share": (("DDE", EXPLAINED), _share),
    }
    primary = table[table["metric"] == NLL]
    printed = primary.dropna(subset="published_mean").set_index("dataset")["published_mean"]
    rows = [
        [name, number(printed.get(name, math.nan))]
        + [say(means[cell][name] if cell in means else math.nan) for cell, say in columns.values()]
        for name in dict.fromkeys(table["dataset"])
    ]
    said = f"Means over {count_of(primary['n'], 'split')}, in nats:"
    return [said, pipe_table(["data set", "published", *columns], rows)]


def draw_likelihood(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw differences from the published values, where there are any."""
    pages, primary = page.write_figure(artefact, table, stem), table[table["metric"] == NLL]
    shown, names = primary.copy(), ["mean", "median", "published_mean"]
    shift = shown.groupby("dataset")["published_mean"].transform("first").astype(float)
    shown[names] = shown[names].sub(shift, axis=0)
    shown = shown[shift.notna()]
    if not len(shown):  # made-up data: no published values
        artefact, shown = replace(artefact, axis_label="negative log-likelihood (nats)"), primary
    return [*pages, *dot_plot.picture(artefact, shown, stem, one_axis=True)]


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}".replace("-", "−")


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


_RIVALS = ["KCEF", "KCEF-LL", "epsilon-KDE", "LSCDE", "LSCDE-exact"]
_FITTED = ["DDE", "DDE-penalised"]
_TABLE2 = {"kind": "table", "metric": NLL, "shown_as": _SHOWN_AS}

TABLE2 = Artefact(
    __name__,
    name="table2",
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": [*_FITTED, *_RIVALS]}},
    build=building.build,
    draw=dot_plot.write,
    claims={"D3": claims.best_on_six, "D6": claims.kcef_unstable},
    published_trials=20,
    overlap=1.0,
    columns=(*_DDE, *_RIVALS),
    # DDE-penalised is shown by quadrature.
    remarks=lambda table: page.importance_sampling(table[table["method"] != "DDE-penalised"]),
    **_TABLE2,
)

LIKELIHOOD = Artefact(
    __name__,
    name="table2-likelihood",
    shows={"r_benchmark": {"datasets": _DATASETS, "methods": _FITTED}},
    build=build_likelihood,
    draw=draw_likelihood,
    columns=_DDE,
    axis=(-2.0, 2.0),
    axis_label="negative log-likelihood less the published one (nats)",
    below=page_of_likelihood,
    **_TABLE2,
)


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
_FACES = {CHOSEN_GAIN: "white"}
_MARKS = {
    "DDE": "DDE; optimum with the same norm of f",
    "DDE-penalised": "DDE-penalised; optimum under its penalty",
}


def measure_optimum(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
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


def build_optimum(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the gaps, and the numbers that they are differences of."""
    wanted = list(dict.fromkeys([*_DIFFERENCES, *_SHOWN]))
    table = building.build(artefact, scores[scores["metric"].isin(wanted)], files)
    return building.in_order(table, {"metric": wanted, "dataset": [*_DATASETS, *claims.DATASETS]})


def page_of_optimum(table: pd.DataFrame) -> list[str]:
    """Return the medians as a table."""
    medians = table.pivot(index=["dataset", "method"], columns="metric", values="median")
    primary = table[table["metric"] == GAP]
    lines = pd.MultiIndex.from_frame(primary[["dataset", "method"]])
    medians = medians.reindex(index=lines, columns=list(_SHOWN))
    rows = [[key[0], display(key[1]), *map(number, row)] for key, *row in medians.itertuples()]
    said = f"Medians over {count_of(primary['n'], 'split')}, in nats:"
    return [said, pipe_table(["data set", "method", *_SHOWN.values()], rows, left=2)]


def draw_optimum(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw the gap of the loss beside the gain on test rows."""
    datasets = list(table.loc[table["metric"] == GAP, "dataset"].unique())
    height = 1.1 + 0.19 * max(len(datasets), 4)
    grey = {"linestyle": "none", "color": style.GREY}
    keys = [style.key("± 2 standard errors", color=style.GREY)]
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        for method, shift in zip(_MARKS, (-0.15, 0.15), strict=True):
            colour, mark = style.line(method)["color"], style.marker(method)
            for one, metric in ((axes[0], GAP), (axes[1], GAIN), (axes[1], CHOSEN_GAIN)):
                own = table[(table["metric"] == metric) & (table["method"] == method)]
                at = own["dataset"].map(datasets.index) + shift
                look = {"color": colour, "ms": 4, "mfc": _FACES.get(metric, colour)}
                reach = 2.0 * own["stderr"].fillna(0.0) if metric in (GAP, GAIN) else None
                one.errorbar(own["median"], at, xerr=reach, fmt=mark, elinewidth=1.0, **look)
            keys.append(style.key(_MARKS[method], marker=mark, **grey))
        keys.append(style.key("optimum under a held-out penalty", marker="o", mfc="white", **grey))
        style.legend_above(made, keys, columns=2)
        titles = ("Training loss above the optimum", "Test NLL: DDE minus optimum")
        for one, letter, title in zip(axes, "ab", titles, strict=True):
            one.axvline(0.0, color=style.GREY, linewidth=0.8)
            one.grid(axis="y", color="#EEEEEE", linewidth=0.6)
            one.tick_params(axis="y", length=0)
            one.set(axisbelow=True, xlabel="nats")
            style.panel_title(one, letter, title)
        axes[0].set_yticks(range(len(datasets)), datasets)
        axes[0].set_ylim(len(datasets) - 0.4, -0.6)
        return [*page.write_figure(artefact, table, stem), *style.save(made, stem)]


OPTIMUM_OF_DDE = Artefact(
    __name__,
    name="optimum",
    kind="table",
    shows={
        "r_benchmark": {"datasets": _DATASETS, "methods": ["DDE", "DDE-penalised"]},
        "planar": {"datasets": ["two-moons", "ring", "grid"], "methods": ["DDE"]},
    },
    build=build_optimum,
    draw=draw_optimum,
    metric=GAP,
    measure=measure_optimum,
    columns=("DDE", "DDE-penalised"),
    apart=("DDE", "DDE-penalised"),
    below=page_of_optimum,
)
