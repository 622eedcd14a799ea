"""Expected times of jobs: as measured in earlier runs, but no less than typical."""

import csv
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from kcde.files import read_object
from kcde.summary import counted
from lib.resources import ResourceTable, Work

UNKNOWN_SECONDS = 60.0
"""Of a rule that has not run here and has no row in the table of typical times."""

_FOLLOWS = "input files updated by another job"  # as Snakemake names the reason
_DRAWN = "drawn"  # row of the rules that have the name of the file they draw
_SHRINKAGE = 3  # finished jobs of usual length that count as much as the expectation


def announcement(jobs: Iterable, cores: int, table: ResourceTable) -> str:
    """Return the message at the start of a run: one line, and a table of its jobs by rule.

    Parameters
    ----------
    jobs
        Snakemake jobs that will run, with `rule.name`, `wildcards`, `benchmark`, `output` and
        `log`.
    cores
        How many run at once.
    table
        Has the typical times.
    """
    expected: dict[str, list[float]] = {}
    for job in working(jobs):
        expected.setdefault(rule_of(job), []).append(seconds(job, table))
    flat = [each for group in expected.values() for each in group]
    if not flat:
        return ""
    # No schedule is shorter than its longest job.
    total = max([sum(flat) / max(cores, 1), *flat])
    ordered = sorted(expected.items(), key=lambda item: -sum(item[1]))
    width = max(map(len, expected))
    rows = [f"  {'step':<{width}}  {'jobs':>5}  {'on one core':>12}"]
    rows += [
        f"  {rule:<{width}}  {len(each):>5}  {duration(sum(each)):>12}" for rule, each in ordered
    ]
    return "\n".join(
        [
            f"kcde: {counted(len(flat), 'job')}, about {duration(total)} on "
            f"{counted(cores, 'core')}; an interrupted run goes on where it stopped",
            *rows,
        ]
    )


def working(jobs: Iterable) -> list:
    """Return the jobs that run a command: not targets, which only need others."""
    return [job for job in jobs if (job.output or job.log) and job.rule.name != "help"]


def retrying(dag) -> set:
    """Return the jobs that run only because data that no source had are tried again.

    Parameters
    ----------
    dag
        Snakemake's, whose jobs to run are known.
    """
    jobs = list(dag.needrun_jobs())
    found = {job for job in jobs if job.rule.name == "fetch" and _had_no_data(job)}
    size = -1
    while size != len(found):
        size, updated = len(found), {str(path) for job in found for path in job.output}
        for job in jobs:
            reason = dag.reason(job)
            follows = reason.updated_input_run and list(reason.get_names()) == [_FOLLOWS]
            if follows and updated.issuperset(map(str, reason.updated_input_run)):
                found.add(job)
    return found


def _had_no_data(job) -> bool:
    said = read_object(job.output.record)
    return said is not None and said["status"] != "available"


def rule_of(job) -> str:
    """Return the rule of a job, without the methods in its name."""
    rule = job.rule.name.partition("+")[0]
    return _DRAWN if "/" in rule else rule


def label(job) -> str:
    """Return a job in words: rule, method, data set, columns and part."""
    if rule_of(job) == _DRAWN:
        return f"draw {job.rule.name}"
    rule, *methods = job.rule.name.split("+")
    words: Mapping[str, str] = dict(job.wildcards.items())
    if "artefact" in words:
        return f"draw {words['paper']}/{words['artefact']}"
    named = "+".join(methods) or words.get("method", "")
    text = rule.removesuffix("_part").replace("_", " ")
    what = " on ".join(filter(None, [named, words.get("dataset", "")]))
    if what:
        text += f": {what}"
    if "nodes" in words:
        text += f", columns {words['nodes']}"
    if int(words.get("shards", 1)) > 1:
        text += f", part {words['shard']} of {words['shards']}"
    return text


def seconds(job, table: ResourceTable) -> float:
    """Return how long a job is expected to take.

    Parameters
    ----------
    job
        A Snakemake job.
    table
        Has the typical times.
    """
    work = _work(job, table)
    usual, before = table.seconds(work), measured(job.benchmark)
    if usual is None:
        return UNKNOWN_SECONDS if before is None else before
    if before is None or work.collects:
        return usual
    # A job that found no data was quick; with data it takes longer.
    return max(before, usual)


