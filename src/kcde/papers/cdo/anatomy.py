"""cdo anatomy, a figure of ours: the few-line formulas behind table 3 and figures 4 and 5."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values
from kcde.names import OURS
from kcde.pages import style
from kcde.pages.markdown import pipe_table, significant
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.cdo import _terrain
from kcde.papers.cdo._donut import CONDITIONAL, JOINT, PLACES, REFERENCES, ZERO, reference
from kcde.papers.cdo._terrain import CENTRED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


METHOD, CLOSED_FORM = "CDO", "Nadaraya-Watson-CDO"
TERRAIN, MEAN, SD, DONUT = "terrain", "traffic mean", "traffic sd", "donut"

AGREEMENT, SHOWN, ERROR, READ_OFF = "agreement", "shown", "error", "read_off"
"""Stats: the median of |CDO/closed form − 1|; a point of a scatter; a mean error; the published."""

_MOST = 400
_METRICS = {MEAN: "mean", SD: "std"}
_TARGETS = {JOINT: "joint", CONDITIONAL: "conditional"}

FORMULAS = {
    TERRAIN: (
        "ŷ(x) = Σᵢ k(x, xᵢ) yᵢ / Σᵢ k(x, xᵢ), k(x, x′) = exp(−|x − x′|²/2σ²), σ = √m/2, with m the "
        "median distance of two training points: σ is 11 m, and the grid's step 8 m. "
        "Nα is a hundred times the sum of a row of K, so that (K + NαI)⁻¹ is nearly a multiple of "
        "the identity."
    ),
    MEAN: (
        "m(d, s) = Σ_d′ κ(d, d′) S₁(d′, s) / Σ_d′ κ(d, d′) n(d′, s) for weekday d and slot s, with "
        "n, S₁ and S₂ the number, the sum and the sum of squares of the training outputs there, "
        "and κ(d, d′) = exp(−4|d − d′|/√m), m the median distance of two inputs' weekdays: 0.06 "
        "for neighbouring days. Between slots the kernel is zero to seven digits."
    ),
    SD: "s²(d, s) = Σ_d′ κ(d, d′) S₂(d′, s) / Σ_d′ κ(d, d′) n(d′, s) − m(d, s)², with the same κ.",
    DONUT: (
        "The published error is mean |p̂(y|x) − p(x, y)|, where p(x, y) = p(x) p(y|x): 0 has the "
        "error mean p(x, y), and p(y|x) itself |1 − p(x)| times the mean of p(y|x)."
    ),
}
"""Panel to the formula that gives its numbers."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points of CDO over its closed form, how far they are apart, and the donut's errors.

    Panels `terrain`, `traffic mean`, `traffic sd`: rows of the stat `shown` have the closed form in
    `x` and CDO in `y`; that of the stat `agreement` the median of |CDO/closed form - 1| over all
    `n`; on the terrain rows of the stat `error` the mean `smae_centred` of both over the folds.
    Panel `donut`: for each place and density (`series`) the mean errors of CDO and of predicting
    zero, and the published values. Arrays come from the `.npz` beside each file.
    """
    arrays = {(path.parent.name, path.stem): _arrays(path) for path in files}
    rows = [*_terrain_rows(scores, arrays), *_traffic_rows(arrays), *_donut_rows(scores)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _arrays(path: Path) -> dict[str, np.ndarray]:
    stored = path.with_suffix(".npz")
    if not stored.exists():
        return {}
    with np.load(stored) as found:
        return {name: found[name] for name in found.files}


def _terrain_rows(scores: pd.DataFrame, arrays: Mapping) -> list[dict]:
    """Return the points of the first fold, and the errors of both methods over all folds."""
    terrain = under(scores[scores["experiment"] == "terrain"], protocol=_terrain.FOLDS)
    rows, name = [], "prediction_folds"
    for dataset in dict.fromkeys(terrain["dataset"]):
        pair = [arrays.get((dataset, method), {}) for method in (CLOSED_FORM, METHOD)]
        if all(name in each for each in pair):
            rows += _scatter(TERRAIN, *(each[name][0] for each in pair))
        here = terrain[terrain["dataset"] == dataset]
        for method, variant in ((METHOD, AS_PUBLISHED), (CLOSED_FORM, OURS)):
            found = values(here, method, CENTRED, variant).dropna()
            if len(found):
                same = {"panel": TERRAIN, "kind": "scatter", "method": method, "stat": ERROR}
                said = {"variant": variant, "series": CENTRED, "y": found.mean(), "n": len(found)}
                rows.append(same | said)
    return rows


def _traffic_rows(arrays: Mapping) -> list[dict]:
    """Return the points of the first split of the data with both methods' arrays."""
    rows = []
    for dataset in dict.fromkeys(place for place, _ in arrays):
        pair = [arrays.get((dataset, method), {}) for method in (CLOSED_FORM, METHOD)]
        for panel, name in _METRICS.items():
            if all("inputs" in each and name in each for each in pair):
                rows += _scatter(panel, *(each[name][0] for each in pair))
    return rows


