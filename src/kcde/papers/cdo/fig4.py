"""cdo figure 4, errors on the Gaussian donut, and the cost of clipping weights (supplement B)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.metrics.names import NEGATIVE_NORMALISER
from kcde.pages import style
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.cdo import boxes, claims
from kcde.papers.cdo.claims import CONDITIONAL, JOINT, PLACES, of_repetitions

LSCDE = [
    *("LSCDE", "LSCDE-package-signed", "LSCDE-package-constrained", "LSCDE-package-projected"),
    *("LSCDE-exact", "LSCDE-signed", "LSCDE-constrained", "LSCDE-projected"),
]
"""Of the package and Sugiyama's, each with its negative weights clipped, kept and avoided."""

ZERO, EXACT = "predicting zero", "exact conditional"
_LINES = {
    JOINT: {ZERO: "joint_error_of_zero", EXACT: "joint_error_of_exact"},
    CONDITIONAL: {ZERO: "conditional_error_of_zero"},
}
"""Error to its reference lines, and the metric of each."""

NONPOSITIVE, READ_OFF, LINE = "nonpositive_share", "read_off", "line"
"""Stats: the share of points where an estimate is not positive; a published value; a line."""

_HEAD = 1.3  # inches of the picture besides its rows
_DASHES = {ZERO: (0, (4, 2)), EXACT: "-"}
_LABELS = {
    JOINT: "error against the joint density, mean $|\\hat{p}(y|x)-p(x,y)|$",
    CONDITIONAL: "error against the conditional density, mean $|\\hat{p}(y|x)-p(y|x)|$",
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the boxes of the error that is the artefact's metric, a panel for each x.

    Beside them: `NONPOSITIVE` and `NEGATIVE_NORMALISER`, means over the repetitions; the reference
    lines; and values read off the published figure, with the accuracy of reading.
    """
    error, rows, beside = artefact.metric, [], (NONPOSITIVE, NEGATIVE_NORMALISER)
    seen = published.read_off(artefact.paper, artefact.name)
    for panel, x in PLACES.items():
        here = under(scores, x=x)
        rows += _boxes(artefact, panel, error, here, beside)
        for series, metric in _LINES[error].items():
            found = of_repetitions(here, metric)
            if len(found):
                line = {"stat": LINE, "y": found.mean(), "n": len(found)}
                rows.append({"panel": panel, "kind": "curve", "series": series, **line})
        for row in seen[(seen["panel"] == panel) & (seen["metric"] == error)].itertuples():
            ends = {"y_low": row.value - row.reading_error, "y_high": row.value + row.reading_error}
            same = {"panel": panel, "method": row.method, "variant": "published", "series": error}
            rows.append(same | {"kind": "scatter", "y": row.value, "stat": READ_OFF, **ends})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _boxes(
    artefact: Artefact, panel: str, metric: str, here: pd.DataFrame, beside: Sequence[str] = ()
) -> list[dict]:
    """Return the boxes of a panel, and behind each the means of the metrics `beside`."""
    rows, known = [], variants(here)
    for method in filter(known.get, artefact.methods):
        own = partial(values, here, method, variant=known[method])
        same = {"panel": panel, "method": method, "variant": known[method]}
        rows += boxes.box_rows(own(metric), same | {"series": metric})
        for name in beside:
            if len(share := own(name).dropna()):
                stated = {"series": name, "stat": name, "y": share.mean(), "n": len(share)}
                rows.append(same | {"kind": "scatter"} | stated)
    return rows


def remarks(frame: pd.DataFrame) -> list[str]:
    """State shares of estimates that are not positive, and failures."""
    said = []
    for stat, words in (
        (NONPOSITIVE, "Share of points with an estimate that is not positive"),
        (NEGATIVE_NORMALISER, "Share of repetitions with a negative sum of weights"),
    ):
        rows = frame[(frame["stat"] == stat) & (frame["y"] > 0)]
        each = [f"{row.method} {row.y:.0%} ({row.panel})" for row in rows.itertuples()]
        said += [f"{words}: {', '.join(each)}."] if each else []
    return [*said, *boxes.failures(frame, "repetition")]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for each x, with reference lines and the values read off the paper."""
    drawn = frame[frame["stat"] == boxes.MEAN]
    methods = list(dict.fromkeys(drawn["method"]))
    # The axis holds lines, published values and the medians of methods as published.
    typical = frame["stat"].eq(boxes.MEDIAN) & frame["variant"].eq(AS_PUBLISHED)
    shown = frame.loc[frame["stat"].isin([LINE, READ_OFF]) | typical, "y"]
    ends = frame.loc[frame["stat"] == boxes.WHISKER_HIGH, "y"]
    height = _HEAD + boxes.ROW_HEIGHT * len(methods)
    with style.figure(style.PAGE, height, len(PLACES), sharex=True) as (made, axes):
        axes[0].set_xlim(0.0, boxes.axis_limit(ends, shown))
        for one, letter, panel in zip(axes, "ab", PLACES, strict=True):
            here = frame[frame["panel"] == panel]
            _draw_lines(one, here[here["stat"] == LINE], methods, drawn)
            boxes.draw_boxes(one, here, methods)
            rings = here[(here["stat"] == READ_OFF) & here["method"].isin(methods)]
            for row in rings.itertuples():
                look = {"color": style.line(row.method)["color"], "markersize": 6, "zorder": 6}
                place = methods.index(row.method)
                one.plot(row.y, place, "o", fillstyle="none", markeredgewidth=1.0, **look)
            style.panel_title(one, letter, f"${panel}$")
        axes[1].set_yticklabels([])  # the rows are those of the panel at the left
        made.supxlabel(_LABELS[artefact.metric], fontsize=8)
        ring = "published, read off within ±0.003" if (frame["stat"] == READ_OFF).any() else ""
        style.legend_above(made, boxes.keys(ring), columns=4)
        return style.save(made, stem)


def _draw_lines(axes, lines: pd.DataFrame, methods: list[str], cells: pd.DataFrame) -> None:
    boxes.label_rows(axes, methods, cells, lines=len(lines))
    end = axes.get_xlim()[1]
    last_fits = lines["y"].max() < 0.65 * end
    # The label on top may lie over the other line: that of the left line, or, where there is no
    # room at the right, that of the right line.
    ordered = lines.sort_values("y", ascending=not last_fits)
    for place, row in enumerate(ordered.itertuples()):
        left = last_fits or row.y < 0.35 * end
        look = style.EXACT, _DASHES[row.series], place, left
        boxes.draw_reference_line(axes, row.y, row.series, *look)


_METHODS = "CDO CDO-clipped CDO-projected CDO-narrow CDO-chosen GP GP-spread GP-ML"
FIG4 = Artefact(
    __name__,
    kind="figure",
    shows={"donut": {"methods": [*_METHODS.split(), *claims.FLOWS, *LSCDE]}},
    build=build,
    draw=draw,
    claims={"C3": claims.competitive},
    metric=JOINT,
    trial="repetition",
    remarks=remarks,
)

CORRECTED = replace(FIG4, name="fig4_corrected", metric=CONDITIONAL, claims={})


_CLIPPED = ("LSCDE", "LSCDE-exact")
_HEAD_OF_CLIPPING = 1.25  # inches besides the rows


def build_clipping(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the errors over the folds of the terrain and the repetitions of the donut."""
    rows = [row for place in claims.panels(scores) for row in _boxes(artefact, *place)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw_clipping(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for rough terrain and one for each x of the donut."""
    means = frame[frame["stat"] == boxes.MEAN]
    methods = [name for name in artefact.methods if name in set(means["method"])]
    panels = list(dict.fromkeys(means["panel"]))
    height = _HEAD_OF_CLIPPING + boxes.ROW_HEIGHT * len(methods)
    size = {"columns": max(len(panels), 1), "squeeze": False, "sharey": True}
    with style.figure(style.PAGE, height, **size) as (made, axes):
        boxes.label_rows(axes[0, 0], methods, means, lines=len(_CLIPPED))
        for one, letter, panel in zip(axes[0], "abc", panels, strict=False):
            here = frame[frame["panel"] == panel]
            y = here.groupby("stat")["y"].apply(list)
            one.set_xlim(0.0, boxes.axis_limit(y[boxes.WHISKER_HIGH], y[boxes.MEDIAN]))
            boxes.draw_boxes(one, here, methods)
            # Half the mean errors of clipped weights are the thresholds of C6.
            clipped = here[here["method"].isin(_CLIPPED) & (here["stat"] == boxes.MEAN)]
            for place, row in enumerate(clipped.sort_values("y", ascending=False).itertuples()):
                colour = style.line(row.method)["color"]
                text = f"half of {row.method}'s mean"
                boxes.draw_reference_line(one, 0.5 * row.y, text, colour, ":", place)
            boxes.separate_families(one, methods)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, panel.replace("x = ", "$x=$"))
            terrain = panel == claims.TERRAIN
            one.set_xlabel("Σ|e| / Σ|y − ȳ|" if terrain else "error against $p(y|x)$")
        style.legend_above(made, boxes.keys())
        return style.save(made, stem)


CLIPPING = Artefact(
    __name__,
    name="clipping",
    kind="figure",
    shows={
        "terrain": {"methods": [*LSCDE, "CDO"]},
        "donut": {"methods": [*LSCDE, "CDO", "CDO-clipped", "CDO-projected"]},
    },
    build=build_clipping,
    draw=draw_clipping,
    claims={"C6": claims.clipping_is_the_cause},
    trial="fit",
    remarks=lambda frame: boxes.failures(frame, "fit"),
)
