"""Figures 1 to 3 of dde, tables 1 and 2, cost, and how far DDE stays from its own optimum."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import metrics
from kcde.data import made_up
from kcde.evidence import verdicts
from kcde.evidence.checks import AS_PUBLISHED, mean_and_stderr, splits
from kcde.kernels import median_trick
from kcde.metrics import MMD, NLL, NLL_QUADRATURE, TRAINED, mmd2_biased, of_optimum
from kcde.pages import building, count_of, display, dot_plot, number, page, pipe_table, plain, style
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.dde import claims
from kcde.scores import arrays_beside

_SAMPLES, _SNAPSHOT = 1000, 500  # samples in a panel, of figure 1 and of an iteration
_STRIDE = 2  # every second of the 100 × 100 points of f is enough for a panel of two inches
_ONE = "one kernel"
_DEPTH = 8.0  # nats below the largest f that are told apart

_PUBLISHED = {
    "fig2": (["ring"], (0, 500, 2500, 5000, 10000, 20000)),
    "fig3": (["grid", "two-moons"], (0, 500, 1000, 2000)),
}
"""Data sets and iterations."""


def _fits(scores: pd.DataFrame, files: list[Path]) -> Iterator[tuple]:
    """Yield of each file its scores, data set, arrays, and panel, method and variant.

    A panel is a data set, or a variation of DDE on one. Without the array `train` no seed
    succeeded.
    """
    for path in files:
        dataset, method = path.parent.name, path.stem
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
        panel = dataset if method == claims.METHOD else f"{dataset}, {method}"
        yield here, dataset, arrays_beside(path), (panel, method, here["variant"].iloc[0])


def samples_and_f(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points and f of the first seed that did not fail, and the modes' shares over all.

    Rows without `stat` are points of the method `data` or of the sampler, or of the kind `surface`;
    those with the stat `mode_share` say in `y` which share of the samples is nearest to the mode
    named in `series`, as mean and range over `n` seeds, and in `x` its weight.
    """
    order = {name: k for k, name in enumerate(claims.DATASETS)}
    files = sorted(files, key=lambda path: order.get(path.parent.name, len(order)))
    rows = []
    for here, dataset, arrays, same in _fits(scores, files):
        if "train" in arrays:
            rows += _data(same[0], arrays)
            rows += style.scatter_points(*same, arrays["samples"], _SAMPLES)
            across, up = (arrays[f"surface_{name}"][::_STRIDE] for name in "xy")
            values, known = arrays["surface_f"][::_STRIDE, ::_STRIDE], style.scatter_row(*same)
            rows += [
                known | {"kind": "surface", "x": x, "y": y, "y_high": f}
                for y, line in zip(up, values, strict=True)
                for x, f in zip(across, line, strict=True)
            ]
        modes = made_up.planar_modes(dataset)
        for label, weight in zip(modes.labels, modes.weights, strict=True):
            share = splits(here, dataset, *same[1:], f"{claims.SHARE}:{label}").dropna()
            if len(share):
                of = {"x": weight, "y": share.mean(), "y_low": share.min(), "y_high": share.max()}
                named = {"series": label, "stat": claims.SHARE, "n": len(share)}
                rows.append(style.scatter_row(*same, **of, **named))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _data(panel: str, arrays: dict) -> list[dict]:
    return style.scatter_points(panel, style.DATA, "", arrays["train"], len(arrays["train"]))