class Remaining:
    """The time that a run still takes, from the measured and expected times of finished jobs.

    The expected time of a job is multiplied by the ratio of measured to expected time of the jobs
    of its rule, which is shrunk towards that of all jobs while few have finished. A job that runs
    for longer than was expected counts as measured so far.

    Parameters
    ----------
    expected
        Seconds of each job.
    rules
        The rule of each job.
    cores
        How many run at once.
    queued
        Whether started jobs wait in the queue of a cluster. How many run at once is then what the
        finished ones show: their seconds over those since the first was submitted.
    """

    def __init__(
        self,
        expected: Mapping[int, float],
        rules: Mapping[int, str],
        cores: int,
        *,
        queued: bool = False,
    ):
        self._expected, self._rules, self._cores = dict(expected), rules, max(cores, 1)
        self._queued, self._first = queued, math.inf
        self._begun: dict[int, float] = {}
        self._measured: dict[int, float] = {}
        self._prior = _SHRINKAGE * sum(expected.values()) / max(len(expected), 1)

    def start(self, job: int, now: float) -> None:
        """Record that a job starts, at a time in seconds."""
        if job in self._expected:
            self._begun[job] = now
            self._first = min(self._first, now)

    def finish(self, job: int, now: float, took: float | None = None) -> float | None:
        """Record that a job has finished; return its seconds, None if they are not known.

        They are those since its start where `took`, without the time in a queue, is not given. Of
        a job in a group no start is recorded.
        """
        begun = self._begun.pop(job, None)
        if took is None and begun is not None:
            took = now - begun
        if took is None or job not in self._expected:
            self.drop(job)
            return None
        self._measured[job] = took
        return took

    def drop(self, job: int) -> None:
        """Record that a job will not finish; its time does not count as measured."""
        self._begun.pop(job, None)
        self._expected.pop(job, None)

    def running(self, now: float) -> dict[int, float]:
        """Return the seconds since the start of each job that has not finished, longest first."""
        return {job: now - begun for job, begun in self._begun.items()}

    def seconds(self, now: float) -> float:
        """Return the seconds that are left at a time."""
        running = {} if self._queued else self.running(now)
        late = {job: took for job, took in running.items() if took > self._expected[job]}
        known = self._measured | late
        overall = self._ratio(known, 1.0)
        by_rule = {
            rule: self._ratio({j: known[j] for j in known if self._rules[j] == rule}, overall)
            for rule in set(self._rules.values())
        }
        left = [
            max(seconds * by_rule[self._rules[job]] - running.get(job, 0.0), 1.0)
            for job, seconds in self._expected.items()
            if job not in self._measured
        ]
        at_once: float = self._cores
        if self._queued and now > self._first:
            at_once = sum(self._measured.values()) / (now - self._first) or self._cores
        return max([sum(left) / at_once, *left], default=0.0)

    def _ratio(self, took: Mapping[int, float], prior: float) -> float:
        expected = sum(self._expected[job] for job in took)
        return (sum(took.values()) + self._prior * prior) / (expected + self._prior)


def duration(seconds: float) -> str:
    """Return seconds in words, in one unit."""
    for limit, size, unit in ((100, 1, "second"), (5400, 60, "minute")):
        if seconds < limit:
            return counted(max(1, round(seconds / size)), unit)
    return f"{seconds / 3600:.1f} hours"


def beyond(jobs: Iterable, available: int, table: ResourceTable) -> list[str]:
    """Return a warning if jobs need more memory than there is, else nothing.

    Parameters
    ----------
    jobs
        As above.
    available
        MiB.
    table
        Has the memory that jobs need.
    """
    works = {job.output[0]: _work(job, table) for job in jobs if job.output}
    wanted = {path: table.memory(work) for path, work in works.items() if table.find(work)}
    large = {path: most for path, most in wanted.items() if most > available}
    if not large:
        return []
    largest = max(large, key=large.get)
    return [
        f"kcde: warning: {counted(len(large), 'job')} may need more memory than the "
        f"{available} MiB that are free, at most {large[largest]} MiB ({largest}): each runs "
        "alone, and may fail; close other programs, or use a larger machine"
    ]


def _work(job, table: ResourceTable) -> Work:
    """Return a job as the table has it; a rule of several methods is called rule+method+…."""
    _, *methods = job.rule.name.split("+")
    return table.work(rule_of(job).removesuffix("_part"), job.wildcards, methods)


def measured(benchmark: str | None) -> float | None:
    """Return the seconds in the benchmark file of a job that has run, None where there is none."""
    if not benchmark or not Path(benchmark).is_file():
        return None
    with Path(benchmark).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    try:
        return float(rows[-1]["s"])
    except (IndexError, KeyError, ValueError):
        return None
