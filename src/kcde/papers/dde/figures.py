"""dde figures 1 to 3: samples and learned functions, and the sampler over the iterations."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.evidence import tolerances
from kcde.evidence.cells import splits
from kcde.pages import scatter, scatter_panel, style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import claims, plane

_SAMPLES, _SNAPSHOT = 1000, 500  # samples in a panel, of figure 1 and of an iteration
_STRIDE = 2  # every second of the 100 × 100 points of f is enough for a panel of two inches
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
        panel = dataset if method == plane.METHOD else f"{dataset}, {method}"
        with np.load(path.with_suffix(".npz")) as stored:
            yield here, dataset, dict(stored), (panel, method, here["variant"].iloc[0])


def samples_and_f(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points and f of the first seed that did not fail, and the modes' shares over all.

    Rows without `stat` are points of the method `data` or of the sampler, or of the kind `surface`;
    those with the stat `mode_share` say in `y` which share of the samples is nearest to the mode
    named in `series`, as mean and range over `n` seeds, and in `x` its weight.
    """
    order = {name: k for k, name in enumerate(plane.DATASETS)}
    files = sorted(files, key=lambda path: order.get(path.parent.name, len(order)))
    rows = []
    for here, dataset, arrays, same in _fits(scores, files):
        if "train" in arrays:
            rows += _data(same[0], arrays)
            rows += scatter.points(*same, arrays["samples"], _SAMPLES)
            across, up = (arrays[f"surface_{name}"][::_STRIDE] for name in "xy")
            values, known = arrays["surface_f"][::_STRIDE, ::_STRIDE], scatter.row(*same)
            rows += [
                known | {"kind": "surface", "x": x, "y": y, "y_high": values[k, j]}
                for k, y in enumerate(up)
                for j, x in enumerate(across)
            ]
        modes = made_up.planar_modes(dataset)
        for label, weight in zip(modes.labels, modes.weights, strict=True):
            share = splits(here, dataset, *same[1:], f"{plane.SHARE}:{label}").dropna()
            if len(share):
                of = {"x": weight, "y": share.mean(), "y_low": share.min(), "y_high": share.max()}
                of |= {"series": label, "stat": plane.SHARE, "n": len(share)}
                rows.append(scatter.row(*same, **of))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _data(panel: str, arrays: dict) -> list[dict]:
    return scatter.points(panel, scatter.DATA, "", arrays["train"], len(arrays["train"]))


def over_iterations(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return snapshots of the first seed that did not fail, and MMD² by iteration for all.

    Points are of kind `scatter`, of the method `data` or of the sampler, whose iteration stands in
    `x_right`; MMD² is one `curve` for each seed with the iteration in `x`. Without the published
    sets or iterations, all are shown.
    """
    datasets, iterations = _PUBLISHED[artefact.name]
    own = [path for name in datasets for path in files if path.parent.name == name]
    rows = []
    for _, _, arrays, same in _fits(scores, own or files):
        if "train" in arrays:
            rows += _data(same[0], arrays)
            kept = arrays["snapshot_iterations"]
            shown = [k for k, iteration in enumerate(kept) if iteration in iterations]
            for k in shown if len(shown) > 1 else range(len(kept)):
                drawn = arrays["snapshots"][k]
                rows += scatter.points(*same, drawn, _SNAPSHOT, x_right=kept[k])
        checks, mmd2 = plane.history(arrays)
        rows += [
            scatter.row(*same) | {"kind": "curve", "series": f"seed {seed}", "x": x, "y": y}
            for seed, values in enumerate(mmd2)
            for x, y in zip(checks, values, strict=True)
        ]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw_f(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a column for each data set or variation: samples above the learned f."""
    rows = frame[frame["stat"].isna()]
    panels = list(dict.fromkeys(rows["panel"]))
    letters, levels = iter("abcdefghijklmnop"), np.arange(-_DEPTH, 0.5)
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    with style.figure(width, 4.4, len(panels), 2, **options) as (made, axes):
        for panel, one in zip(panels, axes[0], strict=True):
            points = rows[(rows["panel"] == panel) & (rows["kind"] == "scatter")]
            _draw_points(one, points, points)
            style.panel_title(one, next(letters), panel)
        for panel, one in zip(panels, axes[1], strict=True):
            surface = rows[(rows["panel"] == panel) & (rows["kind"] == "surface")]
            f = surface.pivot(index="y", columns="x", values="y_high")
            f -= f.max(axis=None)
            look = {"levels": levels, "cmap": "cividis", "extend": "min"}
            shown = one.contourf(f.columns, f.index, f, **look)
            one.set_box_aspect(1)
            one.set_xlabel("$y_1$")
            style.panel_title(one, next(letters), "learned $f$")
        for one in axes[:, 0]:
            one.set_ylabel("$y_2$")
        bar = made.colorbar(shown, ax=axes[1], location="bottom", shrink=0.5, aspect=40)
        bar.set_label("$f(y)$ less its largest value (nats)", fontsize=7)
        scatter_panel.legend(made, plane.METHOD, "training points")
        return style.save(made, stem)


def _draw_points(axes, points: pd.DataFrame, samples: pd.DataFrame) -> None:
    """Draw samples over the training points among some points."""
    of_data, samples = points["method"] == scatter.DATA, samples[samples["method"] != scatter.DATA]
    method = samples["method"].iloc[0]
    outside = scatter_panel.draw(axes, points[of_data], samples, method, 0.1)
    scatter_panel.count_outside(axes, outside, method)
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
        below = outer[-1].subgridspec(1, len(panels)).subplots(squeeze=False, sharey=True)[0]
        for axes, panel in zip(below, panels, strict=True):
            curves = frame[(frame["panel"] == panel) & (frame["kind"] == "curve")]
            axes.set_xscale("symlog", linthresh=100)
            axes.set_yscale("log")
            for _, curve in curves[curves["y"] > 0].groupby("series", sort=False):
                colour = style.line(curve["method"].iloc[0])["color"]
                axes.plot(curve["x"], curve["y"], color=colour, linewidth=0.6, alpha=0.8)
            axes.set(xlabel="iteration", xlim=(0, curves["x"].max()))
            marks = {"transform": axes.get_xaxis_transform(), "clip_on": False, "color": "black"}
            axes.plot(iterations, [0.0] * len(iterations), "^", markersize=3.5, **marks)
            style.panel_title(axes, next(letters), f"{panel}, {curves['series'].nunique()} seeds")
        below[0].set_ylabel("biased MMD² to the\ntraining points")
        shown = "above each panel: its iteration, marked ▲ below"
        scatter_panel.legend(made, plane.METHOD, "training points", shown)
        return style.save(made, stem)


_SHARED = {"kind": "figure", "tolerance": tolerances.VERDICTS, "trial": "seed"}
_SHARED["measure"] = plane.with_samples
_ITERATIONS = {"build": over_iterations, "draw": draw_iterations, **_SHARED}
_BOTH = {"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}}
_DDE = {"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}}
_D5 = {"D5": claims.sampler_converges}

FIG1 = Artefact(__name__, name="fig1", shows=_BOTH, build=samples_and_f, draw=draw_f, **_SHARED)
FIG2 = Artefact(__name__, name="fig2", shows=_BOTH, claims=_D5, **_ITERATIONS)
FIG3 = Artefact(__name__, name="fig3", shows=_DDE, **_ITERATIONS)
