"""The results of a stopped run on another machine: what is finished there is not run again."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from kcde.carrying import archive
from kcde.data import fetch

pytestmark = [pytest.mark.slow, pytest.mark.workflow]

SMOKE = (
    "results/smoke/artefacts/kcef/fig3.json",
    "results/smoke/r_benchmark/smoke-mixed/LSCDE.csv",
)
LAPTOP = ("results/laptop/r_benchmark/geyser/LSCDE.csv",)


@pytest.fixture(scope="module")
def carried(snakemake, project, tmp_path_factory):
    """Another copy of the project, checked out later, with the unpacked results of the first."""
    other = tmp_path_factory.mktemp("other") / "project"
    shutil.copytree(project, other)
    for targets, scale in ((SMOKE, "smoke"), (LAPTOP, "laptop")):
        done = snakemake(*targets, "--config", f"scale={scale}", "--cores", "2")
        assert done.returncode == 0, done.stdout + done.stderr
    archive.pack(other.parent / "run.tar.gz", project)
    now = time.time()
    for path in other.rglob("*"):
        os.utime(path, (now, now))
    done = archive.unpack(other.parent / "run.tar.gz", other)
    assert done.missing_data == ["geyser"]
    return other


def planned(folder, targets, scale):
    """Return what Snakemake would do in a folder."""
    words = ["-n", "--quiet", "reason", "--config", f"scale={scale}", "--cores", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *targets, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_nothing_is_run_again(carried):
    assert "Nothing to be done" in planned(carried, SMOKE, "smoke")


def test_with_its_raw_data_nothing_of_another_scale_is_run_again(carried):
    without = planned(carried, LAPTOP, "laptop")
    assert "rule fetch" in without
    record = fetch.fetch("geyser", carried / "data")
    assert record["status"] == "available"
    assert "Nothing to be done" in planned(carried, LAPTOP, "laptop")


@pytest.mark.parametrize(
    ("changed", "text", "run", "kept"),
    [
        ("src/kcde/estimators/lscde.py", "\nADDED = 1\n", "rule r_benchmark", "rule artefact"),
        ("src/kcde/published/causes.csv", "\n", "rule artefact", "rule r_benchmark"),
    ],
)
def test_what_differs_there_is_run_again(carried, changed, text, run, kept):
    """The code of a method, and a file that is older than the unpacked results or newer."""
    path = carried / changed
    before = path.read_text()
    path.write_text(before + text)
    try:
        said = planned(carried, SMOKE, "smoke")
    finally:
        path.write_text(before)
    assert run in said
    assert kept not in said
