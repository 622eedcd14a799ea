"""What Snakemake does: runs of small targets in a copy of the project."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.workflow]
FIG3 = "results/smoke/figures/kcef/fig3.png"
CONSISTENCY = "results/smoke/scores/consistency.csv"
COIN = '''"""Tossing a coin."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.base import Experiment, Outcome, sized


@dataclass(frozen=True)
class Coin(Experiment):
    """The share of heads."""

    name: ClassVar[str] = "coin"
    repeated: ClassVar = ("repetitions",)

    repetitions: int = sized(2, 10, 100, "How often it is tossed.", at_least=1)

    def begin(self, units):
        """Return what counts heads."""
        return lambda unit: Outcome([self.row(unit, metric="heads", value=unit % 2, unit="1")])
'''


def kcde(project, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "kcde", *arguments],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(project.folder / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def changed(project):
    """The files of the copy that are not those of the project."""
    copies = (project.folder / "src").rglob("*.py")
    pairs = ((path, ROOT / path.relative_to(project.folder)) for path in copies)
    return [a.name for a, b in pairs if not b.exists() or a.read_bytes() != b.read_bytes()]


def test_a_job_runs_again_when_its_code_changes_and_no_other(project):
    assert "fit failure_case" in project.run(FIG3)
    assert "Nothing to be done" in project.run(FIG3)
    project.change("src/kcde/estimators/lscde.py", "\nclass ", "\n_NEW = 1\n\n\nclass ")
    assert "Nothing to be done" in project.run(FIG3)
    project.change("src/kcde/experiments/failure_case.py", "_STEP = 1e-20", "_STEP = 1e-21")
    assert "fit failure_case" in project.run(FIG3)
    assert "Nothing to be done" in project.run(FIG3)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_goes_on_with_the_same_command(fresh, sent):
    # Long enough to be in the middle of.
    fresh.change(
        "src/kcde/experiments/failure_case.py",
        "rows, arrays = [], {}",
        "__import__('time').sleep(5); rows, arrays = [], {}",
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "snakemake", FIG3, "--cores", "2"],
        cwd=fresh.folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    log = fresh.folder / "results/logs/smoke/failure_case.log"
    deadline = time.monotonic() + 120
    while not log.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(running.pid, sent)
    running.wait(60)
    assert not list((fresh.folder / "results/smoke").rglob("*.csv"))
    if sent == signal.SIGKILL:
        fresh.run("--unlock")
    assert "fit failure_case" in fresh.run(FIG3)
    made = {path.name for path in (fresh.folder / "results/smoke").rglob("*") if path.is_file()}
    assert made == {
        *("failure_case.csv", "failure_case.json", "failure_case.npz", "failure_case.tsv"),
        *(f"fig3.{suffix}" for suffix in ("csv", "md", "png", "pdf")),
    }


def test_a_file_in_figures_is_copied_there_and_named(project):
    assert "drawn: figures/kcef/fig3.png" in project.run("figures/kcef/fig3.png")
    for suffix in ("csv", "md", "png", "pdf"):
        drawn, copied = (
            project.folder / f"{at}figures/kcef/fig3.{suffix}" for at in ("results/laptop/", "")
        )
        assert drawn.read_bytes() == copied.read_bytes()


def test_scores_do_not_depend_on_shards(project):
    sizes = "set={consistency: {largest: 200}}"
    found = []
    for more in ([], ["shards={consistency: 2}"]):
        text = project.run(CONSISTENCY, "--forceall", "--config", sizes, *more)
        assert ("part 2 of 2" in text) == bool(more)
        found.append(pd.read_csv(project.folder / CONSISTENCY).drop(columns="seconds"))
    pd.testing.assert_frame_equal(*found)


def test_an_experiment_is_one_file_and_a_method_one_row(fresh):
    (fresh.folder / "src/kcde/experiments/coin.py").write_text(COIN)
    assert "repetitions (2, 10, 100)" in kcde(fresh, "run", "coin")
    kcde(fresh, "run", "coin", "--scale", "smoke", "-o", "coin.csv")
    assert pd.read_csv(fresh.folder / "coin.csv")["value"].tolist() == [0, 1]
    assert "fit coin" in fresh.run("results/smoke/scores/coin.csv")
    row = '    "KCEF-wide": Method("KCEF", options={"base_std": 4.0}, shown=("kcef/table1",)),\n'
    first = '    "KCEF-LL": Method('
    fresh.change("src/kcde/methods.py", first, row + first)
    jobs = fresh.jobs("figures/kcef/table1.md")
    assert "results/laptop/scores/r_benchmark/geyser/KCEF-wide.csv" in jobs
    assert sorted(changed(fresh)) == ["coin.py", "methods.py"]


def test_nothing_to_verify_and_a_report_of_what_is_tracked(fresh):
    (fresh.folder / "figures").rmdir()
    (fresh.folder / "figures").symlink_to(ROOT / "figures")
    assert "nothing was run here" in fresh.run("verify", expect=1)
    assert "written: results/laptop/report.html" in fresh.run("report")
    assert (fresh.folder / "results/laptop/report.html").stat().st_size > 1e6
