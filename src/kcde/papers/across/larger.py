"""large_n and larger_sets: a known density to a million rows, real sets of 1,000 to 10,000."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import metrics
from kcde.evidence import verdicts
from kcde.evidence.verdicts import LIMIT_NATS
from kcde.experiments.large_n import REGRESSORS
from kcde.methods import BASELINE
from kcde.metrics import COVERAGES, CRPS, NLL, NLL_QUADRATURE
from kcde.pages import building, display, number, pipe_table, plain, round_to_half_decade, style
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

_PANELS = {
    "gap": (metrics.LOG_DENSITY_GAP, "Held-out gap", "nats below the true density"),
    "seconds": (metrics.FIT_SECONDS, "Seconds", "processor seconds of one fit"),
    "memory": (metrics.PEAK_MEMORY, "Memory", "memory of one fit (MiB)"),
}
"""Panel to its metric in the scores, its title and the label of its axis."""

_DASHES = dict(zip(REGRESSORS, ("--", ":"), strict=True))


def build_large_n(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return gap, seconds and memory of every method at every n.

    Panels `gap` (nats, `y_low` and `y_high` two standard errors apart from it), `seconds` and
    `memory` (MiB): x is n, stat `fit`, or `failed` without a number.
    """
    # Methods with their own selection, in the order of the scores.
    own, panels = scores[scores["setting"] == "{}"], {key[0]: name for name, key in _PANELS.items()}
    orders = {"metric": panels, "method": own["method"].unique()}
    own = building.in_order(own[own["metric"].isin(panels)], orders, "n_train")
    half = (2.0 * own["stderr"]).where(own["metric"] == metrics.LOG_DENSITY_GAP)
    ends = {"y_low": own["value"] - half, "y_high": own["value"] + half}
    own = own.assign(panel=own["metric"].map(panels), series=own["method"].map(display), **ends)
    stat = np.where(own["status"] == "ok", "fit", "failed")
    own = own.assign(kind="curve", x=own["n_train"], y=own["value"], stat=stat, n=1)
    return own.reindex(columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which fits failed."""
    gaps = frame[(frame["panel"] == "gap") & (frame["stat"] == "failed")]
    return [f"The fit of {row.series} to {row.x:.0f} rows failed." for row in gaps.itertuples()]


def draw_large_n(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw gap, seconds and memory side by side."""
    with style.figure(style.PAGE, 3.2, columns=3, stem=stem) as (made, axes):
        fitted = frame[frame["stat"] != "failed"]
        panels = zip("abc", axes, _PANELS.items(), strict=True)
        for letter, place, (panel, (_, title, label)) in panels:
            _draw_cost(place, fitted[fitted["panel"] == panel])
            place.set(xlabel="training rows $n$", ylabel=label)
            style.panel_title(place, letter, title)
        look = {"loc": "outside upper center", "frameon": False, "fontsize": "small"}
        made.legend(*axes[0].get_legend_handles_labels(), ncols=4, **look)


def _draw_cost(axes, panel: pd.DataFrame) -> None:
    for method, rows in panel.groupby("method", sort=False):
        spread = np.array([rows["y"] - rows["y_low"], rows["y_high"] - rows["y"]])
        # What reaches below 0 has no place on a logarithmic axis.
        spread[0] = np.minimum(spread[0], 0.95 * rows["y"])
        bars = {"yerr": spread, "elinewidth": 0.8} if np.isfinite(spread).all() else {}
        grey = {"color": style.GREY, "linestyle": _DASHES.get(method)}
        look = grey if method in _DASHES else style.line(method)  # no methods elsewhere
        common = {"marker": "o", "markersize": 2.5, "linewidth": 1.2, **look}
        axes.errorbar(rows["x"], rows["y"], **bars, **common, label=display(method))
    axes.set(xscale="log", yscale="log")


_MORE = {"remarks": remarks, "tolerance": verdicts.SINGLE}
LARGE_N = Artefact(__name__, {"large_n": {}}, build_large_n, draw_large_n, name="large_n", **_MORE)


_PEOPLE = "parkinsons-people"
_SAME_TEST_ROWS = {_PEOPLE: "parkinsons"}
_TITLES = {_PEOPLE: "parkinsons, folds by person", "metro-traffic-substitute": "traffic"}
_LEGEND = ["●  mean, line: lowest to highest split", "▸  beyond the axis"]
_LEGEND += ["not fitted: over a minute planned", "blank: no folds by person"]
_METRICS = (NLL, CRPS, *COVERAGES)
_SECONDS, _SKIPPED = "seconds", "skipped"
_ROW, _MARGINS = 0.19, 1.2  # inches of a method, and of titles, legend and axis
_BEYOND = 0.3  # nats above the density that ignores x: larger losses are numbers at the edge


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return what was measured, a panel for each data set and a series for each metric.

    `y` is the mean over `n` splits, from `y_low` to `y_high`, `x` the training rows of the largest;
    `stat` is `mean`, or for seconds `median`, or `skipped`: then `y` is about what a fit to `x`
    rows would take. Likelihoods with log Z by quadrature stand for those by draws.
    """
    exact = set(scores.loc[scores["metric"] == NLL_QUADRATURE, "method"])
    rows = []
    for dataset, here in scores.groupby("dataset", sort=False):
        for method, own in here.groupby("method", sort=False):
            known = {"panel": dataset, "kind": "scatter", "method": method}
            known |= {"variant": own["variant"].iloc[0], "x": own["n_train"].max()}
            rows += [known | row for row in _of_method(own, method in exact)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _of_method(own: pd.DataFrame, by_quadrature: bool) -> list[dict]:
    needed = own.loc[own["metric"] == metrics.NEEDED_SECONDS, "value"]
    if len(needed):
        return [{"series": _SECONDS, "stat": _SKIPPED, "y": needed.max(), "n": len(needed)}]
    rows = []
    for metric in _METRICS:
        name = NLL_QUADRATURE if metric == NLL and by_quadrature else metric
        cells = own[own["metric"] == name]
        if metric == NLL:  # a split without a fit has no other row than that of its primary metric
            lost = (own["metric"] == NLL) & (own["status"] != "ok")
            cells = pd.concat([cells, own[lost & ~own["split"].isin(cells["split"])]])
        values = cells["value"].where(cells["status"] == "ok")
        values = values.fillna(np.inf).clip(upper=LIMIT_NATS) if metric == NLL else values.dropna()
        if len(values):
            ends = {"y": values.mean(), "y_low": values.min(), "y_high": values.max()}
            rows.append({"series": metric, "stat": "mean", "n": len(values)} | ends)
    seconds = round_to_half_decade(own.loc[own["metric"] == NLL, _SECONDS].median())
    splits = own["split"].nunique()
    return [*rows, {"series": _SECONDS, "stat": "median", "y": seconds, "n": splits}]


def below(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a table for each data set, its methods by likelihood."""
    coverages = [f"coverage of {level:.0%}" for level in COVERAGES.values()]
    forms = [".3f", *[".0%"] * len(COVERAGES), "g"]
    for dataset, here in frame.groupby("panel", sort=False):
        wide = here[here["stat"] != _SKIPPED].pivot(index="method", columns="series", values="y")
        wide = wide.reindex(columns=[*_METRICS, _SECONDS]).sort_values(NLL, kind="stable")
        rows = []
        for method, loss, *ys in wide.itertuples():
            rows.append([display(method), number(loss), *map(plain, ys, forms)])
        for row in here[here["stat"] == _SKIPPED].itertuples():
            planned = f"not fitted: planned at {float(f'{row.y / 60:.1g}'):g} min"
            rows.append([display(row.method), *["–"] * (2 + len(COVERAGES)), planned])
        n = f"{_TITLES.get(dataset, dataset)}, at most {here['x'].max():.0f} training rows"
        yield pipe_table([n, "nats", "CRPS", *coverages, "seconds"], rows)


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the likelihoods, a panel for each data set, with methods as `in_order` has them."""
    names, datasets = in_order(frame), list(dict.fromkeys(frame["panel"]))
    height = _MARGINS + _ROW * max(len(names), 4)
    options = {"columns": len(datasets), "sharey": True, "squeeze": False}
    with style.figure(style.PAGE, height, **options, stem=stem) as (made, ((*axes,),)):
        for letter, place, dataset in zip("abcdefgh", axes, datasets, strict=False):
            _draw_panel(place, frame[frame["panel"] == dataset], names)
            style.panel_title(place, letter, _TITLES.get(dataset, dataset).replace(", ", ",\n"))
        for dataset, like in _SAME_TEST_ROWS.items():
            if {dataset, like} <= set(datasets):
                axes[datasets.index(dataset)].sharex(axes[datasets.index(like)])
        axes[0].set_yticks(range(len(names)), map(display, names))
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        made.supxlabel("negative log-likelihood of standardised y (nats); lower is better", size=8)
        style.words_above(made, _LEGEND)


def in_order(frame: pd.DataFrame) -> list[str]:
    """Return the methods fitted on all sets by their mean rank, then the others by theirs.

    A mean rank over the sets that a method was fitted on would favour one that left out those on
    which others do well. Panels with the test rows of another have no part in it.
    """
    own = frame[(frame["series"] == NLL) & ~frame["panel"].isin(list(_SAME_TEST_ROWS))]
    losses = own.pivot(index="method", columns="panel", values="y")
    losses = losses.reindex(frame["method"].unique())
    order = pd.DataFrame({"partly": losses.isna().any(axis=1), "rank": losses.rank().mean(axis=1)})
    return list(order.sort_index().sort_values(["partly", "rank"]).index)


def _draw_panel(axes, here: pd.DataFrame, names: list[str]) -> None:
    losses = here[here["series"] == NLL]
    baseline = losses.loc[losses["method"] == BASELINE, "y"]
    most = baseline.item() + _BEYOND if len(baseline) else np.inf
    at = {"transform": axes.get_yaxis_transform(), "va": "center"}
    for row in losses.itertuples():
        colour, place = style.line(row.method)["color"], names.index(row.method)
        if row.y > most:
            axes.text(1.0, place, f"{number(row.y)} ▸", ha="right", color=colour, size=7, **at)
            continue
        axes.plot([row.y_low, min(row.y_high, most)], [place, place], color=colour, linewidth=1.0)
        axes.plot(row.y, place, "o", color=colour, markersize=4)
        if row.y_high > most:
            axes.plot(most, place, ">", color=colour, markersize=3)
    for row in here[here["stat"] == _SKIPPED].itertuples():
        axes.text(0.04, names.index(row.method), "not fitted", color=style.GREY, size=6, **at)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


LARGER_SETS = Artefact(__name__, {"larger_sets": {}}, build, draw, name="larger_sets", below=below)
