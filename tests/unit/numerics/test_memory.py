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


def write(folder, **files):
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_what_the_system_has_available(proc, tmp_path):
    assert free_host_bytes(proc, tmp_path / "none", {}) == 8 * GIB


def test_of_a_group_of_version_2_with_files_that_can_be_dropped(proc, tmp_path):
    files = {"memory__max": 4 * GIB, "memory__current": 3 * GIB, "memory__stat": "anon 5"}
    write(tmp_path / "slice" / "job", **files)
    assert free_host_bytes(proc, tmp_path, {}) == GIB
    (tmp_path / "slice" / "job" / "memory.stat").write_text(f"anon 5\ninactive_file {GIB // 2}\n")
    assert free_host_bytes(proc, tmp_path, {}) == 3 * GIB // 2


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "3072"}, 2 * GIB),
        ({"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "4"}, 3 * GIB),
        ({"SLURM_MEM_PER_NODE": "0"}, 8 * GIB),
        ({"SLURM_MEM_PER_NODE": "512"}, 0),
    ],
)
def test_slurm_leaves_what_the_process_does_not_hold(proc, tmp_path, environment, expected):
    assert free_host_bytes(proc, tmp_path / "none", environment) == expected


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
