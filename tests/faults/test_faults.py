"""What goes wrong in a run loses nothing: afterwards the same bytes and no debris.

README.md here has the table of outcomes.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from small_run import DRAWING, FITTING, ROOT, Project

pytestmark = [pytest.mark.faults, pytest.mark.workflow]

SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SCORES = "results/smoke/r_benchmark/smoke-mixed/KCEF.csv"


@pytest.mark.parametrize("at", [FITTING, DRAWING], ids=["fitting", "drawing"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signals(project, whole, number, at):
    said = project.strike(at, number)
    assert "Traceback" not in said
    project.resume()
    whole(project)


@pytest.fixture
def small_disk(project):
    """Return a function that puts a folder of the project on a file system of so many KiB."""
    mounted = []

    def mount(folder: str, kib: int) -> Path:
        path = project.folder / folder
        path.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", path],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            pytest.skip("mounting a small file system needs the rights of root")
        mounted.append(path)
        return path

    yield mount
    for path in mounted:
        subprocess.run(["umount", path], check=True)


def remount(path: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", path], check=True)


@pytest.mark.parametrize(("folder", "kib"), [("results", 60), ("results/smoke/figures", 20)])
def test_a_full_disk(project, small_disk, whole, folder, kib):
    disk = small_disk(folder, kib)
    failed = project.run()
    assert failed.returncode != 0
    said = failed.stdout + failed.stderr
    assert "No space left on device" in said
    remount(disk, "size=100m")
    project.resume()
    whole(project)


def test_results_that_cannot_be_written(project, small_disk, whole):
    disk = small_disk("results", 100_000)
    remount(disk, "ro")
    failed = project.run()
    assert failed.returncode != 0
    assert "Read-only file system" in failed.stdout + failed.stderr
    remount(disk, "rw")
    project.resume()
    whole(project)


def test_two_runs_in_one_folder(project, whole):
    first = project.start()
    project.wait_for(FITTING)
    second = project.run()
    said, _ = first.communicate(timeout=300)
    assert first.returncode == 0, said
    assert second.returncode != 0
    assert "Traceback" not in second.stderr
    whole(project)


def test_a_corrupt_raw_file(tmp_path):
    project = Project(tmp_path / "project")
    target = "results/laptop/r_benchmark/caution/epsilon-KDE.csv"

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "snakemake", target, "--cores", "1", *arguments],
            cwd=project.folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def values() -> pd.Series:
        return pd.read_csv(project.folder / target)["value"]

    assert run().returncode == 0
    [raw] = (project.folder / "data").rglob("caution*")
    before, scores = raw.read_bytes(), values()
    raw.write_bytes(before[:-10] + b"0123456789")
    failed = run("--force")
    said = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert raw.name in said
    assert "Traceback" not in said
    raw.unlink()
    assert run().returncode == 0
    assert raw.read_bytes() == before
    pd.testing.assert_series_equal(values(), scores)


@pytest.mark.parametrize("damage", ["corrupt", "truncated", "edited"])
def test_a_damaged_result(untouched, tmp_path, whole, damage):
    project = Project(tmp_path / "project")
    shutil.copytree(untouched.folder / "results", project.folder / "results")
    shutil.copytree(untouched.folder / ".snakemake", project.folder / ".snakemake")
    path = project.folder / SCORES
    text = path.read_bytes()
    changed = {
        "corrupt": text[:200] + bytes(range(200, 256)) + text[256:],
        "truncated": text[: len(text) // 2],
        "edited": re.sub(rb"(?<=\d\.)\d", lambda digit: b"%d" % (9 - int(digit[0])), text, count=1),
    }[damage]
    assert changed != text
    path.write_bytes(changed)
    failed = project.run()
    said = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert "KCEF.csv" in said
    assert "Traceback" not in said
    path.unlink()
    project.resume()
    whole(project)


def test_a_job_that_is_killed_for_memory(project, whole):
    process = project.start()
    project.wait_for(FITTING)
    [job] = _jobs(process.pid, "KCEF-LL")
    os.kill(job, signal.SIGKILL)
    said, _ = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "killed" in said
    assert "memory" in said
    project.resume()
    whole(project)


def _jobs(session: int, word: str) -> list[int]:
    """Return the Python processes of a session whose command line has a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            same = os.getsid(int(folder.name)) == session
        except OSError:
            continue
        if same and b"kcde" in words and any(f'"{word}"'.encode() in each for each in words):
            found.append(int(folder.name))
    return found


def test_a_path_with_spaces_and_accents(tmp_path, whole):
    project = Project(tmp_path / "Dichte schätzen, ça va")
    found = project.run()
    assert found.returncode == 0, found.stderr
    whole(project)


def test_another_number_of_threads(untouched, project):
    found = project.run("--config", "blas_threads=2")
    assert found.returncode == 0, found.stderr
    ours, theirs = (
        pd.read_csv(each.folder / SCORES).drop(columns="seconds") for each in (untouched, project)
    )
    pd.testing.assert_frame_equal(ours, theirs, check_exact=False, rtol=1e-6)


@pytest.mark.parametrize(
    ("module", "method", "remedy"),
    [("jax", "NADE", "envs/run"), ("ngboost", "NGBoost", "kcde[compare]")],
)
def test_a_python_without(tmp_path, module, method, remedy):
    stub = tmp_path / "stub" / module
    stub.mkdir(parents=True)
    stub.joinpath("__init__.py").write_text(
        f"raise ModuleNotFoundError('no {module}', name='{module}')\n"
    )
    fetch = [sys.executable, "-m", "kcde", "fetch", "caution"]
    subprocess.run(fetch, cwd=tmp_path, capture_output=True, check=True)
    command = [sys.executable, "-m", "kcde", "run", "r-benchmark", "--dataset", "caution"]
    found = subprocess.run(
        [*command, "--method", method, "--splits", "2", "--out", tmp_path / "scores.csv"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{stub.parent}{os.pathsep}{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    # A library of one method is a failed row of its scores, beside those of other methods.
    rows = tmp_path / "scores.csv"
    said = found.stdout + found.stderr + (rows.read_text() if rows.exists() else "")
    assert "Traceback" not in said
    assert f"no {module}" in said or module in said.replace(str(tmp_path), "")
    assert remedy in said