def _scatter(panel: str, closed: np.ndarray, ours: np.ndarray) -> list[dict]:
    """Return points evenly by rank, and the median difference of all."""
    known = np.isfinite(closed) & np.isfinite(ours)
    closed, ours = closed[known], ours[known]
    if not len(closed):
        return []
    same = {"panel": panel, "kind": "scatter", "method": METHOD, "variant": AS_PUBLISHED}
    order = np.argsort(closed, kind="stable")
    kept = order[np.unique(np.linspace(0, len(order) - 1, _MOST).round().astype(int))]
    apart = np.median(np.abs(ours / closed - 1.0))
    rows = [same | {"stat": AGREEMENT, "series": CLOSED_FORM, "y": apart, "n": len(closed)}]
    return rows + [
        same | {"stat": SHOWN, "series": CLOSED_FORM, "x": closed[i], "y": ours[i]} for i in kept
    ]


def _donut_rows(scores: pd.DataFrame) -> list[dict]:
    """Return the errors of CDO and of predicting zero against both densities, and the published."""
    donut, rows = scores[scores["experiment"] == "donut"], []
    seen = published.read_off("cdo", "fig4")
    for place, x in PLACES.items() if len(donut) else ():
        here = under(donut, x=x)
        for error, target in _TARGETS.items():
            series = f"{place}, {target}"
            same = {"panel": DONUT, "kind": "scatter", "series": series, "stat": ERROR}
            found = values(here, METHOD, error).dropna()
            zero = reference(here, REFERENCES[error][ZERO])
            if len(found):
                own = {"method": METHOD, "variant": AS_PUBLISHED, "y": found.mean()}
                rows.append(same | own | {"n": len(found)})
            if len(zero):
                rows.append(same | {"method": ZERO, "y": zero.mean(), "n": len(zero)})
        own = seen[(seen["panel"] == place) & (seen["method"] == METHOD)]
        for row in own.itertuples():
            printed = {"panel": DONUT, "kind": "scatter", "series": f"{place}, {_TARGETS[JOINT]}"}
            rows.append(
                printed
                | {"method": METHOD, "variant": "published", "stat": READ_OFF, "y": row.value}
            )
    return rows


def below(frame: pd.DataFrame) -> list[str]:
    """Return the formula of each panel with the numbers that it gives."""
    parts = []
    for title, panel in (
        ("Rough terrain", TERRAIN),
        ("Traffic, mean", MEAN),
        ("Traffic, standard deviation", SD),
    ):
        rows = frame[frame["panel"] == panel]
        said = [f"**{title}.** {FORMULAS[panel]}", *_agreement(rows), *_errors(rows)]
        parts += [" ".join(said)] if len(rows) else []
    donut = frame[frame["panel"] == DONUT]
    if len(donut):
        parts += [f"**Donut.** {FORMULAS[DONUT]}", _donut_table(donut)]
    return parts


def _agreement(rows: pd.DataFrame) -> list[str]:
    return [
        f"The median of |CDO/formula − 1| is {significant(row.y)} ({row.n:.0f} points)."
        for row in rows[rows["stat"] == AGREEMENT].itertuples()
    ]


