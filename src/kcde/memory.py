"""Checks that a problem fits into memory before it is started.

The workflow asks for the host's memory while it plans: arrays are imported where they are needed.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_BYTES = 8  # a float64
_FEWER = "take fewer rows, or more memory"
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


class InsufficientMemory(MemoryError):
    """A problem needs more memory than is free; the message says how large one may be."""


def require_memory(
    like, what: str, n: int, numbers: Callable[[int], int], *, remedy: str = _FEWER
) -> None:
    """Raise `InsufficientMemory` unless a problem fits into the free memory of its device.

    `numbers` maps its size n to the float64 held at the peak beside those held now, increasing.
    """
    free = free_bytes(like)
    needed = _BYTES * numbers(n)
    if needed <= free:
        return
    from kcde.arrays import device_description, is_cupy_array

    place = device_description("cupy") if is_cupy_array(like) else "the host"
    largest = bisect_right(range(1, n), free // _BYTES, key=numbers)
    raise InsufficientMemory(
        f"{what} of n = {n} needs {_in_words(needed)}; {_in_words(free)} are free on {place}; "
        f"the largest n that fits is {largest}: {remedy}"
    )


def free_bytes(like) -> int:
    """Return how many bytes are free where an array lies.

    On a device, what cupy can still give out. On the host, the least of what the system has
    available and what control groups and Slurm leave of their limits.
    """
    from kcde.arrays import free_device_bytes, is_cupy_array

    return free_device_bytes() if is_cupy_array(like) else free_host_bytes()


def free_host_bytes(proc: Path = _PROC, cgroups: Path = _CGROUPS, environment=os.environ) -> int:
    """Return the free bytes of the host: by procfs, control groups (version 2) and Slurm."""
    limits = (*_of_system(proc), *_of_groups(proc, cgroups), *_of_slurm(proc, environment))
    return max(0, min(limits))


def _of_system(proc: Path) -> Iterator[int]:
    for line in _lines(proc / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
            return
    yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """Yield what each group that the process is in, and each above it, leaves of its limit."""
    for line in _lines(proc / "self" / "cgroup"):
        if not line.startswith("0::"):  # a hierarchy of version 1
            continue
        group = cgroups / line.removeprefix("0::").strip("/")
        for folder in (group, *group.parents):
            limits, used = _lines(folder / "memory.max"), _lines(folder / "memory.current")
            if limits and used and limits[0] != "max":
                # Files that were read are dropped from memory where it is needed.
                counts = dict(line.split() for line in _lines(folder / "memory.stat"))
                yield int(limits[0]) - int(used[0]) + int(counts.get("inactive_file", 0))
            if folder == cgroups:
                break


def _of_slurm(proc: Path, environment: Mapping[str, str]) -> Iterator[int]:
    megabytes = environment.get("SLURM_MEM_PER_NODE")
    if megabytes is None and "SLURM_MEM_PER_CPU" in environment:
        cores = int(environment.get("SLURM_CPUS_ON_NODE", 1))
        megabytes = cores * int(environment["SLURM_MEM_PER_CPU"])
    # Zero asks Slurm for all memory of the node.
    if megabytes is None or int(megabytes) == 0:
        return
    status = _lines(proc / "self" / "statm")
    resident = int(status[0].split()[1]) * os.sysconf("SC_PAGE_SIZE") if status else 0
    yield (int(megabytes) << 20) - resident


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _in_words(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
