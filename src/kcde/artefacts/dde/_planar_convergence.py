"""dde figures 2 and 3: the sampler over the iterations, and claim D5."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact, Decision
from kcde.artefacts.dde._planar import METHOD, panel
from kcde.artefacts.plots import scatter
from kcde.artefacts.plots.scatter import DATA

SPEARMAN, FALL = "mmd2_spearman", "mmd2_last_over_first"

SHOWN = {
    "fig2": (("ring",), (0, 500, 2500, 5000, 10000, 20000)),
    "fig3": (("grid", "two-moons"), (0, 500, 1000, 2000)),
}
"""Artefact to the data sets and iterations of its panels, as published."""

POINTS = 500
"""Samples in a panel."""

_DATASETS = ("ring", "grid", "two-moons")
_CORRELATION, _SHARE = -0.8, 0.1


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with rank correlation and fall of the biased MMD² over the iterations.

    Parameters
    ----------
    scores
        Of the experiment `planar`.
    files
        Their files; `history_iteration` and `history_mmd2` stand in the `.npz` beside each.

    Returns
    -------
    pandas.DataFrame
        With rows of the metrics `mmd2_spearman` (against the iteration) and
        `mmd2_last_over_first` added, failed where a seed's history is not finite.
    """
    from scipy import stats

    added = []
    for path in files:
        here = scores[(scores["dataset"] == path.parent.name) & (scores["method"] == path.stem)]
        if not len(here):
            continue
        same = here.iloc[0][["experiment", "dataset", "setting", "method", "variant"]].to_dict()
        iterations, history = _history(path)
        for split, mmd2 in enumerate(history):
            sound = bool(len(mmd2) and np.isfinite(mmd2).all())
            correlation = stats.spearmanr(iterations, mmd2).statistic if sound else np.nan
            values = {SPEARMAN: correlation, FALL: mmd2[-1] / mmd2[0] if sound else np.nan}
            status = "ok" if sound else "failed"
            added += [
                {**same, "split": split, "metric": name, "value": value, "status": status}
                for name, value in values.items()
            ]
    return pd.concat([scores, pd.DataFrame(added)], ignore_index=True) if added else scores


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the snapshots of the first sound seed, and MMD² against the iteration for all.

    Parameters
    ----------
    artefact
        Its name says which data sets and iterations are shown; where there are none of them, all
        that there are.
    scores
        Of the experiment `planar`.
    files
        Their files; training points, snapshots and history stand in the `.npz` beside each.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel is a data set, or a variation of DDE on one. Points are of
        kind `scatter`, of the method `data` or of the sampler, whose iteration stands in `x_right`;
        MMD² is a `curve` a seed with the iteration in `x`.
    """
    wanted, iterations = SHOWN[artefact.name]
    published = [path for name in wanted for path in files if path.parent.name == name]
    rows = []
    for path in published or files:
        here = scores[(scores["dataset"] == path.parent.name) & (scores["method"] == path.stem)]
        rows += _snapshots(path, here["variant"].iloc[0], iterations)
        rows += _curves(path, here["variant"].iloc[0])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how far MMD² fell, over how many seeds.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    said = []
    for name, curves in frame[frame["kind"] == "curve"].groupby("panel", sort=False):
        table = curves.pivot(index="x", columns="series", values="y")
        ends = table.iloc[[0, -1]].median(axis=1) * 1000.0
        said.append(
            f"{name} {ends.iloc[0]:.3g} at iteration {table.index[0]:.0f} and {ends.iloc[1]:.3g} "
            f"at {table.index[-1]:.0f} ({table.shape[1]} seeds)"
        )
    return [f"Median over the seeds of MMD² × 1000: {'; '.join(said)}."] if said else []


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D5: the sampler converges to the data as the iterations proceed.

    On ring, grid and two moons the rank correlation of the biased MMD² with the iteration is below
    -0.8 and its last value below a tenth of its first, in the median over the seeds.

    Parameters
    ----------
    scores
        With what `measure` adds.

    Returns
    -------
    Decision
        `undecided` where a data set has no history.
    """
    held, parts = [], []
    for dataset in _DATASETS:
        correlation, fall = (
            # A seed that diverged did not converge.
            splits(scores, dataset, METHOD, metric=metric).astype(float).fillna(np.inf)
            for metric in (SPEARMAN, FALL)
        )
        if not len(correlation):
            return Decision("undecided", f"no history of {METHOD} on {dataset}")
        met = (correlation < _CORRELATION) & (fall < _SHARE)
        held.append(correlation.median() < _CORRELATION and fall.median() < _SHARE)
        parts.append(
            f"{dataset} correlation {correlation.median():.2f}, last over first "
            f"{fall.median():.2g}, both met by {met.sum()} of {len(met)} seeds"
        )
    reason = (
        f"biased MMD² to the training points, medians over the seeds, wanted a rank correlation "
        f"with the iteration below {_CORRELATION} and a last value below {_SHARE} of the first: "
        f"{'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


def _history(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations (checks,) and MMD² (seeds, checks); no checks where every seed failed."""
    with np.load(path.with_suffix(".npz")) as arrays:
        if "history_iteration" not in arrays:
            return np.empty(0), np.empty((len(arrays["samples_all"]), 0))
        return arrays["history_iteration"], arrays["history_mmd2"]


def _snapshots(path: Path, variant: str, wanted: tuple[int, ...]) -> list[dict]:
    name = panel(path.parent.name, path.stem)
    with np.load(path.with_suffix(".npz")) as arrays:
        if "train" not in arrays:  # every seed failed
            return []
        train, kept, drawn = (arrays[key] for key in ("train", "snapshot_iterations", "snapshots"))
    shown = [k for k, iteration in enumerate(kept) if iteration in wanted]
    rows = scatter.points(name, DATA, "", train, len(train))
    for k in shown if len(shown) > 1 else range(len(kept)):
        at = {"x_right": kept[k]}
        rows += scatter.points(name, path.stem, variant, drawn[k], POINTS, **at)
    return rows


def _curves(path: Path, variant: str) -> list[dict]:
    iterations, history = _history(path)
    same = scatter.row(panel(path.parent.name, path.stem), path.stem, variant) | {"kind": "curve"}
    return [
        {**same, "series": f"seed {seed}", "x": x, "y": y}
        for seed, values in enumerate(history)
        for x, y in zip(iterations, values, strict=True)
    ]
