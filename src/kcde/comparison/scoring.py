"""One split of one method: fit to the training rows, score on the test rows."""

import json
import time
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde.arrays import to_numpy
from kcde.comparison.plan import Plan
from kcde.comparison.splits import Split
from kcde.experiments.base import FAILURES
from kcde.files import atomic, read_object
from kcde.memory import InsufficientMemory
from kcde.methods import BASELINE
from kcde.metrics.names import COVERAGES
from kcde.seeding import seed_of
from kcde.table_model import unfitted

OK, FAILED, TOO_LARGE = "ok", "failed", "too large"
"""What can become of a split."""

_SEEDS = 2**32


class Scored(NamedTuple):
    """What a split gave: values and words, ready for JSON, and one value for each test row."""

    said: dict
    arrays: dict[str, np.ndarray]


def score(method: str, plan: Plan, number: int) -> Scored:
    """Fit and score one split; what fails is a result with its reason.

    Parameters
    ----------
    method
        A key of `kcde.methods.METHODS`.
    plan
        The rows and their splits.
    number
        Of the split, which seeds what is random in the fit.

    Raises
    ------
    ValueError
        If there is no such method.
    """
    start = time.perf_counter()
    model, split = unfitted(method, seed_of("own", "split", number) % _SEEDS), plan.splits[number]
    X = plan.X[:, :0] if model.tags.unconditional or method == BASELINE else plan.X
    try:
        values, arrays = _scores(model, X, plan, split)
        said = {"status": OK, "detail": ""} | values
    except InsufficientMemory as error:
        said, arrays = {"status": TOO_LARGE, "detail": str(error)}, {}
    except (*FAILURES, RuntimeError, MemoryError) as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        said, arrays = {"status": FAILED, "detail": detail}, {}
    sizes = {"n_train": len(split.train), "n_test": len(split.test)}
    return Scored(said | sizes | {"seconds": time.perf_counter() - start}, arrays)


def _scores(model, X, plan: Plan, split: Split) -> tuple[dict, dict]:
    groups = plan.groups[split.train] if plan.groups is not None and model.tags.grouped else None
    model.fit(X[split.train], plan.y[split.train], groups)
    X, y = X[split.test], plan.y[split.test]
    log_density = to_numpy(model.log_density(X, y))
    if not np.isfinite(log_density).all():
        wrong = int((~np.isfinite(log_density)).sum())
        raise ValueError(f"the log density of {wrong} of {len(y)} test rows is not finite")
    arrays = {"log_density": log_density, "pit": to_numpy(model.cdf(X, y))}
    arrays["crps"] = to_numpy(model.crps(X, y))
    inside = np.abs(arrays["pit"] - 0.5)
    worst = np.sort(log_density)[: max(1, len(log_density) // 20)]
    values = {
        "log_density": log_density.mean(),
        "crps": arrays["crps"].mean(),
        "worst_loss": -worst.mean(),
        **{metric: np.mean(inside <= level / 2) for metric, level in COVERAGES.items()},
    }
    return {key: float(value) for key, value in values.items()}, arrays


def paths(folder: Path, method: str, split: int) -> tuple[Path, Path]:
    """Return the files of a split: JSON and arrays."""
    stem = folder / "splits" / method / f"{split}"
    return stem.with_suffix(".json"), stem.with_suffix(".npz")


def write(folder: Path, method: str, split: int, scored: Scored) -> None:
    """Write the result of a split; the JSON last, which says that it is done."""
    said, arrays = paths(folder, method, split)
    with atomic(arrays) as temporary:
        np.savez(temporary, **scored.arrays)
    with atomic(said) as temporary:
        temporary.write_text(json.dumps(scored.said), encoding="utf-8")


def read(folder: Path, method: str, split: int) -> dict | None:
    """Return what a split gave, None where it is not done."""
    return read_object(paths(folder, method, split)[0])


def is_done(folder: Path, method: str, split: int) -> bool:
    """Return whether a split has been scored, with files that can be read."""
    if read(folder, method, split) is None:
        return False
    try:
        arrays(folder, method, split)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        return False
    return True


def arrays(folder: Path, method: str, split: int) -> dict[str, np.ndarray]:
    """Return one value for each test row of a split that was scored."""
    with np.load(paths(folder, method, split)[1]) as kept:
        return dict(kept)
