"""Gap to a known density, seconds and memory of one fit, from a thousand rows to a million."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.experiments.large_n import REGRESSORS
from kcde.metrics.names import FIT_SECONDS, LOG_DENSITY_GAP, PEAK_MEMORY
from kcde.pages import style
from kcde.pages.methods import display
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

_PANELS = {"gap": LOG_DENSITY_GAP, "seconds": FIT_SECONDS, "memory": PEAK_MEMORY}
"""Panel to its metric in the scores."""

_LABELS = {
    "gap": ("Held-out gap", "nats below the true density"),
    "seconds": ("Seconds", "processor seconds of one fit"),
    "memory": ("Memory", "memory of one fit (MiB)"),
}
_DASHES = dict(zip(REGRESSORS, ("--", ":"), strict=True))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return gap, seconds and memory of every method at every n.

    Panels `gap` (nats, `y_low` and `y_high` two standard errors apart from it), `seconds` and
    `memory` (MiB): x is n, stat `fit`, or `failed` without a number.
    """
    # Methods with their own selection, in the order of the scores.
    scores = scores[scores["setting"] == "{}"]
    methods = scores["method"].unique()
    scores = scores.sort_values("n_train", kind="stable")
    rows = []
    for panel, metric in _PANELS.items():
        for method in methods:
            own = scores[(scores["metric"] == metric) & (scores["method"] == method)]
            for cell in own.itertuples():
                half = 2.0 * cell.stderr if panel == "gap" else np.nan
                known = {"panel": panel, "kind": "curve", "method": method, "n": 1}
                known |= {"variant": cell.variant, "series": display(method), "x": cell.n_train}
                known |= {"y": cell.value, "y_low": cell.value - half, "y_high": cell.value + half}
                rows.append(known | {"stat": "fit" if cell.status == "ok" else "failed"})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which fits failed."""
    gaps = frame[(frame["panel"] == "gap") & (frame["stat"] == "failed")]
    return [f"The fit of {row.series} to {row.x:.0f} rows failed." for row in gaps.itertuples()]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw gap, seconds and memory side by side."""
    with style.figure(style.PAGE, 3.2, columns=3) as (made, axes):
        for letter, place, (panel, (title, label)) in zip(
            "abc", axes, _LABELS.items(), strict=True
        ):
            _draw_panel(place, frame[(frame["panel"] == panel) & (frame["stat"] != "failed")])
            place.set_xlabel("training rows $n$")
            place.set_ylabel(label)
            style.panel_title(place, letter, title)
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
        spread = np.array([rows["y"] - rows["y_low"], rows["y_high"] - rows["y"]])
        # What reaches below 0 has no place on a logarithmic axis.
        spread[0] = np.minimum(spread[0], 0.95 * rows["y"])
        bars = {"yerr": spread, "elinewidth": 0.8} if np.isfinite(spread).all() else {}
        common = {"marker": "o", "markersize": 2.5, "linewidth": 1.2, **look(method)}
        axes.errorbar(rows["x"], rows["y"], **bars, **common, label=display(method))
    axes.set_xscale("log")
    axes.set_yscale("log")


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"large_n": {}},
    tolerance=tolerances.SINGLE,
    build=build,
    draw=draw,
    remarks=remarks,
    trial="fit",
)
