"""cdo table 3: scaled absolute errors on rough terrain, as published, and in one definition.

An error e is ŷ − y on the test rows, and ȳ the mean of the training rows.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import under, values, variants
from kcde.methods import METHODS
from kcde.metrics.names import SMAE
from kcde.pages import building, page, style
from kcde.pages.words import display, significant
from kcde.papers.artefact import Artefact
from kcde.papers.cdo import boxes, claims, fig4, fig5
from kcde.papers.cdo.claims import CENTRED, FLOWS, FOLDS, OWN, POINTWISE, PREDICTED, RANDOM

TOTAL, POINTWISE_STD = "smae_total", "smae_pointwise_std"
DEFINITIONS = {
    CENTRED: "Σ|e| / Σ|y − ȳ|",
    PREDICTED: "Σ|e| / Σ|ŷ − ȳ|",
    POINTWISE: "mean |ŷ/y − 1|",
    TOTAL: "Σ|e| / Σ|y|",
}

DEVIATION, DATA = "deviation_over_total", "data"
"""Metric and method of the row that has Σ|y − ȳ| / Σ|y| of our test folds."""

_HEAD, _HEADING = 0.85, 0.5  # inches of a panel besides its rows, and of a further one below it
_ROOM = 1.25  # between the outermost values and the ends of the axis, as a factor


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return each method in its authors' definition and protocol, of which none is the best."""
    table = building.build(artefact, _of_protocol(scores), files)
    return building.with_rows(table.assign(best=None, p_value=np.nan), _deviations(scores))


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return all methods on the same folds in every definition, then those of `build`."""
    terrain = scores[(scores["experiment"] == "terrain") & scores["method"].isin(artefact.methods)]
    folds = _complete(under(terrain, protocol=FOLDS), DEFINITIONS)
    table = building.with_rows(building.build(artefact, folds, files), _deviations(terrain))
    mixed = _of_protocol(terrain)
    mixed = mixed[mixed["metric"] == SMAE]
    plain = building.build(replace(artefact, metric=SMAE), mixed, files)
    rows = plain.assign(best=None, p_value=np.nan).to_dict("records")
    return building.with_rows(table, rows)


def _of_protocol(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of each method under the protocol of its published number."""
    folds, random = (under(scores, protocol=protocol) for protocol in (FOLDS, RANDOM))
    own = [folds[~folds["method"].isin(FLOWS)], random[random["method"].isin(FLOWS)]]
    return _complete(pd.concat(own), [SMAE])


