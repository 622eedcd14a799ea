"""What Snakemake does: runs of small targets in a copy of the project."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.nightly, pytest.mark.workflow]
FIG3 = "results/smoke/figures/kcef/fig3.png"
FILES = {"fig3.csv", "fig3.md", "fig3.png", "fig3.pdf"}


def test_a_job_runs_again_when_its_code_changes_and_no_other(project):
    assert "fit failure_case" in project.run(FIG3)
    assert "Nothing to be done" in project.run(FIG3)
    project.change("src/kcde/estimators/lscde.py", "\n@dataclass", "\n_NEW = 1\n\n\n@dataclass")
    assert "Nothing to be done" in project.run(FIG3)
    project.change("src/kcde/experiments/failure_case.py", "_STEP = 1e-20", "_STEP = 1e-21")
    assert "fit failure_case" in project.run(FIG3)
    assert "Nothing to be done" in project.run(FIG3)


def test_a_file_in_figures_is_copied_there_and_named(project):
    text = project.run("figures/kcef/fig3.png")
    for said in ("fit failure_case", "draw fig3 of kcef", "drawn: figures/kcef/fig3.png"):
        assert said in text
    assert len([*(project.folder / "results/laptop/scores").rglob("*.*")]) == 3
    drawn, copied = (project.folder / at / "figures/kcef" for at in ("results/laptop", "."))
    for each in FILES:
        assert (drawn / each).read_bytes() == (copied / each).read_bytes()
    page = (project.folder / "figures/kcef/fig3.md").read_text()
    assert page.splitlines()[-1].startswith("Drawn by `snakemake figures/kcef/fig3.png`.")


def test_scores_do_not_depend_on_shards(project):
    sizes = "set={consistency: {largest: 200}}"
    scores, found = "results/smoke/scores/consistency.csv", []
    for more in ([], ["shards={consistency: 2}"]):
        text = project.run(scores, "--forceall", "--config", sizes, *more)
        assert ("part 2 of 2" in text) == bool(more)
        found.append(pd.read_csv(project.folder / scores).drop(columns="seconds"))
    pd.testing.assert_frame_equal(*found)


def test_what_is_tracked_is_that_of_the_checkout_also_elsewhere(fresh, tmp_path):
    (fresh.folder / "figures").rmdir()
    (fresh.folder / "figures").symlink_to(ROOT / "figures")
    assert "nothing was run here" in fresh.run("verify", expect=1)
    for scale, said, code in (("laptop", "byte for byte", 0), ("smoke", "has none", 1)):
        shutil.copytree(ROOT / "figures/kcef", tmp_path / f"results/{scale}/figures/kcef")
        elsewhere = "--directory", tmp_path, "--config", f"scale={scale}"
        assert said in fresh.run("verify", *elsewhere, expect=code)
    assert "drawn: results/laptop/report.html" in fresh.run("report")
    assert (fresh.folder / "results/laptop/report.html").stat().st_size > 1e6
