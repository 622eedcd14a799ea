"""Drawing kcef figures 2 and 4: samples over the data, a panel a data set and sampler."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import scatter_panel, style
from kcde.artefacts.plots.scatter import DATA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDE = 2.3  # inches of a panel
_MARGIN = 0.06  # of the data's range, around them


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 2 or 4 from its tracked CSV: a row a data set where several samplers are shown.

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
    datasets = list(dict.fromkeys(frame["panel"]))
    methods = [name for name in dict.fromkeys(frame["method"]) if name != DATA]
    pairs = [(dataset, method) for dataset in datasets for method in methods]
    rows, columns = (len(datasets), len(methods)) if len(methods) > 1 else (1, len(datasets))
    width = style.PAGE if columns > 1 else style.COLUMN
    height = rows * (_SIDE if columns > 2 else 1.2 * _SIDE)
    with style.figure(width, height, columns, rows, squeeze=False) as (made, axes):
        for letter, one, (dataset, method) in zip("abcdefghij", axes.flat, pairs, strict=False):
            outside = _draw_panel(one, frame[frame["panel"] == dataset], method)
            title = dataset if rows == 1 else ""
            scatter_panel.heading(one, letter, title, method, outside)
            # Panels of a row share their axis, and its name says which data set they show.
            if rows > 1:
                label = f"{dataset}\n{one.get_ylabel()}" if method == methods[0] else ""
                one.set_ylabel(label, fontsize=7)
        return style.save(made, stem)


def _draw_panel(axes: "Axes", frame: pd.DataFrame, method: str) -> int:
    """Draw the points and return how many samples lie outside the frame."""
    points = frame[frame["stat"].isna()]
    data, samples = points[points["method"] == DATA], points[points["method"] == method]
    outside = scatter_panel.draw(axes, data, samples, method, _MARGIN)
    for name, set_label in (("x", axes.set_xlabel), ("y", axes.set_ylabel)):
        label = frame.loc[frame["stat"] == f"{name}_label", "series"].iloc[0]
        set_label(f"{label} (sd)", fontsize=7)
    return outside
