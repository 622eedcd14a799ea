"""What goes wrong in a run loses nothing: the same command afterwards gives the same bytes."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.workflow]
FIG3 = "results/smoke/figures/kcef/fig3.png"
COMMAND = [sys.executable, "-m", "snakemake", FIG3, "--cores", "2"]


def start(project):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(COMMAND, cwd=project.folder, start_new_session=True, **pipes)


def files(project):
    """Return name to content of all files of results but logs, times and compiled code."""
    found = {}
    for path in (project.folder / "results").rglob("*.*"):
        if path.is_file() and not {"logs", "benchmarks", "xla", "numba"} & set(path.parts):
            found[str(path.relative_to(project.folder))] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def whole(project):
    """Files of a run without a fault, and its seconds."""
    begun = time.monotonic()
    project.run(FIG3)
    return files(project), time.monotonic() - begun


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_signals_at_any_moment(fresh, whole, sent):
    expected, seconds = whole
    for moment in np.random.default_rng(sent).uniform(0.0, seconds, 10):
        running = start(fresh)
        time.sleep(moment)
        os.killpg(running.pid, sent)
        said, _ = running.communicate(timeout=120)
        assert "Traceback" not in said
        fresh.run("--unlock")
        fresh.run(FIG3)
        assert files(fresh) == expected, moment
        shutil.rmtree(fresh.folder / "results")


@pytest.fixture
def small_disk(fresh):
    """Results, but for their logs, on a file system of so many KiB."""
    path = fresh.folder / "results/smoke"
    path.mkdir(parents=True)

    def mount(kib, *options):
        options = ",".join([f"size={kib}k", *options])
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]).returncode:
            pytest.skip("mounting a small file system needs the rights of root")

    yield mount
    subprocess.run(["umount", path], check=True)


@pytest.mark.parametrize("kib", [8, 40, 80, 160])
def test_a_full_disk(fresh, small_disk, whole, kib):
    small_disk(kib)
    said = fresh.run(FIG3, expect=1)
    assert "No space left on device" in said, said
    small_disk(100_000, "remount")
    fresh.run(FIG3)
    assert files(fresh) == whole[0]


def test_a_second_run_is_refused_and_disturbs_nothing(fresh, whole):
    running = start(fresh)
    while not list((fresh.folder / ".snakemake").glob("locks/*")):
        assert running.poll() is None
    assert "lock" in fresh.run(FIG3, expect=1)
    running.communicate(timeout=300)
    assert running.returncode == 0
    assert files(fresh) == whole[0]


@pytest.mark.parametrize(
    "given", [{"LC_ALL": "C"}, {"LC_ALL": "tr_TR.UTF-8"}, {"TZ": "Asia/Kathmandu"}], ids=str
)
def test_other_surroundings(fresh, whole, given):
    fresh.folder = fresh.folder.rename(fresh.folder.with_name("Dichte schätzen, ça va"))
    fresh.run(FIG3, **given)
    assert files(fresh) == whole[0]


def test_a_checkout_that_cannot_be_written(fresh, whole, tmp_path):
    if subprocess.run(["mount", "--bind", "-o", "ro", fresh.folder, fresh.folder]).returncode:
        pytest.skip("mounting needs the rights of root")
    try:
        fresh.run(FIG3, "--directory", tmp_path / "elsewhere")
    finally:
        subprocess.run(["umount", fresh.folder], check=True)
    fresh.folder = tmp_path / "elsewhere"
    assert files(fresh) == whole[0]
