"""Gap to a known density, seconds and memory of one fit, from a thousand rows to a million."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.experiments.large_n import REGRESSORS
from kcde.metrics.names import FIT_SECONDS, LOG_DENSITY_GAP, PEAK_MEMORY
from kcde.pages import style
from kcde.pages.markdown import magnitude, pipe_table, significant
from kcde.pages.methods import display
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

_PANELS = {"gap": LOG_DENSITY_GAP, "seconds": FIT_SECONDS, "memory": PEAK_MEMORY}
"""Panel to its metric in the scores."""

_LABELS = {
    "gap": "nats below the true density",
    "seconds": "processor seconds of one fit",
    "memory": "memory of one fit (MiB)",
}
_OWN_CHOICE = "{}"
"""Setting of the scores of a method with its own selection."""

_FAILED = "failed"
_DASHES = dict(zip(REGRESSORS, ("--", ":"), strict=True))
_HEIGHT = 3.2  # inches


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return gap, seconds and memory of every method at every n.

    Panels `gap` (nats, `y_low` and `y_high` two standard errors apart from it), `seconds` and
    `memory` (MiB): x is n, stat `fit`, or `failed` without a number.
    """
    scores = scores[scores["setting"] == _OWN_CHOICE]
    rows = []
    for panel, metric in _PANELS.items():
        cells = scores[scores["metric"] == metric].sort_values("n_train", kind="stable")
        for method in dict.fromkeys(scores["method"]):
            rows += [_row(panel, cell) for cell in cells[cells["method"] == method].itertuples()]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _row(panel: str, cell) -> dict:
    half = 2.0 * cell.stderr if panel == "gap" else np.nan
    return {
        "panel": panel,
        "kind": "curve",
        "method": cell.method,
        "variant": cell.variant,
        "series": display(cell.method),
        "x": cell.n_train,
        "y": cell.value,
        "y_low": cell.value - half,
        "y_high": cell.value + half,
        "stat": "fit" if cell.status == "ok" else _FAILED,
        "n": 1,
    }


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which fits failed."""
    gaps = frame[frame["panel"] == "gap"]
    return [
        f"The fit of {row.series} to {row.x:.0f} rows failed, or its likelihood is not finite."
        for row in gaps[gaps["stat"] == _FAILED].itertuples()
    ]


def below(frame: pd.DataFrame) -> list[str]:
    """Return the gaps and the seconds as tables."""
    said = []
    for panel, title in (("gap", "Nats below the true density"), ("seconds", "Seconds of a fit")):
        cells = frame[(frame["panel"] == panel) & (frame["stat"] != _FAILED)]
        table = cells.pivot(index="series", columns="x", values="y")
        table = table.loc[list(dict.fromkeys(cells["series"]))]
        rows = [[name, *map(significant, values)] for name, values in table.iterrows()]
        header = [title, *(f"n = {magnitude(n)}" for n in table.columns)]
        said.append(pipe_table(header, rows))
    return said


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw gap, seconds and memory side by side."""
    with style.figure(style.PAGE, _HEIGHT, columns=3) as (made, axes):
        for letter, place, panel in zip("abc", axes, _PANELS, strict=True):
            _draw_panel(place, frame[(frame["panel"] == panel) & (frame["stat"] != _FAILED)])
            place.set_ylabel(_LABELS[panel])
            style.panel_title(place, letter, {"gap": "Held-out gap"}.get(panel, panel.capitalize()))
        lines, names = axes[0].get_legend_handles_labels()
        made.legend(
            lines, names, loc="outside upper center", ncols=4, frameon=False, fontsize="small"
        )
        return style.save(made, stem)


def look(method: str) -> dict:
    """Return colour and line style; those that are no methods elsewhere are grey."""
    if method in _DASHES:
        return {"color": style.GREY, "linestyle": _DASHES[method]}
    return style.line(method)


def _draw_panel(axes, panel: pd.DataFrame) -> None:
    for method, rows in panel.groupby("method", sort=False):
        label = rows["series"].iloc[0]
        rows = rows.sort_values("x")
        spread = np.array([rows["y"] - rows["y_low"], rows["y_high"] - rows["y"]])
        # What reaches below 0 has no place on a logarithmic axis.
        spread[0] = np.minimum(spread[0], 0.95 * rows["y"])
        bars = {"yerr": spread, "elinewidth": 0.8} if np.isfinite(spread).all() else {}
        common = {"marker": "o", "markersize": 2.5, "linewidth": 1.2}
        axes.errorbar(rows["x"], rows["y"], **bars, **common, **look(method), label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("training rows $n$")


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"large_n": {}},
    tolerance=tolerances.SINGLE,
    build=build,
    draw=draw,
    remarks=remarks,
    below=below,
    trial="fit",
)
