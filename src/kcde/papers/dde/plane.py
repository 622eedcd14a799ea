"""What is measured of DDE's samples in the plane: shares of modes, coverage, convergence."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.data.names import PLANAR
from kcde.metrics.names import NLL
from kcde.seeding import rng_of

METHOD = "DDE"
"""The method as published; its variations have panels of their own and do not enter the claims."""

DATASETS = ("ring", "grid", "two-moons")

SHARE, CHI_SQUARED = "mode_share", "modes_chi_squared"
"""Metrics: the share of samples nearest to a mode, whose name follows after a colon, and the
statistic of all of them."""

COVERAGE, FRESH = "coverage", "coverage_of_a_fresh_draw"
"""Metrics of the shares that are near, of the samples and of as many fresh draws of the data; what
is near follows after a colon."""

NEAR = ("samples near the support", "training points near a sample")
_NEAR = 3.0  # standard deviations of the noise

SPEARMAN, FALL = "mmd2_spearman", "mmd2_last_over_first"
FALLING, CHECKS = "mmd2_spearman_to_plateau", "mmd2_checks_to_plateau"
"""Metrics: rank correlation of MMD² and iteration, whole and up to the plateau, how far MMD² falls,
and how many checks there are up to the plateau."""

EXCESS = "excess_negative_log_likelihood"


def with_excess(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with the likelihood of each seed less that of the known density.

    Test points to which a model gives no density (those beyond a bounded base density) are left
    out of both.
    """
    key = ["dataset", "method", "variant", "split"]
    names = [f"{NLL}{end}" for end in ("", "_exact", "_inside", "_exact_inside")]
    sound = scores[scores["status"] == "ok"]
    wide = sound.pivot(index=key, columns="metric", values="value").reindex(columns=names)
    whole, exact, inside, exact_inside = (wide[name] for name in names)
    excess = (inside - exact_inside).fillna(whole - exact).dropna().rename("value").reset_index()
    added = excess.assign(metric=EXCESS, unit="nats", status="ok", setting="{}")
    return pd.concat([scores, added], ignore_index=True) if len(added) else scores


def with_samples(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with what the arrays beside the files give, by seed."""
    added = []
    for path in files:
        dataset = path.parent.name
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == path.stem)]
        if not len(here) or dataset not in PLANAR or not path.stem.startswith(METHOD):
            continue
        first = here.iloc[0]
        same = first[["experiment", "dataset", "setting", "method", "variant"]].to_dict()
        with np.load(path.with_suffix(".npz")) as arrays:
            samples, (iterations, histories) = arrays["samples_all"], history(arrays)
        for split, (points, mmd2) in enumerate(zip(samples, histories, strict=True)):
            found = convergence(iterations, mmd2)
            if np.isfinite(points).all():
                found |= _shares(dataset, points, first["n_train"])
                found |= _coverage(dataset, split, points)
            for metric, value in found.items():
                status = "failed" if np.isnan(value) else "ok"
                row = {"split": split, "metric": metric, "value": value, "status": status}
                added.append({**same, **row})
    return pd.concat([scores, pd.DataFrame(added)], ignore_index=True) if added else scores


def history(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations (checks,) and MMD² (seeds, checks); no checks where every seed failed."""
    none = np.empty((len(arrays["samples_all"]), 0))
    return arrays.get("history_iteration", none[0]), arrays.get("history_mmd2", none)


def _shares(dataset: str, points: np.ndarray, n_train: int) -> dict[str, float]:
    """Return the shares of the modes and their statistic, by metric.

    A sampler cannot know the weights w of the modes better than its n training points do, so that
    the counts of m samples have the covariance m(1 + m/n)(diag w - w wᵀ), not that of m draws:
    Pearson's statistic is divided by 1 + m/n. It is chi-squared with one degree of freedom less
    than there are modes where the sampler has the proportions of its training points.
    """
    modes, m = made_up.planar_modes(dataset), len(points)
    counts = np.bincount(modes.nearest(points), minlength=len(modes.weights))
    pearson = np.sum((counts - m * modes.weights) ** 2 / (m * modes.weights))
    shares = {f"{SHARE}:{k}": c / m for k, c in zip(modes.labels, counts, strict=True)}
    return {CHI_SQUARED: pearson / (1.0 + m / n_train)} | shares


def _coverage(dataset: str, split: int, samples: np.ndarray) -> dict[str, float]:
    """Return the shares that are near, of the samples and of a fresh draw, by metric.

    Modes may all be reached in proportion far from the data, or at single points.
    """
    from scipy.spatial import KDTree

    train, _ = made_up.planar_of_seed(dataset, split)
    fresh = made_up.planar_draw(dataset, len(samples), rng_of("coverage", dataset, split))
    found = {}
    for metric, points in ((COVERAGE, samples), (FRESH, fresh)):
        distance, _ = KDTree(points).query(train)
        near = (
            made_up.planar_deviations(dataset, points) <= _NEAR,
            distance <= _NEAR * made_up.planar_noise(dataset),
        )
        for name, each in zip(NEAR, near, strict=True):
            found[f"{metric}:{name}"] = float(each.mean())
    return found


def convergence(iterations: np.ndarray, mmd2: np.ndarray) -> dict[str, float]:
    """Return the four metrics of the history of a seed, NaN where it is not finite.

    The plateau begins at the first check whose MMD² is at most two standard errors above the last:
    how much MMD² still moves from check to check in the last tenth of them, at least two.
    """
    from scipy import stats

    names = (SPEARMAN, FALL, FALLING, CHECKS)
    if not len(mmd2) or not np.isfinite(mmd2).all():
        return dict.fromkeys(names, np.nan)
    end = mmd2[-max(2, len(mmd2) // 10) :]
    error = end.std(ddof=1) if len(end) > 1 else 0.0
    checks = int(np.argmax(mmd2 <= mmd2[-1] + 2.0 * error)) + 1
    every, falling = (  # 0 where MMD² does not change, as at a single check
        stats.spearmanr(iterations[:k], mmd2[:k]).statistic if np.ptp(mmd2[:k]) else 0.0
        for k in (len(mmd2), checks)
    )
    return dict(zip(names, map(float, (every, mmd2[-1] / mmd2[0], falling, checks)), strict=True))
