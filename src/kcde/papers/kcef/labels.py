"""Labels of curves beside their ends, moved apart where they would overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GAP = 0.03  # of the axes' width, between the curve's end and a label that had to move
_POINTS = 9.0  # height of a line of text
# Points of a stroke: a mixed pattern needs the long one, any other leaves room for the panel.
_SHORT, _LONG = 14.0, 22.0
_SIMPLE = ("", "-", "--", ":")


@dataclass(frozen=True)
class Label:
    """A label at the end of a curve.

    Attributes
    ----------
    y
        Where the curve ends, in data units; a label beyond the axis stands at its edge.
    text, colour
        Of the label.
    linestyle
        Of the curve, repeated in a short stroke before the text; "" for none.
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

    Parameters
    ----------
    wanted
        Shape (n,), in [0, 1], in any order.
    spacing
        Smallest distance between two places.

    Returns
    -------
    numpy.ndarray
        Shape (n,), in the order of `wanted`.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.asarray(wanted, dtype=float)
    order = np.argsort(wanted, kind="stable")
    steps = spacing * np.arange(len(wanted))
    places = np.empty_like(wanted)
    free = isotonic_regression(wanted[order] - steps).x
    places[order] = np.clip(free, 0.0, max(0.0, 1.0 - steps[-1])) + steps
    return places


def beside(axes: "Axes", labels: Sequence[Label], height: float) -> None:
    """Write labels at the right of the axes, each joined to the end of its curve by a thin line.

    Parameters
    ----------
    axes
        With its y limits set; curves end at its right edge.
    labels
        In any order.
    height
        Approximate height of the axes, in inches.
    """
    from matplotlib.transforms import ScaledTranslation

    if not labels:
        return
    stroke = _SHORT if all(label.linestyle in _SIMPLE for label in labels) else _LONG
    low, high = axes.get_ylim()
    ends = np.clip([(label.y - low) / (high - low) for label in labels], 0.0, 1.0)
    places = apart(ends, _POINTS / 72.0 / height)
    for label, end, place in zip(labels, ends, places, strict=True):
        axes.plot(
            [1.0, 1.0 + _GAP],
            [end, place],
            transform=axes.transAxes,
            color=label.colour,
            linewidth=0.5,
            clip_on=False,
        )
        start = 1.0 + _GAP
        if label.linestyle:
            # From there on in inches: on narrow axes a share of them would be too short.
            here = ScaledTranslation(start, place, axes.transAxes)
            axes.plot(
                [0.0, stroke / 72.0],
                [0.0, 0.0],
                transform=axes.figure.dpi_scale_trans + here,
                color=label.colour,
                linestyle=label.linestyle,
                linewidth=1.3,
                clip_on=False,
            )
        axes.annotate(
            label.text,
            (start, place),
            xycoords="axes fraction",
            xytext=(3.0 + (stroke if label.linestyle else 0.0), 0),
            textcoords="offset points",
            color=label.colour,
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
