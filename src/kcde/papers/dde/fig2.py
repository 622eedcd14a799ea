"""dde figures 2 and 3: samples of the learned sampler and its MMD² over the iterations."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.pages import scatter, scatter_panel, style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import claims, plane

_SHOWN = {
    "fig2": (["ring"], (0, 500, 2500, 5000, 10000, 20000)),
    "fig3": (["grid", "two-moons"], (0, 500, 1000, 2000)),
}
"""Data sets and iterations, as published."""

_SAMPLES = 500  # in a panel


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return snapshots of the first seed that did not fail, and MMD² by iteration for all.

    A panel is a data set, or a variation of DDE on one. Points are of kind `scatter`, of the method
    `data` or of the sampler, whose iteration stands in `x_right`; MMD² is one `curve` for each seed
    with the iteration in `x`. Without the published sets or iterations, all are shown.
    """
    datasets, iterations = _SHOWN[artefact.name]
    own = [path for name in datasets for path in files if path.parent.name == name]
    rows = []
    for path in own or files:
        dataset, method = path.parent.name, path.stem
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
        variant, panel = here["variant"].iloc[0], plane.panel(dataset, method)
        with np.load(path.with_suffix(".npz")) as arrays:
            if "train" in arrays:  # a seed succeeded
                rows += scatter.points(
                    panel, scatter.DATA, "", arrays["train"], len(arrays["train"])
                )
                kept, drawn = arrays["snapshot_iterations"], arrays["snapshots"]
                shown = [k for k, iteration in enumerate(kept) if iteration in iterations]
                for k in shown if len(shown) > 1 else range(len(kept)):
                    at = {"x_right": kept[k]}
                    rows += scatter.points(panel, method, variant, drawn[k], _SAMPLES, **at)
        same = scatter.row(panel, method, variant) | {"kind": "curve"}
        checks, mmd2 = plane.history(path)
        rows += [
            {**same, "series": f"seed {seed}", "x": x, "y": y}
            for seed, values in enumerate(mmd2)
            for x, y in zip(checks, values, strict=True)
        ]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
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
            _draw_row(row, frame[frame["panel"] == panel], iterations, letters)
        below = outer[-1].subgridspec(1, len(panels)).subplots(squeeze=False, sharey=True)[0]
        for axes, panel in zip(below, panels, strict=True):
            curves = frame[(frame["panel"] == panel) & (frame["kind"] == "curve")]
            axes.set_xscale("symlog", linthresh=100)
            axes.set_yscale("log")
            for _, curve in curves[curves["y"] > 0].groupby("series", sort=False):
                colour = style.line(curve["method"].iloc[0])["color"]
                axes.plot(curve["x"], curve["y"], color=colour, linewidth=0.6, alpha=0.8)
            axes.set_xlabel("iteration")
            axes.set_xlim(0, curves["x"].max())
            marks = {"transform": axes.get_xaxis_transform(), "clip_on": False, "zorder": 5}
            zero = [0.0] * len(iterations)
            axes.plot(iterations, zero, "^", color=style.BLACK, markersize=3.5, **marks)
            style.panel_title(axes, next(letters), f"{panel}, {curves['series'].nunique()} seeds")
        below[0].set_ylabel("biased MMD² to the\ntraining points")
        shown = "above each panel: its iteration, marked ▲ below"
        scatter_panel.legend(made, plane.METHOD, "training points", shown)
        return style.save(made, stem)


def _draw_row(row, frame: pd.DataFrame, iterations: list[float], letters) -> None:
    """Draw the snapshots of one data set."""
    points = frame[frame["kind"] == "scatter"]
    of_data = points["method"] == scatter.DATA
    for k, (axes, iteration) in enumerate(zip(row, iterations, strict=False)):
        here = points[points["x_right"] == iteration]
        method = here["method"].iloc[0]
        outside = scatter_panel.draw(axes, points[of_data], here, method, 0.1)
        scatter_panel.count_outside(axes, outside, method)
        style.panel_title(axes, next(letters), f"{iteration:.0f}")
        for drawn in axes.get_lines():
            drawn.set_markersize(0.9 if len(iterations) > 4 else 1.5)
        axes.set_box_aspect(1)
        axes.tick_params(labelleft=k == 0)
    row[len(row) // 2].set_xlabel("$y_1$")
    row[0].set_ylabel(f"{frame['panel'].iloc[0]}\n$y_2$")


FIG2 = Artefact(
    __name__,
    kind="figure",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    claims={"D5": claims.sampler_converges},
    measure=plane.with_samples,
    trial="seed",
)

FIG3 = Artefact(
    __name__,
    name="fig3",
    kind="figure",
    shows={"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    trial="seed",
)
