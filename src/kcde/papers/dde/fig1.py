"""dde figure 1: samples and learned functions on ring, grid and two moons."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.evidence import tolerances
from kcde.evidence.cells import splits
from kcde.pages import scatter, scatter_panel, style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.dde import plane

_SHOWN = 1000  # samples in a panel; all training points are shown
_STRIDE = 2  # every second of the 100 × 100 points of f is enough for a panel of two inches
_DEPTH = 8.0  # nats below the largest f that are told apart


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points and f of the first seed that did not fail, and the modes' shares over all.

    A panel is a data set, or a variation of DDE on one. Rows without `stat` are points of the
    method `data` or of the sampler, or of the kind `surface`; those with the stat `mode_share` say
    in `y` which share of the samples is nearest to the mode named in `series`, as mean and range
    over `n` seeds, and in `x` its weight.
    """
    order = {name: k for k, name in enumerate(plane.DATASETS)}
    rows = []
    for path in sorted(files, key=lambda path: order.get(path.parent.name, len(order))):
        dataset, method = path.parent.name, path.stem
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
        variant, panel = here["variant"].iloc[0], plane.panel(dataset, method)
        with np.load(path.with_suffix(".npz")) as arrays:
            if "train" in arrays:  # a seed succeeded
                train, samples = arrays["train"], arrays["samples"]
                rows += scatter.points(panel, scatter.DATA, "", train, len(train))
                rows += scatter.points(panel, method, variant, samples, _SHOWN)
                across, up = (arrays[f"surface_{name}"][::_STRIDE] for name in "xy")
                values = arrays["surface_f"][::_STRIDE, ::_STRIDE]
                same = scatter.row(panel, method, variant) | {"kind": "surface"}
                rows += [
                    {**same, "x": x, "y": y, "y_high": values[k, j]}
                    for k, y in enumerate(up)
                    for j, x in enumerate(across)
                ]
        modes = made_up.planar_modes(dataset)
        for label, weight in zip(modes.labels, modes.weights, strict=True):
            share = splits(here, dataset, method, variant, f"{plane.SHARE}:{label}").dropna()
            if len(share):
                of = {"x": weight, "y": share.mean(), "y_low": share.min(), "y_high": share.max()}
                of |= {"series": label, "stat": plane.SHARE, "n": len(share)}
                rows.append(scatter.row(panel, method, variant, **of))
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a column for each data set or variation: samples above the learned f."""
    rows = frame[frame["stat"].isna()]
    panels = list(dict.fromkeys(rows["panel"]))
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    levels = np.arange(-_DEPTH, 0.5, 1.0)
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    with style.figure(width, 4.4, len(panels), 2, **options) as (made, axes):
        for k, (panel, (above, below)) in enumerate(zip(panels, axes.T, strict=True)):
            here = rows[rows["panel"] == panel]
            points, surface = (here[here["kind"] == kind] for kind in ("scatter", "surface"))
            data, samples = (
                points[points["method"].eq(scatter.DATA) == of_data] for of_data in (True, False)
            )
            method = samples["method"].iloc[0]
            outside = scatter_panel.draw(above, data, samples, method, 0.1)
            scatter_panel.count_outside(above, outside, method)
            table = surface.pivot(index="y", columns="x", values="y_high")
            f = table.to_numpy() - table.to_numpy().max()
            shown = below.contourf(
                table.columns, table.index, f, levels, cmap="cividis", extend="min"
            )
            style.panel_title(above, "abcdefghijklmnop"[k], panel)
            style.panel_title(below, "abcdefghijklmnop"[len(panels) + k], "learned $f$")
            for one in (above, below):
                one.set_box_aspect(1)
            below.set_xlabel("$y_1$")
        for one in axes[:, 0]:
            one.set_ylabel("$y_2$")
        bar = made.colorbar(shown, ax=axes[1], location="bottom", shrink=0.5, aspect=40)
        bar.set_label("$f(y)$ less its largest value (nats)", fontsize=7)
        bar.ax.tick_params(labelsize=6)
        scatter_panel.legend(made, plane.METHOD, "training points")
        return style.save(made, stem)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    measure=plane.with_samples,
    trial="seed",
)
