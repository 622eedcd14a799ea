"""dde figures 1 to 3, samples, learned functions and the sampler over the iterations; and cost."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.evidence import tolerances
from kcde.evidence.cells import splits
from kcde.kernels import median_trick
from kcde.metrics import FIT_SECONDS, PEAK_MEMORY, SYSTEM_MEMORY, mmd2_biased
from kcde.pages import scatter, style
from kcde.pages.words import display
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import claims

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
        with np.load(path.with_suffix(".npz")) as stored:
            yield here, dataset, dict(stored), (panel, method, here["variant"].iloc[0])


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
            rows += scatter.points(*same, arrays["samples"], _SAMPLES)
            across, up = (arrays[f"surface_{name}"][::_STRIDE] for name in "xy")
            values, known = arrays["surface_f"][::_STRIDE, ::_STRIDE], scatter.row(*same)
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
                rows.append(scatter.row(*same, **of, **named))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _data(panel: str, arrays: dict) -> list[dict]:
    return scatter.points(panel, scatter.DATA, "", arrays["train"], len(arrays["train"]))


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
                rows += (samples := scatter.points(*same, drawn, _SNAPSHOT, x_right=kept[k]))
                if len(artefact.shows["planar"]["methods"]) > 1:
                    rows.append(_by_one_kernel(data, samples))
        checks, mmd2 = claims.history(arrays)
        rows += [
            scatter.row(*same) | {"kind": "curve", "series": f"seed {seed}", "x": x, "y": y}
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


def draw_f(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a column for each data set or variation: samples above the learned f."""
    rows = frame[frame["stat"].isna()]
    panels = list(dict.fromkeys(rows["panel"]))
    letters, levels = iter("abcdefghijklmnop"), np.arange(-_DEPTH, 0.5)
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    with style.figure(width, 4.4, len(panels), 2, **options) as (made, axes):
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
        scatter.legend(made, claims.METHOD, "training points")
        return style.save(made, stem)


def _draw_points(axes, points: pd.DataFrame, samples: pd.DataFrame) -> None:
    """Draw samples over the training points among some points."""
    of_data, samples = points["method"] == scatter.DATA, samples[samples["method"] != scatter.DATA]
    method = samples["method"].iloc[0]
    outside = scatter.draw_panel(axes, points[of_data], samples, method, 0.1)
    if outside:
        colour = style.line(method)["color"]
        axes.set_title(f"{outside} out", loc="right", fontsize=6, color=colour)
    axes.set_box_aspect(1)


def draw_iterations(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a row of snapshots for each panel of the CSV, and below them MMD² for every seed."""
    panels = list(dict.fromkeys(frame["panel"]))
    iterations = sorted(frame["x_right"].dropna().unique())
    across = max(len(iterations), 1)
    heights = [*[style.PAGE / across + 0.4] * len(panels), 1.7]
    letters = iter("abcdefghijklmnop")
    with style.page(style.PAGE, sum(heights) + 0.2) as made:
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
        scatter.legend(made, claims.METHOD, "training points", shown)
        return style.save(made, stem)


_SHARED = {"tolerance": tolerances.VERDICTS, "trial": "seed"}
_SHARED["measure"] = claims.with_samples
_ITERATIONS = {"build": over_iterations, "draw": draw_iterations, **_SHARED}
_BOTH = {"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}}
_DDE = {"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}}
_D5 = {"D5": claims.sampler_converges}

FIG1 = Artefact(__name__, name="fig1", shows=_BOTH, build=samples_and_f, draw=draw_f, **_SHARED)
FIG2 = Artefact(__name__, name="fig2", shows=_BOTH, claims=_D5, **_ITERATIONS)
FIG3 = Artefact(__name__, name="fig3", shows=_DDE, **_ITERATIONS)


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
    "memory": (PEAK_MEMORY, "peak memory (MiB)"),
    "seconds": (FIT_SECONDS, "processor time of one fit (s)"),
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
            needed = claims.along(scores, axis, method, SYSTEM_MEMORY)
            for x in sorted(claims.sizes(scores, axis) - set(cost.index)):
                at = {"kind": "scatter", "stat": "needs" if x in needed else "no number"}
                rows.append(known | at | {"x": x, "y": needed.get(x)})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw_cost(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw memory above seconds, against n and against d."""
    with style.figure(style.PAGE, 4.8, columns=2, rows=2, sharey="row") as (made, axes):
        letters = iter("abcd")
        for row, (quantity, (_, label)) in zip(axes, _QUANTITIES.items(), strict=True):
            for one, (axis, words) in zip(row, _AXES.items(), strict=True):
                _draw_panel(one, frame[frame["panel"] == f"{axis} {quantity}"])
                one.set_xlabel(words)
                title = f"{quantity.capitalize()} against ${axis}$"
                style.panel_title(one, next(letters), title)
            row[0].set_ylabel(label)
        keys = [style.key(words, marker="o", **_look(m)) for m, (words, _) in _COSTLY.items()]
        hollow = {"color": style.GREY, "linestyle": "none", "marker": "o", "fillstyle": "none"}
        keys.append(style.key("not run: what the system of exact KEF needs", **hollow))
        style.legend_above(made, keys, columns=3)
        return style.save(made, stem)


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for (method, stat), rows in panel.sort_values("x").groupby(["method", "stat"]):
        # An empty line without clipping has no extent on a logarithmic axis, and breaks the layout.
        hollow = {"fillstyle": "none", "linestyle": "none", "markersize": 4}
        if stat != "no number":
            look = _look(method) | (hollow if stat == "needs" else {})
            axes.plot(rows["x"], rows["y"], marker="o", clip_on=False, **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    sizes = sorted(set(panel["x"]))
    axes.set_xlim(sizes[0] / 1.1, sizes[-1])
    axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axes.minorticks_off()


def _look(method: str) -> dict:
    colour = style.COLOURS[method.partition("-")[0]]
    return {"color": colour, "linestyle": _COSTLY[method][1], "markersize": 2.5}


_D7 = {"D7": claims.cheaper_estimation}
_RUN = {"estimation_cost": {}}

COST = Artefact(__name__, _RUN, build_cost, draw_cost, _D7, name="cost", trial="fit")
