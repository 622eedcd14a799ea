"""How long the jobs ahead will take: as measured where they ran before, at least as is typical."""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from resources import Needs, Work

UNKNOWN_SECONDS = 60.0
"""For a rule that has neither run here nor stands in the table of typical times."""


def announcement(jobs: Iterable, cores: int, needs: Needs) -> str:
    """Return what a run says before it starts.

    Parameters
    ----------
    jobs
        Snakemake jobs that will run; read are `rule.name`, `wildcards`, `benchmark` and `output`.
    cores
        How many run at once.
    needs
        Knows the typical times.
    """
    working = [job for job in jobs if job.output or job.log]
    seconds = [_seconds(job, needs) for job in working]
    # Rules for groups of methods are called rule+method+method.
    counts = Counter(job.rule.name.partition("+")[0] for job in working)
    kinds = ", ".join(f"{count} {name}" for name, count in counts.most_common())
    # No schedule is shorter than its longest job.
    total = max([sum(seconds) / max(cores, 1), *seconds]) if seconds else 0.0
    return (
        f"kcde: {_count(len(working), 'job')} ({kinds}), about {duration(total)} on "
        f"{_count(cores, 'core')}; an interrupted run goes on where it stopped"
    )


def duration(seconds: float) -> str:
    """Return seconds in words of one unit."""
    for limit, size, unit in ((100, 1, "second"), (5400, 60, "minute")):
        if seconds < limit:
            return _count(max(1, round(seconds / size)), unit)
    return f"{seconds / 3600:.1f} hours"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def beyond(jobs: Iterable, available: int, needs: Needs) -> list[str]:
    """Return a warning where jobs need more memory than there is, else nothing.

    Parameters
    ----------
    jobs
        As above.
    available
        MiB.
    needs
        Knows what jobs need.
    """
    works = {job.output[0]: _work(job, needs) for job in jobs if job.output}
    wanted = {path: needs.memory(work) for path, work in works.items() if needs.find(work)}
    large = {path: most for path, most in wanted.items() if most > available}
    if not large:
        return []
    largest = max(large, key=large.get)
    return [
        f"kcde: warning: {_count(len(large), 'job')} may need more memory than the {available} MiB "
        f"that are free, at most {large[largest]} MiB ({largest}): each runs alone, and may fail; "
        "close other programs, or take a larger machine"
    ]


def _work(job, needs: Needs) -> Work:
    """Return a job as the table knows it; rules for several methods are called rule+method+…."""
    rule, *methods = job.rule.name.split("+")
    # Those named as the file that they draw stand under one.
    return needs.work(
        "drawn" if "/" in rule else rule.removesuffix("_part"), job.wildcards, methods
    )


def _seconds(job, needs: Needs) -> float:
    work = _work(job, needs)
    usual, measured = needs.seconds(work), _measured(job.benchmark)
    if usual is None:
        return UNKNOWN_SECONDS if measured is None else measured
    if measured is None or work.collects:
        return usual
    # A job that found no data was quick; with data it will not be.
    return max(measured, usual)


def _measured(benchmark: str | None) -> float | None:
    """Return the seconds of a benchmark file that an earlier run left."""
    if not benchmark or not Path(benchmark).is_file():
        return None
    with Path(benchmark).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    try:
        return float(rows[-1]["s"])
    except (IndexError, KeyError, ValueError):
        return None
