"""Errors on the Gaussian donut: what cdo figures 4, 4_corrected and clipping share."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.metrics.names import NEGATIVE_NORMALISER
from kcde.pages import box_plots, box_statistics, style
from kcde.pages.markdown import count_of, significant
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETTING = (
    "The Gaussian donut has 50 means on a unit circle, rotated by 0.5 rad about the first axis, "
    "with noise N(0, 0.01 I) and 75 points per mean. The first coordinate is x, the other two are "
    "y. Errors are means over 3000 uniform points of [−2, 2]², which are redrawn in each "
    "repetition and are the same for every method."
)
"""The data and the errors, for the details of a page."""

JOINT, CONDITIONAL = "joint_error", "conditional_error"
"""Metrics: mean absolute difference to the joint density, and to the conditional one."""

NONPOSITIVE = "nonpositive_share"
"""Metrics: share of points where the estimate is not positive; whether its weights have a negative
sum, so that dividing by it changes the sign of the estimate."""

PLACES = {"x = 1": 1, "x = 0": 0}
"""Panel to the input at which densities are compared."""

ZERO, EXACT = "predicting zero", "exact conditional"
"""Series of the reference lines, which involve no method."""

REFERENCES = {
    JOINT: {ZERO: "joint_error_of_zero", EXACT: "joint_error_of_exact"},
    CONDITIONAL: {ZERO: "conditional_error_of_zero"},
}
"""Error to its reference lines, and the metric of each."""

READ_OFF, LINE = "read_off", "line"
"""Stats of a value that was read off the published figure, and of a reference line."""

_HEAD = 1.3  # inches of the picture besides its rows
_DASHES = {ZERO: (0, (4, 2)), EXACT: "-"}
_RING = "published, read off within ±0.003"
_LABELS = {
    True: "error against the joint density, mean $|\\hat{p}(y|x)-p(x,y)|$",
    False: "error against the conditional density, mean $|\\hat{p}(y|x)-p(y|x)|$",
}


def build(artefact: Artefact, scores: pd.DataFrame, error: str) -> pd.DataFrame:
    """Return the boxes of one error.

    Parameters
    ----------
    artefact
        Gives the order of the methods and the published figure.
    scores
        Of the experiment `donut`.
    error
        `JOINT` or `CONDITIONAL`.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel for each x: boxes over the repetitions; the mean of
        `NONPOSITIVE` and `TURNED` with these stats; reference lines (`series` is the name, `y` the
        mean over the repetitions); and the values read off the published figure (`y_low` and
        `y_high` are the accuracy of reading).
    """
    donut, rows = scores[scores["experiment"] == "donut"], []
    known = variants(donut)
    methods = [name for name in artefact.methods if name in known]
    for panel, x in PLACES.items():
        here = under(donut, x=x)
        for method in methods:
            same = {"panel": panel, "method": method, "variant": known[method], "series": error}
            found = values(here, method, error, known[method])
            rows += box_statistics.rows(found.to_numpy(), same)
            for name in (NONPOSITIVE, NEGATIVE_NORMALISER):
                share = values(here, method, name, known[method]).dropna()
                if len(share):
                    stated = {"kind": "scatter", "y": share.mean(), "n": len(share)}
                    rows.append(same | {"series": name, "stat": name, **stated})
        rows += _lines(panel, here, error)
        rows += _read_off(artefact, panel, error)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def reference(here: pd.DataFrame, metric: str) -> pd.Series:
    """Return a metric that is the same for every method, by repetition.

    Parameters
    ----------
    here
        Scores at one x.
    metric
        One of those in `REFERENCES`.

    Returns
    -------
    pandas.Series
        Indexed by split.
    """
    found = here[(here["metric"] == metric) & (here["status"] == "ok")]
    return found.groupby("split")["value"].first()


def _lines(panel: str, here: pd.DataFrame, error: str) -> list[dict]:
    """Return the reference lines, which the scores of every method have."""
    rows = []
    for series, metric in REFERENCES[error].items():
        of_repetition = reference(here, metric)
        if len(of_repetition):
            stated = {"stat": LINE, "y": of_repetition.mean(), "n": len(of_repetition)}
            rows.append({"panel": panel, "kind": "curve", "series": series, **stated})
    return rows


def _read_off(artefact: Artefact, panel: str, error: str) -> list[dict]:
    seen = published.read_off(artefact.paper, artefact.name)
    seen = seen[(seen["panel"] == panel) & (seen["metric"] == error)]
    return [
        {
            "panel": panel,
            "kind": "scatter",
            "method": row.method,
            "variant": "published",
            "series": error,
            "y": row.value,
            "y_low": row.value - row.reading_error,
            "y_high": row.value + row.reading_error,
            "stat": READ_OFF,
        }
        for row in seen.itertuples()
    ]


def remarks(frame: pd.DataFrame) -> list[str]:
    """State the repetitions, reference lines, shares of non-positive estimates, and failures."""
    means = frame[frame["stat"] == box_statistics.MEAN]
    said = [f"Boxes are over {count_of(means['n'].astype(int), 'repetition')}."]
    lines = frame[frame["stat"] == LINE]
    for series, rows in lines.groupby("series", sort=False):
        each = (f"{significant(row.y)} at {row.panel}" for row in rows.itertuples())
        said.append(f"{series.capitalize()}: {', '.join(each)}.")
    shares = frame[(frame["stat"] == NONPOSITIVE) & (frame["y"] > 0)]
    parts = []
    for method, rows in shares.groupby("method", sort=False):
        each = (f"{100 * row.y:.2g}% at {row.panel}" for row in rows.itertuples())
        parts.append(f"{method} {', '.join(each)}")
    if parts:
        said.append(f"Share of points where the estimate is not positive: {'; '.join(parts)}.")
    for row in frame[(frame["stat"] == NEGATIVE_NORMALISER) & (frame["y"] > 0)].itertuples():
        said.append(
            f"The weights of {row.method} at {row.panel} have a negative sum in "
            f"{round(row.n * row.y)} of {row.n:.0f} repetitions; dividing by it, as published, "
            "changes the sign of the estimate."
        )
    return [*said, *box_statistics.failures(frame, "repetition")]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each x, with reference lines and the values read off the paper."""
    drawn = frame[frame["stat"] == box_statistics.MEAN]
    methods = list(dict.fromkeys(drawn["method"]))
    as_published = set(drawn.loc[drawn["variant"] == AS_PUBLISHED, "method"])
    panels = [name for name in PLACES if name in set(frame["panel"])]
    height = _HEAD + box_plots.ROW_HEIGHT * len(methods)
    size = {"columns": len(panels), "squeeze": False, "sharex": True}
    with style.figure(style.PAGE, height, **size) as (made, axes):
        axes[0, 0].set_xlim(0.0, _end(frame, as_published))
        for one, letter, panel in zip(axes[0], "ab", panels, strict=False):
            _draw_panel(one, frame[frame["panel"] == panel], methods, as_published)
            style.panel_title(one, letter, f"${panel}$")
            if one is not axes[0, 0]:  # the rows are those of the panel at the left
                one.set_yticklabels([])
        made.supxlabel(_LABELS[JOINT in set(frame["series"])], fontsize=8)
        ring = _RING if (frame["stat"] == READ_OFF).any() else ""
        style.legend_above(made, box_plots.keys(ring), columns=4)
        return style.save(made, stem)


