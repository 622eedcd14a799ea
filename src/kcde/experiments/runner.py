"""Running jobs: repetitions, shards, failures, progress and files, once for all experiments."""

import json
import logging
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kcde import scores
from kcde.experiments.base import Experiment, MethodExperiment, Outcome, is_batch_fitted
from kcde.experiments.methods import FAILURES
from kcde.files import atomic

log = logging.getLogger(__name__)

METHOD_FIELDS = ("method", "estimator", "variant", "options")
"""Fields in which jobs may differ that run together to share bases."""

_JSON_MEMBER = "json"
"""The member of a part that holds everything but arrays, as JSON."""


def run(
    jobs: Experiment | Sequence[Experiment],
    outs: str | Path | Sequence[str | Path],
    *,
    shard: tuple[int, int] | None = None,
    parts: Sequence[Path] = (),
) -> None:
    """Run a job, or several that differ in nothing but the method, and write the scores.

    Methods that share bases compute these once; the scores of each are those of a run of its own.

    Parameters
    ----------
    jobs
        Job or jobs to run.
    outs
        The score CSV of each job; `.json` and `.npz` are written next to it. Of a shard one
        `.npz`, its part: what all jobs found in its repetitions.
    shard
        (i, k): compute every k-th repetition from the i-th on, counted from 1.
    parts
        The parts of all shards, to write the scores from.

    Raises
    ------
    ValueError
        If an option or a data set is unknown, the jobs differ in more than the method, a part is
        not of these jobs and data, or an estimator that trains all repetitions as one batch is
        sharded.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    jobs = [jobs] if isinstance(jobs, Experiment) else list(jobs)
    outs = [Path(out) for out in ([outs] if isinstance(outs, str | Path) else outs)]
    check_compatible(jobs)
    if len(outs) != (1 if shard else len(jobs)):
        raise ValueError(
            f"give a file for each of {len(jobs)} methods, of a shard one; got {len(outs)}"
        )
    for job in jobs:
        job.check()
        if (shard or parts) and job.batch_fits and _is_batch(job):
            raise ValueError(
                f"{job.estimator} trains all repetitions as one batch, and the results depend on "
                "the batch: run the whole job, without --shard and --part"
            )
    units = range(jobs[0].count())
    if shard:
        index, count = shard
        if not 1 <= index <= count:
            raise ValueError(f"a shard is i/k with 1 ≤ i ≤ k, as 2/4; got {index}/{count}")
        write_part(outs[0], jobs, list(units[index - 1 :: count]))
        return
    found = collect_parts(parts, jobs, units) if parts else computed(jobs, units)
    for place, (job, out) in enumerate(zip(jobs, outs, strict=True)):
        own = [each[place] for each in found]
        scores.write(out, job.rows(own), job.info() | job.results(own), job.arrays(own))


def computed(jobs: Sequence[Experiment], units: Sequence[int]) -> list[list[Outcome]]:
    """Return the outcomes of some repetitions, one per job, and log the progress."""
    if not units:
        return []
    title = ", ".join([jobs[0].title, *(job.method for job in jobs[1:])])
    found, started = [], time.perf_counter()
    work = type(jobs[0]).begin_together(jobs, units)
    for done, unit in enumerate(units, 1):
        found.append(work(unit))
        left = (time.perf_counter() - started) / done * (len(units) - done)
        log.info("%s: %d/%d, about %.0f s left", title, done, len(units), left)
    return found


def attempt(function: Callable, *arguments: Any) -> tuple[Any, float]:
    """Return the value of a function, or the numerical error that it raises, and its seconds.

    If an argument is such an error, the function is not called and the error is returned.
    """
    if error := next((each for each in arguments if isinstance(each, Exception)), None):
        return error, 0.0
    started = time.perf_counter()
    try:
        found = function(*arguments)
    except FAILURES as error:
        found = error
    return found, time.perf_counter() - started


def fits(
    estimator: str,
    units: Sequence[int],
    fit_one: Callable[[int], Any],
    fit_batch: Callable[[Sequence[int]], Sequence],
) -> Callable[[int], tuple[Any, float]]:
    """Return a function from a unit to its fitted model, or an error, and its seconds.

    One model is held at a time, but all of an estimator that trains all units as one batch; the
    seconds of each are then its share.
    """
    if not is_batch_fitted(estimator):
        return lambda unit: attempt(fit_one, unit)
    log.info("%d fits in one batch", len(units))
    started = time.perf_counter()
    models = dict(zip(units, fit_batch(units), strict=True))
    share = (time.perf_counter() - started) / len(units)
    return lambda unit: (models[unit], share)


def check_compatible(jobs: Sequence[Experiment]) -> None:
    """Raise `ValueError` for jobs that cannot run together."""
    first, *others = jobs
    if others and not first.together:
        raise ValueError(f"jobs of {first.name} run one at a time; got {len(jobs)}")
    names = [job.method for job in jobs] if others else []
    if len(set(names)) < len(names):
        raise ValueError(f"name each method once; got {', '.join(names)}")
    for other in others:
        theirs = replace(other, **{name: getattr(first, name) for name in METHOD_FIELDS}).identity()
        for name, value in first.identity().items():
            if theirs[name] != value:
                raise ValueError(
                    f"methods that run together must agree in {name}: {first.method} has "
                    f"{value!r} and {other.method} {theirs[name]!r}; run them apart"
                )


def _is_batch(job: Experiment) -> bool:
    known = isinstance(job, MethodExperiment) and job.method not in job.beside
    return known and is_batch_fitted(job.estimator)


# A repetition depends on its number alone, so that scores other than seconds are the same for any
# number of shards. A part is one `.npz` of arrays and JSON, which is read without running code.


def write_part(path: Path, jobs: Sequence[Experiment], units: Sequence[int]) -> None:
    """Compute some repetitions and write their part; a folder that is none is found before."""
    if path.suffix != ".npz":
        raise ValueError(f"a shard keeps no scores: name its file {path.with_suffix('.part.npz')}")
    arrays: dict[str, np.ndarray] = {}
    told = []
    with atomic(path) as temporary:
        for unit, outcomes in zip(units, computed(jobs, units), strict=True):
            for place, outcome in enumerate(outcomes):
                arrays |= {f"{unit}/{place}/{n}": each for n, each in outcome.arrays.items()}
            told.append((unit, [(one.rows, one.chosen, list(one.arrays)) for one in outcomes]))
        text = _json({"identity": _identity(jobs), "outcomes": told})
        arrays[_JSON_MEMBER] = np.frombuffer(text.encode(), dtype=np.uint8)
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)


def collect_parts(
    paths: Sequence[Path], jobs: Sequence[Experiment], units: Sequence[int]
) -> list[list[Outcome]]:
    """Return the outcomes of every repetition from the parts of all shards, which may be of more
    methods.

    Raises
    ------
    ValueError
        If a file is no part, or one of other jobs, or the parts together are not the units, each
        once.
    """
    wanted = json.loads(_json(_identity(jobs)))
    found: dict[int, list[Outcome]] = {}
    for path in paths:
        theirs, outcomes = _read_part(path)
        if not all(each in theirs for each in wanted):
            raise ValueError(f"{path} is a part of another job: delete it and run its shard again")
        if twice := sorted(found.keys() & outcomes.keys()):
            raise ValueError(f"{path} repeats the repetitions {twice}: give each part once")
        places = [theirs.index(each) for each in wanted]
        found |= {unit: [each[place] for place in places] for unit, each in outcomes.items()}
    if missing := sorted(set(units) - found.keys()):
        raise ValueError(f"no part has the repetitions {missing}: give the parts of all shards")
    return [found[unit] for unit in units]


def _identity(jobs: Sequence[Experiment]) -> list[Mapping]:
    return [job.info() | {"experiment": job.name} for job in jobs]


def _read_part(path: Path) -> tuple[Any, dict[int, list[Outcome]]]:
    """Return the identity and the outcomes that a part holds."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            told = json.loads(stored[_JSON_MEMBER].tobytes())
            outcomes = {
                unit: [
                    Outcome(rows, chosen, {name: stored[f"{unit}/{i}/{name}"] for name in names})
                    for i, (rows, chosen, names) in enumerate(each)
                ]
                for unit, each in told["outcomes"]
            }
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is no part that a shard left ({error}): delete it and run its shard again"
        ) from None
    return told["identity"], outcomes


def _json(value: object) -> str:
    """Return JSON, with numbers of numpy as those of Python."""
    return json.dumps(value, default=lambda each: each.item())
