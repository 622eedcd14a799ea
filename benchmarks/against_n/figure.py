"""Time against n, a panel an operation, drawn from the results of all backends."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from against_n import ceilings
from against_n.exponents import fit
from against_n.operations import OPERATIONS, Operation
from against_n.table import Row, curve
from kcde.artefacts.plots import labels, style

_HEIGHT, _LINE = 7.6, 9.0  # inches; points, of a line of text
_WHERE = {"numpy": "CPU", "cupy": "GPU"}
_COLOURS = {
    ("numpy", "kcde"): style.BLUE,
    ("cupy", "kcde"): style.VERMILLION,
    ("numpy", "scipy"): style.GREEN,
    ("numpy", "scikit-learn"): style.ORANGE,
    ("numpy", "linear_operator"): style.PURPLE,
    ("cupy", "cupy"): style.BLACK,
}
_MARKERS = {"numpy": "o", "cupy": "s"}
_DASHES = {"numpy": ((0, (4, 2)), (0, (1, 1))), "cupy": ((0, (8, 2)), (0, (1, 3)))}
"""Of the ceilings by products and by copies."""


class Curve(NamedTuple):
    """What is drawn and named at its right end."""

    points: Sequence[tuple[float, float]]
    text: str
    style: dict


def draw(rows: Mapping[str, Sequence[Row]], stem: Path) -> list[Path]:
    """Draw the figure.

    Parameters
    ----------
    rows
        Of each backend; none where it was not run.
    stem
        Path without suffix.

    Returns
    -------
    list of pathlib.Path
        The PNG and the PDF.
    """
    with style.figure(style.PAGE, _HEIGHT, columns=2, rows=3) as (made, axes):
        for panel, operation, letter in zip(axes.flat, OPERATIONS, "abcdef", strict=True):
            curves = [
                drawn
                for backend, of_backend in rows.items()
                for drawn in _curves(operation, backend, of_backend)
            ]
            _draw_panel(panel, curves)
            style.panel_title(panel, letter, operation.title)
        for panel in axes[-1]:
            panel.set_xlabel("$n$")
        for panel in axes[:, 0]:
            panel.set_ylabel("seconds")
        return style.save(made, stem)


def _curves(operation: Operation, backend: str, rows: Sequence[Row]) -> list[Curve]:
    """Return the curves of all that ran an operation, and its ceilings below them."""
    named = dict.fromkeys(row.implementation for row in rows if row.operation == operation.name)
    drawn = []
    for name in named:
        points = curve(rows, operation.name, name)
        if points:
            look = {"color": _COLOURS[backend, name.partition(",")[0]]}
            look |= {"marker": _MARKERS[backend], "markersize": 2.5, "linewidth": 1.2}
            drawn.append(Curve(points, _named(name, backend, points), look))
    machine = ceilings.of(list(rows))
    if drawn and machine:
        sizes = [n for of_one in drawn for n, _ in of_one.points]
        span = np.geomspace(min(sizes), max(sizes), 50)
        for (name, least), dashes in zip(
            machine.lines(operation).items(), _DASHES[backend], strict=True
        ):
            look = {"color": style.GREY, "linestyle": dashes, "linewidth": 0.9}
            points = [(n, least(n)) for n in span]
            drawn.append(Curve(points, f"{name}, {_WHERE[backend]}", look))
    return drawn


def _named(name: str, backend: str, points: Sequence[tuple[int, float]]) -> str:
    """Return the name of a curve with its exponent."""
    whole = f"{name}, {_WHERE[backend]}"
    if law := fit(points):
        whole += f": $n^{{{law.value:.2f}}}$ ± {law.stderr:.2f}"
    return whole


def _draw_panel(axes, curves: Sequence[Curve]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for drawn in curves:
        axes.plot(*zip(*drawn.points, strict=True), clip_on=False, **drawn.style)
    if not curves:
        return
    every = [n for drawn in curves for n, _ in drawn.points]
    axes.set_xlim(min(every), max(every))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter("")
    _name_ends(axes, curves)


def _name_ends(axes, curves: Sequence[Curve]) -> None:
    """Write names right of the panel, each joined to its curve's end by a thin line."""
    ends = [_share(axes, *drawn.points[-1]) for drawn in curves]
    height = axes.get_window_extent().height * 72.0 / axes.figure.dpi
    places = labels.apart([y for _, y in ends], _LINE / height)
    for drawn, (x, y), place in zip(curves, ends, places, strict=True):
        colour = drawn.style["color"]
        axes.plot(
            [x, 1.05],
            [y, place],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.4,
            clip_on=False,
        )
        axes.annotate(
            drawn.text,
            (1.06, place),
            xycoords="axes fraction",
            color=colour,
            fontsize=7,
            va="center",
            annotation_clip=False,
        )


def _share(axes, x: float, y: float) -> tuple[float, float]:
    """Return where a point lies in the axes, as shares of their width and height."""
    places = []
    for value, (low, high) in ((x, axes.get_xlim()), (y, axes.get_ylim())):
        places.append(float(np.clip(np.log(value / low) / np.log(high / low), 0.0, 1.0)))
    return places[0], places[1]
