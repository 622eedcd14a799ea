"""Claim D4: whether samples of the learned sampler reach every mode in proportion."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.dde._planar import METHOD
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.datasets import planar

DATASETS = ("ring", "grid", "two-moons")
CHI_SQUARED = "modes_chi_squared"
SHARE = "mode_share"
"""Metric of the share of samples nearest to a mode; its name follows after a colon."""


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with the shares of the modes and their chi-squared statistic, by seed.

    A sampler cannot know the weights w of the modes better than its n training points do, so that
    the counts of m samples have the covariance m(1 + m/n)(diag w - w wᵀ), not that of m draws:
    Pearson's statistic is divided by 1 + m/n. It is chi-squared with one degree of freedom less
    than there are modes where the sampler has the proportions of its training points.

    Parameters
    ----------
    scores
        Of the experiment `planar`.
    files
        Their files; `samples_all`, shape (seeds, m, 2), stands in the `.npz` beside each.

    Returns
    -------
    pandas.DataFrame
        With rows of the metrics `modes_chi_squared` and `mode_share:<mode>` added.
    """
    added = [row for path in files for row in _rows(scores, path)]
    return pd.concat([scores, pd.DataFrame(added)], ignore_index=True) if added else scores


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D4: every mode receives samples in proportion, on ring, grid and two moons.

    The chi-squared statistics of the seeds, which are independent, are added up; each of the three
    sums must not be rejected at 5%. The modes of the ring are its radii.

    Parameters
    ----------
    scores
        With what `measure` adds.

    Returns
    -------
    Decision
        `undecided` where a data set has no samples.
    """
    from scipy import stats

    held, parts = [], []
    for dataset in DATASETS:
        values = splits(scores, dataset, METHOD, metric=CHI_SQUARED).dropna().to_numpy(float)
        if not len(values):
            return Decision("undecided", f"no samples of {METHOD} on {dataset}")
        modes = planar.modes(dataset)
        freedom = len(values) * (len(modes.weights) - 1)
        p_value = float(stats.chi2.sf(values.sum(), freedom))
        held.append(p_value >= SIGNIFICANCE)
        shares = [_shares(scores, dataset, label) for label in modes.labels]
        said = ", ".join(
            f"{label} {share.mean():.3f} ({share.min():.3f} to {share.max():.3f}) of {weight:.3f}"
            for label, share, weight in zip(modes.labels, shares, modes.weights, strict=True)
        )
        parts.append(f"{dataset}: {said}, p = {p_value:.2g}, {len(values)} seeds")
    reason = (
        "share of the samples nearest to each mode, mean over the seeds, range and weight, and "
        f"chi-squared test over the seeds: {'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


def _shares(scores: pd.DataFrame, dataset: str, label: str) -> pd.Series:
    return splits(scores, dataset, METHOD, metric=f"{SHARE}:{label}").dropna()


def _rows(scores: pd.DataFrame, path: Path) -> Iterator[dict]:
    """Yield the added rows of one file: those of each seed that has samples."""
    dataset = path.parent.name
    here = scores[(scores["dataset"] == dataset) & (scores["method"] == path.stem)]
    if dataset not in planar.NAMES or not len(here):
        return
    modes = planar.modes(dataset)
    with np.load(path.with_suffix(".npz")) as arrays:
        samples = arrays["samples_all"]
    first = here.iloc[0]
    common = first[["experiment", "dataset", "setting", "method", "variant", "n_train"]].to_dict()
    for split, points in enumerate(samples):
        if not np.isfinite(points).all():
            continue
        counts = np.bincount(modes.nearest(points), minlength=len(modes.weights))
        m = len(points)
        pearson = np.sum((counts - m * modes.weights) ** 2 / (m * modes.weights))
        values = {CHI_SQUARED: pearson / (1.0 + m / first["n_train"])}
        values |= {f"{SHARE}:{k}": c / m for k, c in zip(modes.labels, counts, strict=True)}
        for metric, value in values.items():
            row = {"split": split, "metric": metric, "value": value, "unit": "", "status": "ok"}
            yield {**common, **row}
