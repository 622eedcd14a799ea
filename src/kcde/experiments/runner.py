"""Running jobs: their repetitions, shards, failures, progress and files, once for all experiments.

An experiment is a module with a class `Experiment` that extends the one here: it opens its data,
makes what repeats, and says which rows and arrays a repetition gives. Its parameters are in the
module of the same name in `kcde.experiments.jobs`.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from kcde import scores
from kcde.estimators import estimator_class
from kcde.experiments.job import METHOD_FIELDS, Job, MethodJob, Outcome
from kcde.experiments.methods import FAILURES
from kcde.experiments.shards import UNSHARDED, Sharding, collect_parts, write_part
from kcde.provenance import digest, estimator_module

log = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
Work = Callable[[int], Outcome | list[Outcome]]


@dataclass(frozen=True)
class Places:
    """Locations of the raw data.

    Attributes
    ----------
    data_dir, catalogue
        Data folder, and a catalogue other than the project's own.
    records
        Records that `fetch` wrote of each data set.
    """

    data_dir: Path = Path("data")
    catalogue: Path | None = None
    records: tuple[Path, ...] = ()

    def missing(self, names: Iterable[str]) -> str:
        """Return why data sets, one for each record, are unavailable; "" where they are not.

        Raises
        ------
        ValueError
            If there are more records than data sets.
        """
        reasons, names = [], list(names)
        if len(self.records) > len(names):
            raise ValueError(f"there are {len(self.records)} records for {len(names)} data sets")
        for name, record in zip(names, self.records, strict=False):
            said = json.loads(record.read_text(encoding="utf-8"))
            if said["status"] != "available":
                remedy = said.get("remedy") or ""
                reasons.append(f"data set {name} is unavailable; {remedy}".rstrip("; "))
        return "; ".join(reasons)


class Experiment(Generic[J]):
    """Jobs of one experiment that run together, most often one.

    Parameters
    ----------
    jobs
        They differ in nothing but the method.
    places
        Where the raw data are.

    Attributes
    ----------
    job
        The first job.
    reason
        Why the data are unavailable, "" where they are not.
    data
        Result of `open`; None if the data are unavailable.
    """

    batch_fits = True
    """Whether an estimator that can be batch-fitted trains all repetitions as one batch."""

    def __init__(self, jobs: Sequence[J], places: Places = Places()):
        self.jobs, self.job, self.places = list(jobs), jobs[0], places
        for job in jobs:
            self.check(job)
        self.reason = places.missing(self.files())
        self.data: Any = None if self.reason else self.open()

    def check(self, job: J) -> None:
        """Raise `ValueError` for what cannot be checked on the parameters alone."""

    @classmethod
    def check_sharding(cls, jobs: Sequence[J]) -> None:
        """Raise `ValueError` for jobs that are not shardable."""
        if cls.batch_fits:
            check_shardable(jobs)

    def files(self) -> list[str]:
        """Return the data sets that are read, in the order of the records."""
        return [self.job.dataset] if self.job.reads_files else []

    def open(self) -> Any:
        """Return the data; not called where they are unavailable."""
        return None

    def count(self) -> int:
        """Return the number of repetitions."""
        return sum(getattr(self.job, name) for name in self.job.repeated) or 1

    def begin(self, units: Sequence[int]) -> Work:
        """Do the common work, and return a function from a unit to its outcome, or one per job."""
        raise NotImplementedError

    def not_run(self, job: J, unit: int) -> list[dict]:
        """Return the rows of a repetition whose data are unavailable, without the reason."""
        raise NotImplementedError

    def info(self, job: J) -> dict:
        """Return the information on a job that is known before it runs."""
        return {"job": job.identity(), "code": self.code(job)}

    def code(self, job: J) -> str:
        """Return a digest of the experiment and of the job's estimator."""
        own = [estimator_module(job.estimator)] if isinstance(job, MethodJob) else []
        return digest(type(self).__module__, *own)

    def results(self, job: J, outcomes: Sequence[Outcome]) -> dict:
        """Return the information that all outcomes give."""
        return {"chosen": [chosen for outcome in outcomes for chosen in outcome.chosen]}

    def rows(self, job: J, outcomes: Sequence[Outcome]) -> list[dict]:
        """Return the rows of the score table."""
        return [row for outcome in outcomes for row in outcome.rows]

    def arrays(self, job: J, outcomes: Sequence[Outcome]) -> Mapping[str, np.ndarray]:
        """Return the arrays of the `.npz`; not called if the data are unavailable."""
        return stacked(outcomes)

    def identity(self) -> dict:
        """Return the information that the parts of the same jobs share."""
        told = [(job.identity(), self.info(job)) for job in self.jobs]
        return {"experiment": self.job.experiment, "unavailable": self.reason, "jobs": told}


