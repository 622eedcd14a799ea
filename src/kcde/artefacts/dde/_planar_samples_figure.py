"""Drawing dde figure 1: a column a data set or variation, samples above and the learned f below."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde._planar import METHOD
from kcde.artefacts.dde._planar_samples import SURFACE
from kcde.artefacts.plots import scatter_panel, style
from kcde.artefacts.plots.scatter import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 3.3
_LETTERS = "abcdefghijklmnop"
_MARGIN = 0.1  # around the data, as a share of their range: the frame of the surface


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 1 from its tracked CSV.

    Parameters
    ----------
    artefact
        The declaration.
    frame
        As tracked.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The PNG and the PDF.
    """
    panels = list(dict.fromkeys(frame["panel"]))
    rows = frame[frame["stat"].isna()]
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    options = {"sharex": "col", "sharey": "col", "squeeze": False}
    with style.figure(width, _HEIGHT, len(panels), 2, **options) as (made, axes):
        for k, (panel, (above, below)) in enumerate(zip(panels, axes.T, strict=True)):
            here = rows[rows["panel"] == panel]
            _draw_samples(above, here[here["kind"] == "scatter"], _LETTERS[k])
            _draw_surface(made, below, here[here["kind"] == SURFACE], _LETTERS[len(panels) + k])
        for one in axes[:, 0]:
            one.set_ylabel("$y_2$")
        scatter_panel.legend(made, METHOD, "training points")
        return style.save(made, stem)


def _draw_samples(axes: "Axes", points: pd.DataFrame, letter: str) -> None:
    of_data = points["method"] == DATA
    data, samples = points[of_data], points[~of_data]
    method = samples["method"].iloc[0]
    scatter_panel.count_outside(
        axes, scatter_panel.draw(axes, data, samples, method, _MARGIN), method
    )
    style.panel_title(axes, letter, points["panel"].iloc[0])
    axes.set_box_aspect(1)


def _draw_surface(made, axes: "Axes", surface: pd.DataFrame, letter: str) -> None:
    table = surface.pivot(index="y", columns="x", values="y_high")
    shown = axes.pcolormesh(
        table.columns, table.index, table.to_numpy(), cmap="cividis", shading="gouraud"
    )
    shown.set_rasterized(True)
    bar = made.colorbar(shown, ax=axes, pad=0.02, aspect=25)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=6)
    style.panel_title(axes, letter, "learned $f$")
    axes.set_box_aspect(1)
    axes.set_xlabel("$y_1$")
