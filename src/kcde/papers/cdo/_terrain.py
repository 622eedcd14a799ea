"""Errors on rough terrain: what cdo table 3, its readings and figure clipping share."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.methods import METHODS
from kcde.metrics.names import SMAE
from kcde.pages import box_plots, style, table_page
from kcde.pages.markdown import significant
from kcde.pages.methods import display
from kcde.papers.artefact import Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DATASET = "rough-terrain"
METHOD, RIVALS = "CDO", ("GP", "CondRealNVP", "CondMAF", "LSCDE")
TUNED = ("GP-ML", "GP-Matern")
FLOWS = ("CondRealNVP", "CondMAF")
"""The methods that the authors fit to random splits; all others are fitted to folds."""


CENTRED, PREDICTED = "smae_centred", "smae_predicted"
POINTWISE, TOTAL = "smae_pointwise", "smae_total"
POINTWISE_STD = "smae_pointwise_std"

DEFINITIONS = {
    CENTRED: "Σ|e| / Σ|y − ȳ|",
    PREDICTED: "Σ|e| / Σ|ŷ − ȳ|",
    POINTWISE: "mean |ŷ/y − 1|",
    TOTAL: "Σ|e| / Σ|y|",
}
"""Metric to its formula: e = ŷ − y on the test rows, ȳ is the mean of the training rows."""

OWN = {"GP": PREDICTED} | dict.fromkeys(FLOWS, POINTWISE)
"""Method to the metric of its published number, where that is not `CENTRED`."""

FOLDS, RANDOM = "folds", "random"
"""Values of `protocol` in the settings."""

DEVIATION, DATA = "deviation_over_total", "data"
"""Metric and method of the row that has Σ|y − ȳ| / Σ|y| of our test folds."""

SETTING = (
    "The data are a grid of 120 × 117 points of Mt St Helens: elevation given the two coordinates. "
    "An estimate ŷ is a predictive mean, e = ŷ − y on the test points, and ȳ is the mean elevation "
    "of the training points; elevations are above sea level, as in the file."
)
"""The data and the symbols, for the details of a page."""


_HEAD, _HEADING = 0.85, 0.5  # inches of a panel besides its rows, and of a further one below it
_ROOM = 1.25  # between the outermost values and the ends of the axis, as a factor


def folds(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores on the folds of the paper's terrain."""
    terrain = (scores["experiment"] == "terrain") & (scores["dataset"] == DATASET)
    return under(scores[terrain], protocol=FOLDS)


