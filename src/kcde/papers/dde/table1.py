"""dde table 1, also over more seeds: distance of the samples to the data and time of sampling."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.metrics.names import MMD, R_HAT
from kcde.pages import building, style, table_page
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.dde import claims, plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FURTHER = {
    claims.TIME: (
        "Seconds to draw as many samples as there are test points (DDE: the learned sampler; KEF: "
        "Hamiltonian Monte Carlo with 20 chains, burn-in 100, thinned by 10, 10 leapfrog steps; "
        "KEF-100-steps: 100 of them), on one machine, after a warm-up call of the same shape"
    ),
    claims.RATE: (
        "Effective samples a second (those of DDE are independent; KEF: the smallest effective "
        "sample size of a coordinate)"
    ),
    claims.MMD_TRAIN: "MMD² × 1000 to the training points, as the text of the paper says",
    plane.EXCESS: (
        "Negative log-likelihood of the test points under the density of f, less that under the "
        "density that they are drawn from (nats); points to which a model gives no density are "
        "left out"
    ),
    R_HAT: "Largest R-hat of KEF's chains",
    "acceptance_rate": "Acceptance of their transitions",
    "points_without_density": "Test points beyond the bounding box of the training points",
}

_CODE = "code"  # variant of the rows on the sets that the authors' code draws
_HEAD, _LANE, _GAP = 1.0, 0.18, 0.5  # inches besides the rows, of a row; rows between data sets
_LABELS = {
    MMD: "MMD² to the test set × 1000; lower is better",
    claims.TIME: "seconds for as many samples as test points",
}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of `building.build` with data sets `<name>-code` as a variant.

    They share no draws with the others, so that no paired test includes them.
    """
    of_code = scores["dataset"].str.endswith(f"-{_CODE}")
    if not of_code.any():
        return building.build(artefact, scores, files)
    renamed = scores["dataset"].str.removesuffix(f"-{_CODE}")
    own = scores[of_code].assign(dataset=renamed, variant=_CODE)
    code = building.build(artefact, own, files)
    if of_code.all():
        return code
    table = building.build(artefact, scores[~of_code], files)
    return building.with_rows(table, code.drop(columns=["best", "p_value"]).to_dict("records"))


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw MMD² and time on logarithmic axes, a row a method."""
    pages = table_page.write(artefact, table, stem)
    methods, datasets = artefact.methods, list(dict.fromkeys(table["dataset"]))
    shown = table[table["metric"].isin(_LABELS) & table["method"].isin(methods)]
    rows = sorted(
        {(row.dataset, row.method, row.variant == _CODE) for row in shown.itertuples()},
        key=lambda row: (datasets.index(row[0]), methods.index(row[1]), row[2]),
    )
    places = {row: k + _GAP * datasets.index(row[0]) for k, row in enumerate(rows)}
    height = _HEAD + _LANE * max(places.values())
    with style.figure(style.PAGE, height, columns=2, sharey=True) as (made, axes):
        for one, letter, (metric, label) in zip(axes, "ab", _LABELS.items(), strict=True):
            _draw_panel(one, shown[shown["metric"] == metric], places)
            style.panel_title(one, letter, label)
        names = [f"{d}{', authors’ set' * code}: {display(m)}" for d, m, code in rows]
        axes[0].set_yticks(list(places.values()), names)
        for label, (_, method, _) in zip(axes[0].get_yticklabels(), rows, strict=True):
            label.set_color(style.line(method)["color"])
        axes[0].set_ylim(max(places.values()) + 0.6, -0.6)
        mark = {"color": style.GREY, "linestyle": "none"}
        keys = [
            style.key("our mean", marker="o", **mark),
            style.key("± standard error (two seeds: their range)", color=style.GREY, linewidth=2.4),
            style.key("published", marker="o", markerfacecolor="white", **mark),
            style.key("mean below 0", marker="<", **mark),
        ]
        style.legend_above(made, keys[: 4 if (shown["mean"] <= 0.0).any() else 3])
        return [*pages, *style.save(made, stem)]


def _draw_panel(axes: "Axes", cells: pd.DataFrame, places: dict) -> None:
    """Draw our means, each joined by a line to the published number where there is one."""
    numbers = published.values().set_index(["paper", "artefact", "dataset", "method", "metric"])
    printed = numbers.loc[("dde", "table1"), "value"]
    keys = cells[["dataset", "method", "metric"]].itertuples(index=False)
    theirs = [
        np.nan if cell[1] == _CODE else printed.get(tuple(cell[0]), np.nan)
        for cell in zip(keys, cells["variant"], strict=True)
    ]
    ends = np.array([*cells["mean"], *theirs])
    ends = ends[ends > 0]
    low, high = (ends.min() / 1.6, ends.max() * 1.6) if len(ends) else (0.1, 10.0)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.tick_params(axis="y", length=0)
    for cell, value in zip(cells.itertuples(), theirs, strict=True):
        place = places[cell.dataset, cell.method, cell.variant == _CODE]
        colour = style.line(cell.method)["color"]
        if cell.mean > 0:
            reach = np.nan_to_num(cell.stderr)
            axes.hlines(
                place, max(cell.mean - reach, low), cell.mean + reach, colour, linewidth=2.4
            )
            axes.plot(cell.mean, place, "o", color=colour, markersize=4, zorder=3)
            axes.plot([cell.mean, value], [place] * 2, color=colour, linewidth=0.8)
        elif cell.mean <= 0:  # an unbiased MMD² can be negative
            axes.plot(low, place, "<", color=colour, markersize=4, clip_on=False, zorder=5)
        axes.plot(value, place, "o", color=colour, markerfacecolor="white", markersize=5, zorder=4)


def measure_all(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with what table 1 adds, and what is measured of DDE's samples."""
    of_dde = [path for path in files if path.stem == plane.METHOD]
    return plane.with_samples(plane.with_excess(scores, files), of_dde)


TABLE1 = Artefact(
    __name__,
    kind="table",
    shows={"planar": {"methods": ["DDE", "DDE-narrow", "KEF", "KEF-100-steps"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    claims={"D2": claims.faster_sampling},
    metric=MMD,
    published_trials=1,
    measure=plane.with_excess,
    further=FURTHER,
    trial="seed",
)

SEEDS = Artefact(
    __name__,
    name="table1-seeds",
    kind="table",
    stage=READINGS,
    shows={
        "planar": {
            "scale": "paper",
            "datasets": ["two-moons", "ring", "grid"],
            "methods": ["DDE", "KEF"],
        }
    },
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    claims={"D1": claims.smaller_discrepancy, "D4": claims.modes_covered},
    metric=MMD,
    measure=measure_all,
    further=FURTHER,
    trial="seed",
)
