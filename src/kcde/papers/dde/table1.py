"""dde table 1, also over more seeds: distance of the samples to the data and time of sampling."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.metrics.names import MMD, R_HAT
from kcde.pages import building, style, table_page
from kcde.pages.methods import display
from kcde.papers import published
from kcde.papers.artefact import READINGS, Artefact
from kcde.papers.dde import claims, plane

_FURTHER = {
    claims.TIME: "Seconds to draw as many samples as there are test points",
    claims.RATE: "Effective samples a second; those of DDE are independent",
    claims.MMD_TRAIN: "MMD² × 1000 to the training points, as the text of the paper says",
    plane.EXCESS: "Negative log-likelihood of the test points less that under their own law (nats)",
    R_HAT: "Largest R-hat of KEF's chains",
    "acceptance_rate": "Share of their transitions that are accepted",
    "points_without_density": "Test points outside DDE's bounding box, which have no density",
}
_CODE = "code"  # variant of the rows on the sets that the authors' code draws
_GAP = 0.5  # rows between data sets
_PANELS = {
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
    own = scores.assign(dataset=renamed, variant=_CODE)[of_code]
    code = building.build(artefact, own, files)
    if of_code.all():
        return code
    table = building.build(artefact, scores[~of_code], files)
    return building.with_rows(table, code.drop(columns=["best", "p_value"]).to_dict("records"))


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write the page, and draw MMD² and time on logarithmic axes, a row a method."""
    pages = table_page.write(artefact, table, stem)
    datasets, key = published.datasets("dde", "table1"), ["dataset", "method", "metric"]
    shown = table[table["metric"].isin(_PANELS) & table["method"].isin(artefact.methods)]
    numbers = published.values().query("paper == 'dde' and artefact == 'table1'").set_index(key)
    shown = shown.join(numbers["value"], on=key)
    shown["value"] = shown["value"].mask(shown["variant"] == _CODE)
    places = {(d, m, v): 0.0 for d, m, v in shown[["dataset", "method", "variant"]].to_numpy()}
    rows = sorted(
        places, key=lambda row: (datasets.index(row[0]), artefact.methods.index(row[1]), row[2])
    )
    places = {row: k + _GAP * datasets.index(row[0]) for k, row in enumerate(rows)}
    last = max(places.values())
    with style.figure(style.PAGE, 1.0 + 0.18 * last, columns=2, sharey=True) as (made, axes):
        for one, letter, metric in zip(axes, "ab", _PANELS, strict=True):
            cells = shown[shown["metric"] == metric]
            ends = cells[["mean", "value"]].where(lambda each: each > 0)
            one.set_xscale("log")
            one.set_xlim(np.nanmin(ends, initial=1e3) / 1.6, np.nanmax(ends, initial=1e-3) * 1.6)
            for cell in cells.itertuples():
                _draw_cell(one, places[cell.dataset, cell.method, cell.variant], cell)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, _PANELS[metric])
        names = [f"{d}{', authors’ set' * (v == _CODE)}: {display(m)}" for d, m, v in rows]
        axes[0].set_yticks(list(places.values()), names)
        axes[0].set_ylim(last + 0.6, -0.6)
        mark = {"color": style.GREY, "linestyle": "none"}
        bar = "± standard error (of two seeds: their range)"
        keys = [
            style.key("our mean", marker="o", **mark),
            style.key(bar, color=style.GREY, linewidth=2.4),
            style.key("published", marker="o", markerfacecolor="white", **mark),
            style.key("mean below 0", marker="<", **mark),
        ]
        style.legend_above(made, keys[: 4 if (shown["mean"] <= 0.0).any() else 3])
        return [*pages, *style.save(made, stem)]


def _draw_cell(axes, place: float, cell) -> None:
    """Draw our mean, joined by a line to the published number where there is one."""
    low, look = axes.get_xlim()[0], {"color": style.line(cell.method)["color"]}
    if cell.mean > 0:
        reach = np.nan_to_num(cell.stderr)
        axes.hlines(place, max(cell.mean - reach, low), cell.mean + reach, linewidth=2.4, **look)
        axes.plot(cell.mean, place, "o", markersize=4, **look)
        axes.plot([cell.mean, cell.value], [place] * 2, linewidth=0.8, **look)
    elif cell.mean <= 0:  # an unbiased MMD² can be negative
        axes.plot(low, place, "<", markersize=4, clip_on=False, **look)
    axes.plot(cell.value, place, "o", markerfacecolor="white", markersize=5, **look)


def measure_all(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with all that is measured in the plane."""
    return plane.with_samples(plane.with_excess(scores, files), files)


_SHARED = {"kind": "table", "tolerance": tolerances.VERDICTS, "build": build, "draw": draw}
_SHARED |= {"metric": MMD, "further": _FURTHER, "trial": "seed"}

TABLE1 = Artefact(
    __name__,
    shows={"planar": {"methods": ["DDE", "DDE-narrow", "KEF", "KEF-100-steps"]}},
    claims={"D2": claims.faster_sampling},
    published_trials=1,
    measure=plane.with_excess,
    **_SHARED,
)

_SEEDS = {"scale": "paper", "datasets": ["two-moons", "ring", "grid"], "methods": ["DDE", "KEF"]}

SEEDS = Artefact(
    __name__,
    name="table1-seeds",
    stage=READINGS,
    shows={"planar": _SEEDS},
    claims={"D1": claims.smaller_discrepancy, "D4": claims.modes_covered},
    measure=measure_all,
    **_SHARED,
)