def complete(scores: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Return the scores of some metrics, with a failed row of each metric for a fit that failed.

    Parameters
    ----------
    scores
        Of the experiment `terrain`.
    metrics
        To keep; `POINTWISE_STD` is kept as well, where there is one.

    Returns
    -------
    pandas.DataFrame
        Of the same columns.
    """
    fit = ["dataset", "method", "variant", "setting", "split"]
    kept = scores[scores["metric"].isin(metrics) | scores["metric"].eq(POINTWISE_STD)]
    failed = scores[scores["status"] == "failed"].drop_duplicates(fit)
    lost = pd.concat([failed.assign(metric=metric, unit="") for metric in metrics])
    key = [*fit, "metric"]
    lost = lost[~pd.MultiIndex.from_frame(lost[key]).isin(pd.MultiIndex.from_frame(kept[key]))]
    return pd.concat([kept, lost], ignore_index=True)


def deviations(scores: pd.DataFrame) -> list[dict]:
    """Return a row per data set with Σ|y − ȳ| / Σ|y|, the mean over the folds.

    It is the ratio of two errors of any method.
    """
    rows = []
    for dataset, here in under(scores, protocol=FOLDS).groupby("dataset", sort=False):
        for method, variant in variants(here).items():
            total, centred = (values(here, method, name, variant) for name in (TOTAL, CENTRED))
            ratios = (total / centred).dropna()
            if len(ratios):
                row = {"dataset": dataset, "method": DATA, "variant": "", "metric": DEVIATION}
                rows.append({**row, "unit": "", "mean": ratios.mean(), "n": len(ratios)})
                rows[-1]["failed"] = 0
                break
    return rows


def remarks(table: pd.DataFrame) -> list[str]:
    """State by what the definitions differ on these data, and how the points of a split spread."""
    said = []
    for row in table[table["metric"] == DEVIATION].itertuples():
        said.append(
            f"Σ|y − ȳ| / Σ|y| of our test folds is {significant(row.mean)} ({row.dataset}): by "
            "this factor Σ|e| / Σ|y| is smaller than Σ|e| / Σ|y − ȳ| for the same predictions."
        )
    spreads = table[table["metric"] == POINTWISE_STD]
    if len(spreads):
        each = (f"{display(row.method)} {significant(row.mean)}" for row in spreads.itertuples())
        said.append(
            "For the flows the paper prints after ± the standard deviation of |ŷ/y − 1| over the "
            f"test points; ours, in the mean over the splits: {', '.join(each)}."
        )
    return [*said, *_unequal(table)]


def _unequal(table: pd.DataFrame) -> list[str]:
    """Name the methods that have fewer folds than the others."""
    primary = table[table["metric"] == CENTRED]
    most = primary["n"].max()
    fewer = primary[primary["n"] < most]
    if not len(fewer):
        return []
    each = ", ".join(f"{display(row.method)} ({row.n:.0f})" for row in fewer.itertuples())
    return [
        f"Means are over {most:.0f} folds, but of {each} over the first of them; tests are over "
        "the folds that two methods share."
    ]


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and a picture with a row per method and a column per definition.

    Where the metric is that of each method's published number, methods of one definition stand
    together under it.
    """
    pages = table_page.write(artefact, table, stem)
    primary = table[(table["metric"] == artefact.metric) & table["mean"].notna()]
    datasets = list(dict.fromkeys(primary["dataset"]))
    methods = list(dict.fromkeys(primary["method"]))
    # A method and its variations stand together.
    colours = [style.line(method)["color"] for method in methods]
    methods.sort(key=lambda method: colours.index(style.line(method)["color"]))
    metrics = [artefact.metric, *(name for name in artefact.further if name in DEFINITIONS)]
    groups = _by_definition(methods) if artefact.metric == SMAE else {"": methods}
    lines = [(dataset, heading) for dataset in datasets or [""] for heading in groups]
    counts = [max(len(groups[heading]), 1) for _, heading in lines]
    height = _HEAD + _HEADING * (len(lines) - 1) + box_plots.ROW_HEIGHT * sum(counts)
    width = style.PAGE if len(metrics) > 1 else style.COLUMN
    size = {"columns": len(metrics), "rows": len(lines), "squeeze": False}
    with style.figure(width, height, **size, height_ratios=counts) as (made, axes):
        for line, (dataset, heading) in zip(axes, lines, strict=True):
            here = table[(table["dataset"] == dataset) & table["mean"].notna()]
            for one, metric in zip(line, metrics, strict=True):
                _draw_panel(one, here[here["metric"] == metric], groups[heading])
                one.set_title(heading or DEFINITIONS[metric], loc="left", fontsize=7)
                if one is not line[0]:  # the rows are those of the panel at the left
                    one.set_yticklabels([])
            if len(datasets) > 1:
                line[0].set_ylabel(dataset)
        unit, where = (" (no unit)", "") if len(groups) == 1 else ("", " within a panel")
        made.supxlabel(f"scaled absolute error{unit}; lower is better{where}", fontsize=8)
        published = ["○  published"] * bool(primary["published_mean"].notna().any())
        style.words_above(made, ["●  ours ± 2 standard errors", *published])
        return [*pages, *style.save(made, stem)]


def _by_definition(methods: Sequence[str]) -> dict[str, list[str]]:
    """Return the methods by the heading of the definition in which each is computed."""
    own = {METHODS[name].estimator: metric for name, metric in OWN.items()}
    found: dict[str, list[str]] = {}
    for method in methods:
        estimator = METHODS[method].estimator if method in METHODS else method
        metric = own.get(estimator, CENTRED)
        splits = ", random splits" if method in FLOWS else ""
        found.setdefault(f"{DEFINITIONS[metric]}{splits}", []).append(method)
    return found


def _draw_panel(axes: "Axes", cells: pd.DataFrame, methods: Sequence[str]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    as_published = set(cells.loc[cells["variant"] == AS_PUBLISHED, "method"])
    axes.set_xscale("log")
    axes.set_xlim(*_limits(cells))
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=6.5)
    box_plots.label_rows(axes, methods, as_published)
    for row in cells.to_dict("records"):
        if row["method"] in methods:
            _draw_cell(axes, methods.index(row["method"]), row)


def _limits(cells: pd.DataFrame) -> tuple[float, float]:
    numbers = pd.concat([cells["mean"], cells["published_mean"]]).to_numpy(float)
    numbers = numbers[np.isfinite(numbers) & (numbers > 0.0)]
    if not len(numbers):
        return 0.1, 1.0
    return numbers.min() / _ROOM, numbers.max() * _ROOM


def _draw_cell(axes: "Axes", place: int, row: Mapping) -> None:
    colour = style.line(row["method"])["color"]
    mean, published, low = row["mean"], row["published_mean"], axes.get_xlim()[0]
    if not np.isnan(published):
        axes.hlines(place, mean, published, colors=colour, linewidth=0.8)
    if row["std"] > 0.0:
        # The spread as it is, not as the verdict caps it.
        reach = 2.0 * row["std"] / np.sqrt(row["n"])
        axes.hlines(place, max(mean - reach, low), mean + reach, colors=colour, linewidth=2.2)
    axes.plot(mean, place, "o", color=colour, markersize=3.8, zorder=3)
    ring = {"markersize": 5, "markerfacecolor": "white", "markeredgewidth": 1.0, "zorder": 4}
    axes.plot(published, place, "o", color=colour, **ring)