def _errors(rows: pd.DataFrame) -> list[str]:
    errors = rows[rows["stat"] == ERROR]
    each = ", ".join(f"{display(row.method)} {significant(row.y)}" for row in errors.itertuples())
    return [f"{_terrain.DEFINITIONS[CENTRED]}: {each}."] if len(errors) else []


def _donut_table(donut: pd.DataFrame) -> str:
    rows = []
    for series, here in donut.groupby("series", sort=False):
        cells = [here[here["stat"] == READ_OFF], *_own_and_zero(here)]
        shown = [significant(each["y"].iloc[0]) if len(each) else "" for each in cells]
        rows.append([str(series), *shown])
    return pipe_table(["error against", "CDO, published", "CDO", ZERO], rows)


def _own_and_zero(here: pd.DataFrame) -> list[pd.DataFrame]:
    errors = here[here["stat"] == ERROR]
    return [errors[errors["method"] == name] for name in (METHOD, ZERO)]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw three scatters of CDO over its closed form, and the donut's errors."""
    labels = {
        TERRAIN: ("terrain", "Nadaraya–Watson (m)"),
        MEAN: ("traffic, mean", "table of slots (vehicles/h)"),
        SD: ("traffic, sd", "table of slots (vehicles/h)"),
    }
    with style.figure(style.PAGE, 2.1, columns=4) as (made, axes):
        for one, letter, (panel, (title, label)) in zip(axes, "abc", labels.items(), strict=False):
            points = frame[(frame["panel"] == panel) & (frame["stat"] == SHOWN)]
            _draw_scatter(one, points)
            style.panel_title(one, letter, title)
            one.set_xlabel(label)
        axes[0].set_ylabel("CDO")
        _draw_donut(axes[3], frame[frame["panel"] == DONUT])
        style.panel_title(axes[3], "d", "donut")
        return style.save(made, stem)


def _draw_scatter(axes: "Axes", points: pd.DataFrame) -> None:
    colour = style.line(METHOD)["color"]
    axes.plot(points["x"], points["y"], "o", color=colour, markersize=2, markeredgewidth=0)
    if len(points):
        ends = [points[["x", "y"]].to_numpy().min(), points[["x", "y"]].to_numpy().max()]
        axes.plot(ends, ends, color=style.EXACT, linewidth=0.6, zorder=0)


def _draw_donut(axes: "Axes", donut: pd.DataFrame) -> None:
    places = list(dict.fromkeys(donut["series"]))
    axes.set_yticks(range(len(places)), [name.replace(", ", ",\n") for name in places], fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("mean error")
    looks = {
        (METHOD, ERROR): ("o", style.line(METHOD)["color"], "CDO"),
        (ZERO, ERROR): ("|", style.EXACT, ZERO),
        (METHOD, READ_OFF): ("o", "none", "published"),
    }
    for (method, stat), (marker, face, label) in looks.items():
        rows = donut[(donut["method"] == method) & (donut["stat"] == stat)]
        edge = style.EXACT if method == ZERO else style.line(METHOD)["color"]
        at = [places.index(name) for name in rows["series"]]
        size = 9 if marker == "|" else 7 if stat == READ_OFF else 4
        mark = {"markersize": size, "markerfacecolor": face, "markeredgecolor": edge}
        axes.plot(rows["y"], at, marker, label=label, **mark)
    axes.set_xlim(left=0.0)
    if len(donut):
        axes.set_ylim(len(places) - 0.6, -2.0)  # room for the legend above the first row
        axes.legend(fontsize=6, frameon=False, loc="upper left", handletextpad=0.2)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "terrain": {"methods": ["CDO", "Nadaraya-Watson-CDO"]},
        "traffic": {
            "datasets": ["metro-traffic-substitute"],
            "methods": ["CDO", "Nadaraya-Watson-CDO"],
        },
        "donut": {"methods": ["CDO"]},
    },
    build=build,
    draw=draw,
    trial="split",
    below=below,
)
