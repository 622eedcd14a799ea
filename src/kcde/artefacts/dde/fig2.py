"""dde figure 2: the sampler over the iterations on the ring, and claim D5."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.dde import _planar, _planar_iterations

_SHOWN, _ITERATIONS = ("ring",), (0, 500, 2500, 5000, 10000, 20000)  # as published

SPEARMAN, FALL = "mmd2_spearman", "mmd2_last_over_first"
_CORRELATION, _RATIO = -0.8, 0.1  # which SPEARMAN and FALL must be below


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with rank correlation and fall of the biased MMD² over the iterations.

    Added are rows of the metrics `SPEARMAN` (against the iteration) and `FALL`, failed where a
    seed's history is not finite; the history stands in the `.npz` beside each file.
    """
    from scipy import stats

    added = []
    for path in files:
        here = scores[(scores["dataset"] == path.parent.name) & (scores["method"] == path.stem)]
        if not len(here):
            continue
        same = here.iloc[0][["experiment", "dataset", "setting", "method", "variant"]].to_dict()
        iterations, history = _planar_iterations.history(path)
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
    """Return snapshots on the ring and MMD², as `_planar_iterations.frame_of` says."""
    return _planar_iterations.frame_of(scores, files, _SHOWN, _ITERATIONS)


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim D5: the sampler converges to the data as the iterations proceed.

    On ring, grid and two moons the rank correlation of the biased MMD² with the iteration is below
    -0.8 and its last value below a tenth of its first, in the median over the seeds. The claim is
    undecided where a data set has no history.
    """
    held, parts = [], []
    for dataset in _planar.DATASETS:
        correlation, fall = (
            # A seed that diverged did not converge.
            splits(scores, dataset, _planar.METHOD, metric=metric).astype(float).fillna(np.inf)
            for metric in (SPEARMAN, FALL)
        )
        if not len(correlation):
            return Decision("undecided", f"no history of {_planar.METHOD} on {dataset}")
        met = (correlation < _CORRELATION) & (fall < _RATIO)
        held.append(correlation.median() < _CORRELATION and fall.median() < _RATIO)
        parts.append(
            f"{dataset} correlation {correlation.median():.2f}, last over first "
            f"{fall.median():.2g}, both met by {met.sum()} of {len(met)} seeds"
        )
    reason = (
        f"biased MMD² to the training points, medians over the seeds, wanted a rank correlation "
        f"with the iteration below {_CORRELATION} and a last value below {_RATIO} of the first: "
        f"{'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="the sampler over the iterations on the ring",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    caption=_planar_iterations.CAPTION,
    details=_planar_iterations.DETAILS,
    build=build,
    draw=_planar_iterations.draw,
    deciders={"D5": decide},
    measure=measure,
    trial="seed",
    remarks=_planar_iterations.remarks,
)
