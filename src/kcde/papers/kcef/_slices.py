"""Figures 2 and 4: two columns of samples over the same columns of the data."""

import json
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.evidence import chains
from kcde.evidence.cells import splits
from kcde.metrics.names import DIVERGENCE_RATE, R_HAT
from kcde.pages import scatter, scatter_panel, style
from kcde.pages.methods import display
from kcde.pages.scatter import DATA
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DATASETS = ("red-wine", "parkinsons")
"""Data sets of claim K14, in the order in which they are drawn."""

ERRORS = {
    "conditional_std_error": "standard deviation",
    "conditional_q01_error": "1% quantile",
    "conditional_q99_error": "99% quantile",
}
"""Metric of an error of the samples, conditional on the first column, to its name."""

_DIAGNOSTICS = {
    "acceptance_rate": "mean",
    R_HAT: "max",
    "effective_sample_size": "min",
    "divergences": "sum",
    DIVERGENCE_RATE: "max",
}
"""Metric of a Markov chain sampler to its summary over the seeds: the worst value, or all."""

_SHOWN = 1000  # points of each kind in a panel, as published
_HEIGHT = 1.95  # inches of a row, with heading and labels
_ACROSS = 4  # panels in a row
_MARGIN = 0.06  # around the data, as a fraction of their range


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the scatter plots, of the first seed that has samples.

    A panel is a data set. Rows without `stat` are points in standardised units, of the method
    `data` or of a sampler; the stats `x_label` and `y_label` name the two columns in `series`; the
    name of a diagnostic or an error stands in `stat`, its summary over the `n` seeds in `y`.
    Samples are read from the `.npz` beside each file, the columns to show from its `.json`.
    """
    order = {name: k for k, name in enumerate(artefact.methods)}
    files = sorted(files, key=lambda path: order.get(path.stem, len(order)))
    rows = []
    for dataset in dict.fromkeys(path.parent.name for path in files):
        here = [path for path in files if path.parent.name == dataset]
        rows += _data(dataset, here[0])
        for path in here:
            rows += _samples(dataset, path, scores)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _data(dataset: str, path: Path) -> list[dict]:
    info = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    pair = info["shown_pair"]
    rows = []
    # Where only the pair is modelled, its places among all columns are stated apart.
    for axis, place, known in zip("xy", pair, info.get("places", pair), strict=True):
        label = f"{info['columns'][place - 1]}, $x_{{{known}}}$"
        rows.append(scatter.row(dataset, DATA, series=label, stat=f"{axis}_label"))
    with np.load(path.with_suffix(".npz")) as arrays:
        points = arrays["reference"][0][:, [place - 1 for place in pair]]
    return [*rows, *scatter.points(dataset, DATA, "", points, _SHOWN)]


def _samples(dataset: str, path: Path, scores: pd.DataFrame) -> list[dict]:
    method = path.stem
    here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
    variant = here["variant"].iloc[0]
    pair = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["shown_pair"]
    with np.load(path.with_suffix(".npz")) as arrays:
        drawn = arrays["samples"][:, :, [place - 1 for place in pair]]
    complete = drawn[np.isfinite(drawn).all(axis=(1, 2))]  # seeds that did not fail
    rows = scatter.points(dataset, method, variant, complete[0], _SHOWN) if len(complete) else []
    for metric, summary in (_DIAGNOSTICS | dict.fromkeys(ERRORS, "median")).items():
        values = splits(here, dataset, method, variant, metric)
        # Chains that never move have no finite R-hat.
        values = values.fillna(np.inf) if metric == R_HAT else values.dropna()
        if len(values):
            value = values.agg(summary)
            stated = {"y": value, "stat": metric, "n": len(values)}
            rows.append(scatter.row(dataset, method, variant, **stated))
    return rows


def _unconverged(frame: pd.DataFrame, panel: str, method: str) -> str:
    """Return why the chains of a panel have not converged, "" where they have."""
    here = frame[(frame["panel"] == panel) & (frame["method"] == method)]
    return chains.obstacle(dict(here[["stat", "y"]].dropna().itertuples(index=False)))


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how well the chains mixed, and which panels show some that have not converged."""
    sentences, wrong = [], []
    stats = frame.dropna(subset="stat").set_index(["panel", "method", "stat"])["y"]
    for panel, method in dict.fromkeys(zip(frame["panel"], frame["method"], strict=True)):
        found = [stats.get((panel, method, name), np.nan) for name in _DIAGNOSTICS]
        if np.isfinite(found[0]):
            rate, r_hat, size, divergences, _ = found
            if said := _unconverged(frame, panel, method):
                wrong.append(f"{method} on {panel} ({said})")
            sentences.append(
                f"Chains of {method} on {panel}, over all seeds: mean acceptance rate {rate:.2f}, "
                f"largest R-hat {r_hat:.3f}, smallest effective sample size {size:.0f}, "
                f"{divergences:.0f} divergences."
            )
    if wrong:
        sentences.append(
            f"Chains that have not converged, so that their panels show no sample of the density, "
            f"that is, {chains.RULE}: {'; '.join(wrong)}."
        )
    return sentences


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the data of each set, and beside and below them each sampler's points."""
    datasets = sorted(dict.fromkeys(frame["panel"]), key=_place)
    methods = [name for name in dict.fromkeys(frame["method"]) if name != DATA]
    every = [[(dataset, name) for name in [DATA, *methods]] for dataset in datasets]
    grid = [shown[k : k + _ACROSS] for shown in every for k in range(0, len(shown), _ACROSS)]
    if len(methods) == 1:
        grid = [[pair for row in grid for pair in row]]
    size = max(map(len, grid)), len(grid)
    letters = iter(ascii_lowercase)
    with style.figure(style.PAGE, len(grid) * _HEIGHT, *size, squeeze=False) as (made, axes):
        for row, (line, shown) in enumerate(zip(axes, grid, strict=True)):
            beneath = grid[row + 1] if row + 1 < len(grid) else []
            for column, (dataset, method) in enumerate(shown):
                own, one = frame[frame["panel"] == dataset], line[column]
                _draw_panel(one, own, dataset, method, next(letters))
                shared = column < len(beneath) and beneath[column][0] == dataset
                _label_axes(one, own, left=column == 0 or method == DATA, below=not shared)
            for one in line[len(shown) :]:
                one.set_axis_off()
        return style.save(made, stem)


