"""Figures 2 and 3: samples of the learned sampler and its MMD² over the iterations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.pages import scatter, scatter_panel, style
from kcde.pages.scatter import DATA
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import _planar

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SHOWN = 500  # samples in a panel
_CURVES = 1.7  # inches of the lowest row
_HEAD = 0.4  # inches above and below a snapshot
_MARGIN = 0.1  # around the data, as a fraction of their range
_LEGEND = 0.2  # inches of the legend
_FEW, _LARGE, _SMALL = 4, 1.5, 0.9  # panels side by side, and points of a mark: fewer, and more
_LINEAR = 100  # iterations before the logarithmic axis begins


def history(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations (checks,) and MMD² (seeds, checks); no checks where every seed failed."""
    with np.load(path.with_suffix(".npz")) as arrays:
        if "history_iteration" not in arrays:
            return np.empty(0), np.empty((len(arrays["samples_all"]), 0))
        return arrays["history_iteration"], arrays["history_mmd2"]


def frame_of(
    scores: pd.DataFrame,
    files: Sequence[Path],
    datasets: Sequence[str],
    iterations: Sequence[int],
) -> pd.DataFrame:
    """Return snapshots of the first seed that did not fail, and MMD² by iteration for all.

    Parameters
    ----------
    scores
        Of the experiment `planar`.
    files
        Their files; training points, snapshots and history stand in the `.npz` beside each.
    datasets
        Those shown; where there are none of them, all that there are.
    iterations
        Those shown; where there are fewer than two of them, all that there are.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel is a data set, or a variation of DDE on one. Points are of
        kind `scatter`, of the method `data` or of the sampler, whose iteration stands in `x_right`;
        MMD² is one `curve` for each seed with the iteration in `x`.
    """
    published = [path for name in datasets for path in files if path.parent.name == name]
    rows = []
    for path in published or files:
        here = scores[(scores["dataset"] == path.parent.name) & (scores["method"] == path.stem)]
        rows += _snapshots(path, here["variant"].iloc[0], iterations)
        rows += _curves(path, here["variant"].iloc[0])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _snapshots(path: Path, variant: str, wanted: Sequence[int]) -> list[dict]:
    name = _planar.panel(path.parent.name, path.stem)
    with np.load(path.with_suffix(".npz")) as arrays:
        if "train" not in arrays:  # every seed failed
            return []
        train, kept, drawn = (arrays[key] for key in ("train", "snapshot_iterations", "snapshots"))
    shown = [k for k, iteration in enumerate(kept) if iteration in wanted]
    rows = scatter.points(name, DATA, "", train, len(train))
    for k in shown if len(shown) > 1 else range(len(kept)):
        at = {"x_right": kept[k]}
        rows += scatter.points(name, path.stem, variant, drawn[k], _SHOWN, **at)
    return rows


def _curves(path: Path, variant: str) -> list[dict]:
    iterations, mmd2 = history(path)
    panel = _planar.panel(path.parent.name, path.stem)
    same = scatter.row(panel, path.stem, variant) | {"kind": "curve"}
    return [
        {**same, "series": f"seed {seed}", "x": x, "y": y}
        for seed, values in enumerate(mmd2)
        for x, y in zip(iterations, values, strict=True)
    ]


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how far MMD² fell, over how many seeds."""
    said = []
    for name, curves in frame[frame["kind"] == "curve"].groupby("panel", sort=False):
        table = curves.pivot(index="x", columns="series", values="y")
        ends = table.iloc[[0, -1]].median(axis=1) * 1000.0
        said.append(
            f"{name} {ends.iloc[0]:.3g} at iteration {table.index[0]:.0f} and {ends.iloc[1]:.3g} "
            f"at {table.index[-1]:.0f} ({table.shape[1]} seeds)"
        )
    return [f"Median over the seeds of MMD² × 1000: {'; '.join(said)}."] if said else []


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a row of snapshots for each panel of the CSV, and below them MMD² for every seed."""
    panels = list(dict.fromkeys(frame["panel"]))
    iterations = sorted(frame["x_right"].dropna().unique())
    side = style.PAGE / max(len(iterations), 1) + _HEAD
    heights = [*[side] * len(panels), _CURVES]
    letters = iter("abcdefghijklmnop")
    with style.page(style.PAGE, sum(heights) + _LEGEND) as made:
        outer = made.add_gridspec(len(heights), 1, height_ratios=heights)
        for k, panel in enumerate(panels):
            row = outer[k].subgridspec(1, max(len(iterations), 1)).subplots(squeeze=False)[0]
            _draw_row(row, frame[frame["panel"] == panel], iterations, letters)
        below = outer[-1].subgridspec(1, len(panels)).subplots(squeeze=False, sharey=True)[0]
        for axes, panel in zip(below, panels, strict=True):
            curves = frame[(frame["panel"] == panel) & (frame["kind"] == "curve")]
            _draw_curves(axes, curves, iterations)
            style.panel_title(axes, next(letters), f"{panel}, {curves['series'].nunique()} seeds")
        below[0].set_ylabel("biased MMD² to the\ntraining points")
        shown = "above each panel: its iteration, marked ▲ below"
        scatter_panel.legend(made, _planar.METHOD, "training points", shown)
        return style.save(made, stem)


def _draw_row(row, frame: pd.DataFrame, iterations: list[float], letters) -> None:
    """Draw the snapshots of one data set."""
    points = frame[frame["kind"] == "scatter"]
    data, samples = points[points["method"] == DATA], points[points["method"] != DATA]
    for k, (axes, iteration) in enumerate(zip(row, iterations, strict=False)):
        here = samples[samples["x_right"] == iteration]
        method = samples["method"].iloc[0]
        outside = scatter_panel.draw(axes, data, here, method, _MARGIN)
        scatter_panel.count_outside(axes, outside, method)
        style.panel_title(axes, next(letters), f"{iteration:.0f}")
        for points_drawn in axes.get_lines():
            points_drawn.set_markersize(_SMALL if len(iterations) > _FEW else _LARGE)
        axes.set_box_aspect(1)
        axes.tick_params(labelleft=k == 0)
    row[len(row) // 2].set_xlabel("$y_1$")
    row[0].set_ylabel(f"{frame['panel'].iloc[0]}\n$y_2$")


def _draw_curves(axes: "Axes", curves: pd.DataFrame, iterations: list[float]) -> None:
    """Draw one thin line for each seed; triangles mark the iterations of the snapshots."""
    axes.set_xscale("symlog", linthresh=_LINEAR)
    axes.set_yscale("log")
    for _, curve in curves[curves["y"] > 0].groupby("series", sort=False):
        colour = style.line(curve["method"].iloc[0])["color"]
        axes.plot(curve["x"], curve["y"], color=colour, linewidth=0.6, alpha=0.8)
    axes.set_xlabel("iteration")
    axes.set_xlim(0, curves["x"].max())
    axes.plot(
        iterations,
        [0.0] * len(iterations),
        "^",
        transform=axes.get_xaxis_transform(),
        color=style.BLACK,
        markersize=3.5,
        clip_on=False,
        zorder=5,
    )
