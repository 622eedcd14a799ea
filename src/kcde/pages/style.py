"""One look for all figures: a colour a method, column-width sizes, the same bytes every time."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.methods import METHODS
from kcde.pages import display

COLUMN = 3.4
"""Width of one text column, in inches."""

PAGE = 7.0
"""Width of two, in inches."""

DPI = 200

# The palette of Okabe and Ito (2008), which readers with any colour vision can tell apart. Methods
# that share a figure get its colours; the papers with other methods get darker relatives.
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE, BLACK, GREY = "#0072B2", "#D55E00", "#CC79A7", "#000000", "#595959"

COLOURS: dict[str, str] = {
    "KCEF": BLUE,
    "KCEF-LL": SKY,
    "LikelihoodKCEF": "#781EC3",
    "LSCDE": ORANGE,
    "LSCDE-exact": "#8F5F00",
    "NADE": GREEN,
    "KEF": PURPLE,
    "DDE": VERMILLION,
    "epsilon-KDE": GREY,
    "CDO": "#7B1E3A",
    "GP": "#4F7A00",
    "CondRealNVP": "#00B2C8",
    "CondMAF": "#1B3A8C",
    "JDL": "#A33E00",
    "JPDL": "#00907F",
    "CME": "#5B4A9E",
    "KLR": BLACK,
    "LinearGaussian": "#FF964B",
    "ResidualKDE": "#78000F",
    "MarginalKDE": "#3C2D69",
    "KernelCDE": "#5A3CFF",
    "QuantileForest": "#5A1E4B",
    "NGBoost": "#2D1E96",
    "Stacked": "#E0218A",
}
"""Method, named as in `published_values.csv`, to its colour in every figure."""

RESERVE = ("#5A69FF", "#69D278", "#875A3C", "#694B78")
RESERVE += ("#E1784B", "#6996FF", "#78D2A5", "#0000FF")
"""Colours of methods that have none above, distinct from those and from each other."""

_LONG, _MIXED = (0, (8, 2)), (0, (5, 1, 1, 1, 1, 1))  # of a method with many variations

_ENDINGS: dict[str | tuple, str] = {
    "-": "F package grown",
    "--": "M constrained narrow quarter smoothed shared ML second joint score unstopped adapted "
    "100-steps pair stored",
    ":": "isotropic anisotropic stopped 500-rows quadrature clipped defensive spread signed "
    "inverse",
    "-.": "M-anisotropic penalised unpenalised 1000-rows unreduced sub-grid rows projected grouped",
    _LONG: "converged chosen Matern traffic tuned",
    _MIXED: "corrected LL",
}
# The longest first: `-M-anisotropic` before `-anisotropic`.
_LOOKS = {f"-{name}": dashes for dashes, names in _ENDINGS.items() for name in names.split()}
VARIATIONS = {name: _LOOKS[name] for name in sorted(_LOOKS, key=len, reverse=True)}
"""Ending that names a variation of a method to its line: the colour is that of the method."""

# `LSCDE` is in cdo's experiments that of a package; these have Sugiyama's parameters.
_OF_ANOTHER = dict.fromkeys(("LSCDE-signed", "LSCDE-constrained", "LSCDE-projected"), "LSCDE-exact")

_MARKERS = {"-": "o", "--": "s", ":": "^", "-.": "D", _LONG: "v", _MIXED: "*"}

THIN = {"color": "#E8E8E8", "linewidth": 0.5, "zorder": 0}
"""Of the lines along rows."""

WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
"""Behind letters on lines."""

EXACT = BLACK
"""What is known exactly, as the entropy of made-up data; no method beside it is black."""


def line(method: str) -> dict[str, str | tuple]:
    """Return colour and line style of a method, always the same.

    A variation (`KCEF-M`) has the colour of its method; a class looks like the method that it is
    under another name. Any other method has a colour of `RESERVE`, in the order of `METHODS`; one
    that a configuration alone defines by its name, so that two of those may look alike.
    """
    name, dashes = _without_variations(method)
    if name in COLOURS:
        return {"color": COLOURS[name], "linestyle": dashes}
    new = _without_colour()
    place = new.index(name) if name in new else zlib.crc32(name.encode())
    round_, colour = divmod(place, len(RESERVE))
    if dashes == "-":
        dashes = list(_MARKERS)[round_ % len(_MARKERS)]
    return {"color": RESERVE[colour], "linestyle": dashes}


def _without_variations(method: str) -> tuple[str, str | tuple]:
    """Return the method whose colour one has, and its own line style."""
    if method in COLOURS:
        return method, "-"
    for suffix, dashes in VARIATIONS.items():
        base = method.removesuffix(suffix)
        varied = base in COLOURS or base in METHODS or any(map(base.endswith, VARIATIONS))
        if base != method and varied:
            return _without_variations(_OF_ANOTHER.get(method, base))[0], dashes
    keys = [key for key, each in METHODS.items() if method in (*each.names, each.estimator)]
    others = (_without_variations(key) for key in keys if key != method)
    looks = [look for look in others if look[0] in COLOURS]
    return looks[0] if looks else (method, "-")


@cache
def _without_colour() -> list[str]:
    """Return the methods that need a colour of `RESERVE`, in their order."""
    names = dict.fromkeys(_without_variations(name)[0] for name in METHODS)
    return [name for name in names if name not in COLOURS]


def marker(method: str) -> str:
    """Return the marker of a method, one for each line style, so that both tell a variation."""
    return _MARKERS[line(method)["linestyle"]]


@contextmanager
def figure(
    width: float, height: float, columns=1, rows=1, stem: Path | None = None, **options
) -> Iterator[tuple]:
    """Yield a new figure and its axes under the common style, as `page` does.

    It is so many inches wide (`COLUMN` or `PAGE`) and high; options are those of `subplots`.
    """
    with page(width, height, stem) as made:
        yield made, made.subplots(rows, columns, **options)


@contextmanager
def page(width: float, height: float, stem: Path | None = None) -> Iterator:
    """Yield a new figure without axes under the common style.

    With a stem it is written to `<stem>.png` and `<stem>.pdf`, the same bytes for the same figure.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(["default", _RC]):
        made = Figure(figsize=(width, height), layout=_layout())
        FigureCanvasAgg(made)  # which measures words
        yield made
        if stem is not None:
            about = dict.fromkeys(("Creator", "Producer", "CreationDate"))
            made.savefig(stem.with_suffix(".png"), dpi=DPI, metadata={"Software": None})
            made.savefig(stem.with_suffix(".pdf"), metadata=about)