def _place(dataset: str) -> int:
    return DATASETS.index(dataset) if dataset in DATASETS else len(DATASETS)


def _draw_panel(axes: "Axes", frame: pd.DataFrame, dataset: str, method: str, letter: str) -> None:
    points = frame[frame["stat"].isna()]
    data, samples = points[points["method"] == DATA], points[points["method"] == method]
    if method == DATA:
        scatter_panel.draw(axes, data, samples.iloc[:0], method, _MARGIN)
        scatter_panel.heading(axes, letter, f"{dataset}: data", style.BLACK)
        return
    outside = scatter_panel.draw(axes, data, samples, method, _MARGIN, scatter_panel.PALE)
    notes = [f"{outside} out" if outside else ""]
    if _unconverged(frame, dataset, method):
        notes = ["not converged", *notes]
    scatter_panel.heading(axes, letter, display(method), style.line(method)["color"], notes)


def _label_axes(axes: "Axes", frame: pd.DataFrame, *, left: bool, below: bool) -> None:
    """Label the axes that a panel does not share with the one at its left or below."""
    axes.tick_params(labelleft=left, labelbottom=below)
    for name, set_label, wanted in (("x", axes.set_xlabel, below), ("y", axes.set_ylabel, left)):
        label = frame.loc[frame["stat"] == f"{name}_label", "series"].iloc[0]
        set_label(f"{label} (sd)" if wanted else "", fontsize=6.5)
