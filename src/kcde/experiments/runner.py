"""Running jobs: repetitions, shards, failures, progress and files, once for all experiments."""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kcde import scores
from kcde.experiments.base import Experiment, Outcome
from kcde.files import atomic, read_arrays, refused

log = logging.getLogger(__name__)

# Fields in which jobs may differ that run together to share bases.
METHOD_FIELDS = ("method", "estimator", "variant", "options")


def run(jobs, outs, *, shard: tuple[int, int] | None = None, parts: Sequence[Path] = ()) -> None:
    """Run a job, or several that differ in nothing but the method, and write the scores.

    Methods that share bases compute these once; the scores of each are those of a run of its own.
    `shard` (i, k) computes every k-th repetition from the i-th on, counted from 1, and writes one
    `.npz` for all jobs; of the `parts` of all shards the scores are written.
    """
    jobs = [jobs] if isinstance(jobs, Experiment) else list(jobs)
    outs = [Path(out) for out in ([outs] if isinstance(outs, str | Path) else outs)]
    check_compatible(jobs)
    if len({*outs}) != (1 if shard else len(jobs)):
        raise ValueError(f"give a file for each method, of a shard one; got {len({*outs})}")
    what, ending = ("a part of a shard", ".part.npz") if shard else ("scores", ".csv")
    if wrong := [out for out in outs if not ending.endswith(out.suffix or "?")]:
        raise ValueError(f"{wrong[0]} is no file of {what}: name {wrong[0].with_suffix(ending)}")
    for job in jobs:
        job.check()
    units = list(range(jobs[0].count()))
    if shard:
        index, count = shard
        write_part(outs[0], jobs, units[index - 1 :: count])
        return
    found = collect_parts(parts, jobs, units) if parts else computed(jobs, units)
    for place, (job, out) in enumerate(zip(jobs, outs, strict=True)):
        own = [each[place] for each in found]
        chosen = [one for outcome in own for one in outcome.chosen]
        scores.write(out, job.rows(own), job.info() | {"chosen": chosen}, job.arrays(own))


def computed(jobs: list[Experiment], units: list[int]) -> list[list[Outcome]]:
    """Return the outcomes of some repetitions, one per job, and log the progress."""
    if not units:
        return []
    named = (getattr(jobs[0], each, "") for each in ("name", "dataset", "method"))
    title = ", ".join([" ".join(named), *(job.method for job in jobs[1:])])
    found, started = [], time.perf_counter()
    work = type(jobs[0]).begin_together(jobs)
    for done, unit in enumerate(units, 1):
        found.append(work(unit))
        left = (time.perf_counter() - started) / done * (len(units) - done)
        log.info("%s: %d/%d, about %.0f s left", title, done, len(units), left)
    return found


def check_compatible(jobs: list[Experiment]) -> None:
    """Raise `ValueError` for jobs that cannot run together."""
    first, *others = jobs
    if others and not first.together:
        raise ValueError(f"jobs of {first.name} run one at a time; got {len(jobs)}")
    for other in others:
        alike = replace(other, **{name: getattr(first, name) for name in METHOD_FIELDS})
        ours, theirs = first.identity(), alike.identity()
        if differing := ", ".join(name for name in ours if theirs[name] != ours[name]):
            raise ValueError(f"methods that run together must agree in {differing}: run them apart")


# A repetition depends on its number alone, so that scores other than seconds are the same for any
# number of shards. A part is one `.npz` of arrays and JSON, which is read without running code.


def write_part(path: Path, jobs: list[Experiment], units: list[int]) -> None:
    """Compute some repetitions and write their part; a folder that is none is found before."""
    arrays: dict[str, np.ndarray] = {}
    told = []
    with atomic(path) as temporary:
        for unit, outcomes in zip(units, computed(jobs, units), strict=True):
            for place, outcome in enumerate(outcomes):
                arrays |= {f"{unit}/{place}/{n}": each for n, each in outcome.arrays.items()}
            told.append((unit, [(one.rows, one.chosen, list(one.arrays)) for one in outcomes]))
        text = _json({"identity": _identity(jobs), "outcomes": told})
        arrays["json"] = np.frombuffer(text.encode(), dtype=np.uint8)
        arrays["sha256"] = np.array(scores.digest_of_arrays(arrays))
        np.savez_compressed(temporary, **arrays)


def collect_parts(paths: Sequence[Path], jobs: list[Experiment], units: list[int]) -> list[list]:
    """Return the outcomes of all repetitions from parts of all shards, also of more methods."""
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


def _identity(jobs: list[Experiment]) -> list[Mapping]:
    return [job.info() | {"experiment": job.name} for job in jobs]


def _read_part(path: Path) -> tuple[Any, dict[int, list[Outcome]]]:
    """Return the identity and the outcomes that a part holds."""
    with refused(path, "is no part that a shard left", "delete it and run its shard again"):
        stored = read_arrays(path)
        if str(stored.pop("sha256")) != scores.digest_of_arrays(stored):
            raise ValueError("it was changed")
        told = json.loads(stored["json"].tobytes())
        outcomes: dict[int, list[Outcome]] = {unit: [] for unit, _ in told["outcomes"]}
        for unit, each in told["outcomes"]:
            for place, (rows, chosen, names) in enumerate(each):
                arrays = {name: stored[f"{unit}/{place}/{name}"] for name in names}
                outcomes[unit].append(Outcome(rows, chosen, arrays))
    return told["identity"], outcomes


def _json(value: object) -> str:
    """Return JSON, with numbers of numpy as those of Python."""
    return json.dumps(value, default=lambda each: each.item())