def panel_title(axes, letter: str, text: str) -> None:
    """Write a panel's letter, "" for a panel alone, and what it shows above its left edge."""
    axes.set_title(f"$\\bf{{{letter}}}$  {text}" if letter else text, loc="left")


def name_rows(axes, methods: Sequence[str]) -> None:
    """Name methods, in their colours, at the left of their rows: the k-th lies at k."""
    axes.set_yticks(range(len(methods)), map(display, methods))
    for label, method in zip(axes.get_yticklabels(), methods, strict=True):
        label.set_color(line(method)["color"])


def beside(axes, text: str, place: tuple, points: float, colour: str, **more) -> None:
    """Write small letters so many points at the right of a place, or where negative at its left."""
    at = {"xytext": (points, 0), "textcoords": "offset points", "va": "center", "fontsize": 6}
    axes.annotate(text, place, color=colour, ha="left" if points > 0 else "right", **(at | more))


def above(made, box) -> None:
    """Write something in the upper left corner of a figure, and keep its panels below."""
    from matplotlib.offsetbox import AnchoredOffsetbox

    corner = {"bbox_to_anchor": (0.0, 1.0), "bbox_transform": made.transFigure, "frameon": False}
    place = AnchoredOffsetbox("upper left", child=box, pad=0, borderpad=0.3, **corner)
    place.set_in_layout(False)
    made.add_artist(place)
    below = place.get_window_extent(made.canvas.get_renderer()).y0 / made.bbox.height
    made.get_layout_engine().set(rect=(0.0, 0.0, 1.0, below))


def words_above(made, said: Sequence[str]) -> None:
    """Write what marks mean in one grey line above the panels, see `above`."""
    from matplotlib.offsetbox import TextArea

    above(made, TextArea("     ".join(said), textprops={"color": GREY, "size": 7}))