def run(
    jobs: Job | Sequence[Job],
    outs: Path | Sequence[Path],
    data_dir: str | Path = "data",
    *,
    catalogue: Path | None = None,
    record: Path | Sequence[Path] | None = None,
    sharding: Sharding = UNSHARDED,
) -> None:
    """Run a job, or several that differ in nothing but the method, and write the scores.

    Parts that several methods share are computed once; the scores of each method are those of a
    separate run.

    Parameters
    ----------
    jobs
        Job or jobs to run.
    outs
        The score CSV of each job; `.json` and `.npz` are written next to it. Of a shard one file,
        for what all jobs found in its repetitions.
    data_dir, catalogue
        Where the raw data are, and a catalogue other than the project's own.
    record
        What `fetch` wrote of the data; where it says that they are unavailable, every repetition
        is `not-run` rows.
    sharding
        Which repetitions this process computes.

    Raises
    ------
    ValueError
        If an option or a data set is unknown, the jobs differ in more than the method, a part is
        not of these jobs and data, or an estimator that trains all repetitions as one batch is
        sharded.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    jobs = [jobs] if isinstance(jobs, Job) else list(jobs)
    outs = [Path(out) for out in ([outs] if isinstance(outs, str | Path) else outs)]
    records = [record] if isinstance(record, str | Path) else record or ()
    check_compatible(jobs, outs, sharding)
    cls = import_module(f"kcde.experiments.{jobs[0].experiment}").Experiment
    if sharding != UNSHARDED:
        cls.check_sharding(jobs)
    places = Places(Path(data_dir), catalogue, tuple(Path(each) for each in records))
    experiment = cls(jobs, places)
    found = outcomes(experiment, outs[0], sharding)
    for place, (job, out) in enumerate(zip(jobs, outs, strict=True) if found is not None else ()):
        own = [each[place] for each in found]
        info = experiment.info(job) | experiment.results(job, own)
        arrays = {} if experiment.reason else experiment.arrays(job, own)
        scores.write(out, experiment.rows(job, own), info, arrays)


def outcomes(
    experiment: Experiment, out: Path, sharding: Sharding = UNSHARDED
) -> list[list[Outcome]] | None:
    """Return the outcomes of every repetition, one per job; None after a shard wrote its part.

    Parameters
    ----------
    experiment
        Experiment to run.
    out
        File for the outcomes of a shard.
    sharding
        Which repetitions this process computes.

    Raises
    ------
    ValueError
        As `Sharding.check` and `collect_parts`.
    """
    sharding.check(out)
    units = range(experiment.count())
    if sharding.shard is not None:
        compute = partial(computed, experiment)
        write_part(out, experiment.identity(), sharding.shard.of(units), compute)
        return None
    if sharding.parts:
        return collect_parts(sharding.parts, experiment.identity(), units)
    return computed(experiment, units)


def computed(experiment: Experiment, units: Sequence[int]) -> list[list[Outcome]]:
    """Return the outcomes of some repetitions, one per job, and log the progress."""
    if experiment.reason:
        missing = {"status": "not-run", "detail": experiment.reason}
        return [
            [Outcome([r | missing for r in experiment.not_run(j, unit)]) for j in experiment.jobs]
            for unit in units
        ]
    if not units:
        return []
    title = experiment.job.title
    if experiment.job.shares:
        title = ", ".join([title, *(job.method for job in experiment.jobs[1:])])
    found, started = [], time.perf_counter()
    work = experiment.begin(units)
    for done, unit in enumerate(units, 1):
        outcome = work(unit)
        found.append(outcome if isinstance(outcome, list) else [outcome])
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

    Parameters
    ----------
    estimator
        Class name.
    units
        Numbers of repetitions.
    fit_one
        Fits the model of a unit. It is called on request, so that one model is held at a time.
    fit_batch
        Fits the models of all units as one batch, if the estimator does so; the seconds of each
        are its share.
    """
    if not is_batch_fitted(estimator):
        return lambda unit: attempt(fit_one, unit)
    log.info("%d fits in one batch", len(units))
    started = time.perf_counter()
    models = dict(zip(units, fit_batch(units), strict=True))
    share = (time.perf_counter() - started) / len(units)
    return lambda unit: (models[unit], share)