def _end(frame: pd.DataFrame, as_published: set[str]) -> float:
    """Return the end of the axis, which holds lines, published values and typical medians."""
    typical = frame["stat"].eq(box_statistics.MEDIAN) & frame["method"].isin(as_published)
    known = frame[frame["stat"].isin([LINE, READ_OFF]) | typical]
    ends = frame.loc[frame["stat"] == box_statistics.WHISKER_HIGH, "y"]
    return box_plots.axis_limit(ends, known["y"])


def _draw_panel(
    axes: "Axes", panel: pd.DataFrame, methods: list[str], as_published: set[str]
) -> None:
    lines = panel[panel["stat"] == LINE]
    box_plots.label_rows(axes, methods, as_published, lines=len(lines))
    end = axes.get_xlim()[1]
    last_fits = lines["y"].max() < 0.65 * end
    # The label on top may lie over the other line: that of the left line, or, where there is no
    # room at the right, that of the right line.
    ordered = lines.sort_values("y", ascending=not last_fits)
    for place, row in enumerate(ordered.itertuples()):
        left = last_fits or row.y < 0.35 * end
        line = box_plots.ReferenceLine(row.series, style.EXACT, _DASHES[row.series], left)
        box_plots.draw_reference_line(axes, row.y, line, place)
    box_plots.draw_boxes(axes, panel, methods, as_published)
    for row in panel[panel["stat"] == READ_OFF].itertuples():
        if row.method in methods:
            _draw_ring(axes, methods.index(row.method), row)


def _draw_ring(axes: "Axes", place: int, row) -> None:
    colour = style.line(row.method)["color"]
    ring = {"markersize": 6, "fillstyle": "none", "markeredgewidth": 1.0, "zorder": 6}
    axes.plot(row.y, place, "o", color=colour, **ring)
