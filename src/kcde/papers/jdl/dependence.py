"""A figure of ours for jdl: what positivity costs by the correlation of x and y."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data.names import LAWS
from kcde.metrics.names import CANONICAL_CORRELATION, INDEPENDENCE_LOSS, SECOND_MOMENT_LOSS
from kcde.pages import style
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.jdl import curves
from kcde.papers.jdl.curves import BASELINE, CONSTRAINED, MOMENTS, PORTFOLIO, UNCONSTRAINED
from kcde.papers.jdl.figures import LOSS_LABEL, by_law

POSITIVITY = {
    "JDL": "(33)",
    "JDL-sub-grid": "sub-grid",
    "JDL-clipped": "clipped and renormalised",
}
"""Method to how positivity is imposed on JDL."""

_ROWS, _ROWS_OF_SMOKE = 10_000, 200
_STRONG = 0.7
_NEIGHBOURS = 15
_LINES = {
    UNCONSTRAINED: ("unconstrained", style.BLACK, "-"),
    "(33)": ("constrained as in the paper", style.VERMILLION, "--"),
    "sub-grid": ("JDL: positive on a sub-grid", style.BLUE, ":"),
    "clipped and renormalised": ("JDL: clipped and renormalised", style.GREEN, "-."),
    CONSTRAINED: ("constrained as in the paper", style.VERMILLION, "--"),
    BASELINE: ("ignoring x", style.GREY, (0, (6, 2))),
}
"""Series to its name, colour and dashes."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return a point for each fit at d = 1 and one n: x is |ρ|, y the loss (40).

    A panel for each method, with a series for each kind of constraints; rows of the kind `BASELINE`
    are of what ignores x.
    """
    tidied = pd.concat([each.assign(law=law) for law, each in by_law(scores).items()])
    here = tidied[tidied["d"].eq(1) & tidied["n"].isin([_ROWS, _ROWS_OF_SMOKE])]
    here = here[here["scheduled"] & here["status"].eq("ok")]
    keys = ["method", "variant", "constrained", "law", "split"]
    wanted = [CANONICAL_CORRELATION, SECOND_MOMENT_LOSS, INDEPENDENCE_LOSS]
    table = here.pivot_table(index=keys, columns="metric", values="value")[wanted].reset_index()
    table = table.set_axis([*keys, "x", "y", "ignoring"], axis=1)
    panel = table["method"].where(~table["method"].isin(POSITIVITY), "JDL")
    held = table["method"].map(POSITIVITY).fillna(CONSTRAINED)
    series = held.where(table["constrained"], UNCONSTRAINED)
    table = table.assign(panel=panel, series=series, kind="scatter", n=1, stat="value")
    # The other kinds of positivity are without constraints what JDL is.
    table = table[table["constrained"] | table["method"].eq(table["panel"])]
    free = table[~table["constrained"]].assign(y=table["ignoring"], variant=np.nan)
    free = free.assign(kind=BASELINE, method=BASELINE, series=BASELINE)
    made = pd.concat([table, free]).sort_index(kind="stable")
    made = made.assign(place=made["series"].map(list(_LINES).index))
    made = made.sort_values(["panel", "place", "x"], kind="stable")
    return made.reindex(columns=FIGURE_COLUMNS)


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State what each kind of positivity leaves of the loss of ignoring x."""
    found = []
    ignoring = drawn.loc[drawn["series"] == BASELINE, ["panel", "x", "y"]]
    paired = drawn[drawn["kind"] == "scatter"].merge(ignoring, on=["panel", "x"])
    strong = paired[paired["x"] > _STRONG]
    for (panel, series), own in strong.groupby(["panel", "series"], sort=False):
        share = np.exp(np.mean(np.log(own["y_x"] / own["y_y"])))
        found.append(f"{panel} {series} {100 * share:.2g}%")
    said = f"Above |ρ| = {_STRONG} a fit leaves, in the geometric mean, of the loss of ignoring x: "
    return [f"{said}{', '.join(found)}."] if found else []


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each method: points, geometric means of neighbours, and what ignores x."""
    panels = [name for name in ("JDL", "CME", "JPDL") if name in set(frame["panel"])]
    size = {"columns": len(panels), "sharey": True, "squeeze": False}
    with style.figure(style.PAGE, 2.9, **size) as (made, axes):
        for one, panel, letter in zip(axes[0], panels, "abc", strict=False):
            own = frame[frame["panel"] == panel]
            for series, points in own.groupby("series", sort=False):
                points = points.sort_values("x")
                _, colour, dashes = _LINES[series]
                if series != BASELINE:
                    dots = {"color": colour, "markersize": 1.5, "alpha": 0.5}
                    one.plot(points["x"], points["y"], ".", **dots)
                means = np.log(points["y"]).rolling(_NEIGHBOURS, center=True, min_periods=1).mean()
                one.plot(points["x"], np.exp(means), color=colour, linestyle=dashes)
            style.panel_title(one, letter, panel)
            one.set_xlabel("correlation $|\\rho|$")
        axes[0, 0].set_yscale("log")
        axes[0, 0].set_ylabel(LOSS_LABEL)
        drawn = dict.fromkeys(_LINES[name] for name in _LINES if name in set(frame["series"]))
        keys = [style.key(name, color=colour, linestyle=line) for name, colour, line in drawn]
        dot = {"marker": ".", "markersize": 3, "linestyle": "none"}
        keys.append(style.key("one matrix", color=style.GREY, **dot))
        keys.append(style.key(f"geometric mean of {_NEIGHBOURS} neighbours", color=style.GREY))
        style.legend_above(made, keys, columns=4)
        return style.save(made, stem)


_SIZES = [f"gaussian-{d}-{n}" for d in (1, 2, 3) for n in (1000, 10_000, 100_000)]

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    stage=READINGS,
    shows={
        MOMENTS: {
            "datasets": [*_SIZES, f"gaussian-1-10000-{LAWS}"],
            "methods": [*POSITIVITY, "CME", "JPDL"],
        },
        PORTFOLIO: {"methods": [*POSITIVITY, "CME", "KLR"]},
    },
    build=build,
    draw=draw,
    trial="matrix",
    remarks=lambda drawn: [*remarks(drawn), *curves.remarks(drawn)],
)
