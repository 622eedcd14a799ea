"""cdo table 3: scaled absolute errors on rough terrain, as published, and in one definition.

An error e is ŷ − y on the test rows, and ȳ the mean of the training rows.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence.cells import under
from kcde.metrics import SMAE
from kcde.pages import building, page, style
from kcde.pages.words import display, significant
from kcde.papers import published
from kcde.papers.artefact import Artefact
from kcde.papers.cdo import boxes, claims, figures
from kcde.papers.cdo.claims import CENTRED, FLOWS, FOLDS, OWN, POINTWISE, PREDICTED, RANDOM

TOTAL, POINTWISE_STD = "smae_total", "smae_pointwise_std"
DEFINITIONS = {
    CENTRED: "Σ|e| / Σ|y − ȳ|",
    PREDICTED: "Σ|e| / Σ|ŷ − ȳ|",
    POINTWISE: "mean |ŷ/y − 1|",
    TOTAL: "Σ|e| / Σ|y|",
}

_HEAD, _HEADING = 0.85, 0.5  # inches of a panel besides its rows, and of a further one below it
_ROOM = 1.25  # between the outermost values and the ends of the axis, as a factor


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return each method in its authors' definition and protocol, of which none is the best."""
    table = building.build(artefact, _of_protocol(scores), files)
    return table.assign(best=None, p_value=np.nan)


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return all methods on the same folds in every definition, then those of `build`."""
    terrain = scores[(scores["experiment"] == "terrain") & scores["method"].isin(artefact.methods)]
    folds = _complete(under(terrain, protocol=FOLDS), DEFINITIONS)
    table = building.build(artefact, folds, files)
    mixed = terrain[terrain["metric"].eq(SMAE) | terrain["status"].eq("failed")]
    plain = build(replace(artefact, metric=SMAE), mixed, files)
    return building.with_rows(table, plain.to_dict("records"))


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


def remarks(table: pd.DataFrame) -> list[str]:
    """State how the points of a split spread."""
    spreads = table[table["metric"] == POINTWISE_STD].itertuples()
    each = ", ".join(f"{display(row.method)} {significant(row.mean)}" for row in spreads)
    return [f"Standard deviation of |ŷ/y − 1| over test points: {each}."] if each else []


def write(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and a picture with a panel for each definition that its numbers have."""
    pages = page.write_table(artefact, table, stem)
    cells = table[(table["metric"] == artefact.metric) & table["mean"].notna()]
    # A table in one definition has the published values that are in it.
    known = published.numbers("cdo", "table3").set_index(["dataset", "method"])["value"]
    theirs = cells.join(known.drop([*OWN], level="method"), on=known.index.names)["value"]
    cells = cells.assign(published_mean=cells["published_mean"].fillna(theirs))
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
        ring = "○  published" + ", in this definition" * (artefact.metric != SMAE)
        rings = [ring] * bool(cells["published_mean"].notna().any())
        style.words_above(made, ["●  ours ± 2 standard errors", *rings])
        return [*pages, *style.save(made, stem)]


def _definition(artefact: Artefact, method: str) -> str:
    """Return in which definition, and on which splits, a method is shown."""
    if artefact.metric != SMAE:
        return DEFINITIONS[artefact.metric]
    definition = DEFINITIONS[OWN.get(method.partition("-")[0], CENTRED)]
    return f"{definition}, random splits" if method in FLOWS else definition


def _draw_panel(axes, cells: pd.DataFrame, methods: list[str]) -> None:
    numbers = cells[["mean", "published_mean"]].to_numpy(float)
    numbers = numbers[numbers > 0.0]
    axes.set_xscale("log")
    axes.set_xticks([0.03, 0.1, 0.3, 1.0], ["0.03", "0.1", "0.3", "1"])
    axes.set_xlim(numbers.min() / _ROOM, numbers.max() * _ROOM)
    boxes.label_rows(axes, methods, cells)
    for row in cells[cells["method"].isin(methods)].itertuples():
        place, colour = methods.index(row.method), style.line(row.method)["color"]
        axes.hlines(place, row.mean, row.published_mean, colors=colour, linewidth=0.8)
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
_DONUT = ["CDO", "CDO-corrected", "GP", "GP-spread", *FLOWS, *figures.LSCDE]

READINGS = Artefact(
    __name__,
    name="table3-readings",
    kind="table",
    stage="readings",
    shows={
        "terrain": {
            "methods": [
                *_COLUMNS[:-3],
                *figures.LSCDE,
                *_PACKAGE,
                *(f"{name}-{weights}" for name in _PACKAGE for weights in _WEIGHTS),
                *_SIMPLEST,
            ],
            "scale": "paper",
        },
        "donut": {"methods": _DONUT},
        "traffic": figures.FIG5.shows["traffic"],
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