def legend_above(made, handles: Sequence, columns: int = 0) -> None:
    """Explain marks and lines that all panels share, above them and never wider than the figure."""
    columns = columns or len(handles)
    # Matplotlib fills columns first, those at the left with one more.
    order = [handle for column in range(columns) for handle in handles[column::columns]]
    spaces = {"handlelength": 2.2, "columnspacing": 1.4, "borderpad": 0.2, "borderaxespad": 0.2}
    look = {"loc": "outside upper left", "frameon": False, "fontsize": 7}
    made.legend(handles=order, ncols=columns, **look, **spaces)


def key(label: str, **look):
    """Return an entry of a legend: a line of this look."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"linewidth": 1.2, "markersize": 4, **look})


def mark(label: str, marker: str, **look):
    """Return an entry of a legend: a marker without a line, grey unless the look says another."""
    return key(label, marker=marker, **{"linestyle": "none", "color": GREY, **look})


def _layout():
    """Return matplotlib's constrained layout, with the places of axes rounded.

    Its solver visits variables in the order of their addresses, so that the last digit of a place
    differs between runs now and then, and with it a coordinate in a PDF.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.transforms import Bbox

    class RoundedLayout(ConstrainedLayoutEngine):
        def execute(self, fig):
            found = super().execute(fig)
            for axes in fig.axes:
                place, kept = axes.get_position(original=True).get_points(), axes.get_in_layout()
                axes.set_position(Bbox(place.round(_PLACES)), which="original")
                axes.set_in_layout(kept)  # `set_position` takes them out
            return found

    return RoundedLayout()


_PLACES = 6  # of a share of the figure: a thousandth of a point
_RC = {
    "font.size": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "kcde",
}


DATA = "data"
"""The method of rows that show the data set itself."""


def scatter_points(
    panel: str, method: str, variant: str, values: np.ndarray, at_most: int, **rest
) -> list[dict]:
    """Return rows of points, evenly spaced in the order in which they were drawn."""
    chosen = np.linspace(0, len(values) - 1, min(at_most, len(values))).astype(int)
    n = len(chosen)
    return [scatter_row(panel, method, variant, x=x, y=y, n=n, **rest) for x, y in values[chosen]]


def scatter_row(panel: str, method: str, variant: str = "", **rest) -> dict:
    """Return one row of kind `scatter`; keys of `rest` are among `FIGURE_COLUMNS`."""
    return {"panel": panel, "kind": "scatter", "method": method, "variant": variant, **rest}


PALE = "#C4C4C4"
"""Colour of data behind samples, where the data have a panel of their own beside them."""


def draw_scatter(
    axes, data: pd.DataFrame, samples: pd.DataFrame, method: str, margin: float, behind=BLACK
) -> int:
    """Draw the data, and over them samples of a method in its colour, in the frame of the data.

    The frame is wider than the data on all sides by the `margin`, a share of their range. Returned
    is how many samples lie outside it.
    """
    look = {"linestyle": "none", "marker": "o", "markersize": 1.5, "markeredgewidth": 0}
    axes.plot(data["x"], data["y"], color=behind, alpha=0.6, zorder=1, **look)
    axes.plot(samples["x"], samples["y"], color=line(method)["color"], alpha=0.6, zorder=2, **look)
    inside = np.ones(len(samples), dtype=bool)
    for name, limit in (("x", axes.set_xlim), ("y", axes.set_ylim)):
        low, high = float(data[name].min()), float(data[name].max())
        reach = margin * (high - low) or 1.0
        limit(low - reach, high + reach)
        inside &= samples[name].between(low - reach, high + reach).to_numpy()
    return int((~inside).sum())


def legend_of_scatter(made, method: str, data: str, note: str = "") -> None:
    """Name in the corner of a figure, in their colours, the points of all its panels."""
    from matplotlib.offsetbox import HPacker, TextArea

    words = {data: BLACK, f"samples of {display(method)}": line(method)["color"]}
    looks = {word: {"color": colour, "weight": "bold"} for word, colour in words.items()}
    areas = [TextArea(word, textprops=look) for word, look in looks.items()]
    areas += [TextArea(note, textprops={"color": GREY})] if note else []
    above(made, HPacker(children=areas, sep=9, pad=0, align="baseline"))
