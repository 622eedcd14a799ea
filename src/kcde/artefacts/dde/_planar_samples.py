"""dde figure 1: samples of the learned sampler over the training points, and the learned f."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact
from kcde.artefacts.dde._planar import panel
from kcde.artefacts.dde._planar_modes import DATASETS, SHARE
from kcde.artefacts.plots import scatter
from kcde.artefacts.plots.scatter import DATA
from kcde.datasets import planar

SHOWN = 1000
"""Samples in a panel; all training points are shown."""

SURFACE = "surface"
"""The kind of the rows of f: its value at (x, y) stands in `y_high`."""

_STRIDE = 2  # of the surface's 100 × 100 places, enough for a panel of two inches


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return points and surfaces of the first sound seed, and the shares of the modes over all.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `planar`, with what `kcde.artefacts.dde._planar_modes.measure` adds.
    files
        Their files; `train`, `samples` and the surface stand in the `.npz` beside each.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel is a data set, or a variation of DDE on one. Rows without
        `stat` are points of the method `data` or of the sampler, or of the kind `surface`; those
        with the stat `mode_share` say in `y` which share of the samples is nearest to the mode
        named in `series`, as mean and range over `n` seeds, and in `x` its weight.
    """
    order = {name: k for k, name in enumerate(DATASETS)}
    rows = []
    for path in sorted(files, key=lambda path: order.get(path.parent.name, len(order))):
        dataset, method = path.parent.name, path.stem
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == method)]
        variant = here["variant"].iloc[0]
        with np.load(path.with_suffix(".npz")) as arrays:
            if "train" in arrays:  # a seed succeeded
                rows += _panel(panel(dataset, method), method, variant, arrays)
        rows += _shares(here, dataset, method, variant)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which share of the samples each mode receives.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    shares = frame[frame["stat"] == SHARE]
    if not len(shares):
        return []
    said = []
    for name, rows in shares.groupby("panel", sort=False):
        each = (f"{row.series} {row.y:.3f} ({row.x:.3f})" for row in rows.itertuples())
        said.append(f"{name} {', '.join(each)}")
    return [
        f"Share of the samples nearest to each mode, mean over {shares['n'].max():.0f} seeds, and "
        f"its weight: {'; '.join(said)}."
    ]


def _panel(name: str, method: str, variant: str, arrays) -> list[dict]:
    rows = scatter.points(name, DATA, "", arrays["train"], len(arrays["train"]))
    rows += scatter.points(name, method, variant, arrays["samples"], SHOWN)
    return rows + _surface(name, method, variant, arrays)


def _surface(name: str, method: str, variant: str, arrays) -> list[dict]:
    kept = slice(None, None, _STRIDE)
    across, up = arrays["surface_x"][kept], arrays["surface_y"][kept]
    values = arrays["surface_f"][kept, kept]
    same = scatter.row(name, method, variant) | {"kind": SURFACE}
    return [
        {**same, "x": x, "y": y, "y_high": values[k, j]}
        for k, y in enumerate(up)
        for j, x in enumerate(across)
    ]


def _shares(scores: pd.DataFrame, dataset: str, method: str, variant: str) -> list[dict]:
    rows = []
    modes = planar.modes(dataset)
    for label, weight in zip(modes.labels, modes.weights, strict=True):
        share = splits(scores, dataset, method, variant, f"{SHARE}:{label}").dropna()
        if len(share):
            stated = {"x": weight, "y": share.mean(), "y_low": share.min(), "y_high": share.max()}
            stated |= {"series": label, "stat": SHARE, "n": len(share)}
            rows.append(scatter.row(panel(dataset, method), method, variant, **stated))
    return rows
