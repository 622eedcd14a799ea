"""Labels of curves beside their ends, moved apart where they would overlap."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kcde.pages import style

_GAP = 0.03  # of the axes' width, between the curve's end and a label that had to move
_POINTS = 9.0  # height of a line of text
# Points of a stroke: a mixed pattern needs the long one, any other leaves room for the panel.
_SHORT, _LONG = 14.0, 22.0
_SIMPLE = ("", "-", "--", ":")


class Label(NamedTuple):
    """A label at the end of a curve, at `y` in data units or at the edge of the axis.

    The line of the curve is repeated in a short stroke before the text; "" for none.
    """

    y: float
    text: str
    colour: str
    linestyle: str = ""


def apart(wanted: Sequence[float], spacing: float) -> np.ndarray:
    """Return the places in [0, 1] that keep a distance and are nearest to those wanted.

    Nearest in least squares: with k · spacing subtracted from the k-th smallest place this is an
    isotonic regression, and clipping its solution gives the one within the bounds. Places that do
    not fit run beyond 1.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.asarray(wanted, dtype=float)
    order = np.argsort(wanted, kind="stable")
    steps = spacing * np.arange(len(wanted))
    places = np.empty_like(wanted)
    free = isotonic_regression(wanted[order] - steps).x
    places[order] = np.clip(free, 0.0, max(0.0, 1.0 - steps[-1])) + steps
    return places


def beside(axes, labels: Sequence[Label], height: float) -> None:
    """Write labels at the right of axes so many inches high, joined to their curves by thin lines.

    The y limits are set, and curves end at the right edge.
    """
    from matplotlib.transforms import ScaledTranslation

    stroke = _SHORT if all(label.linestyle in _SIMPLE for label in labels) else _LONG
    low, high = axes.get_ylim()
    ends = np.clip([(label.y - low) / (high - low) for label in labels], 0.0, 1.0)
    start = 1.0 + _GAP
    for label, end, place in zip(labels, ends, apart(ends, _POINTS / 72.0 / height), strict=True):
        look = {"color": label.colour, "clip_on": False}
        axes.plot([1.0, start], [end, place], transform=axes.transAxes, linewidth=0.5, **look)
        if label.linestyle:
            # From there on in inches: on narrow axes a share of them would be too short.
            here = ScaledTranslation(start, place, axes.transAxes)
            look |= {"transform": axes.figure.dpi_scale_trans + here, "linewidth": 1.3}
            axes.plot([0.0, stroke / 72.0], [0.0, 0.0], linestyle=label.linestyle, **look)
        at = {"xycoords": "axes fraction", "annotation_clip": False, "fontsize": 7}
        points = 3.0 + (stroke if label.linestyle else 0.0)
        style.beside(axes, label.text, (start, place), points, label.colour, **at)
