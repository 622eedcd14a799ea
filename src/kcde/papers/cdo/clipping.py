"""cdo clipping, a figure of ours for supplement B: the cost of clipping weights; claim C6."""

from pathlib import Path

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, values, variants
from kcde.pages import box_plots, box_statistics, style
from kcde.pages.box_statistics import MEAN, MEDIAN, WHISKER_HIGH
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.cdo import claims
from kcde.papers.cdo.fig4 import LSCDE

_CLIPPED = ("LSCDE", "LSCDE-exact")
_HEAD = 1.25  # inches besides the rows


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the errors over the folds of the terrain and the repetitions of the donut."""
    rows = []
    for panel, metric, here in claims.panels(scores):
        known = variants(here)
        for method in filter(known.get, artefact.methods):
            same = {"panel": panel, "method": method, "variant": known[method], "series": metric}
            rows += box_statistics.rows(
                values(here, method, metric, known[method]).to_numpy(), same
            )
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """State what failed."""
    return box_statistics.failures(frame, "fit")


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for rough terrain and one for each x of the donut."""
    means = frame[frame["stat"] == MEAN]
    methods = [name for name in artefact.methods if name in set(means["method"])]
    as_published = set(means.loc[means["variant"] == AS_PUBLISHED, "method"])
    panels = list(dict.fromkeys(means["panel"]))
    height = _HEAD + box_plots.ROW_HEIGHT * len(methods)
    size = {"columns": max(len(panels), 1), "squeeze": False, "sharey": True}
    with style.figure(style.PAGE, height, **size) as (made, axes):
        box_plots.label_rows(axes[0, 0], methods, as_published, lines=len(_CLIPPED))
        for one, letter, panel in zip(axes[0], "abc", panels, strict=False):
            here = frame[frame["panel"] == panel]
            ends, medians = (here.loc[here["stat"] == s, "y"] for s in (WHISKER_HIGH, MEDIAN))
            one.set_xlim(0.0, box_plots.axis_limit(ends, medians))
            box_plots.draw_boxes(one, here, methods, as_published)
            # Half the mean errors of clipped weights are the thresholds of C6.
            clipped = here[here["method"].isin(_CLIPPED) & (here["stat"] == MEAN)]
            for place, row in enumerate(clipped.sort_values("y", ascending=False).itertuples()):
                colour = style.line(row.method)["color"]
                line = box_plots.ReferenceLine(f"half of {row.method}'s mean", colour, ":")
                box_plots.draw_reference_line(one, 0.5 * row.y, line, place)
            box_plots.separate_families(one, methods)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, panel.replace("x = ", "$x=$"))
            one.set_xlabel(
                "Σ|e| / Σ|y − ȳ|" if panel == claims.TERRAIN else "error against $p(y|x)$"
            )
        style.legend_above(made, box_plots.keys())
        return style.save(made, stem)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "terrain": {"methods": [*LSCDE, "CDO"]},
        "donut": {"methods": [*LSCDE, "CDO", "CDO-clipped", "CDO-projected"]},
    },
    build=build,
    draw=draw,
    claims={"C6": claims.clipping_is_the_cause},
    trial="fit",
    remarks=remarks,
)
