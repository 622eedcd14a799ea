"""cdo anatomy, a figure of ours: the few-line formulas behind table 3 and figures 4 and 5."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values
from kcde.names import OURS
from kcde.pages import style
from kcde.pages.words import significant
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.cdo import claims
from kcde.papers.cdo.claims import CENTRED, METHOD, PLACES
from kcde.papers.cdo.fig4 import READ_OFF, ZERO

CLOSED_FORM = "Nadaraya-Watson-CDO"
TERRAIN, MEAN, SD, DONUT = "terrain", "traffic mean", "traffic sd", "donut"
AGREEMENT, SHOWN, ERROR = "agreement", "shown", "error"
"""Stats: the median of |CDO/closed form − 1|; a point of a scatter; a mean error."""

_MOST = 400  # points of a scatter


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points of CDO over its closed form, how far they are apart, and the donut's errors.

    Panels `terrain`, `traffic mean`, `traffic sd`: rows of the stat `shown` have the closed form in
    `x` and CDO in `y`; that of the stat `agreement` the median of |CDO/closed form - 1| over all
    `n`; on the terrain rows of the stat `error` the mean `smae_centred` of both over the folds.
    Panel `donut`: for each place and density (`series`) the mean errors of CDO and of predicting
    zero, and the published values. Arrays come from the `.npz` beside each file.
    """
    arrays = claims.arrays(files)
    folds = claims.folds(scores)
    rows = _scatter(TERRAIN, arrays, claims.ROUGH_TERRAIN, "prediction_folds")
    for method, variant in ((METHOD, AS_PUBLISHED), (CLOSED_FORM, OURS)):
        found = values(folds, method, CENTRED, variant).dropna()
        same = {"panel": TERRAIN, "method": method, "variant": variant, "series": CENTRED}
        rows += _error(same, found)
    rows += _scatter(MEAN, arrays, claims.METRO, "mean") + _scatter(SD, arrays, claims.METRO, "std")
    rows += _donut(scores[scores["experiment"] == "donut"])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _error(same: Mapping, found: pd.Series) -> list[dict]:
    """Return the mean of errors as a row, none where there are none."""
    row = {"kind": "scatter", "stat": ERROR, "y": found.mean(), "n": len(found)}
    return [{**same, **row}] if len(found) else []


def _scatter(panel: str, arrays: Mapping, dataset: str, name: str) -> list[dict]:
    """Return points of the first split, evenly by rank, and the median difference of all."""
    pair = [arrays.get((dataset, method), {}) for method in (CLOSED_FORM, METHOD)]
    if not all(name in each for each in pair):
        return []
    closed, ours = (each[name][0] for each in pair)
    known = np.isfinite(closed) & np.isfinite(ours)
    closed, ours = closed[known], ours[known]
    same = {"panel": panel, "kind": "scatter", "method": METHOD, "variant": AS_PUBLISHED}
    same |= {"series": CLOSED_FORM}
    order = np.argsort(closed, kind="stable")
    kept = order[np.unique(np.linspace(0, len(order) - 1, _MOST).round().astype(int))]
    apart = np.median(np.abs(ours / closed - 1.0))
    rows = [same | {"stat": AGREEMENT, "y": apart, "n": len(closed)}]
    return rows + [same | {"stat": SHOWN, "x": closed[i], "y": ours[i]} for i in kept]


def _donut(donut: pd.DataFrame) -> list[dict]:
    """Return the errors of CDO and of predicting zero against both densities, and the published."""
    rows, seen = [], published.read_off("cdo", "fig4")
    for place, x in PLACES.items() if len(donut) else ():
        here = under(donut, x=x)
        same = {"panel": DONUT, "kind": "scatter", "series": f"{place}, joint"}
        for error, target in ((claims.JOINT, "joint"), (claims.CONDITIONAL, "conditional")):
            own = same | {"series": f"{place}, {target}"}
            ours = values(here, METHOD, error).dropna()
            rows += _error(own | {"method": METHOD, "variant": AS_PUBLISHED}, ours)
            rows += _error(own | {"method": ZERO}, claims.of_repetitions(here, f"{error}_of_zero"))
        for row in seen[(seen["panel"] == place) & (seen["method"] == METHOD)].itertuples():
            printed = {"method": METHOD, "variant": "published", "stat": READ_OFF, "y": row.value}
            rows.append(same | printed)
    return rows


def remarks(frame: pd.DataFrame) -> list[str]:
    """State how far CDO and the formulas are apart."""
    rows = frame[frame["stat"] == AGREEMENT].itertuples()
    each = ", ".join(f"{significant(row.y)} ({row.panel})" for row in rows)
    return [f"The median of |CDO/formula − 1| is {each}."] if each else []


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw three scatters of CDO over its closed form, and the donut's errors."""
    labels = {
        TERRAIN: ("terrain", "Nadaraya–Watson (m)"),
        MEAN: ("traffic, mean", "table of slots (vehicles/h)"),
        SD: ("traffic, sd", "table of slots (vehicles/h)"),
    }
    colour = style.line(METHOD)["color"]
    with style.figure(style.PAGE, 2.1, columns=4) as (made, axes):
        for one, letter, (panel, (title, label)) in zip(axes, "abc", labels.items(), strict=False):
            points = frame[(frame["panel"] == panel) & (frame["stat"] == SHOWN)]
            one.plot(points["x"], points["y"], "o", color=colour, markersize=2, markeredgewidth=0)
            if len(points):
                both = points[["x", "y"]].to_numpy()
                ends = [both.min(), both.max()]
                one.plot(ends, ends, color=style.EXACT, linewidth=0.6, zorder=0)
            style.panel_title(one, letter, title)
            one.set_xlabel(label)
        axes[0].set_ylabel("CDO")
        _draw_donut(axes[3], frame[frame["panel"] == DONUT])
        style.panel_title(axes[3], "d", "donut")
        return style.save(made, stem)


def _draw_donut(axes, donut: pd.DataFrame) -> None:
    places = list(dict.fromkeys(donut["series"]))
    axes.set_yticks(range(len(places)), [name.replace(", ", ",\n") for name in places], fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("mean error")
    colour = style.line(METHOD)["color"]
    for method, stat, marker, size, face, edge, label in (
        (METHOD, ERROR, "o", 4, colour, colour, "CDO"),
        (ZERO, ERROR, "|", 9, style.EXACT, style.EXACT, ZERO),
        (METHOD, READ_OFF, "o", 7, "none", colour, "published"),
    ):
        rows = donut[(donut["method"] == method) & (donut["stat"] == stat)]
        at = [places.index(name) for name in rows["series"]]
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
        "terrain": {"methods": [METHOD, CLOSED_FORM]},
        "traffic": {"datasets": [claims.METRO], "methods": [METHOD, CLOSED_FORM]},
        "donut": {"methods": [METHOD]},
    },
    build=build,
    draw=draw,
    remarks=remarks,
)
