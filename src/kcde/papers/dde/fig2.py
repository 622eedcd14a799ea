"""dde figure 2: the sampler over the iterations on the ring, and claim D5."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import tolerances
from kcde.evidence.cells import splits
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.dde import _planar, _planar_iterations

_SHOWN, _ITERATIONS = ("ring",), (0, 500, 2500, 5000, 10000, 20000)  # as published

SPEARMAN, FALL = "mmd2_spearman", "mmd2_last_over_first"
FALLING, CHECKS = "mmd2_spearman_to_plateau", "mmd2_checks_to_plateau"
"""Metrics: rank correlation up to the plateau, and how many checks that takes in."""

_METRICS = (SPEARMAN, FALL, FALLING, CHECKS)
_CORRELATION, _RATIO = -0.8, 0.1  # which a rank correlation and FALL must be below

_END = 10  # the spread of a check is that over the last tenth of them
_WITHIN = 2.0  # standard errors of the last check, at which the plateau begins
_FEWEST = 5  # checks: no ranking of four has a correlation significantly below 0 at 5%, two-sided


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with rank correlations and fall of the biased MMD² over the iterations.

    Added are rows of the metrics `SPEARMAN` (against the iteration), `FALL`, `FALLING` and
    `CHECKS` (up to the plateau, see `plateau`), failed where a seed's history is not finite; the
    history stands in the `.npz` beside each file.
    """
    added = []
    for path in files:
        here = scores[(scores["dataset"] == path.parent.name) & (scores["method"] == path.stem)]
        if not len(here):
            continue
        same = here.iloc[0][["experiment", "dataset", "setting", "method", "variant"]].to_dict()
        iterations, history = _planar_iterations.history(path)
        for split, mmd2 in enumerate(history):
            sound = bool(len(mmd2) and np.isfinite(mmd2).all())
            values = _convergence(iterations, mmd2) if sound else dict.fromkeys(_METRICS, np.nan)
            status = "ok" if sound else "failed"
            added += [
                {**same, "split": split, "metric": name, "value": value, "status": status}
                for name, value in values.items()
            ]
    return pd.concat([scores, pd.DataFrame(added)], ignore_index=True) if added else scores


def _convergence(iterations: np.ndarray, mmd2: np.ndarray) -> dict[str, float]:
    """Return the four metrics of one seed."""
    checks = plateau(mmd2) + 1
    every, falling = (_rank_correlation(iterations[:k], mmd2[:k]) for k in (len(mmd2), checks))
    values = (every, mmd2[-1] / mmd2[0], falling, checks)
    return dict(zip(_METRICS, map(float, values), strict=True))


def _rank_correlation(iterations: np.ndarray, mmd2: np.ndarray) -> float:
    """Return Spearman's correlation, 0 where MMD² does not change, as at a single check."""
    from scipy import stats

    return stats.spearmanr(iterations, mmd2).statistic if np.ptp(mmd2) else 0.0


def plateau(mmd2: np.ndarray) -> int:
    """Return the first check whose MMD² is at most two standard errors above the last.

    The standard error of a check is the standard deviation over the last tenth of them, at least
    two: how much MMD² still moves from check to check at the end.

    Parameters
    ----------
    mmd2
        Finite, shape (checks,).
    """
    end = mmd2[-max(2, len(mmd2) // _END) :]
    error = end.std(ddof=1) if len(end) > 1 else 0.0
    return int(np.argmax(mmd2 <= mmd2[-1] + _WITHIN * error))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return snapshots on the ring and MMD², as `_planar_iterations.frame_of` says."""
    return _planar_iterations.frame_of(scores, files, _SHOWN, _ITERATIONS)


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D5: the sampler converges to the data as the iterations proceed.

    On ring, grid and two moons the rank correlation of the biased MMD² with the iteration is below
    -0.8 and its last value below a tenth of its first, in the median over the seeds. The claim is
    undecided where a data set has no history. In the amended test the correlation is that up to the
    plateau (`plateau`); it is undecided where that takes in fewer than five checks, whose ranks say
    nothing.
    """
    with_history = {
        dataset: splits(scores, dataset, _planar.METHOD, metric=FALL)
        for dataset in _planar.DATASETS
    }
    if absent := [dataset for dataset, found in with_history.items() if not len(found)]:
        lacking = Decision("undecided", f"no history of {_planar.METHOD} on {absent[0]}")
        return replace(lacking, amended=lacking)
    original = _decided(scores, SPEARMAN, "with the iteration")
    amended = _decided(scores, FALLING, "with the iteration up to the plateau")
    checks = {name: _of_seeds(scores, name, CHECKS).median() for name in _planar.DATASETS}
    few = [f"{number:g} checks on {name}" for name, number in checks.items() if number < _FEWEST]
    if few and amended.verdict == "holds":
        reason = f"the plateau begins within {', '.join(few)}; {amended.reason}"
        amended = Decision("undecided", reason)
    return replace(original, amended=amended)


def _decided(scores: pd.DataFrame, metric: str, words: str) -> Decision:
    """Decide by the medians of a rank correlation and of `FALL`."""
    held, parts = [], []
    for dataset in _planar.DATASETS:
        correlation, fall = (_of_seeds(scores, dataset, name) for name in (metric, FALL))
        met = (correlation < _CORRELATION) & (fall < _RATIO)
        held.append(correlation.median() < _CORRELATION and fall.median() < _RATIO)
        parts.append(
            f"{dataset} correlation {correlation.median():.2f}, last over first "
            f"{fall.median():.2g}, both met by {met.sum()} of {len(met)} seeds"
        )
    reason = (
        "biased MMD² to the training points, medians over the seeds, wanted a rank correlation "
        f"{words} below {_CORRELATION} and a last value below {_RATIO} of the first: "
        f"{'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


def _of_seeds(scores: pd.DataFrame, dataset: str, metric: str) -> pd.Series:
    """Return a metric by seed, infinite where the seed diverged: it did not converge."""
    found = splits(scores, dataset, _planar.METHOD, metric=metric)
    return found.astype(float).fillna(np.inf)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    tolerance=tolerances.VERDICTS,
    build=build,
    draw=_planar_iterations.draw,
    deciders={"D5": decide},
    measure=measure,
    trial="seed",
    remarks=_planar_iterations.remarks,
)
