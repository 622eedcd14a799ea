import os
import re

import numpy as np
import pytest

from kcde import arrays, memory
from kcde.estimators import KCEF
from kcde.estimators._kcef.score import BlockedHeldOutScore
from kcde.memory import InsufficientMemory, free_bytes, free_host_bytes, require_memory
from kcde.selection import kfold

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


def test_a_group_above_may_leave_less(proc, tmp_path):
    write(tmp_path / "slice" / "job", memory__max="max", memory__current=GIB)
    (tmp_path / "slice" / "memory.max").write_text(f"{2 * GIB}")
    (tmp_path / "slice" / "memory.current").write_text(f"{GIB}")
    assert free_host_bytes(proc, tmp_path, {}) == GIB


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


def test_without_proc_all_memory_counts(tmp_path):
    found = free_host_bytes(tmp_path, tmp_path, {})
    assert found == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_this_host_has_something_left():
    assert 0 < free_bytes(np.ones(1)) <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_on_a_device_the_device_is_asked(monkeypatch):
    monkeypatch.setattr(arrays, "on_device", lambda array: True)
    monkeypatch.setattr(arrays, "free_device_bytes", lambda: 80)
    monkeypatch.setattr(arrays, "device_description", lambda backend: f"a card of {backend}")
    assert free_bytes("array") == 80
    require_memory("array", "a matrix", 3, lambda n: n * n)
    with pytest.raises(InsufficientMemory, match=r"are free on a card of cupy; .* fits is 3:"):
        require_memory("array", "a matrix", 4, lambda n: n * n)


def numbers(n):
    return n * (n + 3)


def test_the_largest_that_fits_is_named_and_fits(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 123_456_789)
    with pytest.raises(InsufficientMemory) as refused:
        require_memory(np.ones(1), "the fit", 60000, numbers, remedy="buy some")
    message = str(refused.value)
    assert message.startswith("the fit of n = 60000 needs 28.8 GB; 0.1 GB are free on the host; ")
    assert message.endswith(": buy some")
    largest = int(re.search(r"fits is (\d+)", message)[1])
    assert 8 * numbers(largest) <= 123_456_789 < 8 * numbers(largest + 1)
    require_memory(np.ones(1), "the fit", largest, numbers)
    with pytest.raises(InsufficientMemory):
        require_memory(np.ones(1), "the fit", largest + 1, numbers)


@pytest.mark.parametrize("selection", ["score", "likelihood"])
def test_tuning_that_does_not_fit_is_refused(pairs, monkeypatch, selection):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 10_000)
    with pytest.raises(InsufficientMemory, match=rf"tuning KCEF by {selection} of n = 30 .*tuning"):
        KCEF(selection=selection).fit(*pairs)


def test_a_fit_that_does_not_fit_is_refused(pairs, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 8 * 30**2)
    message = r"exact fit of a kernel exponential family of n = 30 .*: take fewer rows"
    with pytest.raises(InsufficientMemory, match=message) as refused:
        KCEF(1.0, 1.0, 0.1).fit(*pairs)
    largest = int(re.search(r"fits is (\d+)", str(refused.value))[1])
    X, Y = (values[:largest] for values in pairs)
    assert KCEF(1.0, 1.0, 0.1).fit(X, Y).coef_.shape == (largest, 1)


def test_tuning_by_gradient_that_does_not_fit_is_refused(pairs, rng, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 8 * 30**2)
    with pytest.raises(InsufficientMemory, match=r"tuning KCEF of n = 30 .*set tuning_rows"):
        BlockedHeldOutScore(*pairs, kfold(30, 5, rng), 2.0)
