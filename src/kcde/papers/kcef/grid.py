"""The grid data of figures 1 and 5: log-likelihoods against n and against d.

Section 4 of kcef says which kernel a figure shows: the full graph of figure 1 has "an anisotropic
RBF kernel with tuned per-dimension bandwidth" (`KCEF-F-anisotropic`), that of figure 5 an isotropic
one (`KCEF-F`, as the class of the authors' code, which tables 2 and 3 have). On the Markov graph x
has one dimension.

A curve is a frame of log-likelihoods in nats, one row a run, one column an n or a d, NaN where a
fit failed. All methods of a run see the same training and test points, so runs are pairs.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import names
from kcde.evidence.cells import mean_and_stderr, variants
from kcde.metrics import NLL
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact

FULL, ISOTROPIC = "KCEF-F-anisotropic", "KCEF-F"
"""KCEF on the full graph, with a bandwidth for each parent and with one for all."""

EXACT = "exact"
"""The method name of the exact properties of the synthetic density."""

BOUNDS = ("entropy", "independence")
"""Metrics of `EXACT`: the best log-likelihood of any density, and the best of a density without
dependence; both with the sign of a loss."""

DATASETS = [f"grid-{n}" for n in (200, 400, 700, 1000, 1400, 2000, 4000, 8000)]

_D = 3  # of the curves against n, as published


def against_n(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods at d = 3 against the number n of training points."""
    return _curve(scores, method, metric, "n", lambda rows: rows["dim"] == _D)


def against_published_n(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return what `against_n` does for the n of the paper, up to 2000."""
    curve = against_n(scores, method, metric)
    return curve[[n for n in curve if n <= names.GRID_ROWS]]


def against_d(scores: pd.DataFrame, method: str, metric: str = NLL) -> pd.DataFrame:
    """Return a method's log-likelihoods against d, from d = 2, at n = 2000; not per dimension."""
    n = _fixed(scores)
    return _curve(scores, method, metric, "dim", lambda rows: (rows["n"] == n) & (rows["dim"] >= 2))


def _curve(
    scores: pd.DataFrame, method: str, metric: str, axis: str, shown: Callable
) -> pd.DataFrame:
    rows = scores[(scores["method"] == method) & (scores["metric"] == metric)]
    rows = rows.assign(n=_size(rows["dataset"])).dropna(subset="n")
    rows = rows.assign(value=-rows["value"].where(rows["status"] == "ok"))
    curve = rows[shown(rows)].pivot(index="split", columns=axis, values="value")
    curve.columns = curve.columns.astype(int)
    return curve.astype(float).replace([np.inf, -np.inf], np.nan).sort_index(axis=1)


def _size(datasets: pd.Series) -> pd.Series:
    """Return n of data sets named grid-<n>, NaN for others."""
    return pd.to_numeric(datasets.str.extract(r"^grid-(\d+)$", flags=re.ASCII)[0])


def _fixed(scores: pd.DataFrame) -> float:
    """Return the n at which d varies, or at the scale `smoke` the only one."""
    sizes = _size(scores["dataset"])
    return sizes[scores["dim"] == scores.loc[sizes.notna(), "dim"].max()].max()


def curves(
    artefact: Artefact,
    scores: pd.DataFrame,
    files: list[Path],
    views: Sequence[Callable] = (against_n, against_d),
) -> pd.DataFrame:
    """Return the frame of a figure with one panel for each view.

    A panel is named by what is fixed in it. `d=3`: x is the number of training points, y the mean
    log-likelihood over runs in nats; `n=2000`: x is the dimension, y the same per dimension.
    `y_low` and `y_high` are one standard error away, `n` counts the runs that did not fail, and
    rows of stat `failed` count those that did. Series of the method `exact`: its bounds.
    """
    kinds = variants(scores)
    here = set(kinds) - {EXACT}
    methods = dict.fromkeys([name for name in artefact.methods if name in here] + sorted(here))
    shown = [(method, NLL, kinds[method], "log-likelihood") for method in methods]
    shown += [(EXACT, bound, EXACT, bound) for bound in BOUNDS]
    rows = []
    for method, metric, variant, series in shown:
        for view in views:
            panel = f"d={_D}" if view is against_n else f"n={_fixed(scores):g}"
            place = {"panel": panel, "kind": "curve", "method": method}
            place |= {"variant": variant, "series": series}
            for x, values in view(scores, method, metric).items():
                rows.append(place | {"x": x} | point(values / (1 if view is against_n else x)))
                if failed := int(values.isna().sum()):
                    rows.append(place | {"x": x, "y": failed, "stat": "failed", "n": len(values)})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def point(values: pd.Series) -> dict:
    """Return cells of a mean over the runs that did not fail, with one standard error."""
    mean, stderr = mean_and_stderr(values.dropna().to_numpy())
    ends = {"y": mean, "y_low": mean - stderr, "y_high": mean + stderr}
    return {**ends, "stat": "mean", "n": int(values.notna().sum())}


def remarks(frame: pd.DataFrame) -> list[str]:
    """Name the runs that failed."""
    cells = [
        f"{row.method} at {'n' if row.panel.startswith('d=') else 'd'} = {row.x:g}: {row.y:g}"
        for row in frame[frame["stat"] == "failed"].itertuples()
    ]
    return [f"Failed runs, left out: {', '.join(cells)}."] if cells else []
