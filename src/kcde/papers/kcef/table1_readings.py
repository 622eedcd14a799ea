"""kcef table1-readings: KCEF on the R sets under every reading of table 1's grid."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import scores as score_files
from kcde.evidence import readings
from kcde.evidence.cells import AS_PUBLISHED, splits
from kcde.evidence.checks import decide
from kcde.evidence.verdicts import summarise
from kcde.experiments.table1_readings import DRAWN, READINGS, Table1Readings
from kcde.pages import style
from kcde.pages.markdown import pipe_table
from kcde.papers import published, registry
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.kcef.claims_of_tables import CONDITIONAL, JOINT
from kcde.papers.kcef.table1 import published_value

_COLUMNS = 5
_RANGE = 2.5  # nats that a panel shows above its lowest value, at most
_BY_SETTING = {score_files.setting(**each._asdict()): f"{each}" for each in READINGS}
_KNOWN = {"method": "KCEF", "variant": AS_PUBLISHED}
_CLAIMS = {
    "K7": ("K7", {}),
    **{f"K8, {nade} NADE": ("K8", {"nade": [nade]}) for nade in (CONDITIONAL, JOINT)},
    "D3": ("D3", {}),
    "D6": ("D6", {}),
}
"""Panel to a claim and how it is decided there."""


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return what each reading gives: likelihoods, then the verdicts of claims.

    Kind `scatter`: a panel a data set, a series a reading; x is its place by mean, y the mean or
    median over the finite splits, or how many of n failed; `published` is a series of its own.
    Kind `claim`: a panel a claim, of K8 for each NADE; a series a reading; stat is the verdict.
    """
    own = scores[scores["experiment"] == Table1Readings.name]
    known = [*published.datasets("kcef", "table1"), *published.datasets("dde", "table2")]
    ordered = dict.fromkeys([*known, *sorted(own["dataset"].unique())])
    found = set(own["dataset"])
    rows = [row for name in ordered if name in found for row in _likelihoods(own, name)]
    tests = {
        name: test for each in registry.ARTEFACTS.values() for name, test in each.claims.items()
    }
    for reading in readings.declared(artefact.paper):
        if reading.choice != "K-grid":
            continue
        under = reading.scores(scores)
        for panel, (claim, how) in _CLAIMS.items():
            verdict = decide(tests[claim], under, **how).verdict
            known = {"panel": panel, "kind": "claim", "series": reading.name, "stat": verdict}
            rows.append(_KNOWN | known)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _likelihoods(own: pd.DataFrame, dataset: str) -> Iterator[dict]:
    cells = {
        _BY_SETTING[setting]: summarise(splits(rows, dataset, "KCEF").to_numpy(float), "nats")
        for setting, rows in own[own["dataset"] == dataset].groupby("setting", sort=False)
    }
    # A mean that is not a number comes last.
    means = pd.Series({name: cell.mean for name, cell in cells.items()}, dtype=float)
    known = _KNOWN | {"panel": dataset, "kind": "scatter"}
    for place, name in enumerate(means.sort_values(kind="stable").index, 1):
        for stat in ("mean", "median", "failed"):
            at = {"series": name, "x": place, "n": cells[name].n, "stat": stat}
            yield known | at | {"y": getattr(cells[name], stat)}
    if (value := published_value(dataset)) is not None:
        yield known | {"series": "published", "stat": "published", "y": value}


def section(frame: pd.DataFrame) -> list[str]:
    """Return the table of under how many readings each claim holds."""
    rows = []
    for claim, own in frame[frame["kind"] == "claim"].groupby("panel", sort=False):
        counts = own["stat"].value_counts()
        drawn = own.loc[own["series"] == f"{DRAWN}", "stat"].to_list() or ["–"]
        rows.append([claim, *drawn, *(counts.get(v, 0) for v in ("holds", "undecided", "fails"))])
    header = ["claim", f"as drawn ({DRAWN})", "holds", "undecided", "fails"]
    return ["## Number of readings under which each claim holds", pipe_table(header, rows)]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the mean of each data set against the least λ: a line a range of σ and number of folds.

    Means above the range of a panel lie at its upper edge.
    """
    shown = frame[frame["kind"] == "scatter"]
    panels = list(shown.groupby("panel", sort=False))
    rows = -(-len(panels) // _COLUMNS)
    size = style.PAGE, 0.75 + 1.4 * rows, min(_COLUMNS, len(panels)), rows
    with style.figure(*size, squeeze=False, sharex=True) as (made, grid):
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, (name, cells) in zip(grid.flat, panels, strict=False):
            means = cells[cells["stat"] == "mean"].set_index("series")["y"]
            target = cells.loc[cells["stat"] == "published", "y"].to_list()
            finite = [*means[np.isfinite(means)], *target] or [0.0]
            high = min(max(finite), min(finite) + _RANGE)
            for line, look in _lines().items():
                known = [each for each in line if f"{each}" in means.index]
                values = [min(means[f"{each}"], high) for each in known]
                least = [each.regularization[0] for each in known]
                axes.plot(least, np.nan_to_num(values, nan=high), markersize=2.5, lw=0.9, **look)
            for value in target:
                axes.axhline(value, color=style.BLACK, linewidth=1.0, linestyle=":")
            if f"{DRAWN}" in means.index:
                at = DRAWN.regularization[0], np.nan_to_num(min(means[f"{DRAWN}"], high), nan=high)
                axes.plot(*at, "s", mfc="none", mec=style.BLACK, markersize=7)
            axes.set_xscale("log")
            axes.margins(y=0.12)
            axes.locator_params(axis="y", nbins=4)
            style.panel_title(axes, "", name + " (cut)" * bool((means > high).any()))
        made.supxlabel("least λ of the grid", fontsize=8)
        made.supylabel("negative log-likelihood (nats); lower is better", fontsize=8)
        keys = [
            style.key(f"σ in {line[0].sigma_range}, {line[0].folds} folds", **look)
            for line, look in _lines().items()
        ]
        square = {"marker": "s", "mfc": "none", "mec": style.BLACK, "linestyle": "none"}
        keys.append(style.key("as drawn in table 1", **square))
        keys.append(style.key("published", color=style.BLACK, linestyle=":"))
        style.legend_above(made, keys, columns=5)
        return style.save(made, stem)


def _lines() -> dict[tuple, dict]:
    """Return the readings that differ in λ alone, with the look of their line."""
    colours = iter([style.BLUE, style.GREEN, style.ORANGE, style.PURPLE])
    looks: dict[tuple, dict] = {}
    for sigma in dict.fromkeys(each.sigma for each in READINGS):
        colour = next(colours)
        for folds, dashes, marker in ((5, "-", "o"), (10, "--", "^")):
            line = tuple(each for each in READINGS if (each.sigma, each.folds) == (sigma, folds))
            looks[line] = {"color": colour, "linestyle": dashes, "marker": marker}
    return looks


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    name="table1-readings",
    stage="readings",
    shows={
        "table1_readings": {},
        "r_benchmark": {"methods": ["NADE", "NADE-joint", "LSCDE", "epsilon-KDE", "DDE"]},
    },
    build=build,
    draw=draw,
    below=section,
)
