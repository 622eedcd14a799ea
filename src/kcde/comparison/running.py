"""Scores of the methods on the splits of a plan, within a budget of time, quick ones first.

`costs.csv` has the methods that are compared, and for each the processor `seconds` of one split
with 1000 training rows and a quarter as many test rows, fit and scores, and the `exponent` of its
growth with the number of rows, both rounded. In the first round each method does three splits, and
may take its share of the time that is left, or twice what it is declared to need where that is
left; a method is skipped untried where one split is declared to take many times its share. In the
second round all that have scores do further splits, as many as there is time for with all of them,
so that every method has the same splits.

Splits are scored in processes of their own, which can be stopped when the time is up. What is done
is kept in the folder of the plan, and a stopped comparison goes on from it.
"""

import json
import math
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde import estimators, methods
from kcde.arrays import to_numpy
from kcde.comparison.splits import Plan
from kcde.estimators import estimator_names
from kcde.experiments.base import FAILURES
from kcde.files import atomic
from kcde.methods import BASELINE
from kcde.metrics import COVERAGES
from kcde.seeding import seed_of
from kcde.table_model import unfitted, usable

FIRST_ROUND = 3
"""Splits of the first round."""

OK, FAILED = "ok", "failed"
"""What can become of a split."""

REMEDY = "a larger --budget, or fewer --rows"
"""How a method that was too slow can be compared."""

