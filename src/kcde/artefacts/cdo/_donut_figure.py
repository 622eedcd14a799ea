"""Drawing cdo figure 4: a lane a method, lines for what needs no method, published read-offs."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.artefacts.cdo._donut_errors import EXACT, JOINT, LINE, PLACES, READ_OFF, ZERO
from kcde.artefacts.core.cells import AS_PUBLISHED
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.plots import box_plots, box_statistics, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEAD = 0.75  # inches of a panel beside its lanes
_DASHES = {ZERO: (0, (4, 2)), EXACT: "-"}
_RING = "○  published, read off within ±0.003"
_LABELS = {
    True: "mean error against the joint $p(x, y)$",
    False: "mean error against the conditional $p(y|x)$",
}


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw figure 4, as published or corrected, from its tracked CSV.

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
    from matplotlib.offsetbox import TextArea

    drawn = frame[frame["stat"] == box_statistics.MEAN]
    methods = list(dict.fromkeys(drawn["method"]))
    as_published = set(drawn.loc[drawn["variant"] == AS_PUBLISHED, "method"])
    panels = [name for name in PLACES if name in set(frame["panel"])]
    height = len(panels) * (_HEAD + box_plots.ROW_HEIGHT * len(methods))
    size = {"rows": len(panels), "squeeze": False, "sharex": True}
    with style.figure(style.COLUMN, height, **size) as (made, axes):
        axes[0, 0].set_xlim(0.0, _end(frame, as_published))
        for one, letter, panel in zip(axes[:, 0], "ab", panels, strict=False):
            _draw_panel(one, frame[frame["panel"] == panel], methods, as_published)
            style.panel_title(one, letter, f"${panel}$")
            one.xaxis.set_tick_params(labelbottom=True)
        axes[-1, 0].set_xlabel(_LABELS[JOINT in set(frame["series"])])
        if (frame["stat"] == READ_OFF).any():
            style.above(made, TextArea(_RING, textprops={"color": style.GREY, "fontsize": 7}))
        return style.save(made, stem)


def _end(frame: pd.DataFrame, as_published: set[str]) -> float:
    known = frame[frame["stat"].isin([LINE, READ_OFF]) | _is_typical(frame, as_published)]
    return box_plots.axis_limit(
        frame.loc[frame["stat"] == box_statistics.WHISKER_HIGH, "y"], known["y"]
    )


def _is_typical(frame: pd.DataFrame, as_published: set[str]) -> pd.Series:
    return frame["stat"].eq(box_statistics.MEDIAN) & frame["method"].isin(as_published)


def _draw_panel(
    axes: "Axes", panel: pd.DataFrame, methods: list[str], as_published: set[str]
) -> None:
    lines = panel[panel["stat"] == LINE]
    box_plots.label_rows(axes, methods, as_published, lines=len(lines))
    for place, row in enumerate(lines.sort_values("y").itertuples()):
        least = 0.35 if place < len(lines) - 1 else 0.65  # two names stand on two sides
        left = row.y < least * axes.get_xlim()[1]
        look = box_plots.ReferenceLine(row.series, style.EXACT, _DASHES[row.series], left)
        box_plots.draw_reference_line(axes, row.y, look, place)
    box_plots.draw_boxes(axes, panel, methods, as_published)
    for row in panel[panel["stat"] == READ_OFF].itertuples():
        if row.method in methods:
            _draw_ring(axes, methods.index(row.method), row)


def _draw_ring(axes: "Axes", lane: float, row) -> None:
    colour = style.line(row.method)["color"]
    ring = {"markersize": 6, "fillstyle": "none", "markeredgewidth": 1.0, "zorder": 6}
    axes.plot(row.y, lane, "o", color=colour, **ring)
