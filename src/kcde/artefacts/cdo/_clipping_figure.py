"""Drawing what clipping costs: a panel for rough terrain and one for each x of the donut."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.cdo._clipping import CLIPPED, TERRAIN
from kcde.artefacts.cdo._terrain_tables import CENTRED, DEFINITIONS
from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import box_plots, box_statistics, style

_HEAD = 1.0  # inches beside the lanes
_LABELS = {True: DEFINITIONS[CENTRED], False: "error against $p(y|x)$"}


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the figure from its tracked CSV.

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
    means = frame[frame["stat"] == box_statistics.MEAN]
    methods = [name for name in artefact.methods if name in set(means["method"])]
    as_published = set(means.loc[means["variant"] == AS_PUBLISHED, "method"])
    panels = list(dict.fromkeys(means["panel"]))
    height = _HEAD + box_plots.ROW_HEIGHT * len(methods)
    size = {"columns": max(len(panels), 1), "squeeze": False, "sharey": True}
    with style.figure(style.PAGE, height, **size) as (made, axes):
        box_plots.label_rows(axes[0, 0], methods, as_published, lines=1)
        for one, letter, panel in zip(axes[0], "abc", panels, strict=False):
            here = frame[frame["panel"] == panel]
            ends, medians = (
                here.loc[here["stat"] == stat, "y"]
                for stat in (box_statistics.WHISKER_HIGH, box_statistics.MEDIAN)
            )
            one.set_xlim(0.0, box_plots.axis_limit(ends, medians))
            box_plots.draw_boxes(one, here, methods, as_published)
            _draw_bar(one, here)
            box_plots.separate_families(one, methods)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, panel.replace("x = ", "$x=$"))
            one.set_xlabel(_LABELS[panel == TERRAIN])
        return style.save(made, stem)


def _draw_bar(axes, here: pd.DataFrame) -> None:
    """Draw half the mean error of clipped weights, which claim C6 wants to see undercut."""
    clipped = here[(here["method"] == CLIPPED) & (here["stat"] == box_statistics.MEAN)]
    for mean in clipped["y"]:
        look = box_plots.ReferenceLine("half of LSCDE's", style.line(CLIPPED)["color"], ":")
        box_plots.draw_reference_line(axes, 0.5 * mean, look)