def is_batch_fitted(estimator: str) -> bool:
    """Return whether an estimator trains all repetitions as one batch."""
    return hasattr(estimator_class(estimator), "fit_many")


def check_shardable(jobs: Sequence[Job]) -> None:
    """Raise `ValueError` for jobs whose repetitions are trained as one batch.

    Raises
    ------
    ValueError
        If the estimator of one is such.
    """
    for job in jobs:
        if isinstance(job, MethodJob) and is_batch_fitted(job.estimator):
            raise ValueError(
                f"{job.estimator} trains all repetitions as one batch, and the results depend on "
                "the batch: run the whole job, without --shard and --part"
            )


def check_compatible(jobs: Sequence[Job], outs: Sequence[Path], sharding: Sharding) -> None:
    """Raise `ValueError` for jobs that cannot run together, and for equal file names.

    Raises
    ------
    ValueError
        If there is no job, a name stands twice, or the jobs differ in more than the method.
    """
    if sharding.shard is not None and len(outs) != 1:
        raise ValueError(
            f"a shard leaves one part for all of its methods: give --out once; got {len(outs)}"
        )
    if not jobs or (sharding.shard is None and len(outs) != len(jobs)):
        raise ValueError(
            f"name a file (--out) for each method (--method); got {len(outs)} for {len(jobs)}"
        )
    first, *others = jobs
    if others and not (first.shares and all(type(each) is type(first) for each in others)):
        raise ValueError(f"jobs of {first.experiment} run one at a time; got {len(jobs)}")
    named = [("file", list(map(str, outs)))]
    named += [("method", [job.method for job in jobs])] if others else []
    for what, names in named:
        if len(set(names)) < len(names):
            raise ValueError(f"name each {what} once; got {', '.join(names)}")
    for other in others:
        own = {name: getattr(first, name) for name in METHOD_FIELDS}
        theirs = replace(other, **own).identity()
        for name, value in first.identity().items():
            if theirs[name] != value:
                raise ValueError(
                    f"methods that run together must agree in {name}: {first.method} has "
                    f"{value!r} and {other.method} {theirs[name]!r}; run them apart"
                )


def stacked(outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
    """Return arrays by name, a row a repetition; NaN, or -1 of row numbers, where it has none."""
    names = dict.fromkeys(name for each in outcomes for name in each.arrays)
    return {name: _rows_of([each.arrays.get(name) for each in outcomes]) for name in names}


def _rows_of(arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    """Return one array, a row each, filled up to the longest."""
    known = [array for array in arrays if array is not None]
    longest = np.max([array.shape for array in known], axis=0).astype(int)
    empty = -1 if known[0].dtype.kind == "i" else np.nan
    found = np.full((len(arrays), *longest), empty, dtype=known[0].dtype)
    for row, array in enumerate(arrays):
        if array is not None:
            found[row, *map(slice, array.shape)] = array
    return found