def over_iterations(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return snapshots of the first seed that did not fail, and MMD² by iteration for all.

    Points are of kind `scatter`, of the method `data` or of the sampler, whose iteration stands in
    `x_right`; MMD² is one `curve` for each seed with the iteration in `x`, by the kernel of its f.
    Kind `point` has that of the points themselves, by the same kernel for every f. Without the
    published sets or iterations, all are shown.
    """
    datasets, iterations = _PUBLISHED[artefact.name]
    own = [path for name in datasets for path in files if path.parent.name == name]
    rows = []
    for _, _, arrays, same in _fits(scores, own or files):
        if "train" in arrays:
            rows += (data := _data(same[0], arrays))
            kept = arrays["snapshot_iterations"]
            shown = [k for k, iteration in enumerate(kept) if iteration in iterations]
            for k in shown if len(shown) > 1 else range(len(kept)):
                drawn = arrays["snapshots"][k]
                rows += (samples := style.scatter_points(*same, drawn, _SNAPSHOT, x_right=kept[k]))
                if len(artefact.shows["planar"]["methods"]) > 1:
                    rows.append(_by_one_kernel(data, samples))
        checks, mmd2 = claims.history(arrays)
        rows += [
            style.scatter_row(*same) | {"kind": "curve", "series": f"seed {seed}", "x": x, "y": y}
            for seed, values in enumerate(mmd2)
            for x, y in zip(checks, values, strict=True)
        ]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _by_one_kernel(data: list[dict], samples: list[dict]) -> dict:
    """Return the row with the biased MMD² of the samples of an iteration to the training points."""
    train, drawn = (np.array([(row["x"], row["y"]) for row in rows]) for rows in (data, samples))
    mmd2 = mmd2_biased(drawn, train, median_trick(train)) if np.isfinite(drawn).all() else np.nan
    own = {"kind": "point", "series": _ONE, "x": samples[0]["x_right"], "x_right": None, "y": mmd2}
    return samples[0] | own


def draw_f(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a column for each data set or variation: samples above the learned f."""
    rows = frame[frame["stat"].isna()]
    panels = list(dict.fromkeys(rows["panel"]))
    letters, levels = iter("abcdefghijklmnop"), np.arange(-_DEPTH, 0.5)
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    with style.figure(width, 4.4, len(panels), 2, **options, stem=stem) as (made, axes):
        for panel, above, below in zip(panels, *axes, strict=True):
            own = rows[rows["panel"] == panel]
            points = own[own["kind"] == "scatter"]
            _draw_points(above, points, points)
            f = own[own["kind"] == "surface"].pivot(index="y", columns="x", values="y_high")
            f -= f.max(axis=None)
            look = {"levels": levels, "cmap": "cividis", "extend": "min"}
            shown = below.contourf(f.columns, f.index, f, **look)
            below.set_box_aspect(1)
            below.set_xlabel("$y_1$")
        for one, title in zip(axes.flat, [*panels, *["learned $f$"] * len(panels)], strict=True):
            style.panel_title(one, next(letters), title)
        for one in axes[:, 0]:
            one.set_ylabel("$y_2$")
        bar = made.colorbar(shown, ax=axes[1], location="bottom", shrink=0.5, aspect=40)
        bar.set_label("$f(y)$ less its largest value (nats)", fontsize=7)
        style.legend_of_scatter(made, claims.METHOD, "training points")


def _draw_points(axes, points: pd.DataFrame, samples: pd.DataFrame) -> None:
    """Draw samples over the training points among some points."""
    of_data, samples = points["method"] == style.DATA, samples[samples["method"] != style.DATA]
    method = samples["method"].iloc[0]
    outside = style.draw_scatter(axes, points[of_data], samples, method, 0.1)
    if outside:
        axes.set_title(f"{outside} out", loc="right", fontsize=6, color=style.line(method)["color"])
    axes.set_box_aspect(1)


def draw_iterations(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a row of snapshots for each panel of the CSV, and below them MMD² for every seed."""
    panels = list(dict.fromkeys(frame["panel"]))
    iterations = sorted(frame["x_right"].dropna().unique())
    across = max(len(iterations), 1)
    heights = [*[style.PAGE / across + 0.4] * len(panels), 1.7]
    letters = iter("abcdefghijklmnop")
    with style.page(style.PAGE, sum(heights) + 0.2, stem=stem) as made:
        outer = made.add_gridspec(len(heights), 1, height_ratios=heights)
        for k, panel in enumerate(panels):
            row = outer[k].subgridspec(1, across).subplots(squeeze=False)[0]
            points = frame[(frame["panel"] == panel) & (frame["kind"] == "scatter")]
            for axes, iteration in zip(row, iterations, strict=False):
                _draw_points(axes, points, points[points["x_right"] == iteration])
                style.panel_title(axes, next(letters), f"{iteration:.0f}")
                axes.tick_params(labelleft=axes is row[0])
            row[len(row) // 2].set_xlabel("$y_1$")
            row[0].set_ylabel(f"{panel}\n$y_2$")
        one_kernel = frame[frame["series"] == _ONE]
        count = len(panels) + (len(one_kernel) > 0)
        below = outer[-1].subgridspec(1, count).subplots(squeeze=False, sharey=True)[0]
        for axes in below:
            axes.set_xscale("symlog", linthresh=100)
            axes.set_yscale("log")
        for axes, panel in zip(below, panels, strict=False):
            curves = frame[(frame["panel"] == panel) & (frame["kind"] == "curve")]
            for _, curve in curves[curves["y"] > 0].groupby("series", sort=False):
                colour = style.line(curve["method"].iloc[0])["color"]
                axes.plot(curve["x"], curve["y"], color=colour, linewidth=0.6, alpha=0.8)
            axes.set(xlabel="iteration", xlim=(0, curves["x"].max()))
            marks = {"transform": axes.get_xaxis_transform(), "clip_on": False, "color": "black"}
            axes.plot(iterations, [0.0] * len(iterations), "^", markersize=3.5, **marks)
            title = f"{panel}, {curves['series'].nunique()} seeds"
            if len(one_kernel):
                title = f"{display(curves['method'].iloc[0])}, its own kernel"
            style.panel_title(axes, next(letters), title)
        if len(one_kernel):
            for (_, method), line in one_kernel.groupby(["panel", "method"], sort=False):
                look = style.line(method) | {"marker": style.marker(method), "markersize": 3}
                below[-1].plot(line["x"], line["y"], linewidth=1.0, clip_on=False, **look)
                end = tuple(line[["x", "y"]].iloc[-1])
                style.beside(below[-1], display(method), end, 4, look["color"])
            below[-1].set(xlabel="iteration", xlim=(0, one_kernel["x"].max()))
            style.panel_title(below[-1], next(letters), f"{_ONE} for all, first seed")
        below[0].set_ylabel("biased MMD² to the\ntraining points")
        shown = "above each panel: its iteration, marked ▲ below"
        style.legend_of_scatter(made, claims.METHOD, "training points", shown)


_SHARED = {"tolerance": verdicts.VERDICTS, "measure": claims.with_samples}
_ITERATIONS = {"build": over_iterations, "draw": draw_iterations, **_SHARED}
_BOTH = {"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}}
_OF_FIG3 = {"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}}
_D5 = {"D5": claims.sampler_converges}

FIG1 = Artefact(__name__, name="fig1", shows=_BOTH, build=samples_and_f, draw=draw_f, **_SHARED)
FIG2 = Artefact(__name__, name="fig2", shows=_BOTH, claims=_D5, **_ITERATIONS)
FIG3 = Artefact(__name__, name="fig3", shows=_OF_FIG3, **_ITERATIONS)


_COSTLY = {
    "DDE": ("DDE", "-"),
    "DDE-penalised": ("DDE, penalised", "--"),
    "DDE-features": ("DDE, features", ":"),
    "KEF": ("KEF, exact", "-"),
    "KEF-nystrom": ("KEF, Nyström", "--"),
}
"""Method of the scores to its displayed name and its line."""

_AXES = {"n": "number of points $n$ (at $d=2$)", "d": "number of dimensions $d$ (at $n=500$)"}
_QUANTITIES = {
    "memory": (metrics.PEAK_MEMORY, "peak memory (MiB)"),
    "seconds": (metrics.FIT_SECONDS, "processor time of one fit (s)"),
}
"""Quantity of a panel to its metric in the scores and the label of its axis."""


def build_cost(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the cost of every method at every size.

    Panels `n memory`, `n seconds`, `d memory`, `d seconds`: x is the size, y MiB or seconds, stat
    `cost`; or `needs`, the memory that a fit of the exact KEF that was not run needs, or
    `no number` for another fit that failed.
    """
    rows = []
    for axis, quantity, method in product(_AXES, _QUANTITIES, _COSTLY):
        variant = next(iter(scores.loc[scores["method"] == method, "variant"]), "")
        known = {"panel": f"{axis} {quantity}", "method": method, "variant": variant}
        known |= {"series": _COSTLY[method][0], "n": 1}
        cost = claims.along(scores, axis, method, _QUANTITIES[quantity][0])
        at = known | {"kind": "curve", "stat": "cost"}
        rows += [at | {"x": x, "y": y} for x, y in cost.items()]
        if quantity == "memory":
            needed = claims.along(scores, axis, method, metrics.SYSTEM_MEMORY)
            for x in sorted({*claims.sweep(scores, axis).index} - {*cost.index}):
                at = {"kind": "scatter", "stat": "needs" if x in needed else "no number"}
                rows.append(known | at | {"x": x, "y": needed.get(x)})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw_cost(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw memory above seconds, against n and against d."""
    with style.figure(style.PAGE, 4.8, columns=2, rows=2, sharey="row", stem=stem) as (made, axes):
        letters = iter("abcd")
        for row, (quantity, (_, label)) in zip(axes, _QUANTITIES.items(), strict=True):
            for one, (axis, words) in zip(row, _AXES.items(), strict=True):
                _draw_panel(one, frame[frame["panel"] == f"{axis} {quantity}"])
                one.set_xlabel(words)
                style.panel_title(one, next(letters), f"{quantity.capitalize()} against ${axis}$")
            row[0].set_ylabel(label)
        keys = [style.key(words, marker="o", **_look(m)) for m, (words, _) in _COSTLY.items()]
        needs = "not run: what the system of exact KEF needs"
        keys.append(style.mark(needs, "o", fillstyle="none"))
        style.legend_above(made, keys, columns=3)


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for (method, stat), rows in panel.sort_values("x").groupby(["method", "stat"]):
        # An empty line without clipping has no extent on a logarithmic axis, and breaks the layout.
        hollow = {"fillstyle": "none", "linestyle": "none", "markersize": 4}
        if stat != "no number":
            look = _look(method) | (hollow if stat == "needs" else {})
            axes.plot(rows["x"], rows["y"], marker="o", clip_on=False, **look)
    sizes = sorted(set(panel["x"]))
    axes.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.1, sizes[-1]))
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _look(method: str) -> dict:
    colour = style.COLOURS[method.partition("-")[0]]
    return {"color": colour, "linestyle": _COSTLY[method][1], "markersize": 2.5}


_D7 = {"D7": claims.cheaper_estimation}

COST = Artefact(__name__, {"estimation_cost": {}}, build_cost, draw_cost, _D7, name="cost")


_FURTHER = {
    claims.TIME: "Seconds to draw as many samples as there are test points",
    claims.RATE: "Effective samples a second; those of DDE are independent",
    claims.MMD_TRAIN: "MMD² × 1000 to the training points, as the text of the paper says",
    claims.EXCESS: "Negative log-likelihood of the test points less that under their own law "
    "(nats)",
    metrics.R_HAT: "Largest R-hat of KEF's chains",
    "acceptance_rate": "Share of their transitions that are accepted",
    "points_without_density": "Test points outside DDE's bounding box, which have no density",
}
_BETWEEN = 0.5  # rows between data sets
_PANELS = {
    MMD: "MMD² to the test set × 1000; lower is better",
    claims.TIME: "seconds for as many samples as test points",
}


def draw_table1(artefact: Artefact, table: pd.DataFrame, stem: Path) -> None:
    """Draw MMD² and time on logarithmic axes, a row a method."""
    datasets = published.datasets("dde", "table1")
    shown = table[table["metric"].isin(_PANELS) & table["method"].isin(artefact.methods)]
    known = set(zip(shown["dataset"], shown["method"], strict=True))
    rows = [cell for cell in product(datasets, artefact.methods) if cell in known]
    places = {row: k + _BETWEEN * datasets.index(row[0]) for k, row in enumerate(rows)}
    last = max(places.values())
    height = 1.0 + 0.18 * last
    with style.figure(style.PAGE, height, columns=2, sharey=True, stem=stem) as (made, axes):
        for one, letter, metric in zip(axes, "ab", _PANELS, strict=True):
            cells = shown[shown["metric"] == metric]
            ends = cells[["mean", "published_mean"]].where(lambda each: each > 0)
            one.set_xscale("log")
            one.set_xlim(np.nanmin(ends, initial=1e3) / 1.6, np.nanmax(ends, initial=1e-3) * 1.6)
            for cell in cells.itertuples():
                _draw_cell(one, places[cell.dataset, cell.method], cell)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, _PANELS[metric])
        axes[0].set_yticks([*places.values()], [f"{name}: {display(m)}" for name, m in rows])
        axes[0].set_ylim(last + 0.6, -0.6)
        bar = "± standard error (of two seeds: their range)"
        keys = [style.mark("our mean", "o"), style.key(bar, color=style.GREY, linewidth=2.4)]
        keys.append(style.mark("published", "o", markerfacecolor="white"))
        keys += [style.mark("mean below 0", "<")] if (shown["mean"] <= 0.0).any() else []
        style.legend_above(made, keys)


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


_TABLE1 = {"kind": "table", "tolerance": verdicts.VERDICTS, "metric": MMD, "trial": "seed"}
_TABLE1 |= {"build": build_table1, "draw": draw_table1, "further": _FURTHER, "published_trials": 1}

TABLE1 = Artefact(
    __name__,
    name="table1",
    shows={"planar": {"methods": ["DDE", "DDE-narrow", "KEF", "KEF-100-steps"]}},
    claims={"D2": claims.faster_sampling},
    measure=claims.with_excess,
    **_TABLE1,
)

SEEDS = Artefact(
    __name__,
    name="table1-seeds",
    stage=READINGS,
    shows={"planar": {"scale": "paper", "methods": ["DDE", "DDE-narrow", "KEF"]}},
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
        effect = (theirs - exact).replace([np.inf, -np.inf], np.nan).dropna()
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
        "share": (("DDE", EXPLAINED), lambda share: plain(share, ".0%").replace("-", "−")),
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


def draw_likelihood(artefact: Artefact, table: pd.DataFrame, stem: Path) -> None:
    """Draw differences from the published values, where there are any."""
    primary, names = table[table["metric"] == NLL], ["mean", "median", "published_mean"]
    shown = primary.copy()
    shift = shown.groupby("dataset")["published_mean"].transform("first").astype(float)
    shown[names] = shown[names].sub(shift, axis=0)
    shown = shown[shift.notna()]
    if not len(shown):  # made-up data: no published values
        artefact, shown = replace(artefact, axis_label="negative log-likelihood (nats)"), primary
    dot_plot.draw(artefact, shown, stem, one_axis=True)


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
    draw=dot_plot.draw,
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
    page=page.of_figure,
    **_TABLE2,
)


GAP, GAIN, CHOSEN_GAIN = "objective_gap", "held_out_gain", "held_out_gain_stopped"
"""Loss of the trained f less the smallest; test -log p of the trained f less that of the optimum,
and less that of the optimum with the chosen η. All in nats."""

_DIFFERENCES = {
    GAP: (metrics.PENALISED_LOSS, metrics.OPTIMUM),
    GAIN: (metrics.TRAINED_NLL, metrics.OPTIMUM),
    CHOSEN_GAIN: (metrics.TRAINED_NLL, metrics.STOPPED),
}
_SHOWN = {
    of_optimum(TRAINED, metrics.PENALISED_LOSS): "loss: trained",
    of_optimum(metrics.OPTIMUM, metrics.PENALISED_LOSS): "optimum",
    GAP: "gap",
    of_optimum(TRAINED, metrics.TRAINING_NLL): "training −log p: trained",
    of_optimum(metrics.OPTIMUM, metrics.TRAINING_NLL): "optimum",
    of_optimum(TRAINED, metrics.TRAINED_NLL): "test −log p: trained",
    of_optimum(metrics.OPTIMUM, metrics.TRAINED_NLL): "optimum",
    of_optimum(metrics.PRIOR, metrics.TRAINED_NLL): "η = 1/n",
    of_optimum(metrics.STOPPED, metrics.TRAINED_NLL): "η chosen",
}
"""Metrics and headings of the page's columns."""

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


def draw_optimum(artefact: Artefact, table: pd.DataFrame, stem: Path) -> None:
    """Draw the gap of the loss beside the gain on test rows."""
    datasets = list(table.loc[table["metric"] == GAP, "dataset"].unique())
    height = 1.1 + 0.19 * max(len(datasets), 4)
    keys = [style.key("± 2 standard errors", color=style.GREY)]
    with style.figure(style.PAGE, height, columns=2, sharey=True, stem=stem) as (made, axes):
        for method, shift in zip(_MARKS, (-0.15, 0.15), strict=True):
            colour, mark = style.line(method)["color"], style.marker(method)
            for one, metric in ((axes[0], GAP), (axes[1], GAIN), (axes[1], CHOSEN_GAIN)):
                own = table[(table["metric"] == metric) & (table["method"] == method)]
                at = own["dataset"].map(datasets.index) + shift
                look = {"color": colour, "ms": 4, "mfc": _FACES.get(metric, colour)}
                reach = 2.0 * own["stderr"].fillna(0.0) if metric in (GAP, GAIN) else None
                one.errorbar(own["median"], at, xerr=reach, fmt=mark, elinewidth=1.0, **look)
            keys.append(style.mark(_MARKS[method], mark))
        keys.append(style.mark("optimum under a held-out penalty", "o", mfc="white"))
        style.legend_above(made, keys, columns=2)
        titles = ("Training loss above the optimum", "Test NLL: DDE minus optimum")
        for one, letter, title in zip(axes, "ab", titles, strict=True):
            one.axvline(0.0, color=style.GREY, linewidth=0.8)
            one.grid(axis="y", color="#EEEEEE", linewidth=0.6)
            one.tick_params(axis="y", length=0)
            one.set(axisbelow=True, xlabel="nats")
            style.panel_title(one, letter, title)
        n = len(datasets)
        axes[0].set(yticks=range(n), yticklabels=datasets, ylim=(n - 0.4, -0.6))


OPTIMUM_OF_DDE = Artefact(
    __name__,
    name="optimum",
    kind="table",
    shows={
        "r_benchmark": {"datasets": _DATASETS, "methods": ["DDE", "DDE-penalised"]},
        "planar": {"methods": ["DDE"]},
    },
    build=build_optimum,
    draw=draw_optimum,
    metric=GAP,
    measure=measure_optimum,
    apart=("DDE", "DDE-penalised"),
    below=page_of_optimum,
    page=page.of_figure,
)