_RESERVE = 0.1  # of the budget, for the fit to all rows and the page
_SAFETY = 1.2
_MOST = 2.0  # times the declared seconds, or else its share, may a method take of the first round
_HOPELESS = 4.0  # times its share: a method whose split is declared to take more is not tried
_BASELINE_SHARE = 0.5  # of what is left, for the density that ignores x: all are compared with it
_ROWS = 1000
_UNKNOWN = (100.0, 2.0)  # of a method without declared cost
_SEEDS = 2**32
_DAMAGED = (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


class Scored(NamedTuple):
    """What a split gave: values and words, ready for JSON, and one value for each test row."""

    said: dict
    arrays: dict[str, np.ndarray]


def score(method: str, plan: Plan, number: int) -> Scored:
    """Fit and score one split, by its number; what fails is a result with its reason."""
    start = time.perf_counter()
    model, split = unfitted(method, seed_of("own", "split", number) % _SEEDS), plan.splits[number]
    X = plan.X[:, :0] if model.tags.unconditional or method == BASELINE else plan.X
    try:
        values, arrays = _scores(model, X, plan, split)
        said = {"status": OK, "detail": ""} | values
    except (*FAILURES, RuntimeError, MemoryError) as error:
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        said, arrays = {"status": FAILED, "detail": detail}, {}
    sizes = {"n_train": len(split.train), "n_test": len(split.test)}
    return Scored(said | sizes | {"seconds": time.perf_counter() - start}, arrays)


def _scores(model, X, plan: Plan, split) -> tuple[dict, dict]:
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


def path_of(folder: Path, method: str, number: int) -> Path:
    """Return the file of a split."""
    return folder / "splits" / method / f"{number}.npz"


def write(folder: Path, method: str, number: int, scored: Scored) -> None:
    """Keep the result of a split."""
    with atomic(path_of(folder, method, number)) as temporary:
        np.savez(temporary, said=json.dumps(scored.said), **scored.arrays)


def read(folder: Path, method: str, number: int) -> Scored | None:
    """Return what a split gave, None where it is not done or its file is damaged."""
    try:
        with np.load(path_of(folder, method, number)) as kept:
            arrays = dict(kept)
        return Scored(json.loads(str(arrays.pop("said"))), arrays)
    except _DAMAGED:
        return None


@cache
def _declared() -> dict[str, tuple[float, float]]:
    with (resources.files("kcde.comparison") / "costs.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, index_col="method")
    return {name: (row.seconds, row.exponent) for name, row in table.iterrows()}


def cost(method: str, rows: int) -> float:
    """Return the declared seconds of one split with so many training rows."""
    seconds, exponent = _declared().get(method, _UNKNOWN)
    return seconds * (rows / _ROWS) ** exponent


def default_methods() -> list[str]:
    """Return those of `costs.csv`, and the classes of estimators that no method there uses."""
    covered = {methods.find(name).estimator for name in _declared()}
    new = [name for name in estimator_names() if name not in covered and not usable(name)]
    return [
        *_declared(),
        *(name for name in new if not getattr(estimators, name).tags.unconditional),
    ]


def by_cost(names: Sequence[str], rows: int) -> list[str]:
    """Return methods, the quick ones first; the density that ignores x needs to be early."""
    return sorted(names, key=lambda name: cost(name, rows) * (0.1 if name == BASELINE else 1.0))


@dataclass
class Run:
    """What a comparison has done.

    Attributes
    ----------
    methods
        Those that were asked for, quick ones first.
    skipped
        Method to the reason why it has no scores.
    splits
        Numbers of the splits that all others have.
    scores
        Method to what it gave on each of these.
    """

    methods: list[str]
    skipped: dict[str, str] = field(default_factory=dict)
    splits: list[int] = field(default_factory=list)
    scores: dict[str, list[Scored]] = field(default_factory=dict)


class Workers:
    """Processes that score splits, and the time that is left of a budget in seconds."""

    def __init__(self, plan: Plan, budget: float, jobs: int):
        self._end = time.monotonic() + budget * (1.0 - _RESERVE)
        self._plan, self._pool, self.jobs = plan, None, jobs

    @property
    def left(self) -> float:
        """Seconds, not below 0."""
        return max(0.0, self._end - time.monotonic())

    def score(self, method: str, numbers: Sequence[int], seconds: float) -> str:
        """Score splits in some seconds; return what went wrong with a process, "" if nothing."""
        # Of joblib's own packages: scripts need no guard of their main part, and processes can
        # be ended while they work.
        from joblib.externals.loky import ProcessPoolExecutor

        late, errors = set(), []
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.jobs)
            # To import takes seconds.
            done, late = wait([self._pool.submit(work) for _ in range(self.jobs)], self.left)
            errors = [error for future in done if (error := future.exception())]
        if not (late or errors):
            futures = [self._pool.submit(work, method, self._plan, number) for number in numbers]
            limit = min(seconds, self.left)
            done, late = wait(futures, timeout=limit, return_when=FIRST_EXCEPTION)
            errors = [error for future in done if (error := future.exception())]
        if late or errors:
            self.stop()
        # What ends a process is an error of many lines.
        return f"its process stopped: {str(errors[0]).splitlines()[0]}" if errors else ""

    def stop(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(kill_workers=True)
            self._pool = None


def work(method: str | None = None, plan: Plan | None = None, number: int = 0) -> None:
    """Score a split and keep the result, in a process of its own."""
    warnings.simplefilter("ignore")
    if plan is not None:
        write(plan.folder, method, number, score(method, plan, number))


def run(
    plan: Plan,
    names: Sequence[str],
    budget: float,
    say: Callable[[str], None],
    jobs: int = 1,
) -> Run:
    """Score methods on the splits of a plan, and go on where an earlier run stopped.

    `budget` is in seconds, `jobs` the number of processes, and `say` is told what is done.
    """
    workers, found = Workers(plan, budget, jobs), Run(by_cost(names, plan.train_rows))
    found.splits = list(range(min(FIRST_ROUND, len(plan.splits))))
    try:
        for place, method in enumerate(found.methods):
            share = workers.left / (len(found.methods) - place)
            if reason := _first_round(plan, method, found.splits, workers, share):
                found.skipped[method] = reason
                said = f"skipped, {reason}"
            else:
                said = f"{len(found.splits)} of {len(plan.splits)} splits, {_pace(plan, method)}"
            counted = f"{place + 1} of {len(found.methods)} methods"
            say(f"{method}: {said} ({counted}, {in_words(workers.left)} left)")
        compared = [name for name in found.methods if name not in found.skipped]
        found.splits = _second_round(plan, compared, found.splits, workers, say)
    finally:
        workers.stop()
    found.scores = {
        name: [read(plan.folder, name, number) for number in found.splits] for name in compared
    }
    return found


def _first_round(plan, method: str, first: Sequence[int], workers: Workers, share: float) -> str:
    """Score the first splits; return why the method is skipped, "" if it is not."""
    if missing := _missing(plan, method, first):
        if method == BASELINE:
            share = max(share, _BASELINE_SHARE * workers.left)
        single = cost(method, plan.train_rows)
        needed = single * math.ceil(len(missing) / workers.jobs)
        size = f"splits of {plan.train_rows} training rows"
        if needed > workers.left and single > _HOPELESS * share:
            return (
                f"{len(missing)} {size} take about {in_words(needed)}, "
                f"{in_words(workers.left)} are left: {REMEDY}"
            )
        limit = share if needed > workers.left else max(share, _MOST * needed)
        limit = min(limit, workers.left)
        trouble = workers.score(method, missing, limit)
    done = _done(plan, method)
    if done and all(scored.said["status"] == FAILED for scored in done):
        return f"failed on every split: {done[0].said['detail']}"
    if missing := _missing(plan, method, first):
        scored = f"{len(first) - len(missing)} of {len(first)} {size}"
        return trouble or f"stopped after {in_words(limit)} with {scored}: {REMEDY}"
    return ""


def _second_round(plan, compared, first, workers: Workers, say) -> list[int]:
    """Score as many further splits as there is time for with all methods; return all splits."""

    def needed(numbers: Sequence[int]) -> float:
        rounds = (math.ceil(len(_missing(plan, name, numbers)) / workers.jobs) for name in compared)
        return _SAFETY * sum(_seconds(plan, n) * k for n, k in zip(compared, rounds, strict=True))

    if not compared:
        return list(first)
    rest = list(range(len(first), len(plan.splits)))
    while rest and needed(rest) > workers.left:
        rest = rest[:-1]
    for method in compared:
        if missing := _missing(plan, method, rest):
            trouble = workers.score(method, missing, workers.left)
            lost = f"; {trouble}" if trouble else ""
            say(f"{method}: {len(rest)} further splits ({in_words(workers.left)} left){lost}")
    common = [i for i in rest if not any(_missing(plan, name, [i]) for name in compared)]
    found = [*first, *common]
    if len(found) < len(plan.splits):
        say(f"{len(found)} of {len(plan.splits)} splits within the budget")
    return found


def _missing(plan: Plan, method: str, numbers: Sequence[int]) -> list[int]:
    return [i for i in numbers if read(plan.folder, method, i) is None]


def _done(plan: Plan, method: str) -> list[Scored]:
    found = (read(plan.folder, method, i) for i in range(len(plan.splits)))
    return [scored for scored in found if scored is not None]


def _seconds(plan: Plan, method: str) -> float:
    """Return the measured seconds of a split; the first may have compiled what others use."""
    return float(np.median([scored.said["seconds"] for scored in _done(plan, method)]))


def _pace(plan: Plan, method: str) -> str:
    failed = sum(scored.said["status"] == FAILED for scored in _done(plan, method))
    return f"{in_words(_seconds(plan, method))} each" + (f", {failed} failed" if failed else "")


def in_words(seconds: float) -> str:
    """Return a time as `0.4s`, `35s` or `130m`."""
    return f"{seconds:.2g}s" if seconds < 99.5 else f"{seconds / 60:.0f}m"
