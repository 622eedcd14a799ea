"""The machine: Python, processor, memory."""

import os
import platform
import sys
from pathlib import Path

import numpy as np

from kcde.doctor.findings import HINT, OK, PROBLEM, Finding
from kcde.memory import free_bytes

OLDEST_PYTHON = (3, 11)


def python(version: tuple = sys.version_info) -> Finding:
    """Return the version of Python, a problem if it is older than 3.11."""
    number = ".".join(map(str, version[:3]))
    old = tuple(version[:2]) < OLDEST_PYTHON
    return Finding(
        "Python",
        f"{number} on {platform.system()} {platform.machine()}",
        PROBLEM if old else OK,
        "use Python 3.11 or newer, as envs/cpu.yaml does" if old else "",
        {"version": number, "executable": sys.executable},
    )


def processor() -> Finding:
    """Return the processor's name and how many cores this process may use."""
    name, cores = _processor_name(), usable_cores()
    value = f"{name}, {cores} core{'s' * (cores > 1)} usable of {os.cpu_count()}"
    return Finding("CPU", value, facts={"name": name, "cores": cores, "all": os.cpu_count()})


def usable_cores(limit: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many cores this process may use, at least 1.

    Parameters
    ----------
    limit
        File with a container's share of processor time: microseconds, or `max`, in a period.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1
    try:
        share, period = limit.read_text().split()
        return max(1, min(cores, int(share) // int(period)))
    except (OSError, ValueError):
        return cores


def memory() -> Finding:
    """Return the memory of the machine, and what is free for a job within all limits."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = free_bytes(np.empty(0))
    scarce = free < 2e9
    return Finding(
        "memory",
        f"{gigabytes(total)}, {gigabytes(free)} free within the limits of control groups and Slurm",
        HINT if scarce else OK,
        "the largest jobs take about 2 GB: close other programs, ask Slurm for more, or run fewer "
        "jobs at once (--cores 1)"
        if scarce
        else "",
        {"bytes": total, "free_bytes": free},
    )


def gigabytes(size: int) -> str:
    """Return bytes as gigabytes with their unit."""
    return f"{size / 1e9:.1f} GB"


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
