"""How long the jobs ahead will take: as measured where they ran before, at least as is typical."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

UNKNOWN_SECONDS = 60.0
"""For a rule that has neither run here nor stands in the table of typical times."""


def announcement(jobs: Iterable, cores: int, root: Path, scale: str) -> str:
    """Return what a run says before it starts.

    Parameters
    ----------
    jobs
        Snakemake jobs that will run; read are `rule.name`, `wildcards`, `benchmark` and `output`.
    cores
        How many run at once.
    root
        Folder of the project.
    scale
        Of jobs whose files do not say theirs.
    """
    typical = _typical(root)
    working = [job for job in jobs if job.output or job.log]
    seconds = [_seconds(job, typical, scale) for job in working]
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


def _typical(root: Path) -> dict[tuple[str, str], Mapping[str, str]]:
    with (root / "workflow/typical_seconds.csv").open(encoding="utf-8", newline="") as file:
        return {(row["rule"], row["method"]): row for row in csv.DictReader(file)}


def _kind(job) -> str:
    """Return the name of a rule; those named as the file that they draw stand under one."""
    return "drawn" if "/" in job.rule.name else job.rule.name


def _seconds(job, typical: Mapping, scale: str) -> float:
    scale = getattr(job.wildcards, "scale", scale)
    rule, _, method = _kind(job).partition("+")
    method = method or getattr(job.wildcards, "method", "")
    row = typical.get((rule, method)) or typical.get((rule, ""))
    usual = float(row[scale]) if row else None
    measured = _measured(job.benchmark)
    if measured is None:
        return UNKNOWN_SECONDS if usual is None else usual
    # A job that found no data was quick; with data it will not be.
    return max(measured, usual or 0.0)


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
