"""kcef figures 2 and 4: two columns of samples over the same columns of the data."""

import json
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from kcde.evidence import chains, tolerances
from kcde.evidence.cells import splits, variants
from kcde.metrics.names import DIVERGENCE_RATE, R_HAT
from kcde.pages import scatter, scatter_panel, style
from kcde.pages.methods import display
from kcde.pages.scatter import DATA
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.kcef import claims_of_figures as claims

# Metric of a sampler to its summary over the seeds: the worst value, or all.
_SUMMARIES = {
    "acceptance_rate": "mean",
    R_HAT: "max",
    "effective_sample_size": "min",
    "divergences": "sum",
    DIVERGENCE_RATE: "max",
    **dict.fromkeys(claims.ERRORS, "median"),
}

_SHOWN = 1000  # points of each kind in a panel, as published
_ACROSS = 4  # panels in a row


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the scatter plots, of the first seed that has samples.

    A panel is a data set. Rows without `stat` are points in standardised units, of the method
    `data` or of a sampler; the stats `x_label` and `y_label` name the two columns in `series`; the
    name of a diagnostic or an error stands in `stat`, its summary over the `n` seeds in `y`.
    Samples are read from the `.npz` beside each file, the columns to show from its `.json`.
    """
    order = {name: k for k, name in enumerate(artefact.methods)}
    files = sorted(files, key=lambda path: order.get(path.stem, len(order)))
    kinds = variants(scores)
    rows = []
    for dataset in dict.fromkeys(path.parent.name for path in files):
        here = [path for path in files if path.parent.name == dataset]
        info = json.loads(here[0].with_suffix(".json").read_text(encoding="utf-8"))
        pair = info["shown_pair"]
        # Where only the pair is modelled, its places among all columns are stated apart.
        for axis, place, known in zip("xy", pair, info.get("places", pair), strict=True):
            label = f"{info['columns'][place - 1]}, $x_{{{known}}}$"
            rows.append(scatter.row(dataset, DATA, series=label, stat=f"{axis}_label"))
        points = _columns(here[0], "reference")[0]
        rows += scatter.points(dataset, DATA, "", points, _SHOWN)
        for path in here:
            rows += _samples(scores, dataset, path, kinds[path.stem])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _columns(path: Path, name: str) -> np.ndarray:
    """Return the two columns to show of an array (seeds, rows, columns) beside a score file."""
    pair = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["shown_pair"]
    with np.load(path.with_suffix(".npz")) as arrays:
        return arrays[name][:, :, [place - 1 for place in pair]]


def _samples(scores: pd.DataFrame, dataset: str, path: Path, variant: str) -> list[dict]:
    cell = dataset, path.stem, variant
    drawn = _columns(path, "samples")
    complete = drawn[np.isfinite(drawn).all(axis=(1, 2))]  # seeds that did not fail
    rows = scatter.points(*cell, complete[0], _SHOWN) if len(complete) else []
    for metric, summary in _SUMMARIES.items():
        values = splits(scores, *cell, metric)
        # Chains that never move have no finite R-hat.
        values = values.fillna(np.inf) if metric == R_HAT else values.dropna()
        if len(values):
            rows.append(scatter.row(*cell, y=values.agg(summary), stat=metric, n=len(values)))
    return rows


def _unconverged(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return data set and method of the chains that have not converged, and why."""
    stats = frame.dropna(subset=["stat", "y"]).set_index("stat")
    found = {cell: dict(each["y"]) for cell, each in stats.groupby(["panel", "method"], sort=False)}
    return {cell: why for cell, each in found.items() if (why := chains.obstacle(each))}


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which panels show chains that have not converged."""
    wrong = _unconverged(frame).items()
    said = ", ".join(f"{method} on {dataset} ({why})" for (dataset, method), why in wrong)
    return [f"Chains that have not converged: {said}."] if said else []


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the data of each set, and beside and below them each sampler's points."""
    known = ["red-wine", "parkinsons", *frame["panel"]]
    datasets = sorted(frame["panel"].unique(), key=known.index)
    methods = [name for name in frame["method"].unique() if name != DATA]
    every = [[(dataset, name) for name in [DATA, *methods]] for dataset in datasets]
    grid = [shown[k : k + _ACROSS] for shown in every for k in range(0, len(shown), _ACROSS)]
    if len(methods) == 1:
        grid = [[pair for row in grid for pair in row]]
    wrong = _unconverged(frame)
    letters = iter(ascii_lowercase)
    size = max(map(len, grid)), len(grid)
    with style.figure(style.PAGE, 1.95 * len(grid), *size, squeeze=False) as (made, axes):
        for row, (line, shown) in enumerate(zip(axes, grid, strict=True)):
            beneath = grid[row + 1] if row + 1 < len(grid) else []
            for column, (one, (dataset, method)) in enumerate(zip(line, shown, strict=False)):
                own = frame[frame["panel"] == dataset]
                points = own[own["stat"].isna()]
                data = points[points["method"] == DATA]
                samples = points[(points["method"] == method) & (method != DATA)]
                title, colour, behind = f"{dataset}: data", style.BLACK, style.BLACK
                if method != DATA:
                    title, behind = display(method), scatter_panel.PALE
                    colour = style.line(method)["color"]
                out = scatter_panel.draw(one, data, samples, method, 0.06, behind)
                notes = ["not converged"] if (dataset, method) in wrong else []
                notes += [f"{out} out"] if out else [""]
                scatter_panel.heading(one, next(letters), title, colour, notes)
                # Panels of a data set share their axes with those at their left and below.
                left = column == 0 or method == DATA
                below = not (column < len(beneath) and beneath[column][0] == dataset)
                one.tick_params(labelleft=left, labelbottom=below)
                named = own.set_index("stat")["series"]
                one.set_xlabel(f"{named['x_label']} (sd)" if below else "", fontsize=6.5)
                one.set_ylabel(f"{named['y_label']} (sd)" if left else "", fontsize=6.5)
            for one in line[len(shown) :]:
                one.set_axis_off()
        return style.save(made, stem)


_PUBLISHED, _BETTER = ["KEF", "KCEF-F", "NADE"], ["KEF-adapted", "KCEF-F-inverse"]
_PAIR = ["KEF-pair", "KCEF-F-pair", "NADE-pair", "KEF-pair-adapted", "KCEF-F-pair-inverse"]

_FIGURE_4 = Artefact(
    __name__,
    kind="figure",
    shows={"samples": {"methods": [*_PUBLISHED, *_BETTER, "KCEF-LL-F-inverse"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=draw,
    claims={"K14": claims.samples_like_data},
    trial="seed",
    remarks=remarks,
)


def build_pair(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the models of the shown pair alone."""
    return build(artefact, scores, [path for path in files if path.stem in _PAIR])


ARTEFACTS = [
    replace(_FIGURE_4, name="fig2", shows={"samples": {"methods": ["KCEF-F"]}}, claims={}),
    _FIGURE_4,
    replace(
        _FIGURE_4,
        name="fig4-pair",
        stage=READINGS,
        shows={"samples": {"methods": [*_PAIR, *_PUBLISHED[:2], *_BETTER]}},
        build=build_pair,
        claims={},
    ),
]
