import os
import re

import numpy as np
import pytest

from kcde import memory
from kcde.memory import InsufficientMemory, free_host_bytes, require_memory

GIB = 1 << 30


@pytest.fixture
def proc(tmp_path):
    """A system with 8 GiB available whose process is in one group of each version."""
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    (folder / "meminfo").write_text(f"MemTotal: {16 << 20} kB\nMemAvailable: {8 << 20} kB\n")
    (folder / "self" / "cgroup").write_text("4:cpu,memory:/batch/job\n7:pids:/\n0::/slice/job\n")
    (folder / "self" / "statm").write_text(f"9 {GIB // os.sysconf('SC_PAGE_SIZE')} 1 1 0 1 0\n")
    return folder


@pytest.mark.parametrize(
    ("group", "environment", "expected"),
    [
        ({}, {}, 8 * GIB),
        ({"max": 4 * GIB, "current": 3 * GIB, "stat": "anon 5"}, {}, GIB),
        # Files that were read can be dropped.
        ({"max": 4 * GIB, "current": 3 * GIB, "stat": f"inactive_file {GIB}"}, {}, 2 * GIB),
        ({"max": "max", "current": 3 * GIB}, {}, 8 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "3072"}, 2 * GIB),
        ({}, {"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "4"}, 3 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "0"}, 8 * GIB),
        ({}, {"SLURM_MEM_PER_NODE": "512"}, 0),
    ],
)
def test_the_least_of_what_limits_leave_is_free(proc, tmp_path, group, environment, expected):
    (tmp_path / "slice/job").mkdir(parents=True)
    for name, text in group.items():
        (tmp_path / f"slice/job/memory.{name}").write_text(f"{text}\n")
    assert free_host_bytes(proc, tmp_path, environment) == expected


def numbers(n):
    return n * (n + 3)


def test_the_largest_that_fits_is_named_and_fits(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 123_456_789)
    with pytest.raises(InsufficientMemory) as refused:
        require_memory(np.ones(1), "the fit", 60000, numbers, remedy="buy some")
    assert "buy some" in str(refused.value)
    largest = int(re.search(r"fits is (\d+)", str(refused.value))[1])
    assert 8 * numbers(largest) <= 123_456_789 < 8 * numbers(largest + 1)
    require_memory(np.ones(1), "the fit", largest, numbers)
    with pytest.raises(InsufficientMemory):
        require_memory(np.ones(1), "the fit", largest + 1, numbers)