def _complete(scores: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Return scores of some metrics, with a failed row of each for a fit that failed."""
    fit = ["dataset", "method", "variant", "setting", "split"]
    kept = scores[scores["metric"].isin([*metrics, POINTWISE_STD])]
    failed = scores[scores["status"] == "failed"].drop_duplicates(fit)
    lost = pd.concat([failed.assign(metric=metric, unit="") for metric in metrics])
    key = [*fit, "metric"]
    lost = lost[~pd.MultiIndex.from_frame(lost[key]).isin(pd.MultiIndex.from_frame(kept[key]))]
    return pd.concat([kept, lost], ignore_index=True)


def _deviations(scores: pd.DataFrame) -> list[dict]:
    """Return the ratio of two errors of any method, Σ|y − ȳ| / Σ|y|, as the only row."""
    here = claims.folds(scores)
    for method, variant in variants(here).items():
        total, centred = (values(here, method, name, variant) for name in (TOTAL, CENTRED))
        if len(ratios := (total / centred).dropna()):
            row = {"dataset": claims.ROUGH_TERRAIN, "method": DATA, "variant": "", "unit": ""}
            row |= {"metric": DEVIATION, "mean": ratios.mean(), "n": len(ratios), "failed": 0}
            return [row]
    return []


def remarks(table: pd.DataFrame) -> list[str]:
    """State by what the definitions differ on these data, and how the points of a split spread."""
    said = [
        f"On our test folds Σ|e| / Σ|y| is {significant(row.mean)} times Σ|e| / Σ|y − ȳ|."
        for row in table[table["metric"] == DEVIATION].itertuples()
    ]
    spreads = table[table["metric"] == POINTWISE_STD].itertuples()
    if each := ", ".join(f"{display(row.method)} {significant(row.mean)}" for row in spreads):
        said.append(f"Standard deviation of |ŷ/y − 1| over test points: {each}.")
    return said


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and a picture with a panel for each definition that its numbers have."""
    pages = page.write_table(artefact, table, stem)
    cells = table[(table["metric"] == artefact.metric) & table["mean"].notna()]
    # A method and its variations stand together.
    methods = list(dict.fromkeys(cells["method"]))
    colours = [style.line(method)["color"] for method in methods]
    methods.sort(key=lambda method: colours.index(style.line(method)["color"]))
    groups: dict[str, list[str]] = {}
    for method in methods:
        groups.setdefault(_definition(artefact, method), []).append(method)
    counts = [len(group) for group in groups.values()] or [1]
    height = _HEAD + _HEADING * (len(counts) - 1) + boxes.ROW_HEIGHT * sum(counts)
    size = {"rows": len(counts), "squeeze": False, "height_ratios": counts}
    with style.figure(style.COLUMN, height, **size) as (made, axes):
        letters = "abc" if len(groups) > 1 else [""]
        for one, letter, (heading, group) in zip(axes[:, 0], letters, groups.items(), strict=False):
            _draw_panel(one, cells, group)
            style.panel_title(one, letter, heading)
        where = "" if len(groups) == 1 else ", within a panel"
        made.supxlabel(f"scaled absolute error; lower is better{where}", fontsize=8)
        published = ["○  published"] * bool(cells["published_mean"].notna().any())
        style.words_above(made, ["●  ours ± 2 standard errors", *published])
        return [*pages, *style.save(made, stem)]


def _definition(artefact: Artefact, method: str) -> str:
    """Return in which definition, and on which splits, a method is shown."""
    if artefact.metric != SMAE:
        return DEFINITIONS[artefact.metric]
    own = {METHODS[name].estimator: metric for name, metric in OWN.items()}
    estimator = METHODS[method].estimator if method in METHODS else method
    definition = DEFINITIONS[own.get(estimator, CENTRED)]
    return f"{definition}, random splits" if method in FLOWS else definition


def _draw_panel(axes, cells: pd.DataFrame, methods: list[str]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    numbers = cells[["mean", "published_mean"]].to_numpy(float)
    numbers = numbers[numbers > 0.0]
    axes.set_xscale("log")
    axes.set_xlim(numbers.min() / _ROOM, numbers.max() * _ROOM)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=6.5)
    boxes.label_rows(axes, methods, cells)
    for row in cells[cells["method"].isin(methods)].itertuples():
        place, colour = methods.index(row.method), style.line(row.method)["color"]
        if not np.isnan(row.published_mean):
            axes.hlines(place, row.mean, row.published_mean, colors=colour, linewidth=0.8)
        if row.std > 0.0:
            # The spread as it is, not as the verdict caps it.
            reach = 2.0 * row.std / np.sqrt(row.n)
            low = max(row.mean - reach, axes.get_xlim()[0])
            axes.hlines(place, low, row.mean + reach, colors=colour, linewidth=2.2)
        axes.plot(row.mean, place, "o", color=colour, markersize=3.8, zorder=3)
        ring = {"markersize": 5, "markerfacecolor": "white", "markeredgewidth": 1.0, "zorder": 4}
        axes.plot(row.published_mean, place, "o", color=colour, **ring)


_GP = ["GP", "GP-ML", "GP-Matern"]
_SIMPLEST = ["linear-interpolation", "Clough-Tocher", "four-neighbours"]
_SIMPLEST += ["Nadaraya-Watson", "Nadaraya-Watson-CDO"]
_PUBLISHED = ["CDO", "GP", *FLOWS, "LSCDE"]
_OURS = ["CDO-chosen", *_GP[1:], "LSCDE-exact", *_SIMPLEST]
_PACKAGE = ["LSCDE-package-second", "LSCDE-package-traffic"]
"""The package's LSCDE with other parameters, which the authors print for other data."""

ARTEFACT = Artefact(
    __name__,
    kind="table",
    shows={"terrain": {"methods": [*_PUBLISHED, *_OURS]}},
    build=build,
    draw=write,
    claims={"C1": claims.smallest, "C2": claims.lscde_far_worse},
    metric=SMAE,
    published_trials=10,
    remarks=remarks,
)

_COLUMNS = ["CDO", "CDO-quarter", "CDO-chosen", *_GP, *FLOWS, "LSCDE", *_PACKAGE, "LSCDE-exact"]
_WEIGHTS = ("signed", "constrained", "projected")
_DONUT = ["CDO", "CDO-corrected", "GP", "GP-spread", *FLOWS, *fig4.LSCDE]

READINGS = Artefact(
    __name__,
    name="table3-readings",
    kind="table",
    stage="readings",
    shows={
        "terrain": {
            "methods": [
                *_COLUMNS[:-3],
                *fig4.LSCDE,
                *_PACKAGE,
                *(f"{name}-{weights}" for name in _PACKAGE for weights in _WEIGHTS),
                *_SIMPLEST,
            ],
            "scale": "paper",
        },
        "donut": {"methods": _DONUT},
        "traffic": fig5.ARTEFACT.shows["traffic"],
    },
    build=build_readings,
    draw=write,
    metric=CENTRED,
    columns=(*_COLUMNS, *_SIMPLEST),
    further={
        PREDICTED: f"{DEFINITIONS[PREDICTED]}, as GaussianProcess is published",
        POINTWISE: "Mean |ŷ/y − 1|, as the flows are published",
        TOTAL: DEFINITIONS[TOTAL],
        SMAE: "Each as published, on its splits",
    },
    trial="fold",
    remarks=remarks,
)
